/* SPDX-License-Identifier: MIT */
/* cli/option_pairs.c - options that exclude each other, in any subcommand that has both. What can
 * only be said with values or of one subcommand is in options.c. test/cli/pairs_test.py walks this
 * table, and the pairs that work together. */
#include <string.h>

#include "cli/message.h"
#include "cli/options.h"

typedef struct pair {
  const char *one, *other;   /* long names */
  const char *why;
} pair;

static const pair pairs[] = {
  /* connection */
  { "local", "url", "each names the server" },
  { "local", "config", "each names the server" },
  { "local", "no-local", "choose one" },
  { "local", "user", "the private server has no users and no password" },
  { "local", "pass-file", "the private server has no users and no password" },
  { "local", "askpass", "the private server has no users and no password" },
  { "config", "url", "each names the server" },
  { "askpass", "pass-file", "each gives the password" },
  /* waiting */
  { "nonblock", "wait", "one does not wait, the other does" },
  { "skip-ok", "conflict-exit-code", "each says what to exit with instead of 75" },
  { "free", "held", "wait for one thing" },
  { "free", "zero", "wait for one thing" },
  { "free", "leader", "wait for one thing" },
  { "held", "zero", "wait for one thing" },
  { "held", "leader", "wait for one thing" },
  { "zero", "leader", "wait for one thing" },
  /* what is taken */
  { "shared", "write", "one reads, the other writes" },
  { "shared", "permits", "a read/write lock or a semaphore: choose one" },
  { "shared", "take", "a read/write lock or a semaphore: choose one" },
  { "write", "permits", "a read/write lock or a semaphore: choose one" },
  { "write", "take", "a read/write lock or a semaphore: choose one" },
  { "multi", "shared", "--multi takes exclusive locks" },
  { "multi", "write", "--multi takes exclusive locks" },
  { "multi", "permits", "--multi takes exclusive locks" },
  { "multi", "take", "--multi takes exclusive locks" },
  { "replicas", "shared", "only an exclusive lock of one name waits for replicas" },
  { "replicas", "write", "only an exclusive lock of one name waits for replicas" },
  { "replicas", "permits", "only an exclusive lock of one name waits for replicas" },
  { "replicas", "take", "only an exclusive lock of one name waits for replicas" },
  { "replicas", "multi", "only an exclusive lock of one name waits for replicas" },
  { "fair", "spin", "two kinds of lock: choose one" },
  { "fair", "fenced", "two kinds of lock: choose one" },
  { "spin", "fenced", "two kinds of lock: choose one" },
  { "spin", "shared", "only an exclusive lock of one name can spin" },
  { "spin", "write", "only an exclusive lock of one name can spin" },
  { "spin", "permits", "only an exclusive lock of one name can spin" },
  { "spin", "take", "only an exclusive lock of one name can spin" },
  { "spin", "multi", "only an exclusive lock of one name can spin" },
  { "fenced", "shared", "only an exclusive lock of one name is an RFencedLock" },
  { "fenced", "write", "only an exclusive lock of one name is an RFencedLock" },
  { "fenced", "permits", "only an exclusive lock of one name is an RFencedLock" },
  { "fenced", "take", "only an exclusive lock of one name is an RFencedLock" },
  { "fenced", "multi", "only an exclusive lock of one name is an RFencedLock" },
  { "plain-permits", "ttl", "plain permits have no lease" },
  { "plain-permits", "max-hold", "plain permits have no lease" },
  /* holding */
  { "for-pid", "no-renew", "one renews, the other does not: choose one" },
  { "no-renew", "max-hold", "what is not renewed ends after --ttl" },
  /* output */
  { "json", "sh", "two forms of one output" },
  { "json", "dot", "two forms of one output" },
  { "graph", "kind", "the graph has all that wait, and nothing else" },
  { "graph", "held", "the graph has all that wait, and nothing else" },
  { "graph", "waiting", "the graph has all that wait, and nothing else" },
  { "graph", "sort", "the graph has all that wait, and nothing else" },
  { "graph", "all", "the graph has all that wait, and nothing else" },
  { "dot", "kind", "the graph has all that wait, and nothing else" },
  { "dot", "held", "the graph has all that wait, and nothing else" },
  { "dot", "waiting", "the graph has all that wait, and nothing else" },
  { "dot", "sort", "the graph has all that wait, and nothing else" },
  { "dot", "all", "the graph has all that wait, and nothing else" },
  { "replay", "record", "a recording cannot be recorded" },
  { "replay", "url", "a recording needs no server" },
  { "json", "record", "a recording is JSON" },
  { "json", "replay", "a recording is JSON" },
  { "status-file", "status-fd", "the report goes to one place" },
  { "functions", "sentinel", "two outputs: choose one" },
};

/* "" where the command has no such option. */
static const char *name_of(const command *c, const char *name)
{
  for (const option_set *set = c->options; set->rows != NULL; set++)
    for (const option_row *row = set->rows; !option_is_end(row); row++)
      if (row->name != NULL && strcmp(row->name, name) == 0)
        return name;
  return "";
}

bool option_is_own(const command *c, const char *name)
{
  for (const option_set *set = c->options; set->rows != NULL; set++) {
    bool is_common = set->rows == options_common || set->rows == OPTIONS_OF_TEXT ||
                     set->rows == options_connection;

    for (const option_row *row = set->rows; !is_common && !option_is_end(row); row++)
      if (row->name != NULL && strcmp(row->name, name) == 0)
        return true;
  }
  return false;
}

bool option_names_have(const option_names *n, const char *name)
{
  for (size_t i = 0; i < n->count; i++)
    if (strcmp(n->names[i], name) == 0)
      return true;
  return false;
}

void option_names_add(option_names *n, const char *name)
{
  if (!option_names_have(n, name))
    n->names[n->count++] = name;
}

int option_pairs_check(const command *c, const option_names *given)
{
  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
    const pair *p = &pairs[i];

    if (option_names_have(given, p->one) && option_names_have(given, p->other))
      return say_usage(c->name, "--%s and --%s exclude each other: %s", name_of(c, p->one),
                       name_of(c, p->other), p->why);
  }
  return 0;
}
