/* SPDX-License-Identifier: MIT */
/* api/barrier.c - barriers: rounds in which parties wait for each other.
 *
 * A call reads the barrier first, and arrives with the generation it read: so no copy of
 * its arrival counts in a later round (protocol.md 12). Both are requests of one sync
 * operation; the second is repeated until the round ends. */
#include "api/call.h"

#include <stddef.h>
#include <string.h>

#include <dibs/barrier.h>

#include "sync/barrier.h"

#define PARTIES_MAX 10000

typedef struct meeting {
  wait wait;
  dibs_barrier_callback callback;
  void *data;
  barrier_call call;
  bool has_looked;
  dibs_barrier_info info;
  char name[NAME_MAX_BYTES];
} meeting;

static meeting *meeting_of(wait *w)
{
  return (meeting *)(void *)w;
}

/* ---- commands ---- */

static bool look_make(const client_record *c, request *k, const void *name, size_t size)
{
  return native_barrier_look(&c->names, k, name, size);
}

/* ---- replies ---- */

static void info_set(meeting *m, const barrier_answer *a)
{
  bool has_passed = a->outcome == BARRIER_PASSED;

  m->info = (dibs_barrier_info){ .size = sizeof(m->info), .generation = a->generation,
                                 .parties = m->call.parties, .index = a->place,
                                 .arrived = has_passed ? m->call.parties : a->arrived,
                                 .is_broken = !has_passed };
}

static bool over(wait *w, dibs_status status, const char *words)
{
  return wait_over(w, status, words);
}

static void other_parties(const meeting *m, uint32_t parties, char *words, size_t size)
{
  text why = text_over(words, size);

  text_add(&why, "parties is ");
  text_add_uint(&why, m->call.parties);
  text_add(&why, "; the barrier in use has ");
  text_add_uint(&why, parties);
}

/* The generation is known: the next requests ask whether all parties have arrived. */
static bool arrive(meeting *m)
{
  client_record *c = m->wait.client;
  request k;
  bool is_asked;

  request_init(&k, &c->memory);
  is_asked = native_barrier_arrive(&c->names, &k, &m->call) &&
             engine_observe_ask(drive_engine(c->drive), m->wait.id, &k, drive_now());
  request_deinit(&k);
  return is_asked ? false : over(&m->wait, DIBS_ERR_NO_MEMORY, "");
}

static bool looked(meeting *m, const resp_reply *reply)
{
  barrier_look l;

  if (!native_barrier_look_answer(reply, &l))
    return over(&m->wait, DIBS_ERR_PROTOCOL, "unexpected reply to the script barrier_look");
  m->call.generation = l.generation;
  m->has_looked = m->wait.asks_again = true;
  return arrive(m);
}

static bool meeting_look(wait *w, const resp_reply *reply)
{
  meeting *m = meeting_of(w);
  barrier_answer a;
  char words[96];

  if (!m->has_looked)
    return looked(m, reply);
  if (!native_barrier_arrive_answer(reply, &a))
    return over(w, DIBS_ERR_PROTOCOL, "unexpected reply to the script barrier_arrive");
  switch (a.outcome) {
  case BARRIER_WAITING:
    wait_look_at(w, instant_add(drive_now(), span_ms(a.look_ms)));
    return false;
  case BARRIER_PASSED:
    info_set(m, &a);
    return over(w, DIBS_OK, "");
  case BARRIER_BROKEN:
    info_set(m, &a);
    return over(w, DIBS_BROKEN, "");
  case BARRIER_OTHER:
    other_parties(m, a.arrived, words, sizeof(words));
    return over(w, DIBS_ERR_ARGUMENT, words);
  case BARRIER_LATE:
  case BARRIER_NONE:
    break;
  }
  return over(w, DIBS_UNKNOWN, "too many rounds have ended since: the server no longer has the "
                               "record of this call");
}

/* ---- giving up ---- */

static bool meeting_leave(wait *w, request *out)
{
  const meeting *m = meeting_of(w);
  const protocol *names = &w->client->names;

  return m->has_looked && native_barrier_leave(names, out, &m->call);
}

