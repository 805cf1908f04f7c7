/* SPDX-License-Identifier: MIT */
/* test/live/deployment_urls_test.c - opening: every form of URL leads to real servers, with
 * the log-ins that belong to each, from wherever they are said. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "deployment.h"
#include "live.h"

static void expect_works(const char *url, const dibs_options *options, const char *shown)
{
  dibs_client *client = live_open_with(url, options);
  dibs_hold *hold = live_lock(client, "orders", 5000);

  if (shown != NULL)
    assert_string_equal(live_stats(client).url, shown);
  assert_null(strstr(live_stats(client).url, "hunter"));
  assert_false(live_stats(client).is_private);
  live_expect(client, dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
}

static void expect_fails(const char *url, const dibs_options *options, dibs_status wanted)
{
  dibs_client *client = live_open_with(url, options);

  live_expect(client, dibs_ping(client, 0, NULL), wanted);
  client = dibs_close(client);
}

static dibs_options options_with_password(const char *password)
{
  dibs_options o = live_options();

  o.password = password;
  return o;
}

/* ---- replicated, Sentinel ---- */

TEST(replicated_servers_and_sentinels_have_each_their_password)
{
  static const struct test_server_options server = { .password = "hunter1" };
  const struct test_set_options of_set = { .replicas = 1, .server = &server };
  const struct test_sentinels_options of_watch = { .user = "sam", .password = "hunter2" };
  struct test_set *set = test_set_start(&of_set);
  struct test_sentinels *watch = test_sentinels_start(set, &of_watch);
  dibs_options o = options_with_password("hunter1");
  int primary = test_server_port(test_set_member(set, 0));
  int replica = test_server_port(test_set_member(set, 1));
  int sentinel = test_server_port(test_sentinel(watch, 0));
  char url[400], shown[400];

  snprintf(url, sizeof(url), "redis://:hunter1@127.0.0.1:%d,127.0.0.1:%d/0", replica, primary);
  snprintf(shown, sizeof(shown), "redis://127.0.0.1:%d,127.0.0.1:%d/0", replica, primary);
  expect_works(url, NULL, shown);
  snprintf(url, sizeof(url), "redis+sentinel://:hunter1@127.0.0.1:%d/" TEST_SERVICE
           "?sentinel_user=sam&sentinel_password=hunter2", sentinel);
  snprintf(shown, sizeof(shown), "redis+sentinel://127.0.0.1:%d/" TEST_SERVICE "/0", sentinel);
  expect_works(url, NULL, shown);
  expect_fails(shown, &o, DIBS_ERR_AUTH);
  o.sentinel_user = "sam";
  o.sentinel_password = "hunter2";
  expect_works(shown, &o, shown);
  o.sentinel_password = "hunter1";
  expect_fails(url, &o, DIBS_ERR_AUTH);
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
}

/* ---- Cluster ---- */

TEST(nodes_of_a_cluster_are_reached_as_the_map_says)
{
  const struct test_cluster_options options = { .replicas = TEST_NONE };
  struct test_cluster *c = test_cluster_start(&options);
  struct test_proxy *proxies[3];
  dibs_options patient = live_options();
  dibs_client *client;
  char url[600], name[32];
  size_t used;

  patient.connect_timeout_ms = LIVE_LONG_MS;
  expect_works(test_cluster_url(c), &patient, test_cluster_url(c));
  for (int i = 0; i < 3; i++)
    proxies[i] = test_proxy_start(test_cluster_member(c, i));
  used = (size_t)snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d?map=",
                          test_proxy_port(proxies[0]));
  for (int i = 0; i < 3; i++)
    used += (size_t)snprintf(url + used, sizeof(url) - used, "%s127.0.0.1:%d>localhost:%d",
                             i == 0 ? "" : ",", test_server_port(test_cluster_member(c, i)),
                             test_proxy_port(proxies[i]));
  client = live_open_with(url, &patient);
  for (int i = 0; i < 3; i++) {
    test_cluster_name_on(c, i, "name", name, sizeof(name));
    live_expect(client, dibs_release(live_lock(client, name, 5000)), DIBS_OK);
  }
  /* A server that was not reached by its proxy would still answer. */
  test_cluster_name_on(c, 2, "other", name, sizeof(name));
  test_proxy_black_hole(proxies[2], TEST_BOTH);
  live_expect(client, live_try(client, name), DIBS_UNKNOWN);
  client = dibs_close(client);
  for (int i = 0; i < 3; i++)
    proxies[i] = test_proxy_stop(proxies[i]);
  c = test_cluster_stop(c);
}

/* ---- quorum ---- */

