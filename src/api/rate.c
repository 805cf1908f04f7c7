/* SPDX-License-Identifier: MIT */
/* api/rate.c - rate limiters: arguments of sync/rate.h. */
#include "api/call.h"

#include <assert.h>
#include <dibs/rate.h>
#include <inttypes.h>
#include <string.h>

#include "sync/rate.h"

#define VALUE_MAX ((int64_t)1 << 53)
#define PERMITS_MAX 1000000000

/* ---- arguments ---- */

static bool range_check(const char *what, int64_t value, int64_t least, int64_t most, text *why)
{
  if (value >= least && value <= most)
    return true;
  text_format(why, "%s is %" PRId64 "; allowed are %" PRId64 " to %" PRId64, what, value, least,
              most);
  return false;
}

static bool permits_check(uint32_t permits, text *why)
{
  return range_check("permits", permits, 1, PERMITS_MAX, why);
}

static bool reserved_check(const dibs_rate *r, text *why)
{
  if (r->reserved != 0)
    text_add(why, "dibs_rate.reserved must be 0");
  return r->reserved == 0;
}

static bool rate_check(const dibs_rate *r, text *why)
{
  return reserved_check(r, why) &&
         range_check("dibs_rate.permits", r->permits, 1, PERMITS_MAX, why) &&
         range_check("dibs_rate.interval_ms", r->interval_ms, 1, VALUE_MAX, why) &&
         (r->keepalive_ms == 0 ||
          range_check("dibs_rate.keepalive_ms (or 0)", r->keepalive_ms, r->interval_ms,
                      VALUE_MAX, why)) &&
         range_check("dibs_rate.type", r->type, DIBS_RATE_OVERALL, DIBS_RATE_PER_CLIENT, why);
}

/* ---- one request ---- */

static dibs_status limiter_name_check(client_record *c, const char *name, size_t size)
{
  dibs_status status = name_check(c, name, size);
  const char *fault = status == DIBS_OK ? rate_name_fault(&c->names, name, size) : NULL;

  return fault == NULL ? status : client_refuse(c, DIBS_ERR_ARGUMENT, fault);
}

static void name_set(rate_op *r, const char *name)
{
  assert(name != NULL);            /* limiter_name_check() */
  r->name_size = strlen(name);
  memcpy(r->name, name, r->name_size);
}

/* `fault`: "", or why the arguments are refused. */
static dibs_status run(dibs_client *client, const char *name, rate_op *r, const char *fault)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = limiter_name_check(c, name, name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1));
  if (status == DIBS_OK && fault[0] != '\0')
    status = client_refuse(c, DIBS_ERR_ARGUMENT, fault);
  if (status == DIBS_OK)
    status = one_place_check(c);
  if (status == DIBS_OK) {
    name_set(r, name);
    drive_lock(c->drive);
    r->call.number = ++c->rate_number;
    drive_unlock(c->drive);
    status = call_blocking(c, &r->op, NULL);
  }
  return client_end(c, status);
}

/* ---- the rate ---- */

dibs_status dibs_rate_limiter_set(dibs_client *client, const char *name, const dibs_rate *rate,
                                  dibs_rate_how how)
{
  static const char letters[] = { 'n', 's', 'u' };
  rate_op r = { .op.row = &rate_set_row };
  char words[256];
  text why = text_over(words, sizeof(words));
  dibs_rate known = DIBS_RATE_INIT;

  if (rate == NULL) {
    text_add(&why, "rate is NULL");
  } else if (range_check("how", how, DIBS_RATE_IF_ABSENT, DIBS_RATE_UPDATE, &why) &&
             options_copy(rate, &known, sizeof(known), "dibs_rate", &why) &&
             rate_check(&known, &why)) {
    r.call.rate = (uint64_t)known.permits;
    r.call.interval_ms = (uint64_t)known.interval_ms;
    r.call.keepalive_ms = (uint64_t)known.keepalive_ms;
    r.call.type = (uint64_t)known.type;
    r.call.how = letters[how];
  }
  return run(client, name, &r, words);
}

dibs_status dibs_rate_limiter_delete(dibs_client *client, const char *name)
{
  rate_op r = { .op.row = &rate_delete_row };

  return run(client, name, &r, "");
}

