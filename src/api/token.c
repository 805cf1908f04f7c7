/* SPDX-License-Identifier: MIT */
/* api/token.c - ping, and leases that are named by a text: tokens and break. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

/* ---- commands with their text, for a server that has not seen the script ---- */

typedef struct command { buffer by_digest, by_text; } command;

static void command_init(command *k, const dibs_client *c)
{
  buffer_init(&k->by_digest, &c->memory);
  buffer_init(&k->by_text, &c->memory);
}

static void command_deinit(command *k)
{
  buffer_deinit(&k->by_digest);
  buffer_deinit(&k->by_text);
}

static dibs_status command_run(dibs_client *c, question *q, command *k, bool is_made)
{
  if (!is_made) {
    *q = (question){ .status = DIBS_ERR_NO_MEMORY };
    drive_waiter_init(&q->waiter);
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  return question_run(c, q, &k->by_digest, &k->by_text);
}

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

typedef struct named_lease {
  lease_id lease;
  char name[NAME_MAX_BYTES];
  size_t name_size;
} named_lease;

static dibs_status token_check(dibs_client *c, const char *token, named_lease *ret)
{
  if (token == NULL || !token_read(token, &ret->lease, ret->name, &ret->name_size))
    return client_refuse(c, DIBS_ERR_ARGUMENT,
                         "token is not one; dibs_hold_token() writes them");
  return DIBS_OK;
}

/* The lease is gone: did anybody take the name since? */
static dibs_status gone_how(dibs_client *c, const named_lease *n)
{
  dibs_inspection *found = NULL;
  dibs_status status = inspect_name(c, n->name, n->name_size, &found);

  if (status != DIBS_OK)
    return status;
  status = found->fence / 1024 > n->lease.token ? DIBS_TAKEN : DIBS_EXPIRED;
  (void)dibs_inspection_free(found);
  return status;
}

/* What the server's clock says, or 0 where this machine's says something else: then the
 * deadline of a renewed lease is in doubt (protocol.md 4, "over"). */
static dibs_status agreed_time(dibs_client *c, int64_t *ret_us)
{
  static const resp_argument words[] = { { "TIME", 4 } };
  uint64_t seconds, micros;
  const resp_node *parts[2];
  question q;
  buffer time;
  dibs_status status;

  *ret_us = 0;
  buffer_init(&time, &c->memory);
  if (!resp_command(&time, words, 1))
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  status = question_run(c, &q, &time, NULL);
  if (status == DIBS_OK) {
    for (size_t i = 0; i < 2; i++)
      parts[i] = resp_child(q.reply, resp_root(q.reply), i);
    if (parts[0] != NULL && parts[1] != NULL &&
        text_to_uint(parts[0]->bytes, parts[0]->size, &seconds) &&
        text_to_uint(parts[1]->bytes, parts[1]->size, &micros))
      *ret_us = (int64_t)(seconds * 1000000 + micros);
    if (llabs(*ret_us - drive_wall_us()) > 250000)
      *ret_us = 0;
  }
  question_deinit(&q);
  buffer_deinit(&time);
  return status;
}

static dibs_status renew_ask(dibs_client *c, const named_lease *n, int32_t ttl_ms,
                             int64_t estimate_us, renew_answer *ret_answer)
{
  renew_item item = { .name = n->name, .name_size = n->name_size, .lease = &n->lease,
                      .ttl_ms = ttl_ms };
  question q;
  command k;
  dibs_status status;

  command_init(&k, c);
  status = command_run(c, &q, &k,
                       native_renew(&c->names, &k.by_digest, false, &item, 1, estimate_us) &&
                         native_renew(&c->names, &k.by_text, true, &item, 1, estimate_us));
  if (status == DIBS_OK && !native_renew_answer(q.reply, 0, ret_answer))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "an answer to renew of no known form");
  question_deinit(&q);
  command_deinit(&k);
  return status;
}

static dibs_status token_renew(dibs_client *c, const char *token, int32_t ttl_ms,
                               int64_t *ret_remaining_ms)
{
  named_lease n;
  renew_answer answer;
  int64_t estimate_us;
  dibs_status status = token_check(c, token, &n);

  if (status != DIBS_OK)
    return status;
  if (ttl_ms < 100 || ttl_ms > DIBS_MS_MAX)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ttl_ms must be 100 to 2073600000");
  status = agreed_time(c, &estimate_us);
  if (status == DIBS_OK)
    status = renew_ask(c, &n, ttl_ms, estimate_us, &answer);
  if (status != DIBS_OK)
    return status;
  if (!answer.is_ours)
    return gone_how(c, &n);
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

typedef bool lease_command(const native *n, buffer *out, bool with_text, const void *name,
                           size_t name_size, const lease_id *lease, int64_t estimate_us);

static dibs_status lease_ask(dibs_client *c, lease_command *encode, const named_lease *n)
{
  release_answer answer;
  question q;
  command k;
  int64_t us = 0;
  dibs_status status = agreed_time(c, &us);

  if (status != DIBS_OK)
    return status;
  command_init(&k, c);
  status = command_run(c, &q, &k,
                       encode(&c->names, &k.by_digest, false, n->name, n->name_size, &n->lease,
                              us) &&
                         encode(&c->names, &k.by_text, true, n->name, n->name_size, &n->lease,
                                us));
  if (status == DIBS_OK && !native_release_answer(q.reply, &answer))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "an answer to release of no known form");
  question_deinit(&q);
  command_deinit(&k);
  if (status != DIBS_OK || answer.outcome == RELEASE_DONE)
    return status;
  return answer.outcome == RELEASE_TAKEN ? DIBS_TAKEN : DIBS_EXPIRED;
}

dibs_status dibs_token_release(dibs_client *c, const char *token)
{
  named_lease n;
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  status = token_check(c, token, &n);
  if (status == DIBS_OK)
    status = lease_ask(c, native_release, &n);
  client_unpin(c);
  return status;
}

static dibs_status break_check(dibs_client *c, const char *name, const char *lease,
                               named_lease *ret)
{
  const char *fault;

  ret->name_size = name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1);
  fault = name == NULL ? "name is NULL" : native_name_fault(name, ret->name_size);
  if (fault != NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, fault);
  if (lease == NULL || !lease_id_read(lease, strnlen(lease, LEASE_TEXT_SIZE), &ret->lease))
    return client_refuse(c, DIBS_ERR_ARGUMENT,
                         "lease is not one; dibs_inspect() tells the present one");
  memcpy(ret->name, name, ret->name_size);
  return DIBS_OK;
}

dibs_status dibs_break(dibs_client *c, const char *name, const char *lease)
{
  named_lease n;
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  status = break_check(c, name, lease, &n);
  if (status == DIBS_OK)
    status = lease_ask(c, native_break, &n);
  client_unpin(c);
  return status;
}
