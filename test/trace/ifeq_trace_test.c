/* SPDX-License-Identifier: MIT */
/* Stories of the release without a script, SET with IFEQ: when it is sent, and that the script
 * decides whenever it did nothing. doc/design/protocol.md 23. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

static int asks;                     /* of this story */
static long long token;              /* of the last grant */

/* The lease of the last grant, and the release of it without a script. */
static const char *lease(void)
{
  static char line[80];

  snprintf(line, sizeof(line), A ":%d:%lld", asks, token);
  return line;
}

static const char *ifeq(const char *ending)
{
  static char line[300];

  snprintf(line, sizeof(line), "SET " KEY " =%s IFEQ %s %s KEEPTTL", lease(), lease(), ending);
  return line;
}

static const char *by_script(void)
{
  static char line[100];

  snprintf(line, sizeof(line), "release %s", lease());
  return line;
}

/* The release begins without a script. */
static void begins(struct peer *p)
{
  peer_release(p, "a");
  peer_expect(p, ifeq("30000 30000 0 0"));
}

static void released_without(struct peer *p)
{
  begins(p);
  peer_expect_told_nothing(p);
  peer_answer(p, "+OK");
  peer_expect_told(p, "released a DIBS_OK");
}

static void asked(struct peer *p, struct wish w)
{
  peer_lock(p, "a", w);
  peer_expect(p, "acquire*");
  asks++;
}

static void granted_at_once(struct peer *p)
{
  token = peer_server_us(p);
  peer_answer(p, "%lld", token);
  peer_expect_told(p, "granted a");
}

static void held(struct peer *p, struct wish w)
{
  w.name = "n";
  asked(p, w);
  granted_at_once(p);
}

static void released_by_script(struct peer *p, const char *answer)
{
  peer_serve(p, by_script(), "%s", answer);
  peer_expect_told(p, "released a DIBS_OK");
}

static void ends_by_script(struct peer *p)
{
  released_by_script(p, "1");
  peer_end_clean(p);
}

static struct peer *first_held(void)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_expect(p, "acquire*");
  asks = 1;
  granted_at_once(p);
  return p;
}

/* Holds, on a connection that has learnt of IFEQ by a first release. */
static struct peer *knowing(struct wish w)
{
  struct peer *p = first_held();

  peer_release(p, "a");
  released_by_script(p, "5");
  peer_advance_ms(p, 1);
  held(p, w);
  return p;
}

TEST(a_release_is_one_command_without_a_script)
{
  struct peer *p = knowing((struct wish){ 0 });

  for (int i = 0; i < 3; i++) {
    released_without(p);
    peer_advance_ms(p, 1);
    held(p, (struct wish){ .ttl_ms = 30000 });
  }
  released_without(p);
  peer_end_clean(p);
}

TEST(without_the_answer_five_it_is_never_sent)
{
  struct peer *p = first_held();

  for (int i = 0; i < 3; i++) {
    peer_release(p, "a");
    released_by_script(p, "1");
    peer_advance_ms(p, 1);
    held(p, (struct wish){ 0 });
  }
  peer_release(p, "a");
  ends_by_script(p);
}

/* The key was renewed by nobody, and yet it is another string: taken, or lost. */
TEST(when_it_did_nothing_the_script_says_whose_the_lease_is)
{
  static const char *const answers[] = { "1", "2", "[3 '" B ":1:99]" };
  static const char *const told[] = { "released a DIBS_OK", "released a DIBS_LOST",
                                      "released a DIBS_TAKEN" };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    struct peer *p = knowing((struct wish){ 0 });

    begins(p);
    peer_answer(p, "nothing");
    peer_expect_told_nothing(p);
    peer_serve(p, by_script(), "%s", answers[i]);
    peer_expect_told(p, told[i]);
    peer_end_clean(p);
  }
}

/* A queue and a full server say nothing of the command: the next release tries it again. */
TEST(a_queue_or_a_full_server_is_for_the_script)
{
  static const char *const refusals[] = {
    "-WRONGTYPE Operation against a key holding the wrong kind of value",
    "-OOM command not allowed when used memory > 'maxmemory'.",
    "-BUSY Redis is busy running a script." };

  for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    struct peer *p = knowing((struct wish){ 0 });

    begins(p);
    peer_answer(p, "%s", refusals[i]);
    released_by_script(p, "1");
    peer_advance_ms(p, 1);
    held(p, (struct wish){ 0 });
    released_without(p);
    peer_end_clean(p);
  }
}

