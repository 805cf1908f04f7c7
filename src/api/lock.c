/* SPDX-License-Identifier: MIT */
/* api/lock.c - taking a lock of any kind, blocking or not. */
#include "api/deadlock.h"
#include "api/degrade.h"
#include "api/wait.h"
#include "api/campaign.h"

#include <inttypes.h>
#include <string.h>

/* ---- what all ways in check ---- */

dibs_status one_place_check(client_record *c)
{
  if (c->servers.kind != DEPLOYMENT_QUORUM)
    return DIBS_OK;
  return client_refuse(c, DIBS_ERR_UNSUPPORTED, "a quorum has exclusive and read/write locks, "
                                                "and nothing else");
}

dibs_status native_check(client_record *c, const char *what)
{
  const dialect_traits *traits = &c->names.dialect->traits;

  if (c->names.dialect == &native_dialect)
    return DIBS_OK;
  return client_refuse_with(c, DIBS_ERR_UNSUPPORTED, "the dialect %s has no %s here; %s",
                            traits->name, what, traits->guide);
}

#define WITHOUT_KINDS \
  "leave DIBS_LOCK_FAIR, DIBS_LOCK_SPIN and DIBS_LOCK_FENCED (--fair, --spin, --fenced) out"

static dibs_status native_kind_check(client_record *c, lock_spec *spec)
{
  if (spec->kind == LOCK_COUNTER)
    return client_refuse(c, DIBS_ERR_UNSUPPORTED, "native permits are leases; leave "
                                                  "DIBS_PERMITS_PLAIN (--plain-permits) out");
  if (spec->kind == LOCK_SPIN)
    return client_refuse(c, DIBS_ERR_UNSUPPORTED, "native locks do not spin: waiters get "
                                                  "a message; leave DIBS_LOCK_SPIN (--spin) out");
  if (kind_is_exclusive(spec->kind))
    spec->kind = LOCK_MUTEX;               /* all locks of native are fair and fenced */
  return DIBS_OK;
}

static dibs_status kind_check(client_record *c, lock_spec *spec)
{
  if (c->names.dialect == &native_dialect)
    return native_kind_check(c, spec);
  if (spec->kind == LOCK_MUTEX || !kind_is_exclusive(spec->kind))
    return DIBS_OK;
  if (c->servers.kind == DEPLOYMENT_QUORUM)
    return client_refuse(c, DIBS_ERR_UNSUPPORTED, "a quorum has one kind of exclusive lock in "
                                                  "this dialect: " WITHOUT_KINDS);
  if (c->names.dialect->traits.has_lock_kinds)
    return DIBS_OK;
  return native_check(c, "kinds of exclusive locks: " WITHOUT_KINDS);
}

static dibs_status permits_check(client_record *c, const lock_spec *spec)
{
  uint64_t most = dialect_permits_max(&c->names, spec->kind);

  if (spec->units <= most)
    return one_place_check(c);
  return client_refuse_with(c, DIBS_ERR_ARGUMENT,
                            "permits are %" PRIu64 "; allowed are 1 to %" PRIu64 " with a lease",
                            spec->units, most);
}

/* What is renewed has a lease that no peer shortens. A fixed one has the length that was asked for.
 * A fixed lease of a writer may have any length, since dibs_downgrade() refuses a long one. */
static dibs_status readers_check(client_record *c, lock_spec *spec)
{
  const dialect_traits *traits = &c->names.dialect->traits;
  span most = span_ms(traits->readers_ttl_ms);

  if (most.ns == 0 || spec->ttl.ns <= most.ns || (spec->is_fixed && !spec->reads))
    return DIBS_OK;
  if (spec->is_fixed)
    return client_refuse_with(c, DIBS_ERR_UNSUPPORTED,
                              "a fixed lease to read of the dialect %s is at most %" PRId32
                              " ms, as the watchdog of another reader may shorten it; it is %"
                              PRId64 " ms; %s", traits->name, traits->readers_ttl_ms,
                              span_to_ms(spec->ttl), traits->guide);
  spec->ttl = most;
  return DIBS_OK;
}

