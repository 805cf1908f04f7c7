/* SPDX-License-Identifier: MIT */
/* api/server_time.c - the server's time, asked before scripts that src/lock does not send. */
#include "api/question.h"

#include <stdlib.h>

bool client_agrees(int64_t server_us)
{
  return llabs(server_us - drive_wall_us()) <= 250000;
}

void time_request(request *out)
{
  static const resp_argument words[] = { { "TIME", 4 } };

  (void)request_command(out, words, 1);
}

dibs_status client_learn_time(client_record *c, instant until)
{
  question q;
  request time;
  dibs_status status;

  request_init(&time, &c->memory);
  time_request(&time);
  status = question_run_until(c, &q, &time, until);
  question_deinit(&q);
  request_deinit(&time);
  return status;
}
