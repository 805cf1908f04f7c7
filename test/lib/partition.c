/* SPDX-License-Identifier: MIT */
/* test/lib/partition.c - hosts that are network namespaces, and rules that drop packets. */
#include "partition.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server_parts.h"

struct test_network {
  int home;                       /* the test's own namespace */
  int hub;                        /* that of the bridge */
  int count;
  int hosts[TEST_HOSTS_MAX];
  char addresses[TEST_HOSTS_MAX][24];
};

static char why_not[256];

const char *test_network_why_not(void) { return why_not; }

/* ---- making ---- */

static int current(void)
{
  return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static void go(int network)
{
  if (setns(network, CLONE_NEWNET) != 0)
    test_bail_out("setns: %s", strerror(errno));
}

/* -1: not permitted. Leaves the caller where he was. */
static int namespace_make(int home)
{
  int made;

  if (unshare(CLONE_NEWNET) != 0) {
    (void)snprintf(why_not, sizeof(why_not), "no network namespace: %s", strerror(errno));
    return -1;
  }
  made = current();
  go(home);
  return made;
}

/* Runs a line of the shell in a namespace. */
static bool run_in(int network, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool run_in(int network, const char *format, ...)
{
  char command[2048];
  va_list values;
  int how = -1;
  pid_t child;

  va_start(values, format);
  (void)vsnprintf(command, sizeof(command), format, values);
  va_end(values);
  child = fork();
  if (child == 0) {
    if (setns(network, CLONE_NEWNET) == 0)
      (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
    ;
  if (how != 0)
    (void)snprintf(why_not, sizeof(why_not), "failed: %.200s", command);
  return how == 0;
}

static bool plug_in(struct test_network *n, int host)
{
  return run_in(n->hub,
                "exec 2>/dev/null; ip link add p%d type veth peer name eth0 netns"
                " /proc/%ld/fd/%d && ip link set p%d master bridge0 up",
                host, (long)getpid(), n->hosts[host], host)
         && run_in(n->hosts[host],
                   "exec 2>/dev/null; ip link set lo up && ip address add %s/24 dev eth0"
                   " && ip link set eth0 up && iptables -w -L >/dev/null",
                   n->addresses[host]);
}

struct test_network *test_network_make(int hosts)
{
  struct test_network *n = calloc(1, sizeof(*n));

  if (n == NULL || hosts > TEST_HOSTS_MAX)
    test_bail_out("no network of %d hosts", hosts);
  n->home = current();
  n->hub = namespace_make(n->home);
  if (n->hub < 0
      || !run_in(n->hub, "exec 2>/dev/null; ip link set lo up &&"
                         " ip link add bridge0 type bridge && ip link set bridge0 up"))
    return test_network_free(n);
  while (n->count < hosts) {
    int host = n->count;
    (void)snprintf(n->addresses[host], sizeof(n->addresses[0]), "10.97.0.%d", host + 1);
    n->hosts[host] = namespace_make(n->home);
    n->count++;
    if (n->hosts[host] < 0 || !plug_in(n, host))
      return test_network_free(n);
  }
  return n;
}

/* A namespace ends with its last process and descriptor. */
struct test_network *test_network_free(struct test_network *n)
{
  if (n == NULL)
    return NULL;
  for (int i = 0; i < n->count; i++)
    if (n->hosts[i] >= 0)
      (void)close(n->hosts[i]);
  if (n->hub >= 0)
    (void)close(n->hub);
  if (n->home >= 0)
    (void)close(n->home);
  free(n);
  return NULL;
}

static int host_of(const struct test_network *n, int host)
{
  if (host < 0 || host >= n->count)
    test_bail_out("there is no host %d", host);
  return host;
}

int test_network_count(const struct test_network *n) { return n->count; }

const char *test_network_address(const struct test_network *n, int host)
{
  return n->addresses[host_of(n, host)];
}

int test_network_descriptor(const struct test_network *n, int host)
{
  return n->hosts[host_of(n, host)];
}

/* ---- being there ---- */

void test_network_enter(const struct test_network *n, int host)
{
  go(n->hosts[host_of(n, host)]);
}

void test_network_leave(const struct test_network *n)
{
  go(n->home);
}

/* ---- cutting ---- */

static void must(bool is_done)
{
  if (!is_done)
    test_bail_out("%s", why_not);
}

/* What arrives is dropped: the sender hears nothing, not even that it cannot send. */
void test_network_cut_one_way(const struct test_network *n, int from, int to)
{
  const char *address = test_network_address(n, from);

  must(run_in(n->hosts[host_of(n, to)],
              "iptables -w -C INPUT -s %s -j DROP 2>/dev/null"
              " || iptables -w -A INPUT -s %s -j DROP",
              address, address));
}

static void heal_one_way(const struct test_network *n, int from, int to)
{
  const char *address = test_network_address(n, from);

  must(run_in(n->hosts[host_of(n, to)],
              "while iptables -w -D INPUT -s %s -j DROP 2>/dev/null; do :; done", address));
}

void test_network_heal(const struct test_network *n, int a, int b)
{
  heal_one_way(n, a, b);
  heal_one_way(n, b, a);
}

/* All that arrives at `to` from those hosts, in one go. */
static void cut_from(const struct test_network *n, unsigned from, int to)
{
  char rules[1024];
  size_t used = 0;

  for (int i = 0; i < n->count; i++)
    if (i != to && (from >> i & 1U) != 0)
      used += (size_t)snprintf(rules + used, sizeof(rules) - used,
                               "-A INPUT -s %s -j DROP\\n", n->addresses[i]);
  if (used > 0)
    must(run_in(n->hosts[to],
                "printf '*filter\\n%sCOMMIT\\n' | iptables-restore -w --noflush", rules));
}

void test_network_split(const struct test_network *n, unsigned side, unsigned other)
{
  for (int i = 0; i < n->count; i++) {
    if ((side >> i & 1U) != 0)
      cut_from(n, other, i);
    if ((other >> i & 1U) != 0)
      cut_from(n, side, i);
  }
}

void test_network_heal_all(const struct test_network *n)
{
  for (int i = 0; i < n->count; i++)
    must(run_in(n->hosts[i], "iptables -w -F INPUT"));
}
