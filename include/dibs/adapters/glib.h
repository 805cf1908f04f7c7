/* SPDX-License-Identifier: MIT */
/* dibs/adapters/glib.h - runs a client in a main context of GLib 2.58 and later; needs
 * pkg-config glib-2.0.
 *
 * One client, opened with DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS, in one loop. Its
 * callbacks run in the loop. `adapter` belongs to the caller, is filled by attach, and must stay in
 * place until detach. Attach and detach on the thread of the loop; detach is allowed in a
 * callback of the client, and comes before dibs_close(), which ends the descriptor. The adapter
 * watches one descriptor for reading and starts no timer. With DIBS_CLIENT_NO_THREAD, leases are
 * renewed only while the loop runs. */
#ifndef DIBS_ADAPTERS_GLIB_H
#define DIBS_ADAPTERS_GLIB_H

#include <dibs/async.h>
#include <glib-unix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_glib {
  GSource *source;      /* NULL: detached */
  dibs_client *client;  /* borrowed */
  dibs_status status;   /* DIBS_OK while attached; otherwise what dibs_process() returned when the
                         * adapter stopped: DIBS_ERR_FORKED in a child, _CLOSED, _STALE */
} dibs_glib;

static inline gboolean dibs_glib_ready(gint fd, GIOCondition condition, gpointer data)
{
  dibs_glib *adapter = (dibs_glib *)data;
  dibs_status status = dibs_process(adapter->client, NULL);

  (void)fd;
  (void)condition;
  if (status == DIBS_OK || status == DIBS_ERR_WOULD_BLOCK)
    return G_SOURCE_CONTINUE;
  adapter->status = status;
  return G_SOURCE_REMOVE;
}

/* Runs `client` in `loop` (NULL: the default main context).
 *
 * Returns  0, or -1 for a client without a descriptor.
 * Thread   of the loop. Since 0.5 */
static inline int dibs_glib_attach(dibs_glib *adapter, dibs_client *client, GMainContext *loop)
{
  int fd = dibs_fd(client);

  adapter->source = NULL;
  if (fd < 0)
    return -1;
  adapter->client = client;
  adapter->status = DIBS_OK;
  adapter->source = g_unix_fd_source_new(fd, G_IO_IN);
  g_source_set_callback(adapter->source, G_SOURCE_FUNC(dibs_glib_ready), adapter, NULL);
  (void)g_source_attach(adapter->source, loop);
  return 0;
}

/* Detaches the client from its loop. dibs_close() may come at once. Does nothing when detached, or
 * after an attach that failed.
 *
 * Thread   of the loop. Since 0.5 */
static inline void dibs_glib_detach(dibs_glib *adapter)
{
  if (adapter->source == NULL)
    return;
  g_source_destroy(adapter->source);
  g_source_unref(adapter->source);
  adapter->source = NULL;
}

#ifdef __cplusplus
}
#endif

#endif
