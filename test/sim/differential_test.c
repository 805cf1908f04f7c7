/* SPDX-License-Identifier: MIT */
/* The simulated server against a real one: the same random requests at the same times, of
 * programs, of lock libraries, of our scripts; replies, messages and all keys must be the
 * same. test/sim/README.md, "Differential test".
 *
 * DIBS_TEST_SCALE  times 1000 sequences; 1 if not given
 * DIBS_TEST_FROM   the first seed; 1 if not given
 * DIBS_TEST_SEED   only the sequence of this seed, with all its steps when it fails
 * DIBS_TEST_SHOW   how many differences it goes on to look for; 1 if not given */
#include "tests.h"

#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "differential/sequence.h"

enum { SEQUENCES = 1000, SEQUENCES_OF_ITSELF = 60 };

static draw drawn;
static tape recorded;
static pair both;
static side *real;
static const char *why_not;

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
  const char *words = getenv(variable);

  return words != NULL ? strtoull(words, NULL, 10) : otherwise;
}

static double now_s(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Told with the fewest steps that show it. */
static void tell_difference(uint64_t seed)
{
  (void)printf("# seed %llu: %s\n", (unsigned long long)seed, both.difference);
  if (getenv("DIBS_TEST_SEED") != NULL) {
    (void)printf("# all steps:\n");
    tape_print(&recorded);
  }
  tape_shrink(&recorded, &both);
  (void)printf(both.difference[0] != '\0' ? "# what of it is needed, and what comes then:\n"
                                          : "# it does not come a second time; all steps:\n");
  tape_print(&recorded);
  (void)printf("# %s\n# again with DIBS_TEST_SEED=%llu\n", both.difference,
               (unsigned long long)seed);
}

static void compare(side *other, uint64_t sequences)
{
  uint64_t only = number_of("DIBS_TEST_SEED", 0), most = number_of("DIBS_TEST_SHOW", 1);
  uint64_t first = only > 0 ? only : number_of("DIBS_TEST_FROM", 1), seed = first, found = 0;
  uint64_t last = only > 0 ? only : first + sequences - 1;
  double began = now_s();

  pair_init(&both, real, other);
  for (; seed <= last && found < most; seed++) {
    if (sequence_run(seed, &drawn, &recorded, &both))
      continue;
    found++;
    tell_difference(seed);
  }
  (void)printf("# %llu requests in %llu sequences, %.1f s, %llu differences\n",
               (unsigned long long)both.requests, (unsigned long long)(seed - first),
               now_s() - began, (unsigned long long)found);
  pair_deinit(&both);
  assert_int_equal(found, 0);
}

/* What is compared depends on nothing but the requests and their times. */
TEST(a_server_does_not_differ_from_itself)
{
  side *second;

  second = real_side_new("a second real one", &why_not);
  compare(second, SEQUENCES_OF_ITSELF);
  second = real_side_free(second);
}

TEST(the_model_does_what_a_real_server_does)
{
  side *model;

  model = model_side_new(1);
  compare(model, SEQUENCES * number_of("DIBS_TEST_SCALE", 1));
  model = model_side_free(model);
}

static int start(void **state)
{
  (void)state;
  draw_init(&drawn);
  tape_init(&recorded);
  return 0;
}

static int stop(void **state)
{
  (void)state;
  real = real_side_free(real);
  tape_deinit(&recorded);
  draw_deinit(&drawn);
  return 0;
}

int main(void)
{
  real = real_side_new("real", &why_not);
  if (real == NULL) {
    (void)printf("1..0 # SKIP %s\n", why_not);
    return 0;
  }
  return tests_run(start, stop, NULL, NULL);
}
