/* SPDX-License-Identifier: MIT */
/* stage.c - see stage.h. Whatever goes wrong that is not part of the play ends the program
 * with 2. */
#include "stage.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#define LOCK "shop"

struct stage {
  dibs_sandbox *sandbox;
  char url[320];
  redisContext *line[ACTORS];
  dibs_client *client[ACTORS];
  dibs_hold *hold[ACTORS];
  bool is_at_work[ACTORS];
  int breaks;
};

static const char *const names[ACTORS] = { "Anna", "Bert", "Cora" };

static void give_up(const char *what, const char *why)
{
  fprintf(stderr, "pitfalls: %s: %s\n", what, why);
  exit(2);
}

stage *stage_open(void)
{
  stage *s = calloc(1, sizeof(*s));
  dibs_error error = DIBS_ERROR_INIT;

  if (s == NULL)
    give_up("memory", "none");
  if (dibs_sandbox_start(&s->sandbox, s->url, sizeof(s->url), &error) != DIBS_OK)
    give_up("no private server", error.text);
  return s;
}

stage *stage_close(stage *s)
{
  for (int i = 0; i < ACTORS; i++) {
    dibs_close(s->client[i]);
    if (s->line[i] != NULL)
      redisFree(s->line[i]);
  }
  dibs_sandbox_stop(s->sandbox);
  free(s);
  return NULL;
}

int stage_breaks(const stage *s) { return s->breaks; }

/* ---- what is shown ---- */

static void show(actor who, const char *did, const char *answer)
{
  if (answer != NULL)
    printf("  %s  %-36s %s\n", names[who], did, answer);
  else
    printf("  %s  %s\n", names[who], did);
}

void remark(const stage *s, actor who, const char *words)
{
  (void)s;
  show(who, words, NULL);
}

void breaks(stage *s, const char *words)
{
  s->breaks++;
  printf("  ****  BROKEN: %s\n", words);
}

/* ---- by hand ---- */

static redisContext *line_of(stage *s, actor who)
{
  static const char scheme[] = "unix://";

  if (s->line[who] == NULL) {
    if (strncmp(s->url, scheme, strlen(scheme)) != 0)
      give_up("the private server's address", s->url);
    s->line[who] = redisConnectUnix(s->url + strlen(scheme));
    if (s->line[who] == NULL || s->line[who]->err != 0)
      give_up("no connection", s->url);
  }
  return s->line[who];
}

static const char *answer_text(redisReply *reply)
{
  static char texts[8][128];
  static unsigned next;
  char *out = texts[next++ % 8];

  if (reply == NULL)
    give_up("the server", "no answer");
  if (reply->type == REDIS_REPLY_INTEGER)
    (void)snprintf(out, sizeof(texts[0]), "(integer) %lld", reply->integer);
  else if (reply->type == REDIS_REPLY_NIL)
    (void)snprintf(out, sizeof(texts[0]), "(nil)");
  else if (reply->type == REDIS_REPLY_STRING)
    (void)snprintf(out, sizeof(texts[0]), "\"%s\"", reply->str);
  else if (reply->type == REDIS_REPLY_STATUS)
    (void)snprintf(out, sizeof(texts[0]), "%s", reply->str);
  else
    give_up("the server", reply->str != NULL ? reply->str : "a strange answer");
  freeReplyObject(reply);
  return out;
}

const char *by_hand(stage *s, actor who, const char *format, ...)
{
  char command[128];
  const char *answer;
  va_list arguments;

  va_start(arguments, format);
  (void)vsnprintf(command, sizeof(command), format, arguments);
  va_end(arguments);
  va_start(arguments, format);
  answer = answer_text(redisvCommand(line_of(s, who), format, arguments));
  va_end(arguments);
  show(who, command, answer);
  return answer;
}

void sleeps_past(stage *s, actor who, const char *key)
{
  redisContext *line = line_of(s, who);

  show(who, "sleeps until its time is over", NULL);
  while (strcmp(answer_text(redisCommand(line, "EXISTS %s", key)), "(integer) 0") != 0)
    (void)poll(NULL, 0, 1);
}

/* ---- with dibs ---- */

static dibs_client *client_of(stage *s, actor who)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (s->client[who] == NULL &&
      dibs_open(s->url, NULL, &s->client[who], &error) != DIBS_OK)
    give_up("no client", error.text);
  return s->client[who];
}

dibs_status locks(stage *s, actor who, int ttl_ms, unsigned flags)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_status status;

  options.ttl_ms = ttl_ms;
  options.flags = flags;
  status = dibs_lock(client_of(s, who), LOCK, &options, &s->hold[who]);
  show(who, "dibs_lock(\"" LOCK "\")", dibs_status_name(status));
  return status;
}

dibs_status tries(stage *s, actor who)
{
  dibs_status status = dibs_try_lock(client_of(s, who), LOCK, NULL, &s->hold[who]);

  show(who, "dibs_try_lock(\"" LOCK "\")", dibs_status_name(status));
  return status;
}

dibs_hold_condition asks_its_hold(stage *s, actor who)
{
  dibs_hold_condition condition = dibs_hold_state(s->hold[who]);

  show(who, "dibs_hold_state()",
       condition == DIBS_HOLD_HELD ? "DIBS_HOLD_HELD" :
       condition == DIBS_HOLD_GONE ? "DIBS_HOLD_GONE" : "DIBS_HOLD_SUSPECT");
  return condition;
}

dibs_status releases(stage *s, actor who)
{
  dibs_status status = dibs_release(s->hold[who]);

  s->hold[who] = NULL;
  show(who, "dibs_release()", dibs_status_name(status));
  return status;
}

void works_past_renewals(stage *s, actor who, unsigned count)
{
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;

  show(who, "works on for several leases; dibs renews", NULL);
  do {
    (void)poll(NULL, 0, 1);
    if (dibs_client_get_info(client_of(s, who), &stats) != DIBS_OK)
      give_up("stats", "none");
  } while (stats.renewed < count && dibs_hold_state(s->hold[who]) != DIBS_HOLD_GONE);
}

/* ---- work ---- */

void begins_work(stage *s, actor who)
{
  char words[64];

  show(who, "is at work", NULL);
  for (int i = 0; i < ACTORS; i++) {
    if (!s->is_at_work[i] || i == (int)who)
      continue;
    (void)snprintf(words, sizeof(words), "%s and %s are at work at once", names[i],
                   names[who]);
    breaks(s, words);
  }
  s->is_at_work[who] = true;
}

void ends_work(stage *s, actor who)
{
  show(who, "is done", NULL);
  s->is_at_work[who] = false;
}

void is_killed_after(stage *s, actor who, void (*steps)(stage *s))
{
  int how = 0;
  pid_t pid;

  pid = fork();
  if (pid == 0) {
    steps(s);
    (void)raise(SIGKILL);
  }
  if (pid < 0 || waitpid(pid, &how, 0) != pid || !WIFSIGNALED(how) ||
      WTERMSIG(how) != SIGKILL)
    give_up("a process that was to be killed", "was not");
  show(who, "is killed (SIGKILL)", NULL);
}
