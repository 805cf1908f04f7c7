/* SPDX-License-Identifier: MIT */
/* api/fleet_read.c - dibs_fleet_read(): the totals of all classes, and what the clients of the
 * index hold and wait for. All servers of a quorum are asked: each may have missed reports. */
#include "api/fleet_ask.h"

#include <string.h>

#define MOST "10000"             /* clients: those that reported last */

/* What belongs to the caller. */
typedef struct fleet_result {
  dibs_fleet shown;
  fleet_reading reading;
} fleet_result;

/* Members of an index, each once: size, bytes. */
typedef struct members {
  buffer bytes;
  size_t count;
} members;

typedef struct member { const char *at; size_t size; } member;

static bool member_next(const members *m, size_t *offset, member *ret)
{
  const char *bytes = buffer_bytes(&m->bytes);
  size_t size;

  if (*offset >= buffer_size(&m->bytes))
    return false;
  memcpy(&size, bytes + *offset, sizeof(size));
  *ret = (member){ bytes + *offset + sizeof(size), size };
  *offset += sizeof(size) + size;
  return true;
}

static bool member_has(const members *m, const resp_node *n)
{
  size_t offset = 0;
  member one;

  while (member_next(m, &offset, &one))
    if (one.size == n->size && memcmp(one.at, n->bytes, n->size) == 0)
      return true;
  return false;
}

static bool members_add(void *data, const resp_reply *reply)
{
  members *m = data;
  bool is_first = m->count == 0;         /* the others of a quorum mostly repeat it */
  const resp_node *n;

  for (size_t i = 0; (n = resp_child(reply, resp_root(reply), i)) != NULL; i++) {
    if (n->kind != RESP_STRING || n->size == 0 || n->size >= FLEET_CLASS_SIZE ||
        (!is_first && member_has(m, n)))
      continue;
    if (!buffer_append(&m->bytes, &n->size, sizeof(n->size)) ||
        !buffer_append(&m->bytes, n->bytes, n->size))
      return false;
    m->count++;
  }
  return true;
}

static dibs_status members_read(client_record *c, void (*key_of)(const protocol *, text *),
                                members *m)
{
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));
  resp_argument words[] = { RESP_TEXT("ZRANGE"), { bytes, 0 }, RESP_TEXT("-" MOST),
                            RESP_TEXT("-1") };

  key_of(&c->names, &key);
  words[1].size = key.used;
  return fleet_ask(c, words, 4, members_add, m);
}

/* ---- totals ---- */

typedef struct totals { fleet_reading *reading; member name; } totals;

static bool totals_add(void *data, const resp_reply *reply)
{
  totals *t = data;

  return fleet_read_totals(t->reading, t->name.at, t->name.size, reply);
}

static dibs_status totals_read(client_record *c, const members *classes, fleet_reading *r)
{
  dibs_status status = DIBS_OK;
  totals t = { .reading = r };
  size_t offset = 0;

  while (status == DIBS_OK && member_next(classes, &offset, &t.name)) {
    char bytes[KEY_TEXT_SIZE], name[FLEET_CLASS_SIZE] = "";
    text key = text_over(bytes, sizeof(bytes));
    resp_argument words[] = { RESP_TEXT("HGETALL"), { bytes, 0 } };

    memcpy(name, t.name.at, t.name.size);
    fleet_key_totals(&c->names, name, &key);
    words[1].size = key.used;
    status = fleet_ask(c, words, 2, totals_add, &t);
    if (status == DIBS_ERR_WRONG_TYPE)
      status = DIBS_OK;                  /* another program's key */
  }
  return status;
}

/* ---- gauges ---- */

#define BATCH 256

