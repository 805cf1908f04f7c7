/* SPDX-License-Identifier: MIT */
/* Unit: topo/deployment.c - what URLs say of several servers is understood whole, or refused
 * with a useful word that shows no password. */
#include "tests.h"
#include "topo/topo.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/dialects.h"
#include "failing_heap.h"

typedef struct fixture {
  failing_heap heap;
  deployment d;
  char words[512];
} fixture;

static dibs_status parse(fixture *f, const char *url)
{
  memory m;
  text why;

  *f = (fixture){ .heap = { .secret = "hunter2" } };
  m = FAILING_HEAP_AS(memory, &f->heap);
  why = text_over(f->words, sizeof(f->words));
  return deployment_parse(&m, url, &f->d, &why);
}

static void expect_parsed(fixture *f, const char *url, deployment_kind kind, size_t seeds)
{
  if (parse(f, url) != DIBS_OK)
    fail_msg("%s: %s", url, f->words);
  assert_string_equal(f->words, "");
  assert_int_equal(f->d.kind, kind);
  assert_int_equal(f->d.seed_count, seeds);
  assert_null(f->d.data.host);
  assert_null(f->d.data.path);
}

static void end(fixture *f)
{
  deployment_deinit(&f->d);
  deployment_deinit(&f->d);         /* harmless to repeat */
  assert_int_equal(f->heap.live, 0);
}

static void expect_seed(const fixture *f, size_t which, const char *host, int port)
{
  assert_true(which < f->d.seed_count);
  assert_string_equal(f->d.seeds[which].host, host);
  assert_int_equal(f->d.seeds[which].port, port);
}

static void expect_login(const server_url *u, const char *user, const char *password)
{
  if (user == NULL)
    assert_null(u->user);
  else
    assert_string_equal(u->user, user);
  if (password == NULL)
    assert_null(u->password);
  else
    assert_string_equal(u->password, password);
}

static void expect_shown(const char *url, const char *wanted)
{
  fixture f;
  char shown[1024];
  text out = text_over(shown, sizeof(shown));

  if (parse(&f, url) != DIBS_OK)
    fail_msg("%s: %s", url, f.words);
  deployment_show(&f.d, &out);
  assert_string_equal(shown, wanted);
  end(&f);
}

static void expect_refused(const char *url, const char *words)
{
  fixture f;

  if (parse(&f, url) != DIBS_ERR_CONFIG)
    fail_msg("%s is not refused", url);
  if (strstr(f.words, words) == NULL)
    fail_msg("%s: %s", url, f.words);
  if (strstr(f.words, "hunter2") != NULL)
    fail_msg("shows the password: %s", f.words);
  assert_true(strlen(f.words) < 400);
  assert_int_equal(f.heap.live, 0);
}

/* ---- each kind ---- */

TEST(a_plain_url_is_a_deployment_of_one_server)
{
  fixture f;

  expect_parsed(&f, "valkey://ann:hunter2@h:7000/3?prefix=p&note=n", DEPLOYMENT_SINGLE, 1);
  expect_seed(&f, 0, "h", 7000);
  expect_login(&f.d.seeds[0], "ann", "hunter2");
  assert_int_equal(f.d.seeds[0].database, 3);
  assert_string_equal(f.d.data.prefix, "p");
  assert_string_equal(f.d.data.note, "n");
  assert_null(f.d.service);
  end(&f);
  expect_parsed(&f, "unix:///run/s?db=2", DEPLOYMENT_SINGLE, 1);
  assert_string_equal(f.d.seeds[0].path, "/run/s");
  assert_int_equal(f.d.seeds[0].transport, SERVER_UNIX);
  end(&f);
  expect_parsed(&f, "local:?prefix=p", DEPLOYMENT_SINGLE, 1);
  assert_int_equal(f.d.seeds[0].transport, SERVER_LOCAL);
  end(&f);
}

