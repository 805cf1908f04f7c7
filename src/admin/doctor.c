/* SPDX-License-Identifier: MIT */
/* admin/doctor.c - dibs_examine(): examines each server of the deployment in turn. */
#include "admin/doctor.h"

#include <stdio.h>
#include <string.h>

#define FULL "max number of clients"        /* of the error of a server at maxclients */
#define FULL_MS 1500

/* ---- one server ---- */

static const doctor_check *const themes[] = {
  doctor_server_checks, doctor_memory_checks, doctor_replica_checks, doctor_cluster_checks,
  doctor_clock_checks, doctor_rights_checks, doctor_setting_checks,
  doctor_activity_checks,
};

static void version_read(examination *x)
{
  const char *words;
  size_t size;

  x->is_valkey = facts_find(&x->info, "valkey_version", &words, &size);
  memset(x->version, 0, sizeof(x->version));
  if (!x->is_valkey && !facts_find(&x->info, "redis_version", &words, &size))
    return;
  for (size_t part = 0, at = 0; part < 3 && at < size; part++) {
    uint64_t number;
    size_t end = at;

    while (end < size && words[end] != '.')
      end++;
    if (!text_to_uint(words + at, end - at, &number) || number > 1000000)
      return;
    x->version[part] = (int64_t)number;
    at = end + 1;
  }
}

static bool last_error_has(const char *words)
{
  dibs_error error = DIBS_ERROR_INIT;

  (void)dibs_client_error(NULL, 0, &error);
  return strstr(error.text, words) != NULL;
}

/* A server in protected mode refuses every connection: no right of the user is missing. */
static bool is_protected(dibs_status status)
{
  return status == DIBS_ERR_DENIED && last_error_has("DENIED ");
}

static const char *advice_for(dibs_status status)
{
  if (is_protected(status))
    return "give the server a password, or bind it to addresses of a trusted network and set "
           "protected-mode no";
  if (last_error_has(FULL))
    return "raise maxclients, or close connections that CLIENT LIST shows";
  switch (status) {
  case DIBS_ERR_AUTH: return "give the right user and password";
  case DIBS_ERR_DENIED: return ADVICE_RIGHTS;
  case DIBS_ERR_TLS: return "see the certificates, and doc/guide/first-lock.md";
  default: return "see whether the server runs, and whether this machine may reach it";
  }
}

static dibs_status connection_failed(examination *x, dibs_status status)
{
  dibs_error error = DIBS_ERROR_INIT;

  (void)dibs_client_error(NULL, 0, &error);
  doctor_add(x, "connection", DIBS_FINDING_FAIL, advice_for(status), "%s", error.text);
  return status;
}

/* DIBS_OK: the server answers. */
static dibs_status server_is_there(examination *x)
{
  dibs_status status;
  resp_reply *reply = doctor_ask(x, &status, "PING", NULL);

  resp_reply_free(reply);
  x->is_there = doctor_has_replied(status) && !is_protected(status);
  return x->is_there ? DIBS_OK : connection_failed(x, status);
}

#define TAGS 64

/* In a cluster most names belong to other nodes. */
static void tag_choose(examination *x)
{
  char key[PREFIX_MAX_BYTES + 32];
  dibs_status status = DIBS_ERR_SERVER;

  for (int i = 0; i < TAGS && status != DIBS_OK && status != DIBS_ERR_DENIED; i++) {
    (void)snprintf(x->tag, sizeof(x->tag), "doctor%d", i);
    (void)snprintf(key, sizeof(key), "%s:doctor:{%s}", x->client->names.prefix, x->tag);
    if (!x->is_cluster)
      return;
    resp_reply_free(doctor_ask(x, &status, "EXISTS", key, NULL));
    if (status == DIBS_ERR_UNREACHABLE)
      return;                            /* the cluster is down */
  }
}

