/* SPDX-License-Identifier: MIT */
/* cli/show.c - what the server knows of a name, as text. */
#include "cli/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "cli/durations.h"
#include "cli/message.h"

/* ---- holders ---- */

size_t show_holder_count(const dibs_inspection *i)
{
  return i->shown_holders;
}

const dibs_holder *show_holder_at(const dibs_inspection *i, size_t place)
{
  return place < i->shown_holders ? i->holders[place] : NULL;
}

bool show_is_held(const dibs_inspection *i)
{
  return i->is_held;
}

const char *show_kind(dibs_kind kind)
{
  switch (kind) {
  case DIBS_KIND_RWLOCK:
    return "rw";
  case DIBS_KIND_SEMAPHORE:
    return "semaphore";
  case DIBS_KIND_MUTEX:
  default:
    return "lock";
  }
}

void show_state(const dibs_inspection *i, char *ret_text, size_t size)
{
  const dibs_holder *first = show_holder_at(i, 0);
  char left[DURATION_SIZE];

  duration_as_span(i->quarantine_ms, left);
  if (i->kind == DIBS_KIND_SEMAPHORE)
    snprintf(ret_text, size, "%u/%u used", i->used, i->limit);
  else if (first == NULL && i->quarantine_ms > 0)
    snprintf(ret_text, size, "quarantine %s", left);
  else if (first == NULL)
    snprintf(ret_text, size, "free");
  else if (i->kind == DIBS_KIND_MUTEX)
    snprintf(ret_text, size, "held");
  else if (first->party->mode != DIBS_MODE_READ)
    snprintf(ret_text, size, "written");
  else
    snprintf(ret_text, size, "read x%zu", show_holder_count(i));
}

/* ---- text ---- */

void show_party(const dibs_party *party, char *ret_text, size_t size)
{
  char host[80], program[80];

  printable(party->host, host, sizeof(host));
  printable(party->program, program, sizeof(program));
  if (host[0] == '\0')
    snprintf(ret_text, size, "unnamed client %s", party->client);
  else if (program[0] == '\0')
    snprintf(ret_text, size, "%s (pid %" PRId64 ")", host, party->pid);
  else
    snprintf(ret_text, size, "%s (pid %" PRId64 " \"%s\")", host, party->pid, program);
}

void show_party_short(const dibs_party *party, char *ret_text, size_t size)
{
  char host[80], program[80];

  printable(party->host, host, sizeof(host));
  printable(party->program, program, sizeof(program));
  if (host[0] == '\0')
    snprintf(ret_text, size, "%s", party->client);
  else
    snprintf(ret_text, size, "%s:%" PRId64 "%s%s", host, party->pid,
             program[0] == '\0' ? "" : " ", program);
}

/* One in full, of several the first three in short. */
static void holder_names(const dibs_inspection *i, char *text, size_t size)
{
  size_t count = show_holder_count(i), used = 0;

  if (count == 1) {
    show_party(show_holder_at(i, 0)->party, text, size);
    return;
  }
  text[0] = '\0';
  for (size_t n = 0; n < count && n < 3 && used < size; n++) {
    char party[200];

    show_party_short(show_holder_at(i, n)->party, party, sizeof(party));
    used += (size_t)snprintf(text + used, size - used, "%s%s", n == 0 ? "" : ", ", party);
  }
  if (count > 3 && used < size)
    snprintf(text + used, size - used, " and %zu more", count - 3);
}

#define PAUSED "paused: it has 0 permits until dibs sem set gives it some"

/* `generation`: of other dialects 0, where a limit of 0 only says that all permits are taken. */
bool show_is_paused(const dibs_inspection *i)
{
  return i->kind == DIBS_KIND_SEMAPHORE && i->limit == 0 && i->generation > 0;
}

void show_by(const dibs_inspection *i, char *ret_text, size_t size)
{
  const dibs_holder *first = show_holder_at(i, 0);
  char names[620];

  ret_text[0] = '\0';
  if (first == NULL)
    return;
  holder_names(i, names, sizeof(names));
  if (show_is_paused(i))
    snprintf(ret_text, size, PAUSED "; %u held by %s", i->used, names);
  else if (i->kind == DIBS_KIND_SEMAPHORE)
    snprintf(ret_text, size, "%u of %u permit%s held by %s", i->used, i->limit,
             plural_s(i->limit), names);
  else if (i->kind == DIBS_KIND_MUTEX)
    snprintf(ret_text, size, "held by %s", names);
  else
    snprintf(ret_text, size, "%s by %s",
             first->party->mode == DIBS_MODE_READ ? "read" : "written", names);
}

/* A lease that ended longer ago is in doubt: see dibs_inspection.is_held. It is taken by a wait in
 * which it is watched for its whole length by a clock that may be 1 % fast. */
#define OVER_AFTER_MS 1000
#define WATCH_MS(length_ms) ((length_ms) + (length_ms) / 50 + 1000)

bool show_doubt(const dibs_holder *h, char *ret_text, size_t size)
{
  char over[DURATION_SIZE], wait[DURATION_SIZE];

  if (h->remaining_ms >= -OVER_AFTER_MS)
    return false;
  duration_as_span(-h->remaining_ms, over);
  duration_as_span(WATCH_MS(h->ttl_ms), wait);
  snprintf(ret_text, size, "over for %s, but clocks disagree: a wait of %s takes it", over, wait);
  return true;
}

