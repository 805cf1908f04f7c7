/* SPDX-License-Identifier: MIT */
/* test/live/degrade_servers_test.c - degrade=local: locks of this machine and leases of servers
 * exclude each other, on both sides of an outage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <unistd.h>

#include "live.h"

enum { TTL_MS = 20000 };

static dibs_client *a, *b;
static char runtime[] = "/tmp/dibs-degrade-XXXXXX";

static dibs_client *open_local(const char *url)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = 200;
  o.degrade = DIBS_DEGRADE_LOCAL;
  return live_open_with(url, &o);
}

static int setup(void **state)
{
  (void)state;
  a = open_local(test_server_url(live_server));
  b = open_local(test_server_url(live_server));
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  a = dibs_close(a);
  b = dibs_close(b);
  return 0;
}

static int group_setup(void **state)
{
  if (mkdtemp(runtime) == NULL || setenv("DIBS_LOCAL_DIR", runtime, 1) != 0)
    return 1;
  (void)unsetenv("DIBS_TEST_DEPLOYMENT");     /* about one server that is dead */
  return live_server_setup(state);
}

static int group_teardown(void **state)
{
  char command[64];

  (void)snprintf(command, sizeof(command), "rm -rf %s", runtime);
  (void)!system(command);
  return live_server_teardown(state);
}

static bool is_up(void *client)
{
  uint64_t us;

  return dibs_ping(client, 100, &us) == DIBS_OK;
}

static dibs_durability_kind kind_of(const dibs_hold *hold)
{
  dibs_durability d = { .size = sizeof(d) };

  assert_int_equal(dibs_hold_durability(hold, &d), DIBS_OK);
  return d.kind;
}

/* ---- the outage ends ---- */

/* The program may use the memory of the name again. */
static void the_servers_are_asked_for_the_name_of_the_call(void **state)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *lost, *hold;
  char name[] = "x";
  struct live_ask ask;

  (void)state;
  test_server_kill9(live_server);
  lost = live_lock(a, "x", 1000);
  live_refused_beside(lost, live_try(b, "x"), DIBS_BUSY);
  live_ask_init(&ask);
  live_ask_begin(&ask, b, name, &o);
  name[0] = 'y';
  test_server_restart(live_server, false);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_int_equal(kind_of(hold), DIBS_DURABLE_PRIMARY);
  assert_true(live_until(LIVE_LONG_MS, is_up, a));
  live_refused(live_try(a, "x"), DIBS_BUSY);
  assert_int_equal(live_try(a, "y"), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_release(lost), DIBS_LOST);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
    TEST(the_servers_are_asked_for_the_name_of_the_call),
  };

  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
