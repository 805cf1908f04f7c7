/* SPDX-License-Identifier: MIT */
/* api/hold.c - queries and release of a hold. */
#include "api/api.h"
#include "api/degrade.h"
#include "api/campaign.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.h"

/* ---- without the mutex ---- */

/* False for stale, forked and ended holds. */
static bool hold_look(const dibs_hold *hold, handle_view *ret_view)
{
  return handle_look(hold, HANDLE_HOLD, ret_view) && ret_view->epoch == fork_epoch();
}

static int64_t valid_ns(const handle_view *v)
{
  int64_t now = drive_now().ns;

  /* A hold has ended at its deadline, even when the loss was not reported yet. */
  return v->condition == DIBS_HOLD_GONE || now >= v->valid_until_ns ? 0 : v->valid_until_ns - now;
}

dibs_hold_condition dibs_hold_state(const dibs_hold *hold)
{
  handle_view v;

  if (!hold_look(hold, &v) || valid_ns(&v) == 0)
    return DIBS_HOLD_GONE;
  return (dibs_hold_condition)v.condition;
}

int64_t dibs_hold_valid_ms(const dibs_hold *hold)
{
  handle_view v;

  return hold_look(hold, &v) ? valid_ns(&v) / 1000000 : 0;
}

uint64_t dibs_hold_fence(const dibs_hold *hold)
{
  handle_view v;

  return hold_look(hold, &v) ? v.fence : 0;
}

void hold_info_read(const handle_view *v, dibs_hold_info *ret_info)
{
  int64_t left_ns = valid_ns(v);

  *ret_info = (dibs_hold_info){
    .size = sizeof(*ret_info),
    .state = left_ns == 0 ? DIBS_HOLD_GONE : (int32_t)v->condition,
    .depth = (uint32_t)v->depth,
    .units = v->units,
    .durability = (int32_t)(v->durability >> 56),
    .acknowledged = (uint32_t)(v->durability >> 28) & 0xfffffff,
    .wanted = (uint32_t)v->durability & 0xfffffff,
    .fence = v->fence,
    .valid_ms = left_ns / 1000000,
  };
}

dibs_status dibs_hold_get_info(const dibs_hold *hold, dibs_hold_info *ret_info)
{
  dibs_hold_info i = DIBS_HOLD_INFO_INIT;
  handle_view v;

  if (ret_info == NULL || !record_size_is_set(ret_info->size))
    return fault_end_with(NULL, DIBS_ERR_ARGUMENT,
                          "dibs_hold_info.size is not set: start from DIBS_HOLD_INFO_INIT");
  if (!hold_look(hold, &v) || v.durability == 0)
    return fault_end(NULL, DIBS_ERR_STALE);
  hold_info_read(&v, &i);
  record_give(ret_info, &i, sizeof(i));
  return fault_end(NULL, DIBS_OK);
}

/* ---- with it ---- */

#define NOT_HERE "a lock of this machine has no token: no server knows of it"
#define NOT_ONE \
  "it is several leases, on a quorum, in several slots or of another dialect, and has no token"

/* Mutex held. Returns why the hold cannot be passed on by a token, or NULL. */
static const char *why_no_token(const claim *cl)
{
  if (local_claim_is(cl, LOCAL_HELD))
    return NOT_HERE;
  return engine_hold_is_one_lease(drive_engine(cl->client->drive), cl->id) ? NULL : NOT_ONE;
}

