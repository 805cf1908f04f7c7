/* SPDX-License-Identifier: MIT */
/* Unit: drive/tls, drive/resolve - what can be said without a peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "drive/resolve.h"
#include "drive/tls.h"
#include "failing_heap.h"

static failing_heap heap;
static char words[512];

static dibs_status make(const tls_settings *s, tls_context **ret)
{
  memory m = FAILING_HEAP_AS(memory, &heap);
  text why = text_over(words, sizeof(words));

  return tls_context_new(&m, s, ret, &why);
}

static void files_that_cannot_be_used_are_named(void **state)
{
  tls_context *c = NULL;

  (void)state;
  assert_int_equal(make(&(tls_settings){ .ca_file = "/no/such.pem", .name = "h" }, &c),
                   DIBS_ERR_TLS);
  assert_non_null(strstr(words, "\"/no/such.pem\": No such file"));
  assert_int_equal(make(&(tls_settings){ .ca_file = "/proc/version", .name = "h" }, &c),
                   DIBS_ERR_TLS);
  assert_non_null(strstr(words, "/proc/version"));
  assert_int_equal(make(&(tls_settings){ .cert_file = "/no/c", .name = "h" }, &c), DIBS_ERR_TLS);
  assert_non_null(strstr(words, "both files"));
  assert_null(c);
  assert_int_equal(heap.live, 0);
}

static void a_session_begins_with_a_hello_that_names_the_host(void **state)
{
  memory m = FAILING_HEAP_AS(memory, &heap);
  text why = text_over(words, sizeof(words));
  tls_context *c = NULL;
  tls_session *s;
  bool is_done = true;
  buffer out;

  (void)state;
  buffer_init(&out, &m);
  assert_int_equal(make(&(tls_settings){ .name = "locks.example" }, &c), DIBS_OK);
  s = tls_session_new(c);
  assert_non_null(s);
  assert_int_equal(tls_handshake(s, &out, &is_done, &why), DIBS_OK);
  assert_false(is_done);
  assert_non_null(memmem(buffer_bytes(&out), buffer_size(&out), "locks.example", 13));
  s = tls_session_free(s);
  c = tls_context_free(c);
  buffer_deinit(&out);
  assert_int_equal(heap.live, 0);
}

static void a_peer_that_speaks_no_tls_is_a_tls_fault(void **state)
{
  memory m = FAILING_HEAP_AS(memory, &heap);
  text why = text_over(words, sizeof(words));
  tls_context *c = NULL;
  tls_session *s;
  bool is_done = false;
  buffer out;

  (void)state;
  buffer_init(&out, &m);
  assert_int_equal(make(&(tls_settings){ .name = "127.0.0.1" }, &c), DIBS_OK);
  s = tls_session_new(c);
  assert_int_equal(tls_handshake(s, &out, &is_done, &why), DIBS_OK);
  assert_int_equal(tls_feed(s, "-ERR unknown command\r\n", 22, &why), DIBS_OK);
  assert_int_equal(tls_handshake(s, &out, &is_done, &why), DIBS_ERR_TLS);
  assert_non_null(strstr(words, "handshake failed"));
  s = tls_session_free(s);
  c = tls_context_free(c);
  buffer_deinit(&out);
}

static void digits_need_no_name_server(void **state)
{
  static const char *const addresses[] = { "127.0.0.1", "::1" };

  (void)state;
  for (size_t i = 0; i < 2; i++) {
    struct addrinfo *found = resolve_literal(addresses[i], "6380");

    assert_non_null(found);
    freeaddrinfo(found);
  }
  assert_null(resolve_literal("localhost", "6380"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_that_cannot_be_used_are_named),
    cmocka_unit_test(a_session_begins_with_a_hello_that_names_the_host),
    cmocka_unit_test(a_peer_that_speaks_no_tls_is_a_tls_fault),
    cmocka_unit_test(digits_need_no_name_server),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
