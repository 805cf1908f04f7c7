/* SPDX-License-Identifier: MIT */
/* The oracle of beliefs: what programs believe, held against what the server has, after each
 * event. Beliefs against each other are judged by test/oracle, in the history of them all.
 * doc/design/invariants.md tells what the numbers mean.
 *
 * What is not promised (protocol.md 8) is accounted for by each grant, not by whole worlds:
 * a grant that the server lost with its data (`is_orphan`), or that others ended
 * (`is_revoked`), may be believed beside others until it is told, but never for longer than
 * the last end that the server ever had for it. */
#include "explore.h"

#include "base/fence.h"

#include <string.h>

#include "world/world.h"

#define ROUNDING_US 1001
#define TELLING_US 3000         /* a preempted callback thread is told this much later */

/* ---- what time it is for a belief ---- */

static int64_t true_span(const trial *t, const grip *g, int64_t local_us)
{
  int32_t ppm = t->plan->ppm[t->lives[g->life].slot];

  return local_us - local_us * ppm / (1000000 + ppm);
}

static int64_t valid_us(const trial *t, const grip *g)
{
  return dibs_sim_valid_us(t->sim, t->lives[g->life].process, g->hold);
}

static bool is_excused(const grip *g) { return g->is_orphan || g->is_revoked; }

static bool is_paused(const trial *t, const grip *g)
{
  const process *p = process_find(t->sim, t->lives[g->life].process);

  return p != NULL && p->paused_until != 0;
}

static const char *name_at(const grip *g)
{
  for (int i = 0; i < NAMES; i++)
    if ((g->names >> i & 1) != 0)
      return name_texts[i];
  return "?";
}

/* How long its process was stopped since `from`. */
static int64_t stopped_us(const trial *t, int number, int64_t from)
{
  const life *l = &t->lives[number];
  int64_t total = 0, now = trial_now(t);

  for (size_t i = 0; i < t->injected; i++) {
    const dibs_sim_fault *f = &t->plan->faults[i];
    int64_t begun = f->at_us < from ? from : f->at_us;
    int64_t ended = f->at_us + f->ms * 1000 > now ? now : f->at_us + f->ms * 1000;

    if (f->kind == DIBS_SIM_PAUSE && (f->process == 0 || f->process == l->slot) &&
        ended > begun)
      total += ended - begun;
  }
  return total;
}

/* ---- which lease a grant is by ---- */

/* What became of the lease before its grant was reported. */
static void find_leases(trial *t, grip *g)
{
  for (int i = 0; i < NAMES; i++) {
    lease *l;

    if ((g->names >> i & 1) == 0)
      continue;
    l = g->lease[i] = t->plan->is_redisson ? redisson_lease(t, i, g)
                                           : truth_lease(t, i, g->token);
    if (l == NULL && valid_us(t, g) == 0 &&
        (t->plan->is_redisson || truth_has_forgotten(t, i, g->token))) {
      g->is_orphan = true;               /* it is over, and its lease is forgotten */
      continue;
    }
    if (l == NULL) {
      flaw(t, "I4: %d was granted %s by a token that the server never gave (fence %llu)",
           g->life, name_texts[i], (unsigned long long)g->fence);
      continue;
    }
    l->life = g->life;
    g->token = l->token;
    memcpy(t->lives[g->life].client_id, l->client, sizeof(t->lives[0].client_id) - 1);
    g->is_orphan = g->is_orphan || l->was_lost || l->cut_us > 0;
    g->is_revoked = g->is_revoked || l->is_revoked;
    if (g->mode == 'p' && g->units != l->units && l->gone_at == 0)
      flaw(t, "S1': %u permits by the server's %llu", g->units, (unsigned long long)l->units);
  }
}

/* ---- a grant ---- */

/* In nanoseconds, and rounded down: what the history says was believed, was. */
static int64_t believed_ns(const trial *t, const grip *g, int64_t left)
{
  return left <= 0 ? 0 : history_now(t) + true_span(t, g, left) * 1000 - 3 * ROUNDING_US;
}

/* 0: it is no promise, or was judged with the outer hold. A lease that the server lost, or that
 * others broke, may be handed on in its process until the next renewal: such a fence is below
 * those that the server has granted since. */
static uint64_t fence_of(const trial *t, const grip *g)
{
  bool is_local = token_of_fence(g->fence) * FENCES_PER_TOKEN != g->fence;

  if ((g->logged.flags & FLAG_NESTED) != 0 ||
      (is_excused(g) && (is_local || !format_of(t->plan)->reports_holders)))
    return 0;
  for (int i = 0; i < NAMES; i++)
    if ((g->names >> i & 1) != 0 && t->is_fence_weak[i])
      return 0;
  return g->fence;
}

/* Which leases it is by; and it goes into the history. A grant by callback is looked at before
 * its actor does. Returns for how long it is believed. */
