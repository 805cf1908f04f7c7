/* SPDX-License-Identifier: MIT */
/* api/list.c - walks over all names under the prefix, by SCAN, in bounded steps; in
 * dialects without a prefix, over names that match a pattern. */
#include "api/pattern.h"
#include "api/question.h"
#include "api/shown_names.h"
#include "dialect/native/latch.h"

#include <string.h>

#define CURSOR_SIZE 24

#define FAMILIES_ALL \
  (DIBS_FAMILY_LOCK | DIBS_FAMILY_LATCH | DIBS_FAMILY_BARRIER | DIBS_FAMILY_ELECTION)

#define NAMES_TRIED 200000     /* to find a name in a slot of a server */

typedef struct walk {
  client_record *client;
  uint32_t families;
  const char *pattern;
  dibs_list_callback callback;       /* one of the two is set */
  dibs_name_callback name_callback;
  void *data;
  size_t route;
  list_kind kind;
  uint32_t walked;                   /* servers of a quorum, as bits */
  bool is_brief;                     /* one that refuses for now is left out */
  char cursor[CURSOR_SIZE];
  bool must_stop;
  shown_name *shown;                 /* of a quorum */
  dibs_status last;                  /* of the last request */
  instant until;                     /* its end */
} walk;

/* The letter between the prefix and the name. */
static const struct letter { char letter; dibs_family family; } letters[] = {
  { 'm', DIBS_FAMILY_LOCK }, { 'l', DIBS_FAMILY_LATCH }, { 'b', DIBS_FAMILY_BARRIER },
  { 'e', DIBS_FAMILY_ELECTION }
};
#define LETTERS (sizeof(letters) / sizeof(letters[0]))

/* The prefix may have bytes with a meaning in a glob. */
static void match_write(const protocol *names, uint32_t families, text *out)
{
  for (const char *at = names->prefix; *at != 0; at++) {
    if (strchr("*?[]\\^-", *at) != NULL)
      text_add(out, "\\");
    text_add_bytes(out, at, 1);
  }
  text_add(out, ":[");
  for (size_t i = 0; i < LETTERS; i++) {
    if ((families & letters[i].family) != 0)
      text_add_bytes(out, &letters[i].letter, 1);
  }
  text_add(out, "]:*");
}

/* Locks of a dialect whose keys do not begin with the client's prefix. */
static bool is_foreign(const walk *w)
{
  return w->callback != NULL && w->client->names.dialect != &native_dialect;
}

/* A walk ends one limit after the last reply, also where it then asks another server. */
static instant limit_of(walk *w)
{
  if (w->last == DIBS_OK)
    w->until = client_give_up_at(w->client);
  return w->until;
}

static dibs_status page_ask(walk *w, question *q)
{
  const protocol *names = &w->client->names;
  char match[2 * KEY_TEXT_SIZE];
  text pattern = text_over(match, sizeof(match));
  resp_argument words[] = { RESP_TEXT("SCAN"), { w->cursor, strlen(w->cursor) },
                            RESP_TEXT("MATCH"), { match, 0 }, RESP_TEXT("COUNT"),
                            RESP_TEXT("500"), RESP_TEXT("TYPE"), { NULL, 0 } };
  size_t count = 6;
  request command;

  if (is_foreign(w)) {
    const char *type = dialect_list_type(names, w->kind);

    dialect_list_match(names, w->kind, w->pattern, &pattern);
    words[7] = (resp_argument){ type, strlen(type) };
    count = 8;
  } else {
    match_write(names, w->families, &pattern);
  }
  words[3].size = pattern.used;
  request_init(&command, &w->client->memory);
  (void)request_command(&command, words, count);
  w->last = question_run_by(w->client, q, &command,
                            (sync_op){ .give_up_at = limit_of(w), .is_brief = w->is_brief,
                                       .is_pinned = true, .server = w->route });
  request_deinit(&command);
  return question_read_only(w->last);
}

