/* SPDX-License-Identifier: MIT */
/* dibs/adapters/sd-event.h - runs a client in an event loop of libsystemd; needs -lsystemd.
 *
 * One client, opened with DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS, in one loop. Its
 * callbacks run in the loop. `adapter` belongs to the caller, is filled by attach, and must stay in
 * place until detach. Attach and detach on the thread of the loop; detach is allowed in a
 * callback of the client, and comes before dibs_close(), which ends the descriptor. The adapter
 * watches one descriptor for reading and starts no timer. With DIBS_CLIENT_NO_THREAD, leases are
 * renewed only while the loop runs. */
#ifndef DIBS_ADAPTERS_SD_EVENT_H
#define DIBS_ADAPTERS_SD_EVENT_H

#include <dibs/async.h>
#include <errno.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_sd_event {
  sd_event_source *source; /* NULL: detached */
  dibs_client *client;     /* borrowed */
  dibs_status status;   /* DIBS_OK while attached; otherwise what dibs_process() returned when the
                         * adapter stopped: DIBS_ERR_FORKED in a child, _CLOSED, _STALE */
} dibs_sd_event;

static inline int dibs_sd_event_ready(
  sd_event_source *source, int fd, uint32_t events, void *data)
{
  dibs_sd_event *adapter = (dibs_sd_event *)data;
  dibs_status status = dibs_process(adapter->client, NULL);

  (void)fd;
  (void)events;
  if (status == DIBS_OK || status == DIBS_ERR_WOULD_BLOCK)
    return 0;
  adapter->status = status;
  return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

/* Runs `client` in `loop`.
 *
 * Returns  0 or more, or a negative errno; -EINVAL for a client without a descriptor.
 * Thread   of the loop. Since 0.5 */
static inline int dibs_sd_event_attach(
  dibs_sd_event *adapter, dibs_client *client, sd_event *loop)
{
  int fd = dibs_fd(client);

  adapter->client = client;
  adapter->status = DIBS_OK;
  adapter->source = NULL;
  if (fd < 0)
    return -EINVAL;
  return sd_event_add_io(loop, &adapter->source, fd, EPOLLIN, dibs_sd_event_ready, adapter);
}

/* Detaches the client from its loop. dibs_close() may come at once. Does nothing when detached, or
 * after an attach that failed.
 *
 * Thread   of the loop. Since 0.5 */
static inline void dibs_sd_event_detach(dibs_sd_event *adapter)
{
  if (adapter->source == NULL)
    return;
  (void)sd_event_source_set_enabled(adapter->source, SD_EVENT_OFF);
  adapter->source = sd_event_source_unref(adapter->source);
}

#ifdef __cplusplus
}
#endif

#endif
