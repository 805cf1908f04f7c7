/* SPDX-License-Identifier: MIT */
/* A semaphore in random steps, many of them: after each, available + held = total. Three
 * clients, one of them deaf, take, wait, give back, cancel, renew, repeat and resize, while
 * leases run out by the server's own clock. Each request travels together with a look at all
 * that is stored, 32 such pairs in one write.
 *
 * DIBS_TEST_SCALE=50 makes a million steps. SEED=n begins with another one. */

#include "tests.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/plain_memory.h"
#include "dialect/native.h"
#include "server.h"
#include "rendered.h"

#define STEPS 20000
#define TOGETHER 32
#define CLIENTS 3
#define NAME "orders"
#define KEY "dibs:m:{orders}"
#define HOLDERS_MAX 128

static const memory heap = PLAIN_MEMORY;

struct holder {
  lease_id lease;
  uint64_t units;
  int64_t deadline_us;
};

/* What the server had behind one step. */
struct picture {
  bool exists;
  uint64_t used, limit;
  size_t count;
  struct holder holder[HOLDERS_MAX];
};

enum verb { ACQUIRE, RELEASE, CANCEL, RENEW, SET };

struct step_request {
  enum verb verb;
  int who;
  uint64_t ask, units;
};

static struct test_server *server;
static redisContext *commands, *inboxes;
static protocol clients[CLIENTS];
static random_source chance;
static uint64_t newest[CLIENTS];
static struct picture pictures[2], *before = &pictures[0], *after = &pictures[1];
static struct step_request requests[TOGETHER];
static unsigned long long grants, places, returns, sizes;

static uint64_t below(uint64_t limit) { return random_below(&chance, limit); }

