/* SPDX-License-Identifier: MIT */
/* api/history.c - dibs_history_read(): the entries of the stream, the latest first. */
#include "api/fleet_ask.h"
#include "api/pattern.h"

#include <stdlib.h>
#include <string.h>

#define PAGE "200"               /* a reply has at most 16384 elements */
#define PAGE_COUNT 200
#define LIMIT 1000
#define LIMIT_MAX 10000
#define ID_SIZE 48

typedef struct history_result {
  dibs_history shown;
  memory memory;
  dibs_history_entry *entries;     /* each name is the begin of one block with all texts */
  const dibs_history_entry **in_order;
  size_t room;
} history_result;

typedef struct history_walk {
  history_result *result;
  const protocol *names;
  const char *pattern;
  int64_t least_us;                /* 0: any */
  size_t limit;
  char next[ID_SIZE];              /* the end of the next page */
  size_t in_page;
  instant until;                   /* one limit after the last reply, of any server of a quorum */
} history_walk;

/* ---- one entry ---- */

static const resp_node *field_of(const resp_reply *r, const resp_node *fields, const char *name)
{
  const resp_node *field, *value;

  for (size_t i = 0; (field = resp_child(r, fields, i)) != NULL &&
                     (value = resp_child(r, fields, i + 1)) != NULL; i += 2)
    if (field->kind == RESP_STRING && value->kind == RESP_STRING &&
        field->size == strlen(name) && memcmp(field->bytes, name, field->size) == 0)
      return value;
  return NULL;
}

static uint64_t number_in(const resp_reply *r, const resp_node *fields, const char *name)
{
  const resp_node *value = field_of(r, fields, name);
  uint64_t number;

  return value != NULL && text_to_uint(value->bytes, value->size, &number) ? number : 0;
}

static int64_t span_in(const resp_reply *r, const resp_node *fields, const char *name)
{
  uint64_t number = number_in(r, fields, name);

  return number <= INT64_MAX ? (int64_t)number : INT64_MAX;
}

static const char *const text_fields[] = { "name", "class", "end", "host", "program", "note",
                                           "client" };
enum { TEXT_NAME, TEXT_CLASS, TEXT_END, TEXT_HOST, TEXT_PROGRAM, TEXT_NOTE, TEXT_CLIENT, TEXTS };

/* All texts in one block, each with a zero. NULL: no memory. */
static char *texts_copy(const memory *m, const resp_reply *r, const resp_node *fields,
                        const char *ret_texts[TEXTS])
{
  const resp_node *values[TEXTS];
  size_t size = 0;
  char *block, *at;

  for (size_t i = 0; i < TEXTS; i++) {
    values[i] = field_of(r, fields, text_fields[i]);
    size += 1 + (values[i] != NULL ? values[i]->size : 0);
  }
  block = at = mem_alloc(m, size);
  for (size_t i = 0; block != NULL && i < TEXTS; i++) {
    ret_texts[i] = at;
    if (values[i] != NULL) {
      memcpy(at, values[i]->bytes, values[i]->size);
      at += values[i]->size;
    }
    *at++ = 0;
  }
  return block;
}

static dibs_kind kind_in(const resp_reply *r, const resp_node *fields)
{
  const resp_node *value = field_of(r, fields, "kind");
  char letter = value != NULL && value->size == 1 ? value->bytes[0] : 'm';

  return letter == 'r' ? DIBS_KIND_RWLOCK : letter == 's' ? DIBS_KIND_SEMAPHORE : DIBS_KIND_MUTEX;
}

static dibs_mode mode_in(const resp_reply *r, const resp_node *fields)
{
  const resp_node *value = field_of(r, fields, "mode");
  char letter = value != NULL && value->size > 0 ? value->bytes[0] : 'e';

  return letter == 'r' ? DIBS_MODE_READ : letter == 'p' ? DIBS_MODE_PERMITS : DIBS_MODE_EXCLUSIVE;
}

static bool entry_fill(const history_walk *w, const resp_reply *r, const resp_node *fields,
                       size_t name_size, dibs_history_entry *e)
{
  const char *texts[TEXTS];

  if (texts_copy(&w->result->memory, r, fields, texts) == NULL)
    return false;
  *e = (dibs_history_entry){
    .size = sizeof(*e), .name = texts[TEXT_NAME], .name_size = name_size,
    .class_name = texts[TEXT_CLASS], .kind = kind_in(r, fields), .mode = mode_in(r, fields),
    .end = texts[TEXT_END], .end_us = span_in(r, fields, "at"),
    .waited_us = span_in(r, fields, "waited"), .held_us = span_in(r, fields, "held"),
    .ttl_ms = span_in(r, fields, "lease"), .fence = number_in(r, fields, "fence"),
    .host = texts[TEXT_HOST], .program = texts[TEXT_PROGRAM], .note = texts[TEXT_NOTE],
    .pid = span_in(r, fields, "pid"), .client = texts[TEXT_CLIENT] };
  e->ago_us = w->result->shown.server_us - e->end_us;
  if (e->ago_us < 0)
    e->ago_us = 0;
  return true;
}

