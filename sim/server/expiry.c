/* SPDX-License-Identifier: MIT */
/* Times to live as commands are told them. */
#include "server/expiry.h"

bool expiry_unit_of(slice word, expiry_unit *ret)
{
  static const char *const names[] = { "ex", "px", "exat", "pxat" };

  for (int i = 0; i < 4; i++)
    if (slice_is(word, names[i])) {
      *ret = (expiry_unit)i;
      return true;
    }
  return false;
}

static bool answer_invalid(call *c, const char *name)
{
  char bytes[128];
  text t = text_over(bytes, sizeof(bytes));

  text_add(&t, "ERR invalid expire time in '");
  text_add(&t, name);
  text_add(&t, "' command");
  reply_error(c->reply, bytes);
  return false;
}

static bool read_number(call *c, slice number, expiry_unit unit, const char *name,
                        int64_t least, int64_t *ret_ms)
{
  int64_t n, now = server_now_ms(c->server);

  if (!slice_to_integer(number, &n)) {
    reply_not_integer(c->reply);
    return false;
  }
  if (n < least)
    return answer_invalid(c, name);
  if (unit == EXPIRY_S || unit == EXPIRY_AT_S) {
    if (n > INT64_MAX / 1000 || n < INT64_MIN / 1000)
      return answer_invalid(c, name);
    n *= 1000;
  }
  if (unit == EXPIRY_S || unit == EXPIRY_MS) {
    if (n > INT64_MAX - now)
      return answer_invalid(c, name);
    n += now;
  }
  *ret_ms = n;
  return true;
}

bool expiry_read(call *c, slice number, expiry_unit unit, const char *name,
                 int64_t *ret_ms)
{
  return read_number(c, number, unit, name, INT64_MIN, ret_ms);
}

bool expiry_read_positive(call *c, slice number, expiry_unit unit, const char *name,
                          int64_t *ret_ms)
{
  return read_number(c, number, unit, name, 1, ret_ms);
}