/* Latches `x` and `{x}` are two. */
static bool is_meant(const walk *w, dibs_family family, const char *name)
{
  if (w->pattern == NULL)
    return true;
  return family == DIBS_FAMILY_LATCH ? pattern_means(w->pattern, name)
                                     : pattern_means_lock(&w->client->names, w->pattern, name);
}

/* The pattern and the callback get a text that ends with a zero. */
static bool is_wanted(const walk *w, dibs_family family, char ended[NAME_MAX_BYTES + 1],
                      const char *name, size_t size)
{
  memcpy(ended, name, size);
  ended[size] = 0;
  return is_meant(w, family, ended) &&
         !shown_names_have(w->shown, family, name, size);
}

static void keep_shown(walk *w, dibs_family family, const char *name, size_t size)
{
  if (w->client->servers.kind == DEPLOYMENT_QUORUM)
    shown_names_add(&w->client->memory, &w->shown, family, name, size);
}

static dibs_status name_visit(walk *w, const char *name, size_t size)
{
  char ended[NAME_MAX_BYTES + 1];
  dibs_inspection *found = NULL;
  dibs_status status;
  int before;

  if (!is_wanted(w, DIBS_FAMILY_LOCK, ended, name, size))
    return DIBS_OK;
  status = inspect_name(w->client, name, size, limit_of(w), &found);
  /* A foreign key; where all keys are asked, also one of which the script cannot make sense. */
  if (status == DIBS_ERR_WRONG_TYPE || (is_foreign(w) && status == DIBS_ERR_PROTOCOL))
    return DIBS_OK;
  /* Also without a reply about the parties the name itself was read. */
  w->last = instant_before(drive_now(), w->until) ? status : DIBS_ERR_UNREACHABLE;
  if (status != DIBS_OK)
    return status;
  keep_shown(w, DIBS_FAMILY_LOCK, name, size);
  if (!is_foreign(w) || (found->is_held && dialect_list_is_owner(&w->client->names,
                                                                 found->holder->client))) {
    before = drive_enter_callback();
    w->must_stop = !w->callback(found, w->data);
    drive_leave_callback(before);
  }
  (void)dibs_inspection_free(found);
  return DIBS_OK;
}

/* ---- the name in a key ---- */

/* A record of one request for a latch, kept for a minute: `:C:K` follows the key of the
 * latch. */
static bool is_reported_key(const char *key, size_t size)
{
  size_t at = size;

  while (at > 0 && key[at - 1] >= '0' && key[at - 1] <= '9')
    at--;
  return at < size && at > CLIENT_ID_SIZE && key[at - 1] == ':' &&
         key[at - 1 - CLIENT_ID_SIZE] == ':';
}

/* As native_key_name(), for each family; changes `copy`. 0: a key of no family. */
static dibs_family key_name(const walk *w, char copy[KEY_TEXT_SIZE], const resp_node *key,
                            const char **ret_name, size_t *ret_size)
{
  size_t at = strlen(w->client->names.prefix), size = key->size;
  dibs_family family = (dibs_family)0;

  if (size <= at + 4 || size >= KEY_TEXT_SIZE)
    return family;
  for (size_t i = 0; i < LETTERS; i++) {
    if (key->bytes[at + 1] == letters[i].letter)
      family = letters[i].family;
  }
  if (family == DIBS_FAMILY_LATCH && is_reported_key(key->bytes, size))
    return (dibs_family)0;
  memcpy(copy, key->bytes, size);
  if (family == DIBS_FAMILY_LATCH &&
      native_latch_name_at_end(&w->client->names, copy + at + 3, size - at - 3, ret_name,
                               ret_size))
    return dialect_name_fault(&w->client->names, *ret_name, *ret_size) == NULL ? family : 0;
  copy[at + 1] = 'm';
  if (!native_key_name(&w->client->names, copy, size, ret_name, ret_size))
    return (dibs_family)0;
  return family;
}

static void name_report(walk *w, dibs_family family, const char *name, size_t size)
{
  char ended[NAME_MAX_BYTES + 1];
  int before;

  if (!is_wanted(w, family, ended, name, size))
    return;
  keep_shown(w, family, name, size);
  before = drive_enter_callback();
  w->must_stop = !w->name_callback(family, ended, size, w->data);
  drive_leave_callback(before);
}