/* Sends many at once: a thousand clients would be a thousand round trips. */
static dibs_status gauges_ask(client_record *c, question *qs, const members *clients,
                              size_t *offset, size_t *ret_count)
{
  instant until = client_give_up_at(c);
  dibs_status status = client_enter(c, true);
  size_t count = 0;
  member one;

  *ret_count = 0;
  if (status != DIBS_OK)
    return status;
  while (count < BATCH && member_next(clients, offset, &one)) {
    char bytes[KEY_TEXT_SIZE], id[CLIENT_ID_SIZE] = "";
    text key = text_over(bytes, sizeof(bytes));
    resp_argument words[] = { RESP_TEXT("HGET"), { bytes, 0 }, RESP_TEXT("gauges") };
    request command;

    if (one.size != CLIENT_ID_SIZE - 1)
      continue;
    memcpy(id, one.at, one.size);
    native_client_key(&c->names, id, &key);
    words[1].size = key.used;
    request_init(&command, &c->memory);
    (void)request_command(&command, words, 3);
    question_ask(c, &qs[count++], &command, until);
    request_deinit(&command);
  }
  for (size_t i = 0; i < count; i++) {
    dibs_status one_status = question_read_only(question_wait(c, &qs[i]));

    status = status == DIBS_OK ? one_status : status;
  }
  client_leave(c);
  *ret_count = count;
  return status;
}

static dibs_status gauges_read(client_record *c, const members *clients, fleet_reading *r)
{
  question *qs = mem_zalloc(&c->memory, BATCH * sizeof(*qs));
  dibs_status status = qs == NULL ? client_refuse(c, DIBS_ERR_NO_MEMORY, "") : DIBS_OK;
  size_t offset = 0, count;

  while (qs != NULL && status == DIBS_OK && offset < buffer_size(&clients->bytes)) {
    memset(qs, 0, BATCH * sizeof(*qs));
    status = gauges_ask(c, qs, clients, &offset, &count);
    for (size_t i = 0; i < count; i++) {
      const resp_node *n = qs[i].reply != NULL ? resp_root(qs[i].reply) : NULL;

      if (n != NULL && n->kind == RESP_STRING && status == DIBS_OK) {
        r->fleet.clients++;
        if (!fleet_read_gauges(r, n))
          status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
      }
      question_deinit(&qs[i]);
    }
  }
  mem_free(&c->memory, qs);
  return status;
}

/* ---- all ---- */

static dibs_status read_all(client_record *c, fleet_reading *r)
{
  members classes = { .count = 0 }, clients = { .count = 0 };
  dibs_status status;

  buffer_init(&classes.bytes, &c->memory);
  buffer_init(&clients.bytes, &c->memory);
  status = fleet_server_time(c, &r->fleet.server_us);
  if (status == DIBS_OK)
    status = members_read(c, fleet_key_classes, &classes);
  if (status == DIBS_OK)
    status = members_read(c, fleet_key_clients, &clients);
  if (status == DIBS_OK)
    status = totals_read(c, &classes, r);
  if (status == DIBS_OK)
    status = gauges_read(c, &clients, r);
  buffer_deinit(&classes.bytes);
  buffer_deinit(&clients.bytes);
  return status;
}

dibs_status dibs_fleet_read(dibs_client *client, dibs_fleet **ret_fleet)
{
  client_record *c;
  fleet_result *result;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  if (ret_fleet == NULL)
    return client_end(c, client_refuse(c, DIBS_ERR_ARGUMENT, "ret_fleet is NULL"));
  result = mem_zalloc(&c->memory, sizeof(*result));
  if (result == NULL)
    return client_end(c, client_refuse(c, DIBS_ERR_NO_MEMORY, ""));
  result->reading.memory = c->memory;
  status = read_all(c, &result->reading);
  if (status == DIBS_OK && !fleet_read_show(&result->reading))
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  if (status == DIBS_OK) {
    result->shown = result->reading.fleet;
    result->shown.size = sizeof(result->shown);
    result->shown.rows = result->reading.shown;
    *ret_fleet = &result->shown;
  } else {
    fleet_reading_deinit(&result->reading);
    mem_free(&c->memory, result);
  }
  return client_end(c, status);
}

dibs_fleet *dibs_fleet_free(dibs_fleet *read)
{
  fleet_result *result = (fleet_result *)(void *)read;

  if (result == NULL)
    return NULL;
  fleet_reading_deinit(&result->reading);
  mem_free(&result->reading.memory, result);
  return NULL;
}
