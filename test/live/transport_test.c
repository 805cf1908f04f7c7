/* SPDX-License-Identifier: MIT */
/* test/live/transport_test.c - the same lock over a unix socket, TCP and TLS; and what TLS and
 * passwords refuse, in words that hide the password. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "authority.h"
#include "deployment.h"
#include "live.h"
#include "proxy.h"

#define SECRET "quite-secret-4711"

static struct test_authority *authority;
static struct test_server *plain, *tls, *mutual, *locked;

static int setup(void **state)
{
  struct test_server_options o = { .has_tls = true };

  (void)state;
  authority = test_authority_make();
  o.authority = authority;
  plain = test_server_start();
  if (test_servers_speak_tls()) {
    tls = test_server_start_with(&o);
    o.wants_client_certificate = true;
    mutual = test_server_start_with(&o);
  }
  o = (struct test_server_options){ .password = SECRET };
  locked = test_server_start_with(&o);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  plain = test_server_stop(plain);
  tls = test_server_stop(tls);
  mutual = test_server_stop(mutual);
  locked = test_server_stop(locked);
  authority = test_authority_free(authority);
  return 0;
}

static void need_tls(void)
{
  if (tls == NULL)
    skip();
}

/* ---- lock, hand-off, loss ---- */

/* Longer than bytes that come one by one may take on a busy machine: nobody renews in time then. */
enum { TTL_MS = 60000 };

static void works(const struct test_server *s, const char *url, const dibs_options *options)
{
  dibs_client *a = live_open_with(url, options), *b = live_open_with(url, options);
  dibs_lock_options wait = live_lock_options(TTL_MS, 0), take = live_lock_options(600, 0);
  struct live_loss loss = { .count = 0 };
  struct live_ask ask;
  dibs_hold *hold;
  uint64_t fence;

  hold = live_lock(a, "transport", TTL_MS);
  fence = dibs_hold_fence(hold);
  live_refused(live_try(b, "transport"), DIBS_BUSY);
  live_ask_begin(&ask, b, "transport", &wait);
  live_expect_waiters(s, "transport", 1);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  PROMISE_GROWN(dibs_hold_fence(hold), fence);
  assert_int_equal(dibs_release(hold), DIBS_OK);

  live_report_loss(&take, &loss);
  hold = live_lock_with(a, "lost", &take);
  assert_int_equal(test_server_integer(s, "DEL %s", live_key("lost")), 1);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_null(strstr(live_stats(a).url, SECRET));
  a = dibs_close(a);
  b = dibs_close(b);
  live_expect_clean(s);
}

TEST(a_unix_socket_works)
{
  dibs_options o = live_options();

  works(plain, test_server_unix_url(plain), &o);
}

TEST(tcp_works)
{
  dibs_options o = live_options();

  works(plain, test_server_tcp_url(plain), &o);
}

TEST(tls_works)
{
  dibs_options o = live_options();

  need_tls();
  o.ca_file = test_server_ca(tls);
  works(tls, test_server_tcp_url(tls), &o);
}

TEST(mutual_tls_works)
{
  dibs_options o = live_options();

  need_tls();
  o.ca_file = test_server_ca(mutual);
  o.cert_file = test_server_client_certificate(mutual);
  o.key_file = test_server_client_key(mutual);
  works(mutual, test_server_tcp_url(mutual), &o);
}

TEST(ipv6_works)
{
  struct test_server_options so = { .address = "::1", .has_tls = true };
  dibs_options o = live_options();
  struct test_server *s;
  char url[64];

  need_tls();
  if (access("/proc/net/if_inet6", F_OK) != 0)
    skip();
  s = test_server_start_with(&so);
  o.ca_file = test_server_ca(s);
  (void)snprintf(url, sizeof(url), "rediss://[::1]:%d", test_server_port(s));
  works(s, url, &o);
  s = test_server_stop(s);
}

/* A certificate that is right for another name than the one dialled: sni gives it. */
TEST(a_name_beside_the_url_works)
{
  struct test_server_options so = { .has_tls = true, .authority = authority,
                                    .certificate = TEST_CERTIFICATE_WRONG_HOST };
  struct test_server *s;
  dibs_options o = live_options();
  char url[96];

  need_tls();
  s = test_server_start_with(&so);
  o.ca_file = test_server_ca(s);
  o.server_name = "elsewhere.example";
  works(s, test_server_tcp_url(s), &o);
  o.server_name = NULL;
  (void)snprintf(url, sizeof(url), "%s?sni=elsewhere.example", test_server_tcp_url(s));
  works(s, url, &o);
  s = test_server_stop(s);
}

