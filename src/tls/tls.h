/* SPDX-License-Identifier: MIT */
/* tls/tls.h - a TLS filter of bytes: OpenSSL with two memory BIOs, no socket.
 *
 * No other module includes OpenSSL. tls.c is in libdibs.a, and in libdibs-tls.so, which libdibs.so
 * loads with its first TLS server: load.c.
 *
 * Servers may share a context: authorities and client certificate. A session has the name
 * that the peer's certificate must have.
 *
 * TLS 1.2 at least; chain and name of the peer are always checked. Faults are DIBS_ERR_TLS
 * (or DIBS_ERR_NO_MEMORY); `why` contains what failed and what to do. */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include "base/base.h"

typedef struct tls_context tls_context;
typedef struct tls_session tls_session;

typedef struct tls_files {
  const char *ca;                 /* NULL: the system's authorities */
  const char *cert, *key;         /* NULL: no client certificate */
} tls_files;

dibs_status tls_context_new(const memory *m, const tls_files *files,
                            tls_context **ret_context, text *why);
tls_context *tls_context_free(tls_context *c);
/* For the sessions that begin from now on. */
void tls_context_swap(tls_context *a, tls_context *b);
/* The file and directory in which OpenSSL looks for the machine's authorities. */
void tls_machine_places(const char **ret_file, const char **ret_directory);

/* `name`: host name or address that the certificate must have. NULL: no memory. */
tls_session *tls_session_new(tls_context *c, const char *name);
tls_session *tls_session_free(tls_session *s);       /* sends nothing */

/* Takes bytes from the network. */
dibs_status tls_feed(tls_session *s, const void *bytes, size_t size, text *why);
/* Continues the handshake; sets *ret_done when it is complete. Appends ciphertext to
 * `out`, also after a fault (the alert for the peer). */
dibs_status tls_handshake(tls_session *s, buffer *out, bool *ret_done, text *why);
/* Plain bytes; *ret_size is 0 when more input is needed. Sets *ret_ended when the peer
 * ended the session. */
dibs_status tls_read(tls_session *s, void *bytes, size_t size, size_t *ret_size,
                     bool *ret_ended, buffer *out, text *why);
dibs_status tls_write(tls_session *s, const void *bytes, size_t size, buffer *out,
                      text *why);

#endif
