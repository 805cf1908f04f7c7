/* SPDX-License-Identifier: MIT */
/* api/leader.c - who leads now. */
#include "api/leader.h"

#include <stddef.h>
#include <string.h>

/* Freed without a client, so that it carries its memory along. */
typedef struct leader_box {
  memory memory;
  dibs_leader leader;
  char value[];
} leader_box;

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

bool leader_is_same(const leader_state *a, const leader_state *b)
{
  return a->is_led == b->is_led && a->epoch == b->epoch && a->value_size == b->value_size &&
         memcmp(a->value, b->value, a->value_size) == 0;
}

dibs_leader leader_show(leader_state *s)
{
  dibs_leader l = { .size = sizeof(l), .is_led = s->is_led, .epoch = s->epoch,
                    .value = s->value, .value_size = s->value_size,
                    .remaining_ms = s->remaining_ms };
  text client = text_over(l.party.client, sizeof(l.party.client));

  l.party.size = sizeof(l.party);
  if (s->is_led) {
    text_add(&client, s->client);
    l.party.waited_ms = s->led_for_ms;
    l.party.units = 1;
  }
  return l;
}

dibs_leader *leader_copy(const memory *m, const leader_state *s)
{
  leader_box *box = mem_zalloc(m, sizeof(*box) + s->value_size + 1);
  leader_state copy = *s;

  if (box == NULL)
    return NULL;
  box->memory = *m;
  box->leader = leader_show(&copy);
  memcpy(box->value, s->value, s->value_size + 1);
  box->leader.value = box->value;
  return &box->leader;
}

dibs_leader *dibs_leader_free(dibs_leader *leader)
{
  leader_box *box;
  memory m;

  if (leader == NULL)
    return NULL;
  box = (leader_box *)(void *)((char *)leader - offsetof(leader_box, leader));
  m = box->memory;
  mem_free(&m, box);
  return NULL;
}

/* ---- asking once ---- */

static dibs_status look(dibs_client *c, const char *name, leader_state *ret_state,
                        lease_id *ret_lease)
{
  script_command k;
  size_t size = strlen(name);
  elect_answer a;
  question q;
  dibs_status status;

  script_command_init(&k, c);
  status = question_read_only(
    script_command_run(c, &q, &k,
                native_elect_look(&c->names, &k.by_digest, false, name, size) &&
                  native_elect_look(&c->names, &k.by_text, true, name, size)));
  if (status == DIBS_OK && !native_elect_look_answer(q.reply, &a))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "an answer to elect_look of no known form");
  if (status == DIBS_OK) {
    leader_read(&a, ret_state);
    *ret_lease = a.lease;
  }
  question_deinit(&q);
  script_command_deinit(&k);
  return status;
}

/* Host and program behind the client; what is not to be had leaves blanks. */
static void party_add(dibs_client *c, const char *name, const lease_id *lease,
                      dibs_leader *leader)
{
  char bytes[LEASE_TEXT_SIZE];
  text expected = text_over(bytes, sizeof(bytes));
  dibs_inspection *in = NULL;

  lease_id_write(lease, &expected);
  if (inspect_name(c, name, strlen(name), &in) != DIBS_OK)
    return;
  if (in->is_held && strcmp(in->lease, bytes) == 0)
    leader->party = in->holder;
  (void)dibs_inspection_free(in);
}

static dibs_status leader_get(dibs_client *c, const char *name, dibs_leader **ret_leader)
{
  leader_state state = { .value_size = 0 };
  lease_id lease = { .token = 0 };
  dibs_leader *leader;
  dibs_status status = look(c, name, &state, &lease);

  if (status != DIBS_OK)
    return status;
  leader = leader_copy(&c->memory, &state);
  if (leader == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  if (state.is_led)
    party_add(c, name, &lease, leader);
  *ret_leader = leader;
  return DIBS_OK;
}

dibs_status dibs_get_leader(dibs_client *c, const char *name, dibs_leader **ret_leader)
{
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  if (name == NULL || ret_leader == NULL) {
    status = client_refuse(c, DIBS_ERR_ARGUMENT,
                           name == NULL ? "name is NULL" : "ret_leader is NULL");
  } else {
    status = name_check(c, name, strnlen(name, DIBS_NAME_MAX + 1));
    if (status == DIBS_OK)
      status = one_place_check(c);
    if (status == DIBS_OK)
      status = native_check(c, "elections");
    if (status == DIBS_OK)
      status = leader_get(c, name, ret_leader);
  }
  client_unpin(c);
  return status;
}