static void checks_run(examination *x)
{
  for (size_t i = 0; i < sizeof(themes) / sizeof(themes[0]); i++)
    for (const doctor_check *check = themes[i];
         check->name != NULL && !x->is_stopped && !x->is_silent; check++)
      check->look(x, check->name);
}

static dibs_status server_examine(examination *x)
{
  dibs_status status;

  x->is_there = x->is_silent = x->is_down = false;
  status = server_is_there(x);
  if (status != DIBS_OK)
    return status;
  x->info = facts_ask(x, "INFO", NULL);
  version_read(x);
  x->is_cluster = facts_are(&x->info, "cluster_enabled", "1");
  tag_choose(x);
  checks_run(x);
  if (x->is_silent)
    doctor_add(x, "connection", DIBS_FINDING_FAIL, advice_for(DIBS_ERR_UNREACHABLE),
               "the server answered at first, and then no more: the other checks are left out");
  facts_deinit(&x->info);
  return DIBS_OK;
}

/* ---- all of them ---- */

typedef enum node_choice { NODE_NONE, NODE_IDLE, NODE_CHOSEN } node_choice;

/* Fills in the server's name: as the engine knows it, or as the URL names it. */
static node_choice node_choose(examination *x, size_t route)
{
  client_record *c = x->client;
  text shown = text_over(x->node, sizeof(x->node));
  node_choice choice = NODE_NONE;

  if (client_enter(c, false) != DIBS_OK)
    return NODE_NONE;
  if (route < engine_route_count(drive_engine(c->drive))) {
    const server_url *url = engine_route_url(drive_engine(c->drive), route);

    choice = engine_route_serves(drive_engine(c->drive), route) ? NODE_CHOSEN : NODE_IDLE;
    if (url != NULL)
      server_url_show(url, &shown);
    else
      text_add(&shown, c->shown);
  }
  client_leave(c);
  x->route = route;
  return choice;
}

/* A server at maxclients answers at once; another may need all the time to be reached. */
static dibs_status any_server_ping(examination *x)
{
  int32_t all_ms = x->client->times.connect_ms;
  int32_t first_ms = all_ms < FULL_MS ? all_ms : FULL_MS;
  instant now = drive_now();
  dibs_status status = client_ping(x->client, instant_add(now, span_ms(first_ms)));

  if (status != DIBS_ERR_UNREACHABLE || first_ms == all_ms || last_error_has(FULL))
    return status;
  return client_ping(x->client, instant_add(now, span_ms(all_ms)));
}

/* A request to any server: with its reply the engine knows the servers. */
static dibs_status servers_find(examination *x)
{
  dibs_status status = any_server_ping(x);

  if ((doctor_has_replied(status) && !is_protected(status)) ||
      x->deployment == DEPLOYMENT_QUORUM)
    return DIBS_OK;
  (void)node_choose(x, 0);
  return connection_failed(x, status);
}

static dibs_status examine_all(examination *x)
{
  dibs_status first = servers_find(x);
  node_choice choice = NODE_IDLE;
  size_t answered = 0;

  if (first != DIBS_OK)
    return first;
  for (size_t route = 0; !x->is_stopped && choice != NODE_NONE; route++) {
    dibs_status status = DIBS_OK;

    choice = node_choose(x, route);
    if (choice == NODE_CHOSEN)
      status = server_examine(x);
    answered += choice == NODE_CHOSEN && status == DIBS_OK;
    if (first == DIBS_OK)
      first = status;
  }
  doctor_set_examine(x);
  doctor_sentinels_examine(x);
  return answered > 0 || x->is_stopped ? DIBS_OK : first;
}

dibs_status dibs_examine(dibs_client *client, dibs_finding_callback callback, void *data)
{
  examination x = { .callback = callback, .data = data };
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  x.client = c;
  x.deployment = c->servers.kind;
  if (callback == NULL)
    status = client_refuse(c, DIBS_ERR_ARGUMENT, "callback is NULL");
  else
    status = examine_all(&x);
  return client_end(c, status);
}
