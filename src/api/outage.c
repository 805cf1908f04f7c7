/* SPDX-License-Identifier: MIT */
/* api/outage.c - see outage.h. */
#include "api/outage.h"

#include <string.h>

#include <utlist.h>

#include "api/degrade.h"

#define ASK_FOR SPAN_MS(30000)     /* limit of one question; the next follows */
#define ASK_AGAIN SPAN_MS(100)

/* One for each server that is asked. */
typedef struct probe {
  question question;
  outage *outage;
  dibs_status end;
} probe;

struct outage {
  outage *next;
  uint16_t slot;
  instant ask_at, keep_until;
  request request;
  size_t asked;                    /* servers without a result yet */
  size_t count;
  probe probes[];
};

outage *outage_of(const claim *cl)
{
  outage *o;

  LL_SEARCH_SCALAR(cl->client->local->first_outage, o, slot, cl->local->slot);
  return o;
}

static outage *outage_free(client_record *c, outage *o)
{
  request_deinit(&o->request);
  mem_free(&c->memory, o);
  return NULL;
}

static void outage_end(client_record *c, outage *o)
{
  LL_DELETE(c->local->first_outage, o);
  (void)outage_free(c, o);
}

void outages_free(client_record *c)
{
  while (c->local != NULL && c->local->first_outage != NULL)
    outage_end(c, c->local->first_outage);
}

void outages_are_past(client_record *c)
{
  if (c->local != NULL)
    c->local->was_reported = false;
}

/* The write of a grant with a time that no server takes: refused for any reason that refuses a
 * grant (READONLY, NOREPLICAS, OOM, CLUSTERDOWN), and else for its time. It changes nothing. */
#define NO_TIME_WORDS "invalid expire time"

static bool request_of(const claim *cl, request *ret_request)
{
  const protocol *names = &cl->client->names;
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));
  resp_argument words[] = { RESP_TEXT("SET"), { bytes, 0 }, RESP_TEXT(""), RESP_TEXT("NX"),
                            RESP_TEXT("PX"), RESP_TEXT("0") };

  names->dialect->key(names, cl->name, cl->name_size, &key);
  words[1].size = key.used;
  return request_command(ret_request, words, 6);
}

static outage *outage_new(const claim *cl)
{
  client_record *c = cl->client;
  bool is_quorum = c->servers.kind == DEPLOYMENT_QUORUM;
  size_t count = is_quorum ? engine_route_count(drive_engine(c->drive)) : 1;
  outage *o = mem_zalloc(&c->memory, sizeof(*o) + count * sizeof(o->probes[0]));

  if (o == NULL)
    return NULL;
  o->count = count;
  o->slot = cl->local->slot;
  o->ask_at = drive_now();
  request_init(&o->request, &c->memory);
  return request_of(cl, &o->request) ? o : outage_free(c, o);
}

bool outage_begin(claim *cl)
{
  client_record *c = cl->client;
  outage *o;

  if (outage_of(cl) != NULL)
    return true;
  o = outage_new(cl);
  if (o == NULL)
    return false;
  if (c->local->first_outage == NULL && !c->local->was_reported)
    client_event(c, DIBS_EVENT_WARNING, "",
                 "no server: locks hold on this machine only, until one answers");
  c->local->was_reported = true;
  LL_PREPEND(c->local->first_outage, o);
  return true;
}

/* A replica, where one of several servers may be the primary, is asked for as long as there is
 * none: whether its refusal or the vain search is the last reason, is chance. */
bool outage_is_shown(const client_record *c, dibs_status status)
{
  bool finds_primary = c->servers.kind != DEPLOYMENT_SINGLE &&
                       c->servers.kind != DEPLOYMENT_QUORUM;

  return status == DIBS_ERR_UNREACHABLE || (status == DIBS_ERR_READ_ONLY && finds_primary);
}

static bool is_silence(const client_record *c, dibs_status status)
{
  return outage_is_shown(c, status) || status == DIBS_UNKNOWN || status == DIBS_ERR_NO_MEMORY;
}

/* A majority answers; or refuses for one reason, which is the result of a lock then, too: as of
 * report_fault() in quorum/. */
static bool is_past(const client_record *c, const outage *o)
{
  for (size_t i = 0; i < o->count; i++) {
    size_t same = 0;

    for (size_t j = 0; j < o->count; j++)
      same += o->probes[j].end == o->probes[i].end;
    if (same > o->count / 2 && !is_silence(c, o->probes[i].end))
      return true;
  }
  return false;
}

/* All probes are over. */
static void asked_all(client_record *c, outage *o)
{
  instant now = drive_now();
  uint16_t key_slot = o->slot;

  if (is_past(c, o)) {
    outage_end(c, o);
    outages_are_past(c);
    degrade_outage_over(c, key_slot);
    return;
  }
  o->ask_at = instant_add(now, ASK_AGAIN);
  if (!degrade_is_needed(c, key_slot) && !instant_before(now, o->keep_until))
    outage_end(c, o);
  degrade_alarm_set(c);
}

static bool is_for_its_time(const outcome *end)
{
  dibs_error room;

  return end->status == DIBS_ERR_SERVER &&
         strstr(outcome_error(end, &room)->text, NO_TIME_WORDS) != NULL;
}

static void probe_ended(outage *o, question *q)
{
  RECORD_OF(probe, question, q)->end = is_for_its_time(&q->end) ? DIBS_OK : q->end.status;
  o->asked--;
  question_deinit(q);
}

static void answered(client_record *c, question *q)
{
  outage *o = RECORD_OF(probe, question, q)->outage;
  bool is_closed = q->end.status == DIBS_ERR_CLOSED || c->is_closing;

  probe_ended(o, q);
  if (o->asked == 0 && !is_closed)
    asked_all(c, o);
}

/* A server of a quorum that is known to be down does not delay what the others say. */
static void probe_send(client_record *c, outage *o, size_t i, instant until)
{
  bool is_one_of = o->count > 1;
  sync_op how = { .give_up_at = until, .is_brief = is_one_of, .is_pinned = is_one_of,
                  .server = i };
  question *q = &o->probes[i].question;

  o->probes[i].outage = o;
  o->asked++;
  question_ask_by(c, q, &o->request, how);
  if (q->waiter.is_done)
    probe_ended(o, q);
  else
    q->then = answered;
}

static void ask(client_record *c, outage *o, instant now)
{
  instant until = instant_add(now, ASK_FOR);

  if (degrade_is_needed(c, o->slot))
    o->keep_until = until;
  for (size_t i = 0; i < o->count; i++)
    probe_send(c, o, i, until);
  if (o->asked == 0)                     /* without memory */
    o->ask_at = instant_add(now, ASK_AGAIN);
}

static instant ask_at(const outage *o)
{
  return o->asked == 0 ? o->ask_at : INSTANT_NEVER;
}

instant outages_ask_at(const client_record *c)
{
  instant at = INSTANT_NEVER;

  for (const outage *o = c->local->first_outage; o != NULL; o = o->next)
    at = instant_min(at, ask_at(o));
  return at;
}

void outages_ask(client_record *c, instant now)
{
  for (outage *o = c->local->first_outage; o != NULL; o = o->next)
    if (!instant_before(now, ask_at(o)))
      ask(c, o, now);
}
