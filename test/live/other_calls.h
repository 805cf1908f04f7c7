/* SPDX-License-Identifier: MIT */
/* test/live/other_calls.h - one row for each exported function that is not in every_call.h, for
 * tests of what holds for all of them. first_reason_test.c checks that none is missing. */
#ifndef TEST_OTHER_CALLS_H
#define TEST_OTHER_CALLS_H

#include <signal.h>

#include "live.h"

/* What the rows work with. */
struct things {
  dibs_client *client, *opened;
  dibs_hold *hold;                 /* of the lock "held"; leads, but in a quorum */
  dibs_request *request;           /* waits for the lock "queued" */
  dibs_observer *observer;         /* NULL in a quorum */
  dibs_canceller *canceller, *made;
  dibs_sandbox *sandbox;
  dibs_names *names;
  dibs_metrics *metrics;
  dibs_leader *leader;
  dibs_error error;
  dibs_client_info client_info;
  dibs_fleet_row row;
  dibs_hold_info hold_info;
  dibs_local_info info;
  char text[1024];                 /* DIBS_TOKEN_SIZE and more */
  size_t count;
};

static inline bool metrics_ignore(const char *text, size_t size, void *data)
{
  (void)data;
  return text != NULL && size > 0;
}

#define REFUSED(call) ((call) == DIBS_ERR_WOULD_BLOCK)

/* Of a client, hold, request or observer: the function, and a call that is true if it was refused
 * in a signal handler. */
#define CALLS_OF_HANDLES(X) \
  X(dibs_process, REFUSED(dibs_process(t->client, NULL))) \
  X(dibs_client_get_info, REFUSED(dibs_client_get_info(t->client, &t->client_info))) \
  X(dibs_client_set_credentials, REFUSED(dibs_client_set_credentials(t->client, NULL, NULL))) \
  X(dibs_client_set_call_timeout, REFUSED(dibs_client_set_call_timeout(t->client, 0))) \
  X(dibs_client_set_log, REFUSED(dibs_client_set_log(t->client, NULL, NULL, NULL, NULL))) \
  X(dibs_full_url, REFUSED(dibs_full_url(t->client, false, t->text, sizeof(t->text)))) \
  X(dibs_names_list, REFUSED(dibs_names_list(t->client, &t->names))) \
  X(dibs_names_expire, REFUSED(dibs_names_expire(t->client, 0, &t->count))) \
  X(dibs_metrics_read, REFUSED(dibs_metrics_read(t->client, &t->metrics))) \
  X(dibs_metrics_write, REFUSED(dibs_metrics_write(t->client, 0, metrics_ignore, NULL))) \
  X(dibs_is_connected, !dibs_is_connected(t->client)) \
  X(dibs_hold_fd, dibs_hold_fd(t->hold) == -1) \
  X(dibs_hold_token, REFUSED(dibs_hold_token(t->hold, t->text, sizeof(t->text)))) \
  X(dibs_hold_name, REFUSED(dibs_hold_name(t->hold, 0, t->text, sizeof(t->text), NULL))) \
  X(dibs_hold_why, REFUSED(dibs_hold_why(t->hold, t->text, sizeof(t->text)))) \
  X(dibs_downgrade, REFUSED(dibs_downgrade(t->hold))) \
  X(dibs_publish, REFUSED(dibs_publish(t->hold, "v"))) \
  X(dibs_observe, REFUSED(dibs_observe(t->client, "other", NULL, NULL, NULL, &t->observer))) \
  X(dibs_observer_fd, dibs_observer_fd(t->observer) == -1) \
  X(dibs_observer_next, t->observer == NULL || \
                        REFUSED(dibs_observer_next(t->observer, &t->leader))) \
  X(dibs_observer_free, dibs_observer_free(t->observer) == NULL) \
  X(dibs_request_cancel, REFUSED(dibs_request_cancel(t->request))) \
  X(dibs_hold_detach, REFUSED(dibs_hold_detach(t->hold))) \
  X(dibs_release_async, REFUSED(dibs_release_async(t->hold, NULL, NULL))) \
  X(dibs_release, REFUSED(dibs_release(t->hold))) \
  X(dibs_close, dibs_close(t->client) == t->client)

