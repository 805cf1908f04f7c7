/* SPDX-License-Identifier: MIT */
/* The names of scripts: their SHA-1, in hexadecimal. */
#include "server/value.h"

#include <openssl/evp.h>
#include <stdlib.h>

void slice_sha1(slice s, char ret_hex[41])
{
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[20];

  if (EVP_Digest(s.bytes, s.size, digest, NULL, EVP_sha1(), NULL) != 1)
    abort();
  for (int i = 0; i < 20; i++) {
    ret_hex[2 * i] = digits[digest[i] >> 4];
    ret_hex[2 * i + 1] = digits[digest[i] & 15];
  }
  ret_hex[40] = 0;
}
