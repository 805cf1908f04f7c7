/* SPDX-License-Identifier: MIT */
/* Unit: tls/tls, drive/tls_shared, drive/resolve - what can be said without a peer. */
#include "tests.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "drive/resolve.h"
#include "drive/tls_shared.h"
#include "failing_heap.h"

static failing_heap heap;
static char words[512];

static dibs_status make(const tls_files *files, tls_context **ret)
{
  memory m = FAILING_HEAP_AS(memory, &heap);
  text why = text_over(words, sizeof(words));

  return tls_context_new(&m, files, ret, &why);
}

TEST(files_that_cannot_be_used_are_named)
{
  tls_context *c = NULL;

  assert_int_equal(make(&(tls_files){ .ca = "/no/such.pem" }, &c),
                   DIBS_ERR_TLS);
  assert_non_null(strstr(words, "\"/no/such.pem\": No such file"));
  assert_int_equal(make(&(tls_files){ .ca = "/proc/version" }, &c),
                   DIBS_ERR_TLS);
  assert_non_null(strstr(words, "/proc/version"));
  assert_int_equal(make(&(tls_files){ .cert = "/no/c" }, &c), DIBS_ERR_TLS);
  assert_non_null(strstr(words, "both files"));
  assert_null(c);
  assert_int_equal(heap.live, 0);
}

TEST(a_session_begins_with_a_hello_that_names_the_host)
{
  memory m = FAILING_HEAP_AS(memory, &heap);
  text why = text_over(words, sizeof(words));
  tls_context *c = NULL;
  tls_session *s;
  bool is_done = true;
  buffer out;

  buffer_init(&out, &m);
  assert_int_equal(make(&(tls_files){ .ca = NULL }, &c), DIBS_OK);
  s = tls_session_new(c, "locks.example");
  assert_non_null(s);
  assert_int_equal(tls_handshake(s, &out, &is_done, &why), DIBS_OK);
  assert_false(is_done);
  assert_non_null(memmem(buffer_bytes(&out), buffer_size(&out), "locks.example", 13));
  s = tls_session_free(s);
  c = tls_context_free(c);
  buffer_deinit(&out);
  assert_int_equal(heap.live, 0);
}

TEST(a_peer_that_speaks_no_tls_is_a_tls_fault)
{
  memory m = FAILING_HEAP_AS(memory, &heap);
  text why = text_over(words, sizeof(words));
  tls_context *c = NULL;
  tls_session *s;
  bool is_done = false;
  buffer out;

  buffer_init(&out, &m);
  assert_int_equal(make(&(tls_files){ .ca = NULL }, &c), DIBS_OK);
  s = tls_session_new(c, "127.0.0.1");
  assert_int_equal(tls_handshake(s, &out, &is_done, &why), DIBS_OK);
  assert_int_equal(tls_feed(s, "-ERR unknown command\r\n", 22, &why), DIBS_OK);
  assert_int_equal(tls_handshake(s, &out, &is_done, &why), DIBS_ERR_TLS);
  assert_non_null(strstr(words, "handshake failed"));
  s = tls_session_free(s);
  c = tls_context_free(c);
  buffer_deinit(&out);
}

TEST(servers_with_the_same_files_share_a_context)
{
  char ca[] = "/etc/ssl/certs/ca-certificates.crt", missing[] = "/no/such.pem";
  server_url plain = { .transport = SERVER_TCP, .ca_file = missing },
             one = { .transport = SERVER_TLS },
             other = { .transport = SERVER_TLS, .server_name = ca },
             third = { .transport = SERVER_TLS, .ca_file = ca },
             broken = { .transport = SERVER_TLS, .ca_file = missing };
  memory m = FAILING_HEAP_AS(memory, &heap);
  text why = text_over(words, sizeof(words));
  tls_context *c[4] = { NULL };
  tls_shared all;

  tls_shared_init(&all, &m);
  assert_int_equal(tls_shared_get(&all, &plain, &c[0], &why), DIBS_OK);
  assert_null(c[0]);
  assert_int_equal(tls_shared_get(&all, &one, &c[0], &why), DIBS_OK);
  assert_int_equal(tls_shared_get(&all, &other, &c[1], &why), DIBS_OK);
  assert_ptr_equal(c[0], c[1]);
  assert_int_equal(tls_shared_get(&all, &broken, &c[3], &why), DIBS_ERR_TLS);
  if (access(ca, R_OK) == 0) {
    assert_int_equal(tls_shared_get(&all, &third, &c[2], &why), DIBS_OK);
    assert_ptr_not_equal(c[2], c[0]);
    assert_int_equal(tls_shared_get(&all, &one, &c[3], &why), DIBS_OK);
    assert_ptr_equal(c[3], c[0]);
  }
  tls_shared_deinit(&all);
  assert_int_equal(heap.live, 0);
}

static bool shares_or_says_so(failing_heap *refusing, void *data)
{
  server_url server = { .transport = SERVER_TLS };
  memory m = FAILING_HEAP_AS(memory, refusing);
  text why = text_over(words, sizeof(words));
  tls_context *c = NULL;
  tls_shared all;
  dibs_status status;

  (void)data;
  tls_shared_init(&all, &m);
  status = tls_shared_get(&all, &server, &c, &why);
  assert_true(status == DIBS_OK ? c != NULL : status == DIBS_ERR_NO_MEMORY);
  tls_shared_deinit(&all);
  return status == DIBS_OK;
}

TEST(refused_memory_is_no_context)
{
  failing_heap_try_all(shares_or_says_so, NULL);
}

TEST(digits_need_no_name_server)
{
  static const char *const addresses[] = { "127.0.0.1", "::1" };

  for (size_t i = 0; i < 2; i++) {
    struct addrinfo *found = resolve_literal(addresses[i], "6380");

    assert_non_null(found);
    freeaddrinfo(found);
  }
  assert_null(resolve_literal("localhost", "6380"));
}

RUN_TESTS(NULL, NULL)
