/* SPDX-License-Identifier: MIT */
/* Unit: topo/ - a server URL is understood whole or refused with a useful word, and no
 * message ever shows a password, not even one in the wrong place. */
#include "tests.h"
#include "topo/topo.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "failing_heap.h"

typedef struct fixture {
  failing_heap heap;
  server_url url;
  char words[512];
} fixture;

static dibs_status parse(fixture *f, const char *url)
{
  memory m;
  text why;

  *f = (fixture){ .heap = { .secret = "hunter2" } };
  m = FAILING_HEAP_AS(memory, &f->heap);
  why = text_over(f->words, sizeof(f->words));
  return server_url_parse(&m, url, &f->url, &why);
}

static void expect_parsed(fixture *f, const char *url)
{
  if (parse(f, url) != DIBS_OK)
    fail_msg("%s: %s", url, f->words);
  assert_string_equal(f->words, "");
}

static void end(fixture *f)
{
  server_url_deinit(&f->url);
  server_url_deinit(&f->url);       /* harmless to repeat */
  assert_int_equal(f->heap.live, 0);
}

static void expect_shown(const char *url, const char *wanted)
{
  fixture f;
  char shown[512];
  text out = text_over(shown, sizeof(shown));

  expect_parsed(&f, url);
  server_url_show(&f.url, &out);
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

TEST(each_scheme_has_its_transport)
{
  static const struct { const char *url; server_transport transport; } all[] = {
    { "redis://h", SERVER_TCP }, { "valkey://h", SERVER_TCP },
    { "rediss://h", SERVER_TLS }, { "valkeys://h", SERVER_TLS },
    { "unix:///run/s", SERVER_UNIX }, { "local:", SERVER_LOCAL },
  };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    fixture f;
    expect_parsed(&f, all[i].url);
    assert_int_equal(f.url.transport, all[i].transport);
    end(&f);
  }
}

TEST(where_it_is_silent_there_is_nothing)
{
  fixture f;

  expect_parsed(&f, "redis://example.org");
  assert_string_equal(f.url.host, "example.org");
  assert_int_equal(f.url.port, 6379);
  assert_int_equal(f.url.database, 0);
  assert_null(f.url.user);
  assert_null(f.url.password);
  assert_null(f.url.path);
  assert_null(f.url.prefix);
  assert_null(f.url.note);
  assert_int_equal(f.url.connect_timeout_ms, 0);
  assert_int_equal(f.url.clock_rate_error_ppm, 0);
  end(&f);
}

TEST(everything_is_read)
{
  fixture f;

  expect_parsed(&f, "rediss://ann:hunter2@h.example:7000/5?prefix=app&connect_timeout=10s"
                    "&command_timeout=500ms&close_timeout=1&clock_rate_error_ppm=200"
                    "&cacert=/etc/ca.pem&cert=/etc/c.pem&key=/etc/k.pem&sni=other&note=a%20b+c");
  assert_string_equal(f.url.user, "ann");
  assert_string_equal(f.url.password, "hunter2");
  assert_string_equal(f.url.host, "h.example");
  assert_int_equal(f.url.port, 7000);
  assert_int_equal(f.url.database, 5);
  assert_string_equal(f.url.prefix, "app");
  assert_int_equal(f.url.connect_timeout_ms, 10000);
  assert_int_equal(f.url.command_timeout_ms, 500);
  assert_int_equal(f.url.close_timeout_ms, 1000);
  assert_int_equal(f.url.clock_rate_error_ppm, 200);
  assert_string_equal(f.url.ca_file, "/etc/ca.pem");
  assert_string_equal(f.url.cert_file, "/etc/c.pem");
  assert_string_equal(f.url.key_file, "/etc/k.pem");
  assert_string_equal(f.url.server_name, "other");
  assert_string_equal(f.url.note, "a b+c");
  end(&f);
}

TEST(credentials_come_in_several_shapes)
{
  static const struct { const char *url; const char *user; const char *password; } all[] = {
    { "redis://ann:hunter2@h", "ann", "hunter2" },
    { "redis://:hunter2@h", NULL, "hunter2" },
    { "redis://ann@h", "ann", NULL },
    { "redis://ann:@h", "ann", "" },
    { "redis://@h", NULL, NULL },
    { "redis://a%3an:h%40%2f%3F%25@h", "a:n", "h@/?%" },
    { "redis://a:b:c@h", "a", "b:c" },
    { "redis://h?user=ann&password=hunter2", "ann", "hunter2" },
    { "redis://ann@h?password=hunter2", "ann", "hunter2" },
    { "redis://h?password=hunter2", NULL, "hunter2" },
    { "unix://ann:hunter2@/run/s", "ann", "hunter2" },
    { "redis://\xc3\xa4:p@h", "\xc3\xa4", "p" },
  };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    fixture f;
    expect_parsed(&f, all[i].url);
    assert_true((f.url.user == NULL) == (all[i].user == NULL));
    if (all[i].user != NULL)
      assert_string_equal(f.url.user, all[i].user);
    assert_true((f.url.password == NULL) == (all[i].password == NULL));
    if (all[i].password != NULL)
      assert_string_equal(f.url.password, all[i].password);
    end(&f);
  }
}

