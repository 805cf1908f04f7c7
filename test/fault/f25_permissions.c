/* SPDX-License-Identifier: MIT */
/* test/fault/f25_permissions.c - under load the user loses its permissions, or its password is
 * changed: calls fail at once and say why, holds end in time, and all goes on when what was
 * taken is given back. No client is opened anew. */
#include <stdio.h>
#include <string.h>

#include "child.h"

enum { TTL_MS = 600 };

static char url[192];

static void acl(struct world *w, const char *rules)
{
  const char *answer = test_server_command(world_server(w), rules);

  if (strncmp(answer, "ERR", 3) == 0 || strncmp(answer, "WRONG", 5) == 0)
    world_fail(w, "%s: %s", rules, answer);
}

/* ---- the child: one client for all of it ---- */

static void expect_refusal(struct child *self, dibs_client *client, dibs_status wanted)
{
  dibs_lock_options o = child_lock_options(TTL_MS, 3000);
  struct child_time begun = child_time();
  dibs_hold *hold = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_try_lock(client, "refused", NULL, &hold);

  (void)dibs_client_error(client, 0, &error);
  (void)child_check(self, status == wanted, "a try: %s, %s", dibs_status_name(status),
                    error.text);
  (void)child_check(self, strlen(error.text) > 10 && strstr(error.text, "first") == NULL,
                    "no words, or the password among them: \"%s\"", error.text);
  status = dibs_lock(client, "refused", &o, &hold);
  (void)child_check(self, status == wanted, "a lock: %s", dibs_status_name(status));
  (void)child_check_time(self, "two refused calls", begun, 2000);
  child_mark(self, wanted == DIBS_ERR_DENIED ? "denied in words" : "credentials refused", 1);
}

static void expect_end(struct child *self, dibs_hold *hold)
{
  struct child_time begun = child_time();

  while (dibs_hold_state(hold) != DIBS_HOLD_GONE && child_now_ms() - begun.at_ms < 5000)
    child_sleep_ms(2);
  (void)child_check_time(self, "the end of a hold that nobody renews", begun, TTL_MS);
  (void)dibs_release(hold);
}

/* What was taken comes back to a client as it is: it asks until it is let in. */
static dibs_hold *expect_recovery(struct child *self, dibs_client *client)
{
  dibs_lock_options o = child_lock_options(TTL_MS, 1000);
  struct child_time begun = child_time();
  dibs_status status = DIBS_ERR_CLOSED;
  dibs_hold *hold = NULL;

  while (status != DIBS_OK && child_now_ms() - begun.at_ms < 5000) {
    status = dibs_lock(client, "mine", &o, &hold);
    if (status != DIBS_OK)
      child_sleep_ms(5);
  }
  if (!child_check(self, status == DIBS_OK, "no lock after 5 s: %s", dibs_status_name(status)))
    return NULL;
  (void)child_check_time(self, "recovery", begun, 2 * TTL_MS + 1000);
  return hold;
}

static void live_through(struct child *self, void *data)
{
  dibs_client *client = child_open(self, url, NULL);
  dibs_hold *hold = child_lock(self, client, "mine", TTL_MS);

  (void)data;
  child_tell(self, "ready");
  for (int i = 0; hold != NULL; i++) {
    child_obey(self, "refused");
    if (i % 2 == 0)
      expect_end(self, hold);
    expect_refusal(self, client, i % 2 == 0 ? DIBS_ERR_DENIED : DIBS_ERR_AUTH);
    if (i % 2 != 0)
      expect_end(self, hold);
    child_tell(self, "seen");
    child_obey(self, "given back");
    hold = expect_recovery(self, client);
    child_tell(self, "well");
  }
}

/* ---- the scenario ---- */

static void take_and_give(struct world *w, struct child *c, const char *const *taking,
                          const char *giving)
{
  int fault = world_fault_begin(w, FAULT_ADMIN, EVERYBODY, NO_LOCK);

  for (; *taking != NULL; taking++)
    acl(w, *taking);
  world_fault_in_force(w, fault);
  child_order(c, "refused");
  if (!child_hear(c, "seen", 10000))
    return;
  world_fault_lifting(w, fault);
  acl(w, giving);
  world_fault_end(w, fault);
  child_order(c, "given back");
  (void)child_hear(c, "well", 10000);
  if (!world_wait_for_grants(w, 20, 5000))
    world_fail(w, "the others do not get on within 5 s");
}

static void run(struct world *w, const struct scale *scale)
{
  static const char *const deny[] = { "ACL SETUSER limited -eval -evalsha", NULL };
  static const char *const rotate[] = { "ACL SETUSER limited <first >second",
                                        "CLIENT KILL USER limited", NULL };
  struct plan plan = PLAN_INIT;
  struct child *c;

  (void)scale;
  (void)world_lock(w, 'm', "shared-0", 0);
  (void)world_lock(w, 'r', "shared-1", 0);
  acl(w, "ACL SETUSER limited reset on >first ~* &* +@all");
  (void)snprintf(url, sizeof(url), "unix://limited:first@%s", test_server_socket(world_server(w)));
  plan.url = url;
  plan.ttl_ms = TTL_MS;
  plan.hold_us_max = 300000;
  plan.try_percent = plan.async_percent = plan.cancel_percent = 10;
  (void)world_hire(w, &plan, 4);
  c = child_start(w, live_through, NULL);
  (void)child_hear(c, "ready", 5000);
  do {
    take_and_give(w, c, deny, "ACL SETUSER limited +eval +evalsha");
    take_and_give(w, c, rotate, "ACL SETUSER limited <second >first");
  } while (world_goes_on(w));
  c = child_kill(c);
  world_demand(w, "denied in words", 1);
  world_demand(w, "credentials refused", 1);
}

const struct scenario f25_permissions = {
  .id = "F25", .name = "who_may_no_longer_is_told_so_and_goes_on_when_it_may_again", .run = run,
};