/* ---- pages ---- */

static dibs_status key_visit(walk *w, const resp_node *key)
{
  char copy[KEY_TEXT_SIZE];
  const char *name;
  size_t size;
  dibs_family family = key_name(w, copy, key, &name, &size);

  if (family != 0 && w->callback != NULL)
    return name_visit(w, name, size);
  if (family != 0)
    name_report(w, family, name, size);
  return DIBS_OK;
}

static dibs_status foreign_visit(walk *w, const resp_node *key)
{
  many_name names[LIST_NAMES_MAX];
  size_t count = dialect_list_names(&w->client->names, w->kind, key->bytes, key->size, names);
  dibs_status status = DIBS_OK;

  for (size_t i = 0; status == DIBS_OK && !w->must_stop && i < count; i++)
    status = name_visit(w, names[i].name, names[i].size);
  return status;
}

static dibs_status page_visit(walk *w, const resp_reply *reply, const resp_node *keys)
{
  dibs_status status = DIBS_OK;
  const resp_node *key;

  for (size_t i = 0; status == DIBS_OK && !w->must_stop &&
                     (key = resp_child(reply, keys, i)) != NULL; i++)
    if (key->kind == RESP_STRING)
      status = is_foreign(w) ? foreign_visit(w, key) : key_visit(w, key);
  return status;
}

static dibs_status page_walk(walk *w)
{
  question q;
  dibs_status status = page_ask(w, &q);
  const resp_node *root, *cursor, *keys;
  text next;

  if (status == DIBS_OK) {
    root = resp_root(q.reply);
    cursor = resp_child(q.reply, root, 0);
    keys = resp_child(q.reply, root, 1);
    if (cursor == NULL || keys == NULL || cursor->kind != RESP_STRING ||
        keys->kind != RESP_ARRAY || cursor->size >= CURSOR_SIZE) {
      status = client_refuse(w->client, DIBS_ERR_PROTOCOL, "unexpected reply to SCAN");
    } else {
      next = text_over(w->cursor, sizeof(w->cursor));
      text_add_bytes(&next, cursor->bytes, cursor->size);
      status = page_visit(w, q.reply, keys);
    }
  }
  question_deinit(&q);
  return status;
}

/* majority_answers() has just waited for a silent one: another wait would take the time of the
 * others. */
static bool is_left_out(const walk *w, size_t route)
{
  const client_record *c = w->client;

  return c->servers.kind == DEPLOYMENT_QUORUM &&
         ((c->missing_reported | w->walked) >> route & 1) != 0;
}

/* Cluster: every node that serves slots stores a part; a quorum: of any majority of its servers one
 * has each name that a majority has. `w->route` becomes the next server; false: there is none. */
static bool route_next(walk *w, size_t from)
{
  client_record *c = w->client;
  bool is_one = false;

  if (client_enter(c, false) != DIBS_OK)
    return false;
  for (w->route = from; !is_one && w->route < engine_route_count(drive_engine(c->drive));)
    if (engine_route_serves(drive_engine(c->drive), w->route) && !is_left_out(w, w->route))
      is_one = true;
    else
      w->route++;
  client_leave(c);
  memcpy(w->cursor, "0", sizeof("0"));
  return is_one;
}

static dibs_status pages_walk(walk *w)
{
  dibs_status status = DIBS_OK;

  while (status == DIBS_OK) {
    status = page_walk(w);
    if (w->must_stop || strcmp(w->cursor, "0") == 0)
      break;
  }
  return status;
}

static dibs_status route_walk(walk *w)
{
  dibs_status status;

  w->kind = LIST_LOCKS;
  status = pages_walk(w);
  if (!is_foreign(w) || dialect_list_type(&w->client->names, LIST_PERMITS) == NULL)
    return status;
  w->kind = LIST_PERMITS;
  return status == DIBS_OK && !w->must_stop ? pages_walk(w) : status;
}