int dibs_hold_fd(dibs_hold *hold)
{
  entry in;
  handle *h;
  handle_view v;
  int fd;

  if (claim_enter(hold, HANDLE_HOLD, false, &in) != DIBS_OK)
    return -1;
  h = in.claim->hold;
  fd = atomic_load(&h->fd);
  if (fd < 0) {
    bool is_over = !hold_look(hold, &v) || valid_ns(&v) == 0;

    fd = descriptor_keep(eventfd(is_over ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
    atomic_store(&h->fd, fd);
  }
  (void)claim_leave(&in, fd >= 0 ? DIBS_OK : descriptor_fault(in.client, "a hold", errno));
  return fd;
}

#define SHARED "other readers of this client share its lease; DIBS_LOCK_NO_REENTRY reads alone"
#define NESTED \
  "its owner has another hold of this lease, which would end with the token; release that first"

dibs_status dibs_hold_token(const dibs_hold *hold, char *ret_text, size_t text_size)
{
  char words[DIBS_TOKEN_SIZE];
  text token = text_over(words, sizeof(words));
  text out;
  entry in;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, false, &in);

  if (status != DIBS_OK)
    return status;
  if (why_no_token(in.claim) != NULL)
    status = client_fault(in.client, DIBS_ERR_UNSUPPORTED, why_no_token(in.claim));
  else if (!engine_keep_alone(drive_engine(in.client->drive), in.claim->id))
    status = client_fault(in.client, DIBS_ERR_ARGUMENT, SHARED);
  else if (!engine_hold_token(drive_engine(in.client->drive), in.claim->id, &token))
    status = token.used == 0 ? DIBS_ERR_STALE
                             : client_fault(in.client, DIBS_ERR_ARGUMENT,
                                            "the names are too long for a token, which has less "
                                            "than 2048 bytes; a hold needs none");
  else if (ret_text == NULL || token.used >= text_size)
    status = client_fault(in.client, DIBS_ERR_ARGUMENT,
                          "text_size is too small; DIBS_TOKEN_SIZE is always enough");
  if (status == DIBS_OK) {
    out = text_over(ret_text, text_size);
    text_add(&out, words);
  }
  return claim_leave(&in, status);
}

static dibs_status name_read(const entry *in, size_t index, char *ret_name, size_t room,
                             size_t *ret_size)
{
  const char *name;
  size_t size;

  if (!claim_name(in->claim, index, &name, &size))
    return client_fault(in->client, DIBS_ERR_ARGUMENT, "this hold has no name of that index");
  if (ret_size != NULL)
    *ret_size = size;
  if (ret_name == NULL && room == 0)
    return DIBS_OK;
  if (ret_name == NULL || room <= size)
    return client_fault(in->client, DIBS_ERR_ARGUMENT,
                        "room is too small; DIBS_NAME_MAX + 1 is always enough");
  memcpy(ret_name, name, size);
  ret_name[size] = 0;
  return DIBS_OK;
}

dibs_status dibs_hold_name(const dibs_hold *hold, size_t index, char *ret_name, size_t room,
                           size_t *ret_size)
{
  entry in;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, false, &in);

  if (status != DIBS_OK)
    return status;
  return claim_leave(&in, name_read(&in, index, ret_name, room, ret_size));
}

/* Mutex held. */
static void why_read(const claim *cl, text *out)
{
  dibs_error room = DIBS_ERROR_INIT;

  if (cl->is_lost)
    text_add(out, outcome_error(&cl->loss, &room)->text);
  else if (!local_claim_is(cl, LOCAL_HELD))
    engine_add_why(drive_engine(cl->client->drive), cl->id, out);
}

dibs_status dibs_hold_why(const dibs_hold *hold, char *ret_text, size_t text_size)
{
  entry in;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, false, &in);
  text out;

  if (status != DIBS_OK)
    return status;
  if (ret_text == NULL || text_size == 0)
    return claim_leave(&in, client_fault(in.client, DIBS_ERR_ARGUMENT, "ret_text has no room"));
  out = text_over(ret_text, text_size);
  why_read(in.claim, &out);
  return claim_leave(&in, DIBS_OK);
}

/* ---- its end ---- */

static void release_run(drive_job *job)
{
  const claim *cl = RECORD_OF(claim, release_job, job);
  dibs_error room = DIBS_ERROR_INIT;

  cl->on_release(outcome_error(&cl->end, &room), cl->on_release_data);
}

static void release_finish(drive_job *job)
{
  claim *cl = RECORD_OF(claim, release_job, job);

  cl->jobs--;
  claim_settle(cl);
}

/* The program has released the hold: ends its handle and cancels its reports, unless one runs
 * already; then on_lost_free and on_change_free follow it. */
static void hold_let_go(claim *cl)
{
  cl->is_held = false;
  if (cl->hold != NULL && atomic_load(&cl->hold->depth) > 1)
    claim_depths(cl);                    /* of the holds that continue */
  claim_end_hold(cl);
  local_claim_let_go(cl);
  watch_over(cl);
}

dibs_status release_start(claim *cl)
{
  client_record *c = cl->client;
  dibs_status status;

  campaign_clear(cl);
  hold_let_go(cl);
  if (local_claim_is(cl, LOCAL_HELD)) {
    degrade_release(cl);
    return DIBS_OK;
  }
  status = engine_release(drive_engine(c->drive), cl->id, drive_now());
  cl->is_over = status != DIBS_OK;       /* then the engine has removed it */
  return status;
}

