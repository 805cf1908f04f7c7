/* SPDX-License-Identifier: MIT */
/* api/hindrance.c - why a name without a holder cannot be taken now: a quarantine after a
 * failover, or a server that refuses. */
#include "api/question.h"

#include <string.h>

/* `<master_replid> <end, us>`; 0: no known quarantine. */
static int64_t ends_read(const resp_reply *reply)
{
  const resp_node *value = resp_child(reply, resp_root(reply), 0);
  const char *blank;
  uint64_t ends;

  if (value == NULL || value->kind != RESP_STRING)
    return 0;
  blank = memchr(value->bytes, ' ', value->size);
  if (blank == NULL ||
      !text_to_uint(blank + 1, value->size - (size_t)(blank + 1 - value->bytes), &ends) ||
      ends > INT64_MAX)
    return 0;
  return (int64_t)ends;
}

static int64_t quarantine_left_ms(client_record *c, const char *name, size_t size,
                                  int64_t server_us, instant until)
{
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));
  resp_argument words[2] = { RESP_TEXT("MGET") };
  int64_t left_ms = 0;
  request command;
  question q;

  if (c->names.quarantine_ms <= 0)
    return 0;
  native_era_key(&c->names, name, size, &key);
  words[1] = (resp_argument){ bytes, key.used };
  request_init(&command, &c->memory);
  (void)request_command(&command, words, 2);
  if (question_run_until(c, &q, &command, until) == DIBS_OK)
    left_ms = (ends_read(q.reply) - server_us + 999) / 1000;
  question_deinit(&q);
  request_deinit(&command);
  if (left_ms > c->names.quarantine_ms)          /* the server's clock was set back */
    left_ms = c->names.quarantine_ms;
  return left_ms > 0 ? left_ms : 0;
}

void hindrance_add(client_record *c, dibs_inspection *in, int64_t server_us, instant until)
{
  text shown = text_over(in->obstacle, sizeof(in->obstacle));
  const char *words = "";

  if (in->is_held)
    return;
  in->quarantine_ms = quarantine_left_ms(c, in->name, in->name_size, server_us, until);
  if (client_enter(c, false) != DIBS_OK)
    return;
  if (engine_cannot_ask(drive_engine(c->drive), drive_now(), &words))
    text_add(&shown, words);
  client_leave(c);
}
