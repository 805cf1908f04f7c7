/* SPDX-License-Identifier: MIT */
/* api/deadlock.c - see deadlock.h. The searches of protocol.md 14: requests all missing
 * facts at once, and searches the graph again with the replies. They arrive while the call
 * sleeps, in any thread that reads; all functions need the mutex. */
#include "api/deadlock.h"

#include <string.h>
#include <utlist.h>

#include "api/question.h"
#include "api/wait_graph.h"

#define FIRST_LOOK_MS 1000
#define NEXT_LOOK_MS 800           /* after a search, which takes 200 ms at most */
#define BETWEEN_MS 200

typedef enum walk_state { REST, WALKING, FOUND, CONFIRMING, OVER } walk_state;

typedef struct walk walk;

typedef struct fact {
  question question;               /* first: it is the engine's context */
  walk *walk;
  inspect_answer *seen;            /* of a name */
  char shown[96];                  /* address of a client */
} fact;

struct walk {
  walk *previous, *next;
  client_record *client;
  claim *claim;                    /* NULL: the call has ended, replies are outstanding */
  walk_state state;
  size_t open;                     /* requests without a reply */
  uint64_t number;                 /* of the next nonce */
  char nonce[OWNER_ID_SIZE];
  graph_path found, again;
  wait_graph graph;
  fact names[GRAPH_NAMES], clients[GRAPH_CLIENTS];
};

/* ---- life ---- */

static walk *walk_new(claim *cl)
{
  client_record *c = cl->client;
  walk *w = mem_zalloc(&c->memory, sizeof(*w));

  if (w == NULL)
    return NULL;
  w->client = c;
  w->claim = cl;
  w->state = REST;
  DL_PREPEND2(c->first_walk, w, previous, next);
  return w;
}

static void walk_clear(walk *w)
{
  for (size_t i = 0; i < w->graph.name_count; i++) {
    question_deinit(&w->names[i].question);
    mem_free(&w->client->memory, w->names[i].seen);
    w->names[i].seen = NULL;
  }
  for (size_t i = 0; i < w->graph.client_count; i++)
    question_deinit(&w->clients[i].question);
  w->graph.name_count = w->graph.client_count = 0;
}

static void walk_free(walk *w)
{
  client_record *c = w->client;

  walk_clear(w);
  DL_DELETE2(c->first_walk, w, previous, next);
  mem_free(&c->memory, w);
}

static void walk_leave(walk *w)
{
  if (w == NULL)
    return;
  w->claim = NULL;
  if (w->open == 0)
    walk_free(w);
}

void deadlocks_free(client_record *c)
{
  while (c->first_walk != NULL)
    walk_free(c->first_walk);
}

/* ---- questions ---- */

static void walk_on(walk *w);

static void answered(client_record *c, question *q)
{
  walk *w = ((fact *)(void *)q)->walk;

  (void)c;
  if (--w->open > 0)
    return;
  if (w->claim == NULL)
    walk_free(w);
  else
    walk_on(w);
}

static instant give_up_at(const walk *w)
{
  return instant_add(drive_now(), span_ms(w->client->times.command_ms));
}

static void fact_ask(walk *w, fact *f, const request *command)
{
  f->walk = w;
  question_ask(w->client, &f->question, command, give_up_at(w));
  if (f->question.waiter.is_done)
    return;
  f->question.then = answered;
  w->open++;
}

static void name_ask(walk *w, graph_name *n, fact *f)
{
  const client_record *c = w->client;
  request k;

  n->is_asked = true;
  request_init(&k, &c->memory);
  (void)native_inspect(&c->names, &k, n->name, n->size);
  fact_ask(w, f, &k);
  request_deinit(&k);
}

static void client_ask(walk *w, graph_client *seen, fact *f)
{
  const client_record *c = w->client;
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));
  resp_argument words[] = { RESP_TEXT("HMGET"), { bytes, 0 }, RESP_TEXT(WAIT_REPORT_FIELD),
                            RESP_TEXT("host"), RESP_TEXT("pid") };
  request command;

  seen->is_asked = true;
  native_client_key(&c->names, seen->id, &key);
  words[1].size = key.used;
  request_init(&command, &c->memory);
  (void)request_command(&command, words, 5);
  fact_ask(w, f, &command);
  request_deinit(&command);
}

/* Requests all facts that the search lacked. */
static void missing_ask(walk *w)
{
  wait_graph *g = &w->graph;

  for (size_t i = 0; i < g->name_count; i++)
    if (!g->names[i].is_asked)
      name_ask(w, &g->names[i], &w->names[i]);
  for (size_t i = 0; i < g->client_count; i++)
    if (!g->clients[i].is_asked)
      client_ask(w, &g->clients[i], &w->clients[i]);
}

/* ---- answers ---- */

static void name_read(const walk *w, graph_name *n, fact *f)
{
  if (f->question.reply == NULL || f->seen != NULL)
    return;
  f->seen = mem_alloc(&w->client->memory, sizeof(*f->seen));
  if (f->seen != NULL && native_inspect_answer(f->question.reply, f->seen))
    n->seen = f->seen;
}