/* Whether the dialect of this client has this kind of lock. */
static dibs_status dialect_check(client_record *c, lock_call *call)
{
  const dialect_traits *traits = &c->names.dialect->traits;
  lock_spec *spec = &call->spec;
  dibs_status status = kind_check(c, spec);

  if (status != DIBS_OK)
    return status;
  if (call->value != NULL)
    return native_check(c, "elections");
  if (kind_has_permits(spec->kind))
    return traits->has_shares ? permits_check(c, spec) : native_check(c, "permits");
  if (kind_is_exclusive(spec->kind))
    return DIBS_OK;
  return traits->has_shares ? readers_check(c, spec) : native_check(c, "read/write locks");
}

dibs_status name_check(client_record *c, const void *name, size_t size)
{
  const char *fault = name == NULL ? "name is NULL" : dialect_name_fault(&c->names, name, size);
  char words[160];
  text why = text_over(words, sizeof(words));

  if (fault == NULL)
    return DIBS_OK;
  text_add(&why, fault);
  if (name != NULL && size > 0 && size <= DIBS_NAME_MAX) {
    text_add(&why, ": ");
    text_add_quoted(&why, name, size);
  }
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

/* Stops after the longest name: a longer one may lack its final zero. */
static size_t size_of(const char *name)
{
  return name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1);
}

lock_call lock_call_of_bytes(lock_kind kind, const void *name, size_t name_size)
{
  return (lock_call){ .spec = { .kind = kind, .name = name, .name_size = name_size, .units = 1 } };
}

lock_call lock_call_of(lock_kind kind, const char *name)
{
  return lock_call_of_bytes(kind, name, size_of(name));
}

static dibs_status names_check(client_record *c, const lock_spec *spec)
{
  dibs_status status = DIBS_OK;

  if (!spec_is_many(spec))
    return name_check(c, spec->name, spec->name_size);
  for (size_t i = 0; i < spec->name_count && status == DIBS_OK; i++)
    status = name_check(c, spec->names[i].name, spec->names[i].size);
  return status;
}

/* Why this kind of thing cannot be taken with these options, or NULL. */
static const char *options_fault(const client_record *c, const lock_call *call)
{
  const lock_spec *spec = &call->spec;
  bool is_mutex = spec_is_mutex(spec) && call->value == NULL;

  if (spec->kind == LOCK_FENCED && spec_is_many(spec))
    return "DIBS_LOCK_FENCED: each name has a count of its own, and several have no fence in "
           "common; leave it out, or take one name";
  if (spec->linger.ns != 0 && !is_mutex)
    return "linger_ms is for dibs_lock() and its like only; leave it 0 here";
  if (spec->min_replicas != 0 && !is_mutex)
    return "min_replicas is for dibs_lock() and its like only; leave it 0 here";
  if (spec->min_replicas != 0 && c->servers.kind == DEPLOYMENT_QUORUM)
    return "min_replicas: the servers of a quorum are what acknowledges; leave it 0";
  return NULL;
}

/* Checks without a mutex; the most helpful errors first. */
static dibs_status lock_check(client_record *c, lock_call *call,
                              const dibs_lock_options *options, bool is_blocking)
{
  char words[256];
  text why = text_over(words, sizeof(words));
  dibs_status status = call->check == NULL ? DIBS_OK : call->check(c, call);
  const char *fault;

  if (status == DIBS_OK)
    status = names_check(c, &call->spec);
  if (status != DIBS_OK)
    return status;
  if (!spec_is_many(&call->spec))
    dialect_spell(&c->names, &call->spec.name, &call->spec.name_size);
  status = lock_options_read(options, is_blocking, &c->times, call, &why);
  if (status != DIBS_OK)
    return client_refuse(c, status, words);
  status = dialect_check(c, call);
  if (status != DIBS_OK)
    return status;
  fault = options_fault(c, call);
  return fault == NULL ? DIBS_OK : client_refuse(c, DIBS_ERR_ARGUMENT, fault);
}