/* Those that only read, and those without a client. */
#define CALLS_WITHOUT_A_SERVER(X) \
  X(dibs_version, dibs_version()) \
  X(dibs_status_name, dibs_status_name(DIBS_OK)) \
  X(dibs_status_text, dibs_status_text(DIBS_OK)) \
  X(dibs_status_is_lost, !dibs_status_is_lost(DIBS_OK)) \
  X(dibs_status_is_retriable, dibs_status_is_retriable(DIBS_OK)) \
  X(dibs_client_error, !dibs_client_error(t->client, 0, &t->error)) \
  X(dibs_client_call_timeout, dibs_client_call_timeout(t->client)) \
  X(dibs_client_id, dibs_client_id(t->client)) \
  X(dibs_fd, dibs_fd(t->client)) \
  X(dibs_hold_state, dibs_hold_state(t->hold)) \
  X(dibs_hold_valid_ms, dibs_hold_valid_ms(t->hold)) \
  X(dibs_hold_fence, dibs_hold_fence(t->hold)) \
  X(dibs_hold_get_info, dibs_hold_get_info(t->hold, &t->hold_info)) \
  X(dibs_fence_admits, dibs_fence_admits(1, 2)) \
  X(dibs_stripe, !dibs_stripe("n", "k", 1, 4, t->text, sizeof(t->text))) \
  X(dibs_key_lock_name, !dibs_key_lock_name("n", dibs_text("k"), DIBS_KEY_LOCK, t->text, \
                                            sizeof(t->text))) \
  X(dibs_acl_line, !dibs_acl_line("redis://u@h", NULL, t->text, sizeof(t->text), &t->error)) \
  X(dibs_function_library, dibs_function_library()) \
  X(dibs_fleet_bound_us, dibs_fleet_bound_us(0)) \
  X(dibs_fleet_change, !dibs_fleet_change(&t->row, &t->row, &t->row)) \
  X(dibs_fleet_free, dibs_fleet_free(NULL)) \
  X(dibs_history_free, dibs_history_free(NULL)) \
  X(dibs_inspection_free, dibs_inspection_free(NULL)) \
  X(dibs_leader_free, dibs_leader_free(NULL)) \
  X(dibs_names_free, dibs_names_free(NULL)) \
  X(dibs_metrics_free, dibs_metrics_free(NULL)) \
  X(dibs_value_free, dibs_value_free(NULL)) \
  X(dibs_cancel, dibs_cancel(t->canceller)) \
  X(dibs_canceller_new, !dibs_canceller_new(&t->made)) \
  X(dibs_canceller_free, t->canceller = dibs_canceller_free(t->canceller)) \
  X(dibs_open, !dibs_open("nonsense:", NULL, &t->opened, &t->error)) \
  X(dibs_local_start, !dibs_local_start(0, false, &t->info, &t->error)) \
  X(dibs_local_status, dibs_local_status(&t->info, &t->error)) \
  X(dibs_local_stop, dibs_local_stop(true, &t->error)) \
  X(dibs_sandbox_start, !dibs_sandbox_start(&t->sandbox, t->text, sizeof(t->text), &t->error)) \
  X(dibs_sandbox_start_with, !dibs_sandbox_start_with(NULL, &t->sandbox, t->text, \
                                                      sizeof(t->text), &t->error)) \
  X(dibs_sandbox_server_at, look_at_a_sandbox(t)) \
  X(dibs_sandbox_directory, look_at_a_sandbox(t)) \
  X(dibs_sandbox_keep, keep_a_sandbox(t)) \
  X(dibs_sandbox_stop, stop_a_sandbox(t))

static inline void keep_a_sandbox(struct things *t)
{
  int64_t guard;

  if (dibs_sandbox_start(&t->sandbox, t->text, sizeof(t->text), &t->error) != DIBS_OK)
    return;                              /* built without */
  guard = dibs_sandbox_keep(t->sandbox);
  t->sandbox = NULL;
  if (guard > 0)
    (void)kill((pid_t)guard, SIGTERM);
}

static inline void look_at_a_sandbox(struct things *t)
{
  if (dibs_sandbox_start(&t->sandbox, t->text, sizeof(t->text), &t->error) != DIBS_OK)
    return;
  (void)dibs_sandbox_server_at(t->sandbox, 0);
  (void)dibs_sandbox_directory(t->sandbox);
  t->sandbox = dibs_sandbox_stop(t->sandbox);
}

static inline void lock_ended(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)error;
  (void)hold;
  (void)data;
}

static inline void stop_a_sandbox(struct things *t)
{
  if (dibs_sandbox_start(&t->sandbox, t->text, sizeof(t->text), &t->error) == DIBS_OK)
    t->sandbox = dibs_sandbox_stop(t->sandbox);
}

/* Without assertions: also for children. Another client has the lock "queued". */
static inline dibs_status things_begin(struct things *t, const char *url,
                                       const dibs_options *options)
{
  dibs_status status = dibs_open(url, options, &t->client, NULL);

  t->error.size = sizeof(t->error);
  t->client_info.size = sizeof(t->client_info);
  t->hold_info.size = sizeof(t->hold_info);
  t->info.size = sizeof(t->info);
  t->row.size = sizeof(t->row);
  if (status == DIBS_OK)
    status = dibs_canceller_new(&t->canceller);
  if (status == DIBS_OK && live_place() == LIVE_QUORUM) {  /* which has locks only */
    status = dibs_lock(t->client, "held", NULL, &t->hold);
  } else if (status == DIBS_OK) {
    status = dibs_acquire(t->client, DIBS_LEAD("held", "v"), NULL, &t->hold);
    if (status == DIBS_OK)
      status = dibs_observe(t->client, "election", NULL, NULL, NULL, &t->observer);
  }
  if (status == DIBS_OK)
    status = dibs_lock_async(t->client, "queued", NULL, lock_ended, NULL, &t->request);
  return status;
}

static inline void things_end(struct things *t)
{
  t->client = dibs_close(t->client);
  t->opened = dibs_close(t->opened);
  t->canceller = dibs_canceller_free(t->canceller);
  t->made = dibs_canceller_free(t->made);
  t->names = dibs_names_free(t->names);
  t->metrics = dibs_metrics_free(t->metrics);
  t->leader = dibs_leader_free(t->leader);
  t->sandbox = dibs_sandbox_stop(t->sandbox);
}

#endif
