/* SPDX-License-Identifier: MIT */
/* topo/finder.c - the state of a search: which addresses get a probe, when, and when it ends.
 *
 *              finder_begin              enough is known
 *   IDLE, NONE -------------> LOOKING -------------------> FOUND --take--> IDLE
 *                                |
 *                                +-- all have been asked, or time is up --> NONE
 *
 * The first probes start at once, the others 50 ms apart, or as soon as one returns
 * without ending the search: an unreachable address causes no delay, and few addresses are
 * asked. When no number is free, the probe that has been out longest gives up its number.
 * When all other addresses have answered, silent addresses do not prolong the search: the next
 * one may find what this one did not, such as a promoted replica. */
#include "topo/finder_parts.h"

#include <assert.h>
#include <string.h>

#define AT_ONCE 5
#define STAGGER SPAN_MS(50)
#define OUT_LONG SPAN_MS(1000)
#define SILENCE SPAN_MS(500)

/* ---- life ---- */

static const finder_kind *kind_of(deployment_kind kind)
{
  assert(kind == DEPLOYMENT_REPLICATED || kind == DEPLOYMENT_SENTINEL
         || kind == DEPLOYMENT_CLUSTER);
  if (kind == DEPLOYMENT_CLUSTER)
    return &finder_cluster_kind;
  return kind == DEPLOYMENT_SENTINEL ? &finder_sentinel_kind : &finder_role_kind;
}

finder *finder_new(const memory *m, const deployment *d)
{
  finder *f = mem_zalloc(m, sizeof(*f));

  if (f == NULL)
    return NULL;
  assert(d->seed_count > 0);
  f->memory = *m;
  f->deployment = d;
  f->kind = kind_of(d->kind);
  f->state = FINDER_IDLE;
  f->why = DIBS_ERR_UNREACHABLE;
  return finder_addresses_init(f) ? f : finder_free(f);
}

static void results_forget(finder *f)
{
  f->primary = NULL;
  f->primary_address = NULL;
  if (f->has_found)
    server_url_deinit(&f->found);
  f->has_found = false;
  f->slots = finder_map_free(f, f->slots);
}

finder *finder_free(finder *f)
{
  if (f != NULL) {
    results_forget(f);
    finder_addresses_deinit(f);
    mem_free(&f->memory, f);
  }
  return NULL;
}

finder_state finder_state_of(const finder *f)
{
  return f->state;
}

/* ---- probes ---- */

/* A free number; SCOUTS_MAX: none. */
static int probe_free_number(const finder *f)
{
  int i = 0;

  while (i < SCOUTS_MAX && f->probes[i].state != SCOUT_FREE)
    i++;
  return i;
}

/* The probe that has been out longest; NULL: none is out. */
static const probe *probe_longest_out(const finder *f)
{
  const probe *longest = NULL;

  for (size_t i = 0; i < SCOUTS_MAX; i++) {
    const probe *s = &f->probes[i];
    if (s->state == SCOUT_OUT
        && (longest == NULL || instant_before(s->sent_at, longest->sent_at)))
      longest = s;
  }
  return longest;
}

static void probe_is_home(probe *s)
{
  s->at->guests--;
  *s = (probe){ .state = SCOUT_FREE };
}

static probe *probe_at(finder *f, int number)
{
  assert(number >= 0 && number < SCOUTS_MAX);
  return &f->probes[number];
}

void finder_answered(finder *f, probe *s)
{
  s->at->state = PLACE_ANSWERED;
  s->state = SCOUT_RETURNING;
  f->has_answer = true;
  f->pace = span_max(f->pace, instant_since(f->now, s->sent_at));
  f->news_at = f->now;
  f->next_at = instant_min(f->next_at, f->now);
}

/* A multiple of the time of the slowest answer. */
static span paces(const finder *f, int64_t times)
{
  return (span){ f->pace.ns * times };
}

void finder_hurry(finder *f, span patience)
{
  if (instant_is_never(f->decide_at) && !f->is_time_to_decide)
    f->decide_at = instant_add(f->now, span_max(patience, paces(f, 2)));
}

/* ---- why nothing was found ---- */

