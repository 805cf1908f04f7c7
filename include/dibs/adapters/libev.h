/* SPDX-License-Identifier: MIT */
/* dibs/adapters/libev.h - runs a client in a loop of libev 4.x; needs -lev.
 *
 * One client, opened with DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS, in one loop. Its
 * callbacks run in the loop. `adapter` belongs to the caller, is filled by attach, and must stay in
 * place until detach. Attach and detach on the thread of the loop; detach is allowed in a
 * callback of the client, and comes before dibs_close(), which ends the descriptor. The adapter
 * watches one descriptor for reading and starts no timer. With DIBS_CLIENT_NO_THREAD, leases are
 * renewed only while the loop runs. */
#ifndef DIBS_ADAPTERS_LIBEV_H
#define DIBS_ADAPTERS_LIBEV_H

#include <dibs/async.h>
#include <ev.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_libev {
  ev_io io;
  dibs_client *client;  /* borrowed; NULL: detached */
  struct ev_loop *loop; /* borrowed */
  dibs_status status;   /* DIBS_OK while attached; otherwise what dibs_process() returned when the
                         * adapter stopped: DIBS_ERR_FORKED in a child, _CLOSED, _STALE */
} dibs_libev;

static inline void dibs_libev_ready(struct ev_loop *loop, ev_io *io, int events)
{
  dibs_libev *adapter = (dibs_libev *)io->data;
  dibs_status status = dibs_process(adapter->client, NULL);

  (void)events;
  if (status == DIBS_OK || status == DIBS_ERR_WOULD_BLOCK)
    return;
  adapter->status = status;
  ev_io_stop(loop, io);
}

/* Runs `client` in `loop`.
 *
 * Returns  0, or -1 for a client without a descriptor.
 * Thread   of the loop. Since 0.5 */
static inline int dibs_libev_attach(
  dibs_libev *adapter, dibs_client *client, struct ev_loop *loop)
{
  int fd = dibs_fd(client);

  adapter->client = NULL;
  if (fd < 0)
    return -1;
  adapter->client = client;
  adapter->loop = loop;
  adapter->status = DIBS_OK;
  ev_io_init(&adapter->io, dibs_libev_ready, fd, EV_READ);
  adapter->io.data = adapter;
  ev_io_start(loop, &adapter->io);
  return 0;
}

/* Detaches the client from its loop. dibs_close() may come at once. Does nothing when detached, or
 * after an attach that failed.
 *
 * Thread   of the loop. Since 0.5 */
static inline void dibs_libev_detach(dibs_libev *adapter)
{
  if (adapter->client == NULL)
    return;
  adapter->client = NULL;
  ev_io_stop(adapter->loop, &adapter->io);
}

#ifdef __cplusplus
}
#endif

#endif
