/* SPDX-License-Identifier: MIT */
/* test/script/model_token.h - the token of the next grant, for the models of locks and shares. */
#ifndef TEST_MODEL_TOKEN_H
#define TEST_MODEL_TOKEN_H

#include <stdint.h>

/* Neither what was granted before nor what a client says it saw counts from 2^52 on. */
static inline uint64_t token_above(int64_t now, uint64_t last, uint64_t min_token)
{
  uint64_t end = UINT64_C(1) << 52, token = (uint64_t)now;

  if (last >= token && last + 1 < end)
    token = last + 1;
  if (min_token >= token && min_token + 1 < end)
    token = min_token + 1;
  return token;
}

#endif
