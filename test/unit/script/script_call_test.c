/* SPDX-License-Identifier: MIT */
/* Unit: script/ - calls as the server wants them; the digest is that of the very bytes
 * that travel. */
#include "script/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "failing_heap.h"

static const script sample = { "native/sample", "return 1\n", 9,
                               "2067d915024a3e1657c4169c84f809f8ebdcff79", "dibs_sample_01234567" };

static void expect_call(script_form form, size_t key_count, size_t argument_count,
                        const char *wanted)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  resp_argument keys[2] = { RESP_TEXT("k1"), RESP_TEXT("k2") };
  resp_argument arguments[1] = { RESP_TEXT("a") };
  buffer out;

  buffer_init(&out, &m);
  assert_true(script_call(&out, &sample, form, keys, key_count, arguments,
                          argument_count));
  assert_int_equal(buffer_size(&out), strlen(wanted));
  assert_memory_equal(buffer_bytes(&out), wanted, strlen(wanted));
  buffer_deinit(&out);
}

static void a_known_script_is_called_by_its_digest(void **state)
{
  (void)state;
  expect_call(SCRIPT_BY_DIGEST, 2, 1,
              "*6\r\n$7\r\nEVALSHA\r\n$40\r\n2067d915024a3e1657c4169c84f809f8ebdcff79\r\n"
              "$1\r\n2\r\n$2\r\nk1\r\n$2\r\nk2\r\n$1\r\na\r\n");
}

static void an_unknown_one_by_its_text(void **state)
{
  (void)state;
  expect_call(SCRIPT_BY_TEXT, 1, 1,
              "*5\r\n$4\r\nEVAL\r\n$9\r\nreturn 1\n\r\n$1\r\n1\r\n$2\r\nk1\r\n$1\r\na\r\n");
  expect_call(SCRIPT_BY_TEXT, 0, 0, "*3\r\n$4\r\nEVAL\r\n$9\r\nreturn 1\n\r\n$1\r\n0\r\n");
}

static void a_function_by_its_name(void **state)
{
  (void)state;
  expect_call(SCRIPT_BY_FUNCTION, 1, 1,
              "*5\r\n$5\r\nFCALL\r\n$20\r\ndibs_sample_01234567\r\n$1\r\n1\r\n$2\r\nk1\r\n"
              "$1\r\na\r\n");
}

/* Each script's text is there as it is, under its own name, and the names are of one library. */
static void the_library_has_all_scripts(void **state)
{
  const char *digest = script_library_name + strlen("dibs_");

  (void)state;
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
    assert_ptr_equal(strstr(found, script_table[i]->bytes),
                     strstr(script_library_text, script_table[i]->bytes));
  }
}

struct size { size_t arguments; const char *head; };

static bool calls(failing_heap *heap, void *data)
{
  const struct size *size = data;
  memory m = FAILING_HEAP_AS(memory, heap);
  resp_argument keys[100], arguments[2004];
  buffer out;
  bool is_written;

  for (size_t i = 0; i < 100; i++)
    keys[i] = RESP_TEXT("k");
  for (size_t i = 0; i < 2004; i++)
    arguments[i] = RESP_TEXT("a");
  buffer_init(&out, &m);
  is_written = script_call(&out, &sample, SCRIPT_BY_DIGEST, keys, 100, arguments, size->arguments);
  assert_true(is_written == (buffer_size(&out) > 0));
  if (is_written)
    assert_memory_equal(buffer_bytes(&out), size->head, strlen(size->head));
  buffer_deinit(&out);
  return is_written;
}

static void large_calls_fit_and_may_be_refused_memory(void **state)
{
  struct size sizes[] = { { 260, "*363\r\n" }, { 261, "*364\r\n" }, { 2004, "*2107\r\n" } };

  (void)state;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
    failing_heap_try_all(calls, &sizes[i]);
}

static void each_digest_is_that_of_the_embedded_bytes(void **state)
{
  (void)state;
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

static void the_table_has_each_script_once(void **state)
{
  size_t found = 0;

  (void)state;
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

static void no_embedded_line_is_a_comment_or_blank(void **state)
{
  (void)state;
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

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_known_script_is_called_by_its_digest),
    cmocka_unit_test(an_unknown_one_by_its_text),
    cmocka_unit_test(a_function_by_its_name),
    cmocka_unit_test(the_library_has_all_scripts),
    cmocka_unit_test(large_calls_fit_and_may_be_refused_memory),
    cmocka_unit_test(each_digest_is_that_of_the_embedded_bytes),
    cmocka_unit_test(the_table_has_each_script_once),
    cmocka_unit_test(no_embedded_line_is_a_comment_or_blank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