TEST(several_hosts_are_a_replicated_set)
{
  fixture f;

  expect_parsed(&f, "rediss://ann:hunter2@h1,h2:6380,[::1],[fe80::1%25eth0]:1/5?cacert=/c",
                DEPLOYMENT_REPLICATED, 4);
  expect_seed(&f, 0, "h1", 6379);
  expect_seed(&f, 1, "h2", 6380);
  expect_seed(&f, 2, "::1", 6379);
  expect_seed(&f, 3, "fe80::1%eth0", 1);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(f.d.seeds[i].transport, SERVER_TLS);
    assert_int_equal(f.d.seeds[i].database, 5);
    assert_string_equal(f.d.seeds[i].ca_file, "/c");
    expect_login(&f.d.seeds[i], "ann", "hunter2");
  }
  end(&f);
}

TEST(sentinels_have_a_log_in_of_their_own)
{
  fixture f;

  expect_parsed(&f, "redis+sentinel://ann:hunter2@h1,h2:5000/my%2Fmaster/4"
                    "?sentinel_user=sam&sentinel_password=hunter2s&quarantine=7s",
                DEPLOYMENT_SENTINEL, 2);
  assert_string_equal(f.d.service, "my/master");
  expect_seed(&f, 0, "h1", 26379);
  expect_seed(&f, 1, "h2", 5000);
  expect_login(&f.d.seeds[0], "sam", "hunter2s");
  expect_login(&f.d.seeds[1], "sam", "hunter2s");
  assert_int_equal(f.d.seeds[0].database, 0);
  expect_login(&f.d.data, "ann", "hunter2");
  assert_int_equal(f.d.data.database, 4);
  assert_int_equal(f.d.data.quarantine_ms, 7000);
  end(&f);
  expect_parsed(&f, "valkey+sentinel://:hunter2@h/s", DEPLOYMENT_SENTINEL, 1);
  expect_login(&f.d.seeds[0], NULL, NULL);
  expect_login(&f.d.data, NULL, "hunter2");
  assert_int_equal(f.d.data.database, 0);
  end(&f);
}

TEST(sentinels_speak_tls_as_servers_do_unless_told_otherwise)
{
  static const struct { const char *url; server_transport seed, data; } all[] = {
    { "redis+sentinel://h/s", SERVER_TCP, SERVER_TCP },
    { "rediss+sentinel://h/s", SERVER_TLS, SERVER_TLS },
    { "valkeys+sentinel://h/s", SERVER_TLS, SERVER_TLS },
    { "redis+sentinel://h/s?cacert=/c&sentinel_tls=yes", SERVER_TLS, SERVER_TCP },
    { "rediss+sentinel://h/s?sentinel_tls=no", SERVER_TCP, SERVER_TLS },
  };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    fixture f;
    expect_parsed(&f, all[i].url, DEPLOYMENT_SENTINEL, 1);
    assert_int_equal(f.d.seeds[0].transport, all[i].seed);
    assert_int_equal(f.d.data.transport, all[i].data);
    end(&f);
  }
}

TEST(clusters_have_nodes)
{
  fixture f;

  expect_parsed(&f, "redis+cluster://:hunter2@h1,h2:7001", DEPLOYMENT_CLUSTER, 2);
  expect_seed(&f, 0, "h1", 6379);
  expect_seed(&f, 1, "h2", 7001);
  expect_login(&f.d.seeds[1], NULL, "hunter2");
  end(&f);
  expect_parsed(&f, "valkeys+cluster://h/0", DEPLOYMENT_CLUSTER, 1);
  assert_int_equal(f.d.seeds[0].transport, SERVER_TLS);
  end(&f);
}

TEST(several_urls_are_a_quorum)
{
  static const char *const all[] = {
    "redis://ann:hunter2@a?prefix=p&note=n&quarantine=3s redis://b:1/2 unix:///c",
    "redis://ann:hunter2@a?prefix=p&note=n&quarantine=3s,valkey://b:1/2,unix:///c",
    " redis://ann:hunter2@a?prefix=p&note=n&quarantine=3s,\tredis://b:1/2\n\nunix:///c ",
    "redis://ann:hunter2@a?prefix=p&note=n&quarantine=3s ,redis://b:1?db=2 , unix:///c",
  };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    fixture f;
    expect_parsed(&f, all[i], DEPLOYMENT_QUORUM, 3);
    expect_seed(&f, 0, "a", 6379);
    expect_seed(&f, 1, "b", 1);
    assert_string_equal(f.d.seeds[2].path, "/c");
    expect_login(&f.d.seeds[0], "ann", "hunter2");
    expect_login(&f.d.seeds[1], NULL, NULL);
    expect_login(&f.d.data, NULL, NULL);
    assert_int_equal(f.d.seeds[0].database, 0);
    assert_int_equal(f.d.seeds[1].database, 2);
    for (size_t j = 0; j < 3; j++) {
      assert_string_equal(f.d.seeds[j].prefix, "p");
      assert_int_equal(f.d.seeds[j].quarantine_ms, 3000);
    }
    assert_string_equal(f.d.data.note, "n");
    end(&f);
  }
}

