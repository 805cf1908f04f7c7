/* SPDX-License-Identifier: MIT */
/* Publisher: a hostile program that may publish on inboxes and nothing else. It guesses
 * what clients wait for, with plausible and with extreme tokens, and repeats messages that the
 * server sent for earlier asks, unchanged or with the number of another ask. No message of the
 * publisher may make a holder, end a hold, or block a waiter for ever. */
#include "explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/world.h"

enum { KEPT = 16, LINE_MAX_BYTES = 256, NONCE_DIGITS = 20, ENTRY_DIGITS = 36 };

/* What was overheard: the proof of an ask that waited, and a message as the server made it. */
typedef struct proof {
  char client[34], nonce[NONCE_DIGITS + 1];
  uint64_t ask;
} proof;

typedef struct publisher {
  trial *trial;
  random_source random;
  proof proofs[KEPT];
  char messages[KEPT][LINE_MAX_BYTES], inboxes[KEPT][34];
  size_t proof_count, message_count;
} publisher;

static publisher the_publisher;

static uint64_t pick(publisher *p, uint64_t limit)
{
  return random_below(&p->random, limit);
}

static void publish(publisher *p, const char *client, const char *message)
{
  char line[LINE_MAX_BYTES + 96];

  (void)snprintf(line, sizeof(line), "PUBLISH " EXPLORE_PREFIX ":inbox:%.22s \"%s\"", client,
                 message);
  (void)dibs_sim_server(p->trial->sim, line);
}

/* ---- what it overhears ---- */

/* The key as text: entries are lines `C K ttl ... <time><nonce> floor`. */
static void overhear_proofs(publisher *p, int name)
{
  char line[96], client[34], *rest = NULL, *shown;
  uint64_t ask;

  (void)snprintf(line, sizeof(line), "HGETALL " EXPLORE_PREFIX ":m:{%s}", name_texts[name]);
  shown = strdup(dibs_sim_server(p->trial->sim, line));
  for (char *at = strtok_r(shown, "\n", &rest); at != NULL; at = strtok_r(NULL, "\n", &rest)) {
    const char *last = strrchr(at, ' ');

    if (last == NULL || last - at < ENTRY_DIGITS + 1 || last[-ENTRY_DIGITS - 1] != ' ' ||
        sscanf(at, "%33s %" SCNu64 " ", client, &ask) != 2)
      continue;
    proof *kept = &p->proofs[p->proof_count++ % KEPT];
    *kept = (proof){ .ask = ask };
    memcpy(kept->client, client, sizeof(client));
    memcpy(kept->nonce, last - NONCE_DIGITS, NONCE_DIGITS);
  }
  free(shown);
}

/* A grant to an ask whose nonce is known from an earlier message. */
static void overhear_message(publisher *p, int name)
{
  const truth *x = &p->trial->truths[name];

  for (size_t i = 0; i < x->holder_count; i++)
    for (size_t k = 0; k < KEPT && k < p->proof_count; k++) {
      const lease *l = x->holders[i];
      const proof *by = &p->proofs[k];
      bool is_share = l->mode != 'x';
      size_t at;

      if (by->ask != l->ask || strcmp(by->client, l->client) != 0)
        continue;
      at = p->message_count++ % KEPT;
      memcpy(p->inboxes[at], l->client, sizeof(p->inboxes[at]));
      (void)snprintf(p->messages[at], LINE_MAX_BYTES, "%s:%s %s:%" PRIu64 ":%" PRIu64 " %" PRId64
                     " 0 %s%s", is_share ? "share" : "grant", by->nonce, l->client, l->ask,
                     l->token, l->length_ms, is_share ? "1 " : "", name_texts[name]);
    }
}

/* ---- what it says ---- */

static uint64_t guessed_token(publisher *p)
{
  static const uint64_t extreme[] = { 1, 9007199254740900, 9007199254740985, 9007199254740992 };
  uint64_t now = (uint64_t)host_wall_us(world_host(p->trial->sim));

  switch (pick(p, 3)) {
  case 0:
    return extreme[pick(p, 4)];
  case 1:
    return now + pick(p, 4000000000);
  default:
    return now;
  }
}

