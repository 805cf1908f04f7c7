/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/writes.c - guarded writes. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

enum { OLD = 5, NEW = 7 };

static const dibs_field field = { "field", "1", 1 };
static const char *const fields[] = { "field" };
static uint64_t fence;

static dibs_status set(void) { return dibs_guarded_set(other, name, fence, "1", 1, 0); }
static dibs_status hset(void) { return dibs_guarded_hset(other, name, fence, &field, 1); }
static dibs_status hdel(void) { return dibs_guarded_hdel(other, name, fence, fields, 1); }
static dibs_status del(void) { return dibs_guarded_del(other, name, fence); }
static dibs_status incr(void) { return dibs_guarded_incr(other, name, fence, 1, NULL); }

static dibs_status get(void)
{
  dibs_value *value = NULL;
  dibs_status status = dibs_guarded_get(other, name, &value, NULL);

  value = dibs_value_free(value);
  return status;
}

static dibs_status hget(void)
{
  dibs_value *value = NULL;
  dibs_status status = dibs_guarded_hget(other, name, "field", &value, NULL);

  value = dibs_value_free(value);
  return status;
}

static void empty(void)
{
  (void)test_server_command(live_server, "DEL %s", name);
}

static dibs_status at(uint64_t number, situation *run)
{
  fence = number;
  return run();
}

static dibs_status written(situation *run)
{
  dibs_status status = at(NEW, run);

  empty();
  return status;
}

static dibs_status after_a_newer_one(situation *run)
{
  live_expect_ok(at(NEW, run));
  empty();
  return at(OLD, run);
}

static dibs_status unanswered(situation *run)
{
  dibs_status status;

  fence = NEW;
  status = without_a_reply(run);
  empty();
  return status;
}

static dibs_status with_a_reader(situation *run)
{
  dibs_hold *reader;
  dibs_status status;

  live_expect_ok(dibs_acquire(other, DIBS_READ(name), NULL, &reader));
  status = at(dibs_hold_fence(reader), run);
  assert_int_equal(dibs_release(reader), DIBS_OK);
  return status;
}

/* A list is none of the values that guarded writes make. */
static dibs_status on_a_list(situation *run)
{
  fence = NEW;
  return of_a_list(run);
}

#define SITUATIONS_OF(call) \
  static dibs_status call##_written(void) { return written(call); } \
  static dibs_status call##_after_a_newer_one(void) { return after_a_newer_one(call); } \
  static dibs_status call##_unanswered(void) { return unanswered(call); } \
  static dibs_status call##_without_a_fence(void) { return at(0, call); } \
  static dibs_status call##_with_a_reader(void) { return with_a_reader(call); } \
  static dibs_status call##_on_a_list(void) { return on_a_list(call); }

SITUATIONS_OF(set)
SITUATIONS_OF(hset)
SITUATIONS_OF(hdel)
SITUATIONS_OF(del)
SITUATIONS_OF(incr)

static dibs_status incr_beyond_its_range(void)
{
  dibs_status status;

  (void)test_server_command(live_server, "SET %s 9223372036854775807", name);
  status = at(NEW, incr);
  empty();
  return status;
}

/* ---- reads ---- */

static dibs_status get_without_a_value(void) { return dibs_guarded_get(other, name, NULL, NULL); }

static dibs_status hget_without_a_value(void)
{
  return dibs_guarded_hget(other, name, "field", NULL, NULL);
}

static dibs_status get_of_more_than_it_reads(void)
{
  dibs_status status;

  (void)test_server_command(live_server, "SETRANGE %s %d x", name, DIBS_DATA_MAX);
  status = get();
  empty();
  return status;
}

static dibs_status hget_of_more_than_it_reads(void)
{
  dibs_status status;

  (void)test_server_command(live_server, "SETRANGE big %d x", DIBS_DATA_MAX);
  (void)test_server_command(live_server, "EVAL return(redis.call('HSET',KEYS[1],'field',"
                                         "redis.call('GET','big'))) 1 %s", name);
  status = hget();
  empty();
  return status;
}

