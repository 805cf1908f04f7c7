/* SPDX-License-Identifier: MIT */
/* api/lock.c - taking a lock of any kind, blocking or not. */
#include "api/deadlock.h"
#include "api/degrade.h"
#include "api/wait.h"
#include "api/leading.h"

#include <stddef.h>
#include <string.h>

/* ---- what all ways in check ---- */

dibs_status one_place_check(dibs_client *c)
{
  if (c == NULL || c->servers.kind != DEPLOYMENT_QUORUM)
    return DIBS_OK;
  return client_refuse(c, DIBS_ERR_UNSUPPORTED, "a quorum has exclusive and read/write locks, "
                                                "and nothing else");
}

dibs_status native_check(dibs_client *c, const char *what)
{
  char words[200];
  text why = text_over(words, sizeof(words));

  if (c->names.dialect == DIALECT_NATIVE)
    return DIBS_OK;
  text_add(&why, "the dialect ");
  text_add(&why, dialect_traits_of(&c->names)->name);
  text_add(&why, " has no ");
  text_add(&why, what);
  text_add(&why, " here; ");
  text_add(&why, dialect_traits_of(&c->names)->guide);
  return client_refuse(c, DIBS_ERR_UNSUPPORTED, words);
}

#define WITHOUT_FLAVOURS \
  "leave DIBS_LOCK_FAIR, DIBS_LOCK_SPIN and DIBS_LOCK_FENCED (--fair, --spin, --fenced) out"

static dibs_status flavour_check(dibs_client *c, const lock_target *target, lock_plan *plan)
{
  bool is_unleased = plan->flavour == FLAVOUR_UNLEASED;

  if (is_unleased && target->kind != LOCK_PERMITS)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "DIBS_PERMITS_PLAIN is for permits only");
  if (plan->flavour != FLAVOUR_PLAIN && !is_unleased && target->kind != LOCK_MUTEX)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "DIBS_LOCK_FAIR, DIBS_LOCK_SPIN and "
                         "DIBS_LOCK_FENCED are for dibs_lock() and its like only");
  if (c->names.dialect != DIALECT_NATIVE) {
    if (target->kind != LOCK_MUTEX || plan->flavour == FLAVOUR_PLAIN)
      return DIBS_OK;
    if (c->servers.kind == DEPLOYMENT_QUORUM)
      return client_refuse(c, DIBS_ERR_UNSUPPORTED, "a quorum has one kind of exclusive lock in "
                                                    "this dialect: " WITHOUT_FLAVOURS);
    if (dialect_traits_of(&c->names)->has_flavours)
      return DIBS_OK;
    return native_check(c, "kinds of exclusive locks: " WITHOUT_FLAVOURS);
  }
  if (is_unleased)
    return client_refuse(c, DIBS_ERR_UNSUPPORTED, "native permits are leases; leave "
                                                  "DIBS_PERMITS_PLAIN (--plain-permits) out");
  if (plan->flavour == FLAVOUR_SPIN)
    return client_refuse(c, DIBS_ERR_UNSUPPORTED, "native locks do not spin: who waits is "
                                                  "told; leave DIBS_LOCK_SPIN (--spin) out");
  plan->flavour = FLAVOUR_PLAIN;           /* all of them are fair and fenced */
  return DIBS_OK;
}

static dibs_status units_check(dibs_client *c, const lock_target *target, const lock_plan *plan)
{
  char words[96];
  text why = text_over(words, sizeof(words));
  uint64_t most = dialect_permits_max(&c->names, plan->flavour);

  if (target->units <= most)
    return DIBS_OK;
  text_add(&why, "permits are ");
  text_add_uint(&why, target->units);
  text_add(&why, "; allowed are 1 to ");
  text_add_uint(&why, most);
  text_add(&why, " with a lease");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

/* Whether the dialect of this client has such a lock. */
static dibs_status dialect_check(dibs_client *c, const lock_target *target, lock_plan *plan)
{
  const dialect_traits *traits = dialect_traits_of(&c->names);
  dibs_status status = flavour_check(c, target, plan);

  if (status != DIBS_OK)
    return status;
  if (target->value != NULL)
    return native_check(c, "elections");
  if (target->kind == LOCK_PERMITS)
    return traits->has_shares ? units_check(c, target, plan) : native_check(c, "permits");
  return target->kind == LOCK_MUTEX || target->kind == LOCK_MANY || traits->has_shares
           ? DIBS_OK : native_check(c, "read/write locks");
}

dibs_status name_check(dibs_client *c, const void *name, size_t size)
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

/* Not further than matters: a name that is too long may lack its final zero. */
static size_t name_size_of(const char *name)
{
  return name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1);
}

