/* SPDX-License-Identifier: MIT */
/* api/barrier.c - parties that wait for each other.
 *
 * A call looks at the barrier first, and arrives with the generation it saw: so no copy of
 * its arrival counts in a later meeting (protocol.md 12). Both are questions of one
 * observation, the second is then asked again and again until the meeting ends. */
#include "api/wait.h"

#include <stddef.h>
#include <string.h>

#include <dibs/barrier.h>

#include "dialect/native_barrier.h"

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

static bool look_make(const dibs_client *c, script_command *k, const void *name, size_t size)
{
  return native_barrier_look(&c->names, &k->by_digest, false, name, size) &&
         native_barrier_look(&c->names, &k->by_text, true, name, size);
}

/* ---- what the server says ---- */

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
  w->status = client_fault(w->client, status, words);
  return true;
}

static void other_parties(const meeting *m, uint32_t parties, char *words, size_t size)
{
  text why = text_over(words, size);

  text_add(&why, "parties is ");
  text_add_uint(&why, m->call.parties);
  text_add(&why, "; the barrier in use has ");
  text_add_uint(&why, parties);
}

/* The generation is known: from now on the question is whether all are there. */
static bool arrive(meeting *m)
{
  dibs_client *c = m->wait.client;
  script_command k;
  bool is_asked;

  script_command_init(&k, c);
  is_asked = native_barrier_arrive(&c->names, &k.by_digest, false, &m->call) &&
             native_barrier_arrive(&c->names, &k.by_text, true, &m->call) &&
             engine_observe_ask(drive_engine(c->drive), m->wait.id, &k.by_digest, &k.by_text,
                                drive_now());
  script_command_deinit(&k);
  return is_asked ? false : over(&m->wait, DIBS_ERR_NO_MEMORY, "");
}

static bool looked(meeting *m, const resp_reply *reply)
{
  barrier_look l;

  if (!native_barrier_look_answer(reply, &l))
    return over(&m->wait, DIBS_ERR_PROTOCOL, "an answer to barrier_look of no known form");
  m->call.generation = l.generation;
  m->has_looked = true;
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
    return over(w, DIBS_ERR_PROTOCOL, "an answer to barrier_arrive of no known form");
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
  case BARRIER_NOBODY:
    break;
  }
  return over(w, DIBS_UNKNOWN, "so many meetings went by that nobody knows of this call");
}

/* ---- giving up ---- */

static bool meeting_leave(wait *w, buffer *by_digest, buffer *by_text)
{
  const meeting *m = meeting_of(w);
  const native *names = &w->client->names;

  return m->has_looked && native_barrier_leave(names, by_digest, false, &m->call) &&
         native_barrier_leave(names, by_text, true, &m->call);
}

/* The meeting may have ended before; or nobody knows that we have gone. */
static void meeting_left(wait *w, const resp_reply *reply)
{
  meeting *m = meeting_of(w);
  barrier_answer a;

  if (reply == NULL || !native_barrier_leave_answer(reply, &a)) {
    w->status = client_fault(w->client, DIBS_UNKNOWN,
                             "the server did not hear that this party gives up: for 9 s the "
                             "others may still go on with it");
    return;
  }
  if (a.outcome != BARRIER_PASSED && a.outcome != BARRIER_BROKEN)
    return;
  info_set(m, &a);
  w->status = a.outcome == BARRIER_PASSED ? DIBS_OK : DIBS_BROKEN;
}

static bool has_info(const meeting *m)
{
  return m->wait.status == DIBS_OK || m->wait.status == DIBS_BROKEN;
}

static void meeting_tell(wait *w)
{
  const meeting *m = meeting_of(w);

  m->callback(w->status, has_info(m) ? &m->info : NULL, m->data);
}

static const wait_kind meeting_kind = { .look = meeting_look, .leave = meeting_leave,
                                        .left = meeting_left, .tell = meeting_tell };

/* ---- calls ---- */

/* NULL: memory. */
static meeting *meeting_new(dibs_client *c, const char *name, uint32_t parties)
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
  script_command command;
  char channel[BARRIER_CHANNEL_SIZE];
  wait_question question;
} first_question;

static bool first_make(first_question *f, const meeting *m)
{
  const dibs_client *c = m->wait.client;
  text channel = text_over(f->channel, sizeof(f->channel));

  script_command_init(&f->command, c);
  native_barrier_channel(&c->names, m->call.name, m->call.name_size, &channel);
  f->question = (wait_question){ .channel = f->channel, .channel_size = channel.used,
                                 .by_digest = &f->command.by_digest,
                                 .by_text = &f->command.by_text,
                                 .every = span_ms(BARRIER_EVERY_MS) };
  return look_make(c, &f->command, m->call.name, m->call.name_size);
}

