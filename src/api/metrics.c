/* SPDX-License-Identifier: MIT */
/* api/metrics.c - what this client counted itself, as numbers and as text. */
#include "api/api.h"

#include <string.h>

/* What belongs to the caller. */
typedef struct metrics_result {
  dibs_metrics shown;
  fleet_reading reading;
} metrics_result;

static metrics_result *result_free(metrics_result *r)
{
  if (r == NULL)
    return NULL;
  fleet_reading_deinit(&r->reading);
  mem_free(&r->reading.memory, r);
  return NULL;
}

static void numbers_read(const engine *e, dibs_metrics *m)
{
  engine_stats s = engine_get_stats(e);

  m->renewed = s.renewed;
  m->renew_failed = s.renew_failed;
  m->lease_slack_ppm = engine_lease_slack(e, drive_now());
  memcpy(m->handovers, s.handovers, sizeof(m->handovers));
  fleet_read_round_trips(engine_fleet(e), &m->round_trips);
  m->commands = s.commands;
  m->reconnects = s.reconnects;
}

/* Mutex held. NULL: no memory. */
static metrics_result *result_make(client_record *c)
{
  metrics_result *r = mem_zalloc(&c->memory, sizeof(*r));
  const engine *e = drive_engine(c->drive);

  if (r == NULL)
    return NULL;
  r->reading.memory = c->memory;
  if (!fleet_read_own(engine_fleet(e), &r->reading))
    return result_free(r);
  numbers_read(e, &r->shown);
  return r;
}

static dibs_status result_read(client_record *c, metrics_result **ret)
{
  dibs_status status = client_enter(c, false);
  metrics_result *r;

  if (status != DIBS_OK)
    return status;
  r = result_make(c);
  if (r == NULL)
    status = client_fault(c, DIBS_ERR_NO_MEMORY, "");
  client_leave(c);
  if (r == NULL)
    return status;
  if (!fleet_read_show(&r->reading)) {
    (void)result_free(r);
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  r->shown.size = sizeof(r->shown);
  r->shown.count = r->reading.fleet.count;
  r->shown.rows = r->reading.shown;
  *ret = r;
  return DIBS_OK;
}

dibs_status dibs_metrics_read(dibs_client *client, dibs_metrics **ret_metrics)
{
  client_record *c;
  metrics_result *r = NULL;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  if (ret_metrics == NULL)
    return client_end(c, client_refuse(c, DIBS_ERR_ARGUMENT, "ret_metrics is NULL"));
  status = result_read(c, &r);
  if (r != NULL)
    *ret_metrics = &r->shown;
  return client_end(c, status);
}

dibs_metrics *dibs_metrics_free(dibs_metrics *metrics)
{
  (void)result_free((metrics_result *)(void *)metrics);
  return NULL;
}

/* ---- text ---- */

typedef struct writing_out {
  dibs_metrics_writer writer;
  void *data;
  bool is_stopped;
} writing_out;

static void add(const char *bytes, size_t size, void *data)
{
  writing_out *w = data;
  int before;

  if (w->is_stopped)
    return;
  before = drive_enter_callback();
  w->is_stopped = !w->writer(bytes, size, w->data);
  drive_leave_callback(before);
}

static const char *fault_of(uint32_t flags, dibs_metrics_writer writer)
{
  if (writer == NULL)
    return "writer is NULL";
  if ((flags & ~(DIBS_METRICS_PROMETHEUS | DIBS_METRICS_NO_END)) != 0)
    return "flags has bits that this library does not know";
  return NULL;
}

dibs_status dibs_metrics_write(dibs_client *client, uint32_t flags, dibs_metrics_writer writer,
                               void *data)
{
  writing_out w = { .writer = writer, .data = data };
  metrics_out out = { .is_classic = (flags & DIBS_METRICS_PROMETHEUS) != 0, .add = add,
                      .data = &w };
  client_record *c;
  metrics_result *r = NULL;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  if (fault_of(flags, writer) != NULL)
    return client_end(c, client_refuse(c, DIBS_ERR_ARGUMENT, fault_of(flags, writer)));
  status = result_read(c, &r);
  if (r != NULL) {
    metrics_client(&out, &r->shown,
                   (flags & (DIBS_METRICS_PROMETHEUS | DIBS_METRICS_NO_END)) == 0);
    (void)result_free(r);
  }
  return client_end(c, status);
}