/* Mutex held. The engine's result follows as api_effect(). */
static dibs_status release_begin(claim *cl)
{
  client_record *c = cl->client;
  dibs_status status = release_start(cl);

  if (status == DIBS_OK)
    return DIBS_OK;
  claim_settle(cl);
  return client_fault(c, status, "");
}

dibs_status release_unconfirmed(const claim *cl)
{
  client_record *c = cl->client;
  const char *why = engine_refusal(drive_engine(c->drive), cl->id);

  return client_fault(c, DIBS_UNKNOWN,
                      why != NULL ? why : "the server has not confirmed the release in time");
}

static dibs_status release_wait(claim *cl)
{
  client_record *c = cl->client;
  drive_waiter waiter;
  dibs_status status;
  instant until = instant_add(drive_now(), span_ms(c->times.command_ms));

  drive_waiter_init(&waiter);
  cl->releaser = &waiter;
  status = release_begin(cl);
  if (status == DIBS_OK) {
    status = drive_wait(c->drive, &waiter, until)
               ? outcome_note(&cl->end, c)
               : release_unconfirmed(cl);
  }
  cl->releaser = NULL;
  claim_settle(cl);
  return status;
}

/* Sends the release without waiting for the reply. */
static dibs_status release_send(claim *cl)
{
  client_record *c = cl->client;
  dibs_status status = release_begin(cl);

  drive_flush(c->drive);
  return status;
}

dibs_status dibs_release(dibs_hold *hold)
{
  entry in;
  dibs_status status;

  if (retake_release(hold))
    return DIBS_OK;
  if (!drive_is_in_callback())
    return blocked_release(hold);
  status = claim_enter(hold, HANDLE_HOLD, false, &in);
  if (status != DIBS_OK)
    return status;
  /* For a lost hold the engine answers at once, with what the server has reported since. */
  if (!in.claim->is_lost)
    status = release_send(in.claim);
  else
    status = release_wait(in.claim);
  return claim_leave(&in, status);
}

dibs_status dibs_release_async(dibs_hold *hold, dibs_release_callback callback, void *data)
{
  entry in;
  dibs_status status;
  claim *cl;

  if (callback == NULL && retake_release(hold))
    return DIBS_OK;
  status = claim_enter(hold, HANDLE_HOLD, false, &in);
  if (status != DIBS_OK)
    return status;
  cl = in.claim;
  if (callback != NULL)
    status = client_callbacks(in.client);
  if (status == DIBS_OK) {
    cl->release_job = (drive_job){ .run = release_run, .finish = release_finish };
    cl->on_release = callback;
    cl->on_release_data = data;
    status = release_begin(cl);
    drive_flush(in.client->drive);
  }
  return claim_leave(&in, status);
}

/* Of a hold whose lease has another one. */
static const char *why_not_alone(const claim *cl)
{
  return engine_keep_alone(drive_engine(cl->client->drive), cl->id) ? NESTED : SHARED;
}

dibs_status dibs_hold_detach(dibs_hold *hold)
{
  entry in;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, false, &in);
  watch_data over;
  claim *cl;

  if (status != DIBS_OK)
    return status;
  cl = in.claim;
  if (why_no_token(cl) != NULL) {
    status = client_fault(in.client, DIBS_ERR_UNSUPPORTED, why_no_token(cl));
    return claim_leave(&in, status);
  }
  status = engine_detach(drive_engine(in.client->drive), cl->id, drive_now());
  if (status == DIBS_ERR_ARGUMENT || status == DIBS_ERR_NO_MEMORY) {
    (void)client_fault(in.client, status, status == DIBS_ERR_ARGUMENT ? why_not_alone(cl) : "");
    drive_flush(in.client->drive);      /* the previous tick may have reported events */
    return claim_leave(&in, status);
  }
  over = watch_take(cl);
  hold_let_go(cl);
  if (status != DIBS_OK) {               /* the engine has removed it */
    cl->is_over = true;
    claim_settle(cl);
    status = DIBS_LOST;
  } else if (cl->is_lost) {
    status = DIBS_LOST;
  }
  drive_flush(in.client->drive);
  return watch_data_end(&over, claim_leave(&in, status));
}
