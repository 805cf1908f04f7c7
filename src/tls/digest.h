/* SPDX-License-Identifier: MIT */
/* tls/digest.h - SHA-256, of OpenSSL. */
#ifndef TLS_DIGEST_H
#define TLS_DIGEST_H

#include "base/base.h"

#define SHA256_TEXT_SIZE 65

/* Loads what the other function needs, so that it will not be missing later. As that one. */
bool sha256_prepare(text *why);
/* In hexadecimal digits. false: `why` contains the reason. */
bool sha256_write(const void *bytes, size_t size, char ret_digits[SHA256_TEXT_SIZE], text *why);

#endif