/* The round may have ended before; or the server did not confirm that this party left. */
static void meeting_left(wait *w, const resp_reply *reply)
{
  meeting *m = meeting_of(w);
  barrier_answer a;

  if (reply == NULL || !native_barrier_leave_answer(reply, &a)) {
    (void)wait_over(w, DIBS_UNKNOWN,
                             "the server has not confirmed that this party leaves: for 9 s the "
                             "other parties may still be released with it");
    return;
  }
  if (a.outcome != BARRIER_PASSED && a.outcome != BARRIER_BROKEN) {
    if (w->end.status < 0)               /* the limit expired before this reply, which decides */
      (void)wait_over(w, DIBS_TIMED_OUT, "");
    return;
  }
  info_set(m, &a);
  (void)wait_over(w, a.outcome == BARRIER_PASSED ? DIBS_OK : DIBS_BROKEN, "");
}

static bool has_info(const meeting *m)
{
  return m->wait.end.status == DIBS_OK || m->wait.end.status == DIBS_BROKEN;
}

static void meeting_report(wait *w, const dibs_error *error)
{
  const meeting *m = meeting_of(w);

  m->callback(error, has_info(m) ? &m->info : NULL, m->data);
}

static const wait_kind meeting_kind = { .look = meeting_look, .leave = meeting_leave,
                                        .left = meeting_left, .report = meeting_report };

/* ---- calls ---- */

/* NULL: no memory. */
static meeting *meeting_new(client_record *c, const char *name, uint32_t parties)
{
  meeting *m = (meeting *)(void *)wait_new(c, &meeting_kind, sizeof(*m));

  if (m == NULL)
    return NULL;
  m->call = (barrier_call){ .name = m->name, .name_size = strlen(name), .parties = parties,
                            .silence_ms = BARRIER_SILENCE_MS };
  memcpy(m->name, name, m->call.name_size);
  drive_lock(c->drive);
  m->call.party = ++c->parties;
  drive_unlock(c->drive);
  return m;
}

typedef struct first_question {
  request command;
  char channel[BARRIER_CHANNEL_SIZE];
  wait_question question;
} first_question;

static bool first_make(first_question *f, const meeting *m)
{
  const client_record *c = m->wait.client;
  text channel = text_over(f->channel, sizeof(f->channel));

  request_init(&f->command, &c->memory);
  native_barrier_channel(&c->names, m->call.name, m->call.name_size, &channel);
  f->question = (wait_question){ .channel = f->channel, .channel_size = channel.used,
                                 .command = &f->command,
                                 .every = span_ms(BARRIER_EVERY_MS) };
  return look_make(c, &f->command, m->call.name, m->call.name_size);
}

static dibs_status await_check(client_record *c, const char *name, uint32_t parties,
                               const dibs_wait_options *options, wait_plan *ret_plan)
{
  dibs_status status = wait_check(c, name, options, ret_plan);

  if (status == DIBS_OK && (parties < 1 || parties > PARTIES_MAX))
    status = client_refuse(c, DIBS_ERR_ARGUMENT, "parties is not 1 to 10000");
  return status;
}

static dibs_status info_check(client_record *c, const dibs_barrier_info *info)
{
  if (info == NULL || info->size >= sizeof(size_t))
    return DIBS_OK;
  return client_refuse(c, DIBS_ERR_ARGUMENT,
                       "dibs_barrier_info.size must be set to sizeof(dibs_barrier_info) before");
}

static void info_write(const dibs_barrier_info *info, dibs_barrier_info *ret_info)
{
  size_t size = ret_info->size;

  /* Fields that a newer program knows and this library does not are zero. */
  memset(ret_info, 0, size);
  memcpy(ret_info, info, size < sizeof(*info) ? size : sizeof(*info));
  ret_info->size = size;
}