static int rank_of(dibs_status why)
{
  switch (why) {
  case DIBS_ERR_NO_MEMORY: return 7;
  case DIBS_ERR_AUTH: return 6;
  case DIBS_ERR_DENIED: return 5;
  case DIBS_ERR_TLS:
  case DIBS_ERR_CONFIG: return 4;
  case DIBS_ERR_SERVER:
  case DIBS_ERR_UNSUPPORTED:
  case DIBS_ERR_PROTOCOL: return 3;
  case DIBS_ERR_UNREACHABLE: return 1;
  default: return 2;
  }
}

static void blame(finder *f, int rank, const address *at, dibs_status why, const char *words,
                  const resp_node *said)
{
  char where[HOST_REPORTED_SIZE + 16];
  text address_words = text_over(where, sizeof(where));
  text t;

  if (rank <= f->why_rank)
    return;
  t = text_over(f->why_words, sizeof(f->why_words));
  f->why_rank = rank;
  f->why = why;
  /* A message about a connection already begins with its address. */
  if (at != NULL)
    finder_address_show(at, &address_words);
  if (strncmp(words, where, address_words.used) != 0)
    text_format(&t, "%s: ", where);
  text_add(&t, words);
  if (said != NULL && said->bytes != NULL)
    text_add_quoted(&t, said->bytes, said->size);
  if (said != NULL && said->kind == RESP_ERROR)
    text_add(&t, resp_fault_remedy(said->bytes, said->size));
}

void finder_blame(finder *f, const address *at, dibs_status why, const char *words,
                  const resp_node *said)
{
  blame(f, rank_of(why), at, why, words, said);
}

void finder_blame_all(finder *f, dibs_status why, const char *words)
{
  blame(f, rank_of(why) + 1, NULL, why, words, NULL);
}

static void probe_failed(finder *f, probe *s)
{
  s->at->state = PLACE_FAILED;
  s->at->hears = false;
  finder_ear_renew(f);
  s->state = SCOUT_RETURNING;
  f->next_at = instant_min(f->next_at, f->now);
}

void finder_blame_probe(finder *f, probe *s, dibs_status why, const char *words,
                        const resp_node *said)
{
  finder_blame(f, s->at, why, words, said);
  probe_failed(f, s);
}

void finder_refused_probe(finder *f, probe *s, const char *words, const resp_node *said)
{
  finder_blame_probe(f, s, resp_fault_status(resp_fault_of(said->bytes, said->size)), words,
                     said);
}

dibs_status finder_why(const finder *f, const char **ret_words)
{
  *ret_words = f->why_rank > 0 ? f->why_words : "none of the servers answered in time";
  return f->why;
}

/* ---- the search ---- */

static void search_end(finder *f, finder_state state)
{
  for (size_t i = 0; i < SCOUTS_MAX; i++)
    if (f->probes[i].state == SCOUT_OUT)
      f->probes[i].state = SCOUT_RETURNING;
  f->state = state;
}

/* When the search stops waiting for probes that are still out. */
static instant silent_at(const finder *f)
{
  if (!f->has_answer || finder_address_next(f) != NULL)
    return INSTANT_NEVER;
  return instant_add(f->news_at, span_max(SILENCE, paces(f, 3)));
}

/* Judges the search; call it after each change of what is known. */
static void advance(finder *f, instant now)
{
  finder_state verdict;
  bool is_over;

  f->now = now;
  if (f->state != FINDER_LOOKING)
    return;
  if (!instant_before(now, f->decide_at)) {
    f->is_time_to_decide = true;
    f->decide_at = INSTANT_NEVER;
  }
  is_over = !instant_before(now, instant_min(f->give_up_at, silent_at(f)))
    || (!finder_is_anybody_out(f) && finder_address_next(f) == NULL);
  verdict = f->kind->judge(f, is_over);
  assert(!is_over || verdict != FINDER_LOOKING);
  if (verdict != FINDER_LOOKING)
    search_end(f, verdict);
}