/* The pattern gets a text that ends with a zero. */
static bool is_wanted(const history_walk *w, const resp_node *name, int64_t at_us)
{
  char ended[NAME_MAX_BYTES + 1];

  if (name == NULL || name->size > NAME_MAX_BYTES || at_us < w->least_us)
    return false;
  if (w->pattern == NULL)
    return true;
  memcpy(ended, name->bytes, name->size);
  ended[name->size] = 0;
  return pattern_means_lock(w->names, w->pattern, ended);
}

/* Servers of a quorum have the same entries. */
static bool is_known(const history_result *h, const dibs_history_entry *e)
{
  for (size_t i = 0; i < h->shown.count; i++) {
    const dibs_history_entry *o = &h->entries[i];

    if (o->fence == e->fence && o->held_us == e->held_us && o->waited_us == e->waited_us &&
        o->name_size == e->name_size && strcmp(o->client, e->client) == 0 &&
        memcmp(o->name, e->name, e->name_size) == 0)
      return true;
  }
  return false;
}

static bool entry_add(history_walk *w, bool is_quorum, const resp_reply *r,
                      const resp_node *fields)
{
  history_result *h = w->result;
  const resp_node *name = field_of(r, fields, "name");
  dibs_history_entry *e;

  if (!is_wanted(w, name, span_in(r, fields, "at")))
    return true;
  if (h->shown.count == h->room) {
    size_t room = h->room == 0 ? 32 : 2 * h->room;

    e = mem_realloc(&h->memory, h->entries, room * sizeof(*e));
    if (e == NULL)
      return false;
    h->entries = e;
    h->room = room;
  }
  e = &h->entries[h->shown.count];
  if (!entry_fill(w, r, fields, name->size, e))
    return false;
  if (is_quorum && is_known(h, e))
    mem_free(&h->memory, (char *)(uintptr_t)e->name);
  else
    h->shown.count++;
  return true;
}

/* ---- pages ---- */

/* The id before this one. */
static void id_before(const resp_node *id, char ret_id[ID_SIZE])
{
  text out = text_over(ret_id, ID_SIZE);
  const char *dash = memchr(id->bytes, '-', id->size);
  uint64_t ms, number;

  if (dash == NULL || !text_to_uint(id->bytes, (size_t)(dash - id->bytes), &ms) ||
      !text_to_uint(dash + 1, id->size - (size_t)(dash + 1 - id->bytes), &number) ||
      (ms == 0 && number == 0)) {
    text_add(&out, "0-0");
    return;
  }
  text_add_uint(&out, number > 0 ? ms : ms - 1);
  if (number > 0) {
    text_add(&out, "-");
    text_add_uint(&out, number - 1);
  }                                      /* else: all numbers of that millisecond */
}

static bool page_add(history_walk *w, bool is_quorum, const resp_reply *reply)
{
  const resp_node *one, *id, *fields;
  size_t i = 0;

  for (; (one = resp_child(reply, resp_root(reply), i)) != NULL; i++) {
    id = resp_child(reply, one, 0);
    fields = resp_child(reply, one, 1);
    if (id == NULL || fields == NULL || id->kind != RESP_STRING)
      continue;
    if (!entry_add(w, is_quorum, reply, fields))
      return false;
    id_before(id, w->next);
  }
  w->in_page = i;
  return true;
}

static dibs_status page_ask(client_record *c, history_walk *w, size_t route)
{
  char bytes[KEY_TEXT_SIZE], from[ID_SIZE];
  text key = text_over(bytes, sizeof(bytes)), least = text_over(from, sizeof(from));
  resp_argument words[] = { RESP_TEXT("XREVRANGE"), { bytes, 0 }, { w->next, strlen(w->next) },
                            { from, 0 }, RESP_TEXT("COUNT"), RESP_TEXT(PAGE) };
  request command;
  dibs_status status;
  question q;

  /* An entry is written after its end. */
  text_add_int(&least, w->least_us / 1000);
  fleet_key_history(&c->names, &key);
  words[1].size = key.used;
  words[3].size = least.used;
  request_init(&command, &c->memory);
  (void)request_command(&command, words, 6);
  status = question_run_by(c, &q, &command,
                           (sync_op){ .give_up_at = w->until, .is_brief = route != SIZE_MAX,
                                      .is_pinned = route != SIZE_MAX, .server = route });
  if (status == DIBS_OK)
    w->until = client_give_up_at(c);
  if (status == DIBS_OK && !page_add(w, route != SIZE_MAX, q.reply))
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  question_deinit(&q);
  request_deinit(&command);
  return question_read_only(status);
}

