/* SPDX-License-Identifier: MIT */
/* Stories of refusals: each error ends in the right retry or status. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

static struct peer *asked(struct wish w)
{
  struct peer *p = peer_asked(w);

  peer_expect(p, "acquire " KEY " 1*");
  return p;
}

static void refused_with(const char *error, const char *told)
{
  struct peer *p = asked((struct wish){ 0 });

  peer_answer(p, "%s", error);
  peer_expect_told(p, told);
  peer_advance_ms(p, 60000);
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(each_refusal_has_its_own_status)
{
  refused_with("-WRONGTYPE Operation against a key", "failed a DIBS_ERR_WRONG_TYPE");
  refused_with("-OOM command not allowed", "failed a DIBS_ERR_REFUSED");
  refused_with("-MISCONF Redis is configured to save", "failed a DIBS_ERR_REFUSED");
  refused_with("-NOPERM this user has no permissions", "failed a DIBS_ERR_DENIED");
  refused_with("-NOAUTH Authentication required.", "failed a DIBS_ERR_AUTH");
  refused_with("-ERR something else", "failed a DIBS_ERR_SERVER");
}

#define IN_SCRIPT " script: f1c54cde5ac53dfa09ba9c1f43d6e0fe5b8d6c0a, on @user_script:40."

/* The script made the lease, and was not permitted to set its end. */
TEST(an_ask_that_failed_inside_its_script_is_cancelled)
{
  static const char *const errors[][2] = {
    { "-NOPERM User u has no permissions to run the 'pexpire' command" IN_SCRIPT,
      "failed a DIBS_ERR_DENIED" },
    { "-WRONGTYPE Operation against a key" IN_SCRIPT, "failed a DIBS_ERR_WRONG_TYPE" },
    { "-ERR value is not an integer or out of range" IN_SCRIPT, "failed a DIBS_ERR_SERVER" },
  };

  for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
    struct peer *p = asked((struct wish){ 0 });

    peer_answer(p, "%s", errors[i][0]);
    peer_expect_told(p, errors[i][1]);
    peer_serve(p, "cancel 1", "1");
    peer_advance_ms(p, 60000);
    peer_expect_nothing(p);
    peer_free(p);
  }
  refused_with("-OOM command not allowed" IN_SCRIPT, "failed a DIBS_ERR_REFUSED");
  refused_with("-MISCONF Redis is configured to save" IN_SCRIPT, "failed a DIBS_ERR_REFUSED");
}

TEST(no_script_is_answered_with_the_text)
{
  struct peer *p = asked((struct wish){ 0 });

  peer_answer(p, "-NOSCRIPT No matching script.");
  peer_serve(p, "text:acquire " KEY " 1 w", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_release(p, "a");
  peer_serve(p, "release*", "-NOSCRIPT No matching script.");
  peer_serve(p, "text:release " A ":1:60", "2");
  peer_expect_told(p, "released a DIBS_LOST");
  peer_free(p);
}

TEST(a_renewal_survives_a_flush_too)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_advance_ms(p, 11200);
  peer_serve(p, "renew*", "-NOSCRIPT No matching script.");
  peer_expect(p, "text:renew " A ":1:60");
  peer_free(p);
}

TEST(loading_and_busy_are_asked_again_soon)
{
  static const char *const errors[] = { "-LOADING Redis is loading", "-BUSY Redis is busy",
                                        "-TRYAGAIN Multiple keys", "-CLUSTERDOWN down" };
  struct peer *p = asked((struct wish){ 0 });

  for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
    peer_answer(p, "%s", errors[i]);
    peer_expect_nothing(p);
    peer_advance_ms(p, 20 << i);
    peer_expect(p, "acquire " KEY " 1*");
  }
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(a_replica_is_left_and_named_after_the_connect_timeout)
{
  struct peer *p = asked((struct wish){ 0 });

  peer_answer(p, "-READONLY You can't write against a read only replica.");
  for (int i = 0; i < 20; i++) {
    peer_advance_ms(p, 200);
    if (peer_wants(p, 0)) {
      peer_connect(p, 0);
      peer_serve(p, "acquire*", "-READONLY You can't write against a read only replica.");
    }
  }
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 6000);
  peer_expect_told(p, "failed a DIBS_ERR_READ_ONLY");
  peer_free(p);
}

TEST(without_a_server_it_is_unreachable_after_the_connect_timeout)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ 0 });
  for (int i = 0; i < 49; i++) {
    if (peer_wants(p, 0))
      peer_break(p, 0);
    peer_advance_ms(p, 100);
  }
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 200);
  peer_expect_told(p, "failed a DIBS_ERR_UNREACHABLE");
  peer_free(p);
}

