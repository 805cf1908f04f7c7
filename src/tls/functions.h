/* SPDX-License-Identifier: MIT */
/* tls/functions.h - what libdibs-tls.so has for libdibs.so. */
#ifndef TLS_FUNCTIONS_H
#define TLS_FUNCTIONS_H

#include "tls/digest.h"
#include "tls/tls.h"

typedef struct tls_functions {
  const char *version;      /* another one may have other functions and records */
  __typeof__(tls_context_new) *context_new;
  __typeof__(tls_context_free) *context_free;
  __typeof__(tls_context_swap) *context_swap;
  __typeof__(tls_machine_places) *machine_places;
  __typeof__(tls_session_new) *session_new;
  __typeof__(tls_session_free) *session_free;
  __typeof__(tls_feed) *feed;
  __typeof__(tls_handshake) *handshake;
  __typeof__(tls_read) *read;
  __typeof__(tls_write) *write;
  __typeof__(sha256_write) *sha256;
} tls_functions;

/* The only name that libdibs-tls.so exports. */
extern const tls_functions dibs_tls_functions;
#define TLS_FUNCTIONS_NAME "dibs_tls_functions"

#endif
