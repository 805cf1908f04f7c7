/* SPDX-License-Identifier: MIT */
/* test/live/logins_test.c - sentinels and data servers have each their own user,
 * password and TLS, and each may have none; passwords rotate while a lock is held; the name in
 * a certificate may be another than the one that was dialled. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "authority.h"
#include "deployment.h"
#include "live.h"

/* ---- each combination ---- */

struct login { const char *user, *password; };

static const struct login logins[] = {
  { NULL, NULL }, { NULL, "hunter1" }, { "dana", "hunter2" },
};

enum { LOGINS = sizeof(logins) / sizeof(logins[0]) };

/* `[user][:password]@`, or nothing. */
static void login_write(const struct login *l, char *out, size_t size)
{
  out[0] = 0;
  if (l->password != NULL)
    (void)snprintf(out, size, "%s:%s@", l->user != NULL ? l->user : "", l->password);
}

static void url_write(struct test_sentinels *watch, bool has_tls, const struct login *data,
                      const struct login *sentinel, char *url, size_t size)
{
  char at[64];

  login_write(data, at, sizeof(at));
  (void)snprintf(url, size, "redis%s+sentinel://%s127.0.0.1:%d/" TEST_SERVICE "/0?%s%s%s%s",
                 has_tls ? "s" : "", at, test_server_port(test_sentinel(watch, 0)),
                 sentinel->user != NULL ? "sentinel_user=" : "",
                 sentinel->user != NULL ? sentinel->user : "",
                 sentinel->password != NULL ? "&sentinel_password=" : "",
                 sentinel->password != NULL ? sentinel->password : "");
}

static void expect_status(const char *url, const dibs_options *options, dibs_status wanted)
{
  dibs_client *client = live_open_with(url, options);
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_ping(client, 0, NULL);

  (void)dibs_client_error(client, 0, &error);
  if (status != wanted)
    fail_msg("%s: %s, %s", url, dibs_status_name(status), error.text);
  assert_null(strstr(error.text, "hunter"));
  if (wanted == DIBS_OK)
    live_expect(client, dibs_release(live_lock(client, "orders", 5000)), DIBS_OK);
  client = dibs_close(client);
}

static void matrix_row(const struct login *data, const struct login *sentinel, bool has_tls,
                       struct test_authority *authority)
{
  const struct test_server_options server = { .user = data->user, .password = data->password,
                                              .has_tls = has_tls, .authority = authority };
  const struct test_set_options of_set = { .replicas = TEST_NONE, .server = &server };
  const struct test_sentinels_options of_watch = { .count = 1, .user = sentinel->user,
                                                   .password = sentinel->password };
  static const struct login wrong = { NULL, "hunter9" };
  struct test_set *set = test_set_start(&of_set);
  struct test_sentinels *watch = test_sentinels_start(set, &of_watch);
  dibs_options o = live_options();
  char url[400];

  o.connect_timeout_ms = LIVE_LONG_MS;
  o.ca_file = has_tls ? test_authority_ca(authority) : NULL;
  url_write(watch, has_tls, data, sentinel, url, sizeof(url));
  expect_status(url, &o, DIBS_OK);
  if (data->password != NULL) {                /* those of the sentinels are no help there */
    url_write(watch, has_tls, &wrong, sentinel, url, sizeof(url));
    expect_status(url, &o, DIBS_ERR_AUTH);
  }
  if (sentinel->password != NULL) {
    url_write(watch, has_tls, data, &wrong, url, sizeof(url));
    expect_status(url, &o, DIBS_ERR_AUTH);
  }
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
}

TEST(sentinels_and_servers_have_each_their_login_or_none)
{
  for (int i = 0; i < LOGINS; i++)
    for (int k = 0; k < LOGINS; k++)
      matrix_row(&logins[i], &logins[k], false, NULL);
}

TEST(so_they_have_with_tls)
{
  struct test_authority *authority;

  if (!test_servers_speak_tls()) {
    print_message("# skipped: these servers were built without TLS\n");
    return;
  }
  authority = test_authority_make();
  for (int i = 0; i < LOGINS; i++)
    matrix_row(&logins[i], &logins[LOGINS - 1 - i], true, authority);
  authority = test_authority_free(authority);
}

/* ---- a user without a password ---- */

TEST(a_user_without_a_password_is_that_user)
{
  struct test_server *s = test_server_start();
  dibs_options o = live_options();
  char url[200];

  assert_string_equal(test_server_command(s, "ACL SETUSER ghost on nopass ~* &* +@all"), "OK");
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d", test_server_port(s));
  for (int i = 0; i < 4; i++) {
    dibs_client *client;

    o.user = i == 0 ? "ghost" : i == 3 ? "nobody" : NULL;
    (void)snprintf(url, sizeof(url), "redis://%s127.0.0.1:%d%s", i == 1 ? "ghost@" : "",
                   test_server_port(s), i == 2 ? "?user=ghost" : "");
    client = live_open_with(url, &o);
    assert_int_equal(dibs_ping(client, 0, NULL), i == 3 ? DIBS_ERR_AUTH : DIBS_OK);
    if (i < 3)
      assert_non_null(strstr(test_server_command(s, "CLIENT LIST"), "user=ghost"));
    client = dibs_close(client);
  }
  s = test_server_stop(s);
}

