/* SPDX-License-Identifier: MIT */
/* test/live/forged_message_test.c - who may only publish on the inboxes of others, and reads their
 * names in PUBSUB CHANNELS, makes no holder, ends no hold and leaves no token; and a name whose key
 * was driven to the last token is usable at once. SECURITY.md. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

enum { TTL_MS = 30000, FENCE_STEP = 1024 };

static dibs_client *holder, *waiter, *other;

static int setup(void **state)
{
  (void)live_server_setup(state);
  holder = live_open(live_url());
  waiter = live_open(live_url());
  other = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  holder = dibs_close(holder);
  waiter = dibs_close(waiter);
  other = dibs_close(other);
  return live_server_teardown(state);
}

static size_t waiters_of(const char *name)
{
  dibs_inspection *seen = NULL;
  size_t count;

  live_expect_ok(dibs_inspect(other, dibs_text(name), &seen));
  count = seen->waiter_count;
  seen = dibs_inspection_free(seen);
  return count;
}

static bool has_waiter(void *name)
{
  return waiters_of(name) == 1;
}

static bool has_inbox(void *data)
{
  (void)data;
  return strstr(test_server_command(live_server, "PUBSUB CHANNELS dibs:inbox:*"),
                "dibs:inbox:") != NULL;
}

/* All inboxes, as an attacker finds them; each with the first asks of its client. */
static void forge(const char *word, uint64_t token, const char *rest, const char *name)
{
  const char *all = test_server_command(live_server, "PUBSUB CHANNELS dibs:inbox:*");
  char list[1024], *at = list, *next;

  (void)snprintf(list, sizeof(list), "%s", all);
  for (; at != NULL && *at != '\0'; at = next) {
    char *inbox = strstr(at, "dibs:inbox:");

    if (inbox == NULL)
      break;
    next = inbox + strlen("dibs:inbox:") + 22;
    for (unsigned ask = 1; ask <= 6; ask++) {
      char message[512], channel[64];

      (void)snprintf(channel, sizeof(channel), "%.33s", inbox);
      (void)snprintf(message, sizeof(message), "%s %.22s:%u:%llu%s %s", word,
                     inbox + strlen("dibs:inbox:"), ask, (unsigned long long)token, rest, name);
      (void)test_server_command(live_server, "PUBLISH %s %s", channel, message);
    }
  }
}

static const uint64_t extreme[] = { 0, 9007199254740900, 9007199254740985, 9007199254740992 };
enum { EXTREMES = sizeof(extreme) / sizeof(extreme[0]) };

static void forge_grants(const char *name)
{
  static const char *const words[] = { "grant", "share", "grant:00000000000000000000",
                                       "share:18446744073709551615" };

  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    for (size_t t = 0; t < EXTREMES; t++)
      forge(words[i], extreme[t] > 0 ? extreme[t] : (uint64_t)live_wall_us(),
            i % 2 == 0 ? " 30000 0" : " 30000 0 1", name);
}

/* Wide of any token that came by a message. */
static void expect_honest(uint64_t fence)
{
  assert_in_range(fence / FENCE_STEP, (uint64_t)live_wall_us() - 60000000,
                  (uint64_t)live_wall_us() + 60000000);
}

static void begin(struct live_ask *ask, dibs_client *client, char mode,
                  const dibs_lock_options *options)
{
  live_ask_init(ask);
  if (mode == 'm')
    live_ask_begin(ask, client, "xx", options);
  else
    live_ask_begin_as(ask, client, mode, "xx", options);
}

static void wait_beside_forgeries(char mode)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_ask first, ask;
  dibs_hold *hold;

  begin(&first, holder, mode, &o);
  hold = live_ask_granted(&first, LIVE_LONG_MS);
  begin(&ask, waiter, mode, &o);
  assert_true(live_until(LIVE_LONG_MS, has_waiter, "xx"));
  forge_grants("xx");
  live_still_waits(&ask, 500);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect_ok(dibs_release(hold));
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  expect_honest(dibs_hold_fence(hold));
  live_expect_ok(dibs_release(hold));
  /* Nor did a floor come with it. */
  hold = live_lock(waiter, "elsewhere", TTL_MS);
  expect_honest(dibs_hold_fence(hold));
  live_expect_ok(dibs_release(hold));
}

TEST(a_forged_grant_makes_no_second_holder)
{
  wait_beside_forgeries('m');
}

TEST(a_forged_share_makes_no_second_writer)
{
  wait_beside_forgeries('w');
}

TEST(a_forged_loss_ends_no_hold)
{
  struct live_ask ask;
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = live_lock(holder, "xx", TTL_MS), *next;
  uint64_t token = dibs_hold_fence(hold) / FENCE_STEP;

  live_ask_begin(&ask, holder, "xx", &o);        /* it listens from now on */
  assert_true(live_until(LIVE_LONG_MS, has_inbox, NULL));
  forge("lost", token, "", "xx");
  forge("want", token, "", "xx");
  live_still_waits(&ask, 300);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect_refused(other, live_try(other, "xx"), DIBS_BUSY);
  live_expect_ok(dibs_release(hold));
  next = live_ask_granted(&ask, LIVE_LONG_MS);
  live_expect_ok(dibs_release(next));
}

