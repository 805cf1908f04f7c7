/* SPDX-License-Identifier: MIT */
/* test/peers/dibs_peer_verbs.c - what each verb of PROTOCOL.md is in calls of libdibs. */
#include "dibs_peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool is(const char *word, const char *what)
{
  return strcmp(word, what) == 0;
}

static int32_t number_of(const char *word)
{
  return (int32_t)strtol(word, NULL, 10);
}

void peer_status(struct peer_worker *w, dibs_status status, char *answer)
{
  dibs_error error = DIBS_ERROR_INIT;

  switch (status) {
  case DIBS_OK:
    (void)snprintf(answer, PEER_ANSWER_BYTES, "ok");
    return;
  case DIBS_BUSY:
    (void)snprintf(answer, PEER_ANSWER_BYTES, "busy");
    return;
  case DIBS_TIMED_OUT:
    (void)snprintf(answer, PEER_ANSWER_BYTES, "timeout");
    return;
  case DIBS_LOST:
  case DIBS_EXPIRED:
  case DIBS_TAKEN:
  case DIBS_ERR_STALE:
    (void)snprintf(answer, PEER_ANSWER_BYTES, "lost");
    return;
  case DIBS_ERR_UNSUPPORTED:
    (void)snprintf(answer, PEER_ANSWER_BYTES, "unsupported");
    return;
  default:
    (void)dibs_client_error(w->client, 0, &error);
    (void)snprintf(answer, PEER_ANSWER_BYTES, "error %s: %.300s", dibs_status_name(status),
                   error.text);
  }
}

static void answer_number(struct peer_worker *w, dibs_status status, int64_t number, char *answer)
{
  if (status == DIBS_OK)
    (void)snprintf(answer, PEER_ANSWER_BYTES, "ok %lld", (long long)number);
  else
    peer_status(w, status, answer);
}

/* ---- what is held ---- */

static struct peer_held *newest(struct peer_worker *w, const char *kind, const char *name)
{
  for (int i = w->count; i-- > 0;)
    if (is(w->held[i].kind, kind) && is(w->held[i].name, name))
      return &w->held[i];
  return NULL;
}

static void keep(struct peer_worker *w, const char *kind, const char *name, dibs_hold *hold)
{
  struct peer_held *h = &w->held[w->count++];

  if (w->count > PEER_HELD_MAX)
    abort();
  (void)snprintf(h->kind, sizeof(h->kind), "%s", kind);
  (void)snprintf(h->name, sizeof(h->name), "%s", name);
  h->hold = hold;
}

static void unlock(struct peer_worker *w, const char *kind, const char *name, char *answer)
{
  struct peer_held *h = newest(w, kind, name);
  dibs_hold *hold = h == NULL ? NULL : h->hold;

  if (is(kind, "canary")) {
    peer_status(w, DIBS_OK, answer);
    return;
  }
  if (h != NULL)
    memmove(h, h + 1, (size_t)(&w->held[w->count--] - (h + 1)) * sizeof(*h));
  peer_status(w, dibs_release(hold), answer);
}

/* A lease that was asked for is not renewed. */
static dibs_lock_options options_of(const struct peer_worker *w, const char *wait,
                                    const char *lease)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.wait_ms = is(wait, "-") ? DIBS_FOREVER : number_of(wait);
  o.ttl_ms = is(lease, "-") ? w->watchdog_ms : number_of(lease);
  o.max_hold_ms = is(lease, "-") ? 0 : o.ttl_ms;
  return o;
}

/* ---- verbs ---- */

static bool flavour_of(const char *kind, uint32_t *flags)
{
  static const struct { const char *kind; uint32_t flag; } flavours[] = {
    { "lock", 0 }, { "redlock", 0 }, { "fair", DIBS_LOCK_FAIR }, { "spin", DIBS_LOCK_SPIN },
    { "fenced", DIBS_LOCK_FENCED } };

  for (size_t i = 0; i < sizeof(flavours) / sizeof(flavours[0]); i++)
    if (is(kind, flavours[i].kind)) {
      *flags |= flavours[i].flag;
      return true;
    }
  return false;
}

/* `a,b,c` */
static dibs_status ask_several(struct peer_worker *w, const char *list,
                               const dibs_lock_options *o, dibs_hold **hold)
{
  char words[200], *rest = NULL;
  dibs_bytes names[10];
  size_t count = 0;

  (void)snprintf(words, sizeof(words), "%s", list);
  for (char *name = strtok_r(words, ",", &rest); name != NULL && count < 10;
       name = strtok_r(NULL, ",", &rest))
    names[count++] = dibs_text(name);
  return dibs_acquire(w->client, DIBS_LOCKS(names, count), o, hold);
}

