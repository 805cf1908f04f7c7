/* SPDX-License-Identifier: MIT */
/* api/guard.c - guarded writes: arguments of sync/guard.h. */
#include <assert.h>
#include <dibs/guard.h>
#include <string.h>

#include "api/call.h"
#include "api/guard.h"
#include "api/writing.h"
#include "sync/guard.h"

#define TTL_MAX 1000000000000000       /* 30 000 years: far below the limit of the server */

bool dibs_fence_admits(uint64_t last_seen, uint64_t fence)
{
  return fence >= last_seen;
}

/* ---- one guarded write ---- */

typedef struct guarded {
  guarded_op write;                    /* first: call_async() copies all by it */
  const dibs_field *fields;            /* HSET */
  const char *const *names;            /* HDEL */
  const char *fault;                   /* of an argument, or NULL */
  client_record *client;
  writing *writing;
} guarded;

/* How a call with a callback ends; NULL: it blocks. */
typedef struct guarded_end {
  call_end to;
  dibs_request **ret_request;
} guarded_end;

static guarded guarded_of(guarded_kind kind, const char *key, uint64_t fence)
{
  resp_argument k = guarded_key(key);

  return (guarded){ .write = { .op.row = &guarded_write_row, .kind = kind,
                               .call = { .key = k.bytes, .key_size = k.size,
                                         .fence = fence } } };
}

static dibs_status begin(guarded *g)
{
  client_record *c = g->client;
  guarded_op *w = &g->write;

  drive_lock(c->drive);
  g->writing = writing_begin(c, &w->call, w->kind == GUARDED_INCR ? &w->by : NULL);
  if (g->writing != NULL) {
    w->op.in_doubt_from = g->writing->in_doubt_from;
    w->op.late_until_us = g->writing->late_until_us;
  }
  drive_unlock(c->drive);
  return g->writing != NULL ? DIBS_OK : client_refuse(c, DIBS_ERR_NO_MEMORY, "");
}

static void end(const guarded *g)
{
  drive_lock(g->client->drive);
  g->writing->in_doubt_from = g->write.op.in_doubt_from;
  g->writing->late_until_us = g->write.op.late_until_us;
  if (g->write.is_written && (g->write.kind == GUARDED_SET || g->write.kind == GUARDED_DEL))
    writings_replaced(g->client, g->writing,
                      instant_add(drive_now(), (span){ -guarded_write_row.repeats_for.ns }));
  writing_end(g->client, g->writing, g->write.is_settled);
  drive_unlock(g->client->drive);
}

static dibs_status write_blocking(guarded *g)
{
  dibs_status status = begin(g);

  if (status != DIBS_OK)
    return status;
  status = call_blocking(g->client, &g->write.op, NULL);
  end(g);
  return status;
}

/* What the op borrows is in its request when this returns. */
static dibs_status write_async(guarded *g, const guarded_end *with)
{
  dibs_status status = begin(g);

  if (status != DIBS_OK)
    return status;
  status = call_async(g->client, &g->write.op, sizeof(*g), NULL, &with->to, with->ret_request);
  if (status != DIBS_OK)
    end(g);
  return status;
}

/* Before its callback, which may write the same again. */
static const guarded *ended(const sync_op *op)
{
  const guarded *g = (const guarded *)(const void *)op;

  end(g);
  return g;
}

static void deliver(const call_end *to, const sync_op *op, const dibs_error *error)
{
  (void)ended(op);
  call_deliver_status(to, op, error);
}

static void deliver_sum(const call_end *to, const sync_op *op, const dibs_error *error)
{
  const guarded *g = ended(op);

  ((dibs_number_callback)to->callback)(error, error->status == DIBS_OK ? g->write.sum : 0,
                                       to->data);
}

/* A request that can never fit into a connection's output buffer must not wait for room. */
static dibs_status length_check(client_record *c, const guarded_op *g)
{
  size_t size = g->value.size;

  assert(g->count == 0 || g->arguments != NULL);
  for (size_t i = 0; i < g->count && size <= DIBS_GUARDED_MAX; i++)
    size = g->arguments[i].size > SIZE_MAX - size ? SIZE_MAX : size + g->arguments[i].size;
  if (size <= DIBS_GUARDED_MAX)
    return DIBS_OK;
  return client_refuse_with(c, DIBS_ERR_ARGUMENT, "names and values are %zu bytes or more; %zu are "
                            "the most in one guarded write", size, (size_t)DIBS_GUARDED_MAX);
}

/* Fences order the holds that exclude each other: a read hold or permits with a lower one than
 * others is no less valid. */