static void client_read(graph_client *seen, fact *f)
{
  const resp_reply *reply = f->question.reply;
  const resp_node *root = reply != NULL ? resp_root(reply) : NULL;
  const resp_node *owners = root != NULL ? resp_child(reply, root, 0) : NULL;
  const resp_node *host = root != NULL ? resp_child(reply, root, 1) : NULL;
  const resp_node *pid = root != NULL ? resp_child(reply, root, 2) : NULL;
  text shown = text_over(f->shown, sizeof(f->shown));

  if (owners == NULL || owners->kind != RESP_STRING)
    return;
  seen->owners = owners->bytes;
  seen->owners_size = owners->size;
  if (host == NULL || pid == NULL || host->kind != RESP_STRING || pid->kind != RESP_STRING)
    return;
  text_add_bytes(&shown, host->bytes, host->size < 64 ? host->size : 64);
  text_add(&shown, ":");
  text_add_bytes(&shown, pid->bytes, pid->size < 20 ? pid->size : 20);
}

static void answers_read(walk *w)
{
  for (size_t i = 0; i < w->graph.name_count; i++)
    name_read(w, &w->graph.names[i], &w->names[i]);
  for (size_t i = 0; i < w->graph.client_count; i++)
    client_read(&w->graph.clients[i], &w->clients[i]);
}

/* ---- what follows ---- */

static const char *shown_of(const walk *w, const char *client)
{
  for (size_t i = 0; i < w->graph.client_count; i++)
    if (strcmp(w->graph.clients[i].id, client) == 0 && w->clients[i].shown[0] != 0)
      return w->clients[i].shown;
  return client;
}

/* `waits for "b", held by web-1:412, which waits for "a", held by this caller` */
static void cycle_write(const walk *w, text *out)
{
  const graph_path *p = &w->again;

  for (size_t i = 0; i < p->count; i++) {
    const graph_step *step = &p->steps[i];

    text_add(out, i == 0 ? "waits for " : ", which waits for ");
    text_add_quoted(out, step->name, step->name_size);
    text_add(out, ", held by ");
    text_add(out, i + 1 < p->count ? shown_of(w, step->lease.client) : "this caller");
  }
}

static void call_fail(walk *w)
{
  char words[256];
  text shown = text_over(words, sizeof(words));

  cycle_write(w, &shown);
  (void)engine_fail(drive_engine(w->client->drive), w->claim->id, DIBS_WOULD_DEADLOCK, words,
                    drive_now());
}

/* The reply of PUBLISH is ignored: the second search shows whether the message arrived. */
static void report(const walk *w, const char *client)
{
  client_record *c = w->client;
  protocol names = c->names;
  char channel_bytes[PREFIX_MAX_BYTES + 40], words_bytes[32];
  text channel = text_over(channel_bytes, sizeof(channel_bytes));
  text words = text_over(words_bytes, sizeof(words_bytes));
  resp_argument publish[3] = { RESP_TEXT("PUBLISH") };
  request command;

  memcpy(names.client, client, sizeof(names.client));
  native_inbox(&names, &channel);
  wait_report_request_write(w->nonce, &words);
  publish[1] = (resp_argument){ channel_bytes, channel.used };
  publish[2] = (resp_argument){ words_bytes, words.used };
  request_init(&command, &c->memory);
  if (request_command(&command, publish, 3))
    engine_send(drive_engine(c->drive), &command, give_up_at(w), drive_now());
  request_deinit(&command);
}

static void nonce_make(walk *w)
{
  uint64_t parts[2] = { w->claim->id, ++w->number };
  text nonce = text_over(w->nonce, sizeof(w->nonce));

  owner_id_write(owner_hash(w->client->names.client, parts, sizeof(parts)), &nonce);
}

static void found(walk *w)
{
  w->found = w->again;
  w->state = FOUND;
  nonce_make(w);
  for (size_t i = 0; i < w->found.count; i++)
    report(w, w->found.steps[i].waiter);
}

static void walk_on(walk *w)
{
  bool is_again = w->state == CONFIRMING, is_cycle;

  answers_read(w);
  is_cycle = graph_find(&w->graph, w->client->names.client, w->claim->id,
                        is_again ? w->nonce : NULL, &w->again);
  if (is_cycle && !is_again) {
    found(w);
  } else if (is_cycle) {
    w->state = OVER;
    if (graph_path_equal(&w->found, &w->again))
      call_fail(w);
  } else {
    missing_ask(w);
    if (w->open == 0)
      w->state = OVER;
  }
}

static void walk_begin(walk *w, walk_state state)
{
  walk_clear(w);
  w->state = state;
  walk_on(w);
}

/* ---- when ---- */

/* Callers that began together do not search together. */
static int64_t jittered(const walk *w, int64_t ms)
{
  return ms + (int64_t)(owner_hash("", &w, sizeof(w)) % 200);
}

/* Returns the wait until the next search, in ms. */
static int64_t look(walk *w)
{
  if (w->open > 0)
    return BETWEEN_MS;
  switch (w->state) {
  case REST:
    if (!engine_wait_is_reported(drive_engine(w->client->drive), w->claim->id))
      break;
    walk_begin(w, WALKING);
    return BETWEEN_MS;
  case FOUND:
    walk_begin(w, CONFIRMING);
    return BETWEEN_MS;
  case WALKING:
  case CONFIRMING:
  case OVER:
    w->state = REST;
    break;
  }
  return jittered(w, NEXT_LOOK_MS);
}

void deadlock_wait(claim *cl, drive_waiter *waiter)
{
  client_record *c = cl->client;
  int64_t wait_ms = FIRST_LOOK_MS;
  walk *w = NULL;

  while (!drive_wait(c->drive, waiter, instant_add(drive_now(), span_ms(wait_ms)))) {
    if (w == NULL && engine_wait_is_reported(drive_engine(c->drive), cl->id))
      w = walk_new(cl);
    wait_ms = w != NULL ? look(w) : FIRST_LOOK_MS;
  }
  walk_leave(w);
}
