/* SPDX-License-Identifier: MIT */
/* tls/functions.c - see functions.h. */
#include "tls/functions.h"

#include <dibs/version.h>

__attribute__((visibility("default"))) const tls_functions dibs_tls_functions = {
  .version = DIBS_VERSION,
  .context_new = tls_context_new,
  .context_free = tls_context_free,
  .context_swap = tls_context_swap,
  .machine_places = tls_machine_places,
  .session_new = tls_session_new,
  .session_free = tls_session_free,
  .feed = tls_feed,
  .handshake = tls_handshake,
  .read = tls_read,
  .write = tls_write,
  .sha256 = sha256_write,
};