dibs_status dibs_rate_limiter_get(dibs_client *client, const char *name, dibs_rate *ret_rate,
                                  int64_t *ret_available)
{
  rate_op r = { .op.row = &rate_look_row };
  bool has_room = ret_rate == NULL || record_size_is_set(ret_rate->size);
  dibs_status status = run(client, name, &r,
                           has_room ? "" : "dibs_rate.size is not set: start from DIBS_RATE_INIT");

  if (status != DIBS_OK)
    return status;
  if (ret_rate != NULL)
    record_give(ret_rate, &(dibs_rate){ .permits = r.state.rate,
                                        .interval_ms = r.state.interval_ms,
                                        .keepalive_ms = r.state.keepalive_ms,
                                        .type = (int32_t)r.state.type },
                sizeof(*ret_rate));
  if (ret_available != NULL)
    *ret_available = r.state.left;
  return DIBS_OK;
}

/* ---- returning permits ---- */

dibs_status dibs_rate_limiter_release(dibs_client *client, const char *name, uint32_t permits,
                                      int64_t *ret_given)
{
  rate_op r = { .op.row = &rate_release_row, .call.permits = permits };
  char words[128];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  (void)permits_check(permits, &why);
  status = run(client, name, &r, words);
  if (status == DIBS_OK && ret_given != NULL)
    *ret_given = r.given;
  return status;
}

/* ---- taking permits ---- */

static dibs_status acquire_check(client_record *c, const char *name, uint32_t permits,
                                 const dibs_wait_options *options, wait_plan *ret_plan)
{
  dibs_status status = wait_check(c, name, options, ret_plan);
  char words[128];
  text why = text_over(words, sizeof(words));

  if (status != DIBS_OK)
    return status;
  if (!permits_check(permits, &why))
    return client_refuse(c, DIBS_ERR_ARGUMENT, words);
  return limiter_name_check(c, name, strlen(name));
}

static dibs_status acquire_of(client_record *c, const char *name, uint32_t permits,
                              const wait_plan *plan, rate_op *ret)
{
  *ret = (rate_op){ .op.row = plan->wait_ms == 0 ? &rate_try_row : &rate_acquire_row,
                    .call.permits = permits };
  if (!drive_random(ret->id, sizeof(ret->id)))
    return client_refuse(c, DIBS_ERR_SYSTEM, "no random numbers: getrandom failed");
  random_seed(&ret->random, seed_of_bytes((const uint8_t *)ret->id));
  name_set(ret, name);
  return DIBS_OK;
}

static dibs_status acquire_blocking(client_record *c, const char *name, uint32_t permits,
                                    const dibs_wait_options *options, int64_t *ret_wait_ms)
{
  wait_plan plan;
  dibs_status status = acquire_check(c, name, permits, options, &plan);
  rate_op r;

  if (status == DIBS_OK)
    status = acquire_of(c, name, permits, &plan, &r);
  if (status != DIBS_OK)
    return status;
  status = call_blocking(c, &r.op, &plan);
  if (ret_wait_ms != NULL && (status == DIBS_OK || status == DIBS_BUSY))
    *ret_wait_ms = r.answer.wait_ms;
  return status;
}

dibs_status dibs_rate_limiter_acquire(dibs_client *client, const char *name, uint32_t permits,
                                      const dibs_wait_options *options, int64_t *ret_wait_ms)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, acquire_blocking(c, name, permits, options, ret_wait_ms));
}

static dibs_status acquire_async(client_record *c, const char *name, uint32_t permits,
                                 const dibs_wait_options *options, const call_end *to,
                                 dibs_request **ret_request)
{
  wait_plan plan;
  dibs_status status = acquire_check(c, name, permits, options, &plan);
  rate_op r;

  if (status != DIBS_OK)
    return status;
  status = acquire_of(c, name, permits, &plan, &r);
  return status == DIBS_OK ? call_async(c, &r.op, sizeof(r), &plan, to, ret_request) : status;
}

dibs_status dibs_rate_limiter_acquire_async(dibs_client *client, const char *name,
                                            uint32_t permits, const dibs_wait_options *options,
                                            dibs_wait_callback callback, void *data,
                                            dibs_request **ret_request)
{
  call_end to = { .deliver = call_deliver_status, .callback = (void (*)(void))callback,
                  .data = data };
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, acquire_async(c, name, permits, options, &to, ret_request));
}
