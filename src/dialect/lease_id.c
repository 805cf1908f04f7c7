/* SPDX-License-Identifier: MIT */
/* dialect/lease_id.c - lease strings, `C:K:T` or `C.set:K:T`, parsed strictly: writing a
 * parsed one gives the same bytes, so that a script can compare whole strings. */
#include "dialect/native.h"

#include <assert.h>
#include <string.h>

#include "dialect/internal.h"

void asker_write(const char *client, uint32_t set, text *out)
{
  text_add(out, client);
  if (set != 0) {
    text_add(out, ".");
    text_add_uint(out, set);
  }
}

void lease_id_write(const lease_id *l, text *out)
{
  asker_write(l->client, l->set, out);
  text_add(out, ":");
  text_add_uint(out, l->ask);
  text_add(out, ":");
  text_add_uint(out, l->token);
}

bool words_take(words *w, char end, const char **ret_bytes, size_t *ret_size)
{
  const char *found = w->size > 0 ? memchr(w->at, end, w->size) : NULL;
  size_t size;

  if (found == NULL)
    return false;
  size = (size_t)(found - w->at);
  *ret_bytes = w->at;
  *ret_size = size;
  w->at += size + 1;
  w->size -= size + 1;
  return true;
}

bool uint_read(const char *bytes, size_t size, uint64_t *ret_value)
{
  if (size > 1 && bytes[0] == '0')
    return false;
  return text_to_uint(bytes, size, ret_value);
}

void uint_write_padded(uint64_t value, size_t count, text *out)
{
  char digits[2 * UINT_DIGITS];
  size_t end;

  assert(count <= UINT_DIGITS);
  memset(digits, '0', UINT_DIGITS);
  end = UINT_DIGITS + uint_digits(digits + UINT_DIGITS, value);
  text_add_bytes(out, digits + end - count, count);
}

void nonce_write(uint64_t nonce, text *out)
{
  uint_write_padded(nonce, NONCE_DIGITS, out);
}

bool nonce_read(const char *bytes, size_t size, uint64_t *ret_nonce)
{
  return size == NONCE_DIGITS && text_to_uint(bytes, size, ret_nonce);
}

bool words_take_uint(words *w, char end, uint64_t *ret_value)
{
  const char *bytes;
  size_t size;

  return words_take(w, end, &bytes, &size) && uint_read(bytes, size, ret_value);
}

bool words_take_lease(words *w, char end, lease_id *ret_lease)
{
  const char *bytes;
  size_t size;

  return words_take(w, end, &bytes, &size) && lease_id_read(bytes, size, ret_lease);
}

/* base64url; or dots, the client of a lease without an owner. */
static bool is_client_character(char c)
{
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         c == '-' || c == '_' || c == '.';
}

bool client_id_read(const char *bytes, size_t size, char ret_client[CLIENT_ID_SIZE])
{
  if (size != CLIENT_ID_SIZE - 1)
    return false;
  for (size_t i = 0; i < size; i++)
    if (!is_client_character(bytes[i]))
      return false;
  memcpy(ret_client, bytes, size);
  ret_client[size] = 0;
  return true;
}

bool asker_read(const char *bytes, size_t size, char ret_client[CLIENT_ID_SIZE],
                uint32_t *ret_set)
{
  const size_t plain = CLIENT_ID_SIZE - 1;
  uint64_t set = 0;

  if (size > plain && (bytes[plain] != '.' ||
                       !uint_read(bytes + plain + 1, size - plain - 1, &set) || set == 0 ||
                       set > UINT32_MAX))
    return false;
  if (!client_id_read(bytes, size < plain ? size : plain, ret_client))
    return false;
  *ret_set = (uint32_t)set;
  return true;
}

bool words_take_asker(words *w, char end, char ret_client[CLIENT_ID_SIZE], uint32_t *ret_set)
{
  const char *bytes;
  size_t size;

  return words_take(w, end, &bytes, &size) && asker_read(bytes, size, ret_client, ret_set);
}

bool lease_id_read(const char *bytes, size_t size, lease_id *ret_lease)
{
  words w = { bytes, size };
  lease_id l = { .ask = 0 };

  if (!words_take_asker(&w, ':', l.client, &l.set) || !words_take_uint(&w, ':', &l.ask) ||
      !uint_read(w.at, w.size, &l.token))
    return false;
  *ret_lease = l;
  return true;
}

static bool is_of_one_ask(const lease_id *a, const lease_id *b)
{
  return a->ask == b->ask && a->set == b->set && strcmp(a->client, b->client) == 0;
}

bool lease_id_equal(const lease_id *a, const lease_id *b)
{
  return a->token == b->token && is_of_one_ask(a, b);
}

bool lease_id_is_grant(const lease_id *l, const lease_id *id)
{
  return (l->token == id->token || l->token == id->token + 1) && is_of_one_ask(l, id);
}

bool lease_id_is_quarantine(const lease_id *l)
{
  return l->client[0] == '.' && l->ask == 0;
}
