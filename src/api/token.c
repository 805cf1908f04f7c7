/* SPDX-License-Identifier: MIT */
/* api/token.c - ping, and leases named by a text: tokens and break. */
#include "api/question.h"

#include <string.h>

/* ---- ping ---- */

typedef dibs_status ping(client_record *c, const request *time, instant until);

static dibs_status ping_any(client_record *c, const request *time, instant until)
{
  question q;
  dibs_status status = question_run_until(c, &q, time, until);

  question_deinit(&q);
  return question_read_only(status);
}

static dibs_status ping_twice(client_record *c, ping *ping_once, instant until,
                              uint64_t *ret_round_trip_us)
{
  dibs_status status;
  instant asked_at;
  request time;

  request_init(&time, &c->memory);
  time_request(&time);
  status = ping_once(c, &time, until);         /* it may have connected first */
  if (status == DIBS_OK && ret_round_trip_us != NULL) {
    asked_at = drive_now();
    status = ping_once(c, &time, until);
    if (status == DIBS_OK)
      *ret_round_trip_us = (uint64_t)span_to_us(instant_since(drive_now(), asked_at));
  }
  request_deinit(&time);
  return status;
}

dibs_status client_ping(client_record *c, instant until)
{
  return ping_twice(c, ping_any, until, NULL);
}

dibs_status dibs_ping(dibs_client *client, int32_t wait_ms, uint64_t *ret_round_trip_us)
{
  char words[128];
  text why = text_over(words, sizeof(words));
  client_record *c;
  dibs_status status = client_begin(client, true, &c);
  int32_t ms;

  if (status != DIBS_OK)
    return status;
  if (!options_ms_check("wait_ms", wait_ms, &why))
    return client_end(c, client_refuse(c, DIBS_ERR_ARGUMENT, words));
  ms = wait_ms > 0 ? wait_ms : c->times.connect_ms;
  return client_end(c, ping_twice(c, c->servers.kind == DEPLOYMENT_QUORUM ? quorum_answers
                                                                          : ping_any,
                                  instant_add(drive_now(), span_ms(ms)), ret_round_trip_us));
}

/* ---- tokens ---- */

/* A token does not say of which dialect it is. */
static dibs_status token_kind_check(client_record *c, token_kind kind)
{
  const dialect_traits *traits = &c->names.dialect->traits;

  if (kind == TOKEN_SHARE && !traits->has_shares)
    return native_check(c, "read/write locks or permits: a token of one means nothing");
  if (kind == TOKEN_MANY && !traits->has_sets)
    return native_check(c, "leases of several names: a token of one means nothing");
  return DIBS_OK;
}

