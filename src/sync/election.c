/* SPDX-License-Identifier: MIT */
/* sync/election.c - reads the leader of an election. */
#include "sync/election.h"

#include <string.h>

void leader_read(const elect_answer *a, leader_state *ret)
{
  text client = text_over(ret->client, sizeof(ret->client));
  int64_t since_us = (int64_t)a->lease.token;       /* tokens are times of grants */

  ret->is_led = a->is_held && !a->is_leaving && a->remaining_ms > 0;
  ret->epoch = a->epoch;
  ret->remaining_ms = ret->is_led ? a->remaining_ms : 0;
  ret->led_for_ms = ret->is_led && a->server_us > since_us ? (a->server_us - since_us) / 1000
                                                           : 0;
  if (ret->is_led)
    text_add(&client, a->lease.client);
  ret->value_size = ret->is_led ? a->value_size : 0;
  memcpy(ret->value, a->value, ret->value_size);
  ret->value[ret->value_size] = 0;
}

static bool look_ask(const sync_op *op, const protocol *p, request *out)
{
  const election_op *e = (const election_op *)(const void *)op;

  return native_elect_look(p, out, e->name, e->name_size);
}

static sync_next look_read(sync_op *op, const resp_reply *reply)
{
  election_op *e = (election_op *)(void *)op;
  elect_answer a;

  if (!native_elect_look_answer(reply, &a))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to the script elect_look");
  leader_read(&a, &e->state);
  e->lease = a.lease;
  return sync_over(DIBS_OK, "");
}

const sync_row election_look_row = { .name = "election.look", .only_reads = true,
                                     .ask = look_ask, .read = look_read };
