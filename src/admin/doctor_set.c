/* SPDX-License-Identifier: MIT */
/* admin/doctor_set.c - the further addresses of a replicated set in the URL: whether each answers,
 * and follows the primary that was examined. */
#include "admin/doctor.h"

#include <stdio.h>
#include <string.h>

void doctor_set_primary(examination *x, const facts *f)
{
  (void)snprintf(x->primary, sizeof(x->primary), "%s", x->node);
  facts_copy(f, "run_id", x->primary_id, sizeof(x->primary_id));
  facts_copy(f, "master_replid", x->set_id, sizeof(x->set_id));
}

/* Each client uses the primary that it finds best: that may be another one for each. */
static void primary_report(examination *x, const facts *f)
{
  char id[48];

  facts_copy(f, "run_id", id, sizeof(id));
  if (x->primary[0] == 0) {               /* the first did not answer */
    doctor_set_primary(x, f);
    doctor_add(x, "role", DIBS_FINDING_PASS, "", "primary");
  } else if (id[0] != 0 && strcmp(id, x->primary_id) == 0) {
    doctor_add(x, "role", DIBS_FINDING_PASS, "", "the primary %s by another address",
               x->primary);
  } else {
    doctor_add(x, "role", DIBS_FINDING_FAIL,
               "make one of the two a replica of the other (REPLICAOF), and find out which clients "
               "used it",
               "two primaries, %s and %s: a lock may have a holder on each", x->primary, x->node);
  }
}

/* A client that asks a replica for its primary finds that, too. */
static void replica_report(examination *x, const facts *f)
{
  char host[256], port[8], primary[272], set_id[48];

  facts_copy(f, "master_host", host, sizeof(host));
  facts_copy(f, "master_port", port, sizeof(port));
  doctor_address(host, port, primary, sizeof(primary));
  facts_copy(f, "master_replid", set_id, sizeof(set_id));
  if (!facts_are(f, "master_link_status", "up"))
    doctor_add(x, "role", DIBS_FINDING_WARN, "see the replica's log and its network",
               "the link of this replica to its primary %s is down: after a failover to it locks "
               "may be forgotten", primary);
  else if (x->set_id[0] != 0 && set_id[0] != 0 && strcmp(set_id, x->set_id) != 0)
    doctor_add(x, "role", DIBS_FINDING_FAIL,
               "let it follow that primary (REPLICAOF), or leave it out of the URL",
               "this replica follows %s, and not %s: clients may use either primary", primary,
               x->primary);
  else
    doctor_add(x, "role", DIBS_FINDING_PASS, "", "replica of %s", primary);
}

static void silence_report(examination *x, dibs_status status)
{
  if (status == DIBS_ERR_UNSUPPORTED)
    doctor_add(x, "role", DIBS_FINDING_UNKNOWN,
               "see its INFO replication: role, master_link_status",
               "with TLS only the primary of the URL is examined");
  else if (status == DIBS_ERR_DENIED)
    doctor_add(x, "role", DIBS_FINDING_UNKNOWN, "give this user +info (dibs acl)",
               "INFO is not allowed: whether it is a second primary is not known");
  else
    doctor_add(x, "connection", DIBS_FINDING_WARN,
               status == DIBS_ERR_AUTH
                 ? "give the right user and password"
                 : "see whether the server runs, and whether this machine may reach it",
               "%s: this server cannot take over, and whether it is a second primary is not known",
               status == DIBS_ERR_UNREACHABLE ? "no answer" : dibs_status_text(status));
}

static void address_examine(examination *x, const server_url *url)
{
  const resp_argument words[] = { RESP_TEXT("INFO") };
  text shown = text_over(x->node, sizeof(x->node));
  dibs_status status = DIBS_OK;
  resp_reply *reply;
  facts f;

  server_url_show(url, &shown);
  if (strcmp(x->node, x->primary) == 0)
    return;
  reply = doctor_ask_once(x, url, words, 1, &status);
  f = facts_take(reply, status);
  if (f.reply == NULL)
    silence_report(x, f.status);
  else if (facts_are(&f, "role", "master"))
    primary_report(x, &f);
  else if (facts_are(&f, "role", "slave"))
    replica_report(x, &f);
  else
    doctor_add(x, "role", DIBS_FINDING_WARN, "see which program listens there",
               "INFO names no role: this is no server of the set");
  facts_deinit(&f);
}

void doctor_set_examine(examination *x)
{
  const deployment *d = &x->client->servers;

  if (d->kind != DEPLOYMENT_REPLICATED)
    return;
  for (size_t i = 0; i < d->seed_count && !x->is_stopped; i++)
    address_examine(x, &d->seeds[i]);
}