static dibs_status token_check(client_record *c, const char *token, token_parts *ret)
{
  char words[400];
  text why = text_over(words, sizeof(words));

  if (c->servers.kind == DEPLOYMENT_QUORUM)
    return client_refuse(c, DIBS_ERR_UNSUPPORTED,
                         "a token names one lease, and a lock on a quorum has one at each "
                         "server: it is renewed and released by the program that holds it");
  if (token != NULL && token_read(token, ret))
    return token_kind_check(c, ret->kind);
  if (token == NULL)
    text_add(&why, "NULL");
  else
    text_add_quoted(&why, token, strlen(token));
  text_add(&why, " is no token: dibs acquire and dibs_hold_token() write them");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

static bool share_renew_encode(const client_record *c, request *out, const token_parts *p,
                               int32_t ttl_ms)
{
  /* A token does not show the mode of its lease; 'w' keeps the mode. */
  share_renew_item item = { .name = p->names[0].name, .name_size = p->names[0].size,
                            .lease = &p->lease, .ttl_ms = ttl_ms, .mode = 'w',
                            .is_of_token = true };

  return c->names.dialect->share_renew(&c->names, out, &item, 1, ESTIMATE_AT_SENDING);
}

static bool renew_encode(const client_record *c, request *out, const token_parts *p,
                         int32_t ttl_ms)
{
  renew_item items[MANY_NAMES_MAX];

  if (p->kind == TOKEN_SHARE)
    return share_renew_encode(c, out, p, ttl_ms);
  for (size_t i = 0; i < p->count; i++)
    items[i] = (renew_item){ .name = p->names[i].name, .name_size = p->names[i].size,
                             .lease = &p->lease, .ttl_ms = ttl_ms };
  return c->names.dialect->renew(&c->names, out, items, p->count, ESTIMATE_AT_SENDING);
}

/* A multi-lock is renewed only if all names are: when one has ended, all count as lost. */
static bool renew_answer_read(const resp_reply *r, size_t count, renew_answer *ret)
{
  renew_answer all = renew_answer_of_set();

  for (size_t i = 0; i < count; i++) {
    renew_answer one;

    if (!native_renew_answer(r, i, &one))
      return false;
    renew_answer_add(&all, &one);
  }
  *ret = all;
  return true;
}

static dibs_status renew_ask(client_record *c, const token_parts *p, int32_t ttl_ms, instant until,
                             renew_answer *ret_answer)
{
  question q;
  request k;
  dibs_status status;

  request_init(&k, &c->memory);
  (void)renew_encode(c, &k, p, ttl_ms);
  (void)request_limit(&k);
  status = question_run_until(c, &q, &k, until);
  if (status == DIBS_OK && !renew_answer_read(q.reply, p->count, ret_answer))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to the script renew");
  question_deinit(&q);
  request_deinit(&k);
  return status;
}

/* Extends the registration of the client that took the lease as long as the lease. Sent
 * before the renewal; its reply is ignored. */
static void keep_registration(client_record *c, const token_parts *p, int32_t ttl_ms)
{
  char bytes[KEY_TEXT_SIZE], digits[24];
  text key = text_over(bytes, sizeof(bytes)), ms = text_over(digits, sizeof(digits));
  resp_argument words[] = { RESP_TEXT("PEXPIRE"), { bytes, 0 }, { digits, 0 } };
  request command;

  native_client_key(&c->names, p->lease.client, &key);
  text_add_int(&ms, ttl_ms > CLIENT_REGISTRATION_MS ? ttl_ms : CLIENT_REGISTRATION_MS);
  words[1].size = key.used;
  words[2].size = ms.used;
  request_init(&command, &c->memory);
  if (request_command(&command, words, 3) && client_enter(c, true) == DIBS_OK) {
    engine_send(drive_engine(c->drive), &command, client_give_up_at(c), drive_now());
    client_leave(c);
  }
  request_deinit(&command);
}

/* Of a lease that is not there any more. With an era guard a server that was promoted may lack
 * the grant that followed (protocol.md 16). */
static dibs_status gone_status(const client_record *c, release_outcome gone)
{
  if (gone == RELEASE_TAKEN)
    return DIBS_TAKEN;
  return gone == RELEASE_UNTAKEN && c->names.quarantine_ms == 0 ? DIBS_EXPIRED : DIBS_LOST;
}

static dibs_status token_renew(client_record *c, const char *token, int32_t ttl_ms,
                               int64_t *ret_remaining_ms)
{
  token_parts p = { .count = 0 };
  renew_answer answer = { .is_ours = false };
  instant until = client_give_up_at(c);
  dibs_status status = token_check(c, token, &p);

  if (status != DIBS_OK)
    return status;
  if (ttl_ms < 100 || ttl_ms > DIBS_MS_MAX)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ttl_ms must be 100 to 2073600000");
  status = client_learn_time(c, p.names[0].name, p.names[0].size, until);
  if (status == DIBS_OK) {
    keep_registration(c, &p, ttl_ms);
    status = renew_ask(c, &p, ttl_ms, until, &answer);
  }
  if (status != DIBS_OK)
    return status;
  if (!answer.is_ours)
    return gone_status(c, answer.gone);
  if (ret_remaining_ms != NULL)
    *ret_remaining_ms = answer.remaining_ms;
  return DIBS_OK;
}

dibs_status dibs_token_renew(dibs_client *client, const char *token, int32_t ttl_ms,
                             int64_t *ret_remaining_ms)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = token_renew(c, token, ttl_ms, ret_remaining_ms);
  return client_end(c, status);
}

