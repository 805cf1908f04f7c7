/* SPDX-License-Identifier: MIT */
/* api/doctor_cluster.c - a node of a cluster: its slots, and how long a failover takes. */
#include "api/doctor.h"

#include <inttypes.h>

#define TTL_MS_DEFAULT 30000

static void state_tell(examination *x, const char *name, const facts *f)
{
  int64_t covered = facts_number(f, "cluster_slots_ok", 0);
  int64_t assigned = facts_number(f, "cluster_slots_assigned", 0);

  if (!facts_are(f, "cluster_state", "ok"))
    doctor_tell(x, name, DIBS_FINDING_FAIL, "see CLUSTER NODES: a primary is missing, or slots are",
                "cluster_state is not ok: %" PRId64 " of %d slots assigned, %" PRId64 " in order",
                assigned, SLOT_COUNT, covered);
  else if (covered < SLOT_COUNT)
    doctor_tell(x, name, DIBS_FINDING_WARN, "see CLUSTER NODES",
                "%" PRId64 " of %d slots in order: names in the others cannot be locked", covered,
                SLOT_COUNT);
  else
    doctor_tell(x, name, DIBS_FINDING_PASS, "",
                "state ok, all slots, %" PRId64 " nodes, %" PRId64 " of them primaries",
                facts_number(f, "cluster_known_nodes", 0), facts_number(f, "cluster_size", 0));
}

/* A dead primary is missed after the node timeout, and replaced about two seconds later. */
static void timeout_tell(examination *x)
{
  int64_t ms = 0;
  dibs_status status = setting_number(x, "cluster-node-timeout", &ms);

  if (status != DIBS_OK)
    doctor_tell(x, "node-timeout", DIBS_FINDING_UNKNOWN,
                "give this user the rights of dibs acl --mode doctor, or look",
                "cluster-node-timeout may not be read (CONFIG GET)");
  else if (ms + 2000 > TTL_MS_DEFAULT / 3 * 2)
    doctor_tell(x, "node-timeout", DIBS_FINDING_WARN,
                "set cluster-node-timeout 5000, or use longer leases",
                "cluster-node-timeout=%" PRId64 ": leases of %d ms may end before another primary "
                "renews them", ms, TTL_MS_DEFAULT);
  else
    doctor_tell(x, "node-timeout", DIBS_FINDING_PASS, "", "cluster-node-timeout=%" PRId64, ms);
}

static void coverage_tell(examination *x)
{
  char words[16];

  if (setting_read(x, "cluster-require-full-coverage", words, sizeof(words)) != DIBS_OK)
    return;
  if (words[0] == 'y')
    doctor_tell(x, "coverage", DIBS_FINDING_WARN, "set cluster-require-full-coverage no",
                "cluster-require-full-coverage=yes: one dead shard stops the locks of all");
  else
    doctor_tell(x, "coverage", DIBS_FINDING_PASS, "", "cluster-require-full-coverage=no");
}

static void cluster_look(examination *x, const char *name)
{
  facts f;

  if (!x->is_cluster)
    return;
  if (x->deployment != DEPLOYMENT_CLUSTER)
    doctor_tell(x, name, DIBS_FINDING_FAIL, "write redis+cluster:// in the URL",
                "this is a node of a cluster, and most names are on others");
  f = facts_ask(x, "CLUSTER", "INFO");
  if (f.reply == NULL)
    doctor_tell(x, name, DIBS_FINDING_UNKNOWN,
                "give this user the rights of dibs acl --mode doctor, or look",
                "CLUSTER INFO may not be asked");
  else
    state_tell(x, name, &f);
  facts_deinit(&f);
  timeout_tell(x);
  coverage_tell(x);
}

const doctor_check doctor_cluster_checks[] = {
  { "cluster", cluster_look },
  { NULL, NULL },
};
