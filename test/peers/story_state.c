/* SPDX-License-Identifier: MIT */
/* test/peers/story_state.c - reads all keys of a small server and writes them without what is
 * different at every run. */
#include "story_state.h"

#include <ctype.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

enum { STORY_STEP_MS = 10000, STORY_TAKES_MS = 9000 };
enum { NAMES_MAX = 64, UUID_CHARS = 36, HEX_CHARS = 32, RAW_BYTES = 16, MEMBER_BYTES = 21 };
enum { WORDS_MAX = 64 };           /* of a key, and keys */

/* Things of one kind, numbered as they come. */
struct numbered { int count; char text[NAMES_MAX][40]; };

struct story_state {
  redisContext *asks, *hears;
  struct numbered clients, threads, permits;
  bool has_threads;
  char messages[STORY_STATE_BYTES / 2];
};

struct page { char *text; size_t used; };

static void add(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct page *p, const char *format, ...)
{
  va_list values;

  va_start(values, format);
  p->used += (size_t)vsnprintf(p->text + p->used, STORY_STATE_BYTES - p->used, format, values);
  va_end(values);
  if (p->used >= STORY_STATE_BYTES)
    abort();
}

static int number_of(struct numbered *n, const char *text, size_t size)
{
  for (int i = 0; i < n->count; i++)
    if (strlen(n->text[i]) == size && memcmp(n->text[i], text, size) == 0)
      return i + 1;
  if (n->count == NAMES_MAX || size >= sizeof(n->text[0]))
    abort();
  memcpy(n->text[n->count], text, size);
  n->text[n->count][size] = 0;
  return ++n->count;
}

/* ---- what is different at every run ---- */

static bool is_uuid(const char *text, size_t size)
{
  if (size < UUID_CHARS)
    return false;
  for (int i = 0; i < UUID_CHARS; i++)
    if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
                                                : isxdigit((unsigned char)text[i]) == 0)
      return false;
  return true;
}

static size_t run_of(const char *text, size_t size, int (*is_one)(int))
{
  size_t n = 0;

  while (n < size && is_one((unsigned char)text[n]) != 0)
    n++;
  return n;
}

static bool is_printable(const char *text, size_t size)
{
  return run_of(text, size, isgraph) == size;
}

static int64_t wall_ms(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A span that was so long when its story began, or has begun since. */
static long long rounded(int64_t ms)
{
  return (long long)((ms + STORY_TAKES_MS) / STORY_STEP_MS * STORY_STEP_MS);
}

/* Raw permits, and members of a rate limiter: a length, 16 bytes, how many. */
static void add_raw(struct story_state *s, struct page *p, const char *text, size_t size)
{
  char hex[2 * RAW_BYTES + 1];
  const bool is_member = size == MEMBER_BYTES && text[0] == RAW_BYTES;
  uint32_t units;

  if (size != RAW_BYTES && !is_member) {
    for (size_t i = 0; i < size; i++)
      add(p, "\\x%02x", (unsigned char)text[i]);
    return;
  }
  for (int i = 0; i < RAW_BYTES; i++)
    (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)text[i + (is_member ? 1 : 0)]);
  add(p, "P%d", number_of(&s->permits, hex, 2 * RAW_BYTES));
  if (is_member) {
    memcpy(&units, text + 1 + RAW_BYTES, sizeof(units));
    add(p, "x%u", units);
  }
}

/* Threads of two processes may have one number. */
static void add_thread(struct story_state *s, struct page *p, int client, const char *digits,
                       size_t count)
{
  char both[40];
  int n = snprintf(both, sizeof(both), "%d:%.*s", client, (int)count, digits);

  if (s->has_threads)
    add(p, ":T%d", number_of(&s->threads, both, (size_t)n));
  else
    add(p, ":T");
}

