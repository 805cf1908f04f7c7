/* SPDX-License-Identifier: MIT */
/* api/inspect.c - what the server knows of a name, with the people behind the clients. */
#include "api/api.h"

#include <stddef.h>
#include <string.h>

/* Freed without a client, so that it carries its memory along. */
typedef struct inspection_box {
  memory memory;
  dibs_inspection inspection;
} inspection_box;

static inspection_box *box_of(dibs_inspection *inspection)
{
  return (inspection_box *)(void *)((char *)inspection -
                                    offsetof(inspection_box, inspection));
}

dibs_inspection *dibs_inspection_free(dibs_inspection *inspection)
{
  inspection_box *box;
  memory m;

  if (inspection == NULL)
    return NULL;
  box = box_of(inspection);
  m = box->memory;
  mem_free(&m, inspection->waiters);
  mem_free(&m, inspection->name);
  mem_free(&m, box);
  return NULL;
}

/* ---- the lease and the queue ---- */

static dibs_status answer_ask(dibs_client *c, const void *name, size_t size,
                              inspect_answer *ret_answer)
{
  buffer by_digest, by_text;
  question q;
  dibs_status status;

  buffer_init(&by_digest, &c->memory);
  buffer_init(&by_text, &c->memory);
  if (!native_inspect(&c->names, &by_digest, false, name, size) ||
      !native_inspect(&c->names, &by_text, true, name, size)) {
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  } else {
    status = question_run(c, &q, &by_digest, &by_text);
    if (status == DIBS_OK && !native_inspect_answer(q.reply, ret_answer))
      status = client_refuse(c, DIBS_ERR_PROTOCOL, "an answer to inspect of no known form");
    question_deinit(&q);
  }
  buffer_deinit(&by_digest);
  buffer_deinit(&by_text);
  return question_read_only(status);
}

static void party_name(dibs_party *p, const char *client, int64_t since_us, int64_t now_us)
{
  text shown = text_over(p->client, sizeof(p->client));

  p->size = sizeof(*p);
  text_add(&shown, client);
  p->waited_ms = now_us > since_us ? (now_us - since_us) / 1000 : 0;
}

static void lease_show(dibs_inspection *in, const inspect_answer *a)
{
  text lease = text_over(in->lease, sizeof(in->lease));

  in->is_held = a->is_held;
  in->fence = a->lease.token * 1024;
  in->holder.size = sizeof(in->holder);
  if (!a->is_held)
    return;
  in->remaining_ms = a->remaining_ms;
  in->lease_ms = a->lease_ms;
  in->renewals = a->renewals;
  in->since_unix_us = (int64_t)a->lease.token;    /* tokens are times of grants */
  lease_id_write(&a->lease, &lease);
  party_name(&in->holder, a->lease.client, in->since_unix_us, a->server_us);
}

static inspection_box *box_new(const memory *m, const void *name, size_t size,
                               const inspect_answer *a)
{
  inspection_box *box = mem_zalloc(m, sizeof(*box));
  dibs_inspection *in;

  if (box == NULL)
    return NULL;
  box->memory = *m;
  in = &box->inspection;
  in->size = sizeof(*in);
  in->name = mem_copy(m, name, size);
  in->name_size = size;
  lease_show(in, a);
  in->waiter_count = a->waiter_count;
  in->party_count = a->shown;
  if (a->shown > 0)
    in->waiters = mem_zalloc(m, a->shown * sizeof(*in->waiters));
  if (in->name == NULL || (a->shown > 0 && in->waiters == NULL)) {
    in->party_count = 0;
    (void)dibs_inspection_free(in);
    return NULL;
  }
  for (size_t i = 0; i < a->shown; i++)
    party_name(&in->waiters[i], a->waiters[i].client, a->waiters[i].queued_us, a->server_us);
  return box;
}

/* ---- the people: the hash <p>:client:C, as far as there is one ---- */

static bool is_field(const resp_node *n, const char *words, size_t size)
{
  return n->kind == RESP_STRING && n->size == size && memcmp(n->bytes, words, size) == 0;
}

static void field_copy(char *to, size_t size, const resp_node *value)
{
  text shown = text_over(to, size);

  if (value->kind == RESP_STRING)
    text_add_bytes(&shown, value->bytes, value->size);
}

