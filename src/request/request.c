/* SPDX-License-Identifier: MIT */
/* request/request.c - filling, copying and encoding. */
#include "request/request.h"

#include <assert.h>
#include <string.h>

#define HEADER_SIZE 24       /* `*` or `$`, a number, the end of the line */

void request_init(request *r, const memory *m)
{
  *r = (request){ .script = NULL };
  buffer_init(&r->sizes, m);
  buffer_init(&r->bytes, m);
}

void request_deinit(request *r)
{
  buffer_deinit(&r->sizes);
  buffer_deinit(&r->bytes);
}

/* ---- filling ---- */

static size_t count_of(const request *r)
{
  return buffer_size(&r->sizes) / sizeof(size_t);
}

void request_begin(request *r, const script *s)
{
  buffer_clear(&r->sizes);
  buffer_clear(&r->bytes);
  r->script = s;
  r->key_count = 0;
  r->carries_text = r->is_incomplete = r->has_limit = false;
  r->limit_us = r->estimate_us = 0;
  r->estimate_at = 0;
}

void request_put(request *r, const void *bytes, size_t size)
{
  if (r->is_incomplete || !buffer_reserve(&r->sizes, sizeof(size)) ||
      !buffer_reserve(&r->bytes, size)) {
    r->is_incomplete = true;
    return;
  }
  memcpy(r->sizes.bytes + r->sizes.end, &size, sizeof(size));
  r->sizes.end += sizeof(size);
  if (size > 0)
    memcpy(r->bytes.bytes + r->bytes.end, bytes, size);
  r->bytes.end += size;
}

bool request_add(request *r, const resp_argument *arguments, size_t count)
{
  for (size_t i = 0; i < count; i++)
    request_put(r, arguments[i].bytes, arguments[i].size);
  return !r->is_incomplete;
}

void request_keys_end(request *r)
{
  assert(count_of(r) <= UINT32_MAX);
  r->key_count = (uint32_t)count_of(r);
}

bool request_command(request *r, const resp_argument *arguments, size_t count)
{
  request_begin(r, NULL);
  return request_add(r, arguments, count);
}

bool request_script(request *r, const script *s, const resp_argument *keys, size_t key_count,
                    const resp_argument *arguments, size_t argument_count)
{
  request_begin(r, s);
  (void)request_add(r, keys, key_count);
  request_keys_end(r);
  return request_add(r, arguments, argument_count);
}

bool request_limit(request *r)
{
  r->has_limit = true;
  return !r->is_incomplete;
}

void request_put_estimate(request *r)
{
  request_put(r, "0", 1);
  r->estimate_at = count_of(r);
}

bool request_copy(request *to, const request *from)
{
  request_begin(to, from->script);
  to->key_count = from->key_count;
  to->carries_text = from->carries_text;
  to->has_limit = from->has_limit;
  to->limit_us = from->limit_us;
  to->estimate_at = from->estimate_at;
  to->estimate_us = from->estimate_us;
  to->is_incomplete =
    from->is_incomplete ||
    !buffer_append(&to->sizes, buffer_bytes(&from->sizes), buffer_size(&from->sizes)) ||
    !buffer_append(&to->bytes, buffer_bytes(&from->bytes), buffer_size(&from->bytes));
  return !to->is_incomplete;
}

/* ---- reading ---- */

static size_t size_at(const request *r, size_t i)
{
  size_t size;

  memcpy(&size, buffer_bytes(&r->sizes) + i * sizeof(size), sizeof(size));
  return size;
}

bool request_key(const request *r, const char **ret_key, size_t *ret_size)
{
  size_t before = r->script == NULL ? 1 : 0;

  if (r->is_incomplete || count_of(r) <= before || (r->script != NULL && r->key_count == 0))
    return false;
  *ret_key = buffer_bytes(&r->bytes) + (before > 0 ? size_at(r, 0) : 0);
  *ret_size = size_at(r, before);
  return true;
}

bool request_is_command(const request *r, const char *name)
{
  size_t size = strlen(name);

  return r->script == NULL && !r->is_incomplete && !request_is_empty(r) &&
         size_at(r, 0) == size && memcmp(buffer_bytes(&r->bytes), name, size) == 0;
}

/* ---- encoding ---- */

static char *header_put(char *at, char kind, size_t number)
{
  *at++ = kind;
  at += uint_digits(at, number);
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

static bool header_add(buffer *out, char kind, size_t number)
{
  char bytes[HEADER_SIZE];

  return buffer_append(out, bytes, (size_t)(header_put(bytes, kind, number) - bytes));
}

static bool string_add(buffer *out, const void *bytes, size_t size)
{
  char *at;

  if (size > SIZE_MAX - HEADER_SIZE - 2 || !buffer_reserve(out, HEADER_SIZE + size + 2))
    return false;
  at = header_put(out->bytes + out->end, '$', size);
  memcpy(at, bytes, size);
  at[size] = '\r';
  at[size + 1] = '\n';
  out->end = (size_t)(at + size + 2 - out->bytes);
  return true;
}

static bool number_add(buffer *out, uint64_t value)
{
  char digits[UINT_DIGITS];

  return string_add(out, digits, uint_digits(digits, value));
}

static bool script_add(buffer *out, const request *r, bool by_function)
{
  const script *s = r->script;
  bool is_added;

  if (by_function)
    is_added = string_add(out, "FCALL", 5) && string_add(out, s->function, strlen(s->function));
  else if (r->carries_text)
    is_added = string_add(out, "EVAL", 4) && string_add(out, s->bytes, s->size);
  else
    is_added = string_add(out, "EVALSHA", 7) && string_add(out, s->sha1, 40);
  return is_added && number_add(out, r->key_count);
}

static bool time_add(buffer *out, int64_t us)
{
  return number_add(out, us > 0 ? (uint64_t)us : 0);
}

static bool arguments_add(buffer *out, const request *r)
{
  const char *at = buffer_bytes(&r->bytes);

  for (size_t i = 0, count = count_of(r); i < count; i++) {
    size_t size = size_at(r, i);

    if (i + 1 == r->estimate_at ? !time_add(out, r->estimate_us) : !string_add(out, at, size))
      return false;
    at += size;
  }
  return true;
}

bool request_render(const request *r, bool by_function, buffer *out)
{
  size_t before = buffer_size(out);
  size_t count = count_of(r) + (r->script != NULL ? 3 : 0) + (r->has_limit ? 1 : 0);

  if (r->is_incomplete || count == 0)
    return false;
  /* In one piece, where the arguments are small. */
  if (buffer_reserve(out, buffer_size(&r->bytes) + HEADER_SIZE * (count + 1)) &&
      header_add(out, '*', count) && (r->script == NULL || script_add(out, r, by_function)) &&
      arguments_add(out, r) && (!r->has_limit || time_add(out, r->limit_us)))
    return true;
  buffer_truncate(out, buffer_size(out) - before);
  return false;
}