static void lease_text(const dibs_holder *h, char *text, size_t size)
{
  char held[DURATION_SIZE], left[DURATION_SIZE], renewed[DURATION_SIZE], doubt[120];
  int64_t since_renewal = h->ttl_ms - h->remaining_ms;

  duration_as_clock(h->party->waited_ms, held);
  duration_as_span(h->remaining_ms, left);
  duration_as_span(since_renewal < 0 ? 0 : since_renewal, renewed);
  if (show_doubt(h, doubt, sizeof(doubt)))
    snprintf(text, size, "for %s, lease %s", held, doubt);
  else if (h->renewals == 0)
    snprintf(text, size, "for %s, lease %s", held, left);
  else
    snprintf(text, size, "for %s, lease %s, renewed %s ago", held, left, renewed);
}

/* Why a name that is free does not change hands. */
static bool hindrance_text(const dibs_inspection *i, char *text, size_t size)
{
  char left[DURATION_SIZE], why[500];

  if (i->quarantine_ms > 0) {
    duration_as_span(i->quarantine_ms, left);
    snprintf(text, size, "quarantine after a failover: no new holders for %s", left);
  } else if (i->obstacle[0] != '\0') {
    snprintf(text, size, "cannot be taken now: %s", printable(i->obstacle, why, sizeof(why)));
  } else if (show_is_paused(i)) {
    snprintf(text, size, PAUSED);
  }
  return i->quarantine_ms > 0 || i->obstacle[0] != '\0' || show_is_paused(i);
}

/* Without a queue this process has not been answered yet. */
static const char *free_text(const dibs_inspection *i)
{
  if (i->waiter_count == 0)
    return "free, the request is under way";
  if (i->kind == DIBS_KIND_SEMAPHORE)
    return i->limit > 0 ? "permits are free, to be handed over" : "no permit is free";
  return "free, to be handed over";
}

void show_lease(const dibs_inspection *i, char *ret_text, size_t size)
{
  char lease[200];

  if (!show_is_held(i)) {
    if (!hindrance_text(i, ret_text, size))
      snprintf(ret_text, size, "%s", free_text(i));
    return;
  }
  lease_text(show_holder_at(i, 0), lease, sizeof(lease));
  snprintf(ret_text, size, "%s %s", show_holder_count(i) == 1 ? "held" : "the first",
           lease);
}

void show_holder(const dibs_inspection *i, char *ret_text, size_t size)
{
  char by[800], lease[200];

  if (!show_is_held(i)) {
    show_lease(i, ret_text, size);
    return;
  }
  show_by(i, by, sizeof(by));
  lease_text(show_holder_at(i, 0), lease, sizeof(lease));
  snprintf(ret_text, size, "%s%s%s", by, show_holder_count(i) == 1 ? " " : ", the first ",
           lease);
}

/* ---- waiters ---- */

void show_mode(dibs_kind kind, const dibs_party *party, char *ret_text, size_t size)
{
  if (kind == DIBS_KIND_SEMAPHORE)
    snprintf(ret_text, size, "%u permit%s", party->units, plural_s(party->units));
  else if (kind == DIBS_KIND_RWLOCK)
    snprintf(ret_text, size, "%s", party->mode == DIBS_MODE_READ ? "reader" : "writer");
  else
    ret_text[0] = '\0';
}

void show_waiting(const dibs_inspection *i, char *ret_text, size_t size)
{
  size_t readers = 0, writers;
  char first[40] = "";

  for (size_t n = 0; n < i->party_count; n++)
    readers += i->waiters[n]->mode == DIBS_MODE_READ;
  writers = i->party_count - readers;
  if (i->kind != DIBS_KIND_RWLOCK || i->waiter_count == 0 ||
      i->waiter_count > i->party_count) {
    snprintf(ret_text, size, "%zu", i->waiter_count);
    return;
  }
  if (readers > 0)
    snprintf(first, sizeof(first), "%zu reader%s%s", readers, plural_s(readers),
             writers == 0 ? "" : ", ");
  if (writers == 0)
    snprintf(ret_text, size, "%s", first);
  else
    snprintf(ret_text, size, "%s%zu writer%s", first, writers, plural_s(writers));
}

bool show_is_own(const dibs_party *party)
{
  char host[65] = "";

  gethostname(host, sizeof(host) - 1);
  return party->pid == getpid() && strncmp(party->host, host, sizeof(host) - 1) == 0;
}

size_t show_own_place(const dibs_inspection *i)
{
  for (size_t n = 0; n < i->party_count; n++) {
    if (show_is_own(i->waiters[n]))
      return n + 1;
  }
  return 0;
}

void show_ordinal(size_t n, char *ret_text, size_t size)
{
  const char *ending = "th";

  if (n % 100 < 11 || n % 100 > 13) {
    if (n % 10 == 1)
      ending = "st";
    else if (n % 10 == 2)
      ending = "nd";
    else if (n % 10 == 3)
      ending = "rd";
  }
  snprintf(ret_text, size, "%zu%s", n, ending);
}