static struct test_server *members[3];
static char quorum_url[600], quorum_shown[300];

static void quorum_start(void)
{
  static const struct test_server_options options[3] = { { .password = "hunter1" },
                                                         { .password = "hunter2" },
                                                         { .password = NULL } };
  size_t used = 0, seen = 0;

  quorum_url[0] = 0;
  for (int i = 0; i < 3; i++) {
    members[i] = test_server_start_with(&options[i]);
    used += (size_t)snprintf(quorum_url + used, sizeof(quorum_url) - used,
                             "%sredis://%s%s%s127.0.0.1:%d%s", i == 0 ? "" : " ",
                             i == 2 ? "" : ":", i == 2 ? "" : options[i].password,
                             i == 2 ? "" : "@", test_server_port(members[i]),
                             i == 0 ? "?prefix=app" : "");
    seen += (size_t)snprintf(quorum_shown + seen, sizeof(quorum_shown) - seen,
                             "%sredis://127.0.0.1:%d/0", i == 0 ? "" : " ",
                             test_server_port(members[i]));
  }
}

static void quorum_stop(void)
{
  for (int i = 0; i < 3; i++)
    members[i] = test_server_stop(members[i]);
}

static bool has_lease(void *server)
{
  return test_server_integer(server, "EXISTS app:m:{orders}") == 1;
}

/* A lock is granted by two of them; the third has its request, too. */
TEST(servers_of_a_quorum_have_each_their_password)
{
  dibs_client *client;
  dibs_hold *hold;

  quorum_start();
  client = live_open(quorum_url);
  hold = live_lock(client, "orders", 5000);
  assert_string_equal(live_stats(client).url, quorum_shown);
  for (int i = 0; i < 3; i++)
    assert_true(live_until(LIVE_LONG_MS, has_lease, members[i]));
  live_expect(client, dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  quorum_stop();
}

TEST(a_quorum_is_found_in_the_environment_and_in_the_config_file)
{
  char path[] = "/tmp/dibs-test-config-XXXXXX";
  int fd = mkstemp(path);
  FILE *file = fdopen(fd, "w");
  char *rest = NULL, commas[600];

  quorum_start();
  for (char *url = strtok_r(strcpy(commas, quorum_url), " ", &rest); url != NULL;
       url = strtok_r(NULL, " ", &rest))
    fprintf(file, "url = %s\n", url);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(setenv("DIBS_CONFIG", path, 1), 0);
  expect_works(NULL, NULL, quorum_shown);
  strcpy(commas, quorum_url);
  for (char *blank = commas; (blank = strchr(blank, ' ')) != NULL;)
    *blank = ',';
  assert_int_equal(setenv("DIBS_CONFIG", "/nowhere", 1), 0);
  assert_int_equal(setenv("DIBS_URL", commas, 1), 0);
  expect_works(NULL, NULL, quorum_shown);
  assert_int_equal(unsetenv("DIBS_URL"), 0);
  assert_int_equal(unsetenv("DIBS_CONFIG"), 0);
  (void)unlink(path);
  quorum_stop();
}

/* ---- refusals ---- */

static void expect_refused(const char *url, const dibs_options *options, dibs_status wanted,
                           const char *words)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  assert_int_equal(dibs_open(url, options, &client, &error), wanted);
  if (strstr(error.text, words) == NULL || strstr(error.text, "hunter") != NULL)
    fail_msg("%s", error.text);
}

TEST(what_does_not_fit_is_refused)
{
  dibs_options o = DIBS_OPTIONS_INIT;

  expect_refused("redis://a:hunter2,b", NULL, DIBS_ERR_CONFIG, "the port must be");
  expect_refused("redis://a redis://:hunter2@b", NULL, DIBS_ERR_CONFIG, "name 2");
  assert_int_equal(setenv("DIBS_URL", "redis+sentinel://:hunter2@h", 1), 0);
  expect_refused(NULL, NULL, DIBS_ERR_CONFIG, "DIBS_URL: the name of the service is missing");
  assert_int_equal(unsetenv("DIBS_URL"), 0);
  o.ca_file = "/nowhere";
  expect_refused("redis://a redis://b redis://c", &o, DIBS_ERR_CONFIG, "need TLS");
  expect_refused("redis+sentinel://a/s", &o, DIBS_ERR_CONFIG, "need TLS");
  expect_refused("redis+sentinel://a/s?sentinel_tls=yes", &o, DIBS_ERR_TLS, "/nowhere");
  expect_refused("redis://a rediss://b redis://c", &o, DIBS_ERR_TLS, "/nowhere");
}

RUN_TESTS(NULL, NULL)