typedef bool lease_encoder(const protocol *n, request *out, const token_parts *p);

static bool release_encode(const protocol *n, request *out, const token_parts *p)
{
  const many_name *one = &p->names[0];
  share_ending e = { .name = one->name, .name_size = one->size, .lease = p->lease,
                     .estimate_us = ESTIMATE_AT_SENDING };

  switch (p->kind) {
  case TOKEN_LEASE:
    return n->dialect->release(n, out, one->name, one->size, &p->lease, 0, ESTIMATE_AT_SENDING);
  case TOKEN_SHARE:
    return n->dialect->share_release(n, out, &e);
  case TOKEN_MANY:
    return native_many_release(n, out, p->names, p->count, &p->lease, ESTIMATE_AT_SENDING);
  }
  return false;
}

static bool break_encode(const protocol *n, request *out, const token_parts *p)
{
  return n->dialect->break_lease(n, out, p->names[0].name, p->names[0].size, &p->lease,
                                 ESTIMATE_AT_SENDING);
}

/* `ret_was_lost`: an earlier copy may have been executed. */
static dibs_status lease_ask(client_record *c, lease_encoder *encode, const token_parts *p,
                             bool *ret_was_lost)
{
  release_answer answer;
  question q;
  request k;
  instant until = client_give_up_at(c);
  const many_name *first = &p->names[0];
  dibs_status status = client_learn_time(c, first->name, first->size, until);

  if (status != DIBS_OK)
    return status;
  request_init(&k, &c->memory);
  (void)encode(&c->names, &k, p);
  (void)request_limit(&k);
  status = question_run_until(c, &q, &k, until);
  if (status == DIBS_OK && !native_release_answer(q.reply, &answer))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to the script release");
  *ret_was_lost = q.was_lost;
  question_deinit(&q);
  if (status == DIBS_OK && answer.outcome != RELEASE_DONE)
    status = gone_status(c, answer.outcome);
  request_deinit(&k);
  return status;
}

/* Not that the hold ended before: that would be a loss. Unlike dibs_release() it does not know
 * whether the lease was valid when the first copy was sent. */
static dibs_status token_release(client_record *c, const token_parts *p)
{
  bool was_lost = false;
  dibs_status status = lease_ask(c, release_encode, p, &was_lost);

  if (!was_lost || !dibs_status_is_lost(status))
    return status;
  return client_refuse(c, DIBS_UNKNOWN,
                       "a reply was lost, and the release that was sent again found the "
                       "lease gone: the first one released it, or it had ended before");
}

dibs_status dibs_token_release(dibs_client *client, const char *token)
{
  token_parts p = { .count = 0 };
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = token_check(c, token, &p);
  if (status == DIBS_OK)
    status = token_release(c, &p);
  return client_end(c, status);
}

static dibs_status break_check(client_record *c, dibs_bytes name, const char *lease,
                               token_parts *ret)
{
  const char *fault = name.bytes == NULL ? "name is NULL"
                                         : dialect_name_fault(&c->names, name.bytes, name.size);

  if (fault != NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, fault);
  if (lease == NULL || !lease_id_read(lease, strnlen(lease, LEASE_TEXT_SIZE), &ret->lease))
    return client_refuse(c, DIBS_ERR_ARGUMENT,
                         "lease has no valid form; dibs_inspect() returns the current one");
  ret->kind = TOKEN_LEASE;
  ret->count = 1;
  ret->names[0] = (many_name){ name.bytes, name.size };
  return DIBS_OK;
}

dibs_status dibs_break(dibs_client *client, dibs_bytes name, const char *lease)
{
  token_parts p = { .count = 0 };
  client_record *c;
  dibs_status status = client_begin(client, true, &c);
  bool was_lost;                       /* that lease is gone in any case */

  if (status != DIBS_OK)
    return status;
  status = break_check(c, name, lease, &p);
  if (status == DIBS_OK && c->servers.kind == DEPLOYMENT_QUORUM)
    status = quorum_break(c, &p, client_give_up_at(c));
  else if (status == DIBS_OK)
    status = lease_ask(c, break_encode, &p, &was_lost);
  return client_end(c, status);
}