TEST(certificates_of_the_first_serve_all_and_names_do_not)
{
  fixture f;

  expect_parsed(&f, "rediss://a?cacert=/c&cert=/x&key=/k&sni=one redis://b "
                    "rediss://c?cacert=/d&sni=two", DEPLOYMENT_QUORUM, 3);
  assert_string_equal(f.d.seeds[0].ca_file, "/c");
  assert_null(f.d.seeds[1].ca_file);
  assert_null(f.d.seeds[1].cert_file);
  assert_string_equal(f.d.seeds[2].ca_file, "/d");
  assert_string_equal(f.d.seeds[2].cert_file, "/x");
  assert_string_equal(f.d.seeds[0].server_name, "one");
  assert_string_equal(f.d.seeds[2].server_name, "two");
  end(&f);
}

TEST(choices_are_read)
{
  fixture f;

  expect_parsed(&f, "redis://h", DEPLOYMENT_SINGLE, 1);
  assert_int_equal(f.d.data.degrade, 0);
  assert_int_equal(f.d.data.pubsub, 0);
  assert_int_equal(f.d.data.functions, 0);
  assert_int_equal(f.d.data.quarantine_ms, 0);
  end(&f);
  expect_parsed(&f, "redis://h?degrade=fail&pubsub=no&functions=yes&quarantine=0",
                DEPLOYMENT_SINGLE, 1);
  assert_int_equal(f.d.data.degrade, DEGRADE_FAIL);
  assert_int_equal(f.d.data.pubsub, CHOICE_NO);
  assert_int_equal(f.d.data.functions, CHOICE_YES);
  end(&f);
  expect_parsed(&f, "redis://h?degrade=wait&pubsub=yes&functions=no", DEPLOYMENT_SINGLE, 1);
  assert_int_equal(f.d.data.degrade, DEGRADE_WAIT);
  assert_int_equal(f.d.data.pubsub, CHOICE_YES);
  assert_int_equal(f.d.data.functions, CHOICE_NO);
  end(&f);
  expect_parsed(&f, "redis://h?degrade=local", DEPLOYMENT_SINGLE, 1);
  assert_int_equal(f.d.data.degrade, DEGRADE_LOCAL);
  end(&f);
  expect_parsed(&f, "redis+cluster://h?sharded=no", DEPLOYMENT_CLUSTER, 1);
  assert_int_equal(f.d.data.sharded, CHOICE_NO);
  end(&f);
  expect_parsed(&f, "redis+cluster://h1,h2?dialect=spring&registry=my%20orders",
                DEPLOYMENT_CLUSTER, 2);
  assert_int_equal(f.d.data.dialect, URL_SPRING);
  assert_string_equal(f.d.data.registry, "my orders");
  assert_string_equal(f.d.seeds[1].registry, "my orders");
  end(&f);
  expect_parsed(&f, "redis://h?dialect=plain", DEPLOYMENT_SINGLE, 1);
  assert_int_equal(f.d.data.dialect, URL_PLAIN);
  assert_null(f.d.data.registry);
  end(&f);
}

/* ---- addresses of servers that are found ---- */

static void expect_found(const fixture *f, const char *host, int port, const char *to_host,
                         int to_port)
{
  server_url u;

  assert_int_equal(deployment_url(&f->d, host, port, &u), DIBS_OK);
  assert_string_equal(u.host, to_host);
  assert_int_equal(u.port, to_port);
  assert_string_equal(u.user, "ann");
  assert_int_equal(u.transport, SERVER_TLS);
  server_url_deinit(&u);
}

