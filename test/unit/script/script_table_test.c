/* SPDX-License-Identifier: MIT */
/* Unit: script/ - the table of scripts; the digest is that of the very bytes that travel. */
#include "tests.h"
#include "script/script.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

/* Each script's text is there as it is, under its own name, and the names are of one library. */
TEST(the_library_has_all_scripts)
{
  static const char head[] = "callback=function(KEYS, ARGV)\n";
  const char *digest = script_library_name + strlen("dibs_");

  assert_int_equal(strlen(script_library_text), script_library_size);
  assert_memory_equal(script_library_text, "#!lua name=dibs_", 16);
  for (size_t i = 0; i < script_count; i++) {
    const char *found = strstr(script_library_text, script_table[i]->function);
    const char *name = script_table[i]->name;
    bool is_native = strncmp(name, "native/", 7) == 0;
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "dibs_%s_%s", is_native ? name + 7 : name, digest);
    if (!is_native)
      *strchr(wanted, '/') = '_';
    assert_string_equal(script_table[i]->function, wanted);
    assert_non_null(found);
    found = strstr(found, head);
    assert_non_null(found);
    assert_memory_equal(found + strlen(head), script_table[i]->bytes, script_table[i]->size);
  }
}

TEST(each_digest_is_that_of_the_embedded_bytes)
{
  for (size_t i = 0; i < script_count; i++) {
    const script *s = script_table[i];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size;
    char hex[41];

    assert_int_equal(EVP_Digest(s->bytes, s->size, digest, &size, EVP_sha1(), NULL), 1);
    for (size_t j = 0; j < 20; j++)
      snprintf(hex + 2 * j, 3, "%02x", digest[j]);
    assert_string_equal(s->sha1, hex);
    assert_int_equal(strlen(s->bytes), s->size);
  }
}

TEST(the_table_has_each_script_once)
{
  size_t found = 0;

  for (size_t i = 0; i < script_count; i++) {
    assert_true(strncmp(script_table[i]->name, "native/", 7) == 0 ||
                strncmp(script_table[i]->name, "redisson/", 9) == 0 ||
                strncmp(script_table[i]->name, "spring/", 7) == 0 ||
                strncmp(script_table[i]->name, "plain/", 6) == 0);
    found += script_table[i] == &script_redisson_map_put ||
             script_table[i] == &script_native_acquire ||
             script_table[i] == &script_native_guarded_incr ||
             script_table[i] == &script_native_renew;
    for (size_t j = 0; j < i; j++)
      assert_string_not_equal(script_table[i]->name, script_table[j]->name);
  }
  assert_int_equal(found, 4);
}

TEST(no_embedded_line_is_a_comment_or_blank)
{
  for (size_t i = 0; i < script_count; i++) {
    const char *line = script_table[i]->bytes;
    while (*line != 0) {
      const char *end = strchr(line, '\n');
      line += strspn(line, " ");
      assert_non_null(end);
      assert_true(line < end);
      assert_true(strncmp(line, "--", 2) != 0);
      line = end + 1;
    }
  }
}

RUN_TESTS(NULL, NULL)
