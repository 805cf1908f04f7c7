/* SPDX-License-Identifier: MIT */
/* test/fault/f10_half_open.c - packets that the kernel drops on established connections, in one
 * direction or both, so that neither end hears a word about it. In a network namespace of
 * this scenario's own, which ends with its last process, whatever becomes of it. */
#include <errno.h>
#include <linux/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"

/* ---- the network ---- */

static void loopback_up(void)
{
  struct ifreq request = { .ifr_flags = IFF_UP };
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  memcpy(request.ifr_name, "lo", 3);
  (void)ioctl(fd, SIOCSIFFLAGS, &request);
  (void)close(fd);
}

/* Before the first server and worker, which then live in it. */
static void own_network(struct world *w)
{
  if (unshare(CLONE_NEWNET) != 0) {
    world_fail(w, "no network namespace: %s", strerror(errno));
    return;
  }
  loopback_up();
}

static void iptables(struct world *w, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

static void iptables(struct world *w, const char *format, ...)
{
  char command[256];
  va_list words;
  int size = snprintf(command, sizeof(command), "iptables -w ");

  va_start(words, format);
  (void)vsnprintf(command + size, sizeof(command) - (size_t)size, format, words);
  va_end(words);
  if (system(command) != 0)
    world_fail(w, "failed: %s", command);
}

enum way { TO_SERVER = 1, TO_CLIENT = 2, BOTH_WAYS = 3 };

/* `client`: the client's port of one connection; 0: all connections by TCP. */
static void drop(struct world *w, enum way way, int client)
{
  int server = test_server_port(world_server(w));
  char from[32] = "", to[32] = "";

  if (client != 0) {
    (void)snprintf(from, sizeof(from), "--sport %d", client);
    (void)snprintf(to, sizeof(to), "--dport %d", client);
  }
  if ((way & TO_SERVER) != 0)
    iptables(w, "-A INPUT -p tcp --dport %d %s -j DROP", server, from);
  if ((way & TO_CLIENT) != 0)
    iptables(w, "-A INPUT -p tcp --sport %d %s -j DROP", server, to);
}

/* The first rules are ours, and their first columns are packets and bytes. */
static void count_dropped(struct world *w)
{
  FILE *rules = popen("iptables -w -nvxL INPUT", "re");
  char line[256];
  long long packets;

  while (rules != NULL && fgets(line, sizeof(line), rules) != NULL)
    if (strstr(line, "DROP") != NULL && sscanf(line, "%lld", &packets) == 1)
      world_mark_times(w, "packets dropped", packets);
  if (rules != NULL)
    (void)pclose(rules);
}

static void drop_nothing(struct world *w)
{
  count_dropped(w);
  iptables(w, "-F INPUT");
}

/* The client's port of a TCP connection of this type ("normal", "pubsub"); 0: there is none.
 * Only one worker comes by TCP. */
static int port_of(struct world *w, const char *type)
{
  const char *list = test_server_command(world_server(w), "CLIENT LIST TYPE %s", type);
  const char *address = strstr(list, " addr=127.0.0.1:");

  return address == NULL ? 0 : (int)strtol(address + 16, NULL, 10);
}

/* ---- holders ---- */

enum { TTL_MS = 900, LONG_TTL_MS = 3000 };

struct at_work { int worker, lock; };

static bool is_at_work(struct world *w, void *data)
{
  const struct at_work *a = data;

  return (world_page(w)->workers[a->worker].holds >> a->lock & 1) != 0;
}

/* All its connections are dead, old and new: the lease ends, here and there, and others get
 * the lock while it thinks no more that it has it. */
static void cut_holder(struct world *w, int worker, int lock, enum way way)
{
  struct at_work a = { worker, lock };
  uint64_t lost = world_page(w)->workers[worker].lost;
  int fault;

  if (!world_until(w, 5000, is_at_work, &a)) {
    world_fail(w, "the holder by TCP does not hold within 5 s");
    return;
  }
  fault = world_fault_begin(w, FAULT_CUT_OFF, worker, NO_LOCK);
  drop(w, way, 0);
  world_fault_in_force(w, fault);
  /* Over by the deadline is a second past it: protocol.md 4. */
  if (!world_wait_for_grants(w, 3, TTL_MS + 1000 + 1050))
    world_fail(w, "nobody else gets the lock of a holder that is cut off");
  if (is_at_work(w, &a) && world_page(w)->workers[worker].lost == lost)
    world_fail(w, "a holder that was cut off was not told, and others hold");
  world_fault_lifting(w, fault);
  drop_nothing(w);
  world_fault_end(w, fault);
  world_mark(w, way == BOTH_WAYS ? "holders cut off" : "holders half cut off");
}

/* One established connection is dead: noticed by the next renewal, a new one is made, and no
 * lease is lost. */
static void cut_connection(struct world *w, int worker, int lock, enum way way)
{
  struct at_work a = { worker, lock };
  uint64_t lost = world_page(w)->workers[worker].lost;
  int port, fault;

  if (!world_until(w, 5000, is_at_work, &a)) {
    world_fail(w, "the patient holder does not hold within 5 s");
    return;
  }
  port = port_of(w, "normal");
  fault = world_fault_begin(w, FAULT_NETWORK, worker, NO_LOCK);
  drop(w, way, port);
  world_fault_in_force(w, fault);
  world_pass_ms(w, LONG_TTL_MS);
  if (port_of(w, "normal") == port && way != TO_SERVER)
    world_say(w, "the server still knows the dead connection, as it may");
  world_fault_lifting(w, fault);
  drop_nothing(w);
  world_fault_end(w, fault);
  if (world_page(w)->workers[worker].lost != lost && child_machine_slack_ms() == 0)
    world_fail(w, "a lease was lost to one dead connection");
  world_mark(w, "connections died under a holder");
}

/* ---- subscribers ---- */

enum { POLL_MS = 1000, HEALTH_MS = 11000 };    /* an idle link is asked after 10 s */

struct inbox { int port; };

static bool has_other_inbox(struct world *w, void *data)
{
  int port = port_of(w, "pubsub");

  return port != 0 && port != ((const struct inbox *)data)->port;
}

/* Whoever waits is granted by a message that never comes: the server takes its inbox for
 * alive. It finds its grant by asking. */
static void cut_inbox(struct world *w, int worker, enum way way)
{
  struct inbox old = { 0 };
  int fault;

  if (!world_until(w, 5000, has_other_inbox, &old)) {
    world_fail(w, "the waiter by TCP has no inbox");
    return;
  }
  old.port = port_of(w, "pubsub");
  fault = world_fault_begin(w, FAULT_NETWORK, EVERYBODY, NO_LOCK);
  drop(w, way, old.port);
  world_fault_in_force(w, fault);
  for (int i = 0; i < 2; i++)
    if (!world_wait_for_grants_of(w, worker, 1, 2 * POLL_MS + 500))
      world_fail(w, "who hears nothing is not granted within two polls");
  if (world_left_ms(w) > HEALTH_MS) {
    if (!world_until(w, HEALTH_MS, has_other_inbox, &old))
      world_fail(w, "a dead inbox is not noticed within %d ms", HEALTH_MS);
    world_count(w, "dead inboxes noticed", 1);
  }
  world_fault_lifting(w, fault);
  drop_nothing(w);
  world_fault_end(w, fault);
  world_mark(w, "inboxes cut off");
}

static void run_subscriber(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int worker;

  (void)scale;
  (void)world_lock(w, 'm', "unheard", 0);
  own_network(w);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 20000;
  (void)world_hire(w, &plan, 2);
  plan.url = test_server_tcp_url(world_server(w));
  worker = world_hire(w, &plan, 1);
  world_demand(w, "inboxes cut off", 1);
  world_demand(w, "packets dropped", 2);
  for (int i = 0; i < 1 || world_goes_on(w); i++)
    cut_inbox(w, worker, i % 2 == 0 ? TO_CLIENT : BOTH_WAYS);
}

/* ---- the scenarios ---- */

static void run_holder(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "half-open", 0), worker;

  (void)scale;
  own_network(w);
  plan.ttl_ms = TTL_MS;
  plan.locks = 1U << lock;
  plan.hold_us = 3000;
  (void)world_hire(w, &plan, 3);
  plan.url = test_server_tcp_url(world_server(w));
  plan.hold_us = 100000000;               /* until it is lost */
  worker = world_hire(w, &plan, 1);
  world_demand(w, "holders cut off", 1);
  world_demand(w, "packets dropped", 3);
  for (int i = 0; i < 1 || world_goes_on(w); i++)
    cut_holder(w, worker, lock, i % 2 == 0 ? BOTH_WAYS
                                           : i % 4 == 1 ? TO_SERVER : TO_CLIENT);
  world_dismiss(w, worker);
}

static void run_connection(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "patient", 0), worker;

  (void)scale;
  own_network(w);
  plan.ttl_ms = LONG_TTL_MS;
  plan.url = test_server_tcp_url(world_server(w));
  plan.hold_us = 100000000;
  worker = world_hire(w, &plan, 1);
  world_demand(w, "connections died under a holder", 1);
  world_demand(w, "packets dropped", 1);
  for (int i = 0; i < 1 || world_goes_on(w); i++)
    cut_connection(w, worker, lock, (enum way)(1 + (i + 2) % 3));
  world_dismiss(w, worker);
}

const struct scenario f10_holder = {
  .id = "F10", .name = "a_holder_whose_packets_vanish_knows_before_others_hold",
  .run = run_holder, .skip_without = "iptables",
};

const struct scenario f10_connection = {
  .id = "F10", .name = "a_connection_that_dies_unheard_costs_no_lease",
  .run = run_connection, .skip_without = "iptables",
};

const struct scenario f10_subscriber = {
  .id = "F10", .name = "a_waiter_whose_inbox_died_unheard_is_granted_by_its_polls",
  .run = run_subscriber, .skip_without = "iptables",
};
