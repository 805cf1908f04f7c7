/* SPDX-License-Identifier: MIT */
/* api/observer.c - observers of an election: report each change of the leader that
 * election_observe_row of sync/election.h sees. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/leader.h"
#include "api/wait.h"
#include "base/descriptor.h"

typedef struct observer {
  wait wait;
  handle *handle;                    /* NULL: ended */
  dibs_leader_callback callback;
  void *data;
  callback_data over;                /* the same data; freed when the record is */
  int fd;                            /* -1: not asked for */
  bool is_new;                       /* `seen.state` or `fault`: not yet taken or reported */
  bool has_reported;
  election_op seen;
  outcome fault;                     /* DIBS_OK, or why the server cannot be seen */
  leader_state reported;             /* the last that the program got */
  dibs_status reported_fault;
} observer;

static observer *observer_of(wait *w)
{
  return (observer *)(void *)w;
}

/* ---- news ---- */

static void ring(const observer *o)
{
  uint64_t one = 1;

  if (o->fd >= 0)
    (void)!write(o->fd, &one, sizeof(one));     /* full only when it is already readable */
}

/* The descriptor of an observation that is over stays readable. */
static void silence(const observer *o)
{
  uint64_t rung;

  if (o->fd >= 0 && !o->wait.is_over)
    (void)!read(o->fd, &rung, sizeof(rung));
}

/* Mutex held. */
static void observer_news(wait *w, const effect *e)
{
  observer *o = observer_of(w);

  (void)outcome_set(&o->fault, w->client, e->status, e->text);
  o->is_new = !o->has_reported || o->fault.status != o->reported_fault ||
              !leader_is_same(&o->seen.state, &o->reported);
  if (!o->is_new)
    silence(o);                      /* it changed and changed back before a report */
  else if (o->callback != NULL)
    wait_report(&o->wait);
  else
    ring(o);
}

/* ---- reports ---- */

/* Mutex held. false: nothing new. */
static bool take(observer *o, leader_state *ret_state)
{
  if (!o->is_new)
    return false;
  o->is_new = false;
  o->has_reported = true;
  *ret_state = o->reported = o->seen.state;
  o->reported_fault = o->fault.status;
  return true;
}

/* Whether its end is to be reported, too: not if it was freed in the callback, or this is a child
 * that the callback has made, which does not wait for the mutex. */
static bool goes_on(const wait *w)
{
  bool is_stopped;

  if (drive_is_forked(w->client->drive))
    return false;
  drive_lock(w->client->drive);
  is_stopped = w->is_stopped;
  drive_unlock(w->client->drive);
  return !is_stopped;
}

/* Reports changes before the end, then the end, unless the program closes the client. */
static void observer_report(wait *w, const dibs_error *error)
{
  observer *o = observer_of(w);
  dibs_error room, fault;
  leader_state state;
  dibs_leader leader;
  dibs_party party;
  callback_data over = { .free = NULL };
  bool is_new;

  drive_lock(w->client->drive);
  is_new = take(o, &state);
  fault = *outcome_error(&o->fault, &room);
  drive_unlock(w->client->drive);
  if (is_new) {
    leader = leader_show(&state, &fault, &party);
    o->callback(&fault, &leader, o->data);
  }
  if (error->status != DIBS_OK && error->status != DIBS_ERR_CLOSED && goes_on(w))
    o->callback(error, NULL, o->data);
  if (drive_is_forked(w->client->drive))
    return;
  drive_lock(w->client->drive);
  if (w->is_stopped) {                 /* in this callback: any other thread waits for its end */
    over = o->over;
    o->over.free = NULL;
  }
  drive_unlock(w->client->drive);
  (void)callback_data_end(&over, DIBS_OK);
}

/* Mutex held. */
static void observer_ended(wait *w)
{
  observer *o = observer_of(w);

  if (w->end.status == DIBS_ERR_CLOSED)
    return;                          /* the program closes the client, so no report is needed */
  if (o->callback != NULL)
    wait_report(w);
  else
    ring(o);
}

static void observer_end_handle(observer *o)
{
  if (o->handle != NULL)
    handle_end(o->handle);
  o->handle = NULL;
}

static void observer_deinit(wait *w)
{
  observer *o = observer_of(w);

  observer_end_handle(o);
  if (o->fd >= 0)
    descriptor_close(o->fd);
  o->fd = -1;
  outcome_clear(&o->fault);
  (void)callback_data_end(&o->over, DIBS_OK);    /* of dibs_close(): no mutex is held */
}

static const wait_kind observer_kind = { .news = observer_news, .report = observer_report,
                                         .ended = observer_ended, .deinit = observer_deinit };

