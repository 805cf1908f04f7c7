/* SPDX-License-Identifier: MIT */
/* admin/doctor_cluster.c - a node of a cluster: its slots, and how long a failover takes. */
#include "admin/doctor.h"

#include <inttypes.h>

#include "base/plural.h"

static void state_report(examination *x, const char *name, const facts *f)
{
  int64_t covered = facts_number(f, "cluster_slots_ok", 0);
  int64_t assigned = facts_number(f, "cluster_slots_assigned", 0);
  int64_t nodes = facts_number(f, "cluster_known_nodes", 0);

  x->is_down = !facts_are(f, "cluster_state", "ok");
  if (x->is_down)
    doctor_add(x, name, DIBS_FINDING_FAIL, "see CLUSTER NODES: a primary is missing, or slots are",
               "cluster_state is not ok: %" PRId64 " of %d slots assigned, %" PRId64 " in order",
               assigned, SLOT_COUNT, covered);
  else if (covered < SLOT_COUNT)
    doctor_add(x, name, DIBS_FINDING_WARN, "see CLUSTER NODES",
               "%" PRId64 " of %d slots in order: names in the others cannot be locked", covered,
               SLOT_COUNT);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "",
               "state ok, all slots, %" PRId64 " node%s, of which primaries: %" PRId64, nodes,
               plural_s((uint64_t)nodes), facts_number(f, "cluster_size", 0));
}

/* A failed primary is detected after the node timeout, and replaced about two seconds
 * later. */
static void timeout_report(examination *x)
{
  int64_t ms = 0;
  dibs_status status = setting_number(x, "cluster-node-timeout", &ms);

  if (status != DIBS_OK)
    doctor_add(x, "node-timeout", DIBS_FINDING_UNKNOWN,
               ADVICE_MODE ", or look",
               "cluster-node-timeout unknown without CONFIG GET");
  else if (ms + 2000 > INT64_C(2) * TTL_DEFAULT_MS / 3)
    doctor_add(x, "node-timeout", DIBS_FINDING_WARN,
               "set cluster-node-timeout 5000, or use longer leases",
               "cluster-node-timeout=%" PRId64 ": leases of %d ms may end before another primary "
               "renews them", ms, TTL_DEFAULT_MS);
  else
    doctor_add(x, "node-timeout", DIBS_FINDING_PASS, "", "cluster-node-timeout=%" PRId64, ms);
}

static void coverage_report(examination *x)
{
  char words[16];

  if (setting_read(x, "cluster-require-full-coverage", words, sizeof(words)) != DIBS_OK)
    return;
  if (words[0] == 'y')
    doctor_add(x, "coverage", DIBS_FINDING_WARN, "set cluster-require-full-coverage no",
               "cluster-require-full-coverage=yes: one dead shard stops the locks of all");
  else
    doctor_add(x, "coverage", DIBS_FINDING_PASS, "", "cluster-require-full-coverage=no");
}

static void cluster_look(examination *x, const char *name)
{
  facts f;

  if (!x->is_cluster)
    return;
  if (x->deployment != DEPLOYMENT_CLUSTER)
    doctor_add(x, name, DIBS_FINDING_FAIL, "write redis+cluster:// in the URL",
               "this is a node of a cluster, and most names are on others");
  f = facts_ask(x, "CLUSTER", "INFO");
  if (f.reply == NULL)
    doctor_add(x, name, DIBS_FINDING_UNKNOWN,
               ADVICE_MODE ", or look",
               "state unknown without CLUSTER INFO");
  else
    state_report(x, name, &f);
  facts_deinit(&f);
  timeout_report(x);
  coverage_report(x);
}

const doctor_check doctor_cluster_checks[] = {
  { "cluster", cluster_look },
  { NULL, NULL },
};
