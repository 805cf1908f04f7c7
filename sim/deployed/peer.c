/* SPDX-License-Identifier: MIT */
/* A Java program with a RedLock: getLock(name) on one server after the other, a majority is
 * enough, and whatever it got is given back on all. It asks the servers themselves: its own
 * network is never broken. It believes for the lease from before it began, as the algorithm of
 * the Redis documentation has it; Redisson leaves that to its user. */
#include "deployed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"
#include "world/world.h"

#define HOP_US 2000             /* from one server to the next, at most */

static const char lock_script[] =
  "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end "
  "redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1";

static const char unlock_script[] =
  "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end "
  "redis.call('DEL', KEYS[1]) redis.call('PUBLISH', ARGV[2], '0') return 1";

static int64_t below(peer *p, int64_t limit)
{
  return (int64_t)random_below(&p->random, (uint64_t)limit);
}

/* Each of its clients has a UUID of its own. */
static int owner_write(const peer *p, size_t server, char owner[64])
{
  return snprintf(owner, 64, "00000000-0000-4000-8000-00000000%02x%02zx:%" PRIu64,
                  (unsigned)p->number, server, p->thread);
}

/* false: no, or no answer. */
static bool ask(peer *p, size_t server, const char *program, const char *last)
{
  const char *name = name_texts[p->name], *reply;
  char owner[64];
  int owner_size = owner_write(p, server, owner);
  resp_argument words[] = { RESP_TEXT("EVAL"), { program, strlen(program) }, RESP_TEXT("1"),
                            { name, strlen(name) }, { owner, (size_t)owner_size },
                            { last, strlen(last) } };
  size_t size = 0;
  buffer bytes;

  buffer_init(&bytes, sim_memory());
  if (!resp_command(&bytes, words, sizeof(words) / sizeof(words[0])))
    abort();
  reply = world_command_at(p->sim, p->sim->hosts[server], buffer_bytes(&bytes),
                           buffer_size(&bytes), &size);
  buffer_deinit(&bytes);
  return reply != NULL && size > 1 && reply[0] == ':' && reply[1] == '1';
}

/* Whether it has a majority, until `*ret_valid_us`. */
static bool lock(peer *p, int64_t *ret_valid_us)
{
  int64_t begun = dibs_sim_now_us(p->sim);
  int count = p->sim->host_count, got = 0;
  char ttl[24];

  p->thread++;
  (void)snprintf(ttl, sizeof(ttl), "%" PRId64, p->ttl_ms);
  for (int i = 0; i < count; i++) {
    got += ask(p, (size_t)i, lock_script, ttl);
    dibs_sim_sleep_us(below(p, HOP_US));
  }
  *ret_valid_us = begun + p->ttl_ms * 1000;
  return got > count / 2 && dibs_sim_now_us(p->sim) < *ret_valid_us;
}

/* Those that do not answer keep it until its end. */
static void unlock(peer *p)
{
  char channel[64];

  (void)snprintf(channel, sizeof(channel), "redisson_lock__channel:{%s}", name_texts[p->name]);
  for (int i = 0; i < p->sim->host_count; i++) {
    (void)ask(p, (size_t)i, unlock_script, channel);
    dibs_sim_sleep_us(below(p, HOP_US));
  }
}

void peer_main(void *data)
{
  peer *p = data;

  while (!p->ends) {
    struct logged c = { .log = p->log, .worker = (uint16_t)(PROGRAMS + p->number), .units = 1,
                       .ttl_ms = (int32_t)p->ttl_ms };
    int64_t valid_us = 0;

    p->name = (int)below(p, p->names);
    c.locks = 1u << p->name;
    logged_ask(&c, history_now(p->sim), OP_LOCK);
    if (lock(p, &valid_us)) {
      p->grants++;
      logged_granted(&c, history_now(p->sim), 0, valid_us * 1000);
      dibs_sim_sleep_ms(below(p, p->hold_ms < p->ttl_ms ? p->hold_ms + 1 : p->ttl_ms + 1));
      logged_release(&c, history_now(p->sim));
    } else {
      logged_failed(&c, history_now(p->sim), DIBS_UNKNOWN);
    }
    unlock(p);
    dibs_sim_sleep_ms(1 + below(p, p->think_ms + 1));
  }
}
