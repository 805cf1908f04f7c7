/* SPDX-License-Identifier: MIT */
/* api/agreed_time.c - the server's time for scripts that src/lock does not send. */
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

int64_t agreed_time_read(const resp_reply *reply)
{
  int64_t us = 0;

  return resp_time(reply, &us) && client_agrees(us) ? us : 0;
}

dibs_status client_agreed_time(client_record *c, instant until, int64_t *ret_us)
{
  question q;
  request time;
  dibs_status status;

  request_init(&time, &c->memory);
  time_request(&time);
  status = question_run_until(c, &q, &time, until);
  *ret_us = status == DIBS_OK ? agreed_time_read(q.reply) : 0;
  question_deinit(&q);
  request_deinit(&time);
  return status;
}
