/* SPDX-License-Identifier: MIT */
/* answer_reader.h - one reply out of RESP bytes, for tests; cmocka included before. */
#ifndef ANSWER_READER_H
#define ANSWER_READER_H

#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"

static void *reader_allocate(size_t bytes, void *data)
{
  (void)data;
  return malloc(bytes);
}

static void *reader_reallocate(void *old, size_t bytes, void *data)
{
  (void)data;
  return realloc(old, bytes);
}

static void reader_release(void *old, void *data)
{
  (void)data;
  free(old);
}

static const memory reader_heap = { reader_allocate, reader_reallocate, reader_release, NULL };

static resp_reply *reply_of(const char *bytes)
{
  resp_reader *reader = resp_reader_new(&reader_heap, RESP_LIMITS_DEFAULT);
  resp_reply *reply = NULL;

  assert_non_null(reader);
  assert_int_equal(resp_reader_feed(reader, bytes, strlen(bytes)), DIBS_OK);
  assert_int_equal(resp_reader_next(reader, &reply), DIBS_OK);
  assert_non_null(reply);
  resp_reader_free(reader);
  return reply;
}

#endif
