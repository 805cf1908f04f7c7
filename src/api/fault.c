/* SPDX-License-Identifier: MIT */
/* api/fault.c - see fault.h. */
#include "api/fault.h"

#include <string.h>

#include "api/api.h"
#include "base/cancel_state.h"
#include "base/errno_text.h"
#include "base/record_size.h"

#define SNAPSHOTS_MAX 64

/* The errors of all servers of a quorum when an operation failed. */
struct server_errors {
  struct server_errors *next;
  uint64_t number;                 /* of the snapshot; the newest is first */
  size_t count;
  dibs_error errors[];
};

typedef struct fault_detail {
  const memory *memory;
  uint64_t snapshot;               /* 0: no snapshot */
  dibs_error error;
} fault_detail;

static _Thread_local last_call last;

/* ---- errors ---- */

static void error_write(dibs_error *e, dibs_status status, const char *node, const char *message)
{
  text node_text = text_over(e->node, sizeof(e->node));
  text shown = text_over(e->text, sizeof(e->text));

  e->size = sizeof(*e);
  e->status = status;
  e->reserved = 0;
  text_add(&node_text, node);
  if (status != DIBS_OK)
    text_add(&shown, message[0] != 0 ? message : dibs_status_text(status));
}

/* The error concerns the call, not a server. */
static bool has_no_node(dibs_status status)
{
  return (status >= 0 && status != DIBS_UNKNOWN) || status == DIBS_ERR_ARGUMENT ||
         status == DIBS_ERR_NO_MEMORY || status == DIBS_ERR_LIMIT || status == DIBS_ERR_CLOSED;
}

static const char *node_of(const client_record *c, dibs_status status)
{
  if (has_no_node(status))
    return "";
  return c->servers.kind == DEPLOYMENT_SINGLE ? c->shown : drive_node(c->drive);
}

/* ---- snapshots of a quorum ---- */

/* false: no such server. */
static bool server_copy(client_record *c, size_t index, dibs_error *ret_error)
{
  engine *e = drive_engine(c->drive);
  const char *message = "";
  char node[sizeof(ret_error->node)];
  text shown = text_over(node, sizeof(node));
  const server_url *url;
  dibs_status status;

  if (index >= engine_route_count(e))
    return false;
  url = engine_route_url(e, index);
  status = engine_server_why(e, index, &message);
  if (url != NULL)
    server_url_show(url, &shown);
  error_write(ret_error, status, node, message != NULL ? message : "");
  return true;
}

static void snapshots_cut(client_record *c)
{
  struct server_errors **at = &c->server_errors;

  for (size_t i = 0; *at != NULL && i < SNAPSHOTS_MAX - 1; i++)
    at = &(*at)->next;
  while (*at != NULL) {
    struct server_errors *old = *at;

    *at = old->next;
    mem_free(&c->memory, old);
  }
}

/* Returns the number of the snapshot; 0: not a quorum, or no memory. */
static uint64_t snapshot_make(client_record *c)
{
  size_t count = c->servers.kind == DEPLOYMENT_QUORUM && c->drive != NULL
                   ? engine_route_count(drive_engine(c->drive)) : 0;
  struct server_errors *s;

  if (count == 0)
    return 0;
  snapshots_cut(c);
  s = mem_zalloc(&c->memory, sizeof(*s) + count * sizeof(s->errors[0]));
  if (s == NULL)
    return 0;
  s->number = ++c->snapshots;
  s->count = count;
  for (size_t i = 0; i < count; i++)
    (void)server_copy(c, i, &s->errors[i]);
  s->next = c->server_errors;
  c->server_errors = s;
  return s->number;
}

void fault_servers_free(client_record *c)
{
  while (c->server_errors != NULL) {
    struct server_errors *s = c->server_errors;

    c->server_errors = s->next;
    mem_free(&c->memory, s);
  }
}

/* ---- outcomes ---- */

dibs_status outcome_set(outcome *o, client_record *c, dibs_status status, const char *message)
{
  fault_detail *d;

  outcome_clear(o);
  o->status = status;
  if (status == DIBS_OK || (message[0] == 0 && has_no_node(status)))
    return status;
  d = mem_alloc(&c->memory, sizeof(*d));
  if (d == NULL)
    return status;
  d->memory = &c->memory;
  d->snapshot = status < 0 || status == DIBS_UNKNOWN ? snapshot_make(c) : 0;
  error_write(&d->error, status, node_of(c, status), message);
  o->detail = d;
  return status;
}

void outcome_clear(outcome *o)
{
  if (o->detail != NULL)
    mem_free(o->detail->memory, o->detail);
  *o = (outcome){ .detail = NULL };
}

void outcome_move(outcome *to, outcome *from)
{
  outcome_clear(to);
  *to = *from;
  *from = (outcome){ .detail = NULL };
}

const dibs_error *outcome_error(const outcome *o, dibs_error *room)
{
  if (o->detail != NULL && o->detail->error.status == o->status)
    return &o->detail->error;
  error_write(room, o->status, "", "");
  return room;
}

/* ---- this thread ---- */

static dibs_status note(const void *client, dibs_status status, const char *node,
                        const char *message)
{
  last.client = client;
  last.is_over = false;
  last.snapshot = 0;
  error_write(&last.error, status, node, message);
  return status;
}

