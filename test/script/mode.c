/* SPDX-License-Identifier: MIT */
/* test/script/mode.c - see mode.h. */
#include "tests.h"
#include "mode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deployment.h"

script_mode mode_get(void)
{
  const char *words = getenv("DIBS_SCRIPT_MODE");
  script_mode m = { .functions = false };

  if (words == NULL)
    return m;
  m.functions = strstr(words, "functions") != NULL;
  m.sharded = strstr(words, "sharded") != NULL;
  m.tags = m.sharded || strstr(words, "cluster") != NULL;
  m.guard = strstr(words, "guard") != NULL;
  return m;
}

const char *mode_why_not(void)
{
  script_mode m = mode_get();
  const char *answer = NULL;
  struct test_server *s;

  if (!m.functions && !m.sharded)
    return NULL;
  s = test_server_start();
  if (m.functions && !test_server_knows(s, "fcall"))
    answer = "the server knows no functions";
  else if (m.sharded && !test_server_knows(s, "spublish"))
    answer = "the server knows no sharded channels";
  test_server_stop(s);
  return answer;
}

const char *mode_user(void) { return mode_get().functions ? "plain" : "default"; }

void mode_native(protocol *n)
{
  script_mode m = mode_get();

  n->uses_functions = m.functions;
  n->has_tags = m.tags;
  n->has_sharded_channels = m.sharded;
  n->quarantine_ms = m.guard ? 5000 : 0;
}

void mode_options(struct test_server_options *options)
{
  options->has_cluster = mode_get().tags;
}

static void take_all_slots(const struct test_server *s)
{
  const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };

  test_server_add_slots(s, TEST_SLOTS);
  for (int i = 0; i < 1000; i++) {
    if (strstr(test_server_command(s, "CLUSTER INFO"), "cluster_state:ok") != NULL)
      return;
    nanosleep(&pause, NULL);
  }
  fail_msg("the Cluster of one node does not begin");
}

void mode_start(const struct test_server *s)
{
  script_mode m = mode_get();

  if (m.tags)
    take_all_slots(s);
  if (m.functions) {
    assert_string_equal(test_server_command(s, "FUNCTION LOAD %s", script_library_text),
                        script_library_name);
    assert_string_equal(test_server_command(s, "ACL SETUSER plain on nopass ~* &* +@all -eval "
                                            "-evalsha -eval_ro -evalsha_ro -script"), "OK");
  }
}

void mode_clear(const struct test_server *s)
{
  const char *found = strstr(test_server_command(s, "INFO replication"), "master_replid:");

  char value[64];

  if (!mode_get().guard)
    return;
  snprintf(value, sizeof(value), "%.40s 1", found + strlen("master_replid:"));
  assert_string_equal(test_server_command(s, "SET dibs:era %s", value), "OK");
}
