/* SPDX-License-Identifier: MIT */
/* api/agreed_time.c - the server's time for scripts that src/lock does not send. */
#include "api/api.h"

#include <stdlib.h>

bool client_agrees(int64_t server_us)
{
  return llabs(server_us - drive_wall_us()) <= 250000;
}

dibs_status client_agreed_time(client_record *c, instant until, int64_t *ret_us)
{
  static const resp_argument words[] = { { "TIME", 4 } };
  question q;
  request time;
  dibs_status status;

  *ret_us = 0;
  request_init(&time, &c->memory);
  (void)request_command(&time, words, 1);
  status = question_run_until(c, &q, &time, until);
  if (status == DIBS_OK && (!resp_time(q.reply, ret_us) || !client_agrees(*ret_us)))
    *ret_us = 0;
  question_deinit(&q);
  request_deinit(&time);
  return status;
}
