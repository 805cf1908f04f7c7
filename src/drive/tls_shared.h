/* SPDX-License-Identifier: MIT */
/* drive/tls_shared.h - one TLS context for all servers that use the same files. */
#ifndef DRIVE_TLS_SHARED_H
#define DRIVE_TLS_SHARED_H

#include "base/base.h"
#include "tls/tls.h"
#include "topo/topo.h"

typedef struct tls_shared {
  memory memory;
  struct tls_shared_one *first;
} tls_shared;

void tls_shared_init(tls_shared *s, const memory *m);
void tls_shared_deinit(tls_shared *s);
/* The context for this server, borrowed until tls_shared_deinit(); NULL: no TLS. */
dibs_status tls_shared_get(tls_shared *s, const server_url *server, tls_context **ret_context,
                           text *why);

/* After a refusal: the files of this server, to be read again if the disk has other ones. Not in
 * the memory of `s`, which it may outlive. NULL: no memory. */
typedef struct tls_fresh tls_fresh;
tls_fresh *tls_fresh_new(const tls_shared *s, const server_url *server);
tls_fresh *tls_fresh_free(tls_fresh *f);
/* On any thread; may block. `ret_files` gets their names, or why one cannot be used, which is no
 * fault: then the context stays as it was. */
void tls_fresh_read(tls_fresh *f, text *ret_files);
/* What was read is for the sessions that begin from now on. */
void tls_shared_take(tls_shared *s, tls_fresh *f);

#endif
