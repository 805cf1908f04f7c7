/* SPDX-License-Identifier: MIT */
/* test/fault/world_fault.c - servers and faults of a world, each written into the history. */
#include "world_parts.h"
#include "history.h"
#include "run_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <dibs/dibs.h>

#include "lib/server_parts.h"

enum { STRETCH = 150 };

/* ---- faults ---- */

int world_fault_begin(struct world *w, enum fault kind, int worker, int lock)
{
  struct record r = { .op = OP_FAULT, .phase = PHASE_INVOKE, .mode = (uint8_t)kind,
                      .owner = (uint16_t)worker, .lock = (uint16_t)lock,
                      .call = ++w->fault_number };

  if (w->fault_number >= w->open_room) {
    w->open_room = w->open_room == 0 ? 64 : 2 * w->open_room;
    w->open_faults = realloc(w->open_faults, w->open_room * sizeof(r));
    if (w->open_faults == NULL)
      test_bail_out("no memory");
  }
  w->open_faults[w->fault_number] = r;
  world_tell(w, &r);
  return (int)w->fault_number;
}

static void tell_phase(struct world *w, int fault, enum phase phase)
{
  struct record *r = &w->open_faults[fault];

  if (fault < 1 || (uint64_t)fault > w->fault_number || r->call == 0)
    return;
  r->phase = (uint8_t)phase;
  world_tell(w, r);
  if (phase == PHASE_OK)
    r->call = 0;
}

void world_fault_in_force(struct world *w, int fault) { tell_phase(w, fault, PHASE_INFO); }
void world_fault_lifting(struct world *w, int fault) { tell_phase(w, fault, PHASE_FAIL); }
void world_fault_end(struct world *w, int fault) { tell_phase(w, fault, PHASE_OK); }

void world_fault_instant(struct world *w, enum fault kind, int worker, int lock)
{
  world_fault_end(w, world_fault_begin(w, kind, worker, lock));
}

void world_end_faults(struct world *w)
{
  for (uint64_t i = 1; i <= w->fault_number; i++)
    tell_phase(w, (int)i, PHASE_OK);
}

/* ---- servers ---- */

void world_server_options(struct world *w, const struct test_server_options *options)
{
  if (w->server != NULL)
    test_bail_out("the options come before the server");
  w->server_options = *options;
}

/* A table of descriptors that grows waits for all processors, which takes seconds on a busy
 * machine: a stall that nobody ordered. So it grows now. */
static void stretch(const struct test_server *s)
{
  struct sockaddr_un at = { .sun_family = AF_UNIX };
  int fds[STRETCH];

  (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", test_server_socket(s));
  for (int i = 0; i < STRETCH; i++) {
    fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fds[i] >= 0 && connect(fds[i], (struct sockaddr *)&at, sizeof(at)) != 0) {
      (void)close(fds[i]);
      fds[i] = -1;
    }
  }
  (void)test_server_command(s, "PING");          /* it has accepted them all */
  for (int i = 0; i < STRETCH; i++)
    if (fds[i] >= 0)
      (void)close(fds[i]);
}

struct test_server *world_server(struct world *w)
{
  if (w->server == NULL) {
    w->server = test_server_start_with(&w->server_options);
    stretch(w->server);
    (void)world_adopt(w, w->server);
  }
  return w->server;
}

int world_adopt(struct world *w, struct test_server *s)
{
  if (s != w->server)
    (void)world_server(w);             /* ours is number 0 */
  if (w->adopted_count == SERVERS_MAX)
    test_bail_out("too many servers");
  w->adopted[w->adopted_count] = s;
  return w->adopted_count++;
}

struct test_proxy *world_proxy(struct world *w)
{
  if (w->proxy == NULL)
    w->proxy = test_proxy_start(world_server(w));
  return w->proxy;
}

void world_server_kill(struct world *w)
{
  world_server_continue(w);
  w->server_fault = world_fault_begin(w, FAULT_SERVER_DOWN, EVERYBODY, NO_LOCK);
  test_server_kill9(world_server(w));
  world_fault_in_force(w, w->server_fault);
}