lock_target lock_target_of(lock_kind kind, const char *name)
{
  return (lock_target){ .kind = kind, .name = name, .name_size = name_size_of(name),
                        .units = 1 };
}

static dibs_status target_check(dibs_client *c, const lock_target *target)
{
  dibs_status status = DIBS_OK;

  if (target->kind != LOCK_MANY)
    return name_check(c, target->name, target->name_size);
  for (size_t i = 0; i < target->name_count && status == DIBS_OK; i++)
    status = name_check(c, target->names[i].name, target->names[i].size);
  return status;
}

/* Checks that need no mutex, in the order in which their answers help most. */
static dibs_status lock_check(dibs_client *c, const lock_target *target,
                              const dibs_lock_options *options, bool is_blocking,
                              lock_plan *ret_plan)
{
  char words[256];
  text why = text_over(words, sizeof(words));
  dibs_status status = client_may_call(c, is_blocking);

  if (status != DIBS_OK)
    return status;
  status = target_check(c, target);
  if (status != DIBS_OK)
    return status;
  status = lock_options_read(options, is_blocking, c->times.renew_every_ms, ret_plan, &why);
  if (status == DIBS_OK) {
    status = dialect_check(c, target, ret_plan);
    if (status != DIBS_OK)
      return status;
  }
  if (status == DIBS_OK && ret_plan->linger_ms != 0 &&
      (target->kind != LOCK_MUTEX || target->value != NULL)) {
    text_add(&why, "linger_ms is for dibs_lock() and its like only; leave it 0 here");
    status = DIBS_ERR_ARGUMENT;
  }
  if (status == DIBS_OK && ret_plan->min_replicas != 0 &&
      (target->kind != LOCK_MUTEX || target->value != NULL)) {
    text_add(&why, "min_replicas is for dibs_lock() and its like only; leave it 0 here");
    status = DIBS_ERR_ARGUMENT;
  }
  if (status == DIBS_OK && ret_plan->min_replicas != 0 &&
      c->servers.kind == DEPLOYMENT_QUORUM) {
    text_add(&why, "min_replicas: the servers of a quorum are what acknowledges; leave it 0");
    status = DIBS_ERR_ARGUMENT;
  }
  return status == DIBS_OK ? DIBS_OK : client_refuse(c, status, words);
}

/* ---- callbacks of a claim ---- */

#define CLAIM_OF(job, member) ((claim *)(void *)((char *)(job) - offsetof(claim, member)))

static void lock_run(drive_job *job)
{
  claim *cl = CLAIM_OF(job, lock_job);

  cl->on_lock(cl->lock_status, cl->lock_status == DIBS_OK ? cl->granted_hold : NULL,
              cl->on_lock_data);
}

static void lock_finish(drive_job *job)
{
  claim *cl = CLAIM_OF(job, lock_job);

  cl->jobs--;
  claim_settle(cl);
}

static void lost_run(drive_job *job)
{
  claim *cl = CLAIM_OF(job, lost_job);

  cl->on_lost(cl->lost_hold, cl->lost_why, cl->on_lost_data);
}

static void lost_finish(drive_job *job)
{
  claim *cl = CLAIM_OF(job, lost_job);

  cl->jobs--;
  claim_settle(cl);
}

static claim *claim_make(dibs_client *c, const lock_target *target, const lock_plan *plan)
{
  bool is_named = target->kind != LOCK_MANY;
  claim *cl = claim_new(c, is_named ? target->name : "", is_named ? target->name_size : 0);

  if (cl == NULL)
    return NULL;
  cl->lock_job = (drive_job){ .run = lock_run, .finish = lock_finish };
  cl->lost_job = (drive_job){ .run = lost_run, .finish = lost_finish };
  if (target->value != NULL) {
    cl->leading = leading_new(&c->memory, target->value, plan->ttl_ms);
    if (cl->leading == NULL)
      return claim_free(cl);
  }
  return cl;
}

/* ---- blocking ---- */

/* Mutex held. What remains of `cl` afterwards is a hold or nothing. */
static dibs_status lock_wait(claim *cl, dibs_hold **ret_hold)
{
  dibs_client *c = cl->client;
  drive_waiter waiter;
  dibs_status status;

  drive_waiter_init(&waiter);
  cl->waiter = &waiter;
  if ((c->flags & DIBS_CLIENT_DETECT_DEADLOCK) != 0)
    deadlock_wait(cl, &waiter);
  else
    (void)drive_wait(c->drive, &waiter, INSTANT_NEVER);
  cl->waiter = NULL;
  status = cl->status;
  if (status == DIBS_OK && cl->is_over)
    status = DIBS_ERR_CLOSED;            /* granted, and given back by a dibs_close() since */
  if (status == DIBS_OK)
    *ret_hold = cl->granted_hold;
  else
    claim_settle(cl);
  return status;
}

