/* SPDX-License-Identifier: MIT */
/* answer_reader.h - one reply out of RESP bytes, for tests. */
#ifndef ANSWER_READER_H
#define ANSWER_READER_H

#include "tests.h"

#include <string.h>

#include "base/plain_memory.h"
#include "resp/resp.h"

static const memory reader_heap = PLAIN_MEMORY;

static inline resp_reply *reply_of_bytes(const char *bytes, size_t size)
{
  resp_reader *reader = resp_reader_new(&reader_heap, RESP_LIMITS_DEFAULT);
  resp_reply *reply = NULL;

  assert_non_null(reader);
  assert_int_equal(resp_reader_feed(reader, bytes, size), DIBS_OK);
  assert_int_equal(resp_reader_next(reader, &reply), DIBS_OK);
  assert_non_null(reply);
  resp_reader_free(reader);
  return reply;
}

static inline resp_reply *reply_of(const char *bytes)
{
  return reply_of_bytes(bytes, strlen(bytes));
}

#endif
