/* SPDX-License-Identifier: MIT */
/* Primary and replica as servers of their own: who follows whom, the ids of their histories,
 * and min-replicas-to-write. */
#include "server/parts.h"

#include <string.h>

#define CRON_US 1000000

static void id_draw(sim_server *s, char ret_id[41])
{
  for (int i = 0; i < 40; i++)
    ret_id[i] = "0123456789abcdef"[random_below(&s->random_ids, 16)];
  ret_id[40] = 0;
}

static void second_forget(sim_server *s)
{
  memset(s->replid2, '0', 40);
  s->second_offset = -1;
}

void roles_new(sim_server *s, uint64_t seed)
{
  /* A stream of its own: who evicts or expires what does not depend on ids. Servers of one
   * seed have different ones all the same. */
  uint64_t place = (uint64_t)s->port;

  for (const char *c = s->host; *c != 0; c++)
    place = place * 31 + (unsigned char)*c;
  random_seed(&s->random_ids, seed ^ (place + 1) * 0x9e3779b97f4a7c15U);
  id_draw(s, s->replid);
  second_forget(s);
  s->next_cron_us = s->wall_us + CRON_US;
}

void roles_new_era(sim_server *s, bool has_past)
{
  if (has_past) {
    memcpy(s->replid2, s->replid, sizeof(s->replid2));
    s->second_offset = (int64_t)s->offset + 1;
  } else {
    second_forget(s);
  }
  id_draw(s, s->replid);
}

/* A server that had neither replicas nor a primary keeps no backlog; where one begins, so
 * does a history. */
void roles_first_replica(sim_server *s)
{
  if (s->has_backlog)
    return;
  s->has_backlog = true;
  roles_new_era(s, false);
}

bool server_is_replica(const sim_server *s)
{
  return s->is_follower || s->conditions[SIM_READ_ONLY];
}

bool server_lacks_replicas(const sim_server *s)
{
  return s->conditions[SIM_NO_REPLICAS] ||
         (s->min_replicas > 0 && !s->is_follower && s->good_replicas < s->min_replicas);
}

/* Once in a second, as in a real server: until then it believes what it saw before. */
void roles_tick(sim_server *s)
{
  if (s->wall_us < s->next_cron_us)
    return;
  s->next_cron_us = s->wall_us + CRON_US;
  s->good_replicas = replica_good_count(s);
}

void roles_clock_moved(sim_server *s, int64_t by_us)
{
  if (by_us < 0)
    s->next_cron_us += by_us;
}

int64_t roles_next_us(const sim_server *s)
{
  return s->min_replicas > 0 && !s->is_follower ? s->next_cron_us : INT64_MAX;
}

void sim_server_min_replicas(sim_server *s, int count, int max_lag_s)
{
  s->min_replicas = count;
  s->max_lag_s = max_lag_s;
  s->good_replicas = replica_good_count(s);
}

/* ---- following ---- */

static void primary_leave(sim_server *s)
{
  if (s->primary == NULL)
    return;
  replica_leave(s->primary, s);
  s->primary->good_replicas = replica_good_count(s->primary);
  s->primary = NULL;
}

/* Those who follow `s` do so no more: their links are broken. */
static void followers_leave(sim_server *s)
{
  sim_server *follower;

  while ((follower = replica_first_follower(s)) != NULL) {
    follower->primary = NULL;
    replica_leave(s, follower);
  }
  s->good_replicas = replica_good_count(s);
}

/* Whoever waits for something of a primary is told, and thrown out. */
static void end_blocked(sim_server *s)
{
  for (sim_connection *c = s->first; c != NULL; c = c->next) {
    reply r = reply_to_bytes(&c->output);

    if (!c->is_waiting)
      continue;
    reply_error(&r, "UNBLOCKED force unblock from blocking operation, instance state "
                    "changed (master -> replica?)");
    connection_finish(c);
  }
}

void sim_server_follow(sim_server *s, sim_server *primary)
{
  end_blocked(s);
  primary_leave(s);
  followers_leave(s);
  s->is_follower = true;
  s->primary = primary;
  s->primary_host = primary->host;
  s->primary_port = primary->port;
  replica_join(primary, s);
  primary->good_replicas = replica_good_count(primary);
  s->offset = primary->offset;
  memcpy(s->replid, primary->replid, sizeof(s->replid));
  second_forget(s);
  s->has_backlog = true;
  s->version++;
}

void sim_server_promote(sim_server *s)
{
  if (!s->is_follower)
    return;
  primary_leave(s);
  s->is_follower = false;
  roles_new_era(s, true);
  s->version++;
}

void roles_restart(sim_server *s, bool keeps_data)
{
  primary_leave(s);
  followers_leave(s);
  s->has_backlog = s->is_follower;
  if (!s->is_follower)
    roles_new_era(s, keeps_data);
}

void roles_free(sim_server *s)
{
  primary_leave(s);
  followers_leave(s);
}

uint64_t sim_server_offset(const sim_server *s) { return s->offset; }

sim_server *sim_server_primary(const sim_server *s) { return s->primary; }

bool sim_server_is_replica(const sim_server *s) { return s->is_follower; }

void sim_server_replicate(sim_server *s, uint64_t offset)
{
  if (s->primary != NULL)
    replica_receive(s->primary, s, offset);
}

void sim_server_acknowledge(sim_server *s, uint64_t offset)
{
  if (s->primary != NULL)
    replica_hear(s->primary, s, offset);
}
