/* SPDX-License-Identifier: MIT */
/* api/people.c - see people.h. Presence is what each client told of itself, under `n:<name>`
 * what it told of this very name, and under `owners` who of it holds and waits. */
#include "api/people.h"

#include <string.h>

#include "dialect/native_owners.h"

#define FIELD_SIZE (NAME_MAX_BYTES + 3)

/* One holder or waiter, and the ask it does so by. */
typedef struct person {
  dibs_party *party;
  uint64_t ask;
  bool holds;
  question question;
} person;

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

/* The owner of that client whose ask this is, where it tells. */
static void owner_read(const person *one, const fields *f, const resp_node *value)
{
  owners_reader r = owners_read(value->bytes, value->size);
  text shown = text_over(one->party->owner, sizeof(one->party->owner));
  owner_entry e;

  while (owners_next(&r, &e))
    if (e.ask == one->ask && e.kind == (one->holds ? 'h' : 'w') &&
        e.name_size == f->name_size && memcmp(e.name, f->name, e.name_size) == 0) {
      text_add(&shown, e.owner);
      return;
    }
}

/* The note given with this very name says more than the client's. */
static void person_read(person *one, const fields *f)
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
    else if (is_field(field, OWNERS_FIELD, sizeof(OWNERS_FIELD) - 1) &&
             value->kind == RESP_STRING)
      owner_read(one, f, value);
    else
      party_field(one->party, field, value);
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

/* All questions at once, then all answers. */
static void people_ask(dibs_client *c, person *people, size_t count, const fields *f)
{
  instant until = client_give_up_at(c);

  if (client_enter(c, true) != DIBS_OK)
    return;
  for (size_t i = 0; i < count; i++)
    party_ask(c, &people[i].question, people[i].party, until);
  for (size_t i = 0; i < count; i++)
    (void)question_wait(c, &people[i].question);
  client_leave(c);
  for (size_t i = 0; i < count; i++) {
    if (people[i].question.reply != NULL)
      person_read(&people[i], f);
    question_deinit(&people[i].question);
  }
}

static void fields_name(fields *f, const dibs_inspection *in)
{
  f->note = text_over(f->note_bytes, sizeof(f->note_bytes));
  f->name = in->name;
  f->name_size = in->name_size;
  text_add(&f->note, "n:");
  text_add_bytes(&f->note, in->name, in->name_size);
}

void people_add(dibs_client *c, dibs_inspection *in, const inspect_answer *a)
{
  size_t count = in->shown_holders + in->party_count;
  person *people = count > 0 ? mem_zalloc(&c->memory, count * sizeof(*people)) : NULL;
  fields f;

  if (people == NULL)
    return;
  for (size_t i = 0; i < count; i++) {
    bool holds = i < in->shown_holders;
    size_t at = holds ? i : i - in->shown_holders;

    people[i].party = holds ? &in->holders[at].party : &in->waiters[at];
    people[i].holds = holds;
    people[i].ask = holds ? a->holders[at].lease.ask : a->waiters[at].ask;
  }
  fields_name(&f, in);
  people_ask(c, people, count, &f);
  mem_free(&c->memory, people);
}