/* A canary is no lock at all: everybody gets in. */
static dibs_status ask(struct peer_worker *w, const char *kind, const char *name, bool is_try,
                       const dibs_lock_options *o, dibs_hold **hold)
{
  dibs_lock_options with_kind = *o;

  if (is_try)
    with_kind.wait_ms = 0;
  if (is(kind, "read"))
    return dibs_acquire(w->client, DIBS_READ(name), &with_kind, hold);
  if (is(kind, "write"))
    return dibs_acquire(w->client, DIBS_WRITE(name), &with_kind, hold);
  if (is(kind, "canary"))
    return DIBS_OK;
  if (is(kind, "multi"))
    return ask_several(w, name, &with_kind, hold);
  if (flavour_of(kind, &with_kind.flags))
    return dibs_acquire(w->client, DIBS_LOCK(name), &with_kind, hold);
  return DIBS_ERR_UNSUPPORTED;
}

static void lock(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  const char *kind = words->word[1], *name = words->word[2];
  dibs_lock_options o = options_of(w, words->word[3], words->word[4]);
  dibs_hold *hold = NULL;
  dibs_status status = ask(w, kind, name, is(words->word[3], "0"), &o, &hold);

  if (hold != NULL)
    keep(w, kind, name, hold);
  if (status == DIBS_OK && is(kind, "fenced"))
    answer_number(w, status, (int64_t)dibs_hold_fence(hold), answer);
  else
    peer_status(w, status, answer);
}

/* How often it is held, by all together, as the server has it. */
static int64_t total(const dibs_inspection *in)
{
  int64_t sum = 0;

  for (size_t i = 0; i < in->shown_holders; i++)
    sum += in->holders[i]->party->units;
  return sum;
}

static void look(struct peer_worker *w, const char *verb, const char *kind, const char *name,
                 char *answer)
{
  struct peer_held *h = newest(w, kind, name);
  dibs_inspection *in = NULL;
  dibs_status status;

  if (is(verb, "held") || is(verb, "count")) {
    dibs_hold_info info = DIBS_HOLD_INFO_INIT;
    bool is_held = h != NULL && dibs_hold_get_info(h->hold, &info) == DIBS_OK &&
                   info.state != DIBS_HOLD_GONE;

    answer_number(w, DIBS_OK, !is_held ? 0 : is(verb, "count") ? info.depth : 1, answer);
    return;
  }
  status = dibs_inspect(w->client, dibs_text(name), &in);
  if (status == DIBS_OK && is(verb, "force")) {
    status = in->is_held ? dibs_break(w->client, dibs_text(name), in->lease) : DIBS_EXPIRED;
    answer_number(w, DIBS_OK, status == DIBS_OK, answer);
  } else {
    answer_number(w, status, status != DIBS_OK ? 0 :
                  is(verb, "ttl") ? in->remaining_ms :
                  is(verb, "total") ? total(in) : in->is_held, answer);
  }
  dibs_inspection_free(in);
}

static void permits(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  const char *verb = words->word[1], *kind = words->word[2], *name = words->word[3];
  const uint32_t n = words->count > 4 ? (uint32_t)number_of(words->word[4]) : 0;
  dibs_hold *hold = NULL;
  dibs_lock_options o;
  dibs_status status;

  if (is(verb, "set")) {
    answer_number(w, dibs_semaphore_set(w->client, dibs_text(name), n, 0, NULL), 1, answer);
  } else if (is(verb, "release")) {
    unlock(w, kind, name, answer);
  } else if (is(verb, "available")) {
    dibs_inspection *in = NULL;

    status = dibs_inspect(w->client, dibs_text(name), &in);
    answer_number(w, status, status == DIBS_OK ? (int64_t)in->limit - in->used : 0, answer);
    dibs_inspection_free(in);
  } else {
    o = options_of(w, words->word[5], words->word[6]);
    if (w->has_unleased && is(kind, "semaphore")) {
      o.flags |= DIBS_PERMITS_PLAIN;
      o.ttl_ms = o.max_hold_ms = 0;
    }
    if (is(words->word[5], "0"))
      o.wait_ms = 0;
    status = dibs_acquire(w->client, DIBS_PERMITS(name, n), &o, &hold);
    if (status == DIBS_OK)
      keep(w, kind, name, hold);
    peer_status(w, status, answer);
  }
}