/* ---- who also knows a lease, whose fence is no secret ---- */

static dibs_status take(dibs_client *client, char mode, bool is_try, dibs_hold **ret_hold)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  o.wait_ms = is_try ? 0 : o.wait_ms;
  switch (mode) {
  case 'r':
    return dibs_acquire(client, DIBS_READ("xx"), &o, ret_hold);
  case 'w':
    return dibs_acquire(client, DIBS_WRITE("xx"), &o, ret_hold);
  case 'p':
    return dibs_acquire(client, DIBS_PERMITS("xx", 2), &o, ret_hold);
  default:
    return dibs_acquire(client, DIBS_LOCK("xx"), &o, ret_hold);
  }
}

/* Every word for every number of an ask, as of a lock and as of a set of locks, and the name
 * both as it is and as one that was never used. */
static void forge_all(uint64_t token)
{
  static const char *const words[] = { "grant", "share", "want", "lost" };
  static const char *const sets[] = { "", ".1", ".7", ".4294967295" };
  static const char *const names[] = { "xx", "fresh" };
  char list[1024], *at = list, *inbox;

  (void)snprintf(list, sizeof(list), "%s",
                 test_server_command(live_server, "PUBSUB CHANNELS dibs:inbox:*"));
  for (; (inbox = strstr(at, "dibs:inbox:")) != NULL; at = inbox + 33)
    for (unsigned i = 0; i < 4 * 4 * 2 * 6; i++) {
      const char *word = words[i % 4];
      char message[256], channel[64];

      (void)snprintf(channel, sizeof(channel), "%.33s", inbox);
      (void)snprintf(message, sizeof(message), "%s %.22s%s:%u:%llu%s %s", word,
                     inbox + strlen("dibs:inbox:"), sets[i / 4 % 4], 1 + i / 32,
                     (unsigned long long)token,
                     word[0] == 'g' ? " 30000 0" : word[0] == 's' ? " 30000 0 1" : "",
                     names[i / 16 % 2]);
      (void)test_server_command(live_server, "PUBLISH %s %s", channel, message);
    }
}

/* The client that holds `xx` has an inbox, because it waits for another name. */
static void hold_beside_one_who_knows(char mode)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *elsewhere = live_lock(other, "elsewhere", TTL_MS), *hold = NULL, *second = NULL;
  static struct live_ask ask;                    /* outlives a failure */

  if (mode == 'p')
    live_expect_ok(dibs_semaphore_set(other, dibs_text("xx"), 2, 0, NULL));
  live_ask_begin(&ask, holder, "elsewhere", &o);
  assert_true(live_until(LIVE_LONG_MS, has_waiter, "elsewhere"));
  live_expect_ok(take(holder, mode, false, &hold));
  forge_all(dibs_hold_fence(hold) / FENCE_STEP);
  live_still_waits(&ask, 300);
  live_expect_refused(other, take(other, mode == 'r' ? 'w' : mode, true, &second),
                      DIBS_BUSY);
  assert_string_equal(test_server_command(live_server, "EXISTS dibs:m:{fresh}"), "0");
  live_expect_ok(dibs_release(hold));
  live_expect_ok(dibs_release(elsewhere));
  live_expect_ok(dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)));
}

TEST(who_knows_a_lease_and_publishes_does_not_end_it)
{
  hold_beside_one_who_knows('m');
}

TEST(nor_that_of_a_reader)
{
  hold_beside_one_who_knows('r');
}

TEST(nor_that_of_a_writer)
{
  hold_beside_one_who_knows('w');
}

TEST(nor_that_of_permits)
{
  hold_beside_one_who_knows('p');
}

TEST(who_knows_an_ask_and_publishes_does_not_end_its_wait)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  static struct live_ask ask;
  dibs_hold *hold = NULL;

  live_expect_ok(take(holder, 'w', false, &hold));
  begin(&ask, waiter, 'r', &o);
  assert_true(live_until(LIVE_LONG_MS, has_waiter, "xx"));
  forge_all(1);
  live_still_waits(&ask, 300);
  assert_string_equal(test_server_command(live_server, "HEXISTS dibs:m:{xx} w1"), "1");
  assert_string_equal(test_server_command(live_server, "HLEN dibs:m:{xx}"), "6");
  live_expect_ok(dibs_release(hold));
  live_expect_ok(dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)));
}

TEST(a_name_driven_to_the_last_token_is_usable_at_once)
{
  static const char *const tokens[] = { "9007199254740900", "9007199254740985", "9007199254740991",
                                        "9007199254740992" };
  for (size_t i = 0; i < EXTREMES; i++) {
    dibs_hold *hold;

    (void)test_server_command(
      live_server, "SET dibs:m:{xx} =AAAAAAAAAAAAAAAAAAAAAA:1:%s PX 3600000", tokens[i]);
    hold = live_lock(holder, "xx", TTL_MS);
    expect_honest(dibs_hold_fence(hold));
    live_expect_ok(dibs_release(hold));
    hold = live_lock(other, "xx", TTL_MS);
    expect_honest(dibs_hold_fence(hold));
    live_expect_ok(dibs_release(hold));
  }
}

int main(void)
{
  if (live_is_beyond(LIVE_SENTINEL))
    return 0;

  return tests_run(NULL, NULL, setup, teardown);
}