/* Text with ids and instants in it. */
static void add_text(struct story_state *s, struct page *p, const char *text, size_t size)
{
  size_t digits;

  if (!is_printable(text, size)) {
    add_raw(s, p, text, size);
    return;
  }
  while (size > 0) {
    size_t n = 1;

    digits = run_of(text, size, isdigit);
    if (is_uuid(text, size)) {
      const int client = number_of(&s->clients, text, UUID_CHARS);

      add(p, "U%d", client);
      n = UUID_CHARS;
      digits = size > n && text[n] == ':' ? run_of(text + n + 1, size - n - 1, isdigit) : 0;
      if (digits > 0) {
        add_thread(s, p, client, text + n + 1, digits);
        n += 1 + digits;
      }
    } else if (run_of(text, size, isxdigit) == HEX_CHARS) {
      add(p, "P%d", number_of(&s->permits, text, HEX_CHARS));
      n = HEX_CHARS;
    } else if (digits == 13) {
      add(p, "now%+lld", rounded(strtoll(text, NULL, 10) - wall_ms()));
      n = digits;
    } else {
      n = digits > 0 ? digits : 1;
      add(p, "%.*s", (int)n, text);
    }
    text += n;
    size -= n;
  }
}

/* ---- keys ---- */

static redisReply *ask(struct story_state *s, const char *format, ...)
{
  redisReply *reply;
  va_list values;

  va_start(values, format);
  reply = redisvCommand(s->asks, format, values);
  va_end(values);
  if (reply == NULL)
    abort();
  return reply;
}

/* Short before long, so that a thread 10 comes after thread 9. */
static int by_text(const void *a, const void *b)
{
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  const size_t x_size = strlen(x), y_size = strlen(y);

  if (x_size != y_size)
    return x_size < y_size ? -1 : 1;
  return strcmp(x, y);
}

/* Puts the words, or lines, of `p` from `from` on in order: by what they say here, as what is on
 * the server is different at every run. Each ends with `end`. */
static void sort_from(struct page *p, size_t from, char end)
{
  char *words = strdup(p->text + from), *all[WORDS_MAX];
  size_t count = 0;

  if (words == NULL)
    abort();
  for (char *at = words, *next; *at != 0; at = next + 1) {
    next = strchr(at, end);
    if (next == NULL || count == WORDS_MAX)
      abort();
    *next = 0;
    all[count++] = at;
  }
  qsort(all, count, sizeof(all[0]), by_text);
  p->used = from;
  for (size_t i = 0; i < count; i++)
    add(p, "%s%c", all[i], end);
  free(words);
}

static redisReply *content_of(struct story_state *s, const redisReply *key, const char *type)
{
  const char *const words[][2] = { { "string", "GET %b" }, { "hash", "HGETALL %b" },
                                   { "list", "LRANGE %b 0 -1" }, { "set", "SMEMBERS %b" },
                                   { "zset", "ZRANGE %b 0 -1 WITHSCORES" } };

  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    if (strcmp(words[i][0], type) == 0)
      return ask(s, words[i][1], key->str, key->len);
  abort();
}

/* Pairs of a hash by their text, those of a zset as they stand; a blank behind each. */
static void add_content(struct story_state *s, struct page *p, const redisReply *content,
                        const char *type)
{
  const bool has_pairs = strcmp(type, "hash") == 0 || strcmp(type, "zset") == 0;
  const size_t step = has_pairs ? 2 : 1, from = p->used;

  if (content->type == REDIS_REPLY_STRING) {
    add_text(s, p, content->str, content->len);
    add(p, " ");
  }
  if (content->type != REDIS_REPLY_ARRAY)
    return;
  for (size_t i = 0; i < content->elements; i += step) {
    add_text(s, p, content->element[i]->str, content->element[i]->len);
    if (has_pairs) {
      add(p, "=");
      add_text(s, p, content->element[i + 1]->str, content->element[i + 1]->len);
    }
    add(p, " ");
  }
  if (strcmp(type, "hash") == 0)
    sort_from(p, from, ' ');
}

