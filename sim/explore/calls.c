/* SPDX-License-Identifier: MIT */
/* Calls: what programs use instead of dibs_lock() and its kin. Each is timed (L7) and what
 * came of it is written down. */
#include "explore.h"

#include <string.h>

#define SLACK_MS 50
#define COMMAND_TIMEOUT_MS 2000
#define CONNECT_TIMEOUT_MS 5000

bool chance(actor *a, unsigned percent) { return random_below(&a->random, 100) < percent; }

int64_t below(actor *a, int64_t limit)
{
  return limit <= 0 ? 0 : (int64_t)random_below(&a->random, (uint64_t)limit);
}

void actor_sleep(actor *a, int64_t most_ms)
{
  if (most_ms > 20 && a->trial->is_ending)
    most_ms = 20;
  dibs_sim_sleep_us(draw_log(&a->random, 1, most_ms * 1000));
}

int32_t command_ms(const trial *t)
{
  return t->plan->command_timeout_ms != 0 ? t->plan->command_timeout_ms : COMMAND_TIMEOUT_MS;
}

int64_t question_limit_ms(const trial *t)
{
  int32_t connect = t->plan->connect_timeout_ms;

  return command_ms(t) + (connect != 0 ? connect : CONNECT_TIMEOUT_MS);
}

/* ---- any call ---- */

call *call_begin(actor *a, const char *what, int64_t limit_ms)
{
  trial *t = a->trial;

  for (int i = 0; i < CALLS_MAX; i++) {
    call *c = &t->calls[i];

    if (c->is_open)
      continue;
    *c = (call){ .is_open = true, .life = a->life->number, .what = what,
                 .begun_at = trial_now(t), .due_at = INT64_MAX };
    /* Its clock may run slower than true time by a hundredth. */
    if (limit_ms >= 0)
      c->due_at = c->begun_at + limit_ms * 1011 + SLACK_MS * 1000;
    if (c->due_at < t->next_due)
      t->next_due = c->due_at;
    return c;
  }
  flaw(t, "explorer: too many calls at once");
  return NULL;
}

dibs_status call_end(actor *a, call *c, action what, dibs_status status)
{
  trial *t = a->trial;

  dibs_sim_note("%s answers %s", c == NULL ? "?" : c->what, dibs_status_name(status));
  if (c != NULL)
    c->is_open = false;
  for (int i = 0; i < NAMES && c != NULL; i++)
    if ((c->names >> i & 1) != 0)
      t->lives[c->life].wanted_at[i] = trial_now(t);
  if (status > -21 && status < STATUSES - 20)
    covered.outcomes[what][status + 20]++;
  if (status == DIBS_ERR_PROTOCOL || status == DIBS_ERR_SYSTEM ||
      status == DIBS_ERR_NO_MEMORY || status == DIBS_ERR_FORKED ||
      status == DIBS_ERR_WOULD_BLOCK || status == DIBS_ERR_UNSUPPORTED)
    flaw(t, "%s answers %s", action_name(what), dibs_status_name(status));
  return status;
}

/* ---- taking ---- */

static void lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  trial *t = NULL;
  grip *g = NULL;

  (void)hold;
  (void)loss;
  t = trial_current();
  if (t == NULL || (g = grip_find(t, data)) == NULL)
    return;
  if (g->is_reported)
    flaw(t, "S8: the loss of fence %llu is told twice", (unsigned long long)g->fence);
  g->is_reported = true;
  logged_lost(&g->logged, history_now(t));
  t->losses++;
  cover(POINT_LOST_TOLD);
}

static void granted(actor *a, grip *g, dibs_hold *hold)
{
  dibs_hold_info info = DIBS_HOLD_INFO_INIT;

  g->hold = hold;
  g->fence = dibs_hold_fence(hold);
  g->token = g->fence / 1024;
  (void)dibs_hold_get_info(hold, &info);
  g->units = info.units;
  g->taken_at = trial_now(a->trial);
  if (a->trial->plan->is_redisson)
    redisson_granted(a->trial, g);
}

