/* SPDX-License-Identifier: MIT */
/* Answers as RESP2 bytes, and the answers that many commands give. */
#include "server/reply.h"

#include <string.h>

static void add(reply *r, const char *bytes, size_t size)
{
  (void)buffer_append(r->to, bytes, size);
}

/* One buffer_append() for the short lines that most answers are. */
static void add_head(reply *r, char mark, int64_t n)
{
  char line[SLICE_FORMAT_MAX + 4], digits[SLICE_FORMAT_MAX];
  slice s = slice_from_integer(n, digits);

  line[0] = mark;
  memcpy(line + 1, s.bytes, s.size);
  line[s.size + 1] = '\r';
  line[s.size + 2] = '\n';
  add(r, line, s.size + 3);
}

/* What came from outside may not end the line early. */
static void add_line(reply *r, char mark, slice s)
{
  add(r, &mark, 1);
  for (size_t i = 0; i < s.size; i++) {
    bool is_end = s.bytes[i] == '\r' || s.bytes[i] == '\n';

    add(r, is_end ? " " : s.bytes + i, 1);
  }
  add(r, "\r\n", 2);
}

static void bytes_integer(reply *r, int64_t n) { add_head(r, ':', n); }

static void bytes_string(reply *r, slice s)
{
  add_head(r, '$', (int64_t)s.size);
  add(r, s.bytes, s.size);
  add(r, "\r\n", 2);
}

static void bytes_status(reply *r, slice s) { add_line(r, '+', s); }

static void bytes_error(reply *r, slice s) { add_line(r, '-', s); }

static void bytes_nothing(reply *r, bool is_array)
{
  add(r, is_array ? "*-1\r\n" : "$-1\r\n", 5);
}

static void bytes_array(reply *r, size_t count) { add_head(r, '*', (int64_t)count); }

reply reply_to_bytes(buffer *out)
{
  static const reply_way way = { bytes_integer, bytes_string, bytes_status,
                                 bytes_error, bytes_nothing, bytes_array };

  return (reply){ .way = &way, .to = out };
}

void reply_integer(reply *r, int64_t n) { r->way->integer(r, n); }

void reply_string(reply *r, slice s) { r->way->string(r, s); }

void reply_double(reply *r, double d)
{
  char room[SLICE_FORMAT_MAX];

  r->way->string(r, slice_from_double(d, room));
}

void reply_status(reply *r, const char *words) { r->way->status(r, slice_of(words)); }

void reply_ok(reply *r) { r->way->status(r, SLICE("OK")); }

void reply_error(reply *r, const char *words) { reply_error_slice(r, slice_of(words)); }

void reply_error_slice(reply *r, slice s)
{
  r->is_error = true;
  r->way->error(r, s);
}

void reply_nothing(reply *r) { r->way->nothing(r, false); }

void reply_no_array(reply *r) { r->way->nothing(r, true); }

void reply_array(reply *r, size_t count) { r->way->array(r, count); }

void reply_wrong_type(reply *r)
{
  reply_error(r, "WRONGTYPE Operation against a key holding the wrong kind of value");
}

void reply_syntax_error(reply *r) { reply_error(r, "ERR syntax error"); }

void reply_wrong_count(reply *r, const char *name)
{
  char bytes[128];
  text t = text_over(bytes, sizeof(bytes));

  text_add(&t, "ERR wrong number of arguments for '");
  text_add(&t, name);
  text_add(&t, "' command");
  reply_error(r, bytes);
}

void reply_not_integer(reply *r)
{
  reply_error(r, "ERR value is not an integer or out of range");
}
