/* SPDX-License-Identifier: MIT */
/* api/client_info.c - what a client is: its id, its connections, its counters. */
#include "api/api.h"
#include "api/degrade.h"

#include "base/record_size.h"

const char *dibs_client_id(const dibs_client *client)
{
  const char *id;
  client_record *c;

  if (client_look(client, &c) != DIBS_OK)
    return "";
  id = c->names.client;
  client_unlook(c);
  return id;
}

/* Mutex held. */
static bool is_connected(client_record *c)
{
  engine *e = drive_engine(c->drive);
  size_t all = engine_route_count(e), ready = 0;

  for (size_t i = 0; i < all; i++)
    ready += engine_route_is_ready(e, i);
  return c->servers.kind == DEPLOYMENT_QUORUM ? ready > all / 2 : ready > 0;
}

bool dibs_is_connected(const dibs_client *client)
{
  client_record *c;
  bool is_so;

  if (drive_is_busy() || client_look(client, &c) != DIBS_OK)
    return false;
  drive_lock(c->drive);
  is_so = !c->is_closing && is_connected(c);
  drive_unlock(c->drive);
  client_unlook(c);
  return is_so;
}

static void servers_count(client_record *c, dibs_client_info *info)
{
  engine *e = drive_engine(c->drive);
  text shown = text_over(info->server_down, sizeof(info->server_down));
  /* A Cluster leaves a node that has failed out, and its slots are without one. */
  bool is_missed = engine_unserved_slots(e) > 0;

  for (size_t i = 0; i < engine_route_count(e); i++) {
    const server_url *url = engine_route_url(e, i);
    bool serves = engine_route_serves(e, i);

    if (!serves && !is_missed)
      continue;
    info->servers++;
    if ((serves && !engine_route_is_down(e, i)) || info->servers_down++ > 0)
      continue;
    if (url != NULL)
      server_url_show(url, &shown);
    else
      text_add(&shown, c->shown);
  }
}

static dibs_client_info info_of(client_record *c)
{
  engine_stats s = engine_get_stats(drive_engine(c->drive));
  const char *classes = c->servers.data.classes;

  degrade_count(c, &s);
  return (dibs_client_info){
    .size = sizeof(dibs_client_info),
    .url = c->shown, .is_private = c->is_private, .is_unnamed = c->is_unnamed,
    .degrade = (int32_t)c->servers.data.degrade,
    .classes = classes != NULL ? classes : "",
    .granted = s.granted, .granted_local = s.granted_local, .released = s.released,
    .lost = s.lost, .renewed = s.renewed, .renew_failed = s.renew_failed,
    .commands = s.commands, .messages = s.messages, .connects = s.connects,
    .holds = s.holds, .waiting = s.waiting, .names = s.names, .table_bytes = s.table_bytes,
  };
}

dibs_status dibs_client_get_info(dibs_client *client, dibs_client_info *ret_info)
{
  client_record *c;
  dibs_client_info info;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  if (ret_info == NULL || !record_size_is_set(ret_info->size))
    return client_end(c, client_refuse(c, DIBS_ERR_ARGUMENT, "dibs_client_info.size is not set: "
                                                           "start from DIBS_CLIENT_INFO_INIT"));
  status = client_enter(c, false);
  if (status == DIBS_OK) {
    info = info_of(c);
    servers_count(c, &info);
    client_leave(c);
    record_give(ret_info, &info, sizeof(info));
  }
  return client_end(c, status);
}
