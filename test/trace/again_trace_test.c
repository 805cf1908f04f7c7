/* SPDX-License-Identifier: MIT */
/* Stories of releases that were confirmed shortly before the connection broke: the next server may
 * not have got them, and each is repeated once. doc/design/protocol.md 5. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

enum { NAMES = 300, KEPT = 256, AT_ONCE = 16 };

static void released(struct peer *p)
{
  peer_release(p, "a");
  peer_serve(p, "release " A ":1:60", "1");
  peer_expect_told(p, "released a DIBS_OK");
}

/* The client is idle, and its connection breaks. */
static struct peer *cut_off(struct wish w)
{
  struct peer *p = peer_held(w);

  released(p);
  peer_break(p, 0);
  peer_advance_ms(p, 1);
  return p;
}

static void is_idle(struct peer *p)
{
  peer_advance_ms(p, 60000);
  assert_false(peer_wants(p, 0));
  assert_int_equal(engine_get_stats(peer_engine(p)).table_bytes, 0);
  peer_end_clean(p);
}

TEST(an_idle_client_repeats_a_release_on_the_next_connection)
{
  struct peer *p = cut_off((struct wish){ 0 });

  peer_connect(p, 0);
  peer_serve(p, "text:release " A ":1:60", "1");   /* the new server has no script */
  peer_expect_told_nothing(p);
  peer_expect_nothing(p);
  peer_break(p, 0);
  is_idle(p);
}

TEST(that_the_name_is_taken_or_free_says_nothing)
{
  static const char *const answers[] = { "2", "5", "[3 '" B ":4:90]", "-ERR it is forbidden",
                                         "-WRONGTYPE Operation against a wrong kind" };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    struct peer *p = cut_off((struct wish){ 0 });

    peer_connect(p, 0);
    peer_serve(p, "text:release " A ":1:60", "%s", answers[i]);
    peer_expect_told_nothing(p);
    peer_break(p, 0);
    is_idle(p);
  }
}

/* A lease of 300 ms; a release is repeated until a second after its end. */
TEST(a_lease_that_is_over_is_not_released_again)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 300 });

  released(p);
  peer_advance_ms(p, 1400);
  peer_break(p, 0);
  is_idle(p);
}

TEST(while_there_is_no_server_the_lease_ends)
{
  struct peer *p = cut_off((struct wish){ .ttl_ms = 300 });

  assert_true(peer_wants(p, 0));
  peer_advance_ms(p, 1400);
  peer_break(p, 0);
  is_idle(p);
}

/* A client repeats only the releases of the last 30 s. */
TEST(an_old_release_is_not_repeated)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3600000 });

  released(p);
  peer_advance_ms(p, 30001);
  peer_break(p, 0);
  is_idle(p);
}

