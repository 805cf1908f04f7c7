/* SPDX-License-Identifier: MIT */
/* api/rate.c - rate limiters: setting them, taking permits at once, and waiting until the
 * time that the server named. */
#include "api/wait.h"

#include <dibs/rate.h>
#include <string.h>

#include "dialect/redisson/rate.h"

#define VALUE_MAX ((int64_t)1 << 53)
#define PERMITS_MAX 1000000000
#define LOOK_EVERY SPAN_MS(10000)      /* without a message: another rate, a release */
#define LOOK_EVERY_LEAST SPAN_MS(9000) /* the engine adds its jitter */

static dibs_status answer_is_odd(client_record *c)
{
  return client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to a rate limiter script");
}

/* ---- arguments ---- */

static const char not_set[] = "no rate is set for this name; see dibs_rate_limiter_set()";

static void too_many_say(uint64_t permits, const rate_answer *a, text *out)
{
  text_add_uint(out, permits);
  text_add(out, " permits are wanted at once; this limiter never has more than ");
  text_add_int(out, a->rate);
  text_add(out, " in ");
  text_add_int(out, a->interval_ms);
  text_add(out, " ms");
}

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

/* ---- one question ---- */

/* A request, and what its reply means. */
typedef struct rate_question {
  rate_encode *encode;
  dibs_status (*read)(client_record *c, const resp_reply *reply, struct rate_question *q);
  rate_call call;
  rate_answer answer;            /* of an acquire */
  rate_state state;              /* of a read */
  int64_t given;                 /* of a release */
} rate_question;

static dibs_status ask_pinned(client_record *c, rate_question *r)
{
  request k;
  question q;
  dibs_status status;

  request_init(&k, &c->memory);
  (void)r->encode(&c->names, &k, &r->call);
  status = question_run(c, &q, &k);
  if (status == DIBS_OK)
    status = r->read(c, q.reply, r);
  question_deinit(&q);
  request_deinit(&k);
  return status;
}

static dibs_status limiter_name_check(client_record *c, const char *name, size_t size)
{
  dibs_status status = name_check(c, name, size);
  const char *fault = status == DIBS_OK ? rate_name_fault(&c->names, name, size) : NULL;

  return fault == NULL ? status : client_refuse(c, DIBS_ERR_ARGUMENT, fault);
}

/* `fault`: "", or why the arguments are refused. */
static dibs_status ask(dibs_client *client, const char *name, rate_question *r, const char *fault)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  r->call.name = name;
  r->call.name_size = name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1);
  status = limiter_name_check(c, name, r->call.name_size);
  if (status == DIBS_OK && fault[0] != '\0')
    status = client_refuse(c, DIBS_ERR_ARGUMENT, fault);
  if (status == DIBS_OK)
    status = one_place_check(c);
  drive_lock(c->drive);
  r->call.number = ++c->rate_number;
  drive_unlock(c->drive);
  if (status == DIBS_OK)
    status = ask_pinned(c, r);
  return client_end(c, status);
}

/* ---- the rate ---- */

static dibs_status set_read(client_record *c, const resp_reply *reply, rate_question *r)
{
  int64_t done;

  (void)r;
  if (!rate_change_answer(reply, &done))
    return answer_is_odd(c);
  if (done < 0)
    return client_refuse(c, DIBS_ERR_NOT_SET, not_set);
  return done == 1 ? DIBS_OK : DIBS_BUSY;
}

dibs_status dibs_rate_limiter_set(dibs_client *client, const char *name, const dibs_rate *rate,
                                  dibs_rate_how how)
{
  static const char letters[] = { 'n', 's', 'u' };
  rate_question r = { .encode = rate_set, .read = set_read };
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
  return ask(client, name, &r, words);
}

static dibs_status delete_read(client_record *c, const resp_reply *reply, rate_question *r)
{
  dibs_status status = set_read(c, reply, r);

  return status == DIBS_BUSY ? DIBS_OK : status;         /* there was none */
}

dibs_status dibs_rate_limiter_delete(dibs_client *client, const char *name)
{
  rate_question r = { .encode = rate_delete, .read = delete_read };

  return ask(client, name, &r, "");
}

static dibs_status look_read(client_record *c, const resp_reply *reply, rate_question *r)
{
  if (!rate_look_answer(reply, &r->state))
    return answer_is_odd(c);
  return r->state.is_set ? DIBS_OK : client_refuse(c, DIBS_ERR_NOT_SET, not_set);
}

