/* SPDX-License-Identifier: MIT */
/* dialect/token.c - a lease and its name as one printable text without blanks, to be
 * carried to another process: `lease:C:K:T:<name, percent-encoded>`. Client ids can begin
 * with a dash; the word in front keeps a token from looking like an option. */
#include "dialect/native.h"

#include <string.h>

#include "dialect/parts.h"

static const char head[] = "lease:";

static bool is_plain(char c)
{
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         c == '-' || c == '.' || c == '_' || c == '~' || c == ':' || c == '/';
}

bool token_write(const lease_id *lease, const void *name, size_t size, text *out)
{
  static const char hex[] = "0123456789ABCDEF";
  const char *bytes = name;

  text_add(out, head);
  lease_id_write(lease, out);
  text_add(out, ":");
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)bytes[i];
    char escaped[3] = { '%', hex[c >> 4], hex[c & 15] };
    if (is_plain(bytes[i]))
      text_add_bytes(out, bytes + i, 1);
    else
      text_add_bytes(out, escaped, 3);
  }
  return !out->is_cut;
}

static int hex_value(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return -1;
}

static bool name_decode(const words *w, char ret_name[NAME_MAX_BYTES], size_t *ret_size)
{
  size_t used = 0;

  for (size_t i = 0; i < w->size; i++) {
    int c = (unsigned char)w->at[i];
    if (used == NAME_MAX_BYTES)
      return false;
    if (w->at[i] == '%') {
      int high = w->size - i > 2 ? hex_value(w->at[i + 1]) : -1;
      int low = w->size - i > 2 ? hex_value(w->at[i + 2]) : -1;
      if (high < 0 || low < 0)
        return false;
      c = high * 16 + low;
      i += 2;
    } else if (!is_plain(w->at[i])) {
      return false;
    }
    ret_name[used++] = (char)c;
  }
  if (native_name_fault(ret_name, used) != NULL)
    return false;
  *ret_size = used;
  return true;
}

bool token_read(const char *token, lease_id *ret_lease, char ret_name[NAME_MAX_BYTES],
                size_t *ret_name_size)
{
  words w;
  lease_id l = { .ask = 0 };
  const char *client;
  size_t client_size;

  if (strncmp(token, head, strlen(head)) != 0)
    return false;
  w = (words){ token + strlen(head), strlen(token) - strlen(head) };
  if (!words_take(&w, ':', &client, &client_size) ||
      !client_id_read(client, client_size, l.client) || !words_take_uint(&w, ':', &l.ask) ||
      !words_take_uint(&w, ':', &l.token) || !name_decode(&w, ret_name, ret_name_size))
    return false;
  *ret_lease = l;
  return true;
}