static dibs_status await_blocking(client_record *c, const char *name, uint32_t parties,
                                  const dibs_wait_options *options, dibs_barrier_info *ret_info)
{
  first_question f;
  wait_plan plan;
  dibs_status status = await_check(c, name, parties, options, &plan);
  meeting *m;

  if (status == DIBS_OK)
    status = info_check(c, ret_info);
  if (status != DIBS_OK)
    return status;
  m = meeting_new(c, name, parties);
  if (m == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  status = first_make(&f, m) ? wait_blocking(&m->wait, &plan, &f.question)
                             : client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  if (ret_info != NULL && (status == DIBS_OK || status == DIBS_BROKEN))
    info_write(&m->info, ret_info);
  request_deinit(&f.command);
  (void)wait_free(&m->wait);
  return status;
}

dibs_status dibs_barrier_await(dibs_client *client, const char *name, uint32_t parties,
                               const dibs_wait_options *options, dibs_barrier_info *ret_info)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, await_blocking(c, name, parties, options, ret_info));
}

static dibs_status await_async(client_record *c, const char *name, uint32_t parties,
                               const dibs_wait_options *options,
                               dibs_barrier_callback callback, void *data,
                               dibs_request **ret_request)
{
  first_question f;
  wait_plan plan;
  dibs_status status = await_check(c, name, parties, options, &plan);
  meeting *m;

  if (status != DIBS_OK)
    return status;
  if (callback == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "callback is NULL");
  m = meeting_new(c, name, parties);
  if (m == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  m->callback = callback;
  m->data = data;
  if (first_make(&f, m)) {
    status = wait_async(&m->wait, &plan, &f.question, ret_request);
  } else {
    (void)wait_free(&m->wait);
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  request_deinit(&f.command);
  return status;
}

dibs_status dibs_barrier_await_async(dibs_client *client, const char *name, uint32_t parties,
                                     const dibs_wait_options *options,
                                     dibs_barrier_callback callback, void *data,
                                     dibs_request **ret_request)
{
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, await_async(c, name, parties, options, callback, data, ret_request));
}

/* ---- without waiting for others ---- */

static barrier_op op_of(const sync_row *row, const char *name)
{
  return (barrier_op){ .op.row = row, .name = name, .name_size = strlen(name) };
}

dibs_status dibs_barrier_reset(dibs_client *client, const char *name)
{
  wait_plan plan;
  barrier_op b;
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = wait_check(c, name, NULL, &plan);
  if (status != DIBS_OK)
    return client_end(c, status);
  b = op_of(&barrier_look_row, name);
  plan = (wait_plan){ .until = client_give_up_at(c) };
  status = call_blocking(c, &b.op, &plan);
  b.op.row = &barrier_reset_row;
  if (status == DIBS_OK && (b.seen.arrived > 0 || b.seen.is_broken))
    status = call_blocking(c, &b.op, &plan);
  return client_end(c, status);
}

static dibs_status barrier_get(client_record *c, const char *name, dibs_barrier_info *ret_info)
{
  wait_plan plan;
  barrier_op b;
  dibs_status status = wait_check(c, name, NULL, &plan);

  if (status != DIBS_OK)
    return status;
  if (ret_info == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ret_info is NULL");
  status = info_check(c, ret_info);
  if (status != DIBS_OK)
    return status;
  b = op_of(&barrier_look_row, name);
  status = call_blocking(c, &b.op, NULL);
  if (status != DIBS_OK)
    return status;
  if (b.seen.parties == 0)
    return client_refuse(c, DIBS_ERR_NOT_SET, "this barrier has not been used for an hour");
  info_write(&(dibs_barrier_info){ .size = sizeof(*ret_info), .generation = b.seen.generation,
                                   .parties = b.seen.parties, .arrived = b.seen.arrived,
                                   .is_broken = b.seen.is_broken }, ret_info);
  return DIBS_OK;
}

dibs_status dibs_barrier_get(dibs_client *client, const char *name, dibs_barrier_info *ret_info)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  return status == DIBS_OK ? client_end(c, barrier_get(c, name, ret_info)) : status;
}
