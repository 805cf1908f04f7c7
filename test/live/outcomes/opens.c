/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/opens.c - opening a client, and what it tells about itself. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

/* ---- open ---- */

static dibs_status open_at(const char *url, const dibs_options *o)
{
  dibs_client *c = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(url, o, &c, &error);

  assert_int_equal(error.status, status);
  c = dibs_close(c);
  return status;
}

static dibs_status open_one(void)
{
  return open_at(live_url(), NULL);
}

static dibs_status open_no_url(void)
{
  return open_at("redis:/nothing", NULL);
}

static dibs_status open_from_the_future(void)
{
  dibs_options o = patient_options();

  o.flags = 0x80000000u;
  return open_at(live_url(), &o);
}

static dibs_status open_without_a_certificate(void)
{
  dibs_options o = patient_options();

  o.ca_file = "/nonexistent/ca.pem";
  return open_at("rediss://localhost:1", &o);
}

static dibs_status read_the_error(void)
{
  dibs_error error = DIBS_ERROR_INIT;

  return dibs_client_error(other, 0, &error);
}

static dibs_status read_the_error_of_no_server(void)
{
  dibs_error error = DIBS_ERROR_INIT;

  return dibs_client_error(other, SIZE_MAX, &error);
}

/* ---- ping ---- */

static dibs_status ping(void)
{
  return dibs_ping(other, ANSWER_MS, NULL);
}

static dibs_status ping_at(const char *url)
{
  dibs_client *patient = other;
  dibs_options o = live_options();
  dibs_status status;

  o.password = "wrong";
  other = live_open_with(url, &o);
  status = ping();
  other = dibs_close(other);
  other = patient;
  return status;
}

static dibs_status ping_nothing(void) { return ping_at("unix:///nonexistent/dibs.sock"); }
static dibs_status ping_with_a_wrong_password(void) { return ping_at(live_url()); }
static dibs_status ping_without_a_reply(void) { return without_a_reply(ping); }
static dibs_status ping_before_now(void) { return dibs_ping(other, -1, NULL); }

/* ---- settings ---- */

static dibs_status patient_timeout(void)
{
  return dibs_client_set_call_timeout(client, LIVE_LONG_MS);
}

static dibs_status timeout(void) { return dibs_client_set_call_timeout(client, 0); }
static dibs_status timeout_before_now(void) { return dibs_client_set_call_timeout(client, -1); }
static dibs_status timeout_in_a_child(void) { return in_a_child(patient_timeout); }

static dibs_status credentials(void)
{
  return dibs_client_set_credentials(client, NULL, NULL);
}

static dibs_status url_into(size_t size)
{
  static char url[DIBS_URL_SIZE];

  return dibs_full_url(client, false, url, size);
}

static dibs_status full_url(void) { return url_into(DIBS_URL_SIZE); }
static dibs_status full_url_without_room(void) { return url_into(3); }
static dibs_status full_url_into_nothing(void)
{
  return dibs_full_url(client, false, NULL, 10);
}

static dibs_status stats_of_size(size_t size)
{
  dibs_client_info s = { .size = size };

  return dibs_client_get_info(client, &s);
}

static dibs_status stats(void) { return stats_of_size(sizeof(dibs_client_info)); }
static dibs_status stats_without_a_size(void) { return stats_of_size(0); }

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_open, DIBS_OK, open_one) \
  X(dibs_open, DIBS_ERR_CONFIG, open_no_url) \
  X(dibs_open, DIBS_ERR_ARGUMENT, open_from_the_future) \
  NOT_HERE(dibs_open, DIBS_ERR_NO_SERVER, live/local_refusal) \
  X(dibs_open, DIBS_ERR_TLS, open_without_a_certificate) \
  NOT_HERE(dibs_open, DIBS_ERR_NO_MEMORY, live/refused_memory) \
  NOT_HERE(dibs_open, DIBS_ERR_SYSTEM, live/low_descriptors) \
  X(dibs_client_error, DIBS_OK, read_the_error) \
  X(dibs_client_error, DIBS_ERR_ARGUMENT, read_the_error_of_no_server) \
  X(dibs_ping, DIBS_OK, ping) \
  X(dibs_ping, DIBS_ERR_UNREACHABLE, ping_nothing) \
  X(dibs_ping, DIBS_ERR_UNREACHABLE, ping_without_a_reply) \
  X(dibs_ping, DIBS_ERR_AUTH, ping_with_a_wrong_password) \
  X(dibs_ping, DIBS_ERR_ARGUMENT, ping_before_now) \
  X(dibs_client_set_call_timeout, DIBS_OK, timeout) \
  X(dibs_client_set_call_timeout, DIBS_ERR_ARGUMENT, timeout_before_now) \
  X(dibs_client_set_call_timeout, DIBS_ERR_FORKED, timeout_in_a_child) \
  X(dibs_client_set_credentials, DIBS_OK, credentials) \
  NOT_HERE(dibs_client_set_credentials, DIBS_ERR_NO_MEMORY, unit/engine/engine_memory) \
  X(dibs_full_url, DIBS_OK, full_url) \
  X(dibs_full_url, DIBS_ERR_LIMIT, full_url_without_room) \
  X(dibs_full_url, DIBS_ERR_ARGUMENT, full_url_into_nothing) \
  NOT_HERE(dibs_full_url, DIBS_ERR_NO_MEMORY, live/refused_memory) \
  X(dibs_client_get_info, DIBS_OK, stats) \
  X(dibs_client_get_info, DIBS_ERR_ARGUMENT, stats_without_a_size)

OUTCOMES(outcomes_of_opens);