/* A name whose key is on that server; false: none was found, so it serves almost no slots. */
static bool name_on_route(walk *w, char *ret_name, size_t size, size_t *ret_size)
{
  client_record *c = w->client;
  bool is_there = false;

  if (client_enter(c, false) != DIBS_OK)
    return false;
  for (uint64_t i = 0; !is_there && i < NAMES_TRIED; i++) {
    char bytes[KEY_TEXT_SIZE];
    text key = text_over(bytes, sizeof(bytes)), name = text_over(ret_name, size);

    text_add_uint(&name, i);
    c->names.dialect->key(&c->names, ret_name, name.used, &key);
    is_there = engine_route_of_key(drive_engine(c->drive), bytes, key.used) == w->route;
    *ret_size = name.used;
  }
  client_leave(c);
  return is_there;
}

/* SCAN lists the keys of a node also when the cluster is down. A request for a key is
 * answered only when the node may serve it. */
static dibs_status route_decides(walk *w)
{
  char name[24];
  size_t size;
  dibs_inspection *found = NULL;
  dibs_status status;

  if (!name_on_route(w, name, sizeof(name), &size))
    return DIBS_OK;
  status = inspect_name(w->client, name, size, limit_of(w), &found);
  (void)dibs_inspection_free(found);
  return status == DIBS_ERR_WRONG_TYPE ? DIBS_OK : status;
}

/* SCAN asks servers of a quorum one by one, and does not show whether a majority answers. */
static dibs_status majority_answers(walk *w)
{
  dibs_inspection *found = NULL;
  dibs_status status = inspect_name(w->client, "0", 1, limit_of(w), &found);

  (void)dibs_inspection_free(found);
  return status == DIBS_ERR_WRONG_TYPE ? DIBS_OK : status;
}

/* SCAN on one node of a cluster lists only that node's keys, which would look complete. */
static dibs_status single_check(walk *w)
{
  static const char mark[] = "cluster_enabled:1";
  const resp_argument words[] = { RESP_TEXT("INFO"), RESP_TEXT("cluster") };
  const resp_node *facts;
  request command;
  question q;
  dibs_status status;

  request_init(&command, &w->client->memory);
  (void)request_command(&command, words, 2);
  status = question_run(w->client, &q, &command);
  request_deinit(&command);
  if (status == DIBS_ERR_DENIED || status == DIBS_ERR_REFUSED)      /* INFO is forbidden here */
    status = DIBS_OK;
  facts = status == DIBS_OK && q.reply != NULL ? resp_root(q.reply) : NULL;
  if (facts != NULL && facts->kind == RESP_STRING && strstr(facts->bytes, mark) != NULL)
    status = client_refuse(w->client, DIBS_ERR_CONFIG,
                           "the server is a node of a Cluster: use redis+cluster://HOST:PORT");
  question_deinit(&q);
  return question_read_only(status);
}

/* With the mutex: whether all that the pattern means is in a slot that a node serves. */
static bool is_served(const walk *w)
{
  const protocol *names = &w->client->names;
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));

  if (w->pattern == NULL || !pattern_is_in_one_slot(w->pattern))
    return false;
  names->dialect->key(names, w->pattern, strlen(w->pattern), &key);
  return engine_route_of_key(drive_engine(w->client->drive), bytes, key.used) != SIZE_MAX;
}

static dibs_status slots_check(walk *w)
{
  size_t count;

  if (client_enter(w->client, false) != DIBS_OK)
    return DIBS_ERR_CLOSED;
  count = is_served(w) ? 0 : engine_unserved_slots(drive_engine(w->client->drive));
  client_leave(w->client);
  if (count == 0)
    return DIBS_OK;
  return client_refuse_with(w->client, DIBS_ERR_UNREACHABLE, "the list is incomplete: no node of "
                            "the Cluster serves %zu of its 16384 slots", count);
}

/* Without it the fault of another server would replace the reason. */
static bool has_time(const walk *w)
{
  return w->last == DIBS_OK || instant_before(drive_now(), w->until);
}