/* ---- callbacks of a claim ---- */

static void lock_run(drive_job *job)
{
  const claim *cl = RECORD_OF(claim, lock_job, job);
  bool is_held = cl->asked.status == DIBS_OK;
  dibs_error room = DIBS_ERROR_INIT;

  cl->on_lock(is_held ? &room : outcome_error(&cl->asked, &room),
              is_held ? cl->granted_hold : NULL, cl->on_lock_data);
}

static void lock_finish(drive_job *job)
{
  claim *cl = RECORD_OF(claim, lock_job, job);

  cl->jobs--;
  claim_settle(cl);
}

static claim *claim_make(client_record *c, const lock_call *call)
{
  claim *cl = claim_new(c, &call->spec);

  if (cl == NULL)
    return NULL;
  cl->lock_job = (drive_job){ .run = lock_run, .finish = lock_finish };
  if (call->value != NULL) {
    cl->campaign = campaign_new(&c->memory, call->value, span_to_ms(call->spec.ttl));
    if (cl->campaign == NULL)
      return claim_free(cl);
  }
  return cl;
}

/* ---- blocking ---- */

/* Mutex held. Afterwards `cl` is a hold or has ended. A short lease may be lost, and its on_lost
 * may release it, before this thread gets the mutex again: the hold is stale then. */
static dibs_status lock_wait(claim *cl, const lock_call *call, dibs_hold **ret_hold)
{
  client_record *c = cl->client;
  drive_waiter waiter;
  dibs_status status;

  drive_waiter_init(&waiter);
  cl->taker = &waiter;
  if ((c->flags & DIBS_CLIENT_DETECT_DEADLOCK) != 0)
    deadlock_wait(cl, &waiter);
  else
    (void)drive_wait(c->drive, &waiter, INSTANT_NEVER);
  cl->taker = NULL;
  status = outcome_note(&cl->asked, c);
  if (status == DIBS_OK && cl->is_over && c->is_closing)
    status = DIBS_ERR_CLOSED;            /* granted, then released by a dibs_close() */
  if (status == DIBS_OK)
    *ret_hold = cl->granted_hold;
  else
    *call->over = watch_take(cl);
  claim_settle(cl);
  return status;
}

static bool wants_callbacks(const lock_call *call)
{
  return call->on_lost != NULL || call->on_change != NULL || !watch_data_is_empty(call->over);
}

/* Others need the thread of the call, or wait in their own way. */
static bool any_thread_may_begin(const client_record *c, const lock_call *call)
{
  return (c->flags & DIBS_CLIENT_DETECT_DEADLOCK) == 0 && c->local == NULL &&
         call->cancel == NULL && !wants_callbacks(call) &&
         !drive_is_in_callback();
}

