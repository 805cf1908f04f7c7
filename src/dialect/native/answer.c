/* SPDX-License-Identifier: MIT */
/* dialect/native/answer.c - the answers of the native scripts, as the heads of
 * lua/native/<verb>.lua define them; anything else is refused. */
#include "dialect/native.h"

#include <dibs/client.h>
#include <string.h>

#include "dialect/children.h"
#include "dialect/internal.h"

/* ---- acquire ---- */

static bool read_granted(const protocol *n, uint64_t ask, const resp_reply *r, acquire_answer *a)
{
  uint64_t token;

  a->renewals = 0;
  return has_children(r, 4) && child_int(r, 2, &a->remaining_ms) &&
         child_int(r, 2, &a->lease_ms) && child_count(r, 3, &token) &&
         own_lease(n, ask, token, &a->lease);
}

static bool read_again(const protocol *n, uint64_t ask, const resp_reply *r, acquire_answer *a)
{
  uint64_t token;

  return has_children(r, 6) && child_int(r, 2, &a->remaining_ms) &&
         child_int(r, 3, &a->lease_ms) && child_count(r, 4, &token) &&
         child_count(r, 5, &a->renewals) && own_lease(n, ask, token, &a->lease);
}

static bool read_taken(const resp_reply *r, acquire_answer *a)
{
  uint64_t last;

  if (!has_children(r, 7) || !child_int(r, 2, &a->remaining_ms) ||
      !child_int(r, 3, &a->lease_ms) || !child_lease(r, 4, &a->lease) ||
      !child_count(r, 5, &a->renewals) || !child_count(r, 6, &last))
    return false;
  if (a->outcome == ACQUIRE_WAITING)
    a->rank = last;
  else
    a->holder_lingers = last != 0;
  return true;
}

/* The short form: the token alone, a number or its digits. */
static bool read_short(const resp_node *root, uint64_t *ret_token)
{
  if (root->kind != RESP_INTEGER)
    return root->kind == RESP_STRING && uint_read(root->bytes, root->size, ret_token);
  *ret_token = (uint64_t)root->integer;
  return root->integer > 0;
}

/* Granted at the server's time, which is the token. */
static bool read_granted_now(const protocol *n, uint64_t ask, int64_t ttl_ms, uint64_t token,
                             acquire_answer *ret)
{
  acquire_answer a = { .outcome = ACQUIRE_GRANTED, .remaining_ms = ttl_ms, .lease_ms = ttl_ms,
                       .is_short = true };

  if (!own_lease(n, ask, token, &a.lease))
    return false;
  a.server_us = (int64_t)token;
  *ret = a;
  return true;
}

bool native_acquire_answer(const protocol *n, uint64_t ask, int64_t ttl_ms,
                           const resp_reply *r, acquire_answer *ret)
{
  acquire_answer a = { .rank = 0 };
  const resp_node *root = resp_root(r);
  uint64_t token;
  int64_t outcome;
  bool is_good;

  if (read_short(root, &token))
    return read_granted_now(n, ask, ttl_ms, token, ret);
  if (!child_int(r, 0, &outcome) || !child_int(r, 1, &a.server_us) || !is_time(a.server_us))
    return false;
  if (outcome < ACQUIRE_GRANTED || outcome > ACQUIRE_LATE)
    return false;
  a.outcome = (acquire_outcome)outcome;
  switch (a.outcome) {
  case ACQUIRE_GRANTED:
    is_good = read_granted(n, ask, r, &a) && is_remaining(a.remaining_ms, ttl_ms);
    break;
  case ACQUIRE_AGAIN:
    is_good = read_again(n, ask, r, &a) && is_remaining(a.remaining_ms, a.lease_ms);
    break;
  case ACQUIRE_WAITING:
  case ACQUIRE_BUSY:
    is_good = read_taken(r, &a) && is_remaining(a.remaining_ms, a.lease_ms);
    break;
  default:
    is_good = has_children(r, 2);
    break;
  }
  if (is_good)
    *ret = a;
  return is_good;
}

/* ---- release, cancel ---- */

#define RELEASE_DONE_HAS_IFEQ 5

bool native_release_answer(const resp_reply *r, release_answer *ret)
{
  const resp_node *root = resp_root(r);
  release_answer a = { .outcome = RELEASE_TAKEN };
  int64_t outcome, heard;

  if (root->kind == RESP_INTEGER &&
      (root->integer == RELEASE_DONE || root->integer == RELEASE_GONE ||
       root->integer == RELEASE_UNTAKEN)) {
    a.outcome = (release_outcome)root->integer;
  } else if (root->kind == RESP_INTEGER && root->integer == RELEASE_DONE_HAS_IFEQ) {
    a.outcome = RELEASE_DONE;
    a.has_ifeq = true;
  } else if (!has_children(r, 2) || !child_int(r, 0, &outcome)) {
    return false;
  } else if (outcome == RELEASE_DONE && child_int(r, 1, &heard) && heard > 0) {
    a.outcome = RELEASE_DONE;
    a.heard = (uint64_t)heard;
  } else if (outcome != RELEASE_TAKEN || !child_lease(r, 1, &a.taker)) {
    return false;
  }
  *ret = a;
  return true;
}

bool native_release_ifeq_answer(const resp_reply *r, bool *ret_is_done)
{
  const resp_node *root = resp_root(r);
  bool is_done = root->kind == RESP_STATUS && root->size == 2 &&
                 memcmp(root->bytes, "OK", 2) == 0;

  if (!is_done && root->kind != RESP_NIL)
    return false;
  *ret_is_done = is_done;
  return true;
}

bool native_cancel_answer(const resp_reply *r)
{
  const resp_node *root = resp_root(r);

  return root->kind == RESP_INTEGER && (root->integer == 0 || root->integer == 1);
}

/* ---- renew ---- */

bool native_renew_answer(const resp_reply *r, size_t i, renew_answer *ret)
{
  renew_answer a = { .is_ours = true };
  int64_t waiters;

  if (!child_int(r, 1 + 2 * i, &waiters) || !child_int(r, 2 + 2 * i, &a.remaining_ms) ||
      waiters < -1 || !is_remaining(a.remaining_ms, DIBS_MS_MAX))
    return false;
  if (waiters < 0)
    a = (renew_answer){ .is_ours = false,
                        .gone = a.remaining_ms == RELEASE_TAKEN     ? RELEASE_TAKEN
                                : a.remaining_ms == RELEASE_UNTAKEN ? RELEASE_UNTAKEN
                                                                    : RELEASE_GONE };
  else
    a.waiters = (uint64_t)waiters;
  *ret = a;
  return true;
}

renew_answer renew_answer_of_set(void)
{
  return (renew_answer){ .is_ours = true, .gone = RELEASE_UNTAKEN, .remaining_ms = INT64_MAX };
}

void renew_answer_add(renew_answer *set, const renew_answer *member)
{
  set->is_ours &= member->is_ours;
  set->waiters += member->waiters;
  if (member->remaining_ms < set->remaining_ms)
    set->remaining_ms = member->remaining_ms;
  if (!member->is_ours && set->gone != RELEASE_TAKEN && member->gone != RELEASE_UNTAKEN)
    set->gone = member->gone;
}

bool native_renew_server_us(const resp_reply *r, int64_t *ret_server_us)
{
  return child_int(r, 0, ret_server_us) && is_time(*ret_server_us);
}
