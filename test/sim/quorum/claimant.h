/* SPDX-License-Identifier: MIT */
/* test/sim/quorum/claimant.h - claims on the name x at a site, and what each was told. */
#ifndef QUORUM_CLAIMANT_H
#define QUORUM_CLAIMANT_H

#include "site.h"

#define TTL SPAN_MS(3000)

/* What a claim was told; its context. */
typedef struct told {
  uint64_t id;
  unsigned granted, renewed, suspect, warned, lost, failed, released;
  lock_event last;
  char words[160];
  instant at, valid_until;       /* of the last event */
  uint64_t fence;
} told;

site *site_with_quarantine(size_t servers, size_t clients, span quarantine);
site *site_of(size_t servers, size_t clients);
void over(site *s);
lock_spec wish_for(told *t);
void claim_as(site *s, size_t client, told *t, const lock_spec *w);
void claim_by(site *s, size_t client, told *t, bool is_try);
void release_by(site *s, size_t client, told *t);
/* Until it was told something that `count` counts; fails after `most`. */
span await(site *s, const unsigned *count, span most);
void hold(site *s, size_t client, told *t);
size_t held_at(site *s);
size_t with_token(site *s, uint64_t token);

#endif
