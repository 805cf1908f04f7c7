/* SPDX-License-Identifier: MIT */
/* local/sandbox_plan.c - plans the servers of a sandbox. */
#include "local/sandbox_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "local/ask.h"
#include "local/failure.h"
#include "local/own_files.h"
#include "local/port.h"

#define SERVICE "service"

enum { REPLICAS = 2, SENTINELS = 3, CLUSTER_MAX = 8, QUORUM_MAX = 9, ASK_MS = 2000,
       DOWN_AFTER_MS = 1000, FAILOVER_MS = 3000 };

/* ---- options ---- */

static dibs_status refuse_count(dibs_error *error, const char *what, int count,
                                const char *expected)
{
  return failure(error, DIBS_ERR_ARGUMENT, "sandbox: a %s of %d: expected %s", what, count,
                 expected);
}

static dibs_status count_servers(sandbox_plan *plan, const dibs_sandbox_options *o,
                                 dibs_error *error)
{
  plan->kind = o == NULL ? DIBS_SANDBOX_SERVER : o->kind;
  plan->count = 1;
  switch (plan->kind) {
  case DIBS_SANDBOX_SERVER:
    return DIBS_OK;
  case DIBS_SANDBOX_SENTINEL:
    plan->sentinels = SENTINELS;
    plan->count = 1 + REPLICAS + SENTINELS;
    return DIBS_OK;
  case DIBS_SANDBOX_CLUSTER:
    plan->count = o->servers == 0 ? 3 : o->servers;
    return plan->count >= 1 && plan->count <= CLUSTER_MAX
             ? DIBS_OK
             : refuse_count(error, "cluster", plan->count, "1 to 8");
  case DIBS_SANDBOX_QUORUM:
    plan->count = o->servers == 0 ? 5 : o->servers;
    return plan->count >= 1 && plan->count <= QUORUM_MAX && plan->count % 2 == 1
             ? DIBS_OK
             : refuse_count(error, "quorum", plan->count, "an odd number from 1 to 9");
  default:
    return failure(error, DIBS_ERR_ARGUMENT, "sandbox: unknown kind %d", (int)plan->kind);
  }
}

/* ---- the servers ---- */

