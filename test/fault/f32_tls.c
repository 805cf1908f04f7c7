/* SPDX-License-Identifier: MIT */
/* test/fault/f32_tls.c - F32: TLS connections that are reset at any byte, of the handshake too,
 * and a server whose certificate has expired, or is another host's, from one moment to the next.
 * Who cannot connect any more waits, loses what he cannot renew, and never speaks in plain text;
 * with a good certificate all goes on. */
#include "lib/authority.h"
#include "lib/deployment.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

enum { TTL_MS = 1500 };

static struct test_authority *authority;
static char url[512];

static void forget(void *data)
{
  (void)data;
  authority = test_authority_free(authority);
}

static void hire(struct world *w)
{
  struct plan plan = PLAN_INIT;

  (void)snprintf(url, sizeof(url), "%s?cacert=%s", test_proxy_tcp_url(world_proxy(w)),
                 test_authority_ca(authority));
  plan.url = url;
  plan.ttl_ms = TTL_MS;
  plan.connect_timeout_ms = 10000;
  plan.hold_us = 2000;
  plan.hold_us_max = 400000;
  plan.think_us = 2000;
  plan.async_percent = 20;
  (void)world_hire(w, &plan, 4);
}

static void expect_work(struct world *w, const char *when)
{
  if (!world_wait_for_grants(w, 10, 10000))
    world_fail(w, "no work is done %s", when);
}

/* A handshake is about 2000 bytes here. */
static void reset_often(struct world *w)
{
  int fault = world_fault_begin(w, FAULT_NETWORK, EVERYBODY, NO_LOCK);

  for (int i = 0; i < 8; i++) {
    test_proxy_cut_after(world_proxy(w), world_chance(w, 2) == 0 ? TEST_TO_CLIENT
                                                                 : TEST_TO_SERVER,
                         (uint64_t)world_between(w, 0, 1500));
    test_proxy_cut(world_proxy(w));
    world_pass_ms(w, world_between(w, 5, 60));
    world_mark(w, "connections reset");
  }
  test_proxy_pass(world_proxy(w), TEST_BOTH);
  expect_work(w, "after connections were reset");
  world_fault_end(w, fault);
}

static bool show(struct world *w, enum test_certificate which)
{
  const char *certificate = test_authority_certificate(authority, which);
  const char *key = test_authority_key(authority, which), *answer;

  if (certificate == NULL || key == NULL) {
    world_fail(w, "there is no such certificate");
    return false;
  }
  answer = test_server_command(world_server(w), "CONFIG SET tls-cert-file %s tls-key-file %s",
                               certificate, key);
  if (answer != NULL && strcmp(answer, "OK") == 0)
    return true;
  world_fail(w, "the certificate cannot be changed: %s", answer != NULL ? answer : "no answer");
  return false;
}

/* Established connections live on; nobody gets a new one. */
static void show_bad(struct world *w, enum test_certificate which)
{
  int fault = world_fault_begin(w, FAULT_OTHER, EVERYBODY, NO_LOCK);
  uint64_t grants;

  if (!show(w, which))
    return;
  world_pass_ms(w, 100);
  test_proxy_cut(world_proxy(w));
  world_pass_ms(w, 100);                     /* answers on their way */
  grants = world_grants(w);
  world_pass_ms(w, world_between(w, 500, TTL_MS));
  if (world_grants(w) != grants)
    world_fail(w, "%llu grants by a server with a bad certificate",
               (unsigned long long)(world_grants(w) - grants));
  world_mark(w, which == TEST_CERTIFICATE_EXPIRED ? "expired" : "of another host");
  (void)show(w, TEST_CERTIFICATE_GOOD);
  expect_work(w, "with a good certificate");
  world_fault_end(w, fault);
}

/* What a server says of a client that speaks in plain text to it. */
static void expect_no_plain_text(struct world *w)
{
  FILE *log = fopen(test_server_log(world_server(w)), "re");
  char line[512];

  while (log != NULL && fgets(line, sizeof(line), log) != NULL)
    if (strstr(line, "wrong version number") != NULL || strstr(line, "http request") != NULL)
      world_fail(w, "somebody did not speak TLS: %s", line);
  if (log != NULL)
    (void)fclose(log);
}

static void run(struct world *w, const struct scale *scale)
{
  static struct test_server_options options = { .has_tls = true };

  (void)scale;
  (void)world_lock(w, 'm', "one", 0);
  (void)world_lock(w, 'm', "two", 0);
  if (!test_servers_speak_tls()) {
    world_say(w, "this server program has no TLS");
    world_settle_how(w, SETTLE_NO_PROGRESS, 0);
    return;
  }
  authority = test_authority_make();
  world_at_end(w, forget, NULL);
  options.authority = authority;
  world_server_options(w, &options);
  hire(w);
  world_demand(w, "connections reset", 1);
  world_demand(w, "expired", 1);
  world_demand(w, "of another host", 1);
  do {
    reset_often(w);
    show_bad(w, TEST_CERTIFICATE_EXPIRED);
    show_bad(w, TEST_CERTIFICATE_WRONG_HOST);
  } while (world_goes_on(w) && world_left_ms(w) > 0);
  expect_no_plain_text(w);
  world_settle_how(w, 0, 15000);
}

const struct scenario f32_tls = {
  .id = "F32", .name = "who_asked_for_tls_waits_for_a_good_certificate_and_goes_on",
  .run = run,
};