static void latch(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  const char *verb = words->word[1], *name = words->word[2];
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  int64_t left = 0;
  dibs_status status;

  if (is(verb, "set")) {
    status = dibs_latch_set(w->client, name, number_of(words->word[3]));
    answer_number(w, status == DIBS_BUSY ? DIBS_OK : status, status == DIBS_OK, answer);
  } else if (is(verb, "down")) {
    status = dibs_latch_down(w->client, name, 1, NULL, NULL);
    peer_status(w, status == DIBS_ERR_NOT_SET ? DIBS_OK : status, answer);
  } else if (is(verb, "get")) {
    status = dibs_latch_count(w->client, name, &left);
    answer_number(w, status, left, answer);
  } else if (is(verb, "delete")) {
    answer_number(w, dibs_latch_delete(w->client, name), 1, answer);
  } else if (is(words->word[3], "0")) {
    status = dibs_latch_count(w->client, name, &left);
    peer_status(w, status == DIBS_OK && left > 0 ? DIBS_TIMED_OUT : status, answer);
  } else {
    o.wait_ms = is(words->word[3], "-") ? DIBS_FOREVER : number_of(words->word[3]);
    peer_status(w, dibs_latch_await(w->client, name, &o), answer);
  }
}

void peer_run(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  const char *verb = words->count > 2 ? words->word[0] : "";

  (void)snprintf(answer, PEER_ANSWER_BYTES, "unsupported");
  if (is(verb, "lock") && words->count == 5)
    lock(w, words, answer);
  else if (is(verb, "unlock"))
    unlock(w, words->word[1], words->word[2], answer);
  else if (is(verb, "force") || is(verb, "locked") || is(verb, "held") || is(verb, "count") ||
           is(verb, "ttl") || is(verb, "total"))
    look(w, verb, words->word[1], words->word[2], answer);
  else if (is(verb, "permits"))
    permits(w, words, answer);
  else if (is(verb, "latch"))
    latch(w, words, answer);
  else if (is(verb, "rate"))
    peer_rate(w, words, answer);
  else if (is(verb, "map"))
    peer_map(w, words, answer);
  else if (is(verb, "list"))
    peer_list(w, words, answer);
  else if (is(verb, "set"))
    peer_set(w, words, answer);
  else if (is(verb, "cycles") && words->count >= 7)
    peer_cycles(w, words, answer);
}

/* ---- cycles ---- */

/* Without any protection, on purpose. */
static void count_one(int fd)
{
  uint64_t n = 0;

  if (pread(fd, &n, sizeof(n), 0) == (ssize_t)sizeof(n)) {
    n++;
    if (pwrite(fd, &n, sizeof(n), 0) == (ssize_t)sizeof(n))
      return;
  }
  abort();
}

static void stay(int32_t ms)
{
  struct timespec rest = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

  while (nanosleep(&rest, &rest) != 0)
    ;
}

void peer_cycles(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  char *kind = words->word[1], *name = words->word[2], *lease = words->word[4];
  char one[] = "1", forever[] = "-", acquire[] = "acquire", release[] = "release";
  char permits_word[] = "permits", lock_word[] = "lock", unlock_word[] = "unlock";
  const bool has_permits = is(kind, "semaphore") || is(kind, "expirable");
  const bool counts = !has_permits && !is(kind, "read");
  const struct peer_words in = has_permits
    ? (struct peer_words){ 7, { permits_word, acquire, kind, name, one, forever, lease } }
    : (struct peer_words){ 5, { lock_word, kind, name, forever, lease } };
  const struct peer_words out = has_permits
    ? (struct peer_words){ 5, { permits_word, release, kind, name, one } }
    : (struct peer_words){ 3, { unlock_word, kind, name } };
  const int cycles = number_of(words->word[3]), fd = open(words->word[5], O_RDWR | O_CLOEXEC);
  const bool has_file = !is(words->word[6], "-");
  const int32_t inside_ms = words->count > 7 ? number_of(words->word[7]) : 0;
  FILE *records = has_file ? fopen(words->word[6], "we") : NULL;
  int64_t enter = 0, leave = 0;
  int lost = 0, i = 0;

  for (; fd >= 0 && (records != NULL || !has_file) && i < cycles; i++) {
    peer_run(w, &in, answer);
    if (strncmp(answer, "ok", 2) != 0)
      break;
    enter = peer_now_ns();
    if (counts)
      count_one(fd);
    else
      stay(1);
    if (inside_ms > 0)
      stay(inside_ms);
    leave = peer_now_ns();
    if (has_file)
      (void)fprintf(records, "%lld %lld\n", (long long)enter, (long long)leave);
    peer_run(w, &out, answer);
    if (is(answer, "lost"))
      lost++;
    else if (!is(answer, "ok"))
      break;
  }
  if (records != NULL)
    (void)fclose(records);
  if (fd >= 0)
    (void)close(fd);
  if (i == cycles && has_file)
    (void)snprintf(answer, PEER_ANSWER_BYTES, "ok %d %d", cycles, lost);
  else if (i == cycles)
    (void)snprintf(answer, PEER_ANSWER_BYTES, "ok %d %d %lld %lld", cycles, lost,
                   (long long)enter, (long long)leave);
}