/* One that is gone before it was read is not there. */
static void add_key(struct story_state *s, struct page *p, const redisReply *key)
{
  redisReply *type = ask(s, "TYPE %b", key->str, key->len);
  redisReply *ttl = ask(s, "PTTL %b", key->str, key->len), *content;

  if (strcmp(type->str, "none") != 0 && ttl->integer != -2) {
    content = content_of(s, key, type->str);
    add(p, "key ");
    add_text(s, p, key->str, key->len);
    add(p, " %s ", type->str);
    add_content(s, p, content, type->str);
    if (ttl->integer >= 0)
      add(p, "ttl %lld ", rounded(ttl->integer));
    p->text[p->used - 1] = '\n';
    freeReplyObject(content);
  }
  freeReplyObject(type);
  freeReplyObject(ttl);
}

/* What lives for one call; and what dibs keeps beside a dialect, which nobody else looks at. */
static bool is_aside(const redisReply *key)
{
  static const char *const beginnings[] = { "redisson_unlock_latch:", "dibs:" };

  for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
    if (strncmp(key->str, beginnings[i], strlen(beginnings[i])) == 0)
      return true;
  return false;
}

static void add_keys(struct story_state *s, struct page *p)
{
  redisReply *keys = ask(s, "KEYS *");
  const size_t from = p->used;

  for (size_t i = 0; i < keys->elements; i++)
    if (!is_aside(keys->element[i]))
      add_key(s, p, keys->element[i]);
  sort_from(p, from, '\n');
  freeReplyObject(keys);
}

/* ---- messages ---- */

static void hear(struct story_state *s)
{
  struct pollfd readable = { .fd = s->hears->fd, .events = POLLIN };
  struct page p = { s->messages, strlen(s->messages) };
  void *reply;

  while (poll(&readable, 1, 0) > 0) {
    if (redisBufferRead(s->hears) != REDIS_OK)
      abort();
    while (redisGetReplyFromReader(s->hears, &reply) == REDIS_OK && reply != NULL) {
      const redisReply *r = reply;

      if (r->elements == 4) {
        add(&p, "message ");
        add_text(s, &p, r->element[2]->str, r->element[2]->len);
        add(&p, " ");
        add_text(s, &p, r->element[3]->str, r->element[3]->len);
        add(&p, "\n");
      }
      freeReplyObject(reply);
    }
  }
}

/* ---- begin and end ---- */

struct story_state *story_state_new(const char *socket, bool has_threads)
{
  struct story_state *s = calloc(1, sizeof(*s));

  if (s == NULL)
    abort();
  s->has_threads = has_threads;
  s->asks = redisConnectUnix(socket);
  s->hears = redisConnectUnix(socket);
  if (s->asks == NULL || s->asks->err != 0 || s->hears == NULL || s->hears->err != 0)
    abort();
  freeReplyObject(redisCommand(s->hears, "PSUBSCRIBE *"));
  return s;
}

struct story_state *story_state_free(struct story_state *s)
{
  if (s == NULL)
    return NULL;
  redisFree(s->asks);
  redisFree(s->hears);
  free(s);
  return NULL;
}

void story_state_lines(struct story_state *s, char *ret_lines)
{
  struct page p = { ret_lines, 0 };

  ret_lines[0] = 0;
  add_keys(s, &p);
  hear(s);
  add(&p, "%s", s->messages);
}

static long long server_ms(struct story_state *s)
{
  redisReply *time = ask(s, "TIME");
  long long ms = strtoll(time->element[0]->str, NULL, 10) * 1000 +
                 strtoll(time->element[1]->str, NULL, 10) / 1000;

  freeReplyObject(time);
  return ms;
}

/* What the next step writes is of another millisecond: so scores tell what came first. */
void story_state_forget(struct story_state *s)
{
  const long long now_ms = server_ms(s);

  s->messages[0] = 0;
  while (server_ms(s) == now_ms)
    ;
}
