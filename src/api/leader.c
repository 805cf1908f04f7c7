/* SPDX-License-Identifier: MIT */
/* api/leader.c - reads the leader of an election. */
#include "api/leader.h"

#include <string.h>

#include "api/call.h"

/* Begins with the program's dibs_leader. Has its own memory functions: it is freed without a
 * client. */
typedef struct leader_box {
  dibs_leader leader;
  memory memory;
  dibs_party party;
  dibs_error error;
  char value[];
} leader_box;

static leader_box *box_of(dibs_leader *leader)
{
  return (leader_box *)(void *)leader;
}

dibs_leader leader_show(leader_state *s, const dibs_error *error, dibs_party *room)
{
  dibs_leader l = { .size = sizeof(l), .is_led = s->is_led, .epoch = s->epoch,
                    .value = s->value, .value_size = s->value_size,
                    .party = room, .remaining_ms = s->remaining_ms,
                    .is_known = s->is_known, .is_published = s->is_published, .error = error };
  text client = text_over(room->client, sizeof(room->client));

  *room = (dibs_party){ .size = sizeof(*room) };
  if (s->is_led) {
    text_add(&client, s->client);
    room->waited_ms = s->led_for_ms;
    room->units = 1;
  }
  return l;
}

dibs_leader *leader_copy(const memory *m, const leader_state *s, const dibs_error *error)
{
  leader_box *box = mem_zalloc(m, sizeof(*box) + s->value_size + 1);
  leader_state copy = *s;

  if (box == NULL)
    return NULL;
  box->memory = *m;
  box->error = *error;
  box->leader = leader_show(&copy, &box->error, &box->party);
  memcpy(box->value, s->value, s->value_size + 1);
  box->leader.value = box->value;
  return &box->leader;
}

dibs_leader *dibs_leader_free(dibs_leader *leader)
{
  if (leader != NULL)
    mem_free(&box_of(leader)->memory, leader);
  return NULL;
}

/* ---- asking once ---- */

/* Adds host and pid of the client; without a registration they stay blank. */
static void party_add(client_record *c, const char *name, const lease_id *lease, instant until,
                      dibs_party *ret_party)
{
  char bytes[LEASE_TEXT_SIZE];
  text expected = text_over(bytes, sizeof(bytes));
  dibs_inspection *in = NULL;

  lease_id_write(lease, &expected);
  if (inspect_name(c, name, strlen(name), until, &in) != DIBS_OK)
    return;
  if (in->is_held && strcmp(in->lease, bytes) == 0)
    *ret_party = *in->holder;
  (void)dibs_inspection_free(in);
}

static dibs_status leader_get(client_record *c, const char *name, dibs_leader **ret_leader)
{
  static const dibs_error none = DIBS_ERROR_INIT;
  election_op e = { .op.row = &election_look_row, .name = name, .name_size = strlen(name) };
  wait_plan plan = { .until = client_give_up_at(c) };
  dibs_leader *leader;
  dibs_status status = call_blocking(c, &e.op, &plan);

  if (status != DIBS_OK)
    return status;
  leader = leader_copy(&c->memory, &e.state, &none);
  if (leader == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  if (e.state.is_led)
    party_add(c, name, &e.lease, plan.until, &box_of(leader)->party);
  *ret_leader = leader;
  return DIBS_OK;
}

dibs_status dibs_get_leader(dibs_client *client, const char *name, dibs_leader **ret_leader)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

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
  return client_end(c, status);
}
