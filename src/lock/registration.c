/* SPDX-License-Identifier: MIT */
/* lock/registration.c - what the leases write into the registration of their client: notes of holds
 * and the wait report. Both are for people, and wait until all other commands are sent. */
#include "lock/table.h"

#include <string.h>

#define NOTES_DUE_MAX 1024

/* Without memory, or with too many before it, it is not shown, or for too long. */
void note_is_due(const lease *l)
{
  buffer *due = &l->table->notes_due;

  if (buffer_size(due) >= NOTES_DUE_MAX * sizeof(l->id))
    buffer_consume(due, sizeof(l->id));
  (void)buffer_append(due, &l->id, sizeof(l->id));
}

static bool has_note(const lease *l)
{
  const claim_terms *holder = hold_spec_of(&l->claims);

  return l->state == LEASE_HELD && holder != NULL && holder->note != NULL;
}

/* NULL: none. */
static lease *take_noted(lock_table *t)
{
  uint64_t id;
  lease *l;

  while (buffer_size(&t->notes_due) > 0) {
    memcpy(&id, buffer_bytes(&t->notes_due), sizeof(id));
    buffer_consume(&t->notes_due, sizeof(id));
    l = call_name(t, id);
    if (l != NULL && (has_note(l) || l->note_is_set))
      return l;
  }
  return NULL;
}

/* `note` NULL: it is removed. */
static void put_note(request *out, const many_name *name, const char *note)
{
  char field[NAME_MAX_BYTES + 3];
  text f = text_over(field, sizeof(field));

  text_add(&f, "n:");
  text_add_bytes(&f, name->name, name->size);
  request_put(out, field, f.used);
  if (note != NULL)
    request_put(out, note, strlen(note));
}

/* Notes are for people: HSET or HDEL of one field of the client registration for each name of the
 * lease, not repeated. */
static bool next_note(route *r, request *out, uint64_t *ret_tag)
{
  lock_table *t = r->table;
  lease *l = take_noted(t);
  const char *note;
  char key[KEY_TEXT_SIZE];
  text k = text_over(key, sizeof(key));
  many_name name;
  call *c;

  if (l == NULL || (c = call_new(r, CALL_NOTE, 0)) == NULL)
    return false;
  note = has_note(l) ? hold_spec_of(&l->claims)->note : NULL;
  native_client_key(&t->protocol, t->protocol.client, &k);
  request_begin(out, NULL);
  request_put(out, note != NULL ? "HSET" : "HDEL", 4);
  request_put(out, key, k.used);
  for (size_t i = 0; lease_next_name(l, i, &name); i++)
    put_note(out, &name, note);
  if (out->is_incomplete) {
    call_free(t, c);
    return false;
  }
  l->note_is_set = note != NULL;
  *ret_tag = c->id;
  return true;
}

/* The wait report: for people, and for deadlock search, which repeats its request. */
static bool next_owners(route *r, request *out, uint64_t *ret_tag, instant now)
{
  lock_table *t = r->table;
  call *c;

  if (!t->settings.reports_waits || (c = call_new(r, CALL_NOTE, 0)) == NULL)
    return false;
  if (!wait_report_command(t, out, now)) {
    call_free(t, c);
    return false;
  }
  *ret_tag = c->id;
  return true;
}

/* Notes and wait reports are in one key, and so on one route. */
static bool has_client_key(const route *r)
{
  const lock_table *t = r->table;
  char key[KEY_TEXT_SIZE];
  text k = text_over(key, sizeof(key));

  if (t->settings.slots == NULL)
    return true;
  if (buffer_size(&t->notes_due) == 0 && !t->settings.reports_waits)
    return false;
  native_client_key(&t->protocol, t->protocol.client, &k);
  return route_of_key(t, key, k.used) == r;
}

bool registration_next(route *r, request *out, uint64_t *ret_tag, instant now)
{
  if (!has_client_key(r))
    return false;
  return next_note(r, out, ret_tag) || next_owners(r, out, ret_tag, now);
}
