/* SPDX-License-Identifier: MIT */
/* Keys and channels made of names, and names refused. F21. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_tag.h"
#include "dialect/native.h"
#include "dialect/native/barrier.h"
#include "dialect/native/election.h"
#include "dialect/native/guard.h"

static const protocol here = { .prefix = "dibs", .client = "AAAAAAAAAAAAAAAAAAAAAA" };

static void check_key(const char *name, const char *key)
{
  char out[KEY_TEXT_SIZE];
  text t = text_over(out, sizeof(out));

  native_key(&here, name, strlen(name), &t);
  assert_false(t.is_cut);
  assert_string_equal(out, key);
}

TEST(a_name_is_put_in_braces)
{
  check_key("orders:42", "dibs:m:{orders:42}");
  check_key("a{b", "dibs:m:{a{b}");
  check_key("a}b", "dibs:m:{a}b}");
  check_key("a}b{", "dibs:m:{a}b{}");
  check_key("{}x", "dibs:m:{{}x}");
  check_key("{", "dibs:m:{{}");
}

TEST(a_name_with_a_tag_of_its_own_keeps_it)
{
  check_key("{user:7}:orders", "dibs:m:{user:7}:orders");
  check_key("orders{7}", "dibs:m:orders{7}");
  check_key("{x}", "dibs:m:{x}");
  check_key("x", "dibs:m:{x}");
}

TEST(the_longest_key_fits)
{
  protocol longest = { .client = "AAAAAAAAAAAAAAAAAAAAAA" };
  char name[NAME_MAX_BYTES], out[KEY_TEXT_SIZE];
  text t = text_over(out, sizeof(out));

  memset(longest.prefix, 'p', PREFIX_MAX_BYTES);
  memset(name, 'n', sizeof(name));
  native_key(&longest, name, sizeof(name), &t);
  assert_false(t.is_cut);
}

TEST(the_name_is_found_again_in_its_key)
{
  static const char *const names[] = { "orders", "a{b", "a}b", "{user:7}:orders", "o{7}",
                                       "{}x", "{", "two words", "{a}{b}", "{{a}}" };
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    char key[KEY_TEXT_SIZE], again[KEY_TEXT_SIZE];
    text t = text_over(key, sizeof(key)), u = text_over(again, sizeof(again));
    const char *name;
    size_t size;
    native_key(&here, names[i], strlen(names[i]), &t);
    assert_true(native_key_name(&here, key, t.used, &name, &size));
    /* The same lock, if not the same spelling. */
    native_key(&here, name, size, &u);
    assert_string_equal(key, again);
    if (strchr(names[i], '}') == NULL) {
      assert_int_equal(size, strlen(names[i]));
      assert_memory_equal(name, names[i], size);
    }
  }
}

TEST(keys_of_others_have_no_name)
{
  static const char *const foreign[] = {
    "", "dibs", "dibs:m:", "dibs:s:{x}", "dibs:inbox:AAAAAAAAAAAAAAAAAAAAAA", "other:m:{x}",
    "dibs2:m:{x}", "dibs:m:x", "dibs:m:{}", "dibs:m:{}}", "dibs:m:}{x}", "dibs:client:x",
  };
  const char *name;
  size_t size;

  for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
    if (native_key_name(&here, foreign[i], strlen(foreign[i]), &name, &size))
      fail_msg("taken: %s", foreign[i]);
}

TEST(names_are_refused_when_empty_long_or_closing)
{
  char name[NAME_MAX_BYTES + 1];

  memset(name, 'n', sizeof(name));
  assert_null(native_name_fault("orders", 6));
  assert_null(native_name_fault("\0\n ", 3));
  assert_null(native_name_fault(name, NAME_MAX_BYTES));
  assert_non_null(native_name_fault("", 0));
  assert_non_null(native_name_fault(name, NAME_MAX_BYTES + 1));
  assert_non_null(native_name_fault("}", 1));
  assert_non_null(native_name_fault("}x{y}", 5));
}

TEST(prefixes_are_refused_with_blanks_braces_or_controls)
{
  char prefix[PREFIX_MAX_BYTES + 2] = { 0 };

  memset(prefix, 'p', PREFIX_MAX_BYTES);
  assert_null(native_prefix_fault("dibs"));
  assert_null(native_prefix_fault("team:app"));
  assert_null(native_prefix_fault("caf\xc3\xa9"));
  assert_null(native_prefix_fault(prefix));
  prefix[PREFIX_MAX_BYTES] = 'p';
  assert_non_null(native_prefix_fault(prefix));
  assert_non_null(native_prefix_fault(""));
  assert_non_null(native_prefix_fault("a b"));
  assert_non_null(native_prefix_fault("a\tb"));
  assert_non_null(native_prefix_fault("a{b"));
  assert_non_null(native_prefix_fault("a}b"));
  assert_non_null(native_prefix_fault("a\x7f"));
}

