/* SPDX-License-Identifier: MIT */
/* flash_http - a flash sale over HTTP: several server processes on one port, one stock.
 *
 *   flash_http [--processes 2] [--port 0] [--ttl-ms 30000] [--think-us 0]
 *
 * Says "http://127.0.0.1:PORT" when it is ready, and serves until SIGTERM or SIGINT. The
 * stock lies where the locks do: DIBS_URL, or the private server. */
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sale.h"
#include "store.h"

enum { PROCESSES_MAX = 64, ITEMS = 1000 };

typedef struct setting {
  sale_options sale;
  long processes;
  char url[512];
} setting;

static _Noreturn void give_up(const char *what)
{
  perror(what);
  exit(1);
}

static long number_of(const char *words, long least, long most)
{
  char *end = NULL;
  long value = strtol(words, &end, 10);

  if (end == words || *end != 0 || value < least || value > most) {
    fprintf(stderr, "flash_http: '%s' is not a number from %ld to %ld\n", words, least, most);
    exit(64);
  }
  return value;
}

static void read_options(int argc, char **argv, setting *ret_setting)
{
  static const struct option names[] = {
    { "processes", required_argument, NULL, 'n' },
    { "port", required_argument, NULL, 'p' },
    { "ttl-ms", required_argument, NULL, 't' },
    { "think-us", required_argument, NULL, 'u' },
    { NULL, 0, NULL, 0 },
  };
  int letter;

  *ret_setting = (setting){ .processes = 2 };
  while ((letter = getopt_long(argc, argv, "n:p:t:u:", names, NULL)) != -1) {
    if (letter == 'n')
      ret_setting->processes = number_of(optarg, 1, PROCESSES_MAX);
    else if (letter == 'p')
      ret_setting->sale.port = (uint16_t)number_of(optarg, 0, 65535);
    else if (letter == 't')
      ret_setting->sale.ttl_ms = (int32_t)number_of(optarg, 100, DIBS_MS_MAX);
    else if (letter == 'u')
      ret_setting->sale.think_us = (int)number_of(optarg, 0, 10000000);
    else
      exit(64);
  }
}

/* The server that has the locks has the stock too; full of lamps when it had none. */
static void find_server(setting *set)
{
  dibs_client *client = NULL;
  dibs_client_info info = DIBS_CLIENT_INFO_INIT;
  dibs_error error = DIBS_ERROR_INIT;
  store_state now;
  store *stock;

  if (dibs_open(NULL, NULL, &client, &error) != DIBS_OK ||
      (dibs_ping(client, 0, NULL) != DIBS_OK && (dibs_client_error(client, 0, &error), true))) {
    fprintf(stderr, "flash_http: %s\n", error.text);
    exit(1);
  }
  (void)dibs_client_get_info(client, &info);
  snprintf(set->url, sizeof(set->url), "%s", info.url);
  client = dibs_close(client);              /* before any fork: each process opens its own */
  set->sale.url = set->url;
  stock = store_open(set->url);
  if (stock == NULL || !store_read(stock, &now) ||
      (now.items == 0 && !store_reset(stock, ITEMS))) {
    fprintf(stderr, "flash_http: no stock on %s\n", set->url);
    exit(1);
  }
  store_close(stock);
}

/* Holds a free port, for the children to share; never listens itself. */
static int keep_port(uint16_t *port)
{
  struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(*port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t size = sizeof(here);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int yes = 1;

  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) != 0 ||
      bind(fd, (struct sockaddr *)&here, size) != 0 ||
      getsockname(fd, (struct sockaddr *)&here, &size) != 0)
    give_up("flash_http: port");
  *port = ntohs(here.sin_port);
  return fd;
}

/* As many connections as the system allows. */
static void raise_limit(void)
{
  struct rlimit files;

  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
}

static _Noreturn void serve(const sale_options *options, const sigset_t *ends, int ready)
{
  sale *mine;
  int number;

  prctl(PR_SET_PDEATHSIG, SIGTERM);
  mine = sale_open(options);
  if (mine == NULL || write(ready, "+", 1) != 1)
    exit(1);
  close(ready);
  sigwait(ends, &number);
  sale_close(mine);
  exit(0);
}

/* Until somebody ends us, or every process is gone. */
static int wait_for_end(const pid_t *children, long count, const sigset_t *ends)
{
  int number = SIGCHLD;

  while (number == SIGCHLD) {
    sigwait(ends, &number);
    while (number == SIGCHLD && waitpid(-1, NULL, WNOHANG) > 0)
      count--;
    if (count == 0)
      return 1;
  }
  for (long i = 0; i < PROCESSES_MAX && children[i] > 0; i++)
    kill(children[i], SIGTERM);
  while (waitpid(-1, NULL, 0) > 0)
    ;
  return 0;
}

int main(int argc, char **argv)
{
  pid_t children[PROCESSES_MAX + 1] = { 0 };
  sigset_t ends;
  int ready[2];
  setting set;
  char byte;
  int port;

  read_options(argc, argv, &set);
  find_server(&set);
  raise_limit();
  port = keep_port(&set.sale.port);
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends, NULL);
  if (pipe(ready) != 0)
    give_up("flash_http: pipe");
  for (long i = 0; i < set.processes; i++) {
    children[i] = fork();
    if (children[i] < 0)
      give_up("flash_http: fork");
    if (children[i] == 0) {
      close(port);
      close(ready[0]);
      serve(&set.sale, &ends, ready[1]);
    }
  }
  close(ready[1]);
  for (long i = 0; i < set.processes; i++) {
    if (read(ready[0], &byte, 1) != 1)
      return 1;                             /* a child has said why */
  }
  printf("http://127.0.0.1:%u\n", (unsigned int)set.sale.port);
  fflush(stdout);
  return wait_for_end(children, set.processes, &ends);
}