TEST(a_password_works)
{
  dibs_options o = live_options();
  char url[256];

  o.password = SECRET;
  works(locked, test_server_tcp_url(locked), &o);
  o.password = NULL;
  (void)snprintf(url, sizeof(url), "redis://:" SECRET "@127.0.0.1:%d", test_server_port(locked));
  works(locked, url, &o);
}

TEST(bytes_that_come_one_by_one_work)
{
  struct test_proxy *proxy;
  dibs_options o = live_options();

  need_tls();
  proxy = test_proxy_start(tls);
  o.ca_file = test_server_ca(tls);
  o.connect_timeout_ms = 10000;
  o.command_timeout_ms = 10000;
  test_proxy_trickle(proxy, TEST_BOTH);
  works(tls, test_proxy_tcp_url(proxy), &o);
  o.ca_file = NULL;
  works(tls, test_proxy_url(proxy), &o);
  proxy = test_proxy_stop(proxy);
}

/* ---- what is refused ---- */

static void no_secret(dibs_client *client)
{
  dibs_error error = DIBS_ERROR_INIT;

  (void)dibs_client_error(client, 0, &error);
  assert_string_not_equal(error.text, "");
  assert_null(strstr(error.text, SECRET));
  assert_null(strstr(error.text, "wrong-and-secret"));
  assert_null(strstr(error.node, SECRET));
  assert_null(strstr(live_stats(client).url, SECRET));
  assert_null(strstr(live_stats(client).url, "wrong-and-secret"));
}

/* All kinds of calls fail at once with `status`; one of the words is in the text. */
static void fails(const char *url, const dibs_options *options, dibs_status status,
                  const char *word)
{
  dibs_client *client = live_open_with(url, options);
  dibs_lock_options o = live_lock_options(5000, 5000);
  int64_t begun = live_now_ms();
  dibs_hold *hold = NULL;

  live_expect(client, dibs_try_lock(client, "name", NULL, &hold), status);
  live_expect_words(client, word);
  no_secret(client);
  live_expect(client, dibs_lock(client, "name", &o, &hold), status);
  live_expect(client, dibs_ping(client, 2000, NULL), status);
  no_secret(client);
  assert_null(hold);
  assert_true(live_now_ms() - begun < 6000);
  client = dibs_close(client);
}

TEST(an_unknown_authority_is_refused)
{
  dibs_options o = live_options();

  need_tls();
  o.ca_file = test_server_foreign_ca(tls);
  fails(test_server_tcp_url(tls), &o, DIBS_ERR_TLS, "certificate");
  o.ca_file = NULL;                                   /* the system's */
  fails(test_server_tcp_url(tls), &o, DIBS_ERR_TLS, "certificate");
}

TEST(a_wrong_host_name_is_refused)
{
  dibs_options o = live_options();

  need_tls();
  o.ca_file = test_server_ca(tls);
  o.server_name = "elsewhere.example";
  fails(test_server_tcp_url(tls), &o, DIBS_ERR_TLS, "elsewhere.example");
}

TEST(a_server_with_a_bad_certificate_is_refused)
{
  static const struct { enum test_certificate which; const char *word; } bad[] = {
    { TEST_CERTIFICATE_EXPIRED, "expired" },
    { TEST_CERTIFICATE_WRONG_HOST, "the name \"127.0.0.1\"" },
  };
  dibs_options o = live_options();

  need_tls();
  for (size_t i = 0; i < 2; i++) {
    struct test_server_options so = { .has_tls = true, .authority = authority,
                                      .certificate = bad[i].which };
    struct test_server *s = test_server_start_with(&so);

    o.ca_file = test_server_ca(s);
    fails(test_server_tcp_url(s), &o, DIBS_ERR_TLS, bad[i].word);
    s = test_server_stop(s);
  }
}

