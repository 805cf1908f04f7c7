/* SPDX-License-Identifier: MIT */
/* api/token.c - ping, and leases that are named by a text: tokens and break. */
#include "api/api.h"

#include <string.h>

/* ---- ping ---- */

static dibs_status ping_once(dibs_client *c, const buffer *time, instant until)
{
  question q;
  dibs_status status = client_enter(c, true);

  if (status != DIBS_OK)
    return status;
  question_ask(c, &q, time, NULL, until);
  status = question_wait(c, &q);
  client_leave(c);
  question_deinit(&q);
  return question_read_only(status);
}

static dibs_status ping(dibs_client *c, instant until, uint64_t *ret_round_trip_us)
{
  static const resp_argument words[] = { { "TIME", 4 } };
  dibs_status status;
  instant asked_at;
  buffer time;

  buffer_init(&time, &c->memory);
  if (!resp_command(&time, words, 1))
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  status = ping_once(c, &time, until);         /* may have had to connect */
  if (status == DIBS_OK && ret_round_trip_us != NULL) {
    asked_at = drive_now();
    status = ping_once(c, &time, until);
    if (status == DIBS_OK)
      *ret_round_trip_us = (uint64_t)span_to_us(instant_since(drive_now(), asked_at));
  }
  buffer_deinit(&time);
  return status;
}

dibs_status dibs_ping(dibs_client *c, int32_t wait_ms, uint64_t *ret_round_trip_us)
{
  char why_words[128];
  text why = text_over(why_words, sizeof(why_words));
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  if (!options_ms_check("wait_ms", wait_ms, &why)) {
    status = client_refuse(c, DIBS_ERR_ARGUMENT, why_words);
  } else {
    int32_t ms = wait_ms > 0 ? wait_ms : c->times.connect_ms;

    status = ping(c, instant_add(drive_now(), span_ms(ms)), ret_round_trip_us);
  }
  client_unpin(c);
  return status;
}

/* ---- tokens ---- */

static dibs_status token_check(dibs_client *c, const char *token, token_parts *ret)
{
  char words[400];
  text why = text_over(words, sizeof(words));

  if (token != NULL && token_read(token, ret))
    return one_place_check(c);
  if (token == NULL)
    text_add(&why, "NULL");
  else
    text_add_quoted(&why, token, strlen(token));
  text_add(&why, " is no token: dibs acquire and dibs_hold_token() write them");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

/* Another dialect does not say when a lease began: whoever has it now took it after ours. */
static bool is_taken_again(const dibs_client *c, const dibs_inspection *found,
                           const token_parts *p)
{
  return c->names.dialect == DIALECT_NATIVE ? found->fence / 1024 > p->lease.token
                                            : found->holder_count > 0;
}

/* The lease is gone: did anybody take a name since? Of a shared resource nobody in
 * particular does. */
static dibs_status gone_how(dibs_client *c, const token_parts *p)
{
  dibs_inspection *found;
  dibs_status status;

  for (size_t i = 0; p->kind != TOKEN_SHARE && i < p->count; i++) {
    found = NULL;
    status = inspect_name(c, p->names[i].name, p->names[i].size, &found);
    if (status != DIBS_OK)
      return status;
    status = is_taken_again(c, found, p) ? DIBS_TAKEN : DIBS_EXPIRED;
    (void)dibs_inspection_free(found);
    if (status == DIBS_TAKEN)
      return status;
  }
  return DIBS_EXPIRED;
}

static bool share_renew_encode(const dibs_client *c, buffer *out, bool with_text,
                               const token_parts *p, int32_t ttl_ms, int64_t estimate_us)
{
  /* Whoever holds the token does not know whether it reads; 'w' leaves that as it is. */
  share_renew_item item = { .name = p->names[0].name, .name_size = p->names[0].size,
                            .lease = &p->lease, .ttl_ms = ttl_ms, .mode = 'w' };

  return dialect_share_renew(&c->names, out, with_text, &item, 1, estimate_us);
}

static bool renew_encode(const dibs_client *c, buffer *out, bool with_text,
                         const token_parts *p, int32_t ttl_ms, int64_t estimate_us)
{
  renew_item items[MANY_NAMES_MAX];

  if (p->kind == TOKEN_SHARE)
    return share_renew_encode(c, out, with_text, p, ttl_ms, estimate_us);
  for (size_t i = 0; i < p->count; i++)
    items[i] = (renew_item){ .name = p->names[i].name, .name_size = p->names[i].size,
                             .lease = &p->lease, .ttl_ms = ttl_ms };
  return dialect_renew(&c->names, out, with_text, items, p->count, estimate_us);
}

/* All names of a set or none: one that is gone loses the others. */
static bool renew_answer_read(const resp_reply *r, size_t count, renew_answer *ret)
{
  renew_answer one;

  for (size_t i = 0; i < count; i++) {
    if (!native_renew_answer(r, i, &one))
      return false;
    if (i == 0 || !one.is_ours || one.remaining_ms < ret->remaining_ms)
      *ret = one;
    if (!one.is_ours)
      break;
  }
  return true;
}

static dibs_status renew_ask(dibs_client *c, const token_parts *p, int32_t ttl_ms,
                             int64_t estimate_us, renew_answer *ret_answer)
{
  question q;
  script_command k;
  dibs_status status;

  script_command_init(&k, c);
  status = script_command_run(c, &q, &k,
                       renew_encode(c, &k.by_digest, false, p, ttl_ms, estimate_us) &&
                         renew_encode(c, &k.by_text, true, p, ttl_ms, estimate_us));
  if (status == DIBS_OK && !renew_answer_read(q.reply, p->count, ret_answer))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "an answer to renew of no known form");
  question_deinit(&q);
  script_command_deinit(&k);
  return status;
}

