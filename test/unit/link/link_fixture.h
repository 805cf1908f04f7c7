/* SPDX-License-Identifier: MIT */
/* link_fixture.h - a link over counted memory, and short words for what is done to it.
 *
 * Time stands still unless a test moves `now`. Text with \r\n is what the peer says. */
#ifndef LINK_FIXTURE_H
#define LINK_FIXTURE_H

#include "tests.h"
#include "link/link.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "failing_heap.h"

#define TIME_ANSWER "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n"
#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$8\r\ndibs:in1\r\n:1\r\n"
#define MESSAGE(payload) "*3\r\n$7\r\nmessage\r\n$8\r\ndibs:in1\r\n" payload

typedef struct fixture {
  failing_heap heap;
  memory memory;
  link_settings settings;
  link *link;
  instant now;
  link_event event;
} fixture;

static inline void fixture_begin(fixture *f, link_role role)
{
  *f = (fixture){ .now = { 1000000000 } };
  f->memory = FAILING_HEAP_AS(memory, &f->heap);
  f->settings = (link_settings){
    .memory = &f->memory, .role = role, .client_name = "dibs:x", .channel = "dibs:in1",
    .answer_timeout = SPAN_MS(2000), .idle_ping = SPAN_MS(10000) };
}

static inline void fixture_open(fixture *f)
{
  f->link = link_new(&f->settings);
  assert_non_null(f->link);
  assert_int_equal(link_opened(f->link, f->now), DIBS_OK);
}

static inline void fixture_end(fixture *f)
{
  f->link = link_free(f->link);
  assert_int_equal(f->heap.live, 0);
}

/* What the link wants to send must be exactly `words`; it is taken. */
static inline void expect_output(fixture *f, const char *words)
{
  size_t size;
  const char *bytes = link_output(f->link, &size);

  if (size != strlen(words) || memcmp(bytes, words, size) != 0)
    fail_msg("output is %.*s", (int)size, bytes);
  link_written(f->link, size);
}

static inline void take_output(fixture *f)
{
  size_t size;

  link_output(f->link, &size);
  link_written(f->link, size);
}

static inline void peer_says(fixture *f, const char *words)
{
  link_received(f->link, words, strlen(words), f->now);
}

static inline void expect_nothing(fixture *f)
{
  assert_false(link_next_event(f->link, f->now, &f->event));
}

/* The next event is of `kind`; it stays in f->event. */
static inline void expect_event(fixture *f, link_event_kind kind)
{
  assert_true(link_next_event(f->link, f->now, &f->event));
  if (f->event.kind == LINK_EVENT_FAULT && kind != LINK_EVENT_FAULT)
    fail_msg("fault: %s", f->event.text);
  assert_int_equal(f->event.kind, kind);
}

/* The link breaks off with `status`, says `words`, and nothing more comes out. */
static inline void expect_fault(fixture *f, dibs_status status, const char *words)
{
  size_t size;

  expect_event(f, LINK_EVENT_FAULT);
  assert_int_equal(f->event.status, status);
  if (f->event.text == NULL || strstr(f->event.text, words) == NULL)
    fail_msg("the fault says: %s", f->event.text == NULL ? "nothing" : f->event.text);
  assert_int_equal(link_state_of(f->link), LINK_DOWN);
  assert_int_equal(link_unanswered(f->link), 0);
  link_output(f->link, &size);
  assert_int_equal(size, 0);
  assert_true(instant_is_never(link_deadline(f->link)));
  peer_says(f, "+OK\r\n");
  expect_nothing(f);
}

static inline void fixture_make_ready(fixture *f)
{
  fixture_open(f);
  take_output(f);
  peer_says(f, "+OK\r\n");
  if (f->settings.role == LINK_COMMANDS)
    peer_says(f, TIME_ANSWER);
  else if (f->settings.role == LINK_INBOX && f->settings.channel != NULL)
    peer_says(f, SUBSCRIBED);
  else
    peer_says(f, "+PONG\r\n");
  expect_event(f, LINK_EVENT_READY);
  expect_nothing(f);
}

/* The event's push says `words` as its child `i`; the reply stays. */
static inline void expect_word(const fixture *f, size_t i, const char *words)
{
  const resp_node *n = resp_child(f->event.reply, resp_root(f->event.reply), i);

  assert_non_null(n);
  assert_int_equal(n->kind, RESP_STRING);
  assert_string_equal(n->bytes, words);
}

static inline dibs_status send_words(fixture *f, const char *words, uint64_t tag)
{
  resp_argument argument = { words, strlen(words) };
  request r;
  dibs_status status = DIBS_ERR_NO_MEMORY;

  request_init(&r, &f->memory);
  if (request_command(&r, &argument, 1))
    status = link_send(f->link, &r, tag, f->now);
  request_deinit(&r);
  return status;
}

#endif
