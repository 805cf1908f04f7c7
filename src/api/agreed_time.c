/* SPDX-License-Identifier: MIT */
/* api/agreed_time.c - the server's time for scripts that the lock room does not send. */
#include "api/api.h"

#include <stdlib.h>

dibs_status client_agreed_time(dibs_client *c, int64_t *ret_us)
{
  static const resp_argument words[] = { { "TIME", 4 } };
  uint64_t seconds, micros;
  const resp_node *parts[2];
  question q;
  buffer time;
  dibs_status status;

  *ret_us = 0;
  buffer_init(&time, &c->memory);
  if (!resp_command(&time, words, 1))
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  status = question_run(c, &q, &time, NULL);
  if (status == DIBS_OK) {
    for (size_t i = 0; i < 2; i++)
      parts[i] = resp_child(q.reply, resp_root(q.reply), i);
    if (parts[0] != NULL && parts[1] != NULL &&
        text_to_uint(parts[0]->bytes, parts[0]->size, &seconds) &&
        text_to_uint(parts[1]->bytes, parts[1]->size, &micros))
      *ret_us = (int64_t)(seconds * 1000000 + micros);
    if (llabs(*ret_us - drive_wall_us()) > 250000)
      *ret_us = 0;
  }
  question_deinit(&q);
  buffer_deinit(&time);
  return status;
}