static int64_t judge_grant(trial *t, grip *g)
{
  int64_t left = valid_us(t, g);

  find_leases(t, g);
  if (g->logged.is_granted || t->flaw[0] != 0)
    return left;
  g->logged.units = g->units;
  if (is_excused(g))
    logged_excused(&g->logged, history_now(t));
  logged_granted(&g->logged, history_now(t), fence_of(t, g), believed_ns(t, g, left));
  return left;
}

void oracle_granted(trial *t, grip *g)
{
  int64_t left;

  if (t->flaw[0] != 0)
    return;
  left = judge_grant(t, g);
  if (t->flaw[0] != 0)
    return;
  t->grants++;
  if (g->fence % 1024 != 0 && g->fence / 1024 != 0)
    cover(POINT_GRANT_LOCAL);
  if ((g->names & (g->names - 1)) != 0)
    cover(POINT_SET_HELD);
  g->end_at = trial_now(t) + true_span(t, g, left);
}

/* The number that an ask names is set if there is none, and must be the semaphore's when the ask
 * comes: decided where that number stayed the same for the whole call. */
void oracle_limited(trial *t, uint32_t limit, uint32_t units, int64_t begun,
                    dibs_status status)
{
  const truth *x = &t->truths[NAME_SEM];

  if (status == DIBS_ERR_NOT_SET)
    flaw(t, "an ask for permits of %u answers that no number is set", limit);
  if (x->limit_since > begun)
    return;
  if ((x->limit == limit || x->limit == 0) && units <= limit && status == DIBS_ERR_ARGUMENT)
    flaw(t, "an ask for permits of %u is refused, and their number is %llu", limit,
         (unsigned long long)x->limit);
  if (x->limit != limit && status == DIBS_OK)
    flaw(t, "an ask for permits of %u is granted, and their number is %llu", limit,
         (unsigned long long)x->limit);
  if (x->limit != limit && status == DIBS_ERR_ARGUMENT && units <= x->limit)
    cover(POINT_LIMIT_REFUSED);
  if (x->limit == limit && status == DIBS_OK)
    cover(POINT_LIMIT_GRANTED);
}

/* ---- what became of a lease ---- */

/* S13. DIBS_EXPIRED promises that no other client had the name before the server answered. */
void oracle_gone(trial *t, unsigned names, uint64_t token, int64_t begun, dibs_status status)
{
  if (status != DIBS_EXPIRED || token == 0 || t->has_lost)
    return;
  cover(POINT_EXPIRED);
  for (int i = 0; i < NAMES; i++) {
    const lease *l = (names >> i & 1) != 0 ? truth_lease_after(t, i, token, begun) : NULL;

    if (l != NULL)
      flaw(t, "S13: a lease of %s is DIBS_EXPIRED by token %llu, and the server granted %llu",
           name_texts[i], (unsigned long long)token, (unsigned long long)l->token);
  }
}

/* ---- I2, I12, S7, S9: one belief, at every moment ---- */

/* A grant that is gone from the server for another reason than lost data is believed
 * nowhere; and no belief outlasts what the server ever granted. */
static void check_lease(trial *t, grip *g, int name)
{
  lease *l = g->lease[name];
  int64_t last;

  if (l == NULL || l->token != g->token)
    return;                            /* forgotten long ago: judged when it went */
  g->is_revoked = g->is_revoked || l->is_revoked;
  g->is_orphan = g->is_orphan || l->was_lost || l->cut_us > 0;
  if (l->gone_at != 0 && !is_excused(g))
    flaw(t, "I2: %d believes %s for %lld us more, and the server has it no more (fence %llu)",
         g->life, name_texts[name], (long long)(g->end_at - trial_now(t)),
         (unsigned long long)g->fence);
  /* Nobody set a clock: the very end that the server has. Else: its length from when it was
   * last seen there. */
  last = l->end_max;
  if (t->has_stepped)
    last = (l->gone_at != 0 ? l->gone_at : trial_now(t)) + l->length_ms * 1000;
  if (t->has_stepped && !format_of(t->plan)->survives_steps) {
    last = trial_now(t) + l->deadline_us - host_wall_us(world_host(t->sim));
    if (l->cut_us > 0 || l->gone_at != 0)
      return;                            /* an orphan, or I2 has said so */
  }
  if (g->end_at > last + ROUNDING_US)
    flaw(t, "I12: %d believes %s for %lld us longer than the server (fence %llu)", g->life,
         name_texts[name], (long long)(g->end_at - last), (unsigned long long)g->fence);
}

static void look_at_belief(trial *t, grip *g, int64_t left)
{
  int64_t end = trial_now(t) + true_span(t, g, left);

  logged_valid(&g->logged, history_now(t), believed_ns(t, g, left));
  if (is_excused(g))
    logged_excused(&g->logged, history_now(t));
  if (end > g->end_at + ROUNDING_US) {
    cover(POINT_BELIEF_RENEWED);
    g->end_at = end;
  }
  if (end > g->limit_at)
    flaw(t, "%d believes %s for longer than it asked for", g->life, name_at(g));
  for (int i = 0; i < NAMES; i++)
    if ((g->names >> i & 1) != 0)
      check_lease(t, g, i);
}

