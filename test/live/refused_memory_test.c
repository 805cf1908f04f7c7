/* SPDX-License-Identifier: MIT */
/* test/live/refused_memory_test.c - theme 45: whichever allocation is refused, nothing
 * crashes, hangs or leaks, and the next client works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <dibs/dibs.h>

#include "failing_heap.h"
#include "server.h"

static struct test_server *server;

/* Each run its own name: a lease that a broken run left behind must not hold up others. */
static dibs_status one_pass(dibs_client *client, int run)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_inspection *in = NULL;
  dibs_hold *hold = NULL;
  dibs_status status, released;
  char name[32];

  options.wait_ms = 300;
  options.note = "short of memory";
  (void)snprintf(name, sizeof(name), "run:%d", run);
  status = dibs_lock(client, name, &options, &hold);
  if (status != DIBS_OK)
    return status;
  status = dibs_inspect(client, name, &in);
  in = dibs_inspection_free(in);
  released = dibs_release(hold);
  return released != DIBS_OK ? released : status;
}

static bool lock_and_release(failing_heap *heap, void *runs)
{
  dibs_allocator allocator = FAILING_HEAP_AS(dibs_allocator, heap);
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_status status;

  options.allocator = &allocator;
  options.connect_timeout_ms = 150;
  options.command_timeout_ms = 100;
  options.close_timeout_ms = 50;
  options.flags = DIBS_CLIENT_NO_THREAD;
  status = dibs_open(test_server_url(server), &options, &client);
  if (status == DIBS_OK)
    status = one_pass(client, ++*(int *)runs);
  assert_null(dibs_close(client));
  return status == DIBS_OK;
}

static void theme_45_no_refused_allocation_hurts(void **state)
{
  int runs = 0;

  (void)state;
  failing_heap_try_all(lock_and_release, &runs);
  assert_true(runs > 10);
}

static int server_start(void **state)
{
  (void)state;
  server = test_server_start();
  return 0;
}

static int server_end(void **state)
{
  (void)state;
  server = test_server_stop(server);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(theme_45_no_refused_allocation_hurts),
  };

  return cmocka_run_group_tests(tests, server_start, server_end);
}
