/* SPDX-License-Identifier: MIT */
/* api/writing.c - see writing.h. The list is short: calls that run now, and a few sums. */
#include "api/writing.h"

#include <string.h>

static void writing_remove(client_record *c, writing *w)
{
  writing **place = &c->first_writing;

  while (*place != w)
    place = &(*place)->next;
  *place = w->next;
  mem_free(&c->memory, w);
}

static void forget_old(client_record *c)
{
  writing *next;

  for (writing *w = c->first_writing; w != NULL; w = next) {
    next = w->next;
    if (!w->is_running && w->number + WRITING_MEMORY < c->writings)
      writing_remove(c, w);
  }
}

static bool is_on(const writing *w, const guard_call *call)
{
  return w->key_size == call->key_size && memcmp(w->key, call->key, w->key_size) == 0;
}

/* A sum with the same arguments that no call waits for. */
static writing *find_unsettled(client_record *c, const guard_call *call, int64_t by)
{
  for (writing *w = c->first_writing; w != NULL; w = w->next)
    if (w->is_sum && !w->is_running && w->fence == call->fence && w->by == by &&
        is_on(w, call))
      return w;
  return NULL;
}

static writing *writing_new(client_record *c, const guard_call *call, const int64_t *by)
{
  writing *w = mem_zalloc(&c->memory, sizeof(*w) + call->key_size);

  if (w == NULL)
    return NULL;
  w->number = ++c->writings;
  w->fence = call->fence;
  w->is_sum = by != NULL;
  w->by = by != NULL ? *by : 0;
  w->key_size = call->key_size;
  memcpy(w->key, call->key, call->key_size);
  w->next = c->first_writing;
  c->first_writing = w;
  return w;
}

writing *writing_begin(client_record *c, guard_call *call, const int64_t *by)
{
  writing *w;

  forget_old(c);
  w = by != NULL ? find_unsettled(c, call, *by) : NULL;
  if (w == NULL)
    w = writing_new(c, call, by);
  if (w == NULL)
    return NULL;
  w->is_running = true;
  call->number = call->settled = w->number;
  for (const writing *other = c->first_writing; other != NULL; other = other->next)
    if (other->number < call->settled && is_on(other, call) && (w->is_sum || !other->is_sum))
      call->settled = other->number;
  return w;
}

void writing_end(client_record *c, writing *w, bool is_settled)
{
  w->is_running = false;
  if (is_settled || !w->is_sum)
    writing_remove(c, w);
}

void writings_replaced(client_record *c, const writing *w, instant at)
{
  const guard_call key = { .key = w->key, .key_size = w->key_size };
  writing *next;

  for (writing *sum = c->first_writing; sum != NULL; sum = next) {
    next = sum->next;
    if (!sum->is_running && sum->in_doubt_from.ns != 0 && is_on(sum, &key) &&
        instant_before(sum->in_doubt_from, at))
      writing_remove(c, sum);
  }
}

void writings_free(client_record *c)
{
  while (c->first_writing != NULL)
    writing_remove(c, c->first_writing);
}
