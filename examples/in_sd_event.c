/* SPDX-License-Identifier: MIT */
/* An event loop of libsystemd that waits in a queue for a lock and works when it has it; SIGTERM
 * ends the wait or the work, and the lock is released. */
#include <dibs/adapters/sd-event.h>
#include <dibs/dibs.h>

#include <signal.h>
#include <stdio.h>

static sd_event *loop;
static dibs_hold *held;

static void released(const dibs_error *error, void *data)
{
  (void)data;
  (void)sd_event_exit(loop, error->status == DIBS_OK ? 0 : 1);
}

static int stop(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
  (void)source;
  (void)info;
  (void)data;
  if (held != NULL)
    return dibs_release_async(held, released, NULL) == DIBS_OK ? 0 : sd_event_exit(loop, 1);
  return sd_event_exit(loop, 0);                    /* dibs_close() withdraws the request */
}

static void got_it(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  if (error->status == DIBS_ERR_CLOSED)
    return;                                         /* within dibs_close() */
  if (error->status != DIBS_OK) {
    fprintf(stderr, "%s: %s\n", dibs_status_name(error->status), error->text);
    (void)sd_event_exit(loop, 1);
    return;
  }
  held = hold;
  printf("at work\n");
  (void)raise(SIGTERM);                             /* systemctl stop */
}

int main(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_sd_event adapter;
  sigset_t term;
  int code = 1;

  (void)sigemptyset(&term);
  (void)sigaddset(&term, SIGTERM);
  (void)sigprocmask(SIG_BLOCK, &term, NULL);        /* sd-event reads it from a descriptor */
  options.flags = DIBS_CLIENT_NO_THREAD;
  if (sd_event_default(&loop) < 0 || dibs_open(NULL, &options, &client, NULL) != DIBS_OK ||
      dibs_sd_event_attach(&adapter, client, loop) < 0)
    return 1;
  if (sd_event_add_signal(loop, NULL, SIGTERM, stop, NULL) >= 0 &&
      dibs_lock_async(client, "service", NULL, got_it, NULL, NULL) == DIBS_OK)
    code = sd_event_loop(loop);
  dibs_sd_event_detach(&adapter);
  dibs_close(client);
  (void)sd_event_unref(loop);
  printf("released, exit code %d\n", code);
  return code;
}
