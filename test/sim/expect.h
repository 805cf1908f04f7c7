/* SPDX-License-Identifier: MIT */
/* test/sim/expect.h - what programs in a simulated world assert by: cmocka's asserts would jump
 * from one stack to another. */
#ifndef TEST_SIM_EXPECT_H
#define TEST_SIM_EXPECT_H

#include <dibs/sim.h>

#define EXPECT(what) \
  do { \
    if (!(what)) \
      dibs_sim_flaw("line %d: not %s", __LINE__, #what); \
  } while (0)

#endif
