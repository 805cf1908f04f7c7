/* SPDX-License-Identifier: MIT */
/* Quorum, step by step, over real lock tables and scripts: renewal, loss and repair of holds. */
#include "tests.h"
#include "quorum/claimant.h"

#include <stdio.h>
#include <string.h>

TEST(a_hold_is_renewed_and_outlives_a_minority)
{
  site *s = site_of(5, 1);
  told t;

  hold(s, 0, &t);
  s->is_mute[0] = s->is_mute[3] = true;
  site_run_for(s, SPAN_MS(10000));
  assert_int_equal(t.lost, 0);
  assert_true(t.renewed >= 3);
  assert_true(instant_before(s->now, t.valid_until));
  over(s);
}

/* By the end of the majority's leases, which the rest of them does not move. */
TEST(a_hold_is_warned_of_once_before_it_is_lost)
{
  site *s = site_of(3, 1);
  told t;
  lock_spec w = wish_for(&t);

  w.warn = SPAN_MS(300);
  claim_as(s, 0, &t, &w);
  (void)await(s, &t.granted, SPAN_MS(100));
  site_run_for(s, SPAN_MS(10000));
  assert_int_equal(t.warned, 0);
  s->is_mute[0] = s->is_mute[1] = true;  /* server 2 goes on renewing */
  (void)await(s, &t.warned, SPAN_MS(4000));
  assert_true(instant_since(t.valid_until, t.at).ns <= SPAN_MS(300).ns);
  assert_true(instant_since(t.valid_until, t.at).ns > SPAN_MS(200).ns);
  assert_int_equal(t.lost, 0);
  (void)await(s, &t.lost, SPAN_MS(400));
  site_run_for(s, SPAN_MS(5000));
  assert_int_equal(t.warned, 1);
  over(s);
}

/* Of a majority's leases, whose end the last of it decides. */
TEST(the_slack_of_a_quorum_is_that_of_its_majority)
{
  site *s = site_of(3, 1);
  lock_counts counts;
  told t;

  hold(s, 0, &t);
  s->is_mute[2] = true;                  /* renews nothing: its lease does not count */
  site_run_for(s, SPAN_MS(10000));
  counts = hold_counts(s->clients[0].front);
  assert_true(counts.renewed >= 3);
  assert_in_range(slack_least(&counts.slack, s->now), 400000, 750000);
  over(s);
}

TEST(a_hold_is_lost_once_and_in_time_without_a_majority)
{
  site *s = site_of(3, 1);
  told t;
  instant silent_at;

  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(2500));
  silent_at = s->now;
  s->is_mute[0] = s->is_mute[1] = true;  /* server 2 goes on renewing */
  (void)await(s, &t.lost, SPAN_MS(4000));
  assert_true(t.suspect >= 1);
  assert_true(!instant_before(instant_add(silent_at, TTL), t.at));
  assert_true(!instant_before(t.valid_until, t.at));
  s->is_mute[0] = s->is_mute[1] = false;
  site_run_for(s, SPAN_MS(5000));
  assert_int_equal(t.lost, 1);
  assert_int_equal(held_at(s), 0);
  release_by(s, 0, &t);
  assert_int_equal(t.released, 1);
  assert_int_equal(t.last.status, DIBS_LOST);
  over(s);
}

/* What is told is the second best of three ends. */
TEST(a_belief_ends_with_the_majority_th_best_lease)
{
  site *s = site_of(3, 1);
  told t;
  instant cut_at;

  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(200));
  cut_at = s->now;
  s->is_mute[0] = s->is_mute[1] = true;
  site_run_for(s, SPAN_MS(2000));        /* server 2 was renewed meanwhile */
  assert_int_equal(t.lost, 0);
  assert_true(!instant_before(instant_add(cut_at, TTL), t.valid_until));
  over(s);
}

TEST(what_a_minority_lost_is_taken_again)
{
  site *s = site_of(3, 1);
  told t;

  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(100));
  site_restart(s, 1, false);
  assert_int_equal(held_at(s), 2);
  site_run_for(s, SPAN_MS(2500));
  assert_int_equal(held_at(s), 3);
  site_restart(s, 0, false);             /* so the next loss is borne, too */
  site_run_for(s, SPAN_MS(2500));
  assert_int_equal(t.lost, 0);
  assert_int_equal(held_at(s), 3);
  assert_true(with_token(s, t.fence / 1024) >= 1);
  over(s);
}

