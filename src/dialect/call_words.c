/* SPDX-License-Identifier: MIT */
/* dialect/call_words.c - the arguments of a script call, the same for all dialects. */
#include "dialect/call_words.h"

#include <assert.h>

#include "dialect/internal.h"

resp_argument word_time(char bytes[NUMBER_SIZE], int64_t us)
{
  return word_uint(bytes, us > 0 ? (uint64_t)us : 0);
}

resp_argument word_lease(char bytes[LEASE_TEXT_SIZE], const lease_id *lease)
{
  text t = text_over(bytes, LEASE_TEXT_SIZE);

  lease_id_write(lease, &t);
  return word_of(&t);
}

resp_argument word_key(const protocol *n, char bytes[KEY_TEXT_SIZE], const void *name,
                       size_t size)
{
  text t = text_over(bytes, KEY_TEXT_SIZE);

  assert(native_name_fault(name, size) == NULL);
  native_key(n, name, size, &t);
  return word_of(&t);
}

size_t add_era(const protocol *n, resp_argument *ret_key, char bytes[KEY_TEXT_SIZE],
               const void *name, size_t size)
{
  text t = text_over(bytes, KEY_TEXT_SIZE);

  if (n->quarantine_ms <= 0)
    return 0;
  native_era_key(n, name, size, &t);
  *ret_key = word_of(&t);
  return 1;
}

/* What the scripts must know of the deployment; nothing for one server. */
void add_prefix(const protocol *n, text *t)
{
  text_add(t, n->prefix);
  if (!n->has_tags && n->quarantine_ms <= 0)
    return;
  text_add(t, "{");
  if (n->has_tags)
    text_add(t, n->has_sharded_channels ? "s" : "c");
  if (n->quarantine_ms > 0) {
    text_add(t, "q");
    text_add_uint(t, (uint64_t)n->quarantine_ms);
  }
}

resp_argument word_prefix(const protocol *n, char bytes[PREFIX_WORD_SIZE])
{
  text t = text_over(bytes, PREFIX_WORD_SIZE);

  add_prefix(n, &t);
  return word_of(&t);
}

void add_place(const protocol *n, text *t, const void *name, size_t size)
{
  add_prefix(n, t);
  text_add(t, " ");
  text_add_bytes(t, name, size);
}

resp_argument word_place(const protocol *n, char bytes[PLACE_SIZE], const void *name,
                         size_t size)
{
  text t = text_over(bytes, PLACE_SIZE);

  add_place(n, &t, name, size);
  return word_of(&t);
}

void add_channel_mark(const protocol *n, text *t)
{
  if (n->has_tags && n->has_sharded_channels)
    text_add(t, "{");
}

void add_time(text *t, int64_t us)
{
  text_add_uint(t, us > 0 ? (uint64_t)us : 0);
  text_add(t, " ");
}

void add_mode(text *t, bool waits, bool polls, uint64_t nonce)
{
  assert(waits || !polls);
  text_add(t, polls ? "p" : waits ? "w" : "t");
  if (waits && !polls)
    nonce_write(nonce, t);
  text_add(t, " ");
}

void add_watching(const protocol *n, text *t, int64_t give_up_us, const lease_id *watched,
                  uint64_t renewals, const void *name, size_t size)
{
  add_time(t, give_up_us);
  if (watched != NULL)
    lease_id_write(watched, t);
  else
    text_add(t, "-");
  text_add(t, " ");
  text_add_uint(t, watched != NULL ? renewals : 0);
  text_add(t, " ");
  add_place(n, t, name, size);
}

int64_t dialect_copies_ms(int64_t copies_us, int64_t estimate_us)
{
  if (copies_us == 0)
    return 0;
  return estimate_us > 0 && copies_us > estimate_us ? (copies_us - estimate_us) / 1000 + 1
                                                    : DIALECT_COPIES_MS;
}