static dibs_status pages_read(client_record *c, history_walk *w, size_t route)
{
  size_t before = w->result->shown.count;
  dibs_status status;

  memcpy(w->next, "+", sizeof("+"));
  do
    status = page_ask(c, w, route);
  while (status == DIBS_OK && w->in_page == PAGE_COUNT &&
         w->result->shown.count - before < w->limit);
  return status;
}

static int latest_first(const void *a, const void *b)
{
  const dibs_history_entry *one = a, *other = b;

  return (one->end_us < other->end_us) - (one->end_us > other->end_us);
}

/* false: no memory. */
static bool entries_show(history_result *h)
{
  if (h->shown.count == 0)
    return true;
  h->in_order = mem_alloc(&h->memory, h->shown.count * sizeof(*h->in_order));
  for (size_t i = 0; h->in_order != NULL && i < h->shown.count; i++)
    h->in_order[i] = &h->entries[i];
  h->shown.entries = h->in_order;
  return h->in_order != NULL;
}

static dibs_status history_walk_all(client_record *c, history_walk *w)
{
  history_result *h = w->result;
  dibs_status status;
  size_t route;

  if (c->servers.kind != DEPLOYMENT_QUORUM) {
    status = pages_read(c, w, SIZE_MAX);
  } else {
    status = DIBS_ERR_UNREACHABLE;
    for (route = quorum_route_next(c, 0); route != SIZE_MAX;
         route = quorum_route_next(c, route + 1))
      if (pages_read(c, w, route) == DIBS_OK)
        status = DIBS_OK;
  }
  if (h->shown.count > 1)
    qsort(h->entries, h->shown.count, sizeof(*h->entries), latest_first);
  while (h->shown.count > w->limit)
    mem_free(&h->memory, (char *)(uintptr_t)h->entries[--h->shown.count].name);
  return status == DIBS_OK &&
      !entries_show(h) ? client_refuse(c, DIBS_ERR_NO_MEMORY, "") : status;
}

/* ---- the call ---- */

static dibs_status options_read(client_record *c, const dibs_history_options *given,
                                dibs_history_options *ret)
{
  const dibs_history_options known = DIBS_HISTORY_OPTIONS_INIT;
  char words[200];
  text why = text_over(words, sizeof(words));

  *ret = known;
  if (given != NULL && !options_copy(given, ret, sizeof(*ret), "dibs_history_options", &why))
    return client_refuse(c, DIBS_ERR_ARGUMENT, words);
  if (ret->reserved != 0)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "dibs_history_options.reserved must be 0");
  if (ret->since_ms < 0)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "since_ms is negative; 0 is any time");
  if (ret->limit > LIMIT_MAX)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "limit is above 10000; 0 is 1000");
  return DIBS_OK;
}

static dibs_status history_read(client_record *c, const dibs_history_options *o,
                                history_result *h)
{
  history_walk w = { .result = h, .names = &c->names, .pattern = o->pattern,
                     .limit = o->limit != 0 ? o->limit : LIMIT };
  dibs_status status = fleet_server_time(c, &h->shown.server_us);

  if (status != DIBS_OK)
    return status;
  w.until = client_give_up_at(c);
  if (o->since_ms > 0 && o->since_ms < h->shown.server_us / 1000)
    w.least_us = h->shown.server_us - o->since_ms * 1000;
  h->shown.size = sizeof(h->shown);
  return history_walk_all(c, &w);
}

dibs_status dibs_history_read(dibs_client *client, const dibs_history_options *options,
                              dibs_history **ret_history)
{
  dibs_history_options o = DIBS_HISTORY_OPTIONS_INIT;
  history_result *h = NULL;
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = ret_history == NULL ? client_refuse(c, DIBS_ERR_ARGUMENT, "ret_history is NULL")
                               : options_read(c, options, &o);
  if (status != DIBS_OK)
    return client_end(c, status);
  h = mem_zalloc(&c->memory, sizeof(*h));
  if (h == NULL)
    return client_end(c, client_refuse(c, DIBS_ERR_NO_MEMORY, ""));
  h->memory = c->memory;
  status = history_read(c, &o, h);
  if (status == DIBS_OK && ret_history != NULL)
    *ret_history = &h->shown;
  else
    (void)dibs_history_free(&h->shown);
  return client_end(c, status);
}

dibs_history *dibs_history_free(dibs_history *history)
{
  history_result *h = (history_result *)(void *)history;
  const memory *m;

  if (h == NULL)
    return NULL;
  m = &h->memory;
  for (size_t i = 0; i < h->shown.count; i++)
    mem_free(m, (char *)(uintptr_t)h->entries[i].name);
  mem_free(m, h->entries);
  mem_free(m, h->in_order);
  mem_free(m, h);
  return NULL;
}
