/* SPDX-License-Identifier: MIT */
/* drive/tls.h - TLS as a filter of bytes: OpenSSL between two memory BIOs, no socket.
 *
 * TLS 1.2 at least, the peer's chain and name are always checked. Faults are DIBS_ERR_TLS
 * (or DIBS_ERR_NO_MEMORY), and `why` says what failed and what to do. */
#ifndef DRIVE_TLS_H
#define DRIVE_TLS_H

#include "base/base.h"

typedef struct tls_context tls_context;
typedef struct tls_session tls_session;

typedef struct tls_settings {
  const char *ca_file;            /* NULL: the system's authorities */
  const char *cert_file, *key_file;    /* NULL: no client certificate */
  const char *name;               /* host name or address that the certificate must have */
} tls_settings;

dibs_status tls_context_new(const memory *m, const tls_settings *settings,
                            tls_context **ret_context, text *why);
tls_context *tls_context_free(tls_context *c);

tls_session *tls_session_new(tls_context *c);        /* NULL: memory */
tls_session *tls_session_free(tls_session *s);       /* sends nothing */

/* Takes bytes that came from the network. */
dibs_status tls_feed(tls_session *s, const void *bytes, size_t size, text *why);
/* Goes on with the handshake; *ret_done once it is through. Ciphertext to send is
 * appended to `out`, also on a fault (the alert for the peer). */
dibs_status tls_handshake(tls_session *s, buffer *out, bool *ret_done, text *why);
/* Plain bytes; *ret_size 0 when more from the network is needed. *ret_ended when the peer
 * ended the session. */
dibs_status tls_read(tls_session *s, void *bytes, size_t size, size_t *ret_size,
                     bool *ret_ended, buffer *out, text *why);
dibs_status tls_write(tls_session *s, const void *bytes, size_t size, buffer *out,
                      text *why);

#endif