static void lock_one(struct peer *p, int i)
{
  static char names[NAMES][8];
  char line[100];

  snprintf(names[i], sizeof(names[i]), "n%d", i);
  peer_lock(p, "a", (struct wish){ .name = names[i] });
  if (i == 0)
    peer_connect(p, 0);
  peer_serve(p, "acquire*", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_release(p, "a");
  snprintf(line, sizeof(line), "release " A ":%d:60", i + 1);
  peer_serve(p, line, "1");
  peer_expect_told(p, "released a DIBS_OK");
}

static int sent(struct peer *p)
{
  int count = 0;

  while (peer_try_expect(p, "release*"))
    count++;
  return count;
}

TEST(only_the_last_of_many_are_repeated_and_few_at_once)
{
  struct peer *p = peer_new();
  char line[100];

  for (int i = 0; i < NAMES; i++)
    lock_one(p, i);
  peer_break(p, 0);
  peer_advance_ms(p, 1);
  peer_connect(p, 0);
  snprintf(line, sizeof(line), "text:release " A ":%d:60", NAMES);
  peer_expect(p, line);                  /* the newest first */
  assert_int_equal(sent(p), AT_ONCE - 1);
  for (int i = AT_ONCE; i < KEPT; i++) {
    peer_answer(p, "1");
    assert_int_equal(sent(p), 1);
  }
  snprintf(line, sizeof(line), "release " A ":%d:60", NAMES - KEPT + 1);
  assert_string_equal(peer_last_command(p), line);
  for (int i = 0; i < AT_ONCE; i++)
    peer_answer(p, "1");
  peer_expect_nothing(p);
  peer_break(p, 0);
  is_idle(p);
}

/* How long no command is sent. */
static int64_t pause_ms(struct peer *p)
{
  instant from = peer_now(p);

  peer_expect_nothing(p);
  peer_advance_to_command(p);
  return span_to_ms(instant_since(peer_now(p), from));
}

TEST(a_server_that_cannot_do_it_yet_is_asked_again_after_growing_pauses)
{
  static const int64_t most_ms[] = { 20, 40, 80, 160, 320, 640, 1000, 1000 };
  struct peer *p = cut_off((struct wish){ 0 });

  peer_connect(p, 0);
  for (size_t i = 0; i < sizeof(most_ms) / sizeof(most_ms[0]); i++) {
    peer_serve(p, "text:release*", "-LOADING Redis is loading the dataset in memory");
    assert_in_range(pause_ms(p), most_ms[i] / 2 - 1, most_ms[i] + 1);
  }
  peer_serve(p, "text:release*", "1");
  peer_break(p, 0);
  is_idle(p);
}

TEST(a_repetition_without_a_reply_is_sent_on_the_connection_after)
{
  struct peer *p = cut_off((struct wish){ 0 });

  peer_connect(p, 0);
  peer_expect(p, "text:release " A ":1:60");
  peer_reconnect(p);
  peer_advance_to_command(p);
  peer_serve(p, "text:release " A ":1:60", "1");
  peer_break(p, 0);
  is_idle(p);
}

TEST(shares_and_the_names_of_a_set_are_released_again_without_a_tombstone)
{
  struct peer *p = peer_asked((struct wish){ .kind = LOCK_RWLOCK, .reads = true });

  peer_serve(p, "share_acquire*", "[1 %lld 30000 30000 60 1]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_release(p, "a");
  peer_serve(p, "share_release " A ":1:60", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_lock(p, "b", (struct wish){ .names = { "m", "n" } });
  peer_serve(p, "many_acquire .1 2 w", "[1 %lld 30000 61]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_release(p, "b");
  peer_serve(p, "many_release*", "1");
  peer_expect_told(p, "released b DIBS_OK");
  peer_break(p, 0);
  peer_advance_ms(p, 1);
  peer_connect(p, 0);
  peer_serve(p, "text:release " A ".1:2:61", "1");
  peer_serve(p, "release " A ".1:2:61", "1");
  peer_serve(p, "share_release " A ":1:60", "-NOSCRIPT No matching script.");
  peer_advance_to_command(p);
  peer_serve(p, "text:share_release " A ":1:60", "1");
  peer_break(p, 0);
  is_idle(p);
}

TEST(a_name_that_is_held_anew_keeps_its_lease)
{
  struct peer *p = peer_held((struct wish){ 0 });

  released(p);
  peer_lock(p, "b", (struct wish){ 0 });
  peer_serve(p, "acquire*", "[1 %lld 30000 61]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_reconnect(p);
  peer_expect_told(p, "suspect b");
  peer_serve(p, "renew " A ":2:61", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed b");
  peer_serve(p, "text:release " A ":1:60", "[3 '" A ":2:61]");
  peer_expect_told_nothing(p);
  assert_true(peer_valid_ms(p, "b") > 29000);
  peer_free(p);
}

TEST(a_client_that_is_closed_does_not_wait_for_a_server)
{
  struct peer *p = cut_off((struct wish){ 0 });

  peer_close(p);
  peer_expect_told(p, "closed");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)
