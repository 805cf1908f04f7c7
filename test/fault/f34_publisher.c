/* SPDX-License-Identifier: MIT */
/* test/fault/f34_publisher.c - an attacker that may publish, and reads the messages of other
 * clients: it sends forged grants, losses and wants with guessed asks and extreme tokens, and
 * repeats genuine messages. All clients make progress, no lease is lost, no fence decreases,
 * and no two clients hold one name. S14, S15. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "child.h"

enum { TTL_MS = 1500, KEPT = 64, CHANNELS_MAX = 64, BURST = 40 };

struct attacker {
  redisContext *says, *hears;
  char channels[CHANNELS_MAX][128];
  size_t channel_count, kept;
  char told_where[KEPT][128], told[KEPT][256];
};

static redisContext *attach(struct world *w)
{
  redisContext *c = redisConnectUnix(test_server_socket(world_server(w)));

  if (c == NULL || c->err != 0)
    world_fail(w, "the attacker cannot connect");
  return c;
}

static void look_around(struct attacker *a)
{
  redisReply *r = redisCommand(a->says, "PUBSUB CHANNELS");

  a->channel_count = 0;
  for (size_t i = 0; r != NULL && i < r->elements && a->channel_count < CHANNELS_MAX; i++)
    (void)snprintf(a->channels[a->channel_count++], sizeof(a->channels[0]), "%s",
                   r->element[i]->str);
  freeReplyObject(r);
}

/* Not longer than there is something to hear. */
static void overhear(struct attacker *a)
{
  const struct timeval soon = { 0, 1000 };
  void *reply = NULL;

  (void)redisSetTimeout(a->hears, soon);
  while (redisGetReply(a->hears, &reply) == REDIS_OK) {
    redisReply *r = reply;

    if (r->elements == 4 && r->element[3]->type == REDIS_REPLY_STRING &&
        r->element[3]->len < sizeof(a->told[0])) {
      size_t at = a->kept++ % KEPT;
      (void)snprintf(a->told_where[at], sizeof(a->told_where[0]), "%s", r->element[2]->str);
      (void)snprintf(a->told[at], sizeof(a->told[0]), "%s", r->element[3]->str);
    }
    freeReplyObject(r);
  }
  a->hears->err = 0;               /* nothing for a while: no end of the connection */
}

static void publish(struct attacker *a, const char *channel, const char *words)
{
  freeReplyObject(redisCommand(a->says, "PUBLISH %s %s", channel, words));
}

static int64_t wall_us(void)
{
  struct timeval now;

  (void)gettimeofday(&now, NULL);
  return (int64_t)now.tv_sec * 1000000 + now.tv_usec;
}

static unsigned long long guessed_token(struct world *w)
{
  static const unsigned long long extreme[] = { 1, 9007199254740900, 9007199254740985,
                                                9007199254740992 };
  uint64_t which = world_chance(w, 6);

  return which < 4 ? extreme[which]
                   : (unsigned long long)wall_us() + world_chance(w, 1000000);
}

static void forge(struct attacker *a, struct world *w, const char *name)
{
  static const char *const words[] = { "grant", "grant:", "share", "share:", "want", "lost" };
  const char *channel = a->channels[world_chance(w, a->channel_count)];
  const char *inbox = strstr(channel, "dibs:inbox:"), *colon = strrchr(channel, ':');
  uint64_t which = world_chance(w, 6);
  char message[256], nonce[24] = "";

  if (inbox == NULL) {
    publish(a, channel, "0");      /* of another dialect: it is free */
    return;
  }
  if (which == 1 || which == 3)
    (void)snprintf(nonce, sizeof(nonce), "%020llu", (unsigned long long)world_chance(w, 1 << 30));
  (void)snprintf(message, sizeof(message), "%s%s %s:%d:%llu%s %s", words[which], nonce, colon + 1,
                 world_between(w, 1, 400), guessed_token(w),
                 which < 2 ? " 1500 0" : which < 4 ? " 1500 0 1" : "", name);
  publish(a, channel, message);
}

/* Genuine ones again, as they were, or for one of the next asks with the old nonce and a token
 * of now, when that ask may be waiting. */
static void replay(struct attacker *a, struct world *w)
{
  size_t count = a->kept < KEPT ? a->kept : KEPT, at;
  unsigned long long ask;
  char message[320], head[96];
  int used = 0;

  if (count == 0)
    return;
  at = (a->kept - 1 - world_chance(w, count)) % KEPT;
  (void)snprintf(message, sizeof(message), "%s", a->told[at]);
  if (world_chance(w, 4) != 0 &&
      sscanf(a->told[at], "%95s %*[^:]:%llu:%*u%n", head, &ask, &used) == 2 && used > 0)
    (void)snprintf(message, sizeof(message), "%s %s:%llu:%llu%s", head,
                   strrchr(a->told_where[at], ':') + 1, ask + world_chance(w, 4),
                   (unsigned long long)wall_us(), a->told[at] + used);
  publish(a, a->told_where[at], message);
}

static void run(struct world *w, const struct scale *scale)
{
  static const char *const names[] = { "forged-0", "forged-1", "forged-2", "forged-3" };
  struct attacker *a = calloc(1, sizeof(*a));
  struct plan plan = PLAN_INIT;
  int fault;

  (void)scale;
  (void)world_lock(w, 'm', names[0], 0);
  (void)world_lock(w, 'm', names[1], 0);
  (void)world_lock(w, 'r', names[2], 0);
  (void)world_lock(w, 'p', names[3], 2);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 1000;
  plan.hold_us_max = 60000;
  plan.threads = 2;
  plan.try_percent = plan.async_percent = plan.cancel_percent = plan.many_percent = 10;
  plan.nested_percent = plan.downgrade_percent = 10;
  world_demand(w, "forged messages", 100);
  world_demand(w, "messages said again", 20);
  (void)world_hire(w, &plan, 4);
  a->says = attach(w);
  a->hears = attach(w);
  freeReplyObject(redisCommand(a->hears, "PSUBSCRIBE *inbox*"));
  fault = world_fault_begin(w, FAULT_ADMIN, EVERYBODY, NO_LOCK);
  world_fault_in_force(w, fault);
  while (world_goes_on(w)) {
    look_around(a);
    overhear(a);
    for (int i = 0; i < BURST && a->channel_count > 0; i++) {
      forge(a, w, names[world_chance(w, 4)]);
      world_mark(w, "forged messages");
    }
    for (int i = 0; i < BURST / 4; i++) {
      replay(a, w);
      world_mark(w, "messages said again");
    }
    if (!world_wait_for_grants(w, 5, 5000))
      world_fail(w, "no 5 grants within 5 s beside forged messages");
  }
  world_fault_lifting(w, fault);
  world_fault_end(w, fault);
  if (world_losses(w) != 0 && child_machine_slack_ms() == 0)
    world_fail(w, "%llu leases lost though the server kept them",
               (unsigned long long)world_losses(w));
  redisFree(a->says);
  redisFree(a->hears);
  free(a);
}

const struct scenario f34_publisher = {
  .id = "F34", .name = "forged_messages_make_no_holder_and_cost_no_lease", .run = run,
};