TEST(found_servers_are_reached_as_the_map_says)
{
  static const char *const all[] = {
    "rediss+cluster://ann@h?map=10.0.0.1:7000>127.0.0.1:17000,10.0.0.1>db1,Db2>[::1],"
    "[::2]:5>h,10.0.0.3:1>h",
    "rediss+cluster://ann@h?map=10.0.0.1:7000%3e127.0.0.1:17000%2C10.0.0.1%3Edb1%2CDb2%3E[::1]"
    ",[::2]:5>h,10.0.0.3:1>h",
  };

  for (size_t i = 0; i < 2; i++) {
    fixture f;
    expect_parsed(&f, all[i], DEPLOYMENT_CLUSTER, 1);
    expect_found(&f, "10.0.0.1", 7000, "127.0.0.1", 17000);
    expect_found(&f, "10.0.0.1", 7001, "db1", 7001);
    expect_found(&f, "dB2", 7001, "::1", 7001);
    expect_found(&f, "::2", 5, "h", 5);
    expect_found(&f, "::2", 6, "::2", 6);
    expect_found(&f, "10.0.0.3", 2, "10.0.0.3", 2);
    expect_found(&f, "10.0.0.9", 7000, "10.0.0.9", 7000);
    end(&f);
  }
}

TEST(a_map_is_refused_where_it_says_nothing)
{
  expect_refused("redis+cluster://h?map=", "the option map: each address");
  expect_refused("redis+cluster://h?map=a", "from>to");
  expect_refused("redis+cluster://h?map=a>", "a host is missing");
  expect_refused("redis+cluster://h?map=>a", "a host is missing");
  expect_refused("redis+cluster://h?map=a>b,", "each address");
  expect_refused("redis+cluster://h?map=a:0>b", "port must be a number from 1 to 65535");
  expect_refused("redis+cluster://h?map=a>b>c", "letters, digits");
  expect_refused("redis+cluster://h?map=a>b:1", "all ports cannot become one");
  expect_refused("redis+cluster://h?map=a>b,A>c", "mapped twice");
  expect_refused("redis+cluster://h?map=a:1>b,b:1>c,A:1>c", "mapped twice");
  expect_refused("redis+cluster://h?map=%zz", "two hexadecimal digits");
  expect_refused("redis+cluster://h?map=a>b&map=c>d", "given twice");
  expect_refused("redis://h?map=a>b", "map needs several hosts");
  expect_refused("redis://a redis://b redis://c?map=a>b", "server 3: the option map needs");
  expect_refused("redis://a?map=a>b redis://b redis://c", "map needs several hosts");
}

/* ---- what is refused ---- */

TEST(schemes_are_checked)
{
  expect_refused("redis+sentinal://h/s", "did you mean redis+sentinel://");
  expect_refused("redis-cluster://h", "did you mean redis+cluster://");
  expect_refused("unix+cluster://h", "must begin with");
  expect_refused("redis+cluster:h", "after \"redis+cluster:\"");
  expect_refused("", "must begin with redis://");
  expect_refused("   ", "blank");
}

TEST(hosts_are_checked)
{
  char url[2048] = "redis://h0";
  fixture f;

  expect_refused("redis://h1,", "beside a comma");
  expect_refused("redis://,h1", "beside a comma");
  expect_refused("redis://h1,,h2", "beside a comma");
  expect_refused("redis://h1,:1", "missing before the port");
  expect_refused("redis://h1,h2:x", "the port must be");
  expect_refused("redis://h1,::1", "brackets");
  expect_refused("redis+sentinel:///s", "the host is missing");
  expect_refused("redis://h1,h2,H1:6379", "host 3 of the URL is host 1 again");
  expect_refused("redis+sentinel://h,h:26379/s", "host 2 of the URL is host 1 again");
  for (int i = 1; i < 64; i++)
    sprintf(url + strlen(url), ",h%d", i);
  expect_parsed(&f, url, DEPLOYMENT_REPLICATED, 64);
  end(&f);
  strcat(url, ",h64");
  expect_refused(url, "more than 64 hosts");
}