static void break_at(site *s, size_t server, const char *name)
{
  const char *lease = site_lease(s, server, name);
  protocol spoken;
  lease_id id;
  request asked;
  buffer out;

  protocol_init(&spoken, &(protocol_settings){ .dialect = &native_dialect, .prefix = "dibs",
                                               .client = s->clients[1].id });
  lease = strchr(lease, '"') + 1;
  assert_true(lease_id_read(lease, strcspn(lease, " "), &id));
  request_init(&asked, &s->own_memory);
  buffer_init(&out, &s->own_memory);
  assert_true(native_break(&spoken, &asked, name, strlen(name), &id, 0));
  asked.carries_text = true;
  assert_true(request_render(&asked, false, &out));
  site_ask(s, server, buffer_bytes(&out), buffer_size(&out));
  buffer_deinit(&out);
  request_deinit(&asked);
}

/* An administrator needs seconds from one server to the next. */
TEST(a_hold_ends_that_is_broken_at_one_server_after_the_other)
{
  site *s = site_of(3, 2);
  told t;

  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(1000));        /* it listens for its end */
  break_at(s, 0, "x");
  site_run_for(s, SPAN_MS(10000));
  assert_int_equal(t.lost, 0);
  assert_int_equal(held_at(s), 2);
  break_at(s, 1, "x");
  (void)await(s, &t.lost, TTL);
  release_by(s, 0, &t);
  over(s);
}

TEST(a_lease_that_was_broken_at_one_server_is_taken_again)
{
  site *s = site_of(3, 2);
  told t;

  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(1000));
  break_at(s, 2, "x");
  site_run_for(s, SPAN_MS(30000));
  assert_int_equal(held_at(s), 2);
  site_run_for(s, SPAN_MS(35000));
  assert_int_equal(held_at(s), 3);
  assert_int_equal(t.lost, 0);
  over(s);
}

TEST(a_majority_that_restarts_empty_ends_the_hold)
{
  site *s = site_of(3, 1);
  told t;

  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(100));
  site_restart(s, 0, false);
  site_restart(s, 1, false);
  assert_true(await(s, &t.lost, SPAN_MS(3000)).ns < SPAN_MS(500).ns);
  assert_string_equal(t.words, "fewer than a majority of the servers have this lease; "
                               "the server no longer has this lease");
  over(s);
}

TEST(a_fixed_lease_and_max_hold_end_on_time)
{
  site *s = site_of(3, 1);
  told t;
  lock_spec w = wish_for(&t);
  instant granted_at;

  w.is_fixed = true;
  claim_as(s, 0, &t, &w);
  (void)await(s, &t.granted, SPAN_MS(100));
  site_run_for(s, SPAN_MS(20));          /* it has its whole length now */
  t.renewed = 0;
  (void)await(s, &t.lost, SPAN_MS(3001));
  assert_int_equal(t.renewed, 0);
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(held_at(s), 0);
  release_by(s, 0, &t);

  w.is_fixed = false;
  w.max_hold = SPAN_MS(5000);
  claim_as(s, 0, &t, &w);
  (void)await(s, &t.granted, SPAN_MS(100));
  granted_at = t.at;
  (void)await(s, &t.lost, SPAN_MS(6000));
  assert_true(!instant_before(instant_add(granted_at, SPAN_MS(5000)), t.at));
  assert_true(instant_before(instant_add(granted_at, SPAN_MS(4900)), t.at));
  assert_true(instant_before(s->now, instant_add(granted_at, SPAN_MS(5000))));
  assert_int_equal(held_at(s), 3);       /* the last moments are still promised */
  assert_string_equal(t.words, "max_hold_ms is over");
  assert_true(t.renewed > 0);
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(held_at(s), 0);
  over(s);
}

/* One server is dead, and another one is busy for most of the ttl: meanwhile the queue server
 * keeps our lease. */
TEST(a_fixed_lease_begins_with_its_whole_length)
{
  site *s = site_of(3, 1);
  size_t queue = site_queue_server(s, "x"), busy = (queue + 1) % 3;
  lock_spec w = wish_for(NULL);
  char words[128];
  instant granted_at;
  told t;

  s->is_mute[(queue + 2) % 3] = true;
  site_ask(s, busy, words, (size_t)snprintf(words, sizeof(words),
           "SET dibs:m:{x} \"zzzzzzzzzzzzzzzzzzzzzz:1:%lld 2400 2400 0 0\"\r\n",
           (long long)SITE_START_US));
  w.context = &t;
  w.is_fixed = true;
  claim_as(s, 0, &t, &w);
  assert_true(await(s, &t.granted, SPAN_MS(6000)).ns > SPAN_MS(2000).ns);
  granted_at = t.at;
  site_run_for(s, SPAN_MS(20));
  assert_in_range(instant_since(t.valid_until, granted_at).ns, TTL.ns * 95 / 100, TTL.ns);
  (void)await(s, &t.lost, SPAN_MS(3001));
  assert_string_equal(t.words, "the fixed lease is over");
  release_by(s, 0, &t);
  over(s);
}

