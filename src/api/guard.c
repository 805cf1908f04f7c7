/* SPDX-License-Identifier: MIT */
/* api/guard.c - guarded writes: arguments of sync/guard.h; and their reads. */
#include <assert.h>
#include <dibs/guard.h>
#include <string.h>

#include "api/call.h"
#include "api/value.h"
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
  client_record *client;
  writing *writing;
} guarded;

/* How a call with a callback ends; NULL: it blocks. */
typedef struct guarded_end {
  call_end to;
  dibs_request **ret_request;
} guarded_end;

static resp_argument key_of(const char *key)
{
  return (resp_argument){ key, key == NULL ? 0 : strnlen(key, NAME_MAX_BYTES + 1) };
}

static guarded guarded_of(guarded_kind kind, const char *key, uint64_t fence)
{
  resp_argument k = key_of(key);

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
  drive_unlock(c->drive);
  return g->writing != NULL ? DIBS_OK : client_refuse(c, DIBS_ERR_NO_MEMORY, "");
}

static void end(const guarded *g)
{
  drive_lock(g->client->drive);
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
  char words[128];
  text why = text_over(words, sizeof(words));

  assert(g->count == 0 || g->arguments != NULL);
  for (size_t i = 0; i < g->count && size <= DIBS_GUARDED_MAX; i++)
    size = g->arguments[i].size > SIZE_MAX - size ? SIZE_MAX : size + g->arguments[i].size;
  if (size <= DIBS_GUARDED_MAX)
    return DIBS_OK;
  text_add(&why, "names and values are ");
  text_add_uint(&why, size);
  text_add(&why, " bytes or more; ");
  text_add_uint(&why, DIBS_GUARDED_MAX);
  text_add(&why, " are the most in one guarded write");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
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
    text_add(&why, "this fence is that of ");
    text_add(&why, cl->note.mode == DIBS_MODE_READ ? "a read hold" : "permits");
    text_add(&why, ", which others hold at the same time; a guarded write needs an exclusive "
                   "hold: ");
    text_add_quoted(&why, cl->name, cl->name_size);
  }
  drive_unlock(c->drive);
  return cl != NULL ? client_refuse(c, DIBS_ERR_ARGUMENT, words) : DIBS_OK;
}

static dibs_status key_check(client_record *c, const void *key, size_t size)
{
  const char *fault = key == NULL ? "key is NULL" : native_guard_fault(key, size);

  return fault != NULL ? client_refuse(c, DIBS_ERR_ARGUMENT, fault) : DIBS_OK;
}

