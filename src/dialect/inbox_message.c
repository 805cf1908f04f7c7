/* SPDX-License-Identifier: MIT */
/* dialect/inbox_message.c - messages of a client channel: `grant:nonce L ttl waiters N`,
 * `share:nonce L ttl waiters units N`, `want L N`, `lost L N`, `released L N`;
 * `grant` and `share` also without a nonce, from scripts of protocol version 1. Any client may
 * publish, so every part is checked; the name comes last and may have any byte (F22). */
#include "dialect/native.h"

#include <string.h>

#include <dibs/client.h>

#include "base/hash_tag.h"
#include "dialect/internal.h"

static inbox_word word_read(const char *bytes, size_t size)
{
  if (size == 5 && memcmp(bytes, "grant", 5) == 0)
    return INBOX_GRANT;
  if (size == 5 && memcmp(bytes, "share", 5) == 0)
    return INBOX_SHARE;
  if (size == 4 && memcmp(bytes, "want", 4) == 0)
    return INBOX_WANT;
  if (size == 4 && memcmp(bytes, "lost", 4) == 0)
    return INBOX_LOST;
  if (size == 8 && memcmp(bytes, "released", 8) == 0)
    return INBOX_RELEASED;
  return 0;
}

/* `word`, or of a grant `word:nonce`. */
static bool head_read(words *w, inbox_message *m)
{
  const char *bytes, *colon;
  size_t size, plain;

  if (!words_take(w, ' ', &bytes, &size))
    return false;
  colon = memchr(bytes, ':', size);
  plain = colon != NULL ? (size_t)(colon - bytes) : size;
  m->word = word_read(bytes, plain);
  m->has_nonce = colon != NULL;
  if (colon == NULL)
    return m->word != 0;
  return (m->word == INBOX_GRANT || m->word == INBOX_SHARE) &&
         nonce_read(colon + 1, size - plain - 1, &m->nonce);
}

/* The part of a grant after its lease: ttl, waiters, and for a shared lease its units. No set has
 * shares: a release by such a lease would end the share of the same ask without the set. */
static bool grant_read(words *w, inbox_message *m)
{
  uint64_t ttl;

  if (m->word == INBOX_SHARE && m->lease.set != 0)
    return false;
  if (!words_take_uint(w, ' ', &ttl) || ttl == 0 || ttl > DIBS_MS_MAX ||
      !words_take_uint(w, ' ', &m->waiters))
    return false;
  m->ttl_ms = (int64_t)ttl;
  return m->word == INBOX_GRANT || (words_take_uint(w, ' ', &m->units) && m->units > 0);
}

bool inbox_message_read(const char *bytes, size_t size, inbox_message *ret)
{
  words w = { bytes, size };
  inbox_message m = { .ttl_ms = 0 };
  const void *name;

  if (!head_read(&w, &m) || !words_take_lease(&w, ' ', &m.lease) || m.lease.token > TOKEN_MAX)
    return false;
  if ((m.word == INBOX_GRANT || m.word == INBOX_SHARE) && !grant_read(&w, &m))
    return false;
  if (native_name_fault(w.at, w.size) != NULL)
    return false;
  name = w.at;
  m.name_size = w.size;
  hash_tag_spell(&name, &m.name_size);
  m.name = name;
  *ret = m;
  return true;
}
