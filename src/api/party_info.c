/* SPDX-License-Identifier: MIT */
/* api/party_info.c - see party_info.h. The client registration holds what a client registered of
 * itself, under `n:<name>` what it registered for this name, and under `owners` its holds
 * and waits. */
#include "api/party_info.h"

#include <string.h>

#include "api/question.h"
#include "dialect/native/wait_report.h"

#define FIELD_SIZE (NAME_MAX_BYTES + 3)

/* One holder or waiter, and its ask. */
typedef struct party_row {
  dibs_party *party;
  uint64_t ask;
  bool holds, is_asked;
  question question;
} party_row;

typedef struct fields {
  const void *name; size_t name_size;
  char note_bytes[FIELD_SIZE];
  text note;
} fields;

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

/* The owner of this ask, if its client registered one. */
static void owner_read(const party_row *one, const fields *f, const resp_node *value)
{
  wait_report_reader r = wait_report_read(value->bytes, value->size);
  text shown = text_over(one->party->owner, sizeof(one->party->owner));
  owner_entry e;

  while (wait_report_next(&r, &e))
    if (e.ask == one->ask && e.kind == (one->holds ? 'h' : 'w') &&
        e.name_size == f->name_size && memcmp(e.name, f->name, e.name_size) == 0) {
      text_add(&shown, e.owner);
      return;
    }
}

/* The note given for this name is more specific than the client's. */
static void party_row_read(party_row *one, const fields *f)
{
  const resp_reply *reply = one->question.reply;
  const resp_node *root = resp_root(reply);

  for (size_t i = 0;; i += 2) {
    const resp_node *field = resp_child(reply, root, i);
    const resp_node *value = resp_child(reply, root, i + 1);

    if (field == NULL || value == NULL)
      return;
    if (is_field(field, f->note.at, f->note.used))
      field_copy(one->party->note, sizeof(one->party->note), value);
    else if (is_field(field, WAIT_REPORT_FIELD, sizeof(WAIT_REPORT_FIELD) - 1) &&
             value->kind == RESP_STRING)
      owner_read(one, f, value);
    else
      party_field(one->party, field, value);
  }
}

/* Where no node of a Cluster serves the slot of its registration, an ask would wait for one, and
 * take the time that is left for other names. */
static bool is_unserved(client_record *c, const text *key)
{
  return c->servers.kind == DEPLOYMENT_CLUSTER &&
         engine_route_of_key(drive_engine(c->drive), key->at, key->used) == SIZE_MAX;
}

/* false: it is not asked. */
static bool party_ask(client_record *c, question *q, const dibs_party *p, instant until)
{
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));
  resp_argument words[] = { RESP_TEXT("HGETALL"), { bytes, 0 } };
  request command;

  native_client_key(&c->names, p->client, &key);
  if (is_unserved(c, &key))
    return false;
  words[1].size = key.used;
  request_init(&command, &c->memory);
  (void)request_command(&command, words, 2);      /* question_ask() refuses an incomplete one */
  question_ask(c, q, &command, until);
  request_deinit(&command);
  return true;
}

/* Sends all requests, then reads all replies. */
static void party_info_ask(client_record *c, party_row *parties, size_t count, const fields *f,
                           instant until)
{
  if (client_enter(c, true) != DIBS_OK)
    return;
  for (size_t i = 0; i < count; i++)
    parties[i].is_asked = party_ask(c, &parties[i].question, parties[i].party, until);
  for (size_t i = 0; i < count; i++)
    if (parties[i].is_asked)
      (void)question_wait(c, &parties[i].question);
  client_leave(c);
  for (size_t i = 0; i < count; i++) {
    if (parties[i].question.reply != NULL)
      party_row_read(&parties[i], f);
    question_deinit(&parties[i].question);
  }
}

static void fields_name(const client_record *c, fields *f, const dibs_inspection *in)
{
  f->note = text_over(f->note_bytes, sizeof(f->note_bytes));
  f->name = in->name;
  f->name_size = in->name_size;
  dialect_spell(&c->names, &f->name, &f->name_size);
  text_add(&f->note, "n:");
  text_add_bytes(&f->note, f->name, f->name_size);
}

void party_info_add(client_record *c, const dibs_inspection *in, dibs_party *parties,
                    const inspect_answer *a, instant until)
{
  size_t count = in->shown_holders + in->party_count;
  party_row *rows = count > 0 ? mem_zalloc(&c->memory, count * sizeof(*rows)) : NULL;
  fields f;

  if (rows == NULL)
    return;
  for (size_t i = 0; i < count; i++) {
    bool holds = i < in->shown_holders;
    size_t at = holds ? i : i - in->shown_holders;

    rows[i].party = &parties[i];
    rows[i].holds = holds;
    rows[i].ask = holds ? a->holders[at].lease.ask : a->waiters[at].ask;
  }
  fields_name(c, &f, in);
  party_info_ask(c, rows, count, &f, until);
  mem_free(&c->memory, rows);
}