static dibs_status await_check(dibs_client *c, const char *name, uint32_t parties,
                               const dibs_wait_options *options, bool is_blocking,
                               wait_plan *ret_plan)
{
  dibs_status status = wait_check(c, name, options, is_blocking, ret_plan);

  if (status == DIBS_OK && (parties < 1 || parties > PARTIES_MAX))
    status = client_refuse(c, DIBS_ERR_ARGUMENT, "parties is not 1 to 10000");
  return status;
}

static dibs_status info_check(dibs_client *c, const dibs_barrier_info *info)
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

dibs_status dibs_barrier_await(dibs_client *c, const char *name, uint32_t parties,
                               const dibs_wait_options *options, dibs_barrier_info *ret_info)
{
  first_question f;
  wait_plan plan;
  dibs_status status = await_check(c, name, parties, options, true, &plan);
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
  script_command_deinit(&f.command);
  (void)wait_free(&m->wait);
  return status;
}

dibs_status dibs_barrier_await_async(dibs_client *c, const char *name, uint32_t parties,
                                     const dibs_wait_options *options,
                                     dibs_barrier_callback callback, void *data,
                                     dibs_request **ret_request)
{
  first_question f;
  wait_plan plan;
  dibs_status status = await_check(c, name, parties, options, false, &plan);
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
  script_command_deinit(&f.command);
  return status;
}

/* ---- without waiting for others ---- */

static dibs_status look_ask(dibs_client *c, const char *name, barrier_look *ret_look)
{
  script_command k;
  question q;
  dibs_status status;

  script_command_init(&k, c);
  if (!look_make(c, &k, name, strlen(name))) {
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  } else {
    status = question_read_only(question_run(c, &q, &k.by_digest, &k.by_text));
    if (status == DIBS_OK && !native_barrier_look_answer(q.reply, ret_look))
      status = client_refuse(c, DIBS_ERR_PROTOCOL,
                             "an answer to barrier_look of no known form");
    question_deinit(&q);
  }
  script_command_deinit(&k);
  return status;
}

static dibs_status reset_ask(dibs_client *c, const char *name, uint64_t generation)
{
  script_command k;
  question q;
  dibs_status status;

  script_command_init(&k, c);
  if (!native_barrier_reset(&c->names, &k.by_digest, false, name, strlen(name), generation) ||
      !native_barrier_reset(&c->names, &k.by_text, true, name, strlen(name), generation)) {
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  } else {
    status = question_run(c, &q, &k.by_digest, &k.by_text);
    if (status == DIBS_OK && !native_barrier_reset_answer(q.reply))
      status = client_refuse(c, DIBS_ERR_PROTOCOL,
                             "an answer to barrier_reset of no known form");
    question_deinit(&q);
  }
  script_command_deinit(&k);
  return status;
}

dibs_status dibs_barrier_reset(dibs_client *c, const char *name)
{
  wait_plan plan;
  barrier_look seen = { .parties = 0 };
  dibs_status status = wait_check(c, name, NULL, true, &plan);

  if (status == DIBS_OK)
    status = client_pin(c);
  if (status != DIBS_OK)
    return status;
  status = look_ask(c, name, &seen);
  if (status == DIBS_OK && (seen.arrived > 0 || seen.is_broken))
    status = reset_ask(c, name, seen.generation);
  client_unpin(c);
  return status;
}

dibs_status dibs_barrier_get(dibs_client *c, const char *name, dibs_barrier_info *ret_info)
{
  wait_plan plan;
  barrier_look seen = { .parties = 0 };
  dibs_status status = wait_check(c, name, NULL, true, &plan);

  if (status != DIBS_OK)
    return status;
  if (ret_info == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ret_info is NULL");
  status = info_check(c, ret_info);
  if (status == DIBS_OK)
    status = client_pin(c);
  if (status != DIBS_OK)
    return status;
  status = look_ask(c, name, &seen);
  client_unpin(c);
  if (status != DIBS_OK)
    return status;
  if (seen.parties == 0)
    return client_refuse(c, DIBS_ERR_NOT_SET, "nobody has used this barrier for an hour");
  info_write(&(dibs_barrier_info){ .size = sizeof(*ret_info), .generation = seen.generation,
                                   .parties = seen.parties, .arrived = seen.arrived,
                                   .is_broken = seen.is_broken }, ret_info);
  return DIBS_OK;
}
