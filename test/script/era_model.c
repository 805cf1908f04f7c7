/* SPDX-License-Identifier: MIT */
/* test/script/era_model.c - see era_model.h. */
#include "tests.h"
#include "era_model.h"

#include <stdio.h>
#include <string.h>

#include "mode.h"
#include "server.h"
#include "stage.h"

static lease_id nobodys_lease(const struct model_era *e)
{
  lease_id l = { .token = (uint64_t)(e->ends_us - e->quarantine_ms * 1000) };

  memset(l.client, '.', CLIENT_ID_SIZE - 1);
  return l;
}

bool era_is_quarantined(struct model_era *e, int64_t now, const lease_id *watched)
{
  int64_t whole = e->quarantine_ms * 1000;
  lease_id nobodys;

  if (whole == 0)
    return false;
  if (!e->is_known || !e->is_ours || e->ends_us > now + whole)
    *e = (struct model_era){ e->quarantine_ms, true, true, now + whole };
  else if (now - e->ends_us > INT64_C(3600000000))
    e->ends_us = now - INT64_C(1800000000);
  nobodys = nobodys_lease(e);
  return now < e->ends_us && (watched == NULL || !lease_id_equal(watched, &nobodys));
}

bool era_is_young(const struct model_era *e, int64_t now)
{
  return e->quarantine_ms > 0 && (!e->is_known || !e->is_ours || now < e->ends_us);
}

acquire_answer era_held_back(const struct model_era *e, int64_t now, acquire_outcome outcome)
{
  return (acquire_answer){ .outcome = outcome, .server_us = now, .lease = nobodys_lease(e),
                           .remaining_ms = (e->ends_us - now) / 1000,
                           .lease_ms = e->quarantine_ms };
}

/* ---- on the stage ---- */

static void era_key(char key[KEY_TEXT_SIZE])
{
  text t = text_over(key, KEY_TEXT_SIZE);

  native_era_key(world_native(w, 0), WORLD_NAME, strlen(WORLD_NAME), &t);
}

static void forget(void)
{
  char key[KEY_TEXT_SIZE];

  era_key(key);
  test_server_command(world_server(w), "DEL %s", key);
}

/* In Cluster a tag that is new may not be held back: so there is one of another era. */
void era_model_begin(struct model_era *e, int64_t quarantine_ms)
{
  char key[KEY_TEXT_SIZE];

  world_guard(w, quarantine_ms);
  *e = (struct model_era){ .quarantine_ms = quarantine_ms, .is_known = quarantine_ms > 0,
                           .ends_us = 1 };
  if (quarantine_ms == 0)
    return;
  era_key(key);
  test_server_command(world_server(w), "SET %s %s", key, "0123 1");
}

void era_model_failover(struct model_era *e, bool loses_key)
{
  if (e->quarantine_ms == 0)
    return;
  if (loses_key && !mode_get().tags) {
    forget();
    e->is_known = false;
  } else {
    test_server_command(world_server(w), "DEBUG CHANGE-REPL-ID");
    e->is_ours = false;
  }
}

/* By its end. */
void era_model_compare(const struct model_era *e, const char *what)
{
  char key[KEY_TEXT_SIZE], expected[64] = "-";
  const char *got;

  if (e->quarantine_ms == 0)
    return;
  era_key(key);
  got = test_server_command(world_server(w), "GET %s", key);
  if (e->is_known)
    snprintf(expected, sizeof(expected), "%lld", (long long)e->ends_us);
  got = strchr(got, ' ') != NULL ? strchr(got, ' ') + 1 : "-";
  if (strcmp(expected, got) != 0)
    fail_msg("%s: an era until %s, not %s", what, expected, got);
}