static dibs_status hget_without_a_reply(void) { return without_a_reply(hget); }
static dibs_status get_on_a_list(void) { return on_a_list(get); }
static dibs_status hget_on_a_list(void) { return on_a_list(hget); }
static dibs_status get_without_a_reply(void) { return without_a_reply(get); }

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_guarded_set, DIBS_OK, set_written) \
  X(dibs_guarded_set, DIBS_FENCED, set_after_a_newer_one) \
  X(dibs_guarded_set, DIBS_UNKNOWN, set_unanswered) \
  X(dibs_guarded_set, DIBS_ERR_ARGUMENT, set_without_a_fence) \
  X(dibs_guarded_set, DIBS_ERR_ARGUMENT, set_with_a_reader) \
  X(dibs_guarded_set, DIBS_ERR_WRONG_TYPE, set_on_a_list) \
  X(dibs_guarded_hset, DIBS_OK, hset_written) \
  X(dibs_guarded_hset, DIBS_FENCED, hset_after_a_newer_one) \
  X(dibs_guarded_hset, DIBS_UNKNOWN, hset_unanswered) \
  X(dibs_guarded_hset, DIBS_ERR_ARGUMENT, hset_without_a_fence) \
  X(dibs_guarded_hset, DIBS_ERR_ARGUMENT, hset_with_a_reader) \
  X(dibs_guarded_hset, DIBS_ERR_WRONG_TYPE, hset_on_a_list) \
  X(dibs_guarded_hdel, DIBS_OK, hdel_written) \
  X(dibs_guarded_hdel, DIBS_FENCED, hdel_after_a_newer_one) \
  X(dibs_guarded_hdel, DIBS_UNKNOWN, hdel_unanswered) \
  X(dibs_guarded_hdel, DIBS_ERR_ARGUMENT, hdel_without_a_fence) \
  X(dibs_guarded_hdel, DIBS_ERR_ARGUMENT, hdel_with_a_reader) \
  X(dibs_guarded_hdel, DIBS_ERR_WRONG_TYPE, hdel_on_a_list) \
  X(dibs_guarded_del, DIBS_OK, del_written) \
  X(dibs_guarded_del, DIBS_FENCED, del_after_a_newer_one) \
  X(dibs_guarded_del, DIBS_UNKNOWN, del_unanswered) \
  X(dibs_guarded_del, DIBS_ERR_ARGUMENT, del_without_a_fence) \
  X(dibs_guarded_del, DIBS_ERR_ARGUMENT, del_with_a_reader) \
  X(dibs_guarded_del, DIBS_OK, del_on_a_list) \
  X(dibs_guarded_incr, DIBS_OK, incr_written) \
  X(dibs_guarded_incr, DIBS_FENCED, incr_after_a_newer_one) \
  X(dibs_guarded_incr, DIBS_UNKNOWN, incr_unanswered) \
  X(dibs_guarded_incr, DIBS_ERR_ARGUMENT, incr_without_a_fence) \
  X(dibs_guarded_incr, DIBS_ERR_ARGUMENT, incr_with_a_reader) \
  X(dibs_guarded_incr, DIBS_ERR_WRONG_TYPE, incr_on_a_list) \
  X(dibs_guarded_get, DIBS_OK, get) \
  X(dibs_guarded_get, DIBS_ERR_ARGUMENT, get_without_a_value) \
  X(dibs_guarded_get, DIBS_ERR_WRONG_TYPE, get_on_a_list) \
  X(dibs_guarded_get, DIBS_ERR_UNSUPPORTED, get_of_more_than_it_reads) \
  X(dibs_guarded_get, DIBS_ERR_UNREACHABLE, get_without_a_reply) \
  X(dibs_guarded_hget, DIBS_OK, hget) \
  X(dibs_guarded_hget, DIBS_ERR_ARGUMENT, hget_without_a_value) \
  X(dibs_guarded_hget, DIBS_ERR_WRONG_TYPE, hget_on_a_list) \
  X(dibs_guarded_hget, DIBS_ERR_UNSUPPORTED, hget_of_more_than_it_reads) \
  X(dibs_guarded_hget, DIBS_ERR_UNREACHABLE, hget_without_a_reply) \
  X(dibs_guarded_incr, DIBS_ERR_SERVER, incr_beyond_its_range)

OUTCOMES(outcomes_of_writes);