/* ---- calls ---- */

static dibs_status observer_start(client_record *c, const char *name,
                                  dibs_leader_callback callback, callback_data *over,
                                  dibs_observer **ret_observer)
{
  wait_plan plan;
  observer *o;
  dibs_observer *value;
  dibs_status status = wait_check(c, name, NULL, &plan);

  if (status == DIBS_OK)
    status = native_check(c, "elections");
  if (status != DIBS_OK)
    return status;
  if (ret_observer == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ret_observer is NULL");
  o = (observer *)(void *)wait_new(c, &observer_kind, sizeof(*o));
  if (o == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  o->fd = -1;
  o->callback = callback;
  o->data = over->data;
  o->handle = handle_new(HANDLE_OBSERVER, o, c->handle_word);
  if (o->handle == NULL) {
    (void)wait_free(&o->wait);
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  value = handle_value(o->handle);
  o->over = *over;
  o->seen = (election_op){ .op.row = &election_observe_row, .name = name,
                           .name_size = strlen(name) };
  o->wait.op = &o->seen.op;
  status = wait_start(&o->wait);
  if (status != DIBS_OK) {
    o->over.free = NULL;
    (void)wait_free(&o->wait);
  } else {
    over->free = NULL;
    *ret_observer = value;
  }
  return status;
}

dibs_status dibs_observe(dibs_client *client, const char *name, dibs_leader_callback callback,
                         void *data, dibs_free_callback data_free, dibs_observer **ret_observer)
{
  callback_data over = { .free = data_free, .data = data };
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status == DIBS_OK)
    status = client_end(c, observer_start(c, name, callback, &over, ret_observer));
  return callback_data_end(&over, status);
}

/* As claim_enter(): the client's mutex is held, and claim_leave() must follow. */
static dibs_status observer_enter(const dibs_observer *value, entry *ret_entry,
                                  observer **ret_observer)
{
  dibs_status status = claim_enter(value, HANDLE_OBSERVER, false, ret_entry);

  if (status == DIBS_OK)
    *ret_observer = observer_of(ret_entry->wait);
  return status;
}

int dibs_observer_fd(dibs_observer *value)
{
  last_call kept = fault_keep();
  dibs_status status = DIBS_OK;
  entry in;
  observer *o;
  int fd = -1;

  if (observer_enter(value, &in, &o) == DIBS_OK) {
    if (o->fd < 0)
      o->fd = descriptor_keep(eventfd(o->is_new || o->wait.is_over ? 1 : 0,
                                      EFD_CLOEXEC | EFD_NONBLOCK));
    if (o->fd < 0)
      status = descriptor_fault(in.client, "an observer", errno);
    fd = o->fd;
    (void)claim_leave(&in, status);
  }
  if (status == DIBS_OK)
    fault_restore(&kept);
  return fd;
}

dibs_status dibs_observer_next(dibs_observer *value, dibs_leader **ret_leader)
{
  entry in;
  observer *o;
  leader_state state;
  dibs_leader *leader;
  dibs_error room;
  dibs_status status;

  if (ret_leader == NULL)
    return fault_end_with(NULL, DIBS_ERR_ARGUMENT, "ret_leader is NULL");
  status = observer_enter(value, &in, &o);
  if (status != DIBS_OK)
    return status;
  leader = o->is_new ? leader_copy(&in.client->memory, &o->seen.state,
                                   outcome_error(&o->fault, &room)) : NULL;
  if (o->is_new && leader == NULL) {
    status = client_fault(in.client, DIBS_ERR_NO_MEMORY, "");
  } else if (!take(o, &state)) {
    status = o->wait.is_over ? outcome_note(&o->wait.end, in.client) : DIBS_BUSY;
  } else {
    *ret_leader = leader;
    silence(o);
  }
  return claim_leave(&in, status);
}

static void observer_free(const dibs_observer *value)
{
  callback_data over = { .free = NULL };
  entry in;
  observer *o;

  if (observer_enter(value, &in, &o) != DIBS_OK)
    return;
  observer_end_handle(o);            /* so that it is freed once */
  if (drive_running_job() != &o->wait.job) {
    over = o->over;
    o->over.free = NULL;
  }
  drive_unlock(in.client->drive);    /* the call is still inside: dibs_close() waits for it */
  wait_stop(&o->wait);
  drive_lock(in.client->drive);
  (void)callback_data_end(&over, claim_leave(&in, DIBS_OK));
}

dibs_observer *dibs_observer_free(dibs_observer *value)
{
  last_call kept = fault_keep();

  observer_free(value);
  fault_restore(&kept);
  return NULL;
}
