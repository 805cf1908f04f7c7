/* SPDX-License-Identifier: MIT */
/* dialect/inbox_message.c - `grant L ttl waiters N`, `share L ttl waiters units N`,
 * `want L N`, `lost L N`. Anybody may publish, so every part is checked; the name comes
 * last and may hold any byte (F22). */
#include "dialect/native.h"

#include <string.h>

#include <dibs/client.h>

#include "dialect/parts.h"

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
  return 0;
}

/* What a grant says behind its lease: ttl, waiters, and of a share its units. */
static bool grant_read(words *w, inbox_message *m)
{
  uint64_t ttl;

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
  const char *word;
  size_t word_size;

  if (!words_take(&w, ' ', &word, &word_size))
    return false;
  m.word = word_read(word, word_size);
  if (m.word == 0 || !words_take_lease(&w, ' ', &m.lease) || m.lease.token > TOKEN_MAX)
    return false;
  if ((m.word == INBOX_GRANT || m.word == INBOX_SHARE) && !grant_read(&w, &m))
    return false;
  if (native_name_fault(w.at, w.size) != NULL)
    return false;
  m.name = w.at;
  m.name_size = w.size;
  *ret = m;
  return true;
}