static dibs_status guarded_check(client_record *c, const guarded_op *g)
{
  dibs_status status = key_check(c, g->call.key, g->call.key_size);

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

/* `fault`: an argument fault that the caller found, or NULL. `with`: NULL, it blocks. */
static dibs_status guarded_run(dibs_client *client, guarded *g, const char *fault,
                               const guarded_end *with)
{
  client_record *c;
  dibs_status status = client_begin(client, with == NULL, &c);

  if (status != DIBS_OK)
    return status;
  g->client = c;
  status = guarded_check(c, &g->write);
  if (fault == NULL && with != NULL && with->to.callback == NULL)
    fault = "callback is NULL";
  if (status == DIBS_OK && fault != NULL)
    status = client_refuse(c, DIBS_ERR_ARGUMENT, fault);
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
  return g;
}

static const char *set_fault(const guarded *g)
{
  if (g->write.value.bytes == NULL && g->write.value.size > 0)
    return "value is NULL";
  if (g->write.ttl_ms < 0 || g->write.ttl_ms > TTL_MAX)
    return "ttl_ms must be 0 to 1000000000000000";
  return NULL;
}

dibs_status dibs_guarded_set(dibs_client *c, const char *key, uint64_t fence,
                             const void *value, size_t value_size, int64_t ttl_ms)
{
  guarded g = set_of(key, fence, value, value_size, ttl_ms);

  return guarded_run(c, &g, set_fault(&g), NULL);
}

dibs_status dibs_guarded_set_async(dibs_client *c, const char *key, uint64_t fence,
                                   const void *value, size_t value_size, int64_t ttl_ms,
                                   dibs_wait_callback callback, void *data,
                                   dibs_request **ret_request)
{
  guarded g = set_of(key, fence, value, value_size, ttl_ms);
  guarded_end with = end_of(callback, data, ret_request);

  return guarded_run(c, &g, set_fault(&g), &with);
}

dibs_status dibs_guarded_del(dibs_client *c, const char *key, uint64_t fence)
{
  guarded g = guarded_of(GUARDED_DEL, key, fence);

  return guarded_run(c, &g, NULL, NULL);
}

dibs_status dibs_guarded_del_async(dibs_client *c, const char *key, uint64_t fence,
                                   dibs_wait_callback callback, void *data,
                                   dibs_request **ret_request)
{
  guarded g = guarded_of(GUARDED_DEL, key, fence);
  guarded_end with = end_of(callback, data, ret_request);

  return guarded_run(c, &g, NULL, &with);
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
  dibs_status status = guarded_run(c, &g, NULL, NULL);

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

  return guarded_run(c, &g, NULL, &with);
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
  g.write.count = fields_fault(fields, count) == NULL ? 2 * count : 0;
  return g;
}

dibs_status dibs_guarded_hset(dibs_client *c, const char *key, uint64_t fence,
                              const dibs_field *fields, size_t count)
{
  guarded g = hset_of(key, fence, fields, count);

  return guarded_run(c, &g, fields_fault(fields, count), NULL);
}

dibs_status dibs_guarded_hset_async(dibs_client *c, const char *key, uint64_t fence,
                                    const dibs_field *fields, size_t count,
                                    dibs_wait_callback callback, void *data,
                                    dibs_request **ret_request)
{
  guarded g = hset_of(key, fence, fields, count);
  guarded_end with = end_of(callback, data, ret_request);

  return guarded_run(c, &g, fields_fault(fields, count), &with);
}

static guarded hdel_of(const char *key, uint64_t fence, const char *const *names, size_t count)
{
  guarded g = guarded_of(GUARDED_HDEL, key, fence);

  g.names = names;
  g.write.count = names_fault(names, count) == NULL ? count : 0;
  return g;
}

dibs_status dibs_guarded_hdel(dibs_client *c, const char *key, uint64_t fence,
                              const char *const *names, size_t count)
{
  guarded g = hdel_of(key, fence, names, count);

  return guarded_run(c, &g, names_fault(names, count), NULL);
}

dibs_status dibs_guarded_hdel_async(dibs_client *c, const char *key, uint64_t fence,
                                    const char *const *names, size_t count,
                                    dibs_wait_callback callback, void *data,
                                    dibs_request **ret_request)
{
  guarded g = hdel_of(key, fence, names, count);
  guarded_end with = end_of(callback, data, ret_request);

  return guarded_run(c, &g, names_fault(names, count), &with);
}

/* ---- reads ---- */

typedef struct guarded_read {
  resp_argument key, field;
  bool is_field;
  dibs_value **ret_value;
  uint64_t *ret_fence;
} guarded_read;

static dibs_status read_check(client_record *c, const guarded_read *g)
{
  dibs_status status = key_check(c, g->key.bytes, g->key.size);

  if (status != DIBS_OK)
    return status;
  if (g->is_field && g->field.bytes == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "field is NULL");
  if (g->field.size > DIBS_KEY_MAX)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "field is longer than 65536 bytes");
  if (g->ret_value == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "the parameter for the answer is NULL");
  return one_place_check(c);
}

static dibs_status read_hand_out(client_record *c, const guarded_read *g, const resp_reply *r)
{
  data_value value;
  uint64_t fence;
  dibs_status status;

  if (!native_guarded_value(r, &value, &fence))
    return client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to a guarded read");
  status = value_out(c, &value, true, g->ret_value);
  if (status == DIBS_OK && g->ret_fence != NULL)
    *g->ret_fence = fence;
  return status;
}

static dibs_status read_run(dibs_client *client, const guarded_read *g)
{
  client_record *c;
  request k;
  question q = { .end.status = DIBS_OK };
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  request_init(&k, &c->memory);
  status = read_check(c, g);
  if (status == DIBS_OK &&
      !native_guarded_get(&c->names, &k, g->key, g->is_field ? &g->field : NULL, DIBS_DATA_MAX))
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  if (status == DIBS_OK)
    status = question_read_only(question_run(c, &q, &k));
  if (status == DIBS_OK)
    status = read_hand_out(c, g, q.reply);
  question_deinit(&q);
  request_deinit(&k);
  return client_end(c, status);
}

dibs_status dibs_guarded_get(dibs_client *c, const char *key, dibs_value **ret_value,
                             uint64_t *ret_fence)
{
  return read_run(c, &(guarded_read){ .key = key_of(key), .ret_value = ret_value,
                                      .ret_fence = ret_fence });
}

dibs_status dibs_guarded_hget(dibs_client *c, const char *key, const char *field,
                              dibs_value **ret_value, uint64_t *ret_fence)
{
  size_t size = field == NULL ? 0 : strnlen(field, DIBS_KEY_MAX + 1);

  return read_run(c, &(guarded_read){ .key = key_of(key), .field = { field, size },
                                      .is_field = true, .ret_value = ret_value,
                                      .ret_fence = ret_fence });
}
