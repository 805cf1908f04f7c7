/* SPDX-License-Identifier: MIT */
/* bench/python_pair.c - URL COUNT: the pair of bench/python_run in C; prints each in us. */
#include <dibs/dibs.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_us(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;

  if (argc != 3 || dibs_open(argv[1], NULL, &client, NULL) != DIBS_OK)
    return 1;
  for (int i = atoi(argv[2]); i > 0; i--) {
    double begun = now_us();

    if (dibs_lock(client, "pair-c", NULL, &hold) != DIBS_OK || dibs_release(hold) != DIBS_OK)
      return 1;
    (void)printf("%.2f\n", now_us() - begun);
  }
  (void)dibs_close(client);
  return 0;
}
