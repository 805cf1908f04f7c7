/* SPDX-License-Identifier: MIT */
/* api/log_limit.c - see log_limit.h. */
#include "api/log_limit.h"

bool log_limit_pass(log_limit *l, const log_rule *rule, instant now)
{
  if (l->passed == 0 && l->left_out == 0)
    l->began = now;
  if (l->passed < rule->most) {
    l->passed++;
    return true;
  }
  log_limit_drop(l);
  return false;
}

void log_limit_drop(log_limit *l)
{
  if (l->left_out < UINT32_MAX)
    l->left_out++;
}

instant log_limit_due(const log_limit *l, const log_rule *rule)
{
  return l->left_out > 0 ? instant_add(l->began, rule->per) : INSTANT_NEVER;
}

uint32_t log_limit_end(log_limit *l, const log_rule *rule, bool is_last, instant now)
{
  uint32_t left_out = l->left_out;

  if (!is_last && instant_before(now, instant_add(l->began, rule->per)))
    return 0;
  *l = (log_limit){ .left_out = 0 };
  return left_out;
}