TEST(channels_and_client_keys_carry_the_client)
{
  char out[KEY_TEXT_SIZE];
  text t = text_over(out, sizeof(out));

  native_inbox(&here, &t);
  assert_string_equal(out, "dibs:inbox:AAAAAAAAAAAAAAAAAAAAAA");
  t = text_over(out, sizeof(out));
  native_client_key(&here, "BBBBBBBBBBBBBBBBBBBBBB", &t);
  assert_string_equal(out, "dibs:client:BBBBBBBBBBBBBBBBBBBBBB");
}

static void check_text(void (*write)(const protocol *, const void *, size_t, text *),
                       const protocol *n, const char *name, const char *wanted)
{
  char out[KEY_TEXT_SIZE + CLIENT_ID_SIZE];
  text t = text_over(out, sizeof(out));

  write(n, name, strlen(name), &t);
  assert_string_equal(out, wanted);
}

TEST(in_cluster_inbox_and_era_stand_beside_the_name)
{
  static const struct { const char *name, *tag; } all[] = {
    { "x", "{x}" }, { "a{b}c", "{b}" }, { "{}x", "{{}" }, { "a}b", "{a}" }, { "{{x}}", "{{x}" },
    { "a{", "{a{}" }, { "{x}", "{x}" }, { "a}{b}", "{b}" },
  };
  protocol there = { .prefix = "dibs", .client = "AAAAAAAAAAAAAAAAAAAAAA", .has_tags = true };
  char wanted[128];

  check_text(native_name_inbox, &here, "x", "dibs:inbox:AAAAAAAAAAAAAAAAAAAAAA");
  check_text(native_era_key, &here, "x", "dibs:era");
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    snprintf(wanted, sizeof(wanted), "dibs:inbox:%s:AAAAAAAAAAAAAAAAAAAAAA", all[i].tag);
    check_text(native_name_inbox, &there, all[i].name, wanted);
    snprintf(wanted, sizeof(wanted), "dibs:era:%s", all[i].tag);
    check_text(native_era_key, &there, all[i].name, wanted);
  }
}

/* All names of up to five bytes out of these three. */
enum { BYTES = 3, LONGEST = 5, NAMES = 3 + 9 + 27 + 81 + 243 };

typedef struct spelled {
  char name[LONGEST + 1], key[32];
} spelled;

static void spell(const char *name, char *ret, size_t room)
{
  const void *bytes = name;
  size_t size = strlen(name);

  hash_tag_spell(&bytes, &size);
  snprintf(ret, room, "%.*s", (int)size, (const char *)bytes);
}

static size_t all_names(spelled *names)
{
  size_t count = 0, from = 0, to = 1;
  char tried[NAMES + 1][LONGEST + 1] = { "" };

  for (; from < to && to <= NAMES; from++)
    for (int b = 0; b < BYTES; b++, to++)
      snprintf(tried[to], sizeof(tried[to]), "%.*s%c", LONGEST - 1, tried[from], "{}x"[b]);
  for (size_t i = 1; i <= NAMES; i++) {
    text key = text_over(names[count].key, sizeof(names[count].key));

    if (native_name_fault(tried[i], strlen(tried[i])) != NULL)
      continue;
    native_key(&here, tried[i], strlen(tried[i]), &key);
    spell(tried[i], names[count++].name, sizeof(names[0].name));
  }
  return count;
}

TEST(names_have_one_spelling_if_and_only_if_they_have_one_key)
{
  static spelled names[NAMES];
  size_t count = all_names(names);

  assert_true(count > NAMES / 2);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < i; k++)
      assert_int_equal(strcmp(names[i].name, names[k].name) == 0,
                       strcmp(names[i].key, names[k].key) == 0);
}

/* ---- several prefixes ---- */

enum { PARTS_MAX = 3, WORDS = 3 + 9 + 27, PLACES = WORDS * (2 * WORDS + 2) };

/* A prefix, a name, and the key of the lock. */
typedef struct place {
  char prefix[8], name[16], key[32];
} place;