dibs_status outcome_note(const outcome *o, client_record *c)
{
  if (o->status == DIBS_OK || o->detail == NULL)
    return note(c->handle_word, o->status, node_of(c, o->status), "");
  last.client = c->handle_word;
  last.is_over = false;
  last.snapshot = o->detail->snapshot;
  last.error = o->detail->error;
  last.error.status = o->status;
  return o->status;
}

dibs_status client_fault(client_record *c, dibs_status status, const char *message)
{
  return note(c->handle_word, status, node_of(c, status), message);
}

dibs_status descriptor_fault(client_record *c, const char *wants_it, int fault)
{
  char words[160];
  text why = text_over(words, sizeof(words));

  text_add(&why, "no descriptor left for ");
  text_add(&why, wants_it);
  text_add(&why, ": ");
  text_add(&why, errno_text(fault));
  return client_fault(c, DIBS_ERR_SYSTEM, words);
}

dibs_status client_refuse(client_record *c, dibs_status status, const char *message)
{
  if (has_no_node(status))
    return note(c->handle_word, status, "", message);
  drive_lock(c->drive);
  (void)client_fault(c, status, message);
  drive_unlock(c->drive);
  return status;
}

dibs_status client_refuse_with(client_record *c, dibs_status status, const char *format, ...)
{
  char words[sizeof(last.error.text)];
  text message = text_over(words, sizeof(words));
  va_list values;

  va_start(values, format);
  text_format_list(&message, format, values);
  va_end(values);
  return client_refuse(c, status, words);
}

void fault_again(const dibs_error *error)
{
  last.error = *error;
  last.is_over = false;
}

dibs_status fault_as(dibs_status status)
{
  if (!last.is_over)
    last.error.status = status;
  return status;
}

dibs_status fault_end(const void *client, dibs_status status)
{
  if (status == DIBS_OK) {               /* the common case: nothing to write */
    last.error.status = DIBS_OK;
    last.error.node[0] = last.error.text[0] = 0;
    last.snapshot = 0;
  } else if (last.is_over || last.error.status != status) {
    last.snapshot = 0;
    error_write(&last.error, status, "", "");
  }
  last.client = client;
  last.is_over = true;
  return status;
}

dibs_status fault_end_with(const void *client, dibs_status status, const char *message)
{
  (void)note(client, status, "", message);
  return fault_end(client, status);
}

last_call fault_keep(void)
{
  return last;
}

void fault_restore(const last_call *kept)
{
  last = *kept;
}

dibs_status callback_data_end(callback_data *over, dibs_status status)
{
  callback_data now = *over;
  last_call kept;
  int before, state;

  over->free = NULL;
  if (now.free == NULL)
    return status;
  kept = last;
  state = cancel_off();                  /* at the end of a call, after its last handle */
  before = drive_enter_callback();
  now.free(now.data);
  drive_leave_callback(before);
  cancel_restore(state);
  last = kept;
  return status;
}

bool watch_data_is_empty(const watch_data *over)
{
  return over->lost.free == NULL && over->change.free == NULL;
}

dibs_status watch_data_end(watch_data *over, dibs_status status)
{
  (void)callback_data_end(&over->lost, status);
  return callback_data_end(&over->change, status);
}

/* ---- for programs ---- */

/* NULL on either side matches any client. */
static bool is_about(const dibs_client *client)
{
  return client == NULL || last.client == NULL || last.client == client;
}

static bool snapshot_copy(const struct server_errors *s, size_t index, dibs_error *ret_error)
{
  if (index < s->count)
    *ret_error = s->errors[index];
  return index < s->count;
}

/* false: no such server. */
static bool server_error_read(client_record *c, size_t index, dibs_error *ret_error)
{
  uint64_t wanted = last.client == c->handle_word ? last.snapshot : 0;

  for (const struct server_errors *s = c->server_errors; s != NULL && wanted != 0; s = s->next)
    if (s->number == wanted)
      return snapshot_copy(s, index, ret_error);
  return server_copy(c, index, ret_error);
}

static dibs_status server_error(dibs_client *client, size_t index, dibs_error *ret_error)
{
  client_record *c;
  dibs_status status = drive_is_busy() ? DIBS_ERR_WOULD_BLOCK : client_look(client, &c);
  bool is_there = false;

  if (status != DIBS_OK)
    return status;
  if (c->servers.kind == DEPLOYMENT_QUORUM) {
    drive_lock(c->drive);
    is_there = server_error_read(c, index, ret_error);
    drive_unlock(c->drive);
  }
  client_unlook(c);
  return is_there ? DIBS_OK : DIBS_ERR_ARGUMENT;
}

void record_give(void *to, const void *from, size_t size)
{
  size_t room;

  memcpy(&room, to, sizeof(room));
  memset(to, 0, room);
  memcpy(to, from, size < room ? size : room);
  memcpy(to, &room, sizeof(room));
}

dibs_status dibs_client_error(dibs_client *client, size_t index, dibs_error *ret_error)
{
  dibs_error found = DIBS_ERROR_INIT;    /* a call that is about another client: DIBS_OK */
  dibs_status status = DIBS_OK;

  if (ret_error == NULL || !error_has_room(ret_error))
    return DIBS_ERR_ARGUMENT;
  if (index > 0)
    status = server_error(client, index - 1, &found);
  else if (is_about(client))
    found = last.error;
  if (status == DIBS_OK)
    record_give(ret_error, &found, sizeof(found));
  return status;
}