static dibs_status lock_blocking(client_record *c, lock_call *call,
                                 const dibs_lock_options *options, bool is_try,
                                 dibs_hold **ret_hold)
{
  dibs_status status = lock_check(c, call, options, true);
  claim *cl;

  if (status != DIBS_OK)
    return status;
  if (ret_hold == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ret_hold is NULL");
  call->spec.is_try = is_try;
  cl = claim_make(c, call);
  if (cl == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  retake_prepare(cl, call, options);
  if (any_thread_may_begin(c, call))
    return blocked_lock(cl, call, ret_hold);
  status = client_enter(c, true);
  if (status != DIBS_OK) {
    (void)claim_free(cl);
    return status;
  }
  if (wants_callbacks(call))
    status = client_callbacks(c);
  if (status == DIBS_OK)
    status = claim_begin(cl, call);
  if (status == DIBS_OK)
    status = lock_wait(cl, call, ret_hold);
  else
    (void)claim_free(cl);
  client_leave(c);
  return status;
}

dibs_status take_blocking(dibs_client *client, lock_call *call,
                          const dibs_lock_options *options, bool is_try,
                          dibs_hold **ret_hold)
{
  watch_data over = lock_options_data(options);
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  call->over = &over;
  if (status == DIBS_OK)
    status = client_end(c, lock_blocking(c, call, options, is_try, ret_hold));
  call->over = NULL;
  return watch_data_end(&over, status);
}

dibs_status dibs_lock(dibs_client *client, const char *name,
                      const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call;

  if (retake(client, name, size_of(name), options, ret_hold))
    return DIBS_OK;
  call = lock_call_of(LOCK_MUTEX, name);
  return take_blocking(client, &call, options, false, ret_hold);
}

dibs_status dibs_try_lock(dibs_client *client, const char *name,
                          const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call;

  if (retake(client, name, size_of(name), options, ret_hold))
    return DIBS_OK;
  call = lock_call_of(LOCK_MUTEX, name);
  return take_blocking(client, &call, options, true, ret_hold);
}

/* ---- with a callback ---- */

static dibs_status lock_start(claim *cl, lock_call *call, dibs_request **ret_request)
{
  client_record *c = cl->client;
  dibs_request *pending = handle_value(cl->request);
  dibs_status status = client_callbacks(c);

  if (status == DIBS_OK)
    status = claim_begin(cl, call);
  if (status == DIBS_CANCELLED) {        /* fired before: a normal end */
    cl->is_over = true;
    cl->asked.status = DIBS_CANCELLED;
    claim_list_join(cl);
    claim_end_request(cl);
    claim_queue(cl, &cl->lock_job);
    status = DIBS_OK;
  }
  if (status != DIBS_OK)
    return status;
  if (ret_request != NULL)
    *ret_request = pending;
  drive_flush(c->drive);
  return DIBS_OK;
}

static dibs_status lock_async(client_record *c, lock_call *call,
                              const dibs_lock_options *options, bool is_try,
                              dibs_lock_callback callback, void *data,
                              dibs_request **ret_request)
{
  dibs_status status = lock_check(c, call, options, false);
  claim *cl;

  if (status != DIBS_OK)
    return status;
  if (callback == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "callback is NULL");
  call->spec.is_try = is_try;
  cl = claim_make(c, call);
  if (cl != NULL)
    cl->request = handle_new(HANDLE_REQUEST, cl, c->handle_word);
  if (cl == NULL || cl->request == NULL) {
    (void)claim_free(cl);
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  cl->on_lock = callback;
  cl->on_lock_data = data;
  status = client_enter(c, false);
  if (status == DIBS_OK) {
    status = lock_start(cl, call, ret_request);
    if (status != DIBS_OK)
      (void)claim_free(cl);
    client_leave(c);
    return status;
  }
  (void)claim_free(cl);
  return status;
}

dibs_status take_async(dibs_client *client, lock_call *call,
                       const dibs_lock_options *options, bool is_try,
                       dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  watch_data over = lock_options_data(options);
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  call->over = &over;
  if (status == DIBS_OK)
    status = client_end(c, lock_async(c, call, options, is_try, callback, data, ret_request));
  call->over = NULL;
  return watch_data_end(&over, status);
}

dibs_status dibs_lock_async(dibs_client *client, const char *name,
                            const dibs_lock_options *options, dibs_lock_callback callback,
                            void *data, dibs_request **ret_request)
{
  lock_call call = lock_call_of(LOCK_MUTEX, name);

  return take_async(client, &call, options, false, callback, data, ret_request);
}

dibs_status dibs_request_cancel(dibs_request *pending)
{
  entry in;
  dibs_status status = claim_enter(pending, HANDLE_REQUEST, false, &in);

  if (status == DIBS_ERR_STALE)
    return wait_request_cancel(pending);       /* of another kind, or not a request */
  if (status != DIBS_OK)
    return status;
  if (!degrade_cancel(in.claim) && !campaign_cancel(in.claim) &&
      !engine_cancel(drive_engine(in.client->drive), in.claim->id, drive_now()))
    status = DIBS_ERR_STALE;
  drive_flush(in.client->drive);
  return claim_leave(&in, status);
}
