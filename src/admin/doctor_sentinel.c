/* SPDX-License-Identifier: MIT */
/* admin/doctor_sentinel.c - the sentinels: their number, whether they agree, and when they
 * act. */
#include "admin/doctor.h"

#include <inttypes.h>
#include <string.h>

#include "base/plural.h"

#define DOWN_LEAST_MS 4000         /* ten times that is longer than TILT */
#define DOWN_MOST_MS 15000

/* Reads a flat list of names and values. */
static int64_t value_of(const resp_reply *reply, const char *name)
{
  const resp_node *root = resp_root(reply), *key, *value;
  uint64_t number;

  for (size_t i = 0; (key = resp_child(reply, root, i)) != NULL; i += 2) {
    value = resp_child(reply, root, i + 1);
    if (key->kind != RESP_STRING || value == NULL || key->size != strlen(name) ||
        memcmp(key->bytes, name, key->size) != 0)
      continue;
    return text_to_uint(value->bytes, value->size, &number) && number <= INT64_MAX
             ? (int64_t)number : -1;
  }
  return -1;
}

static void count_report(examination *x, const resp_reply *reply)
{
  int64_t others = value_of(reply, "num-other-sentinels"), quorum = value_of(reply, "quorum");
  int64_t all = others + 1, replicas = value_of(reply, "num-slaves");

  if (all < 3)
    doctor_add(x, "sentinel", DIBS_FINDING_FAIL, "run three sentinels, on machines of their own",
               "%" PRId64 " sentinel%s: when one fails no replica can be promoted", all,
               plural_s((uint64_t)all));
  else if (quorum > all)
    doctor_add(x, "sentinel", DIBS_FINDING_FAIL, "lower the quorum of SENTINEL MONITOR",
               "quorum %" PRId64 " of %" PRId64 " sentinels: no replica is ever promoted", quorum,
               all);
  else if (quorum * 2 <= all)
    doctor_add(x, "sentinel", DIBS_FINDING_WARN, "raise the quorum to more than half of them",
               "quorum %" PRId64 " of %" PRId64 " sentinels: a few that are cut off call a living "
               "primary down", quorum, all);
  else
    doctor_add(x, "sentinel", DIBS_FINDING_PASS, "",
               "%" PRId64 " sentinels, quorum %" PRId64 ", %" PRId64 " replica%s", all, quorum,
               replicas, plural_s((uint64_t)replicas));
}

static void down_after_report(examination *x, int64_t ms)
{
  bool is_short = ms >= 0 && ms < DOWN_LEAST_MS;

  doctor_add_number(x, "down-after", "down-after-milliseconds", ms,
                    !is_short && ms <= DOWN_MOST_MS,
                    is_short ? "set down-after-milliseconds 4000 or more"
                             : "set down-after-milliseconds 5000",
                    is_short ? "after a step of a sentinel's clock (TILT) a failover may never "
                               "come"
                             : "leases of 30 s end before another primary renews them");
}

/* min-replicas-max-lag + 2 s <= down-after - 1 s; deployments.md 4. */
static void formula_report(examination *x, int64_t down_after_ms)
{
  if (x->lag_s <= 0)
    return;
  if ((x->lag_s + 3) * 1000 <= down_after_ms)
    doctor_add(x, "lag", DIBS_FINDING_PASS, "",
               "min-replicas-max-lag=%" PRId64 " ends the writes of a cut-off primary before "
               "another is promoted", x->lag_s);
  else
    doctor_add(x, "lag",
               x->client->names.quarantine_ms > 0 ? DIBS_FINDING_FAIL : DIBS_FINDING_WARN,
               "min-replicas-max-lag + 2 s may be at most down-after-milliseconds - 1 s",
               "min-replicas-max-lag=%" PRId64 " with down-after-milliseconds=%" PRId64 ": a "
               "cut-off primary still grants after another was promoted", x->lag_s, down_after_ms);
}

static void sentinel_examine(examination *x, const server_url *url)
{
  const char *service = x->client->servers.service;
  const resp_argument words[] = { RESP_TEXT("SENTINEL"), RESP_TEXT("MASTER"),
                                  { service, strlen(service) } };
  text shown = text_over(x->node, sizeof(x->node));
  dibs_status status;
  resp_reply *reply = doctor_ask_once(x, url, words, 3, &status);

  server_url_show(url, &shown);
  if (status == DIBS_ERR_UNSUPPORTED) {
    doctor_add(x, "sentinel", DIBS_FINDING_UNKNOWN,
               "see SENTINEL MASTER: down-after-milliseconds and quorum",
               "sentinels with TLS are not checked");
  } else if (reply == NULL) {
    doctor_add(x, "sentinel", DIBS_FINDING_WARN,
               status == DIBS_ERR_DENIED ? "give the user there what dibs acl --sentinel prints"
                                          : "see whether it runs, and knows the service",
               "no answer to SENTINEL MASTER: %s", dibs_status_text(status));
  } else {
    count_report(x, reply);
    down_after_report(x, value_of(reply, "down-after-milliseconds"));
    formula_report(x, value_of(reply, "down-after-milliseconds"));
  }
  resp_reply_free(reply);
}

void doctor_sentinels_examine(examination *x)
{
  const deployment *d = &x->client->servers;

  if (d->kind != DEPLOYMENT_SENTINEL)
    return;
  for (size_t i = 0; i < d->seed_count && !x->is_stopped; i++)
    sentinel_examine(x, &d->seeds[i]);
}
