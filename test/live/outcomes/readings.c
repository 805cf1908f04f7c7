/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/readings.c - what a program reads about locks: the fleet and its history, the
 * numbers of one client, its log, and the findings of dibs_examine(). */
#include "tests.h"

#include <stdint.h>

#include "outcomes.h"

/* What `run` returns while the key `common` of the prefix is a list. */
static dibs_status beside_a_list(const char *common, situation *run)
{
  dibs_options o = patient_options();
  dibs_client *patient = other;
  dibs_status status;

  o.prefix = "listed";
  o.report_ms = DIBS_REPORT_OFF;
  other = live_open_with(live_url(), &o);
  (void)test_server_command(live_server, "RPUSH listed:{fleet}:%s x", common);
  status = run();
  (void)test_server_command(live_server, "DEL listed:{fleet}:%s", common);
  other = dibs_close(other);
  other = patient;
  return status;
}

/* ---- the fleet ---- */

static dibs_status fleet(void)
{
  dibs_fleet *read = NULL;
  dibs_status status = dibs_fleet_read(other, &read);

  read = dibs_fleet_free(read);
  return status;
}

static dibs_status fleet_into_nothing(void) { return dibs_fleet_read(other, NULL); }
static dibs_status fleet_of_a_list(void) { return beside_a_list("classes", fleet); }
static dibs_status fleet_without_a_reply(void) { return without_a_reply(fleet); }

static dibs_status change_into(dibs_fleet_row *ret_change)
{
  dibs_fleet_row row = { .size = sizeof(row), .class_name = "orders" };

  return dibs_fleet_change(NULL, &row, ret_change);
}

static dibs_status change(void)
{
  dibs_fleet_row change;

  return change_into(&change);
}

static dibs_status change_into_nothing(void) { return change_into(NULL); }

static dibs_status history_with(const dibs_history_options *o)
{
  dibs_history *read = NULL;
  dibs_status status = dibs_history_read(other, o, &read);

  read = dibs_history_free(read);
  return status;
}

static dibs_status history(void) { return history_with(NULL); }

static dibs_status history_of_too_many(void)
{
  dibs_history_options o = DIBS_HISTORY_OPTIONS_INIT;

  o.limit = 10001;
  return history_with(&o);
}

static dibs_status history_of_a_list(void) { return beside_a_list("history", history); }
static dibs_status history_without_a_reply(void) { return without_a_reply(history); }

/* ---- one client ---- */

static dibs_status metrics_of(dibs_client *c)
{
  dibs_metrics *read = NULL;
  dibs_status status = dibs_metrics_read(c, &read);

  read = dibs_metrics_free(read);
  return status;
}

static bool on_text(const char *text, size_t size, void *data)
{
  (void)text;
  (void)size;
  (void)data;
  return true;
}

static dibs_status page_of(dibs_client *c) { return dibs_metrics_write(c, 0, on_text, NULL); }

static dibs_status metrics(void) { return metrics_of(client); }
static dibs_status metrics_into_nothing(void) { return dibs_metrics_read(client, NULL); }
static dibs_status metrics_in_a_child(void) { return in_a_child(metrics); }
static dibs_status metrics_while_closing(void) { return while_closing(metrics_of); }
static dibs_status page(void) { return page_of(client); }
static dibs_status page_in_a_child(void) { return in_a_child(page); }
static dibs_status page_while_closing(void) { return while_closing(page_of); }

static dibs_status page_of_the_future(void)
{
  return dibs_metrics_write(client, 0x80000000u, on_text, NULL);
}

static void on_line(const dibs_log_line *line, void *data)
{
  (void)line;
  (void)data;
}

static dibs_status log_of_level(int32_t level)
{
  dibs_log_options o = DIBS_LOG_OPTIONS_INIT;
  dibs_status status;

  o.level = level;
  status = dibs_client_set_log(client, &o, on_line, NULL, NULL);
  live_expect_ok(dibs_client_set_log(client, NULL, NULL, NULL, NULL));
  return status;
}

static dibs_status log_of_errors(void) { return log_of_level(DIBS_LOG_ERROR); }
static dibs_status log_of_no_level(void) { return log_of_level(-1); }

/* ---- servers ---- */

static bool on_finding(const dibs_finding *finding, void *data)
{
  (void)finding;
  (void)data;
  return true;
}

static dibs_status examine(void) { return dibs_examine(other, on_finding, NULL); }
static dibs_status examine_for_nothing(void) { return dibs_examine(other, NULL, NULL); }
static dibs_status examine_no_server(void) { return at_no_server(examine); }

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_fleet_read, DIBS_OK, fleet) \
  X(dibs_fleet_read, DIBS_ERR_ARGUMENT, fleet_into_nothing) \
  X(dibs_fleet_read, DIBS_ERR_WRONG_TYPE, fleet_of_a_list) \
  X(dibs_fleet_read, DIBS_ERR_UNREACHABLE, fleet_without_a_reply) \
  X(dibs_fleet_change, DIBS_OK, change) \
  X(dibs_fleet_change, DIBS_ERR_ARGUMENT, change_into_nothing) \
  X(dibs_history_read, DIBS_OK, history) \
  X(dibs_history_read, DIBS_ERR_ARGUMENT, history_of_too_many) \
  X(dibs_history_read, DIBS_ERR_WRONG_TYPE, history_of_a_list) \
  X(dibs_history_read, DIBS_ERR_UNREACHABLE, history_without_a_reply) \
  X(dibs_metrics_read, DIBS_OK, metrics) \
  X(dibs_metrics_read, DIBS_ERR_ARGUMENT, metrics_into_nothing) \
  X(dibs_metrics_read, DIBS_ERR_CLOSED, metrics_while_closing) \
  X(dibs_metrics_read, DIBS_ERR_FORKED, metrics_in_a_child) \
  NOT_HERE(dibs_metrics_read, DIBS_ERR_NO_MEMORY, live/refused_memory) \
  X(dibs_metrics_write, DIBS_OK, page) \
  X(dibs_metrics_write, DIBS_ERR_ARGUMENT, page_of_the_future) \
  X(dibs_metrics_write, DIBS_ERR_CLOSED, page_while_closing) \
  X(dibs_metrics_write, DIBS_ERR_FORKED, page_in_a_child) \
  NOT_HERE(dibs_metrics_write, DIBS_ERR_NO_MEMORY, live/refused_memory) \
  X(dibs_client_set_log, DIBS_OK, log_of_errors) \
  X(dibs_client_set_log, DIBS_ERR_ARGUMENT, log_of_no_level) \
  NOT_HERE(dibs_client_set_log, DIBS_ERR_SYSTEM, no test refuses a thread) \
  X(dibs_examine, DIBS_OK, examine) \
  X(dibs_examine, DIBS_ERR_ARGUMENT, examine_for_nothing) \
  X(dibs_examine, DIBS_ERR_UNREACHABLE, examine_no_server)

OUTCOMES(outcomes_of_readings);
