/* SPDX-License-Identifier: MIT */
/* api/server_time.c - the server's time, asked before scripts that src/lock does not send. */
#include "api/question.h"

#include <stdlib.h>

bool client_agrees(int64_t server_us, int64_t wall_us)
{
  return llabs(server_us - wall_us) <= CLOCKS_AGREE_US;
}

void time_request(request *out)
{
  static const resp_argument words[] = { { "TIME", 4 } };

  (void)request_command(out, words, 1);
}

/* In a Cluster to the name's server only. Mutex held. */
static sync_op time_ask_at(client_record *c, const void *name, size_t size, instant until)
{
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));
  sync_op how = { .give_up_at = until };
  size_t route;

  c->names.dialect->key(&c->names, name, size, &key);
  route = engine_route_of_key(drive_engine(c->drive), bytes, key.used);
  if (route == SIZE_MAX)
    return how;
  how.is_pinned = how.is_brief = true;
  how.server = route;
  return how;
}

dibs_status client_learn_time(client_record *c, const void *name, size_t size, instant until)
{
  question q;
  request time;
  dibs_status status;
  sync_op how;

  drive_lock(c->drive);
  how = time_ask_at(c, name, size, until);
  drive_unlock(c->drive);
  request_init(&time, &c->memory);
  time_request(&time);
  status = question_run_by(c, &q, &time, how);
  question_deinit(&q);
  request_deinit(&time);
  return how.is_pinned && status == DIBS_ERR_UNREACHABLE && instant_before(drive_now(), until)
           ? DIBS_OK : status;
}