dibs_status lock_blocking(dibs_client *c, const lock_target *target,
                          const dibs_lock_options *options, bool is_try,
                          dibs_hold **ret_hold)
{
  lock_plan plan;
  dibs_status status = lock_check(c, target, options, true, &plan);
  claim *cl;

  if (status != DIBS_OK)
    return status;
  if (ret_hold == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ret_hold is NULL");
  cl = claim_make(c, target, &plan);
  if (cl == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  status = client_enter(c, true);
  if (status != DIBS_OK) {
    (void)claim_free(cl);
    return status;
  }
  if (plan.on_lost != NULL)
    status = drive_callbacks_prepare(c->drive);
  if (status == DIBS_OK)
    status = claim_begin(cl, target, &plan, is_try);
  if (status == DIBS_OK)
    status = lock_wait(cl, ret_hold);
  else
    (void)claim_free(cl);
  client_leave(c);
  return status;
}

static lock_target mutex_of(const void *name, size_t size)
{
  return (lock_target){ .kind = LOCK_MUTEX, .name = name, .name_size = size, .units = 1 };
}

dibs_status dibs_lock_bytes(dibs_client *client, const void *name, size_t name_size,
                            const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = mutex_of(name, name_size);

  return lock_blocking(client, &target, options, false, ret_hold);
}

dibs_status dibs_try_lock_bytes(dibs_client *client, const void *name, size_t name_size,
                                const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = mutex_of(name, name_size);

  return lock_blocking(client, &target, options, true, ret_hold);
}

dibs_status dibs_lock(dibs_client *client, const char *name,
                      const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = lock_target_of(LOCK_MUTEX, name);

  return lock_blocking(client, &target, options, false, ret_hold);
}

dibs_status dibs_try_lock(dibs_client *client, const char *name,
                          const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = lock_target_of(LOCK_MUTEX, name);

  return lock_blocking(client, &target, options, true, ret_hold);
}

/* ---- with a callback ---- */

static dibs_status lock_start(claim *cl, const lock_target *target, const lock_plan *plan,
                              bool is_try, dibs_request **ret_request)
{
  dibs_client *c = cl->client;
  dibs_request *request = handle_value(cl->request);
  dibs_status status = drive_callbacks_prepare(c->drive);

  if (status == DIBS_OK)
    status = claim_begin(cl, target, plan, is_try);
  if (status == DIBS_CANCELLED) {        /* fired before: an ending like any other */
    cl->is_over = true;
    cl->status = cl->lock_status = DIBS_CANCELLED;
    claim_list_join(cl);
    claim_end_request(cl);
    claim_queue(cl, &cl->lock_job);
    status = DIBS_OK;
  }
  if (status != DIBS_OK)
    return status;
  if (ret_request != NULL)
    *ret_request = request;
  drive_settle(c->drive);
  return DIBS_OK;
}

dibs_status lock_async(dibs_client *c, const lock_target *target,
                       const dibs_lock_options *options, bool is_try,
                       dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  lock_plan plan;
  dibs_status status = lock_check(c, target, options, false, &plan);
  claim *cl;

  if (status != DIBS_OK)
    return status;
  if (callback == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "callback is NULL");
  cl = claim_make(c, target, &plan);
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
    status = lock_start(cl, target, &plan, is_try, ret_request);
    if (status != DIBS_OK)
      (void)claim_free(cl);
    client_leave(c);
    return status;
  }
  (void)claim_free(cl);
  return status;
}

dibs_status dibs_lock_async(dibs_client *client, const char *name,
                            const dibs_lock_options *options, dibs_lock_callback callback,
                            void *data, dibs_request **ret_request)
{
  lock_target target = lock_target_of(LOCK_MUTEX, name);

  return lock_async(client, &target, options, false, callback, data, ret_request);
}

dibs_status dibs_try_lock_async(dibs_client *client, const char *name,
                                const dibs_lock_options *options,
                                dibs_lock_callback callback, void *data,
                                dibs_request **ret_request)
{
  lock_target target = lock_target_of(LOCK_MUTEX, name);

  return lock_async(client, &target, options, true, callback, data, ret_request);
}

dibs_status dibs_request_cancel(dibs_request *request)
{
  entry in;
  dibs_status status = claim_enter(request, HANDLE_REQUEST, false, &in);

  if (status == DIBS_ERR_STALE)
    return wait_request_cancel(request);       /* of another kind, or of none */
  if (status != DIBS_OK)
    return status;
  if (!degrade_cancel(in.claim) &&
      !engine_cancel(drive_engine(in.client->drive), in.claim->id, drive_now()))
    status = DIBS_ERR_STALE;
  drive_settle(in.client->drive);
  claim_leave(&in);
  return status;
}