/* Asks servers until `*missing` is 0. Returns the last fault; without one the given one. */
static dibs_status servers_walk(walk *w, size_t *missing, dibs_status fault)
{
  bool is_more = route_next(w, 0);

  while (is_more && !w->must_stop && *missing > 0 && has_time(w)) {
    dibs_status status = route_walk(w);

    if (status == DIBS_OK) {
      w->walked |= (uint32_t)1 << w->route;
      --*missing;
    } else {
      fault = status;
    }
    is_more = route_next(w, w->route + 1);
  }
  return fault;
}

/* A server that was restarted empty lacks names that the others have. One that refuses for now is
 * waited for if there is no majority without it. */
static dibs_status quorum_walk(walk *w)
{
  size_t missing = w->client->servers.seed_count / 2 + 1;
  dibs_status fault = majority_answers(w);

  if (fault != DIBS_OK)
    return fault;
  w->is_brief = true;
  fault = servers_walk(w, &missing, DIBS_OK);
  w->is_brief = false;
  fault = servers_walk(w, &missing, fault);
  if (missing == 0 || w->must_stop)
    return DIBS_OK;
  if (fault != DIBS_OK)
    return fault;
  return client_refuse_with(w->client, DIBS_ERR_UNREACHABLE, "the list is incomplete: no majority "
                            "of the servers was asked, %zu are missing", missing);
}

static dibs_status routes_walk(walk *w)
{
  deployment_kind kind = w->client->servers.kind;
  dibs_status status = DIBS_OK;
  bool is_more;

  if (kind == DEPLOYMENT_CLUSTER)        /* the engine now knows its nodes */
    status = client_ping(w->client, limit_of(w));
  else if (kind == DEPLOYMENT_SINGLE)
    status = single_check(w);
  is_more = status == DIBS_OK && route_next(w, 0);
  while (is_more && !w->must_stop) {
    status = kind == DEPLOYMENT_CLUSTER ? route_decides(w) : DIBS_OK;
    if (status == DIBS_OK)
      status = route_walk(w);
    if (status != DIBS_OK)
      break;
    is_more = route_next(w, w->route + 1);
  }
  if (status == DIBS_OK && !w->must_stop && kind == DEPLOYMENT_CLUSTER)
    status = slots_check(w);
  return status;
}

static dibs_status walk_all(dibs_client *client, walk *w)
{
  dibs_status status = client_begin(client, true, &w->client);

  if (status != DIBS_OK)
    return status;
  if (w->callback == NULL && w->name_callback == NULL)
    status = client_refuse(w->client, DIBS_ERR_ARGUMENT, "callback is NULL");
  else if (w->families == 0 || (w->families & ~(uint32_t)FAMILIES_ALL) != 0)
    status = client_refuse(w->client, DIBS_ERR_ARGUMENT,
                           "families must be DIBS_FAMILY_* bits");
  else if (is_foreign(w) && w->pattern == NULL && dialect_list_is_everything(&w->client->names))
    status = client_refuse(w->client, DIBS_ERR_ARGUMENT,
                           "names of this dialect have no prefix: give a pattern, such as "
                           "'orders:*'; '*' goes through the whole database");
  if (status == DIBS_OK)
    status = w->client->servers.kind == DEPLOYMENT_QUORUM ? quorum_walk(w) : routes_walk(w);
  shown_names_free(&w->client->memory, &w->shown);
  return client_end(w->client, status);
}

dibs_status dibs_list(dibs_client *client, const char *pattern, dibs_list_callback callback,
                      void *data)
{
  walk w = { .families = DIBS_FAMILY_LOCK, .pattern = pattern,
             .callback = callback, .data = data, .cursor = "0" };

  return walk_all(client, &w);
}

dibs_status dibs_list_names(dibs_client *client, uint32_t families, const char *pattern,
                            dibs_name_callback callback, void *data)
{
  walk w = { .families = families, .pattern = pattern,
             .name_callback = callback, .data = data, .cursor = "0" };

  return walk_all(client, &w);
}
