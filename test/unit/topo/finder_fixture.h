/* SPDX-License-Identifier: MIT */
/* finder_fixture.h - a finder, and its owner: who takes scouts, lets them arrive at once,
 * and tells what the servers say.
 *
 * Replies are written short, as wire_words.h says. Servers are named "host:port". Time stands
 * still but for pass(). */
#ifndef FINDER_FIXTURE_H
#define FINDER_FIXTURE_H

#include "tests.h"
#include "topo/finder.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_heap.h"
#include "wire_words.h"

#define GIVE_UP_MS 10000

typedef struct guest { bool is_out; char where[300]; char asks[300]; } guest;

typedef struct fixture {
  failing_heap heap;
  memory memory;
  failing_heap own_heap;         /* of the test: never refused */
  memory own_memory;
  deployment deployment;
  finder *finder;
  instant now;
  guest guests[SCOUTS_MAX];
  size_t sent;                   /* scouts so far */
  const char *last;              /* where the latest one went */
} fixture;

/* ---- replies ---- */

/* The reply that `words` say; the caller frees it. */
static inline resp_reply *reply_of(fixture *f, const char *words)
{
  resp_reader *reader = resp_reader_new(&f->own_memory, RESP_LIMITS_DEFAULT);
  resp_reply *reply = NULL;
  buffer wire;

  buffer_init(&wire, &f->own_memory);
  wire_add(&wire, words);
  assert_int_equal(resp_reader_feed(reader, buffer_bytes(&wire), buffer_size(&wire)), DIBS_OK);
  assert_int_equal(resp_reader_next(reader, &reply), DIBS_OK);
  if (reply == NULL)
    fail_msg("no reply: %s", words);
  buffer_deinit(&wire);
  resp_reader_free(reader);
  return reply;
}

/* ---- the owner ---- */

/* A finder whose every piece comes from `heap`, while the test has a heap of its own. The finder
 * is yet to be made: the test may say first what of the URL grows on `heap`, too. */
static inline void begin_refusing(fixture *f, failing_heap *heap, const char *url)
{
  char why_bytes[256];
  text why = text_over(why_bytes, sizeof(why_bytes));

  *f = (fixture){ .now = { 1000000000 } };
  f->own_memory = FAILING_HEAP_AS(memory, &f->own_heap);
  f->memory = FAILING_HEAP_AS(memory, heap);
  assert_int_equal(deployment_parse(&f->own_memory, url, &f->deployment, &why), DIBS_OK);
}

static inline void begin(fixture *f, const char *url)
{
  char why_bytes[256];
  text why = text_over(why_bytes, sizeof(why_bytes));

  *f = (fixture){ .now = { 1000000000 } };
  f->memory = FAILING_HEAP_AS(memory, &f->heap);
  f->own_memory = FAILING_HEAP_AS(memory, &f->own_heap);
  if (deployment_parse(&f->own_memory, url, &f->deployment, &why) != DIBS_OK)
    fail_msg("%s", why_bytes);
  f->finder = finder_new(&f->memory, &f->deployment);
}

static inline void end(fixture *f)
{
  f->finder = finder_free(f->finder);
  assert_int_equal(f->heap.live, 0);
  deployment_deinit(&f->deployment);
  assert_int_equal(f->own_heap.live, 0);
}

/* The command as words with blanks between; "" for none. */
static inline void question_read(fixture *f, int scout, char *words, size_t size)
{
  text t = text_over(words, size);
  request question;
  buffer out;
  const char *at;

  request_init(&question, &f->own_memory);
  buffer_init(&out, &f->own_memory);
  if (finder_next_question(f->finder, scout, &question)) {
    request_render(&question, false, &out);
    buffer_append(&out, "", 1);
    for (at = strchr(buffer_bytes(&out), '\n'); at != NULL && at[1] != 0;
         at = strchr(at + 1, '\n')) {
      if (at[1] == '$')
        continue;
      text_add(&t, t.used > 0 ? " " : "");
      text_add_bytes(&t, at + 1, strcspn(at + 1, "\r"));
    }
  }
  buffer_deinit(&out);
  request_deinit(&question);
}

static inline void where_write(char where[300], const server_url *url)
{
  snprintf(where, 300, "%s:%d", url->host, url->port);
}