TEST(services_and_databases_are_checked)
{
  char url[400] = "redis+sentinel://h/";
  size_t head = strlen(url);
  fixture f;

  expect_refused("redis+sentinel://h", "name of the service is missing");
  expect_refused("redis+sentinel://h/", "name of the service is missing");
  expect_refused("redis+sentinel://h//0", "name of the service is missing");
  expect_refused("redis+sentinel://h/s/x", "database must be a number");
  expect_refused("redis+sentinel://h/s/0/", "database must be a number");
  expect_refused("redis+sentinel://h/s/1?db=1", "given twice");
  expect_refused("redis+sentinel://h/a%20b", "1 to 255 bytes");
  expect_refused("redis+cluster://h/1", "a cluster has database 0 only");
  expect_refused("redis+cluster://h?db=3", "a cluster has database 0 only");
  memset(url + head, 's', 256);
  expect_refused(url, "1 to 255 bytes");
  url[head + 255] = 0;
  expect_parsed(&f, url, DEPLOYMENT_SENTINEL, 1);
  end(&f);
}

TEST(options_are_checked)
{
  expect_refused("redis://h?degrade=maybe",
                 "degrade is \"maybe\", and must be fail, wait or local");
  expect_refused("redis://h?degrade=", "degrade must be fail, wait or local");
  expect_refused("redis://h?dialect=string",
                 "dialect is \"string\", and must be " DIALECT_WORDS);
  expect_refused("redis://h?registry=", "registry is empty");
  expect_refused("redis://h?classes=", "classes is empty");
  expect_refused("redis://h?pubsub=1", "pubsub is \"1\", and must be yes or no");
  expect_refused("redis://h?functions=Yes", "functions is \"Yes\", and must be yes or no");
  expect_refused("redis+sentinel://h/s?sentinel_tls=on", "must be yes or no");
  expect_refused("redis://h?quarantine=long", "quarantine must be a duration");
  expect_refused("redis://h?sentinel_tls=yes", "sentinel_tls needs redis+sentinel://");
  expect_refused("redis+cluster://h?sentinel_user=a", "sentinel_user needs redis+sentinel://");
  expect_refused("redis://h?sentinel_password=hunter2", "needs redis+sentinel://");
  expect_refused("redis+sentinel://h/s?cacert=/c", "cacert needs TLS");
  expect_refused("redis+sentinel://h/s?sentinel_user=", "sentinel_user is empty");
  expect_refused("redis://h?sentinel_pasword=hunter2", "did you mean sentinel_password");
  expect_refused("redis://h?frobnicate=1", "known are db, prefix");
}

TEST(options_that_would_not_help_are_not_named)
{
  fixture f;

  assert_int_equal(parse(&f, "redis://h?frobnicate=1"), DIBS_ERR_CONFIG);
  assert_null(strstr(f.words, "sentinel_user"));
  assert_null(strstr(f.words, "cacert"));
  assert_null(strstr(f.words, "map"));
  assert_non_null(strstr(f.words, "degrade"));
  expect_refused("redis+sentinel://h/s?frobnicate=1", "sentinel_tls");
  expect_refused("redis+sentinel://h/s?frobnicate=1", "cacert");
  expect_refused("redis+cluster://h/?frobnicate=1", "map");
}

TEST(quorums_are_checked)
{
  char many[400] = "";

  expect_refused("redis://a redis://b", "3 to 15 servers, an odd number; the URLs name 2");
  expect_refused("redis://a,redis://b,redis://c,redis://d", "name 4");
  for (int i = 0; i < 17; i++)
    sprintf(many + strlen(many), "redis://h%d ", i);
  expect_refused(many, "name 17");
  expect_refused("redis://a redis://b redis://A:6379/1",
                 "server 3: the same server as server 1");
  expect_refused("unix:///a redis://b unix:///a", "server 3: the same server as server 1");
  expect_refused("redis://a redis://b rediss://b", "server 3: the same server as server 2");
  expect_refused("redis://a redis://b local:", "server 3: local:");
  expect_refused("local:,redis://b,redis://c", "server 1: local:");
  expect_refused("redis://a,local:,redis://c", "server 2: local:");
  expect_refused("redis://a redis://b,c redis://d", "server 2: each URL of a quorum");
  expect_refused("redis://a redis+sentinel://b/s redis://d", "server 2: each URL");
  expect_refused("redis+cluster://a redis://b redis://d", "server 1: each URL");
  expect_refused("redis://a redis://b?note=x redis://c", "the option note holds for all");
  expect_refused("redis://a redis://b?degrade=wait redis://c", "the option degrade holds");
  expect_refused("redis://a redis://b:x redis://c", "server 2: the port must be");
  expect_refused("redis://a rediz://b redis://c", "server 2: the URL must begin with");
}

