/* SPDX-License-Identifier: MIT */
/* test/fault/f30_resolver.c - the name of a server is asked of a resolver that never answers.
 * The calls of that client end in time, other clients of the process do not notice, and
 * the threads that ask end when the resolver has given up. The child has network and mounts
 * of its own, which end with it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"

enum { TTL_MS = 400, CONNECT_MS = 300, GIVES_UP_S = 2 };

static char url[128];

/* ---- a resolver that never answers ---- */

static bool put_file(const char *path, const char *content)
{
  char own[] = "/tmp/dibs-fault-file-XXXXXX";
  int fd = mkstemp(own);
  bool is_done = fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content) &&
                 fchmod(fd, 0644) == 0 &&
                 mount(own, path, NULL, MS_BIND, NULL) == 0;

  if (fd >= 0) {
    (void)close(fd);
    (void)unlink(own);           /* the mount keeps it */
  }
  return is_done;
}

static bool loopback_up(void)
{
  struct ifreq request = { .ifr_flags = IFF_UP };
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;

  memcpy(request.ifr_name, "lo", 3);
  failed = ioctl(fd, SIOCSIFFLAGS, &request);
  (void)close(fd);
  return failed == 0;
}

/* The socket of the resolver, which nobody reads; -1. */
static int silent_resolver(void)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(53),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
    return fd;
  return -1;
}

static int own_world(void)
{
  char words[96];

  (void)snprintf(words, sizeof(words),
                 "nameserver 127.0.0.1\noptions timeout:%d attempts:1\n", GIVES_UP_S);
  if (unshare(CLONE_NEWNS | CLONE_NEWNET) != 0 ||
      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || !loopback_up() ||
      !put_file("/etc/resolv.conf", words) || !put_file("/etc/nsswitch.conf", "hosts: dns\n"))
    return -1;
  return silent_resolver();
}

static bool was_asked(int resolver)
{
  char question[512];

  return recv(resolver, question, sizeof(question), MSG_DONTWAIT) > 0;
}

/* ---- the child ---- */

static void stall(struct child *self)
{
  dibs_lock_options o = child_lock_options(TTL_MS, 2000);
  dibs_options options = DIBS_OPTIONS_INIT;
  struct child_time begun;
  dibs_client *stalled;
  dibs_hold *hold = NULL;
  dibs_status status;

  options.connect_timeout_ms = CONNECT_MS;
  options.close_timeout_ms = 100;
  stalled = child_open(self, "redis://nowhere.dibs.test:6378", &options);
  begun = child_time();
  status = dibs_lock(stalled, "any", &o, &hold);
  (void)child_check_time(self, "a lock on a server whose name is not answered", begun,
                         CONNECT_MS);
  (void)child_check(self, status == DIBS_ERR_UNREACHABLE, "it says %s",
                    dibs_status_name(status));
  begun = child_time();
  status = dibs_ping(stalled, 100, NULL);
  (void)child_check_time(self, "a ping to it", begun, 100);
  (void)child_check(self, status == DIBS_ERR_UNREACHABLE, "a ping to it: %s",
                    dibs_status_name(status));
  begun = child_time();
  stalled = dibs_close(stalled);
  (void)child_check_time(self, "closing it", begun, 100);
}

static void live_on(struct child *self, void *data)
{
  int64_t until = child_now_ms() + *(int *)data, clients = 0;
  int resolver = own_world();
  dibs_client *other;
  dibs_hold *hold;
  long fds, threads, most = 0;

  if (!child_check(self, resolver >= 0, "no world with a silent resolver: %s", strerror(errno)))
    return;
  other = child_open(self, url, NULL);     /* by its socket, which needs no network */
  hold = child_lock(self, other, "beside", TTL_MS);
  child_listens(self, other);
  fds = child_fds();
  threads = child_threads();
  do {
    stall(self);
    clients++;
    most = child_threads() - threads > most ? child_threads() - threads : most;
    (void)child_check(self, dibs_hold_state(hold) == DIBS_HOLD_HELD,
                      "another client's hold is not");
    if (was_asked(resolver))
      child_mark(self, "questions without an answer", 1);
  } while (child_now_ms() < until);
  child_say(self, "%lld clients, at most %ld threads that ask", (long long)clients, most);
  (void)child_check(self, most <= 2 * clients, "%ld threads of %lld clients", most,
                    (long long)clients);
  for (int i = 0; i < (GIVES_UP_S + 2) * 500 && child_threads() > threads; i++)
    child_sleep_ms(2);
  (void)child_check(self, child_fds() == fds, "%ld descriptors, before %ld", child_fds(), fds);
  (void)child_check(self, child_threads() == threads, "%ld threads, before %ld",
                    child_threads(), threads);
  (void)child_check(self, dibs_release(hold) == DIBS_OK, "the other client's release");
  other = dibs_close(other);
  (void)close(resolver);
}

static void run(struct world *w, const struct scale *scale)
{
  int ms = (int)(scale->seconds * 250);
  struct child *c;

  (void)world_lock(w, 'm', "beside", 0);
  child_bystanders(w);
  (void)snprintf(url, sizeof(url), "%s", test_server_url(world_server(w)));
  world_demand(w, "questions without an answer", 2);
  c = child_start(w, live_on, &ms);
  c = child_end(c, ms + 20000);
}

const struct scenario f30_resolver = {
  .id = "F30", .name = "a_resolver_that_never_answers_holds_nobody_up", .run = run,
  .skip_without = "root",
};