dibs_status dibs_rate_limiter_available(dibs_client *client, const char *name,
                                        int64_t *ret_permits)
{
  rate_question r = { .encode = rate_look, .read = look_read };
  dibs_status status = ask(client, name, &r, ret_permits == NULL ? "ret_permits is NULL" : "");

  if (status == DIBS_OK && ret_permits != NULL)
    *ret_permits = r.state.left;
  return question_read_only(status);
}

dibs_status dibs_rate_limiter_config(dibs_client *client, const char *name, dibs_rate *ret_rate)
{
  rate_question r = { .encode = rate_look, .read = look_read };
  bool has_room = ret_rate != NULL && ret_rate->size >= sizeof(ret_rate->size);
  dibs_status status = ask(client, name, &r,
                           has_room ? "" : "ret_rate is NULL, or its size not set");
  dibs_rate known = DIBS_RATE_INIT;

  if (status != DIBS_OK || !has_room)
    return question_read_only(status);
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

static dibs_status release_read(client_record *c, const resp_reply *reply, rate_question *r)
{
  if (!rate_release_answer(reply, &r->given))
    return answer_is_odd(c);
  return r->given >= 0 ? DIBS_OK : client_refuse(c, DIBS_ERR_NOT_SET, not_set);
}

dibs_status dibs_rate_limiter_release(dibs_client *client, const char *name, uint32_t permits,
                                      int64_t *ret_given)
{
  rate_question r = { .encode = rate_release, .read = release_read,
                      .call = { .permits = permits } };
  char words[128];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  (void)permits_check(permits, &why);
  status = ask(client, name, &r, words);
  if (status == DIBS_OK && ret_given != NULL)
    *ret_given = r.given;
  return status;
}

/* The status that a reply means; the message of a fault in `why`. */
static dibs_status acquire_judge(const rate_answer *a, uint64_t permits, text *why)
{
  switch (a->outcome) {
  case RATE_GRANTED:
    return DIBS_OK;
  case RATE_LATER:
    return DIBS_BUSY;
  case RATE_NOT_SET:
    text_add(why, not_set);
    return DIBS_ERR_NOT_SET;
  case RATE_TOO_MANY:
    too_many_say(permits, a, why);
    return DIBS_ERR_ARGUMENT;
  }
  return DIBS_ERR_PROTOCOL;
}

static dibs_status acquire_read(client_record *c, const resp_reply *reply, rate_question *r)
{
  char words[256];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  if (!rate_acquire_answer(reply, &r->answer))
    return answer_is_odd(c);
  status = acquire_judge(&r->answer, r->call.permits, &why);
  return status < 0 ? client_refuse(c, status, words) : status;
}

dibs_status dibs_rate_limiter_try_acquire(dibs_client *client, const char *name,
                                          uint32_t permits, int64_t *ret_wait_ms)
{
  uint8_t id[RATE_ID_SIZE];
  rate_question r = { .encode = rate_acquire, .read = acquire_read,
                      .call = { .permits = permits, .id = id } };
  char words[128];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  if (permits_check(permits, &why) && !drive_random(id, sizeof(id)))
    return fault_end_with(client, DIBS_ERR_SYSTEM, "no random numbers: getrandom failed");
  status = ask(client, name, &r, words);
  if (ret_wait_ms != NULL && (status == DIBS_OK || status == DIBS_BUSY))
    *ret_wait_ms = r.answer.wait_ms;
  return status;
}

/* ---- waiting ---- */

/* A wait without messages: each reply names the time of the next request. All of its
 * requests have one `id`. */
typedef struct rate_wait {
  wait wait;
  rate_call call;
  uint8_t id[RATE_ID_SIZE];
  char name[DIBS_NAME_MAX + 1];
  random_source random;
  instant asks_at;               /* no request is under way until then; {0}: one is */
  dibs_wait_callback callback;
  void *data;
} rate_wait;

/* Many clients may have got the same moment: adds up to a sixteenth of the wait, 2 to 20
 * ms. */
static span jitter(rate_wait *r, int64_t wait_ms)
{
  span most = span_min(span_max(span_ms(wait_ms / 16), SPAN_MS(2)), SPAN_MS(20));

  return random_span(&r->random, (span){ 0 }, most);
}

static void come_back(rate_wait *r, int64_t wait_ms)
{
  instant now = drive_now();
  int64_t capped = wait_ms < span_to_ms(LOOK_EVERY) ? wait_ms : span_to_ms(LOOK_EVERY);
  instant at = instant_add(instant_add(now, span_ms(capped)), jitter(r, capped));

  r->asks_at = instant_min(at, instant_add(now, LOOK_EVERY_LEAST));
  wait_look_at(&r->wait, at);
}

static bool rate_wait_look(wait *w, const resp_reply *reply)
{
  rate_wait *r = (rate_wait *)(void *)w;
  char words[256];
  text why = text_over(words, sizeof(words));
  rate_answer a;
  dibs_status status;

  if (!rate_acquire_answer(reply, &a)) {
    return wait_over(w, DIBS_ERR_PROTOCOL, "unexpected reply to rate_acquire");
  }
  status = acquire_judge(&a, r->call.permits, &why);
  if (status == DIBS_BUSY) {
    come_back(r, a.wait_ms);
    return false;
  }
  return wait_over(w, status, words);
}

/* A request that is under way may still be granted: its permits are not used. */
static bool rate_wait_leave(wait *w, request *out)
{
  const rate_wait *r = (const rate_wait *)(const void *)w;

  if (instant_before(drive_now(), r->asks_at))
    return false;
  return rate_cancel(&w->client->names, out, &r->call);
}

static void rate_wait_report(wait *w, const dibs_error *error)
{
  const rate_wait *r = (const rate_wait *)(const void *)w;

  r->callback(error, r->data);
}

static const wait_kind rate_kind = { .look = rate_wait_look, .leave = rate_wait_leave,
                                     .report = rate_wait_report };

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

static rate_wait *rate_wait_new(client_record *c, const char *name, uint32_t permits,
                                dibs_status *ret_status)
{
  rate_wait *r = (rate_wait *)(void *)wait_new(c, &rate_kind, sizeof(*r));
  uint64_t seed;

  *ret_status = DIBS_ERR_NO_MEMORY;
  if (r == NULL)
    return NULL;
  if (!drive_random(r->id, sizeof(r->id))) {
    *ret_status = client_refuse(c, DIBS_ERR_SYSTEM, "no random numbers: getrandom failed");
    (void)wait_free(&r->wait);
    return NULL;
  }
  memcpy(&seed, r->id, sizeof(seed));
  random_seed(&r->random, seed);
  memcpy(r->name, name, strlen(name));
  r->call = (rate_call){ .name = r->name, .name_size = strlen(name), .permits = permits,
                         .id = r->id };
  return r;
}

/* Makes the request; request_deinit() must follow. false: no memory. */
static bool asking_init(const rate_wait *r, request *k, wait_question *ret_question)
{
  client_record *c = r->wait.client;

  request_init(k, &c->memory);
  *ret_question = (wait_question){ .command = k, .every = LOOK_EVERY };
  if (rate_acquire(&c->names, k, &r->call))
    return true;
  (void)client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  return false;
}

static dibs_status acquire_blocking(client_record *c, const char *name, uint32_t permits,
                                    const dibs_wait_options *options)
{
  wait_plan plan;
  dibs_status status = acquire_check(c, name, permits, options, &plan);
  wait_question q;
  request k;
  rate_wait *r;

  if (status != DIBS_OK)
    return status;
  r = rate_wait_new(c, name, permits, &status);
  if (r == NULL)
    return status;
  status = asking_init(r, &k, &q) ? wait_blocking(&r->wait, &plan, &q) : DIBS_ERR_NO_MEMORY;
  request_deinit(&k);
  (void)wait_free(&r->wait);
  return status;
}

dibs_status dibs_rate_limiter_acquire(dibs_client *client, const char *name, uint32_t permits,
                                      const dibs_wait_options *options)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  return status == DIBS_OK ? client_end(c, acquire_blocking(c, name, permits, options)) : status;
}

static dibs_status acquire_async(client_record *c, const char *name, uint32_t permits,
                                 const dibs_wait_options *options, dibs_wait_callback callback,
                                 void *data, dibs_request **ret_request)
{
  wait_plan plan;
  dibs_status status = acquire_check(c, name, permits, options, &plan);
  wait_question q;
  request k;
  rate_wait *r;

  if (status != DIBS_OK)
    return status;
  if (callback == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "callback is NULL");
  r = rate_wait_new(c, name, permits, &status);
  if (r == NULL)
    return status;
  r->callback = callback;
  r->data = data;
  if (asking_init(r, &k, &q)) {
    status = wait_async(&r->wait, &plan, &q, ret_request);
  } else {
    status = DIBS_ERR_NO_MEMORY;
    (void)wait_free(&r->wait);
  }
  request_deinit(&k);
  return status;
}

dibs_status dibs_rate_limiter_acquire_async(dibs_client *client, const char *name,
                                            uint32_t permits, const dibs_wait_options *options,
                                            dibs_wait_callback callback, void *data,
                                            dibs_request **ret_request)
{
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, acquire_async(c, name, permits, options, callback, data, ret_request));
}
