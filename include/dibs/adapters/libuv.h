/* SPDX-License-Identifier: MIT */
/* dibs/adapters/libuv.h - runs a client in a loop of libuv 1.x; needs -luv.
 *
 * One client, opened with DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS, in one loop. Its
 * callbacks run in the loop. `adapter` belongs to the caller, is filled by attach, and must stay in
 * place until `on_end` of detach has run. Attach and detach on the thread of the loop; detach is
 * allowed in a callback of the client, and comes before dibs_close(), which ends the descriptor.
 * The adapter watches one descriptor for reading and starts no timer. With DIBS_CLIENT_NO_THREAD,
 * leases are renewed only while the loop runs. */
#ifndef DIBS_ADAPTERS_LIBUV_H
#define DIBS_ADAPTERS_LIBUV_H

#include <dibs/async.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_libuv {
  uv_poll_t poll;       /* uv_unref() it if the client alone must not keep the loop running */
  dibs_client *client;  /* borrowed; NULL: detached */
  dibs_status status;   /* DIBS_OK while attached; otherwise what dibs_process() returned when the
                         * adapter stopped: DIBS_ERR_FORKED in a child, _CLOSED, _STALE */
} dibs_libuv;

static inline void dibs_libuv_ready(uv_poll_t *poll, int fault, int events)
{
  dibs_libuv *adapter = (dibs_libuv *)poll->data;
  dibs_status status = dibs_process(adapter->client, NULL);

  (void)fault;
  (void)events;
  if (status == DIBS_OK || status == DIBS_ERR_WOULD_BLOCK)
    return;
  adapter->status = status;
  if (adapter->client != NULL)          /* not detached in a callback */
    (void)uv_poll_stop(poll);
}

/* Runs `client` in `loop`.
 *
 * Returns  0, or an error of libuv; UV_EINVAL for a client without a descriptor.
 * Thread   of the loop. Since 0.5 */
static inline int dibs_libuv_attach(dibs_libuv *adapter, dibs_client *client, uv_loop_t *loop)
{
  int fd = dibs_fd(client);
  int fault = fd < 0 ? UV_EINVAL : uv_poll_init(loop, &adapter->poll, fd);

  adapter->client = NULL;
  if (fault != 0)
    return fault;
  adapter->client = client;
  adapter->status = DIBS_OK;
  adapter->poll.data = adapter;
  return uv_poll_start(&adapter->poll, UV_READABLE, dibs_libuv_ready);
}

/* Detaches the client from its loop. `on_end` (may be NULL) runs in a later turn of the loop, and
 * `adapter` may be reused from then on; dibs_close() may come at once. Does nothing when detached,
 * or after an attach that failed: then there is no later turn, and `on_end` does not run.
 *
 * Thread   of the loop. Since 0.5 */
static inline void dibs_libuv_detach(dibs_libuv *adapter, uv_close_cb on_end)
{
  if (adapter->client == NULL)
    return;
  adapter->client = NULL;
  (void)uv_poll_stop(&adapter->poll);
  uv_close((uv_handle_t *)&adapter->poll, on_end);
}

#ifdef __cplusplus
}
#endif

#endif