TEST(a_misplaced_password_is_not_shown)
{
  expect_refused("redis://:hunter 2@a redis://b redis://c", "blank");
  expect_refused("redis://:x hunter2@a", "blank");
  expect_refused("redis://a:hunter2 redis://b redis://c", "server 1: the port");
  expect_refused("redis://a redis://hunter2,x@b@c redis://c", "%40");
  expect_refused("redis://ann:hunter2,b", "the port must be");
  expect_refused("redis://ann:1?degrade=hunter2@h", "degrade must be");
  expect_refused("redis://ann:1?degrade=hunter2&note=@h", "degrade must be");
  expect_refused("redis+sentinel://hunter2:x/s", "the port must be");
  expect_refused("redis+sentinel://:a/hunter2@h/s", "%2F");
}

/* ---- shown, and told apart ---- */

TEST(it_is_shown_without_credentials)
{
  expect_shown("redis://ann:hunter2@h", "redis://h:6379/0");
  expect_shown("local:?note=x", "local:");
  expect_shown("valkeys://ann:hunter2@h1,[::1]:7/2", "rediss://h1:6379,[::1]:7/2");
  expect_shown("redis+sentinel://ann:hunter2@h1,h2/mymaster?sentinel_password=hunter2",
               "redis+sentinel://h1:26379,h2:26379/mymaster/0");
  expect_shown("redis+sentinel://h/a%2Fb%25/3?sentinel_tls=yes",
               "redis+sentinel://h:26379/a%2Fb%25/3?sentinel_tls=yes");
  expect_shown("rediss+sentinel://h/s?sentinel_tls=yes", "rediss+sentinel://h:26379/s/0");
  expect_shown("rediss+sentinel://h/s?sentinel_tls=no",
               "rediss+sentinel://h:26379/s/0?sentinel_tls=no");
  expect_shown("redis+cluster://:hunter2@h1,h2:7001", "redis+cluster://h1:6379,h2:7001");
  expect_shown("redis://:hunter2@a,rediss://b:1/2,unix:///c",
               "redis://a:6379/0 rediss://b:1/2 unix:///c");
}

static bool same_address(const char *a, const char *b)
{
  fixture f, g;
  bool is_same;

  assert_int_equal(parse(&f, a), DIBS_OK);
  assert_int_equal(parse(&g, b), DIBS_OK);
  is_same = server_url_same_address(&f.d.seeds[0], &g.d.seeds[0]);
  assert_int_equal(is_same, server_url_same_address(&g.d.seeds[0], &f.d.seeds[0]));
  end(&f);
  end(&g);
  return is_same;
}

TEST(addresses_differ)
{
  assert_true(same_address("redis://h", "redis://u:p@H:6379/3"));
  assert_true(same_address("redis://h", "rediss://h"));
  assert_true(same_address("unix:///a", "unix:///a?db=1"));
  assert_false(same_address("redis://h", "redis://h:1"));
  assert_false(same_address("redis://h", "redis://hh"));
  assert_false(same_address("unix:///a", "unix:///A"));
  assert_false(same_address("unix:///a", "redis://h"));
  assert_false(same_address("local:", "local:"));
}

/* ---- memory ---- */

static bool parses(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  char words[400];
  text why = text_over(words, sizeof(words));
  deployment d;
  server_url u;
  dibs_status status;

  heap->secret = "hunter2";
  status = deployment_parse(&m, data, &d, &why);
  if (status != DIBS_OK) {
    assert_int_equal(status, DIBS_ERR_NO_MEMORY);
    assert_string_equal(words, "");
    return false;
  }
  status = deployment_url(&d, "a", 1, &u);
  if (status == DIBS_OK)
    server_url_deinit(&u);
  deployment_deinit(&d);
  return status == DIBS_OK;
}

TEST(refused_memory_leaves_nothing_behind)
{
  char sentinel[] = "rediss+sentinel://ann:hunter2@h:1,i/s/5?prefix=a&cacert=b&note=f&map=a>b"
                    "&sentinel_user=u&sentinel_password=hunter2";
  char quorum[] = "rediss://ann:hunter2@h:1?prefix=a&cacert=b rediss://i "
                  "unix:///j?password=hunter2";

  failing_heap_try_all(parses, sentinel);
  failing_heap_try_all(parses, quorum);
}

