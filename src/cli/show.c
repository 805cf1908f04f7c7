/* SPDX-License-Identifier: MIT */
/* cli/show.c - what the server knows of a name, as words. */
#include "cli/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/durations.h"
#include "cli/message.h"

/* ---- who has it ---- */

size_t show_holder_count(const dibs_inspection *i)
{
  size_t count = 0;

  for (size_t n = 0; n < i->shown_holders; n++)
    count += i->holders[n].remaining_ms > 0;
  return count;
}

const dibs_holder *show_holder_at(const dibs_inspection *i, size_t place)
{
  for (size_t n = 0; n < i->shown_holders; n++) {
    if (i->holders[n].remaining_ms > 0 && place-- == 0)
      return &i->holders[n];
  }
  return NULL;
}

bool show_is_held(const dibs_inspection *i)
{
  return show_holder_count(i) > 0;
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

void show_state(const dibs_inspection *i, char *ret_words, size_t size)
{
  const dibs_holder *first = show_holder_at(i, 0);

  if (i->kind == DIBS_KIND_SEMAPHORE)
    snprintf(ret_words, size, "%u/%u used", i->used, i->limit);
  else if (first == NULL)
    snprintf(ret_words, size, "free");
  else if (i->kind == DIBS_KIND_MUTEX)
    snprintf(ret_words, size, "held");
  else if (first->party.mode != DIBS_MODE_READ)
    snprintf(ret_words, size, "written");
  else
    snprintf(ret_words, size, "read x%zu", show_holder_count(i));
}

/* ---- words ---- */

void show_party(const dibs_party *party, char *ret_words, size_t size)
{
  char host[80], program[80];

  printable(party->host, host, sizeof(host));
  printable(party->program, program, sizeof(program));
  if (host[0] == '\0')
    snprintf(ret_words, size, "a client that has not told its name (%s)", party->client);
  else if (program[0] == '\0')
    snprintf(ret_words, size, "%s (pid %" PRId64 ")", host, party->pid);
  else
    snprintf(ret_words, size, "%s (pid %" PRId64 " \"%s\")", host, party->pid, program);
}

void show_party_short(const dibs_party *party, char *ret_words, size_t size)
{
  char host[80], program[80];

  printable(party->host, host, sizeof(host));
  printable(party->program, program, sizeof(program));
  if (host[0] == '\0')
    snprintf(ret_words, size, "%s", party->client);
  else
    snprintf(ret_words, size, "%s:%" PRId64 "%s%s", host, party->pid,
             program[0] == '\0' ? "" : " ", program);
}

/* One in full, of several the first three in short. */
static void holder_names(const dibs_inspection *i, char *words, size_t size)
{
  size_t count = show_holder_count(i), used = 0;

  if (count == 1) {
    show_party(&show_holder_at(i, 0)->party, words, size);
    return;
  }
  words[0] = '\0';
  for (size_t n = 0; n < count && n < 3 && used < size; n++) {
    char party[200];

    show_party_short(&show_holder_at(i, n)->party, party, sizeof(party));
    used += (size_t)snprintf(words + used, size - used, "%s%s", n == 0 ? "" : ", ", party);
  }
  if (count > 3 && used < size)
    snprintf(words + used, size - used, " and %zu more", count - 3);
}

void show_by(const dibs_inspection *i, char *ret_words, size_t size)
{
  const dibs_holder *first = show_holder_at(i, 0);
  char names[620];

  ret_words[0] = '\0';
  if (first == NULL)
    return;
  holder_names(i, names, sizeof(names));
  if (i->kind == DIBS_KIND_SEMAPHORE)
    snprintf(ret_words, size, "%u of %u permits held by %s", i->used, i->limit, names);
  else if (i->kind == DIBS_KIND_MUTEX)
    snprintf(ret_words, size, "held by %s", names);
  else
    snprintf(ret_words, size, "%s by %s",
             first->party.mode == DIBS_MODE_READ ? "read" : "written", names);
}

static void lease_words(const dibs_holder *h, char *words, size_t size)
{
  char held[DURATION_SIZE], left[DURATION_SIZE], renewed[DURATION_SIZE];
  int64_t since_renewal = h->lease_ms - h->remaining_ms;

  duration_as_clock(h->party.waited_ms, held);
  duration_as_span(h->remaining_ms, left);
  duration_as_span(since_renewal < 0 ? 0 : since_renewal, renewed);
  if (h->renewals == 0)
    snprintf(words, size, "for %s, lease %s", held, left);
  else
    snprintf(words, size, "for %s, lease %s, renewed %s ago", held, left, renewed);
}

static const char *nobody_words(const dibs_inspection *i)
{
  if (i->kind == DIBS_KIND_SEMAPHORE)
    return "permits are free, to be handed over";
  return i->is_held ? "its lease ran out, to be taken over" : "free, to be handed over";
}

void show_lease(const dibs_inspection *i, char *ret_words, size_t size)
{
  char lease[120];

  if (!show_is_held(i)) {
    snprintf(ret_words, size, "%s", nobody_words(i));
    return;
  }
  lease_words(show_holder_at(i, 0), lease, sizeof(lease));
  snprintf(ret_words, size, "%s %s", show_holder_count(i) == 1 ? "held" : "the first",
           lease);
}

void show_holder(const dibs_inspection *i, char *ret_words, size_t size)
{
  char by[800], lease[120];

  if (!show_is_held(i)) {
    show_lease(i, ret_words, size);
    return;
  }
  show_by(i, by, sizeof(by));
  lease_words(show_holder_at(i, 0), lease, sizeof(lease));
  snprintf(ret_words, size, "%s%s%s", by, show_holder_count(i) == 1 ? " " : ", the first ",
           lease);
}

/* ---- who waits ---- */

void show_mode(dibs_kind kind, const dibs_party *party, char *ret_words, size_t size)
{
  if (kind == DIBS_KIND_SEMAPHORE)
    snprintf(ret_words, size, "%u permit%s", party->units, party->units == 1 ? "" : "s");
  else if (kind == DIBS_KIND_RWLOCK)
    snprintf(ret_words, size, "%s", party->mode == DIBS_MODE_READ ? "reader" : "writer");
  else
    ret_words[0] = '\0';
}

void show_waiting(const dibs_inspection *i, char *ret_words, size_t size)
{
  size_t readers = 0, writers;
  char first[40] = "";

  for (size_t n = 0; n < i->party_count; n++)
    readers += i->waiters[n].mode == DIBS_MODE_READ;
  writers = i->party_count - readers;
  if (i->kind != DIBS_KIND_RWLOCK || i->waiter_count == 0 ||
      i->waiter_count > i->party_count) {
    snprintf(ret_words, size, "%zu", i->waiter_count);
    return;
  }
  if (readers > 0)
    snprintf(first, sizeof(first), "%zu reader%s%s", readers, readers == 1 ? "" : "s",
             writers == 0 ? "" : ", ");
  if (writers == 0)
    snprintf(ret_words, size, "%s", first);
  else
    snprintf(ret_words, size, "%s%zu writer%s", first, writers, writers == 1 ? "" : "s");
}

size_t show_own_place(const dibs_inspection *i)
{
  char host[65] = "";

  gethostname(host, sizeof(host) - 1);
  for (size_t n = 0; n < i->party_count; n++) {
    if (i->waiters[n].pid == getpid() &&
        strncmp(i->waiters[n].host, host, sizeof(host) - 1) == 0)
      return n + 1;
  }
  return 0;
}

void show_ordinal(size_t n, char *ret_words, size_t size)
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
  snprintf(ret_words, size, "%zu%s", n, ending);
}
