/* SPDX-License-Identifier: MIT */
/* dialect/native/wait_report.c - see native/wait_report.h. Other clients write what is read
 * here, so each part is checked. */
#include "dialect/native/wait_report.h"

#include <string.h>

#include "base/hash.h"
#include "dialect/internal.h"

#define VERSION "1 "

/* ---- ids ---- */

uint64_t owner_hash(const char *client, const void *owner, size_t owner_size)
{
  uint64_t hash = fnv1a(FNV1A_START, client, strlen(client));

  hash = fnv1a(hash, owner, owner_size);
  hash = (hash ^ hash >> 31) * 0x9e3779b97f4a7c15u;   /* short keys differ in few bits */
  return hash ^ hash >> 29;
}

void owner_id_write(uint64_t hash, text *out)
{
  static const char digits[] = "0123456789abcdef";

  for (int shift = 60; shift >= 0; shift -= 4)
    text_add_bytes(out, &digits[hash >> shift & 15], 1);
}

static bool id_read(const char *bytes, size_t size, char ret[OWNER_ID_SIZE])
{
  if (size != OWNER_ID_SIZE - 1)
    return false;
  for (size_t i = 0; i < size; i++)
    if (!((bytes[i] >= '0' && bytes[i] <= '9') || (bytes[i] >= 'a' && bytes[i] <= 'f')))
      return false;
  memcpy(ret, bytes, size);
  ret[size] = 0;
  return true;
}

/* ---- writing ---- */

void wait_report_begin(text *out)
{
  text_add(out, VERSION);
}

void wait_report_add_nonce(text *out, const char *nonce)
{
  text_add(out, "e ");
  text_add(out, nonce);
  text_add(out, " ");
}

static void number_add(text *out, uint64_t value, const char *end)
{
  text_add_uint(out, value);
  text_add(out, end);
}

bool wait_report_add(text *out, const owner_entry *e)
{
  text before = *out;

  text_add_bytes(out, &e->kind, 1);
  text_add(out, " ");
  text_add(out, e->owner);
  text_add(out, " ");
  number_add(out, e->id, " ");
  if (e->kind == 'w')
    number_add(out, e->since_us, " ");
  number_add(out, e->set, " ");
  number_add(out, e->ask, " ");
  if (e->kind == 'h')
    number_add(out, e->token, " ");
  number_add(out, e->name_size, ":");
  text_add_bytes(out, e->name, e->name_size);
  text_add(out, " ");
  if (!out->is_cut)
    return true;
  *out = before;
  out->at[out->used] = 0;
  return false;
}

/* ---- reading ---- */

wait_report_reader wait_report_read(const void *bytes, size_t size)
{
  const size_t version = sizeof(VERSION) - 1;

  if (size < version || memcmp(bytes, VERSION, version) != 0)
    return (wait_report_reader){ "", 0 };
  return (wait_report_reader){ (const char *)bytes + version, size - version };
}

static bool take_name(words *w, owner_entry *e)
{
  uint64_t size;

  if (!words_take_uint(w, ':', &size) || size > NAME_MAX_BYTES || w->size < size + 1 ||
      w->at[size] != ' ' || native_name_fault(w->at, (size_t)size) != NULL)
    return false;
  e->name = w->at;
  e->name_size = (size_t)size;
  w->at += size + 1;
  w->size -= (size_t)size + 1;
  return true;
}

static bool take_entry(words *w, owner_entry *e)
{
  const char *id;
  size_t id_size;
  uint64_t set;

  if (!words_take(w, ' ', &id, &id_size) || !id_read(id, id_size, e->owner) ||
      !words_take_uint(w, ' ', &e->id))
    return false;
  if (e->kind == 'w' && !words_take_uint(w, ' ', &e->since_us))
    return false;
  if (!words_take_uint(w, ' ', &set) || set > UINT32_MAX ||
      !words_take_uint(w, ' ', &e->ask))
    return false;
  e->set = (uint32_t)set;
  if (e->kind == 'h' && !words_take_uint(w, ' ', &e->token))
    return false;
  return take_name(w, e);
}

/* Takes the first item: an entry, or an echo (kind 'e', the nonce as its owner). */
static bool take(wait_report_reader *r, owner_entry *e)
{
  words w = { r->at, r->size };
  const char *word;
  size_t size;

  *e = (owner_entry){ .kind = 0 };
  if (!words_take(&w, ' ', &word, &size) || size != 1)
    return false;
  e->kind = word[0];
  switch (e->kind) {
  case 'e':
    if (!words_take(&w, ' ', &word, &size) || !id_read(word, size, e->owner))
      return false;
    break;
  case 'w':
  case 'h':
    if (!take_entry(&w, e))
      return false;
    break;
  default:
    return false;
  }
  *r = (wait_report_reader){ w.at, w.size };
  return true;
}

bool wait_report_next(wait_report_reader *r, owner_entry *ret)
{
  while (take(r, ret))
    if (ret->kind != 'e')
      return true;
  return false;
}

bool wait_report_has_nonce(const void *bytes, size_t size, const char *nonce)
{
  wait_report_reader r = wait_report_read(bytes, size);
  owner_entry e;

  while (take(&r, &e))
    if (e.kind == 'e' && strcmp(e.owner, nonce) == 0)
      return true;
  return false;
}

/* ---- the message ---- */

#define TELL "tell "
#define TELL_SIZE (sizeof(TELL) - 1)

void wait_report_request_write(const char *nonce, text *out)
{
  text_add(out, TELL);
  text_add(out, nonce);
}

bool wait_report_request_read(const char *bytes, size_t size, char ret_nonce[OWNER_ID_SIZE])
{
  return size > TELL_SIZE && memcmp(bytes, TELL, TELL_SIZE) == 0 &&
         id_read(bytes + TELL_SIZE, size - TELL_SIZE, ret_nonce);
}