static dibs_status token_renew(dibs_client *c, const char *token, int32_t ttl_ms,
                               int64_t *ret_remaining_ms)
{
  token_parts p = { .count = 0 };
  renew_answer answer = { .is_ours = false };
  int64_t estimate_us;
  dibs_status status = token_check(c, token, &p);

  if (status != DIBS_OK)
    return status;
  if (ttl_ms < 100 || ttl_ms > DIBS_MS_MAX)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ttl_ms must be 100 to 2073600000");
  status = client_agreed_time(c, &estimate_us);
  if (status == DIBS_OK)
    status = renew_ask(c, &p, ttl_ms, estimate_us, &answer);
  if (status != DIBS_OK)
    return status;
  if (!answer.is_ours)
    return gone_how(c, &p);
  if (ret_remaining_ms != NULL)
    *ret_remaining_ms = answer.remaining_ms;
  return DIBS_OK;
}

dibs_status dibs_token_renew(dibs_client *c, const char *token, int32_t ttl_ms,
                             int64_t *ret_remaining_ms)
{
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  status = token_renew(c, token, ttl_ms, ret_remaining_ms);
  client_unpin(c);
  return status;
}

typedef bool lease_encoder(const native *n, buffer *out, bool with_text, const token_parts *p,
                           int64_t estimate_us);

static bool release_encode(const native *n, buffer *out, bool with_text, const token_parts *p,
                           int64_t estimate_us)
{
  const many_name *one = &p->names[0];
  share_ending e = { .name = one->name, .name_size = one->size, .lease = p->lease,
                     .estimate_us = estimate_us };

  switch (p->kind) {
  case TOKEN_LEASE:
    return dialect_release(n, out, with_text, one->name, one->size, &p->lease, 0, estimate_us);
  case TOKEN_SHARE:
    return dialect_share_release(n, out, with_text, &e);
  case TOKEN_MANY:
    return native_many_release(n, out, with_text, p->names, p->count, &p->lease, estimate_us);
  }
  return false;
}

static bool break_encode(const native *n, buffer *out, bool with_text, const token_parts *p,
                         int64_t estimate_us)
{
  return dialect_break(n, out, with_text, p->names[0].name, p->names[0].size, &p->lease,
                      estimate_us);
}

/* A quorum: each server that has this lease lets go of it. The best of their answers. */
static dibs_status others_ask(dibs_client *c, const script_command *k, dibs_status best)
{
  for (size_t route = quorum_route_next(c, 0); route != SIZE_MAX;
       route = quorum_route_next(c, route + 1)) {
    release_answer answer = { .outcome = RELEASE_EXPIRED };
    question q;

    if (question_run_at(c, &q, route, &k->by_digest, &k->by_text) == DIBS_OK &&
        native_release_answer(q.reply, &answer) && answer.outcome == RELEASE_DONE)
      best = DIBS_OK;
    question_deinit(&q);
  }
  return best;
}

static dibs_status lease_ask(dibs_client *c, lease_encoder *encode, const token_parts *p)
{
  release_answer answer;
  question q;
  script_command k;
  int64_t us = 0;
  dibs_status status = client_agreed_time(c, &us);

  if (status != DIBS_OK)
    return status;
  script_command_init(&k, c);
  status = script_command_run(c, &q, &k,
                       encode(&c->names, &k.by_digest, false, p, us) &&
                         encode(&c->names, &k.by_text, true, p, us));
  if (status == DIBS_OK && !native_release_answer(q.reply, &answer))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "an answer to release of no known form");
  question_deinit(&q);
  if (status == DIBS_OK && answer.outcome != RELEASE_DONE)
    status = answer.outcome == RELEASE_TAKEN ? DIBS_TAKEN : DIBS_EXPIRED;
  if (status >= DIBS_OK && c->servers.kind == DEPLOYMENT_QUORUM)
    status = others_ask(c, &k, status);
  script_command_deinit(&k);
  return status;
}

dibs_status dibs_token_release(dibs_client *c, const char *token)
{
  token_parts p = { .count = 0 };
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  status = token_check(c, token, &p);
  if (status == DIBS_OK)
    status = lease_ask(c, release_encode, &p);
  client_unpin(c);
  return status;
}

static dibs_status break_check(dibs_client *c, const char *name, const char *lease,
                               token_parts *ret)
{
  size_t size = name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1);
  const char *fault = name == NULL ? "name is NULL" : dialect_name_fault(&c->names, name, size);

  if (fault != NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, fault);
  if (lease == NULL || !lease_id_read(lease, strnlen(lease, LEASE_TEXT_SIZE), &ret->lease))
    return client_refuse(c, DIBS_ERR_ARGUMENT,
                         "lease is not one; dibs_inspect() tells the present one");
  ret->kind = TOKEN_LEASE;
  ret->count = 1;
  ret->names[0] = (many_name){ name, size };
  return one_place_check(c);
}

dibs_status dibs_break(dibs_client *c, const char *name, const char *lease)
{
  token_parts p = { .count = 0 };
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  status = break_check(c, name, lease, &p);
  if (status == DIBS_OK)
    status = lease_ask(c, break_encode, &p);
  client_unpin(c);
  return status;
}