TEST(it_is_shown_without_credentials)
{
  expect_shown("redis://ann:hunter2@h", "redis://h:6379/0");
  expect_shown("valkey://h:7000/3", "redis://h:7000/3");
  expect_shown("valkeys://h?db=4", "rediss://h:6379/4");
  expect_shown("redis://[::1]", "redis://[::1]:6379/0");
  expect_shown("redis://[fe80::1%25eth0]:1", "redis://[fe80::1%25eth0]:1/0");
  expect_shown("unix://u:hunter2@/run/redis.sock", "unix:///run/redis.sock");
  expect_shown("unix:///run/a%20b?db=2", "unix:///run/a%20b?db=2");
  expect_shown("local:?prefix=x", "local:");
}

TEST(unknown_schemes_are_refused_with_a_guess)
{
  expect_refused("reddis://h", "did you mean redis://");
  expect_refused("redsi://h", "did you mean redis://");
  expect_refused("Redis://h", "did you mean redis://");
  expect_refused("valkyes://h", "did you mean valkey");
  expect_refused("locl:", "did you mean local:");
  expect_refused("http://h", "must begin with redis://");
  expect_refused("", "must begin with");
  expect_refused("127.0.0.1:6379", "must begin with");
  expect_refused("hunter2", "must begin with");
  expect_refused("hunter2:6379", "must begin with");
  expect_refused("redis:h", "\"//\"");
  expect_refused("redis:/h", "\"//\"");
  expect_refused("redis:", "\"//\"");
}

TEST(urls_of_several_servers_are_refused)
{
  expect_refused("redis://h1,h2", "names several servers");
  expect_refused("redis+cluster://h", "names several servers");
  expect_refused("redis+sentinel://:hunter2@h/s?sentinel_password=hunter2",
                 "names several servers");
  expect_refused("redis://a redis://b redis://c", "blank or control");
}

TEST(unknown_options_are_refused_with_a_guess)
{
  expect_refused("redis://h?prefx=a", "did you mean prefix");
  expect_refused("redis://h?conect_timeout=1s", "did you mean connect_timeout");
  expect_refused("redis://h?timeout=1s", "known are db, prefix");
  expect_refused("redis://h?=1", "unknown option");
  expect_refused("redis://h?prefix", "name=value");
  expect_refused("redis://h?Prefix=a", "did you mean prefix");
  expect_refused("redis://h?prefix=a&prefix=b", "given twice");
  expect_refused("redis://h/1?db=1", "twice");
  expect_refused("redis://u@h?user=v", "before the '@'");
  expect_refused("redis://:hunter2@h?password=hunter2", "before the '@'");
}

TEST(only_what_looks_like_a_name_is_shown_as_one)
{
  fixture f;

  expect_refused("redis://h?abcdefghijabcdefghijabcdefghijabcdefghij=1",
                 "unknown option \"abcdefghij");
  assert_int_equal(parse(&f, "redis://h?abcdefghijabcdefghijabcdefghijabcdefghijk=1"),
                   DIBS_ERR_CONFIG);
  assert_null(strstr(f.words, "abc"));
  expect_refused("redis://h?\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff=1",
                 "unknown option; known are db");
}

TEST(option_values_are_checked)
{
  expect_refused("redis://h?connect_timeout=soon", "connect_timeout must be a duration");
  expect_refused("redis://h?connect_timeout=0", "duration");
  expect_refused("redis://h?connect_timeout=", "duration");
  expect_refused("redis://h?connect_timeout=99999999999999999999999999999s", "duration");
  expect_refused("redis://h?clock_rate_error_ppm=0", "1 to 500000");
  expect_refused("redis://h?clock_rate_error_ppm=500001", "1 to 500000");
  expect_refused("redis://h?db=x", "database");
  expect_refused("redis://h?db=", "database");
  expect_refused("redis://h?prefix=", "prefix is empty");
  expect_refused("redis://h?prefix=%zz", "prefix has a '%'");
  expect_refused("redis://h?cacert=/x", "needs TLS");
  expect_refused("unix:///s?sni=x", "needs TLS");
}

