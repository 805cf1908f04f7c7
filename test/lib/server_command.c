/* SPDX-License-Identifier: MIT */
/* test/lib/server_command.c - asking a test server something, with its answer as text.
 *
 * A fresh connection each time: nothing has to be repaired after a kill or a restart. */
#include "server_parts.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

enum { ANSWERS = 32, ANSWER_SIZE = 8192 };

struct answer {
  char text[ANSWER_SIZE];
  size_t used;
};

static struct answer *next_answer(void)
{
  static _Thread_local struct answer all[ANSWERS];
  static _Thread_local unsigned turn;
  struct answer *a = &all[turn++ % ANSWERS];

  a->text[0] = '\0';
  a->used = 0;
  return a;
}

static void append(struct answer *a, const char *bytes, size_t size)
{
  if (a->used + size >= ANSWER_SIZE)
    test_bail_out("an answer is longer than %d bytes", ANSWER_SIZE);
  memcpy(a->text + a->used, bytes, size);
  a->used += size;
  a->text[a->used] = '\0';
}

static void append_reply(struct answer *a, const redisReply *reply)
{
  char number[32];

  switch (reply->type) {
  case REDIS_REPLY_INTEGER:
    append(a, number, (size_t)snprintf(number, sizeof(number), "%lld", reply->integer));
    break;
  case REDIS_REPLY_NIL:
    append(a, "(nil)", 5);
    break;
  case REDIS_REPLY_ARRAY:
    append(a, "[", 1);
    for (size_t i = 0; i < reply->elements; i++) {
      if (i > 0)
        append(a, ", ", 2);
      append_reply(a, reply->element[i]);
    }
    append(a, "]", 1);
    break;
  default:
    append(a, reply->str, (size_t)reply->len);
    break;
  }
}

redisContext *test_server_connect(const struct test_server *s)
{
  struct timeval connect_limit = { .tv_sec = 5 }, answer_limit = { .tv_sec = 30 };
  redisContext *context = redisConnectUnixWithTimeout(s->socket, connect_limit);

  if (context == NULL)
    test_bail_out("no memory");
  if (context->err == 0 && s->options.password != NULL) {
    (void)redisSetTimeout(context, answer_limit);
    if (s->options.user != NULL)
      freeReplyObject(
        redisCommand(context, "AUTH %s %s", s->options.user, s->options.password));
    else
      freeReplyObject(redisCommand(context, "AUTH %s", s->options.password));
  }
  if (context->err == 0)
    (void)redisSetTimeout(context, answer_limit);
  /* Refused where that user is not made yet: then there are no limits yet, either. */
  if (context->err == 0 && test_acl_is_for(s))
    freeReplyObject(redisCommand(context, "AUTH " TEST_ADMIN " " TEST_ADMIN));
  return context;
}

/* The answer of the one that it names, in place of "MOVED slot host:port". */
static redisReply *follow(redisReply *moved, const char *format, va_list values)
{
  struct timeval limit = { .tv_sec = 5 };
  redisReply *reply = NULL;
  redisContext *context;
  char host[64];
  int port;

  if (sscanf(moved->str, "MOVED %*d %63[^:]:%d", host, &port) != 2)
    return moved;
  context = redisConnectWithTimeout(host, port, limit);
  if (context != NULL && context->err == 0)
    reply = redisvCommand(context, format, values);
  if (context != NULL)
    redisFree(context);
  freeReplyObject(moved);
  return reply;
}

/* hiredis raises SIGPIPE when the server is just gone. Ignoring it for the whole program
 * would hide it from the tests that look for it. */
redisReply *test_server_ask_with(const struct test_server *s, const char *format,
                                 va_list values)
{
  struct timespec at_once = { 0 };
  redisReply *reply = NULL;
  redisContext *context;
  sigset_t pipe_only, before;
  va_list again;

  (void)sigemptyset(&pipe_only);
  (void)sigaddset(&pipe_only, SIGPIPE);
  (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  context = test_server_connect(s);
  va_copy(again, values);
  if (context->err == 0)
    reply = redisvCommand(context, format, values);
  redisFree(context);
  if (s->follows_moved && reply != NULL && reply->type == REDIS_REPLY_ERROR)
    reply = follow(reply, format, again);
  va_end(again);
  if (sigismember(&before, SIGPIPE) == 0)
    (void)sigtimedwait(&pipe_only, NULL, &at_once);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return reply;
}

void test_server_follow_moved(struct test_server *s)
{
  s->follows_moved = true;
}

redisReply *test_server_ask(const struct test_server *s, const char *format, ...)
{
  redisReply *reply;
  va_list values;

  va_start(values, format);
  reply = test_server_ask_with(s, format, values);
  va_end(values);
  return reply;
}

const char *test_server_command(const struct test_server *s, const char *format, ...)
{
  struct answer *a = next_answer();
  redisReply *reply;
  va_list values;

  va_start(values, format);
  reply = test_server_ask_with(s, format, values);
  va_end(values);
  if (reply == NULL)
    return "(gone)";
  append_reply(a, reply);
  freeReplyObject(reply);
  return a->text;
}

long long test_server_integer(const struct test_server *s, const char *format, ...)
{
  redisReply *reply;
  va_list values;
  long long value;

  va_start(values, format);
  reply = test_server_ask_with(s, format, values);
  va_end(values);
  if (reply == NULL || reply->type != REDIS_REPLY_INTEGER)
    test_bail_out("no integer was the answer to: %s", format);
  value = reply->integer;
  freeReplyObject(reply);
  return value;
}