static const claim *shared_hold_of(const client_record *c, uint64_t fence)
{
  const claim *found = NULL;

  if (!c->has_shared)
    return NULL;
  for (const claim *cl = c->first_claim; cl != NULL; cl = cl->next) {
    if (cl->hold == NULL || atomic_load(&cl->hold->fence) != fence)
      continue;
    if (cl->note.mode == DIBS_MODE_EXCLUSIVE)
      return NULL;
    found = cl;
  }
  return found;
}

static dibs_status shared_check(client_record *c, uint64_t fence)
{
  char words[400];
  text why = text_over(words, sizeof(words));
  const claim *cl;

  drive_lock(c->drive);
  cl = shared_hold_of(c, fence);
  if (cl != NULL) {
    text_format(&why, "this fence is that of %s, which others hold at the same time; a guarded "
                      "write needs an exclusive hold: ",
                cl->note.mode == DIBS_MODE_READ ? "a read hold" : "permits");
    text_add_quoted(&why, cl->name, cl->name_size);
  }
  drive_unlock(c->drive);
  return cl != NULL ? client_refuse(c, DIBS_ERR_ARGUMENT, words) : DIBS_OK;
}

static dibs_status guarded_check(client_record *c, const guarded_op *g)
{
  dibs_status status = guarded_key_check(c, g->call.key, g->call.key_size);

  if (status != DIBS_OK)
    return status;
  if (g->call.fence == 0 || g->call.fence > GUARD_FENCE_MAX)
    return client_refuse(c, DIBS_ERR_ARGUMENT,
                         "fence must be 1 to 2^63 - 1; dibs_hold_fence() returns it");
  return shared_check(c, g->call.fence);
}