void world_server_start(struct world *w, bool keeps_data)
{
  if (test_server_pid(world_server(w)) != 0)
    return;
  if (!keeps_data)
    world_fault_instant(w, FAULT_DATA_LOST, EVERYBODY, NO_LOCK);
  world_fault_lifting(w, w->server_fault);
  test_server_restart(w->server, keeps_data);
  stretch(w->server);
  world_fault_end(w, w->server_fault);
  w->server_fault = -1;
  for (uint32_t i = 0; i < w->lock_count && !keeps_data; i++)
    if (w->locks[i].kind == 'p')
      world_permits(w, (int)i);
}

bool world_lease_is_lost(struct world *w, int lock, int ttl_ms, void (*end)(struct world *w))
{
  int64_t begin = history_now_ns();
  int holder = world_stop_holder(w, lock, 3000);
  bool is_lost;

  if (holder < 0) {
    world_fail(w, "nobody held it for 3 s");
    return false;
  }
  end(w);
  is_lost = world_wait_for_grants(w, 1, ttl_ms / 4) &&
            history_now_ns() - begin < (ttl_ms - 200) * 1000000LL;
  world_continue(w, holder);
  if (!world_wait_for_grants(w, 20, 3 * ttl_ms))
    world_fail(w, "no work is done after the restart");
  return is_lost;
}

void world_server_stop(struct world *w)
{
  w->server_fault = world_fault_begin(w, FAULT_SERVER_STOP, EVERYBODY, NO_LOCK);
  test_server_pause(world_server(w));
  world_fault_in_force(w, w->server_fault);
}

void world_server_continue(struct world *w)
{
  if (w->server_fault < 0 || test_server_pid(world_server(w)) == 0)
    return;
  world_fault_lifting(w, w->server_fault);
  test_server_resume(w->server);
  world_fault_end(w, w->server_fault);
  w->server_fault = -1;
}

/* ---- locks ---- */

int world_lock(struct world *w, char kind, const char *name, uint32_t limit)
{
  struct run_lock *l = &w->locks[w->lock_count];

  if (w->is_prepared || w->lock_count == LOCKS_MAX || strchr("mrp", kind) == NULL)
    test_bail_out("world_lock(): too late, too many, or no such kind");
  l->kind = kind;
  l->limit = kind == 'p' ? limit : 1;
  (void)snprintf(l->name, sizeof(l->name), "%s", name);
  return (int)w->lock_count++;
}

const char *world_lock_key(struct world *w, int lock)
{
  static char key[96];

  (void)snprintf(key, sizeof(key), "dibs:m:{%s}", w->locks[lock].name);
  return key;
}

dibs_status world_open(struct world *w, dibs_client **ret_client)
{
  dibs_options o = DIBS_OPTIONS_INIT;

  o.dialect = (dibs_dialect)w->scale.dialect;
  o.registry = o.dialect == DIBS_DIALECT_SPRING ? FAULT_REGISTRY : NULL;
  return dibs_open(test_server_url(world_server(w)), &o, ret_client, NULL);
}

/* Sets the permits on the server, as the world knows them. */
void world_permits(struct world *w, int lock)
{
  dibs_client *client = NULL;
  dibs_status status = world_open(w, &client);

  if (status == DIBS_OK)
    status = dibs_semaphore_set(client, dibs_text(w->locks[lock].name), w->locks[lock].limit, 0,
                                NULL);
  if (status != DIBS_OK)
    world_fail(w, "the semaphore %s cannot be set: %s", w->locks[lock].name,
               dibs_status_name(status));
  client = dibs_close(client);
}

void world_prepare(struct world *w)
{
  if (w->is_prepared)
    return;
  w->is_prepared = true;
  if (w->lock_count == 0)
    test_bail_out("a world needs a lock");
  for (uint32_t i = 0; i < w->lock_count; i++)
    run_write(w->directory, "lock %c %u %s", w->locks[i].kind, w->locks[i].limit,
              w->locks[i].name);
  w->page = page_make(w->directory, w->lock_count);
  for (uint32_t i = 0; i < w->lock_count; i++) {
    atomic_store(&w->page->locks[i].limit, w->locks[i].limit);
    if (w->locks[i].kind == 'p')
      world_permits(w, (int)i);
  }
  w->stalls = stall_watch_start(w->recorder, NULL, NULL);
}
