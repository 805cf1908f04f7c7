/* SPDX-License-Identifier: MIT */
/* Programs that look at locks, carry their tokens elsewhere, and break them. */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void revoke_all(trial *t, unsigned names, uint64_t token)
{
  for (int i = 0; i < NAMES; i++)
    if ((names >> i & 1) != 0)
      grips_revoke(t, i, token);
}

/* By its token from here on: nobody renews it, and its client does not know. */
static void detach(actor *a, grip *g, const char *token, action what)
{
  trial *t = a->trial;
  dibs_hold *hold = g->hold;
  unsigned names = g->names;
  uint64_t number = g->token;
  int64_t left = 0, begun;
  dibs_status status = dibs_hold_detach(hold);
  call *c;

  if (status == DIBS_LOST) {
    grip_free(t, g);
    return;
  }
  if (status != DIBS_OK) {
    flaw(t, "a hold cannot be detached: %s", dibs_status_name(status));
    return;
  }
  revoke_all(t, names, number);
  grip_free(t, g);
  actor_sleep(a, t->plan->hold_ms);
  begun = trial_now(t);
  if (chance(a, 50)) {
    c = call_begin(a, "token_renew", question_limit_ms(t));
    oracle_gone(t, names, number, begun, call_end(a, c, what,
                                           dibs_token_renew(a->life->client, token,
                                                            t->plan->ttl_ms[0], &left)));
  }
  if (chance(a, 30) && !t->is_ending)
    return;                             /* it runs out */
  begun = trial_now(t);
  c = call_begin(a, "token_release", question_limit_ms(t));
  oracle_gone(t, names, number, begun,
              call_end(a, c, what, dibs_token_release(a->life->client, token)));
}

/* L9: nothing was in its way. */
static void renewed(trial *t, const grip *g, int64_t begun, dibs_status status)
{
  if (t->plan->is_calm && !g->is_over && !g->is_reported && !g->is_revoked &&
      (status == DIBS_LOST || status == DIBS_EXPIRED || status == DIBS_TAKEN))
    flaw(t, "L9: a token of what is held answers %s", dibs_status_name(status));
  oracle_gone(t, g->names, g->token, begun, status);
}

static void use_token(actor *a, action what)
{
  trial *t = a->trial;
  wish w = wish_for(a, what, 1u << below(a, t->plan->names), 'x');
  char token[DIBS_TOKEN_SIZE];
  dibs_status status;
  grip *g = take(a, &w, &status);
  int64_t left = 0, begun;
  call *c;

  if (g == NULL)
    return;
  status = dibs_hold_token(g->hold, token, sizeof(token));
  if (status != DIBS_OK) {
    if (status != DIBS_ERR_STALE)       /* what was lost meanwhile has none */
      flaw(t, "a token answers %s", dibs_status_name(status));
    (void)give_back(a, g, what);
    return;
  }
  hold_for_a_while(a, g);
  if (what == ACT_DETACH) {
    detach(a, g, token, what);
    return;
  }
  begun = trial_now(t);
  if (chance(a, 50)) {
    c = call_begin(a, "token_renew", question_limit_ms(t));
    renewed(t, g, begun, call_end(a, c, what, dibs_token_renew(a->life->client, token,
                                                       t->plan->ttl_ms[1], &left)));
  } else {
    revoke_all(t, g->names, g->token);
    c = call_begin(a, "token_release", question_limit_ms(t));
    oracle_gone(t, g->names, g->token, begun,
                call_end(a, c, what, dibs_token_release(a->life->client, token)));
  }
  hold_for_a_while(a, g);
  (void)give_back(a, g, what);
}

/* `C:K:T` */
static uint64_t token_of(const char *words)
{
  const char *last = strrchr(words, ':');

  return last == NULL ? 0 : strtoull(last + 1, NULL, 10);
}

static lease *owner_lease(trial *t, int name, const char *words)
{
  char client[34];

  (void)snprintf(client, sizeof(client), "%.22s", words);
  return truth_lease_of(t, name, client, strtoull(words + 23, NULL, 10));
}

/* What was looked at is about to be broken: natively `C:K:T`, else an owner `C:K`. */
static void revoke_seen(trial *t, int name, const char *words)
{
  lease *l;

  if (!t->plan->is_redisson) {
    grips_revoke(t, name, token_of(words));
    return;
  }
  l = strlen(words) > 23 ? owner_lease(t, name, words) : NULL;
  if (l == NULL)
    return;
  l->is_broken = true;                  /* as an owner: a Java thread may have it anew by then */
  grips_revoke(t, name, l->token);
}

static int a_name(actor *a)
{
  const plan *p = a->trial->plan;

  if (p->weight[ACT_WRITE] + p->weight[ACT_READ] > 0 && chance(a, 30))
    return NAME_RW;
  if (p->weight[ACT_PERMITS] > 0 && chance(a, 30))
    return NAME_SEM;
  return (int)below(a, p->names);
}

static void look(actor *a, action what)
{
  trial *t = a->trial;
  int name = a_name(a);
  dibs_inspection *seen = NULL;
  call *c = call_begin(a, "inspect", question_limit_ms(t));
  dibs_status status = dibs_inspect(a->life->client, dibs_text(name_texts[name]), &seen);

  if (call_end(a, c, what, status) != DIBS_OK)
    return;
  if (what == ACT_BREAK && seen->is_held) {
    revoke_seen(t, name, seen->lease);
    c = call_begin(a, "break", question_limit_ms(t));
    (void)call_end(a, c, what,
                   dibs_break(a->life->client, dibs_text(name_texts[name]), seen->lease));
  }
  seen = dibs_inspection_free(seen);
}

void act_revoke(actor *a, action what)
{
  if (what == ACT_DETACH || what == ACT_TOKEN)
    use_token(a, what);
  else
    look(a, what);
}
