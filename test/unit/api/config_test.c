/* SPDX-License-Identifier: MIT */
/* Unit: api/config - the config file's bytes; refusals name file, line and a suggestion. */
#include "tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "base/dialects.h"
#include "base/plain_memory.h"

static const memory heap = PLAIN_MEMORY;
static char words[512];

static dibs_status parse(config *c, const char *file)
{
  text why = text_over(words, sizeof(words));

  config_init(c, &heap);
  return config_parse(c, file, strlen(file), "here/config", &why);
}

TEST(all_keys_are_read)
{
  config c;

  assert_int_equal(parse(&c, "# who\nurl = rediss://h:1/2?note=a\nprefix=p\nuser: u\n"
                             "password = s3 cret\ncacert=/ca\ncert=/c\nkey=/k\nsni=n\n"
                             "note = two words\nconnect_timeout = 500ms\n"
                             "command_timeout=10s\nclose_timeout = 5m\n\n"
                             "; more\nclock_rate_error_ppm = 200"), DIBS_OK);
  assert_string_equal(c.url, "rediss://h:1/2?note=a");
  assert_string_equal(c.prefix, "p");
  assert_string_equal(c.user, "u");
  assert_string_equal(c.password, "s3 cret");
  assert_string_equal(c.ca_file, "/ca");
  assert_string_equal(c.server_name, "n");
  assert_string_equal(c.note, "two words");
  assert_int_equal(c.connect_timeout_ms, 500);
  assert_int_equal(c.command_timeout_ms, 10000);
  assert_int_equal(c.close_timeout_ms, 300000);
  assert_int_equal(c.clock_rate_error_ppm, 200);
  config_deinit(&c);
}

TEST(keys_of_deployments_are_read)
{
  config c;

  assert_int_equal(parse(&c, "quarantine = 7s\ndegrade = local\npubsub = no\nfunctions = yes\n"
                             "sharded = no\n"
                             "sentinel_user = sam\nsentinel_password = s3 cret\n"), DIBS_OK);
  assert_int_equal(c.quarantine_ms, 7000);
  assert_int_equal(c.degrade, DEGRADE_LOCAL);
  assert_int_equal(c.pubsub, CHOICE_NO);
  assert_int_equal(c.functions, CHOICE_YES);
  assert_int_equal(c.sharded, CHOICE_NO);
  assert_string_equal(c.sentinel_user, "sam");
  assert_string_equal(c.sentinel_password, "s3 cret");
  config_deinit(&c);
  assert_int_equal(parse(&c, "dialect = spring\nregistry = my orders\n"), DIBS_OK);
  assert_int_equal(c.dialect, URL_SPRING);
  assert_string_equal(c.registry, "my orders");
  config_deinit(&c);
  assert_int_equal(parse(&c, "classes = orders:*, user:*\n"), DIBS_OK);
  assert_string_equal(c.classes, "orders:*, user:*");
  config_deinit(&c);
  assert_int_equal(parse(&c, "degrade=fail\npubsub=yes\nfunctions=no\n"), DIBS_OK);
  assert_int_equal(c.degrade, DEGRADE_FAIL);
  assert_int_equal(c.pubsub, CHOICE_YES);
  assert_int_equal(c.functions, CHOICE_NO);
  config_deinit(&c);
}

TEST(several_urls_are_one_quorum)
{
  config c;

  assert_int_equal(parse(&c, "url = redis://a\nprefix = p\nurl = redis://b\n"
                             "url = redis://c\n"), DIBS_OK);
  assert_string_equal(c.url, "redis://a redis://b redis://c");
  config_deinit(&c);
}

TEST(an_empty_file_sets_nothing)
{
  config c;

  assert_int_equal(parse(&c, ""), DIBS_OK);
  assert_null(c.url);
  config_deinit(&c);
}

static void refused(const char *file, const char *named)
{
  config c;

  assert_int_equal(parse(&c, file), DIBS_ERR_CONFIG);
  if (strstr(words, named) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", words, named);
  assert_null(strstr(words, "hunter2"));
  config_deinit(&c);
}

TEST(an_unknown_key_is_refused_with_line_and_suggestion)
{
  refused("# a\n\nconect_timeout = 1s\n", "here/config:3: unknown key \"conect_timeout\"; "
                                          "did you mean connect_timeout?");
  refused("zebra = 1\n", "known are url, prefix");
}

TEST(wrong_values_are_refused_with_what_is_allowed)
{
  refused("connect_timeout = soon\n", "here/config:1: connect_timeout must be a duration");
  refused("connect_timeout = 0\n", "duration from 1ms to 24d");
  refused("connect_timeout = 25d\n", "duration from 1ms to 24d");
  refused("report = 25d\n", "report must be off, or a duration from 1s to 24d");
  refused("clock_rate_error_ppm = 500001\n", "1 to 500000");
  refused("prefix =\n", "prefix is empty");
  refused("url = redis://a\nurl =\n", ":2: url is empty");
  refused("degrade = maybe\n", "degrade must be fail, wait or local");
  refused("dialect = string\n", "dialect must be " DIALECT_WORDS);
  refused("pubsub = 1\n", "pubsub must be yes or no");
  refused("functions =\n", "functions must be yes or no");
  refused("quarantine = long\n", "quarantine must be a duration from 0ms");
  refused("sentinel_pasword = x\n", "did you mean sentinel_password?");
  refused("prefix = a\nprefix = b\n", ":2: prefix is given twice");
}

TEST(lines_that_are_no_settings_are_refused)
{
  refused("[redis]\nurl = redis://h\n", "sections are not known");
  refused("url = redis://h\nhello\n", ":2: write key = value");
  refused("classes = a:*,\n  b:*x=1\n", ":2: unknown key \"b\"");
}

TEST(a_password_is_never_in_a_message)
{
  refused("password = hunter2\npassword = hunter2\n", "password is given twice");
  refused("password = hunter2\nhunter2\n", "write key = value");
}

TEST(a_value_goes_on_to_the_end_of_its_line)
{
  static char file[9000];
  config c;

  memset(file, 'x', sizeof(file) - 1);
  memcpy(file, "password = ", 11);
  assert_int_equal(parse(&c, file), DIBS_OK);
  assert_string_equal(c.password, file + 11);
  config_deinit(&c);
  assert_int_equal(parse(&c, "\xEF\xBB\xBF password = a ;b #c=d: \t\r\n  note\t=\tx ; y\r\n"),
                   DIBS_OK);
  assert_string_equal(c.password, "a ;b #c=d:");
  assert_string_equal(c.note, "x ; y");
  config_deinit(&c);
}

TEST(a_zero_byte_is_refused_with_its_line)
{
  text why = text_over(words, sizeof(words));
  config c;

  config_init(&c, &heap);
  assert_int_equal(config_parse(&c, "\n\nnote = a\0b\n", 13, "f", &why), DIBS_ERR_CONFIG);
  assert_string_equal(words, "f:3: a zero byte; this is no text file");
  config_deinit(&c);
}

RUN_TESTS(NULL, NULL)