static void look_at_end(trial *t, grip *g)
{
  if (!g->is_over) {
    g->is_over = true;
    logged_valid(&g->logged, history_now(t), 0);
    /* `end_at` may lie ahead: what is told lost ends at once. */
    if (g->end_at > trial_now(t))
      g->end_at = trial_now(t);
    cover(g->is_orphan ? POINT_LOST_ORPHAN : g->is_revoked ? POINT_LOST_REVOKED
                                                           : POINT_LOST_BY_TIME);
    /* Without a token it was over before its program was told of it. */
    if (!is_excused(g) && g->token != 0 && !g->is_fixed && g->limit_at == INT64_MAX &&
        oracle_is_mild(t, g))
      flaw(t, "L9: %d lost %s, and nothing was in its way", g->life, name_at(g));
  }
  if (g->is_reported || !g->has_callback)
    return;
  if (is_paused(t, g) || stopped_us(t, g->life, g->end_at) > 0) {
    g->end_at = trial_now(t);          /* it is told as soon as it goes on */
    return;
  }
  if (trial_now(t) > g->end_at + TELLING_US)
    flaw(t, "S7: the loss of %s by %d is not told %lld us after its end", name_at(g), g->life,
         (long long)(trial_now(t) - g->end_at));
}

static void look_at_grips(trial *t)
{
  for (size_t i = 0; i < t->grip_top; i++) {
    grip *g = &t->grips[i];
    int64_t left;

    if (!g->is_used || g->hold == NULL)
      continue;
    left = g->token != 0 && !g->logged.is_granted ? judge_grant(t, g) : valid_us(t, g);
    if (left <= 0 && g->is_over && g->is_reported)
      continue;
    if (left > 0)
      look_at_belief(t, g, left);
    else
      look_at_end(t, g);
  }
}

/* ---- processes that were killed ---- */

static void look_at_lives(trial *t)
{
  for (int place = 1; place <= t->plan->processes; place++) {
    life *l = &t->lives[t->slot_life[place]];

    if (l->is_over || !dibs_sim_has_ended(t->sim, l->process))
      continue;
    l->is_over = true;
    l->over_at = trial_now(t);
    history_log_death(&t->log, history_now(t), (uint16_t)place, (uint16_t)l->number);
    grips_drop_life(t, l->number);
    for (int i = 0; i < CALLS_MAX; i++)
      if (t->calls[i].is_open && t->calls[i].life == l->number) {
        t->calls[i].is_open = false;
        cover(POINT_KILLED_WAITER);
      }
  }
}

/* ---- L7 ---- */

static void look_at_calls(trial *t)
{
  int64_t now = trial_now(t);

  if (now <= t->next_due)
    return;
  t->next_due = INT64_MAX;
  for (int i = 0; i < CALLS_MAX; i++) {
    call *c = &t->calls[i];

    if (!c->is_open || c->due_at == INT64_MAX)
      continue;
    if (now > c->due_at + stopped_us(t, c->life, c->begun_at))
      flaw(t, "L7: %s of %d has not returned after %lld ms", c->what, c->life,
           (long long)(now - c->begun_at) / 1000);
    else if (c->due_at < now && now + 1000 < t->next_due)
      t->next_due = now + 1000;
    else if (c->due_at >= now && c->due_at < t->next_due)
      t->next_due = c->due_at;
  }
}

void oracle_look(dibs_sim *sim, void *data)
{
  trial *t = data;

  (void)sim;
  if (t->flaw[0] != 0)
    return;
  trial_note_faults(t);
  look_at_lives(t);
  truth_read(t);
  t->looks++;
  look_at_grips(t);
  look_at_calls(t);
  oracle_nobody(t);
  if (!format_of(t->plan)->hands_over)
    oracle_nobody_waits_long(t);
}

/* C12 is look_at_calls(): there are more calls than asks, and one that hangs writes nothing.
 * C5 is the server's: its limit changes, and what it counts is seen after each script. */
void oracle_history(trial *t)
{
  struct findings f;
  struct history *h = history_judge(&t->log, name_texts, "mmmrp", UINT32_MAX,
                                    !t->plan->is_redisson, &f);

  if (t->traces)
    findings_print(&f, h, "# ");
  for (enum check check = CHECK_EXCLUSION; check <= CHECK_LAST; check++) {
    const struct finding *one = findings_first(&f, check);

    if (one != NULL)
      flaw_at(t, finding_at_ns(one, h) / 1000, "%s: %s", check_promise(check), one->text);
  }
  h = history_free(h);
}