TEST(very_long_ones_are_refused)
{
  static char urls[70000];

  memset(urls, ' ', sizeof(urls));
  memcpy(urls, "redis://a", 9);
  urls[65537] = 0;
  expect_refused(urls, "longer than 64 KiB");
  memset(urls, 'x', sizeof(urls));
  memcpy(urls, "redis://", 8);
  urls[5000] = 0;
  expect_refused(urls, "longer than 4096 bytes");
}

/* ---- written ---- */

static void write_to(const deployment *d, bool with_passwords, char *bytes, size_t size)
{
  text out = text_over(bytes, size);

  deployment_write(d, with_passwords, &out);
  assert_false(out.is_cut);
}

/* Written and read again it is the same; and written without passwords it shows none. */
static void expect_written(const char *url, const char *wanted)
{
  fixture f, again;
  char whole[1024], plain[1024], once_more[1024];

  if (parse(&f, url) != DIBS_OK)
    fail_msg("%s: %s", url, f.words);
  write_to(&f.d, true, whole, sizeof(whole));
  write_to(&f.d, false, plain, sizeof(plain));
  assert_string_equal(whole, wanted);
  assert_null(strstr(plain, "secret"));
  if (parse(&again, whole) != DIBS_OK)
    fail_msg("%s: %s", whole, again.words);
  assert_int_equal(again.d.kind, f.d.kind);
  write_to(&again.d, true, once_more, sizeof(once_more));
  assert_string_equal(once_more, whole);
  end(&f);
  end(&again);
}

TEST(a_deployment_is_written_as_the_url_that_it_is_read_from)
{
  expect_written("redis://h", "redis://h:6379");
  expect_written("local:", "local:");
  expect_written("valkeys://u:sec%40ret@[::1]:7/3?prefix=a%20b&note=n&cacert=/c,a&sni=x",
                 "rediss://[::1]:7/3?prefix=a%20b&user=u&password=sec%40ret&cacert=%2Fc%2Ca&sni=x");
  expect_written("unix://:secret@/run/a%20b?db=2&quarantine=31s&degrade=wait&dialect=spring"
                 "&registry=r&functions=yes&pubsub=no&clock_rate_error_ppm=7&close_timeout=1s",
                 "unix:///run/a%20b?db=2&password=secret&close_timeout=1000ms"
                 "&clock_rate_error_ppm=7&quarantine=31000ms&degrade=wait&dialect=spring"
                 "&registry=r&pubsub=no&functions=yes");
  expect_written("redis://h?classes=orders:*,user:*",
                 "redis://h:6379?classes=orders%3A%2A%2Cuser%3A%2A");
  expect_written("redis://a,b:7/1?sharded=no&connect_timeout=2s&command_timeout=3s",
                 "redis://a:6379,b:7/1?connect_timeout=2000ms&command_timeout=3000ms&sharded=no");
  expect_written("rediss+sentinel://u:secret1@a,b/my%2Fmain/4?sentinel_user=w&"
                 "sentinel_password=secret2&sentinel_tls=no",
                 "rediss+sentinel://a:26379,b:26379/my%2Fmain/4?user=u&password=secret1"
                 "&sentinel_user=w&sentinel_password=secret2&sentinel_tls=no");
  expect_written("redis+sentinel://a/s?sentinel_tls=yes&cacert=/ca",
                 "redis+sentinel://a:26379/s?cacert=%2Fca&sentinel_tls=yes");
  expect_written("redis+cluster://:secret@a,b:7?map=10.0.0.1:7>127.0.0.1:8,h>[::1]",
                 "redis+cluster://a:6379,b:7?password=secret"
                 "&map=10.0.0.1:7%3E127.0.0.1:8,h%3E%5B::1%5D");
  expect_written("redis://u:secret1@a/1?prefix=p&dialect=plain,rediss://:secret2@b?cert=/c&key=/k"
                 " unix:///s?db=5",
                 "redis://a:6379/1?prefix=p&user=u&password=secret1&dialect=plain"
                 " rediss://b:6379?password=secret2&cert=%2Fc&key=%2Fk unix:///s?db=5");
}

RUN_TESTS(NULL, NULL)