/* ":nonce", or nothing. */
static void guess_proof(publisher *p, char ret_words[NONCE_DIGITS + 2])
{
  size_t known = p->proof_count < KEPT ? p->proof_count : KEPT;

  ret_words[0] = '\0';
  if (pick(p, 3) == 0)
    return;
  if (known > 0 && pick(p, 2) == 0)
    (void)snprintf(ret_words, NONCE_DIGITS + 2, ":%s", p->proofs[pick(p, known)].nonce);
  else
    (void)snprintf(ret_words, NONCE_DIGITS + 2, ":%020" PRIu64, random_next(&p->random));
}

/* A client that waits or holds; in most cases exactly its ask. */
static bool choose_victim(publisher *p, const truth *x, char ret_client[34], uint64_t *ret_ask,
                          uint64_t *ret_token)
{
  *ret_token = guessed_token(p);
  if (x->waiter_count > 0 && pick(p, 4) != 0) {
    const waiter *w = &x->waiters[pick(p, x->waiter_count)];

    memcpy(ret_client, w->client, 34);
    *ret_ask = w->ask;
  } else if (x->holder_count > 0) {
    const lease *l = x->holders[pick(p, x->holder_count)];

    memcpy(ret_client, l->client, 34);
    *ret_ask = l->ask;
    if (pick(p, 2) == 0)
      *ret_token = l->token;
  } else {
    return false;
  }
  if (pick(p, 4) == 0)
    *ret_ask += pick(p, 3);
  return true;
}

/* The proof of the ask itself is the server's alone, so the message is not sent with that. */
static bool is_proven(const publisher *p, const char *client, uint64_t ask, const char *words)
{
  for (size_t i = 0; i < KEPT && i < p->proof_count; i++)
    if (p->proofs[i].ask == ask && strcmp(p->proofs[i].client, client) == 0 &&
        words[0] != '\0' && strcmp(p->proofs[i].nonce, words + 1) == 0)
      return true;
  return false;
}

static void forge(publisher *p, int name)
{
  static const char *const plain[] = { "want", "lost" };
  const plan *q = p->trial->plan;
  char client[34], words[NONCE_DIGITS + 2], message[LINE_MAX_BYTES];
  const char *set = pick(p, 4) == 0 ? ".7" : "";      /* as if the ask were that of a set */
  uint64_t ask, token;

  if (!choose_victim(p, &p->trial->truths[name], client, &ask, &token))
    return;
  guess_proof(p, words);
  if (pick(p, 4) == 0)
    (void)snprintf(message, sizeof(message), "%s %s%s:%" PRIu64 ":%" PRIu64 " %s",
                   plain[pick(p, 2)], client, set, ask, token, name_texts[name]);
  else if (is_proven(p, client, ask, words))
    return;
  else
    (void)snprintf(message, sizeof(message), "%s%s %s%s:%" PRIu64 ":%" PRIu64 " %d 0 %s%s",
                   name < MUTEXES ? "grant" : "share", words, client, set, ask, token,
                   q->ttl_ms[0], name < MUTEXES ? "" : "1 ", name_texts[name]);
  publish(p, client, message);
}

static void publisher_main(void *data)
{
  publisher *p = data;

  while (!p->trial->is_ending && p->trial->flaw[0] == 0) {
    int name = (int)pick(p, NAMES);
    size_t known = p->message_count < KEPT ? p->message_count : KEPT;
    size_t which = known > 0 ? (size_t)pick(p, known) : 0;

    overhear_proofs(p, name);
    overhear_message(p, name);
    if (known > 0 && pick(p, 3) == 0)
      publish(p, p->inboxes[which], p->messages[which]);
    else
      forge(p, name);
    dibs_sim_sleep_us(draw_log(&p->random, 1, 100000));
  }
}

void publisher_begin(trial *t)
{
  if (!t->plan->has_publisher)
    return;
  the_publisher = (publisher){ .trial = t };
  random_seed(&the_publisher.random, t->plan->seed * 37);
  (void)dibs_sim_start(t->sim, "publisher", publisher_main, &the_publisher);
}
