/* SPDX-License-Identifier: MIT */
/* dibs/adapters/libevent.h - runs a client in an event base of libevent 2.x; needs -levent.
 *
 * One client, opened with DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS, in one loop. Its
 * callbacks run in the loop. `adapter` belongs to the caller, is filled by attach, and must stay in
 * place until detach. Attach and detach on the thread of the loop; detach is allowed in a
 * callback of the client, and comes before dibs_close(), which ends the descriptor. The adapter
 * watches one descriptor for reading and starts no timer. With DIBS_CLIENT_NO_THREAD, leases are
 * renewed only while the loop runs. */
#ifndef DIBS_ADAPTERS_LIBEVENT_H
#define DIBS_ADAPTERS_LIBEVENT_H

#include <dibs/async.h>
#include <event2/event.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_libevent {
  struct event *event;  /* NULL: detached */
  dibs_client *client;  /* borrowed */
  dibs_status status;   /* DIBS_OK while attached; otherwise what dibs_process() returned when the
                         * adapter stopped: DIBS_ERR_FORKED in a child, _CLOSED, _STALE */
} dibs_libevent;

static inline void dibs_libevent_ready(evutil_socket_t fd, short events, void *data)
{
  dibs_libevent *adapter = (dibs_libevent *)data;
  dibs_status status = dibs_process(adapter->client, NULL);

  (void)fd;
  (void)events;
  if (status == DIBS_OK || status == DIBS_ERR_WOULD_BLOCK)
    return;
  adapter->status = status;
  if (adapter->event != NULL)           /* not detached in a callback */
    (void)event_del(adapter->event);
}

/* Detaches the client from its loop. dibs_close() may come at once. Does nothing when detached, or
 * after an attach that failed.
 *
 * Thread   of the loop. Since 0.5 */
static inline void dibs_libevent_detach(dibs_libevent *adapter)
{
  if (adapter->event != NULL)
    event_free(adapter->event);
  adapter->event = NULL;
}

/* Runs `client` in `loop`.
 *
 * Returns  0, or -1: no memory, or a client without a descriptor.
 * Thread   of the loop. Since 0.5 */
static inline int dibs_libevent_attach(
  dibs_libevent *adapter, dibs_client *client, struct event_base *loop)
{
  int fd = dibs_fd(client);

  adapter->client = client;
  adapter->status = DIBS_OK;
  adapter->event = fd < 0 ? NULL
                          : event_new(loop, fd, EV_READ | EV_PERSIST, dibs_libevent_ready, adapter);
  if (adapter->event != NULL && event_add(adapter->event, NULL) == 0)
    return 0;
  dibs_libevent_detach(adapter);
  return -1;
}

#ifdef __cplusplus
}
#endif

#endif