TEST(a_first_attempt_that_fails_late_does_not_begin_the_connect_timeout_again)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ 0 });
  assert_true(peer_wants(p, 0));
  peer_advance_ms(p, 4900);
  peer_break(p, 0);
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 200);
  peer_expect_told(p, "failed a DIBS_ERR_UNREACHABLE");
  peer_free(p);
}

TEST(wait_ms_counts_also_without_a_server)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ .wait_ms = 300 });
  peer_advance_ms(p, 299);
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 1);
  peer_expect_told(p, "failed a DIBS_ERR_UNREACHABLE");
  peer_free(p);
}

TEST(asked_and_never_answered_is_unknown)
{
  struct peer *p = asked((struct wish){ .wait_ms = 300 });

  peer_advance_ms(p, 300);
  peer_expect_told(p, "failed a DIBS_UNKNOWN");
  peer_expect(p, "cancel 1");
  peer_free(p);
}

TEST(a_server_that_answers_nothing_is_left_after_the_command_timeout)
{
  struct peer *p = asked((struct wish){ 0 });

  peer_advance_ms(p, 1999);
  assert_false(peer_wants(p, 0));
  peer_advance_ms(p, 50);
  assert_true(peer_wants(p, 0));
  peer_connect(p, 0);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_free(p);
}

/* Each new connection must not start the time of a try anew. */
TEST(a_try_ends_also_where_connections_come_and_go)
{
  struct peer *p = asked((struct wish){ .is_try = true });

  for (int i = 0; i < 45; i++) {
    peer_advance_ms(p, 100);
    peer_break(p, 0);
    while (!peer_wants(p, 0))
      peer_advance_ms(p, 1);
    peer_connect(p, 0);
    peer_expect(p, "acquire*");
  }
  peer_expect_told_nothing(p);
  for (int i = 0; i < 10; i++) {
    peer_advance_ms(p, 100);
    peer_break(p, 0);
    peer_advance_ms(p, 1);
    if (peer_wants(p, 0))
      peer_connect(p, 0);
  }
  peer_expect_told(p, "failed a DIBS_UNKNOWN");
  peer_free(p);
}

TEST(credentials_that_fail_end_the_wait_at_once)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ 0 });
  peer_break_why(p, 0, DIBS_ERR_AUTH, "WRONGPASS");
  peer_advance_ms(p, 0);
  peer_expect_told(p, "failed a DIBS_ERR_AUTH");
  peer_free(p);
}

/* The first copy may have been executed: the name may be this client's. */
TEST(credentials_that_fail_after_the_ask_leave_it_in_doubt)
{
  struct peer *p = asked((struct wish){ 0 });

  peer_break_why(p, 0, DIBS_ERR_AUTH, "WRONGPASS");
  peer_advance_ms(p, 0);
  peer_expect_told(p, "failed a DIBS_UNKNOWN");
  peer_free(p);
}

TEST(a_second_copy_that_is_forbidden_leaves_the_ask_in_doubt)
{
  struct peer *p = asked((struct wish){ 0 });

  peer_reconnect(p);
  peer_serve(p, "acquire*", "-NOPERM this user has no permissions to run 'evalsha'");
  peer_expect_told(p, "failed a DIBS_UNKNOWN");
  peer_free(p);
}

/* The handshake was done, so no certificate is at fault. */
TEST(a_session_that_breaks_does_not_end_the_wait)
{
  struct peer *p = asked((struct wish){ 0 });

  peer_break_why(p, 0, DIBS_ERR_TLS, "bad record mac");
  while (!peer_wants(p, 0))
    peer_advance_ms(p, 1);
  peer_connect(p, 0);
  peer_serve(p, "acquire*", "[1 %lld 30000 77]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(nonsense_in_an_answer_breaks_the_connection)
{
  struct peer *p = asked((struct wish){ 0 });

  peer_answer(p, "[1 2]");
  peer_advance_ms(p, 0);
  peer_expect_told(p, "failed a DIBS_ERR_PROTOCOL");
  peer_free(p);
}

TEST(reconnects_back_off_to_a_second_and_no_further)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 60000 });
  int tries = 0;

  peer_break(p, 0);
  for (int i = 0; i < 2000; i++) {
    peer_advance_ms(p, 10);
    if (peer_wants(p, 0)) {
      tries++;
      peer_break(p, 0);
    }
  }
  assert_in_range(tries, 20, 50);
  peer_free(p);
}

RUN_TESTS(NULL, NULL)
