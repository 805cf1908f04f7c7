/* SPDX-License-Identifier: MIT */
/* api/list.c - a walk over all names under the prefix, by SCAN, in bounded steps. */
#include "api/api.h"

#include <fnmatch.h>
#include <string.h>

#define CURSOR_SIZE 24

typedef struct walk {
  dibs_client *client;
  const char *pattern;
  dibs_list_callback callback;
  void *data;
  char cursor[CURSOR_SIZE];
  bool must_stop;
} walk;

/* The prefix may have bytes that mean something in a glob. */
static void match_write(const native *names, text *out)
{
  for (const char *at = names->prefix; *at != 0; at++) {
    if (strchr("*?[]\\^-", *at) != NULL)
      text_add(out, "\\");
    text_add_bytes(out, at, 1);
  }
  text_add(out, ":m:*");
}

static dibs_status page_ask(walk *w, question *q)
{
  char match[2 * PREFIX_MAX_BYTES + 8];
  text pattern = text_over(match, sizeof(match));
  resp_argument words[] = { RESP_TEXT("SCAN"), { w->cursor, strlen(w->cursor) },
                            RESP_TEXT("MATCH"), { match, 0 }, RESP_TEXT("COUNT"),
                            RESP_TEXT("500") };
  buffer command;
  dibs_status status;

  match_write(&w->client->names, &pattern);
  words[3].size = pattern.used;
  buffer_init(&command, &w->client->memory);
  (void)resp_command(&command, words, 6);
  status = question_run(w->client, q, &command, NULL);
  buffer_deinit(&command);
  return question_read_only(status);
}

static dibs_status name_visit(walk *w, const char *name, size_t size)
{
  dibs_inspection *found = NULL;
  dibs_status status = inspect_name(w->client, name, size, &found);

  if (status == DIBS_ERR_WRONG_TYPE)
    return DIBS_OK;                      /* somebody else's key under our prefix */
  if (status != DIBS_OK)
    return status;
  if (w->pattern == NULL || fnmatch(w->pattern, found->name, 0) == 0)
    w->must_stop = !w->callback(found, w->data);
  (void)dibs_inspection_free(found);
  return DIBS_OK;
}

static dibs_status page_visit(walk *w, const resp_reply *reply, const resp_node *keys)
{
  dibs_status status = DIBS_OK;

  for (size_t i = 0; status == DIBS_OK && !w->must_stop; i++) {
    const resp_node *key = resp_child(reply, keys, i);
    const char *name;
    size_t size;

    if (key == NULL)
      break;
    if (key->kind == RESP_STRING &&
        native_key_name(&w->client->names, key->bytes, key->size, &name, &size))
      status = name_visit(w, name, size);
  }
  return status;
}

static dibs_status page_walk(walk *w)
{
  question q;
  dibs_status status = page_ask(w, &q);
  const resp_node *root, *cursor, *keys;
  text next;

  if (status == DIBS_OK) {
    root = resp_root(q.reply);
    cursor = resp_child(q.reply, root, 0);
    keys = resp_child(q.reply, root, 1);
    if (cursor == NULL || keys == NULL || cursor->kind != RESP_STRING ||
        keys->kind != RESP_ARRAY || cursor->size >= CURSOR_SIZE) {
      status = client_refuse(w->client, DIBS_ERR_PROTOCOL, "an answer to SCAN of no known form");
    } else {
      next = text_over(w->cursor, sizeof(w->cursor));
      text_add_bytes(&next, cursor->bytes, cursor->size);
      status = page_visit(w, q.reply, keys);
    }
  }
  question_deinit(&q);
  return status;
}

dibs_status dibs_list(dibs_client *c, const char *pattern, dibs_list_callback callback,
                      void *data)
{
  walk w = { .client = c, .pattern = pattern, .callback = callback, .data = data,
             .cursor = "0" };
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  if (callback == NULL)
    status = client_refuse(c, DIBS_ERR_ARGUMENT, "callback is NULL");
  while (status == DIBS_OK) {
    status = page_walk(&w);
    if (w.must_stop || strcmp(w.cursor, "0") == 0)
      break;
  }
  client_unpin(c);
  return status;
}
