/* SPDX-License-Identifier: MIT */
/* dialect/token.c - a lease and its names as one printable text without blanks, to be
 * passed to another process: `lease:C:K:T:<name>`, `share:C:K:T:<name>` or
 * `many:C.set:K:T:<name>:<name>...`, names percent-encoded. Client ids can begin with a
 * dash; the first word keeps a token from looking like an option. */
#include "dialect/native.h"

#include <string.h>

#include "base/hex.h"
#include "dialect/internal.h"

static const char *const heads[] = {
  [TOKEN_LEASE] = "lease:", [TOKEN_SHARE] = "share:", [TOKEN_MANY] = "many:",
};

static bool is_plain(char c)
{
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         c == '-' || c == '.' || c == '_' || c == '~' || c == '/';
}

static void name_encode(const many_name *name, text *out)
{
  static const char hex[] = "0123456789ABCDEF";
  const char *bytes = name->name;

  for (size_t i = 0; i < name->size; i++) {
    unsigned char c = (unsigned char)bytes[i];
    char escaped[3] = { '%', hex[c >> 4], hex[c & 15] };
    if (is_plain(bytes[i]))
      text_add_bytes(out, bytes + i, 1);
    else
      text_add_bytes(out, escaped, 3);
  }
}

bool token_write(token_kind kind, const lease_id *lease, const many_name *names, size_t count,
                 text *out)
{
  size_t start = out->used;

  text_add(out, heads[kind]);
  lease_id_write(lease, out);
  for (size_t i = 0; i < count; i++) {
    text_add(out, ":");
    name_encode(&names[i], out);
  }
  return !out->is_cut && out->used - start < TOKEN_MAX_BYTES;
}

/* Decodes one name to `*at`, and moves `*at` after it. The result is never longer than the
 * input. */
static bool name_decode(const char *bytes, size_t size, char **at, many_name *ret_name)
{
  char *start = *at, *end = start;

  for (size_t i = 0; i < size; i++) {
    int c = (unsigned char)bytes[i];
    if (bytes[i] == '%') {
      c = size - i > 2 ? hex_byte(bytes + i + 1) : -1;
      if (c < 0)
        return false;
      i += 2;
    } else if (!is_plain(bytes[i]) && bytes[i] != ':') {
      return false;
    }
    *end++ = (char)c;
  }
  *ret_name = (many_name){ start, (size_t)(end - start) };
  *at = end;
  return native_name_fault(start, ret_name->size) == NULL;
}

/* Version 0.1 wrote ':' in a lease's name unescaped, so there the whole rest is the name. */
static bool names_decode(words *w, token_parts *parts)
{
  char *at = parts->bytes;
  const char *bytes;
  size_t size;

  parts->count = 0;
  while (parts->kind != TOKEN_LEASE && words_take(w, ':', &bytes, &size)) {
    if (parts->kind != TOKEN_MANY || parts->count == MANY_NAMES_MAX - 1 ||
        !name_decode(bytes, size, &at, &parts->names[parts->count]))
      return false;
    parts->count++;
  }
  return name_decode(w->at, w->size, &at, &parts->names[parts->count++]);
}

static bool head_take(words *w, token_kind *ret_kind)
{
  for (token_kind kind = TOKEN_LEASE; kind <= TOKEN_MANY; kind++) {
    size_t size = strlen(heads[kind]);
    if (w->size >= size && memcmp(w->at, heads[kind], size) == 0) {
      *ret_kind = kind;
      w->at += size;
      w->size -= size;
      return true;
    }
  }
  return false;
}

/* The lease of a multi-lock belongs to all of its names: no other token has it. */
bool token_read(const char *token, token_parts *ret)
{
  words w = { token, strlen(token) };

  return w.size < TOKEN_MAX_BYTES && head_take(&w, &ret->kind) &&
         words_take_asker(&w, ':', ret->lease.client, &ret->lease.set) &&
         (ret->lease.set != 0) == (ret->kind == TOKEN_MANY) &&
         words_take_uint(&w, ':', &ret->lease.ask) &&
         words_take_uint(&w, ':', &ret->lease.token) && names_decode(&w, ret);
}