/* Not on the stack: 1000 fields are 32 KiB. */
static dibs_status arguments_make(client_record *c, guarded *g)
{
  size_t count = g->write.count;
  resp_argument *all;

  if (count == 0)
    return DIBS_OK;
  all = mem_alloc(&c->memory, count * sizeof(all[0]));
  if (all == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  for (size_t i = 0; i < count; i++) {
    const dibs_field *f = g->fields != NULL ? &g->fields[i / 2] : NULL;

    if (f == NULL)
      all[i] = (resp_argument){ g->names[i], strlen(g->names[i]) };
    else if (i % 2 == 0)
      all[i] = (resp_argument){ f->name, strlen(f->name) };
    else
      all[i] = (resp_argument){ f->value, f->value_size };
  }
  g->write.arguments = all;
  return DIBS_OK;
}

/* `with`: NULL, it blocks. */
static dibs_status guarded_run(dibs_client *client, guarded *g, const guarded_end *with)
{
  client_record *c;
  dibs_status status = client_begin(client, with == NULL, &c);

  if (status != DIBS_OK)
    return status;
  g->client = c;
  status = guarded_check(c, &g->write);
  if (g->fault == NULL && with != NULL && with->to.callback == NULL)
    g->fault = "callback is NULL";
  if (status == DIBS_OK && g->fault != NULL)
    status = client_refuse(c, DIBS_ERR_ARGUMENT, g->fault);
  if (status == DIBS_OK)
    status = arguments_make(c, g);
  if (status == DIBS_OK)
    status = length_check(c, &g->write);
  if (status == DIBS_OK)
    status = one_place_check(c);
  if (status == DIBS_OK)
    status = with == NULL ? write_blocking(g) : write_async(g, with);
  mem_free(&c->memory, g->write.arguments);
  return client_end(c, status);
}

static guarded_end end_of(dibs_wait_callback callback, void *data, dibs_request **ret_request)
{
  return (guarded_end){ .to = { .deliver = deliver, .callback = (void (*)(void))callback,
                                .data = data },
                        .ret_request = ret_request };
}

/* ---- strings ---- */

static guarded set_of(const char *key, uint64_t fence, const void *value, size_t value_size,
                      int64_t ttl_ms)
{
  guarded g = guarded_of(GUARDED_SET, key, fence);

  g.write.value = (resp_argument){ value, value_size };
  g.write.ttl_ms = ttl_ms;
  if (value == NULL && value_size > 0)
    g.fault = "value is NULL";
  else if (ttl_ms < 0 || ttl_ms > TTL_MAX)
    g.fault = "ttl_ms must be 0 to 1000000000000000";
  return g;
}

dibs_status dibs_guarded_set(dibs_client *c, const char *key, uint64_t fence,
                             const void *value, size_t value_size, int64_t ttl_ms)
{
  guarded g = set_of(key, fence, value, value_size, ttl_ms);

  return guarded_run(c, &g, NULL);
}

dibs_status dibs_guarded_set_async(dibs_client *c, const char *key, uint64_t fence,
                                   const void *value, size_t value_size, int64_t ttl_ms,
                                   dibs_wait_callback callback, void *data,
                                   dibs_request **ret_request)
{
  guarded g = set_of(key, fence, value, value_size, ttl_ms);
  guarded_end with = end_of(callback, data, ret_request);

  return guarded_run(c, &g, &with);
}

dibs_status dibs_guarded_del(dibs_client *c, const char *key, uint64_t fence)
{
  guarded g = guarded_of(GUARDED_DEL, key, fence);

  return guarded_run(c, &g, NULL);
}

dibs_status dibs_guarded_del_async(dibs_client *c, const char *key, uint64_t fence,
                                   dibs_wait_callback callback, void *data,
                                   dibs_request **ret_request)
{
  guarded g = guarded_of(GUARDED_DEL, key, fence);
  guarded_end with = end_of(callback, data, ret_request);

  return guarded_run(c, &g, &with);
}

static guarded incr_of(const char *key, uint64_t fence, int64_t by)
{
  guarded g = guarded_of(GUARDED_INCR, key, fence);

  g.write.by = by;
  return g;
}

dibs_status dibs_guarded_incr(dibs_client *c, const char *key, uint64_t fence, int64_t by,
                              int64_t *ret_value)
{
  guarded g = incr_of(key, fence, by);
  dibs_status status = guarded_run(c, &g, NULL);

  if (status == DIBS_OK && ret_value != NULL)
    *ret_value = g.write.sum;
  return status;
}

dibs_status dibs_guarded_incr_async(dibs_client *c, const char *key, uint64_t fence, int64_t by,
                                    dibs_number_callback callback, void *data,
                                    dibs_request **ret_request)
{
  guarded g = incr_of(key, fence, by);
  guarded_end with = { .to = { .deliver = deliver_sum, .callback = (void (*)(void))callback,
                               .data = data },
                       .ret_request = ret_request };

  return guarded_run(c, &g, &with);
}

/* ---- hashes ---- */

static const char *fields_fault(const dibs_field *fields, size_t count)
{
  if (fields == NULL)
    return "fields is NULL";
  if (count == 0 || count > GUARD_FIELDS_MAX)
    return "count must be 1 to 1000";
  for (size_t i = 0; i < count; i++) {
    if (fields[i].name == NULL)
      return "a field has no name";
    if (fields[i].value == NULL && fields[i].value_size > 0)
      return "a field's value is NULL";
  }
  return NULL;
}

static const char *names_fault(const char *const *names, size_t count)
{
  if (names == NULL)
    return "names is NULL";
  if (count == 0 || count > GUARD_FIELDS_MAX)
    return "count must be 1 to 1000";
  for (size_t i = 0; i < count; i++)
    if (names[i] == NULL)
      return "a name is NULL";
  return NULL;
}

static guarded hset_of(const char *key, uint64_t fence, const dibs_field *fields, size_t count)
{
  guarded g = guarded_of(GUARDED_HSET, key, fence);

  g.fields = fields;
  g.fault = fields_fault(fields, count);
  g.write.count = g.fault == NULL ? 2 * count : 0;
  return g;
}

dibs_status dibs_guarded_hset(dibs_client *c, const char *key, uint64_t fence,
                              const dibs_field *fields, size_t count)
{
  guarded g = hset_of(key, fence, fields, count);

  return guarded_run(c, &g, NULL);
}

dibs_status dibs_guarded_hset_async(dibs_client *c, const char *key, uint64_t fence,
                                    const dibs_field *fields, size_t count,
                                    dibs_wait_callback callback, void *data,
                                    dibs_request **ret_request)
{
  guarded g = hset_of(key, fence, fields, count);
  guarded_end with = end_of(callback, data, ret_request);

  return guarded_run(c, &g, &with);
}

static guarded hdel_of(const char *key, uint64_t fence, const char *const *names, size_t count)
{
  guarded g = guarded_of(GUARDED_HDEL, key, fence);

  g.names = names;
  g.fault = names_fault(names, count);
  g.write.count = g.fault == NULL ? count : 0;
  return g;
}

dibs_status dibs_guarded_hdel(dibs_client *c, const char *key, uint64_t fence,
                              const char *const *names, size_t count)
{
  guarded g = hdel_of(key, fence, names, count);

  return guarded_run(c, &g, NULL);
}

dibs_status dibs_guarded_hdel_async(dibs_client *c, const char *key, uint64_t fence,
                                    const char *const *names, size_t count,
                                    dibs_wait_callback callback, void *data,
                                    dibs_request **ret_request)
{
  guarded g = hdel_of(key, fence, names, count);
  guarded_end with = end_of(callback, data, ret_request);

  return guarded_run(c, &g, &with);
}
