/* SPDX-License-Identifier: MIT */
/* dialect/call_words.c - the arguments of a script call, the same for all dialects. */
#include "dialect/call_words.h"

#include <assert.h>
#include <string.h>

#include "dialect/internal.h"

void put_of(request *out, const text *t)
{
  assert(!t->is_cut);
  request_put(out, t->at, t->used);
}

void put_text(request *out, const char *plain)
{
  request_put(out, plain, strlen(plain));
}

void put_uint(request *out, uint64_t value)
{
  char digits[UINT_DIGITS];

  request_put(out, digits, uint_digits(digits, value));
}

void put_time(request *out, int64_t us)
{
  put_uint(out, us > 0 ? (uint64_t)us : 0);
}

void put_estimate(request *out, int64_t us)
{
  if (us == ESTIMATE_AT_SENDING)
    request_put_estimate(out);
  else
    put_time(out, us);
}

void put_lease(request *out, const lease_id *lease)
{
  char bytes[LEASE_TEXT_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  lease_id_write(lease, &t);
  put_of(out, &t);
}

void put_key(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[KEY_TEXT_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  assert(native_name_fault(name, size) == NULL);
  native_key(n, name, size, &t);
  put_of(out, &t);
}

void put_era(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[KEY_TEXT_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  if (n->quarantine_ms <= 0)
    return;
  native_era_key(n, name, size, &t);
  put_of(out, &t);
}

const char *const share_set_words[3] = { "set", "absent", "delete" };

void begin_with_era(const protocol *n, request *out, const script *s, const void *name,
                    size_t size)
{
  request_begin(out, s);
  put_key(n, out, name, size);
  put_era(n, out, name, size);
  request_keys_end(out);
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

void put_prefix(const protocol *n, request *out)
{
  char bytes[PREFIX_WORD_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_prefix(n, &t);
  put_of(out, &t);
}

void add_place(const protocol *n, text *t, const void *name, size_t size)
{
  add_prefix(n, t);
  text_add(t, " ");
  text_add_bytes(t, name, size);
}

void put_place(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[PLACE_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_place(n, &t, name, size);
  put_of(out, &t);
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

void add_units(text *t, const share_call *c)
{
  text_add_uint(t, c->units);
  if (c->limit == 0)
    return;
  text_add(t, "/");
  text_add_uint(t, c->limit);
}

void add_mode(text *t, bool waits, bool polls, uint64_t nonce)
{
  assert(waits || !polls);
  text_add(t, polls ? "p" : waits ? "w" : "t");
  if (waits && !polls)
    nonce_write(nonce, t);
  text_add(t, " ");
}

void add_watching(text *t, int64_t give_up_us, const lease_id *watched, uint64_t renewals)
{
  add_time(t, give_up_us);
  if (watched != NULL)
    lease_id_write(watched, t);
  else
    text_add(t, "-");
  text_add(t, " ");
  text_add_uint(t, watched != NULL ? renewals : 0);
  text_add(t, " ");
}

int64_t dialect_copies_ms(int64_t copies_us, int64_t estimate_us)
{
  if (copies_us == 0)
    return 0;
  return estimate_us > 0 && copies_us > estimate_us ? (copies_us - estimate_us) / 1000 + 1
                                                    : DIALECT_COPIES_MS;
}
