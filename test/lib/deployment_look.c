/* SPDX-License-Identifier: MIT */
/* test/lib/deployment_look.c - what one server says about itself and its place. */
#include "deployment_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "now.h"

bool deployment_until(int limit_ms, bool (*is_so)(void *data), void *data)
{
  int64_t until = test_now_ms() + limit_ms;
  struct timespec shortly = { .tv_nsec = 5000000 };

  for (;;) {
    if (is_so(data))
      return true;
    if (test_now_ms() >= until)
      return false;
    (void)nanosleep(&shortly, NULL);
  }
}

void deployment_expect(const struct test_server *s, const char *wanted, const char *format,
                       ...)
{
  redisReply *reply;
  va_list values;

  va_start(values, format);
  reply = test_server_ask_with(s, format, values);
  va_end(values);
  if (reply == NULL || reply->str == NULL
      || strncmp(reply->str, wanted, strlen(wanted)) != 0)
    test_bail_out("the server in %s answered to \"%s\": %s", s->directory, format,
                  reply == NULL || reply->str == NULL ? "(nothing)" : reply->str);
  freeReplyObject(reply);
}

static bool is_there(const struct test_server *s)
{
  return s != NULL && s->pid != 0 && !s->is_paused;
}

bool info_text(const struct test_server *s, const char *section, const char *field,
               char *ret_text, size_t size)
{
  redisReply *reply = is_there(s) ? test_server_ask(s, "INFO %s", section) : NULL;
  const char *at = reply == NULL || reply->str == NULL ? NULL : reply->str;
  size_t length = strlen(field);

  while (at != NULL && (strncmp(at, field, length) != 0 || at[length] != ':')) {
    at = strchr(at, '\n');
    at = at == NULL ? NULL : at + 1;
  }
  if (at != NULL) {
    at += length + 1;
    (void)snprintf(ret_text, size, "%.*s", (int)strcspn(at, "\r\n"), at);
  }
  freeReplyObject(reply);
  return at != NULL;
}

long long info_number(const struct test_server *s, const char *section, const char *field)
{
  char text[64];

  return info_text(s, section, field, text, sizeof(text)) ? strtoll(text, NULL, 10) : -1;
}

/* ---- roles ---- */

enum test_role test_role_of(const struct test_server *s)
{
  const char *answer = is_there(s) ? test_server_command(s, "ROLE") : "";

  return strncmp(answer, "[master", 7) == 0     ? TEST_ROLE_PRIMARY
         : strncmp(answer, "[slave", 6) == 0    ? TEST_ROLE_REPLICA
         : strncmp(answer, "[sentinel", 9) == 0 ? TEST_ROLE_SENTINEL
                                                : TEST_ROLE_GONE;
}

struct role_question { const struct test_server *s; enum test_role role; };

static bool has_role(void *data)
{
  const struct role_question *q = data;

  return test_role_of(q->s) == q->role;
}

bool test_wait_for_role(const struct test_server *s, enum test_role role, int limit_ms)
{
  struct role_question q = { s, role };

  return deployment_until(limit_ms, has_role, &q);
}

/* A server without a configuration file cannot keep it, and need not. */
static void keep(const struct test_server *s)
{
  if (s->options.keeps_configuration)
    (void)test_server_command(s, "CONFIG REWRITE");
}

void test_promote(const struct test_server *s)
{
  deployment_expect(s, "OK", "REPLICAOF NO ONE");
  keep(s);
}

void test_demote(const struct test_server *s, const struct test_server *new_primary)
{
  deployment_expect(s, "OK", "REPLICAOF %s %d", test_server_address(new_primary),
                    test_server_port(new_primary));
  keep(s);
}

/* ---- replication ---- */

long long replication_offset(const struct test_server *primary)
{
  return info_number(primary, "replication", "master_repl_offset");
}

bool replica_has(const struct test_server *replica, const struct test_server *primary,
                 long long offset)
{
  char link[32], there[64], here[64];

  return info_text(replica, "replication", "master_link_status", link, sizeof(link))
         && strcmp(link, "up") == 0
         && info_number(replica, "replication", "slave_repl_offset") >= offset
         && info_text(primary, "replication", "master_replid", there, sizeof(there))
         && info_text(replica, "replication", "master_replid", here, sizeof(here))
         && strcmp(there, here) == 0;
}

struct sync_question {
  const struct test_server *primary, *replica;
  long long offset;
};

static bool is_in_sync(void *data)
{
  const struct sync_question *q = data;

  return replica_has(q->replica, q->primary, q->offset);
}

bool test_wait_in_sync(const struct test_server *primary, const struct test_server *replica,
                       int limit_ms)
{
  struct sync_question q = { primary, replica, replication_offset(primary) };

  return q.offset >= 0 && deployment_until(limit_ms, is_in_sync, &q);
}

/* ---- what it is ---- */

const char *test_server_version(const struct test_server *s)
{
  static char text[96];
  char name[32], version[32];

  if (info_text(s, "server", "valkey_version", version, sizeof(version)))
    (void)snprintf(name, sizeof(name), "valkey");
  else if (info_text(s, "server", "redis_version", version, sizeof(version)))
    (void)snprintf(name, sizeof(name), "redis");
  else
    return "unknown";
  (void)snprintf(text, sizeof(text), "%s %s", name, version);
  return text;
}

bool test_server_knows(const struct test_server *s, const char *command)
{
  const char *answer = test_server_command(s, "COMMAND INFO %s", command);

  return strncmp(answer, "[[", 2) == 0;
}

bool test_servers_speak_tls(void)
{
  static int answer = -1;
  struct test_server *s;

  if (answer < 0) {
    s = test_server_start();
    answer = strcmp(test_server_command(s, "CONFIG GET tls-port"), "[]") != 0;
    s = test_server_stop(s);
  }
  return answer == 1;
}