TEST(ports_hosts_and_databases_are_checked)
{
  static const char *const ports[] = {
    "redis://h:", "redis://h:0", "redis://h:65536", "redis://h:99999999999", "redis://h:-1",
    "redis://h:+1",
    "redis://h:1x", "redis://h:000001", "redis://h:1%30", "redis://[::1]:", "redis://[::1]:x",
  };
  fixture f;

  for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
    expect_refused(ports[i], "port must be a number from 1 to 65535");
  expect_parsed(&f, "redis://h:65535");
  assert_int_equal(f.url.port, 65535);
  end(&f);
  expect_refused("redis://", "host is missing");
  expect_refused("redis:///0", "host is missing");
  expect_refused("redis://:6379", "host is missing");
  expect_refused("redis://u@", "host is missing");
  expect_refused("redis://h%00x", "zero byte");
  expect_refused("redis://h_%2f", "letters, digits");
  expect_refused("redis://-h", "letters, digits");
  expect_refused("redis://::1", "brackets");
  expect_refused("redis://[::1", "has no ']'");
  expect_refused("redis://[::1]x", "after the ']'");
  expect_refused("redis://[h]", "not an IPv6 address");
  expect_refused("redis://[1.2.3.4]", "not an IPv6 address");
  expect_refused("redis://[fe80::1%25]", "not an IPv6 address");
  expect_refused("redis://[]", "not an IPv6 address");
  expect_refused("redis://h/x", "database must be a number");
  expect_refused("redis://h/0/", "database must be a number");
  expect_refused("redis://h/2147483648", "database must be a number");
  expect_refused("unix://", "path is missing");
  expect_refused("unix:///", "path is missing");
  expect_refused("unix://run/s", "three slashes");
  expect_refused("unix:///a%00", "zero byte");
  expect_refused("local://", "takes no host");
  expect_refused("local:x", "takes no host");
}

TEST(odd_characters_must_be_encoded)
{
  expect_refused("redis://h ", "blank or control");
  expect_refused("redis://h\n", "blank or control");
  expect_refused("redis://h?note=a\tb", "blank or control");
  expect_refused("redis://h#x", "%23");
  expect_refused("redis://:hunter2#@h", "%23");
  expect_refused("redis://:%@h", "two hexadecimal digits");
  expect_refused("redis://:%4@h", "two hexadecimal digits");
  expect_refused("redis://:%4x@h", "two hexadecimal digits");
  expect_refused("redis://:hunter2%00@h", "the password has a zero byte");
}

TEST(a_misplaced_password_is_not_shown)
{
  expect_refused("redis://ann:hunter2", "port must be");
  expect_refused("redis://:hunter2", "host is missing");
  expect_refused("redis://ann:hunter2:6379", "brackets");
  expect_refused("redis://ann:hunter2/x@h", "%2F");
  expect_refused("redis://ann:x/hunter2@h", "%2F");
  expect_refused("redis://ann:1/hunter2", "database");
  expect_refused("redis://ann:1?hunter2=@h", "unknown option");
  expect_refused("redis://ann?hunter2=@h", "%3F");
  expect_refused("redis://ann:1?prefix=hunter2&prefix=@h", "given twice");
  expect_refused("redis://ann:hunter2@x@h", "%40");
  expect_refused("redis:ann:hunter2@h", "\"//\"");
  expect_refused("hunter2://h", "must begin with");
}

/* What a socket's address has room for; a longer path would be tried for ever. */
TEST(a_path_that_no_socket_can_have_is_refused)
{
  char url[160];
  fixture f;

  (void)snprintf(url, sizeof(url), "unix:///%0106d", 0);
  expect_parsed(&f, url);
  end(&f);
  (void)snprintf(url, sizeof(url), "unix:///%0107d", 0);
  expect_refused(url, "longer than 107 bytes");
}

TEST(very_long_ones_are_refused)
{
  static char url[6000];
  fixture f;
  size_t head = strlen("redis://h?note=");

  memset(url, 'x', sizeof(url));
  memcpy(url, "redis://h?note=", head);
  url[4097] = 0;
  expect_refused(url, "longer than 4096 bytes");
  url[4096] = 0;
  expect_parsed(&f, url);
  assert_int_equal(strlen(f.url.note), 4096 - head);
  end(&f);
}

static bool parses(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  char words[256];
  text why = text_over(words, sizeof(words));
  server_url u;
  dibs_status status;

  heap->secret = "hunter2";
  status = server_url_parse(&m, data, &u, &why);
  if (status == DIBS_OK)
    server_url_deinit(&u);
  else
    assert_int_equal(status, DIBS_ERR_NO_MEMORY);
  return status == DIBS_OK;
}

TEST(refused_memory_leaves_nothing_behind)
{
  char tcp[] = "rediss://ann:hunter2@h:1/5?prefix=a&cacert=b&cert=c&key=d&sni=e&note=f";
  char path[] = "unix:///run/s?password=hunter2&user=u";

  failing_heap_try_all(parses, tcp);
  failing_heap_try_all(parses, path);
}

RUN_TESTS(NULL, NULL)
