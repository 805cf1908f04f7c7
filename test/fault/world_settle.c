/* SPDX-License-Identifier: MIT */
/* test/fault/world_settle.c - the end of a world: all is healed, everybody must move on, all
 * end, and what they wrote is judged. */
#include "world_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/dibs.h>

#include "run_file.h"

enum { KEYS_MS = 4000, NO_LINE_MS = 20000 };

void world_settle_how(struct world *w, int flags, int progress_ms)
{
  w->settle_flags = flags;
  w->progress_ms = progress_ms;
}

/* ---- healing ---- */

static void heal(struct world *w)
{
  if (w->proxy != NULL) {
    test_proxy_pass(w->proxy, TEST_BOTH);
    test_proxy_only(w->proxy, NULL);
    test_proxy_refuse(w->proxy, false);
  }
  if (w->server != NULL && test_server_pid(w->server) == 0)
    world_server_start(w, true);
  world_server_continue(w);
  for (int i = 0; i < w->worker_count; i++)
    world_continue(w, i);
  world_end_faults(w);
}

struct progress { uint64_t before[WORKERS_MAX]; };

static bool all_moved_on(struct world *w, void *data)
{
  const struct progress *p = data;

  for (int i = 0; i < w->worker_count; i++)
    if (w->workers[i].pid != 0 && world_answers_of(w, i) < p->before[i] + 3)
      return false;
  return true;
}

static int longest_ttl_ms(const struct world *w)
{
  int most = 0;

  for (int i = 0; i < w->worker_count; i++)
    if (w->workers[i].plan.ttl_ms > most)
      most = w->workers[i].plan.ttl_ms;
  return most;
}

/* Other formats have no line: whoever comes at the right moment gets it, and the same worker
 * may miss it for seconds. */
static int progress_limit_ms(const struct world *w)
{
  int limit_ms = w->progress_ms != 0 ? w->progress_ms : 2 * longest_ttl_ms(w) + 3000;

  return w->scale.dialect == DIBS_DIALECT_DEFAULT ? limit_ms : limit_ms + NO_LINE_MS;
}

bool world_progress(struct world *w)
{
  int limit_ms = progress_limit_ms(w);
  struct progress p;

  heal(w);
  for (int i = 0; i < w->worker_count; i++)
    p.before[i] = world_answers_of(w, i);
  if (world_until(w, limit_ms, all_moved_on, &p))
    return true;
  for (int i = 0; i < w->worker_count; i++)
    if (w->workers[i].pid != 0 && world_answers_of(w, i) < p.before[i] + 3)
      world_fail(w, "L6: all is healed, and worker %d had %llu grants within %d ms", i,
                 (unsigned long long)(world_answers_of(w, i) - p.before[i]), limit_ms);
  return false;
}

/* ---- what is left on the server ---- */

/* NULL: nothing; else what. */
static const char *left_of_lock(dibs_client *client, const struct run_lock *l)
{
  static char text[128];
  dibs_inspection *seen = NULL;
  dibs_status status = dibs_inspect(client, dibs_text(l->name), &seen);

  text[0] = '\0';
  if (status != DIBS_OK)
    (void)snprintf(text, sizeof(text), "%s: %s", l->name, dibs_status_name(status));
  else if (seen->waiter_count != 0)
    (void)snprintf(text, sizeof(text), "%s: %zu still wait", l->name, seen->waiter_count);
  /* A lease of somebody killed stands until the next wants it, but not for long. */
  else if (seen->holder_count != 0 && seen->remaining_ms > 0)
    (void)snprintf(text, sizeof(text), "%s: held for %lld ms more", l->name,
                   (long long)seen->remaining_ms);
  seen = dibs_inspection_free(seen);
  return text[0] == '\0' ? NULL : text;
}

static const char *left_on_server(struct world *w, dibs_client *client)
{
  static char text[200];
  const char *without_ttl =
    "for _, k in ipairs(redis.call('KEYS', 'dibs:*')) do "
    "if redis.call('PTTL', k) < 0 and not string.find(redis.call('TYPE', k).ok == 'hash' and "
    "redis.call('HGET', k, 's') or '', '^sem') then return k end end return ''";
  /* Of Redisson's format: a semaphore is a string, with its permits beside it. */
  const char *in_dialect =
    "for _, k in ipairs(redis.call('KEYS', '*')) do local t = redis.call('TYPE', k).ok "
    "if redis.call('PTTL', k) < 0 and t ~= 'string' and t ~= 'zset' then return k end end "
    "return ''";
  const char *answer;

  for (uint32_t i = 0; i < w->lock_count; i++) {
    const char *left = left_of_lock(client, &w->locks[i]);

    if (left != NULL)
      return left;
  }
  answer = test_server_command(w->server, "EVAL %s 0",
                               w->scale.dialect == 0 ? without_ttl : in_dialect);
  if (answer[0] != '\0') {
    (void)snprintf(text, sizeof(text), "%s has no time to live", answer);
    return text;
  }
  answer = test_server_command(w->server, "PUBSUB CHANNELS dibs:inbox:*");
  if (strchr(answer, ',') != NULL) {        /* our own may be one */
    (void)snprintf(text, sizeof(text), "still subscribed: %.150s", answer);
    return text;
  }
  return NULL;
}

