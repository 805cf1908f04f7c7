/* SPDX-License-Identifier: MIT */
/* What a quorum does not have is refused with the reason, whichever way it is asked for. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include <dibs/sim.h>

#include "expect.h"

#define URL_WITH(option) "redis://s1" option " redis://s2 redis://s3"
#define URL URL_WITH("")

enum { SERVERS = 3, WORLD_MS = 60000 };

static dibs_sim *sim;

static void expect_refused(dibs_client *c, dibs_status status, const char *words)
{
  dibs_error error = DIBS_ERROR_INIT;

  EXPECT(status == DIBS_ERR_UNSUPPORTED);
  EXPECT(dibs_client_error(c, 0, &error) == DIBS_OK && error.status == status);
  if (strstr(error.text, words) == NULL)
    dibs_sim_flaw("not \"%s\": %s", words, error.text);
}

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)error, (void)hold, (void)data;
  dibs_sim_flaw("a callback");
}

static void ask_for_permits(const char *url, const char *words)
{
  dibs_error error = DIBS_ERROR_INIT;
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  if (dibs_open(url, NULL, &c, &error) != DIBS_OK)
    dibs_sim_flaw("%s: %s", url, error.text);
  expect_refused(c, dibs_acquire(c, DIBS_PERMITS("x", 1), NULL, &hold), words);
  expect_refused(c, dibs_acquire(c, DIBS_PERMITS("x", DIBS_UNITS_ALL_FREE), NULL, &hold), words);
  expect_refused(c, dibs_acquire(c, DIBS_PERMIT_OF("x", 3), NULL, &hold), words);
  expect_refused(c, dibs_acquire_async(c, DIBS_PERMITS("x", 1), NULL, on_lock, NULL, NULL), words);
  c = dibs_close(c);
}

static void permits(void *data)
{
  (void)data;
  ask_for_permits(URL, "a quorum has exclusive and read/write locks, and nothing else");
  ask_for_permits(URL_WITH("?dialect=redisson"), "a quorum has exclusive and read/write locks");
  ask_for_permits(URL_WITH("?dialect=plain"), "the dialect plain has no permits");
}

static void several_names(void *data)
{
  dibs_bytes names[] = { { "a", 1 }, { "b", 1 } };
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  (void)data;
  EXPECT(dibs_open(URL, NULL, &c, NULL) == DIBS_OK);
  expect_refused(c, dibs_acquire(c, DIBS_LOCKS(names, 2), NULL, &hold),
                 "a quorum takes one name at a time");
  c = dibs_close(c);
}

static void played(void (*program)(void *data))
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  o.servers = SERVERS;
  sim = dibs_sim_new(&o);
  assert_int_equal(dibs_sim_start(sim, "asks", program, NULL), 1);
  assert_true(dibs_sim_run(sim, WORLD_MS));
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s", dibs_sim_first_flaw(sim));
}

static int teardown(void **state)
{
  (void)state;
  sim = dibs_sim_free(sim);
  return 0;
}

TEST(permits_are_refused_as_a_kind_that_a_quorum_does_not_have)
{
  played(permits);
}

TEST(several_names_are_refused_as_such)
{
  played(several_names);
}

RUN_TESTS_EACH(NULL, NULL, NULL, teardown)