TEST(credentials_without_a_password_are_that_user)
{
  struct test_server *s = test_server_start();
  dibs_options o = live_options();
  dibs_client *client;
  char url[200];

  assert_string_equal(test_server_command(s, "ACL SETUSER ghost on nopass ~* &* +@all"), "OK");
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d", test_server_port(s));
  client = live_open_with(url, &o);
  assert_int_equal(dibs_client_set_credentials(client, "ghost", NULL), DIBS_OK);
  assert_int_equal(dibs_ping(client, 0, NULL), DIBS_OK);
  assert_non_null(strstr(test_server_command(s, "CLIENT LIST"), "user=ghost"));
  client = dibs_close(client);
  s = test_server_stop(s);
}

/* ---- passwords that rotate ---- */

static bool is_renewed_again(void *data)
{
  static _Thread_local uint64_t before;
  dibs_client *client = data;

  if (before == 0)
    before = live_stats(client).renewed + 1;
  return live_stats(client).renewed > before + 2;
}

static void expect_done(redisContext *c, const char *command)
{
  redisReply *reply = redisCommand(c, command);

  assert_non_null(reply);
  assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
  freeReplyObject(reply);
}

TEST(passwords_rotate_while_a_lock_is_held)
{
  static const struct test_server_options options = { .user = "dana", .password = "hunter1" };
  struct test_server *s = test_server_start_with(&options);
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(1500, LIVE_LONG_MS);
  dibs_client *client;
  dibs_hold *hold;
  char url[200];
  uint64_t connects;
  redisContext *admin;

  live_report_loss(&o, &loss);
  (void)snprintf(url, sizeof(url), "redis://dana:hunter1@127.0.0.1:%d", test_server_port(s));
  client = live_open(url);
  hold = live_lock_with(client, "rotated", &o);
  connects = live_stats(client).connects;
  /* First both are good, then the client is told, then the old one is no more. */
  assert_string_equal(test_server_command(s, "ACL SETUSER dana >hunter2"), "OK");
  assert_int_equal(dibs_client_set_credentials(client, "dana", "hunter2"), DIBS_OK);
  assert_int_equal(live_stats(client).connects, connects);      /* what stands, stays */
  assert_string_equal(test_server_command(s, "ACL SETUSER tester on >tester ~* &* +@all"),
                      "OK");
  admin = redisConnectUnix(test_server_socket(s));
  expect_done(admin, "AUTH tester tester");
  expect_done(admin, "ACL SETUSER dana <hunter1");
  expect_done(admin, "CLIENT KILL TYPE normal SKIPME yes");
  assert_true(live_until(LIVE_LONG_MS, is_renewed_again, client));
  assert_true(live_stats(client).connects > connects);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(atomic_load(&loss.count), 0);
  live_expect(client, dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  redisFree(admin);
  s = test_server_stop(s);
}

/* The first call looks for the primary: with the credentials of then. */
TEST(credentials_are_for_the_search_for_servers_too)
{
  static const struct test_server_options options = { .user = "dana", .password = "hunter2" };
  struct test_server *s = test_server_start_with(&options);
  dibs_options o = live_options();
  dibs_client *client;
  char url[200];

  o.connect_timeout_ms = LIVE_LONG_MS;
  (void)snprintf(url, sizeof(url), "redis://dana:hunter1@127.0.0.1:%d,localhost:%d",
                 test_server_port(s), test_server_port(s));
  client = live_open_with(url, &o);
  live_expect_ok(dibs_client_set_credentials(client, "dana", "hunter2"));
  live_expect(client, dibs_ping(client, 0, NULL), DIBS_OK);
  client = dibs_close(client);
  s = test_server_stop(s);
}

/* ---- another name in the certificate ---- */

TEST(each_server_of_a_quorum_may_have_its_own_name)
{
  struct test_authority *authority;
  struct test_server *servers[3];
  dibs_options o = live_options();
  char url[400];
  size_t used = 0;

  if (!test_servers_speak_tls()) {
    print_message("# skipped: these servers were built without TLS\n");
    return;
  }
  authority = test_authority_make();
  for (int i = 0; i < 3; i++) {
    const struct test_server_options options = {
      .has_tls = true, .authority = authority,
      .certificate = i == 1 ? TEST_CERTIFICATE_WRONG_HOST : TEST_CERTIFICATE_GOOD };

    servers[i] = test_server_start_with(&options);
    used += (size_t)snprintf(url + used, sizeof(url) - used, "%srediss://127.0.0.1:%d%s",
                             i == 0 ? "" : " ", test_server_port(servers[i]),
                             i == 1 ? "?sni=elsewhere.example" : "");
  }
  o.ca_file = test_authority_ca(authority);
  test_server_pause(servers[2]);               /* the one with the other name is needed */
  expect_status(url, &o, DIBS_OK);
  test_server_resume(servers[2]);
  for (int i = 0; i < 3; i++)
    servers[i] = test_server_stop(servers[i]);
  authority = test_authority_free(authority);
}

RUN_TESTS(NULL, NULL)