struct keys { dibs_client *client; const char *left; };

static bool is_clean(struct world *w, void *data)
{
  struct keys *k = data;

  k->left = left_on_server(w, k->client);
  return k->left == NULL;
}

void world_check_keys(struct world *w)
{
  struct keys k = { NULL, NULL };

  if (w->server == NULL || (w->settle_flags & SETTLE_NO_KEYS) != 0)
    return;
  if (world_open(w, &k.client) != DIBS_OK) {
    world_fail(w, "C10: the server cannot be asked what is left");
    return;
  }
  if (!world_until(w, KEYS_MS + longest_ttl_ms(w), is_clean, &k))
    world_fail(w, "C10: left on the server: %s", k.left);
  for (uint32_t i = 0; i < w->lock_count; i++)
    if (w->locks[i].kind == 'p' && !w->has_failed &&
        dibs_semaphore_delete(k.client, dibs_text(w->locks[i].name)) == DIBS_BUSY)
      world_fail(w, "C10: permits of %s are still held or wanted", w->locks[i].name);
  k.client = dibs_close(k.client);
}

/* ---- the verdict ---- */

static void summary(struct world *w, const struct history *h, const struct findings *f,
                    bool is_good)
{
  size_t writes = 0;
  uint64_t refused = 0;

  for (size_t i = 0; i < h->count; i++)
    writes += h->records[i].op == OP_WRITE && h->records[i].phase == PHASE_OK;
  for (uint32_t i = 0; w->page != NULL && i < w->lock_count; i++)
    refused += atomic_load(&w->page->locks[i].stale_refused);
  (void)printf("#summary id=%s seed=%llu ok=%d seconds=%.1f cycles=%llu grants=%zu asks=%zu "
               "faults=%zu in_faults=%zu writes=%zu refused=%llu overlaps=%zu findings=%zu",
               w->scenario->id, (unsigned long long)w->scale.seed, is_good,
               (double)(history_now_ns() - w->began_ns) / 1e9,
               (unsigned long long)(w->page == NULL ? 0 : world_cycles(w)), h->grant_count,
               h->ask_count, h->fault_count, history_grants_in_faults(h), writes,
               (unsigned long long)refused, f->counts[CHECK_EXCLUSION], f->count);
  for (int i = 0; i < w->count_count; i++) {
    char word[48];

    (void)snprintf(word, sizeof(word), "%s", w->counts[i].what);
    for (char *at = word; *at != '\0'; at++)
      *at = *at == ' ' || *at == '=' ? '_' : *at;
    (void)printf(" %s=%lld", word, (long long)w->counts[i].times);
  }
  (void)printf("\n");
}

bool world_judge(struct world *w)
{
  struct history *h = history_load(w->directory);
  struct findings *f = calloc(1, sizeof(*f));
  bool is_good;

  if (h == NULL || f == NULL) {
    world_fail(w, "the history cannot be loaded");
    free(f);
    return false;
  }
  is_good = check_all(h, &w->scenario->expects, f) && !w->has_failed;
  if (f->has_broken)
    world_break(w, "a finding of the checkers");
  if (!is_good)                        /* overlaps that were expected are nothing to read */
    findings_print(f, h, "# ");
  findings_table(f, h, "# ");
  summary(w, h, f, is_good);
  (void)fflush(stdout);
  h = history_free(h);
  free(f);
  return is_good;
}

bool world_settle(struct world *w)
{
  if (w->is_settled)
    return !w->has_failed;
  w->is_settled = true;
  world_prepare(w);
  heal(w);
  if (!w->has_failed && (w->settle_flags & SETTLE_NO_PROGRESS) == 0)
    (void)world_progress(w);
  world_end_crew(w);
  world_end_inspectors(w);
  if (!w->has_failed)
    world_check_keys(w);
  w->stalls = stall_watch_stop(w->stalls);
  if (!world_judge(w))
    w->has_failed = true;
  return !w->has_failed;
}