void finder_begin(finder *f, instant give_up_at, instant now)
{
  if (f->state == FINDER_LOOKING)
    return;
  results_forget(f);
  finder_addresses_renew(f);
  f->state = FINDER_LOOKING;
  f->searches++;
  f->sent_count = 0;
  f->next_at = now;
  f->give_up_at = give_up_at;
  f->decide_at = INSTANT_NEVER;
  f->is_time_to_decide = false;
  f->has_answer = false;
  f->pace = SPAN_MS(0);
  f->why = DIBS_ERR_UNREACHABLE;
  f->why_rank = 0;
  advance(f, now);
}

bool finder_next_probe(finder *f, instant now, int *ret_probe, const server_url **ret_url)
{
  int number = probe_free_number(f);
  address *p;

  if (f->state != FINDER_LOOKING || number == SCOUTS_MAX || instant_before(now, f->next_at)
      || (p = finder_address_next(f)) == NULL)
    return false;
  f->now = f->news_at = now;
  f->probes[number] = (probe){ .state = SCOUT_OUT, .at = p, .sent_at = now };
  p->state = PLACE_ASKED;
  p->guests++;
  f->sent_count++;
  f->next_at = f->sent_count < AT_ONCE ? now : instant_add(now, STAGGER);
  *ret_probe = number;
  *ret_url = p->url;
  return true;
}

bool finder_next_question(finder *f, int number, request *out)
{
  resp_argument words[QUESTION_WORDS_MAX];
  probe *s = probe_at(f, number);

  if (s->state != SCOUT_OUT || s->is_asked)
    return false;
  if (!request_command(out, words, f->kind->question(f, s, words))) {
    finder_blame_probe(f, s, DIBS_ERR_NO_MEMORY, "no memory to ask", NULL);
    return false;
  }
  s->is_asked = true;
  return true;
}

void finder_answer(finder *f, int number, const resp_reply *reply, instant now)
{
  probe *s = probe_at(f, number);

  if (s->state != SCOUT_OUT || !s->is_asked)
    return;
  f->now = now;
  s->is_asked = false;
  f->kind->answer(f, s, reply);
  advance(f, now);
}

void finder_failed(finder *f, int number, dibs_status why, const char *words, instant now)
{
  probe *s = probe_at(f, number);

  if (s->state == SCOUT_FREE)
    return;
  f->now = now;
  if (s->state == SCOUT_OUT)
    finder_blame_probe(f, s, why, words == NULL ? "" : words, NULL);
  probe_is_home(s);
  advance(f, now);
}

bool finder_next_home(finder *f, int *ret_probe)
{
  for (int i = 0; i < SCOUTS_MAX; i++)
    if (f->probes[i].state == SCOUT_RETURNING) {
      probe_is_home(&f->probes[i]);
      *ret_probe = i;
      return true;
    }
  return false;
}

/* ---- time ---- */

/* When the next address gets its probe. */
static instant next_probe_at(const finder *f)
{
  const probe *longest;

  if (finder_address_next(f) == NULL)
    return INSTANT_NEVER;
  if (probe_free_number(f) < SCOUTS_MAX)
    return f->next_at;
  longest = probe_longest_out(f);
  return longest == NULL ? INSTANT_NEVER : instant_add(longest->sent_at, OUT_LONG);
}

instant finder_deadline(const finder *f)
{
  if (f->state != FINDER_LOOKING)
    return INSTANT_NEVER;
  return instant_min(instant_min(f->give_up_at, f->decide_at),
                     instant_min(next_probe_at(f), silent_at(f)));
}

void finder_tick(finder *f, instant now)
{
  if (f->state != FINDER_LOOKING)
    return;
  f->now = now;
  if (probe_free_number(f) == SCOUTS_MAX && !instant_before(now, next_probe_at(f)))
    finder_blame_probe(f, &f->probes[probe_longest_out(f) - f->probes], DIBS_ERR_UNREACHABLE,
                       "no answer yet", NULL);
  advance(f, now);
}

/* ---- results ---- */

const server_url *finder_take_primary(finder *f)
{
  if (f->state != FINDER_FOUND || f->primary == NULL)
    return NULL;
  f->state = FINDER_IDLE;
  return f->primary;
}

const slot_map *finder_take_slots(finder *f)
{
  if (f->state != FINDER_FOUND || f->slots == NULL)
    return NULL;
  f->state = FINDER_IDLE;
  return f->slots;
}