static void granted_async(const dibs_error *error, dibs_hold *hold, void *data)
{
  trial *t = trial_current();
  grip *g = t == NULL ? NULL : grip_find(t, data);
  actor reported = { .trial = t };

  if (g == NULL)
    return;
  g->is_done = true;
  g->status = error->status;
  if (error->status == DIBS_OK)
    granted(&reported, g, hold);
}

/* A set of one name, too: given twice it counts once. */
static size_t names_of(const wish *w, dibs_bytes ret_names[MUTEXES])
{
  size_t count = 0;

  for (int i = 0; i < MUTEXES; i++)
    if ((w->names >> i & 1) != 0)
      ret_names[count++] = dibs_text(name_texts[i]);
  if (count == 1)
    ret_names[count++] = ret_names[0];
  return count;
}

static dibs_bytes name_of(const wish *w)
{
  int i = 0;

  while (i < NAMES - 1 && (w->names >> i & 1) == 0)
    i++;
  return dibs_text(name_texts[i]);
}

/* `names` has room for MUTEXES. */
static dibs_target target_of(const wish *w, dibs_bytes *names)
{
  dibs_target t = { .size = sizeof(t), .kind = DIBS_TARGET_LOCK, .names = names, .name_count = 1 };

  names[0] = name_of(w);
  if (w->mode == 'r') {
    t.kind = DIBS_TARGET_READ;
  } else if (w->mode == 'w') {
    t.kind = DIBS_TARGET_WRITE;
  } else if (w->mode == 'p') {
    t.kind = DIBS_TARGET_PERMITS;
    t.units = w->units == 0 ? DIBS_UNITS_ALL_FREE : w->units;
    t.limit = w->limit;
  } else if (w->is_set) {
    t.name_count = names_of(w, names);
  } else if (w->is_election) {
    t.kind = DIBS_TARGET_LEAD;
    t.value = dibs_text("leader");
  }
  return t;
}

static dibs_status ask_async(actor *a, const wish *w, grip *g)
{
  dibs_client *client = a->life->client;
  void *key = grip_key(a->trial, g);
  dibs_bytes names[MUTEXES];
  dibs_target target = target_of(w, names);
  dibs_request *request = NULL;
  dibs_status status;
  int64_t patience = chance(a, 30) ? below(a, a->trial->plan->wait_ms * 1000) : -1;
  int64_t begun = trial_now(a->trial);

  status = dibs_acquire_async(client, &target, &w->options, granted_async, key, &request);
  if (status != DIBS_OK)
    return status;
  while (!g->is_done) {
    dibs_sim_sleep_us(1 + below(a, 4000));
    if (patience >= 0 && trial_now(a->trial) - begun > patience) {
      (void)dibs_request_cancel(request);
      patience = -1;
    }
  }
  return g->status;
}

static dibs_status ask_now(actor *a, const wish *w, dibs_hold **ret_hold)
{
  dibs_lock_options o = w->options;
  dibs_bytes names[MUTEXES];
  dibs_target target = target_of(w, names);

  if (w->is_try)
    o.wait_ms = 0;
  return dibs_acquire(a->life->client, &target, &o, ret_hold);
}

static int64_t limit_of(const trial *t, const wish *w)
{
  int64_t more = w->is_election ? command_ms(t) : 0;

  if (w->is_async)
    return -1;
  if (w->is_try || w->units == 0)
    return question_limit_ms(t) + more;
  return w->options.wait_ms != DIBS_FOREVER ? w->options.wait_ms + more : -1;
}

/* It may have a lease that another ask of its client was granted, which may be longer; and in
 * Redisson's format any length, once the server's clock was set back. What is fixed is renewed
 * once when it was granted by message: its end is look_at_belief()'s. */
static struct logged logged_of(const actor *a, const wish *w)
{
  const plan *p = a->trial->plan;
  int32_t longest = p->ttl_ms[p->ttl_ms[1] > p->ttl_ms[0]];
  bool is_any = p->is_redisson && p->steps;
  uint8_t mode = w->mode == 'r' ? HOLD_READ : w->mode == 'w' ? HOLD_WRITE
               : w->mode == 'p' ? HOLD_PERMITS : HOLD_EXCLUSIVE;

