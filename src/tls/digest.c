/* SPDX-License-Identifier: MIT */
/* tls/digest.c - see digest.h. */
#include "tls/digest.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

bool sha256_prepare(text *why)
{
  (void)why;
  return true;
}

bool sha256_write(const void *bytes, size_t size, char ret_digits[SHA256_TEXT_SIZE], text *why)
{
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;

  /* As for TLS, which may come later: the first use decides about the end of the process. */
  (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
  if (EVP_Digest(bytes, size, digest, &length, EVP_sha256(), NULL) != 1) {
    ERR_clear_error();
    text_add(why, "OpenSSL cannot make a SHA-256");
    return false;
  }
  for (size_t i = 0; i < length; i++) {
    ret_digits[2 * i] = digits[digest[i] >> 4];
    ret_digits[2 * i + 1] = digits[digest[i] & 15];
  }
  ret_digits[2 * (size_t)length] = 0;
  return true;
}
