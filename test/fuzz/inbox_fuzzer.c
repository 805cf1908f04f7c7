/* SPDX-License-Identifier: MIT */
/* Fuzz: any bytes as an inbox message, a token, a lease string and a key: what strangers
 * can send or type. Facts checked: what is taken names a lock within its bounds and,
 * written again, is what was read. */
#include "fuzz.h"

#include <dibs/lock.h>

#include "dialect/native.h"

#include <string.h>

static const protocol here = { .prefix = "dibs", .client = "AAAAAAAAAAAAAAAAAAAAAA" };

/* All of the rest, or what is between its braces: `{x}` is the lock `x`. */
static bool is_rest(const inbox_message *m, const char *end)
{
  const char *after = m->name + m->name_size;

  return after == end || (after + 1 == end && m->name[-1] == '{' && *after == '}');
}

static void check_message(const char *bytes, size_t size)
{
  inbox_message m;
  char out[LEASE_TEXT_SIZE];
  text t = text_over(out, sizeof(out));

  if (!inbox_message_read(bytes, size, &m))
    return;
  FUZZ_CHECK(m.word >= INBOX_GRANT && m.word <= INBOX_SHARE);
  FUZZ_CHECK(m.name > bytes && is_rest(&m, bytes + size));
  FUZZ_CHECK(native_name_fault(m.name, m.name_size) == NULL);
  FUZZ_CHECK((m.word != INBOX_GRANT && m.word != INBOX_SHARE) ||
             (m.ttl_ms > 0 && m.ttl_ms <= DIBS_MS_MAX));
  lease_id_write(&m.lease, &t);
  FUZZ_CHECK(!t.is_cut && memmem(bytes, size, out, t.used) != NULL);
}

static void check_lease(const char *bytes, size_t size)
{
  lease_id l;
  char out[LEASE_TEXT_SIZE];
  text t = text_over(out, sizeof(out));

  if (!lease_id_read(bytes, size, &l))
    return;
  lease_id_write(&l, &t);
  FUZZ_CHECK(t.used == size && memcmp(out, bytes, size) == 0);
}

static void check_token(const char *words)
{
  static token_parts p, again;
  char out[TOKEN_MAX_BYTES];
  text t = text_over(out, sizeof(out));

  if (!token_read(words, &p))
    return;
  FUZZ_CHECK(p.count >= 1 && p.count <= MANY_NAMES_MAX);
  FUZZ_CHECK(p.kind == TOKEN_MANY || p.count == 1);
  for (size_t i = 0; i < p.count; i++)
    FUZZ_CHECK(native_name_fault(p.names[i].name, p.names[i].size) == NULL);
  /* An old lease's plain colons become longer: then there may be no room for it. */
  if (!token_write(p.kind, &p.lease, p.names, p.count, &t))
    return;
  FUZZ_CHECK(token_read(out, &again));
  FUZZ_CHECK(lease_id_equal(&p.lease, &again.lease) && p.count == again.count);
  for (size_t i = 0; i < p.count; i++)
    FUZZ_CHECK(p.names[i].size == again.names[i].size &&
               memcmp(p.names[i].name, again.names[i].name, p.names[i].size) == 0);
}

/* A key of ours leads to a name, and that name to the key. */
static void check_key(const char *bytes, size_t size)
{
  char out[KEY_TEXT_SIZE];
  text t = text_over(out, sizeof(out));
  const char *name;
  size_t name_size;

  if (!native_key_name(&here, bytes, size, &name, &name_size))
    return;
  native_key(&here, name, name_size, &t);
  FUZZ_CHECK(t.used == size && memcmp(out, bytes, size) == 0);
}

/* And any name comes back out of its key, if in another spelling of the same lock. */
static void check_name(const char *bytes, size_t size)
{
  char out[KEY_TEXT_SIZE];
  text t = text_over(out, sizeof(out));
  const char *name;
  size_t name_size;

  if (native_name_fault(bytes, size) != NULL)
    return;
  native_key(&here, bytes, size, &t);
  FUZZ_CHECK(!t.is_cut);
  FUZZ_CHECK(native_key_name(&here, out, t.used, &name, &name_size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  char *copy = malloc(size + 1);

  FUZZ_CHECK(copy != NULL);
  if (size > 0)
    memcpy(copy, bytes, size);
  copy[size] = 0;
  check_message(copy, size);
  check_lease(copy, size);
  check_token(copy);
  check_key(copy, size);
  check_name(copy, size);
  free(copy);
  return 0;
}