static bool make_file(const char *directory, const char *name)
{
  char path[PLACE_SOCKET_MAX + 16];
  int fd;

  (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
  fd = own_file_open(path, O_WRONLY);
  if (fd < 0)
    return false;
  (void)close(fd);
  return true;
}

static void prepare_data(const sandbox_plan *plan, server_run *run,
                         const server_program *program, const place *p, int which)
{
  server_run_prepare(run, program, p, false);
  if (plan->kind == DIBS_SANDBOX_SERVER)
    return;
  server_run_listen(run, plan->nodes[which].port);
  if (plan->kind == DIBS_SANDBOX_QUORUM)
    return;
  server_run_add(run, form_replica_options);
  if (plan->kind != DIBS_SANDBOX_CLUSTER)
    return;
  server_run_add(run, form_cluster_options);
  server_run_add(run, (const char *const[]){ "--cluster-enabled", "yes",
                                             "--cluster-node-timeout", "2000",
                                             "--cluster-announce-ip", "127.0.0.1", NULL });
}

static const char *role_of(const sandbox_plan *plan, int which)
{
  if (plan->kind == DIBS_SANDBOX_SENTINEL && which > 0)
    return which < plan->count - plan->sentinels ? "replica" : "sentinel";
  return plan->kind == DIBS_SANDBOX_SERVER || plan->kind == DIBS_SANDBOX_QUORUM ? "server"
                                                                                : "primary";
}

static dibs_status make_server(sandbox_plan *plan, const server_program *program,
                               const char *directory, int which, dibs_error *error)
{
  bool is_sentinel = which >= plan->count - plan->sentinels;
  char below[PLACE_SOCKET_MAX];
  place p;

  if (plan->kind == DIBS_SANDBOX_SERVER)
    (void)snprintf(below, sizeof(below), "%.80s", directory);
  else
    (void)snprintf(below, sizeof(below), "%.80s/%d", directory, which);
  place_in(below, &p);
  plan->roles[which] = role_of(plan, which);
  if (!own_directory_make(below)
      || (is_sentinel && !make_file(below, "sentinel.conf")))
    return failure(error, DIBS_ERR_SYSTEM, "sandbox: %s cannot be made: %s", below,
                   strerror(errno));
  if (plan->kind != DIBS_SANDBOX_SERVER) {
    plan->nodes[which].address = "127.0.0.1";
    plan->nodes[which].port = port_claim(&plan->claims[which]);
    if (plan->nodes[which].port == 0)
      return failure(error, DIBS_ERR_SYSTEM, "sandbox: no free port: %s%s", strerror(errno),
                     failure_advice(errno));
  }
  if (is_sentinel)
    server_run_prepare_sentinel(&plan->runs[which], program, &p, plan->nodes[which].port);
  else
    prepare_data(plan, &plan->runs[which], program, &p, which);
  return DIBS_OK;
}

dibs_status sandbox_plan_make(sandbox_plan *plan, const dibs_sandbox_options *options,
                              const server_program *program, const char *directory,
                              dibs_error *error)
{
  dibs_status status;

  memset(plan, 0, sizeof(*plan));
  for (int i = 0; i < SANDBOX_SERVERS_MAX; i++)
    plan->claims[i] = -1;
  status = count_servers(plan, options, error);
  if (status != DIBS_OK)
    return status;
  plan->runs = calloc((size_t)plan->count, sizeof(plan->runs[0]));
  if (plan->runs == NULL)
    return failure(error, DIBS_ERR_NO_MEMORY, "sandbox: no memory");
  for (int i = 0; i < plan->count && status == DIBS_OK; i++)
    status = make_server(plan, program, directory, i, error);
  return status;
}

void sandbox_plan_free(sandbox_plan *plan)
{
  for (int i = 0; i < SANDBOX_SERVERS_MAX; i++)
    if (plan->claims[i] >= 0)
      (void)close(plan->claims[i]);
  free(plan->runs);
}

const char *sandbox_plan_name(const sandbox_plan *plan, int which, char *ret_name, size_t size)
{
  if (plan->nodes[which].port == 0)
    (void)snprintf(ret_name, size, "the server");
  else
    (void)snprintf(ret_name, size, "server %d of %d, %s:%d,", which + 1, plan->count,
                   plan->nodes[which].address, plan->nodes[which].port);
  return ret_name;
}

/* ---- the deployment ---- */

typedef struct forming {
  former former;
  const sandbox_plan *plan;
  int control;
} forming;

static bool ask(void *data, int node, const char *command, char *ret_text, size_t size)
{
  forming *f = data;
  struct pollfd news = { .fd = f->control, .events = POLLIN };

  if (poll(&news, 1, 0) > 0)
    f->former.until = 0;      /* a server has ended: nothing to wait for */
  return ask_text(f->plan->runs[node].place.socket, ASK_MS, command, ret_text, size)
         == ANSWER_PONG;
}

static bool form_with_sentinels(former *f, const sandbox_plan *plan)
{
  int first = plan->count - plan->sentinels;
  form_watch w = { .service = SERVICE, .address = "127.0.0.1", .port = plan->nodes[0].port,
                   .quorum = plan->sentinels / 2 + 1, .down_after_ms = DOWN_AFTER_MS,
                   .failover_timeout_ms = FAILOVER_MS };
  bool is_done = true;

  for (int i = 1; i < first && is_done; i++)
    is_done = form_replica(f, i, 0);
  form_sentinels_publish_each(f, first, 200);
  for (int i = first; i < plan->count && is_done; i++)
    is_done = form_sentinel(f, i, &w);
  is_done = is_done && form_sentinels_wait(f, first, SERVICE, first - 1);
  form_sentinels_publish_each(f, first, 2000);
  return is_done;
}

dibs_status sandbox_plan_form(const sandbox_plan *plan, int control, int64_t until,
                              dibs_error *error)
{
  forming f = { .former = { .ask = ask, .nodes = plan->nodes, .count = plan->count,
                            .until = until },
                .plan = plan,
                .control = control };
  bool is_done = true;

  f.former.data = &f;
  if (plan->kind == DIBS_SANDBOX_CLUSTER)
    is_done = form_cluster(&f.former, plan->count);
  else if (plan->kind == DIBS_SANDBOX_SENTINEL)
    is_done = form_with_sentinels(&f.former, plan);
  return is_done ? DIBS_OK
                 : failure(error, DIBS_ERR_UNREACHABLE,
                           "sandbox: the deployment is not ready: %s", f.former.why);
}

bool sandbox_plan_url(const sandbox_plan *plan, char *ret_url, size_t size)
{
  static const char *const schemes[] = { "", "redis+cluster://", "redis+sentinel://", "" };
  bool is_quorum = plan->kind == DIBS_SANDBOX_QUORUM;
  int first = plan->count - (plan->sentinels > 0 ? plan->sentinels : plan->count);
  size_t used;

  if (plan->kind == DIBS_SANDBOX_SERVER)
    return (size_t)snprintf(ret_url, size, "%s", plan->runs[0].place.url) < size;
  used = (size_t)snprintf(ret_url, size, "%s", schemes[plan->kind]);
  for (int i = first; i < plan->count && used < size; i++)
    used += (size_t)snprintf(ret_url + used, size - used, "%s%s%s:%d",
                             i == first ? "" : is_quorum ? " " : ",",
                             is_quorum ? "redis://" : "", plan->nodes[i].address,
                             plan->nodes[i].port);
  if (plan->sentinels > 0 && used < size)
    used += (size_t)snprintf(ret_url + used, size - used, "/" SERVICE "/0");
  return used < size;
}
