/* SPDX-License-Identifier: MIT */
/* test/lib/deployment_slots.c - which slot, whose slot, and slots on the move. */
#include "deployment_parts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIGRATE_MS = 5000, PIECE = 100 };

/* ---- which slot ---- */

/* CRC-16/XMODEM, as the specification of Redis Cluster has it. */
static int slot_of_bytes(const char *bytes)
{
  unsigned crc = 0;

  for (; *bytes != '\0'; bytes++) {
    crc ^= (unsigned)(unsigned char)*bytes << 8;
    for (int bit = 0; bit < 8; bit++)
      crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    crc &= 0xffff;
  }
  return (int)(crc % TEST_SLOTS);
}

int test_cluster_slot_of(const struct test_cluster *c, const char *key)
{
  for (int i = 0; i < c->group.count; i++)
    if (group_is_living(&c->group, i))
      return (int)test_server_integer(c->group.servers[i], "CLUSTER KEYSLOT %s", key);
  test_bail_out("no member lives");
}

void test_server_add_slots(const struct test_server *s, int count)
{
  char *command = malloc(sizeof("CLUSTER ADDSLOTS") + (size_t)count * sizeof("16383"));
  char *end = stpcpy(command, "CLUSTER ADDSLOTS");
  const char *answer;

  for (int i = 0; i < count; i++)
    end += sprintf(end, " %d", i);
  answer = test_server_command(s, command);
  if (strcmp(answer, "OK") != 0)
    test_bail_out("CLUSTER ADDSLOTS: %s", answer);
  free(command);
}

int test_cluster_owner(const struct test_cluster *c, int slot)
{
  static unsigned char slots[TEST_SLOTS];

  for (int i = 0; i < c->group.count; i++)
    if (group_is_living(&c->group, i) && cluster_slots_of(c->group.servers[i], slots)
        && slots[slot] != 0)
      return i;
  return -1;
}

/* The first numbered name whose slot is marked. */
static void find_name(const unsigned char *slots, const char *prefix, char *ret_name,
                      size_t size)
{
  for (int i = 0; i < 100 * TEST_SLOTS; i++) {
    (void)snprintf(ret_name, size, "%s-%d", prefix, i);
    if (slots[slot_of_bytes(ret_name)] != 0)
      return;
  }
  test_bail_out("no name like %s-N has such a slot", prefix);
}

void test_cluster_name_in(int slot, const char *prefix, char *ret_name, size_t size)
{
  static unsigned char slots[TEST_SLOTS];

  memset(slots, 0, sizeof(slots));
  slots[slot] = 1;
  find_name(slots, prefix, ret_name, size);
}

void test_cluster_name_on(const struct test_cluster *c, int member, const char *prefix,
                          char *ret_name, size_t size)
{
  static unsigned char slots[TEST_SLOTS];

  if (!cluster_slots_of(group_server(&c->group, member), slots))
    test_bail_out("member %d of the cluster serves nothing", member);
  find_name(slots, prefix, ret_name, size);
}

/* ---- step by step ---- */

static int owner_of(const struct test_cluster *c, int slot)
{
  int owner = test_cluster_owner(c, slot);

  if (owner < 0)
    test_bail_out("nobody living serves slot %d", slot);
  return owner;
}

void test_cluster_move_begin(const struct test_cluster *c, int slot, int to)
{
  int from = owner_of(c, slot);

  deployment_expect(group_server(&c->group, to), "OK", "CLUSTER SETSLOT %d IMPORTING %s",
                    slot, c->ids[from]);
  deployment_expect(group_server(&c->group, from), "OK", "CLUSTER SETSLOT %d MIGRATING %s",
                    slot, c->ids[to]);
}

/* One key after the other, so that a test can stop between any two. */
static bool migrate_one(const struct test_server *from, const struct test_server *to,
                        const char *key)
{
  const struct test_server_options *o = &from->options;
  const char *address = test_server_address(to), *answer;
  int port = test_server_port(to);

  if (o->user != NULL)
    answer = test_server_command(from, "MIGRATE %s %d %s 0 %d AUTH2 %s %s", address, port,
                                 key, MIGRATE_MS, o->user, o->password);
  else if (o->password != NULL)
    answer = test_server_command(from, "MIGRATE %s %d %s 0 %d AUTH %s", address, port, key,
                                 MIGRATE_MS, o->password);
  else
    answer = test_server_command(from, "MIGRATE %s %d %s 0 %d", address, port, key,
                                 MIGRATE_MS);
  if (strcmp(answer, "NOKEY") == 0)          /* it expired meanwhile */
    return false;
  if (strcmp(answer, "OK") != 0)
    test_bail_out("MIGRATE %s: %s", key, answer);
  return true;
}