static int64_t wall_us(void)
{
  struct timespec now;

  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* ---- what is stored ---- */

/* By hand: there are twenty of them behind each of a million steps. */
static void picture_holder(struct picture *p, const char *id, const char *value)
{
  struct holder *h = &p->holder[p->count++];
  char *at;

  assert_true(p->count < HOLDERS_MAX && value[0] == 'p' && strlen(id) > CLIENT_ID_SIZE);
  *h = (struct holder){ .units = strtoull(value + 1, &at, 10) };
  memcpy(h->lease.client, id, CLIENT_ID_SIZE - 1);
  h->lease.ask = strtoull(id + CLIENT_ID_SIZE, NULL, 10);
  h->lease.token = strtoull(at, &at, 10);
  h->deadline_us = (int64_t)h->lease.token + strtoll(at, NULL, 10) * 1000;
}

static void picture_take(struct picture *p, const redisReply *all)
{
  unsigned long long used, limit;

  p->exists = all->elements > 0;
  p->count = 0;
  p->used = p->limit = 0;
  for (size_t i = 0; i < all->elements; i += 2) {
    const char *field = all->element[i]->str, *value = all->element[i + 1]->str;
    if (field[0] == 'k') {
      picture_holder(p, field + 1, value);
    } else if (strcmp(field, "s") == 0) {
      assert_int_equal(sscanf(value, "sem %*s %llu %*s %*s %*s %llu", &used, &limit), 2);
      p->used = used;
      p->limit = limit;
    }
  }
}

/* Tokens are never given twice. */
static const struct holder *picture_find(const struct picture *p, const struct holder *h)
{
  for (size_t i = 0; i < p->count; i++)
    if (p->holder[i].lease.token == h->lease.token)
      return lease_id_equal(&p->holder[i].lease, &h->lease) ? &p->holder[i] : NULL;
  return NULL;
}

static void pictures_swap(void)
{
  struct picture *old = before;

  before = after;
  after = old;
}

/* ---- what must hold ---- */

/* A share goes only by its own release or cancel, or because its lease ran out. */
static void check_gone(const struct step_request *r)
{
  for (size_t i = 0; i < before->count; i++) {
    const struct holder *h = &before->holder[i];
    bool is_named = (r->verb == RELEASE || r->verb == CANCEL) && r->ask == h->lease.ask &&
                    strcmp(h->lease.client, clients[r->who].client) == 0;
    if (picture_find(after, h) == NULL && !is_named && h->deadline_us + 1000000 > wall_us())
      fail_msg("a share has gone by itself: ask %llu of %s",
               (unsigned long long)h->lease.ask, h->lease.client);
  }
}

static void check(const struct step_request *r, const redisReply *answer)
{
  int64_t available, held = 0;

  if (answer->type == REDIS_REPLY_ERROR)
    fail_msg("%s", answer->str);
  for (size_t i = 0; i < after->count; i++)
    held += (int64_t)after->holder[i].units;
  available = (int64_t)after->limit - (int64_t)after->used;
  if (available + held != (int64_t)after->limit)
    fail_msg("%lld available, %lld held, %llu in all", (long long)available, (long long)held,
             (unsigned long long)after->limit);
  /* Above the limit only by what was held before it was lowered. */
  for (size_t i = 0; after->used > after->limit && i < after->count; i++)
    assert_non_null(picture_find(before, &after->holder[i]));
  check_gone(r);
  if (r->verb == ACQUIRE && answer->element[0]->integer == ACQUIRE_GRANTED) {
    struct holder h = { .units = 0 };
    memcpy(h.lease.client, clients[r->who].client, CLIENT_ID_SIZE);
    h.lease.ask = r->ask;
    h.lease.token = (uint64_t)answer->element[4]->integer;
    assert_non_null(picture_find(after, &h));
    assert_int_equal(picture_find(after, &h)->units, answer->element[5]->integer);
  }
}

static void count(const struct step_request *r, const redisReply *answer)
{
  for (size_t i = 0; i < after->count; i++)
    grants += picture_find(before, &after->holder[i]) == NULL;
  places += r->verb == ACQUIRE && answer->element[0]->integer == ACQUIRE_WAITING;
  returns += r->verb == RELEASE && answer->integer == RELEASE_DONE;
  sizes += r->verb == SET;
}

/* ---- one step each ---- */

static void add_acquire(struct step_request *r, buffer *out)
{
  static const int64_t ttls[] = { 5, 200, 30000, 60000 };
  share_call c = { .name = NAME, .name_size = sizeof(NAME) - 1, .mode = 'p',
                   .estimate_us = below(8) == 0 ? 0 : wall_us() };

  if (below(5) > 0)
    newest[r->who]++;
  r->ask = newest[r->who] - (below(6) == 0 && newest[r->who] > 3 ? below(3) : 0);
  c.ask = r->ask;
  c.units = 1 + r->ask * 7 % 4;
  c.waits = below(3) == 0;
  if (below(30) == 0) {
    c.ask = r->ask = ++newest[r->who];
    c.units = 0;
    c.waits = false;
  }
  c.ttl_ms = ttls[below(4)];
  c.give_up_us = below(10) > 0 ? wall_us() + (int64_t)below(5000) : 0;
  assert_true(RENDERED(native_share_acquire, &clients[r->who], out, false, &c));
}

static bool add_named(struct step_request *r, buffer *out)
{
  static size_t turn;
  const lease_id *l;
  share_renew_item item = { NAME, sizeof(NAME) - 1, NULL, 30000, 'p', 0, false };

  if (before->count == 0)
    return false;
  l = &before->holder[turn++ % before->count].lease;
  r->who = l->client[0] - 'A';
  r->ask = l->ask;
  r->verb = below(3) == 0 ? RENEW : RELEASE;
  item.lease = l;
  item.ttl_ms = (int64_t)below(40000);
  if (r->verb == RENEW)
    return RENDERED(native_share_renew, &clients[r->who], out, false, &item, 1,
                    wall_us());
  return RENDERED(native_share_release, &clients[r->who], out, false, NAME,
                  sizeof(NAME) - 1, l, below(4) == 0 ? wall_us() + 1000000 : 0,
                  wall_us());
}

static void add_request(struct step_request *r, buffer *out)
{
  uint64_t kind = below(100);

  *r = (struct step_request){ .verb = ACQUIRE, .who = (int)below(CLIENTS) };
  if (kind >= 45 && kind < 90 && add_named(r, out))
    return;
  if (kind >= 90 && kind < 98) {
    r->verb = CANCEL;
    r->ask = newest[r->who] - (newest[r->who] > 8 ? below(8) : 0);
    assert_true(RENDERED(native_share_cancel, &clients[r->who], out, false, NAME,
                         sizeof(NAME) - 1, r->ask, wall_us() + 100000, wall_us()));
  } else if (kind >= 98) {
    r->verb = SET;
    assert_true(RENDERED(native_share_set, &clients[r->who], out, false, NAME,
                         sizeof(NAME) - 1, SHARE_SET, below(24), wall_us()));
  } else {
    add_acquire(r, out);
  }
}

static redisReply *next_reply(redisContext *c)
{
  redisReply *reply = NULL;

  if (redisGetReply(c, (void **)&reply) != REDIS_OK)
    fail_msg("%s", c->errstr);
  return reply;
}

/* Read only so that the server keeps no messages for us. */
static void inboxes_drain(void)
{
  struct pollfd p = { .fd = inboxes->fd, .events = POLLIN };
  void *reply;

  while (poll(&p, 1, 0) > 0) {
    assert_int_equal(redisBufferRead(inboxes), REDIS_OK);
    while (redisGetReplyFromReader(inboxes, &reply) == REDIS_OK && reply != NULL)
      freeReplyObject(reply);
  }
}

static void batch(void)
{
  buffer out;

  buffer_init(&out, &heap);
  for (int i = 0; i < TOGETHER; i++) {
    add_request(&requests[i], &out);
    assert_int_equal(redisAppendFormattedCommand(commands, buffer_bytes(&out),
                                                 buffer_size(&out)), REDIS_OK);
    buffer_clear(&out);
    assert_int_equal(redisAppendCommand(commands, "HGETALL " KEY), REDIS_OK);
  }
  buffer_deinit(&out);
  for (int i = 0; i < TOGETHER; i++) {
    redisReply *answer = next_reply(commands), *all = next_reply(commands);
    picture_take(after, all);
    check(&requests[i], answer);
    count(&requests[i], answer);
    pictures_swap();
    freeReplyObject(answer);
    freeReplyObject(all);
  }
  inboxes_drain();
}

TEST(after_each_step_available_and_held_are_the_total)
{
  const char *scale = getenv("DIBS_TEST_SCALE"), *seed = getenv("SEED");
  double times = scale != NULL ? strtod(scale, NULL) : 1;
  long steps = (long)(STEPS * (times > 0 ? times : 1));

  random_seed(&chance, seed != NULL ? strtoull(seed, NULL, 10) : 1);
  freeReplyObject(redisCommand(commands, "DEL " KEY));
  freeReplyObject(redisCommand(commands, "EVAL %s 1 " KEY " set 10 %s 0 0",
                               script_native_share_set.bytes, "dibs orders"));
  for (long done = 0; done < steps; done += TOGETHER)
    batch();
  print_message("# %ld steps: %llu grants, %llu places, %llu returns, %llu sizes\n", steps,
                grants, places, returns, sizes);
  assert_true(grants > (unsigned long long)steps / 50);
  assert_true(places > (unsigned long long)steps / 50);
}

static redisContext *connect_here(void)
{
  redisContext *c = redisConnectUnix(test_server_socket(server));

  assert_true(c != NULL && c->err == 0);
  return c;
}

static int start(void **state)
{
  (void)state;
  server = test_server_start();
  commands = connect_here();
  inboxes = connect_here();
  for (int who = 0; who < CLIENTS; who++) {
    strcpy(clients[who].prefix, "dibs");
    memset(clients[who].client, 'A' + who, CLIENT_ID_SIZE - 1);
    newest[who] = 1;
  }
  for (int who = 0; who < CLIENTS - 1; who++)
    freeReplyObject(redisCommand(inboxes, "SUBSCRIBE dibs:inbox:%s", clients[who].client));
  for (size_t i = 0; i < script_count; i++)
    test_server_command(server, "SCRIPT LOAD %s", script_table[i]->bytes);
  return 0;
}

static int stop(void **state)
{
  (void)state;
  redisFree(commands);
  redisFree(inboxes);
  test_server_stop(server);
  return 0;
}

RUN_TESTS(start, stop)