/* All words of up to three of these parts, with a ':' between two. */
static void all_words(char words[WORDS][8])
{
  size_t count = 0;

  for (; count < 3; count++)
    snprintf(words[count], sizeof(words[0]), "%c", "amb"[count]);
  for (size_t from = 0; count < WORDS; from++)
    for (int part = 0; part < 3; part++)
      snprintf(words[count++], sizeof(words[0]), "%.5s:%c", words[from], "amb"[part]);
}

static protocol with_prefix(const char *prefix)
{
  protocol n = { .client = "AAAAAAAAAAAAAAAAAAAAAA" };

  snprintf(n.prefix, sizeof(n.prefix), "%.7s", prefix);
  return n;
}

static void place_make(place *p, const char *prefix, const char *word, const char *rest)
{
  protocol n = with_prefix(prefix);
  text key = text_over(p->key, sizeof(p->key));
  char name[16];

  snprintf(name, sizeof(name), "%s%s", word, rest);
  native_key(&n, name, strlen(name), &key);
  assert_false(key.is_cut);
  snprintf(p->prefix, sizeof(p->prefix), "%.7s", prefix);
  spell(name, p->name, sizeof(p->name));
}

/* Names with and without a hash tag behind those words, under each prefix that is accepted. */
static size_t all_places(char words[WORDS][8], place *places)
{
  size_t count = 0;

  for (size_t i = 0; i < WORDS; i++) {
    if (native_prefix_fault(words[i]) != NULL)
      continue;
    place_make(&places[count++], words[i], "", "x");
    place_make(&places[count++], words[i], "", "{x}");
    for (size_t k = 0; k < WORDS; k++) {
      place_make(&places[count++], words[i], words[k], ":x");
      place_make(&places[count++], words[i], words[k], ":{x}");
    }
  }
  return count;
}

static int by_key(const void *a, const void *b)
{
  return strcmp(((const place *)a)->key, ((const place *)b)->key);
}

TEST(locks_of_two_prefixes_never_have_one_key)
{
  static place places[PLACES];
  char words[WORDS][8];
  size_t count;

  all_words(words);
  count = all_places(words, places);
  assert_true(count > PLACES / 2);
  qsort(places, count, sizeof(places[0]), by_key);
  for (size_t i = 1; i < count; i++)
    if (strcmp(places[i].key, places[i - 1].key) == 0 &&
        (strcmp(places[i].prefix, places[i - 1].prefix) != 0 ||
         strcmp(places[i].name, places[i - 1].name) != 0))
      fail_msg("prefix %s, name %s is prefix %s, name %s: %s", places[i].prefix, places[i].name,
               places[i - 1].prefix, places[i - 1].name, places[i].key);
}

static void check_is_no_lock(const char *key, const char *prefix)
{
  protocol n = with_prefix(prefix);
  const char *name;
  size_t size;

  if (native_key_name(&n, key, strlen(key), &name, &size))
    fail_msg("%s is a lock of the prefix %s", key, prefix);
}

/* A prefix that another one continues: `a` and `a:b`. */
TEST(what_a_longer_prefix_stores_is_no_lock_of_a_shorter_one)
{
  static void (*const kinds[])(const protocol *, const void *, size_t, text *) = {
    native_key, native_barrier_key, native_election_key, native_fence_key,
  };
  char words[WORDS][8], key[KEY_TEXT_SIZE];

  all_words(words);
  for (size_t i = 0; i < WORDS; i++)
    for (size_t k = 0; k < WORDS; k++)
      for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        protocol longer = with_prefix(words[i]);
        text t = text_over(key, sizeof(key));

        if (native_prefix_fault(words[i]) != NULL || strlen(words[k]) >= strlen(words[i]))
          continue;
        kinds[kind](&longer, "x", 1, &t);
        check_is_no_lock(key, words[k]);
      }
}

TEST(a_prefix_with_the_part_m_is_refused)
{
  assert_non_null(native_prefix_fault("a:m"));
  assert_non_null(native_prefix_fault("a:m:b"));
  assert_non_null(native_prefix_fault("a::m"));
  assert_non_null(native_prefix_fault("m:m"));
  assert_non_null(native_prefix_fault("a:me:m"));
  assert_null(native_prefix_fault("m"));
  assert_null(native_prefix_fault("m:a"));
  assert_null(native_prefix_fault("am"));
  assert_null(native_prefix_fault("a:me"));
  assert_null(native_prefix_fault("a:am:b"));
}

RUN_TESTS(NULL, NULL)