/* What the server says of ours: it comes behind the handshake, with TLS 1.3. */
TEST(a_bad_client_certificate_is_refused)
{
  dibs_options o = live_options();

  need_tls();
  o.ca_file = test_server_ca(mutual);
  o.cert_file = test_authority_expired_client_certificate(authority);
  o.key_file = test_authority_expired_client_key(authority);
  fails(test_server_tcp_url(mutual), &o, DIBS_ERR_TLS, "expired");
  o.cert_file = test_authority_foreign_client_certificate(authority);
  o.key_file = test_authority_foreign_client_key(authority);
  fails(test_server_tcp_url(mutual), &o, DIBS_ERR_TLS, "alert unknown ca");
}

TEST(a_missing_client_certificate_is_refused)
{
  dibs_options o = live_options();

  need_tls();
  o.ca_file = test_server_ca(mutual);
  fails(test_server_tcp_url(mutual), &o, DIBS_ERR_TLS, "certificate");
}

/* Each waits for the other to speak: nobody can tell more than that no answer comes. */
TEST(tls_with_a_plain_server_ends_in_time)
{
  dibs_options o = live_options();
  char url[64];

  need_tls();
  o.ca_file = test_server_ca(tls);
  (void)snprintf(url, sizeof(url), "rediss://127.0.0.1:%d", test_server_port(plain));
  fails(url, &o, DIBS_ERR_UNREACHABLE, "answer");
}

TEST(a_plain_client_of_a_tls_server_ends_in_time)
{
  dibs_options o = live_options();
  char url[64];

  need_tls();
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d", test_server_port(tls));
  fails(url, &o, DIBS_ERR_UNREACHABLE, "");
}

TEST(a_wrong_password_is_refused_and_not_shown)
{
  dibs_options o = live_options();
  char url[256];

  o.password = "wrong-and-secret";
  fails(test_server_tcp_url(locked), &o, DIBS_ERR_AUTH, "");
  o.user = "nobody";
  fails(test_server_tcp_url(locked), &o, DIBS_ERR_AUTH, "");
  o.user = o.password = NULL;
  fails(test_server_tcp_url(locked), &o, DIBS_ERR_AUTH, "");      /* none at all */
  (void)snprintf(url, sizeof(url), "redis://default:wrong-and-secret@127.0.0.1:%d",
                 test_server_port(locked));
  fails(url, &o, DIBS_ERR_AUTH, "");
}

/* Of several servers the node of a fault is the one that failed, not all that were named. */
TEST(the_server_to_blame_is_named)
{
  dibs_options o = live_options();
  dibs_client *client;
  dibs_error error = DIBS_ERROR_INIT;
  char url[128], nodes[2][64];

  need_tls();
  o.ca_file = test_server_foreign_ca(tls);
  (void)snprintf(url, sizeof(url), "rediss://127.0.0.1:%d,127.0.0.1:%d", test_server_port(tls),
                 test_server_port(mutual));
  (void)snprintf(nodes[0], sizeof(nodes[0]), "%s/0", test_server_tcp_url(tls));
  (void)snprintf(nodes[1], sizeof(nodes[1]), "%s/0", test_server_tcp_url(mutual));
  client = live_open_with(url, &o);
  live_expect(client, dibs_ping(client, 2000, NULL), DIBS_ERR_TLS);
  (void)dibs_client_error(client, 0, &error);
  if (strcmp(error.node, nodes[0]) != 0)
    assert_string_equal(error.node, nodes[1]);
  assert_non_null(strstr(error.text, "unknown issuer"));
  client = dibs_close(client);
}

TEST(files_that_cannot_be_used_are_named_at_once)
{
  dibs_options o = live_options();
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  need_tls();
  o.ca_file = "/nonexistent/ca.crt";
  assert_int_equal(dibs_open(test_server_tcp_url(tls), &o, &client, &error),
                   DIBS_ERR_TLS);
  assert_non_null(strstr(error.text, "/nonexistent/ca.crt"));
  o.ca_file = NULL;
  o.cert_file = test_authority_client_certificate(authority);
  assert_int_equal(dibs_open(test_server_tcp_url(tls), &o, &client, &error),
                   DIBS_ERR_TLS);
  assert_non_null(strstr(error.text, "both files"));
  o.key_file = test_authority_foreign_client_key(authority);
  assert_int_equal(dibs_open(test_server_tcp_url(tls), &o, &client, &error),
                   DIBS_ERR_TLS);
  assert_non_null(strstr(error.text, "private key"));
  assert_null(client);
}

RUN_TESTS(setup, teardown)