static int move_between(const struct test_cluster *c, int slot, int from, int to, int count)
{
  const struct test_server *source = group_server(&c->group, from);
  int moved = 0;

  while (count < 0 || moved < count) {
    int wanted = count < 0 || count - moved > PIECE ? PIECE : count - moved;
    redisReply *keys = test_server_ask(source, "CLUSTER GETKEYSINSLOT %d %d", slot, wanted);
    size_t found = keys == NULL ? 0 : keys->elements;

    for (size_t i = 0; i < found; i++)
      moved += migrate_one(source, group_server(&c->group, to), keys->element[i]->str);
    if (keys != NULL)
      freeReplyObject(keys);
    if (found == 0)
      break;
  }
  return moved;
}

int test_cluster_move_keys(const struct test_cluster *c, int slot, int to, int count)
{
  return move_between(c, slot, owner_of(c, slot), to, count);
}

/* ---- the end of a move ---- */

/* The epoch of member `which` in an answer of CLUSTER NODES; -1: not in it. */
static long long epoch_in(const char *nodes, const char *id)
{
  long long epoch = -1;

  for (const char *line = nodes; line != NULL; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, id, strlen(id)) == 0)
      return sscanf(line, "%*s %*s %*s %*s %*s %*s %lld", &epoch) == 1 ? epoch : -1;
  }
  return -1;
}

/* A member that has not heard of an owner's newest epoch believes a former owner's last word
 * that is still on its way, and passes it on, even to the owner: then nobody serves the slot. */
static bool all_know_all_epochs(void *data)
{
  const struct test_cluster *c = data;
  const struct group *g = &c->group;
  long long known[TEST_MEMBERS_MAX];

  for (int i = 0; i < g->count; i++)
    known[i] = group_is_living(g, i)
      ? epoch_in(test_server_command(g->servers[i], "CLUSTER NODES"), c->ids[i]) : -1;
  for (int i = 0; i < g->count; i++) {
    const char *nodes = group_is_living(g, i)
      ? test_server_command(g->servers[i], "CLUSTER NODES") : NULL;

    for (int k = 0; nodes != NULL && k < g->count; k++)
      if (known[k] >= 0 && epoch_in(nodes, c->ids[k]) != known[k])
        return false;
  }
  return true;
}

static void wait_for_epochs(const struct test_cluster *c)
{
  if (!deployment_until(FORM_MS, all_know_all_epochs, (void *)(uintptr_t)c))
    test_bail_out("members of the cluster do not agree on its epochs");
}

static void tell_owner(const struct test_cluster *c, int member, int slot, int owner)
{
  deployment_expect(group_server(&c->group, member), "OK", "CLUSTER SETSLOT %d NODE %s", slot,
                    c->ids[owner]);
}

/* The target first: should we die in between, the slot has one owner. */
void test_cluster_move_finish(const struct test_cluster *c, int slot, int to)
{
  int from = owner_of(c, slot);

  if (from != to)
    (void)move_between(c, slot, from, to, -1);
  wait_for_epochs(c);
  tell_owner(c, to, slot, to);
  if (from != to)
    tell_owner(c, from, slot, to);
  for (int i = 0; i < c->group.count; i++)
    if (i != to && i != from && group_is_living(&c->group, i)
        && test_role_of(c->group.servers[i]) == TEST_ROLE_PRIMARY)
      tell_owner(c, i, slot, to);
  wait_for_epochs(c);
}

/* ---- at once ---- */

bool test_cluster_can_move_atomically(const struct test_cluster *c)
{
  for (int i = 0; i < c->group.count; i++)
    if (group_is_living(&c->group, i))
      return test_server_knows(c->group.servers[i], "cluster|migrateslots")
             || test_server_knows(c->group.servers[i], "cluster|migration");
  return false;
}

struct move { const struct test_cluster *c; int first, last, to; };

static bool has_moved(void *data)
{
  static unsigned char slots[TEST_SLOTS];
  const struct move *m = data;

  if (!cluster_slots_of(m->c->group.servers[m->to], slots))
    return false;
  for (int slot = m->first; slot <= m->last; slot++)
    if (slots[slot] == 0)
      return false;
  return true;
}

bool test_cluster_move_atomically(const struct test_cluster *c, int first, int last, int to,
                                  int limit_ms)
{
  const struct test_server *target = group_server(&c->group, to);
  struct move whole = { c, first, last, to };

  if (test_server_knows(target, "cluster|migration")) {
    const char *answer =
      test_server_command(target, "CLUSTER MIGRATION IMPORT %d %d", first, last);
    if (strncmp(answer, "ERR", 3) == 0)
      test_bail_out("CLUSTER MIGRATION IMPORT: %s", answer);
    return deployment_until(limit_ms, has_moved, &whole);
  }
  for (int slot = first, until; slot <= last; slot = until + 1) {
    int owner = owner_of(c, slot);
    for (until = slot; until < last && owner_of(c, until + 1) == owner; until++)
      ;
    if (owner != to)
      deployment_expect(c->group.servers[owner], "OK",
                        "CLUSTER MIGRATESLOTS SLOTSRANGE %d %d NODE %s", slot, until,
                        c->ids[to]);
  }
  return deployment_until(limit_ms, has_moved, &whole);
}
