/* SPDX-License-Identifier: MIT */
/* api/rate.c - rate limiters: arguments of sync/rate.h. */
#include "api/call.h"

#include <dibs/rate.h>
#include <string.h>

#include "sync/rate.h"

#define VALUE_MAX ((int64_t)1 << 53)
#define PERMITS_MAX 1000000000

/* ---- arguments ---- */

static bool range_check(const char *what, int64_t value, int64_t least, int64_t most, text *why)
{
  if (value >= least && value <= most)
    return true;
  text_add(why, what);
  text_add(why, " is ");
  text_add_int(why, value);
  text_add(why, "; allowed are ");
  text_add_int(why, least);
  text_add(why, " to ");
  text_add_int(why, most);
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

dibs_status dibs_rate_limiter_available(dibs_client *client, const char *name,
                                        int64_t *ret_permits)
{
  rate_op r = { .op.row = &rate_look_row };
  dibs_status status = run(client, name, &r, ret_permits == NULL ? "ret_permits is NULL" : "");

  if (status == DIBS_OK && ret_permits != NULL)
    *ret_permits = r.state.left;
  return status;
}

dibs_status dibs_rate_limiter_config(dibs_client *client, const char *name, dibs_rate *ret_rate)
{
  rate_op r = { .op.row = &rate_look_row };
  bool has_room = ret_rate != NULL && ret_rate->size >= sizeof(ret_rate->size);
  dibs_status status = run(client, name, &r,
                           has_room ? "" : "ret_rate is NULL, or its size not set");
  dibs_rate known = DIBS_RATE_INIT;

  if (status != DIBS_OK || !has_room)
    return status;
  known.permits = r.state.rate;
  known.interval_ms = r.state.interval_ms;
  known.keepalive_ms = r.state.keepalive_ms;
  known.type = (int32_t)r.state.type;
  if (ret_rate->size < sizeof(known))
    known.size = ret_rate->size;
  memcpy(ret_rate, &known, known.size);
  return DIBS_OK;
}

/* ---- permits, without waiting ---- */

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

dibs_status dibs_rate_limiter_try_acquire(dibs_client *client, const char *name,
                                          uint32_t permits, int64_t *ret_wait_ms)
{
  rate_op r = { .op.row = &rate_try_row, .call.permits = permits };
  char words[128];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  if (permits_check(permits, &why) && !drive_random(r.id, sizeof(r.id)))
    return fault_end_with(client, DIBS_ERR_SYSTEM, "no random numbers: getrandom failed");
  status = run(client, name, &r, words);
  if (ret_wait_ms != NULL && (status == DIBS_OK || status == DIBS_BUSY))
    *ret_wait_ms = r.answer.wait_ms;
  return status;
}

/* ---- waiting ---- */

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
                              rate_op *ret)
{
  uint64_t seed;

  *ret = (rate_op){ .op.row = &rate_acquire_row, .call.permits = permits };
  if (!drive_random(ret->id, sizeof(ret->id)))
    return client_refuse(c, DIBS_ERR_SYSTEM, "no random numbers: getrandom failed");
  memcpy(&seed, ret->id, sizeof(seed));
  random_seed(&ret->random, seed);
  name_set(ret, name);
  return DIBS_OK;
}

static dibs_status acquire_blocking(client_record *c, const char *name, uint32_t permits,
                                    const dibs_wait_options *options)
{
  wait_plan plan;
  dibs_status status = acquire_check(c, name, permits, options, &plan);
  rate_op r;

  if (status == DIBS_OK)
    status = acquire_of(c, name, permits, &r);
  return status == DIBS_OK ? call_blocking(c, &r.op, &plan) : status;
}

dibs_status dibs_rate_limiter_acquire(dibs_client *client, const char *name, uint32_t permits,
                                      const dibs_wait_options *options)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  return status == DIBS_OK ? client_end(c, acquire_blocking(c, name, permits, options)) : status;
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
  if (to->callback == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "callback is NULL");
  status = acquire_of(c, name, permits, &r);
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