/* Whatever its version promises: a proxy may be in between. */
TEST(a_server_that_does_not_execute_it_is_not_asked_again)
{
  static const char *const refusals[] = {
    "-ERR syntax error", "-NOPERM this user has no permissions to run the 'set' command",
    "-ERR unknown command 'SET', with args beginning with: " };

  for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    struct peer *p = knowing((struct wish){ 0 });

    begins(p);
    peer_answer(p, "%s", refusals[i]);
    released_by_script(p, "5");
    peer_advance_ms(p, 1);
    held(p, (struct wish){ 0 });
    peer_release(p, "a");
    ends_by_script(p);
  }
}

/* Another connection may be to another server. */
TEST(a_new_connection_begins_with_the_script)
{
  struct peer *p = knowing((struct wish){ 0 });

  peer_reconnect(p);
  peer_expect_told(p, "suspect a");
  peer_serve(p, "renew*", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_serve(p, "text:release " A ":1:*", "1");         /* again: trace/again */
  peer_release(p, "a");
  released_by_script(p, "1");
  peer_advance_ms(p, 1);
  held(p, (struct wish){ 0 });
  peer_release(p, "a");
  ends_by_script(p);
}

/* It may have been executed: the script finds the lease, the memory of it, or another one; all
 * of these are a release. */
TEST(a_release_whose_reply_was_lost_is_asked_as_script)
{
  static const char *const answers[] = { "1", "2", "[3 '" B ":1:99]" };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    struct peer *p = knowing((struct wish){ 0 });

    begins(p);
    peer_reconnect(p);
    peer_expect(p, by_script());
    peer_expect(p, "text:release " A ":1:*");           /* again: trace/again */
    peer_answer(p, "%s", answers[i]);
    peer_expect_told(p, "released a DIBS_OK");
    peer_end_clean(p);
  }
}

TEST(a_lease_that_was_renewed_is_released_by_the_script)
{
  struct peer *p = knowing((struct wish){ .ttl_ms = 300 });

  peer_advance_to_command(p);
  peer_serve(p, "renew*", "[%lld 0 300]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_release(p, "a");
  ends_by_script(p);
}

/* Also while the renewal has no reply. */
TEST(a_lease_that_may_have_been_renewed_is_released_by_the_script)
{
  struct peer *p = knowing((struct wish){ .ttl_ms = 300 });

  peer_advance_to_command(p);
  peer_expect(p, "renew*");
  peer_release(p, "a");
  peer_answer(p, "[%lld 0 300]", peer_server_us(p));
  ends_by_script(p);
}

TEST(a_grant_in_the_long_form_may_have_another_string)
{
  struct peer *p = knowing((struct wish){ 0 });

  released_without(p);
  asked(p, (struct wish){ .name = "n" });
  token = peer_server_us(p) + 5;
  peer_answer(p, "[1 %lld 30000 %lld]", peer_server_us(p), token);
  peer_expect_told(p, "granted a");
  peer_release(p, "a");
  ends_by_script(p);
}

/* The server wrote flag 2 then, if it saw it as the client does. */
TEST(in_doubt_the_script_is_asked)
{
  struct peer *p = knowing((struct wish){ 0 });

  peer_step_server_ms(p, 5000);
  peer_release(p, "a");
  peer_expect(p, ifeq("30000 30000 0 0"));     /* it does not know yet */
  peer_answer(p, "+OK");
  peer_expect_told(p, "released a DIBS_OK");
  held(p, (struct wish){ 0 });
  peer_release(p, "a");
  ends_by_script(p);
}

/* Lost by the client's clock, and still stored: it is given back like any other. */
TEST(a_lease_that_its_client_lost_is_given_back)
{
  struct peer *p = knowing((struct wish){ .ttl_ms = 300, .is_fixed = true });

  peer_advance_to_command(p);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_serve(p, ifeq("300 300 0 0"), "+OK");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_LOST");
  peer_end_clean(p);
}

RUN_TESTS(NULL, NULL)
