/* SPDX-License-Identifier: MIT */
/* admin/doctor_facts.c - reads facts from servers: INFO and CONFIG GET. */
#include "admin/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

facts facts_ask(examination *x, const char *command, const char *about)
{
  dibs_status status;
  resp_reply *reply = doctor_ask(x, &status, command, about, NULL);

  return facts_take(reply, status);
}

facts facts_take(resp_reply *reply, dibs_status status)
{
  facts f = { .reply = reply, .status = status };
  const resp_node *root;

  if (reply == NULL)
    return f;
  root = resp_root(f.reply);
  if (root->kind != RESP_STRING && root->kind != RESP_STATUS) {
    f.reply = resp_reply_free(f.reply);
    f.status = DIBS_ERR_PROTOCOL;
    return f;
  }
  f.bytes = root->bytes;
  f.size = root->size;
  return f;
}

void facts_deinit(facts *f)
{
  f->reply = resp_reply_free(f->reply);
  f->bytes = NULL;
  f->size = 0;
}

bool facts_find(const facts *f, const char *field, const char **ret_value, size_t *ret_size)
{
  return resp_info_field(f->bytes, f->size, field, ret_value, ret_size);
}

bool facts_are(const facts *f, const char *field, const char *value)
{
  const char *found;
  size_t size;

  return facts_find(f, field, &found, &size) && size == strlen(value) &&
         memcmp(found, value, size) == 0;
}

int64_t facts_number(const facts *f, const char *field, int64_t otherwise)
{
  const char *found;
  size_t size;
  uint64_t number;

  if (!facts_find(f, field, &found, &size) || !text_to_uint(found, size, &number) ||
      number > INT64_MAX)
    return otherwise;
  return (int64_t)number;
}

static void copy_cut(const char *bytes, size_t length, char *ret_value, size_t size)
{
  if (length >= size)
    length = size - 1;
  memcpy(ret_value, bytes, length);
  ret_value[length] = 0;
}

void facts_copy(const facts *f, const char *field, char *ret_value, size_t size)
{
  const char *found;
  size_t length;

  ret_value[0] = 0;
  if (facts_find(f, field, &found, &length))
    copy_cut(found, length, ret_value, size);
}

static bool part_find(const char *words, size_t size, const char *name, const char **ret_value,
                      size_t *ret_size)
{
  size_t length = strlen(name);

  for (size_t at = 0; at < size;) {
    size_t end = at;

    while (end < size && words[end] != ',')
      end++;
    if (end - at > length && memcmp(words + at, name, length) == 0 && words[at + length] == '=') {
      *ret_value = words + at + length + 1;
      *ret_size = end - at - length - 1;
      return true;
    }
    at = end + 1;
  }
  return false;
}

void part_copy(const char *words, size_t words_size, const char *name, char *ret_value,
               size_t size)
{
  const char *found;
  size_t length;

  ret_value[0] = 0;
  if (part_find(words, words_size, name, &found, &length))
    copy_cut(found, length, ret_value, size);
}

void doctor_address(const char *host, const char *port, char *ret_shown, size_t size)
{
  (void)snprintf(ret_shown, size, strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
}

int64_t part_number(const char *words, size_t size, const char *name)
{
  const char *found;
  size_t length;
  uint64_t number;

  if (!part_find(words, size, name, &found, &length) || !text_to_uint(found, length, &number) ||
      number > INT64_MAX)
    return -1;
  return (int64_t)number;
}

dibs_status setting_read(examination *x, const char *name, char *ret_value, size_t size)
{
  dibs_status status;
  resp_reply *reply = doctor_ask(x, &status, "CONFIG", "GET", name, NULL);
  const resp_node *value;

  ret_value[0] = 0;
  if (reply == NULL)
    return status;
  value = resp_child(reply, resp_root(reply), 1);
  if (value == NULL || value->kind != RESP_STRING)
    status = DIBS_ERR_UNSUPPORTED;
  else
    copy_cut(value->bytes, value->size, ret_value, size);
  resp_reply_free(reply);
  return status;
}

dibs_status setting_number(examination *x, const char *name, int64_t *ret_number)
{
  char words[32];
  uint64_t number;
  dibs_status status = setting_read(x, name, words, sizeof(words));

  if (status == DIBS_OK && (!text_to_uint(words, strlen(words), &number) || number > INT64_MAX))
    status = DIBS_ERR_PROTOCOL;
  if (status == DIBS_OK)
    *ret_number = (int64_t)number;
  return status;
}

bool doctor_is_since(const examination *x, int major, int minor)
{
  if (x->version[0] == 0 || x->version[0] > major)
    return true;
  return x->version[0] == major && x->version[1] >= minor;
}