/* Lost is told 5 ms before the end: until then its holder may not have heard of it. */
static void expect_kept_until_its_end(const lock_spec *wish)
{
  site *s = site_of(3, 2);
  lock_spec w = *wish;
  instant end = INSTANT_NEVER;
  told t, next;

  w.context = &t;
  claim_as(s, 0, &t, &w);
  (void)await(s, &t.granted, SPAN_MS(100));
  if (w.max_hold.ns > 0)
    end = instant_add(t.at, w.max_hold);
  claim_by(s, 1, &next, false);
  (void)await(s, &t.lost, SPAN_MS(6000));
  end = instant_min(end, t.valid_until);
  assert_true(instant_before(s->now, end));
  site_run(s, (instant){ end.ns - 1 });
  assert_int_equal(held_at(s), 3);
  assert_int_equal(next.granted, 0);
  (void)await(s, &next.granted, SPAN_MS(100));
  release_by(s, 0, &t);
  release_by(s, 1, &next);
  over(s);
}

TEST(what_was_promised_is_not_given_away_before_its_end)
{
  lock_spec w = wish_for(NULL);

  w.is_fixed = true;
  expect_kept_until_its_end(&w);
  w.is_fixed = false;
  w.max_hold = SPAN_MS(5000);
  expect_kept_until_its_end(&w);
}

/* At its servers that still answer, too: the tables know the end of the others first. */
TEST(what_is_left_of_a_majority_is_not_given_away_before_its_end)
{
  site *s = site_of(3, 1);
  told t;

  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(500));
  s->clients[0].is_cut[1] = s->clients[0].is_cut[2] = true;
  (void)await(s, &t.lost, SPAN_MS(4000));
  assert_non_null(strstr(t.words, "not renewed in time by a majority"));
  assert_true(instant_before(s->now, t.valid_until));
  site_run(s, (instant){ t.valid_until.ns - 1 });
  assert_true(site_is_held(s, 0, "x"));
  site_run_for(s, SPAN_MS(100));
  assert_false(site_is_held(s, 0, "x"));
  release_by(s, 0, &t);
  over(s);
}

/* Two servers restart empty, and another client takes them: one shows it to the release, and at the
 * other a repair is under way, which says nothing of what was held there. */
TEST(a_repair_under_way_does_not_count_as_held)
{
  site *s = site_of(3, 2);
  told t, other;

  hold(s, 0, &t);
  s->clients[0].is_cut[0] = s->clients[0].is_cut[2] = true;
  site_restart(s, 0, false);
  site_restart(s, 2, false);
  claim_by(s, 1, &other, true);
  (void)await(s, &other.granted, SPAN_MS(100));
  s->delay[2] = SPAN_MS(300);
  s->clients[0].is_cut[2] = false;
  site_run_for(s, SPAN_MS(1500));        /* its loss at server 2 is known, the repair is sent */
  assert_int_equal(t.lost, 0);
  s->clients[0].is_cut[2] = true;
  release_by(s, 0, &t);
  s->clients[0].is_cut[0] = false;
  (void)await(s, &t.released, SPAN_MS(3000));
  assert_int_equal(t.last.status, DIBS_LOST);
  assert_string_equal(t.words, "it had ended before it was released");
  over(s);
}

/* One server still has the lease, another client has it at the two others: the replies of these
 * decide, whichever comes last. */
TEST(a_release_without_a_majority_is_not_done_whichever_reply_is_late)
{
  for (int late = 0; late < 3; late++) {
    static const char loss[] = "DEL dibs:m:{x}\r\n";
    site *s = site_of(3, 2);
    told t, other;

    hold(s, 0, &t);
    site_ask(s, 0, loss, sizeof(loss) - 1);
    site_ask(s, 2, loss, sizeof(loss) - 1);
    claim_by(s, 1, &other, true);
    (void)await(s, &other.granted, SPAN_MS(100));
    s->delay[late] = SPAN_MS(100);
    release_by(s, 0, &t);
    (void)await(s, &t.released, SPAN_MS(3000));
    assert_int_equal(t.last.status, DIBS_TAKEN);
    over(s);
  }
}

RUN_TESTS(NULL, NULL)
