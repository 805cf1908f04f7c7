/* SPDX-License-Identifier: MIT */
/* test/lib/server_acl.c - servers whose clients may do just what `dibs acl` says.
 *
 * DIBS_TEST_ACL has the line that `dibs acl --mode ... default` printed. Whoever logs in
 * nowhere then has these rights; the tests themselves are another user. */
#include "server_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#define LINE_SIZE 8192
#define WORDS_MAX 256

static const char *acl_line(void)
{
  const char *line = getenv("DIBS_TEST_ACL");

  return line == NULL || line[0] == 0 ? NULL : line;
}

bool test_acl_is_for(const struct test_server *s)
{
  return acl_line() != NULL && s->options.user == NULL && !s->options.is_sentinel;
}

/* "ACL SETUSER default on >PASSWORD ...": with the server's own password, or with none. */
static void make_default(const struct test_server *s, redisContext *context)
{
  char line[LINE_SIZE], secret[128] = "nopass";
  const char *words[WORDS_MAX];
  char *rest = line;
  int count = 0;
  redisReply *reply;

  if (s->options.password != NULL)
    (void)snprintf(secret, sizeof(secret), ">%s", s->options.password);
  if ((size_t)snprintf(line, sizeof(line), "%s", acl_line()) >= sizeof(line))
    test_bail_out("DIBS_TEST_ACL is too long");
  for (char *word; (word = strsep(&rest, " \n")) != NULL && count < WORDS_MAX;)
    if (word[0] != 0)
      words[count++] = word[0] == '>' ? secret : word;
  reply = redisCommandArgv(context, count, words, NULL);
  if (reply == NULL || reply->type != REDIS_REPLY_STATUS)
    test_bail_out("DIBS_TEST_ACL: %s", reply == NULL ? "(gone)" : reply->str);
  freeReplyObject(reply);
}

void test_acl_make(const struct test_server *s)
{
  redisContext *context;

  if (!test_acl_is_for(s))
    return;
  if (strcmp(test_server_command(s, "ACL SETUSER " TEST_ADMIN " reset on >" TEST_ADMIN
                                 " ~* &* +@all"), "OK") != 0)
    test_bail_out("the server in %s cannot have a user for the tests", s->directory);
  context = test_server_connect(s);
  make_default(s, context);
  redisFree(context);
}