  return (struct logged){ .log = &a->trial->log, .worker = (uint16_t)a->life->slot,
                          .life = (uint16_t)a->life->number, .thread = (uint16_t)a->thread,
                          .locks = w->names, .units = w->units, .mode = mode,
                          .ttl_ms = is_any ? INT32_MAX : longest,
                          .flags = w->is_inner ? FLAG_NESTED : 0 };
}

grip *take(actor *a, const wish *w, dibs_status *ret_status)
{
  trial *t = a->trial;
  grip *g = grip_new(t);
  wish asked = *w;
  dibs_hold *hold = NULL;
  int64_t begun = trial_now(t);
  dibs_status status;
  call *c;

  if (w->limit != 0)
    t->limits_named |= 1u << w->limit;
  if (g == NULL) {
    *ret_status = DIBS_ERR_NO_MEMORY;
    return NULL;
  }
  g->life = a->life->number;
  g->thread = a->thread;
  g->owner = a->owner;
  g->names = w->names;
  g->mode = w->mode;
  g->ttl_ms = w->options.ttl_ms;
  g->is_fixed = (w->options.flags & DIBS_LOCK_FIXED) != 0;
  g->has_callback = true;
  asked.options.flags |= redisson_kind_flag(t->plan, w->names);
  asked.options.owner = &a->owner;
  asked.options.owner_size = sizeof(a->owner);
  asked.options.on_lost = lost;
  asked.options.on_lost_data = grip_key(t, g);
  g->logged = logged_of(a, w);
  logged_ask(&g->logged, history_now(t), OP_LOCK);
  c = call_begin(a, action_name(w->action), limit_of(t, w));
  if (c != NULL) {
    c->names = w->names;
    c->is_try = w->is_try;
  }
  if (w->is_async)
    status = ask_async(a, &asked, g);
  else
    status = ask_now(a, &asked, &hold);
  *ret_status = call_end(a, c, w->action, status);
  if (w->limit != 0)
    oracle_limited(t, w->limit, w->units, begun, status);
  if (status != DIBS_OK) {
    logged_failed(&g->logged, history_now(t), status);
    grip_free(t, g);
    return NULL;
  }
  if (!w->is_async)
    granted(a, g, hold);
  if (g->is_fixed)
    g->limit_at = g->taken_at + (int64_t)g->ttl_ms * 1011 + 1000;
  oracle_granted(t, g);
  return g;
}

/* ---- giving back ---- */

static bool is_plainly_held(const trial *t, const grip *g)
{
  return t->plan->is_calm && g->token != 0 && !g->is_over && !g->is_reported && !g->is_revoked &&
         !g->is_orphan && !g->is_fixed && g->limit_at == INT64_MAX;
}

/* Somebody may break it while the release is on its way. */
static bool were_revoked(lease *const leases[NAMES], uint64_t token)
{
  for (int i = 0; i < NAMES; i++)
    if (leases[i] != NULL && leases[i]->token == token && leases[i]->is_revoked)
      return true;
  return false;
}

dibs_status give_back(actor *a, grip *g, action what)
{
  trial *t = a->trial;
  dibs_hold *hold = g->hold;
  bool is_sure = is_plainly_held(t, g);
  bool was_reported = g->is_reported;
  unsigned names = g->names;
  lease *leases[NAMES];
  uint64_t token = g->token;
  int64_t begun = trial_now(t);
  dibs_status status;
  call *c;

  memcpy(leases, g->lease, sizeof(leases));
  c = call_begin(a, "release", command_ms(t));
  if (c != NULL)
    c->names = g->names;
  grip_free(t, g);                      /* nobody believes in it from here on */
  status = call_end(a, c, what, dibs_release(hold));
  if (status == DIBS_OK)
    t->cycles++;
  else
    cover(POINT_RELEASED_LATE);
  oracle_gone(t, names, token, begun, status);
  if (is_sure && status != DIBS_OK && !were_revoked(leases, token))
    flaw(t, "L9: a release in a calm world answers %s", dibs_status_name(status));
  if (was_reported && status == DIBS_OK)
    flaw(t, "S7: what was told lost is released well");
  if (status < 0 && status != DIBS_ERR_CLOSED)
    flaw(t, "a release answers %s", dibs_status_name(status));
  return status;
}