static void party_field(dibs_party *p, const resp_node *field, const resp_node *value)
{
  uint64_t pid;

  if (is_field(field, "host", 4))
    field_copy(p->host, sizeof(p->host), value);
  else if (is_field(field, "program", 7))
    field_copy(p->program, sizeof(p->program), value);
  else if (is_field(field, "version", 7))
    field_copy(p->version, sizeof(p->version), value);
  else if (is_field(field, "note", 4) && p->note[0] == 0)
    field_copy(p->note, sizeof(p->note), value);
  else if (is_field(field, "pid", 3) && value->kind == RESP_STRING &&
           text_to_uint(value->bytes, value->size, &pid) && pid <= INT64_MAX)
    p->pid = (int64_t)pid;
}

/* `note_field`: the note given with this very name, which says more than the client's. */
static void party_read(dibs_party *p, const resp_reply *reply, const text *note_field)
{
  const resp_node *root = resp_root(reply);

  for (size_t i = 0;; i += 2) {
    const resp_node *field = resp_child(reply, root, i);
    const resp_node *value = resp_child(reply, root, i + 1);

    if (field == NULL || value == NULL)
      return;
    if (is_field(field, note_field->at, note_field->used))
      field_copy(p->note, sizeof(p->note), value);
    else
      party_field(p, field, value);
  }
}

static void party_ask(dibs_client *c, question *q, const dibs_party *p, instant until)
{
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));
  resp_argument words[] = { RESP_TEXT("HGETALL"), { bytes, 0 } };
  buffer command;

  native_client_key(&c->names, p->client, &key);
  words[1].size = key.used;
  buffer_init(&command, &c->memory);
  (void)resp_command(&command, words, 2);      /* question_ask() refuses an empty one */
  question_ask(c, q, &command, NULL, until);
  buffer_deinit(&command);
}

static dibs_party *party_at(dibs_inspection *in, size_t i)
{
  return i == 0 ? &in->holder : &in->waiters[i - 1];
}

/* All questions at once, then all answers. Missing ones leave blanks, they are no fault. */
static void people_ask(dibs_client *c, dibs_inspection *in, question *qs, const text *note)
{
  size_t first = in->is_held ? 0 : 1, count = in->party_count + 1;
  instant until = client_give_up_at(c);

  if (first == count || client_enter(c, true) != DIBS_OK)
    return;
  for (size_t i = first; i < count; i++)
    party_ask(c, &qs[i], party_at(in, i), until);
  for (size_t i = first; i < count; i++)
    (void)question_wait(c, &qs[i]);
  client_leave(c);
  for (size_t i = first; i < count; i++) {
    if (qs[i].reply != NULL)
      party_read(party_at(in, i), qs[i].reply, note);
    question_deinit(&qs[i]);
  }
}

static void people_add(dibs_client *c, dibs_inspection *in)
{
  char bytes[NAME_MAX_BYTES + 3];
  text note = text_over(bytes, sizeof(bytes));
  question *qs = mem_zalloc(&c->memory, (in->party_count + 1) * sizeof(*qs));

  if (qs == NULL)
    return;
  text_add(&note, "n:");
  text_add_bytes(&note, in->name, in->name_size);
  people_ask(c, in, qs, &note);
  mem_free(&c->memory, qs);
}

/* ---- all ---- */

dibs_status inspect_name(dibs_client *c, const void *name, size_t size,
                         dibs_inspection **ret_inspection)
{
  inspect_answer *answer = mem_alloc(&c->memory, sizeof(*answer));
  inspection_box *box = NULL;
  dibs_status status;

  if (answer == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  status = answer_ask(c, name, size, answer);
  if (status == DIBS_OK) {
    box = box_new(&c->memory, name, size, answer);
    if (box == NULL)
      status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  mem_free(&c->memory, answer);
  if (box == NULL)
    return status;
  people_add(c, &box->inspection);
  *ret_inspection = &box->inspection;
  return DIBS_OK;
}

dibs_status dibs_inspect_bytes(dibs_client *c, const void *name, size_t name_size,
                               dibs_inspection **ret_inspection)
{
  dibs_status status = client_pin(c);
  const char *fault;

  if (status != DIBS_OK)
    return status;
  fault = name == NULL ? "name is NULL" : native_name_fault(name, name_size);
  if (fault == NULL && ret_inspection == NULL)
    fault = "ret_inspection is NULL";
  status = fault != NULL ? client_refuse(c, DIBS_ERR_ARGUMENT, fault)
                         : inspect_name(c, name, name_size, ret_inspection);
  client_unpin(c);
  return status;
}

dibs_status dibs_inspect(dibs_client *c, const char *name, dibs_inspection **ret_inspection)
{
  return dibs_inspect_bytes(c, name, name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1),
                            ret_inspection);
}