/* Takes home whoever is to be, sends whoever is to go, lets all ask. */
static inline void pump(fixture *f)
{
  const server_url *url;
  int scout;

  while (finder_next_home(f->finder, &scout)) {
    assert_true(f->guests[scout].is_out);
    f->guests[scout].is_out = false;
  }
  while (finder_next_probe(f->finder, f->now, &scout, &url)) {
    guest *g = &f->guests[scout];
    assert_false(g->is_out);
    *g = (guest){ .is_out = true };
    where_write(g->where, url);
    f->last = g->where;
    f->sent++;
  }
  for (int i = 0; i < SCOUTS_MAX; i++)
    if (f->guests[i].is_out && f->guests[i].asks[0] == 0)
      question_read(f, i, f->guests[i].asks, sizeof(f->guests[i].asks));
}

static inline void search(fixture *f)
{
  finder_begin(f->finder, instant_add(f->now, SPAN_MS(GIVE_UP_MS)), f->now);
  assert_int_equal(finder_state_of(f->finder), FINDER_LOOKING);
  pump(f);
}

static inline void begin_search(fixture *f, const char *url)
{
  begin(f, url);
  search(f);
}

/* Time goes on, and the finder is told at each of its deadlines. */
static inline void pass(fixture *f, int64_t ms)
{
  instant until = instant_add(f->now, SPAN_MS(ms));

  for (int turns = 0; turns < 1000; turns++) {
    instant at = finder_deadline(f->finder);
    if (instant_before(until, at))
      break;
    f->now = instant_max(f->now, at);
    finder_tick(f->finder, f->now);
    pump(f);
    if (f->now.ns == until.ns && finder_deadline(f->finder).ns <= until.ns)
      break;
  }
  f->now = until;
}

static inline int scout_of(const fixture *f, const char *where)
{
  for (int i = 0; i < SCOUTS_MAX; i++)
    if (f->guests[i].is_out && strcmp(f->guests[i].where, where) == 0)
      return i;
  return -1;
}

static inline int scout_that_is_at(const fixture *f, const char *where)
{
  int scout = scout_of(f, where);

  if (scout < 0)
    fail_msg("nobody is at %s", where);
  return scout;
}

static inline void expect_asks(const fixture *f, const char *where, const char *question)
{
  assert_string_equal(f->guests[scout_that_is_at(f, where)].asks, question);
}

static inline void says(fixture *f, const char *where, const char *words)
{
  int scout = scout_that_is_at(f, where);
  resp_reply *reply = reply_of(f, words);

  f->guests[scout].asks[0] = 0;
  finder_answer(f->finder, scout, reply, f->now);
  resp_reply_free(reply);
  pump(f);
}

static inline void breaks(fixture *f, const char *where, dibs_status why, const char *words)
{
  int scout = scout_that_is_at(f, where);

  f->guests[scout].is_out = false;
  finder_failed(f->finder, scout, why, words, f->now);
  pump(f);
}

static inline void expect_looking(const fixture *f)
{
  assert_int_equal(finder_state_of(f->finder), FINDER_LOOKING);
}

/* Takes the result; everybody has come home. */
static inline void expect_primary(fixture *f, const char *where)
{
  const server_url *url;
  char found[300];

  assert_int_equal(finder_state_of(f->finder), FINDER_FOUND);
  url = finder_take_primary(f->finder);
  assert_non_null(url);
  where_write(found, url);
  assert_string_equal(found, where);
  assert_int_equal(finder_state_of(f->finder), FINDER_IDLE);
  assert_true(instant_is_never(finder_deadline(f->finder)));
  for (int i = 0; i < SCOUTS_MAX; i++)
    assert_false(f->guests[i].is_out);
}

static inline void expect_none(const fixture *f, dibs_status why, const char *words)
{
  const char *told;

  assert_int_equal(finder_state_of(f->finder), FINDER_NONE);
  assert_int_equal(finder_why(f->finder, &told), why);
  if (strstr(told, words) == NULL)
    fail_msg("it says: %s", told);
  assert_null(finder_take_primary(f->finder));
  assert_null(finder_take_slots(f->finder));
}

#endif
