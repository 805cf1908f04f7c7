/* SPDX-License-Identifier: MIT */
/* cli/json.c - parts of the JSON objects on stdout and stderr. */
#include "cli/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "cli/message.h"

#define TEXT_SIZE 1200

json_t *json_text(const char *text)
{
  json_t *value = json_string(text);
  char shown[TEXT_SIZE];

  /* Not UTF-8: JSON has no way to say it. */
  if (value == NULL)
    value = json_string(printable(text, shown, sizeof(shown)));
  return value;
}

json_t *json_pid(int64_t pid)
{
  return pid > 0 ? json_integer(pid) : json_null();
}

void name_to_hex(const char *name, size_t size, char ret_hex[2 * DIBS_NAME_MAX + 1])
{
  ret_hex[0] = '\0';
  for (size_t i = 0; i < size; i++)
    snprintf(ret_hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)name[i]);
}

size_t name_of_hex(const char *hex, char ret_name[DIBS_NAME_MAX + 1])
{
  size_t size = strlen(hex);

  if (size % 2 != 0 || size / 2 > DIBS_NAME_MAX)
    return 0;
  for (size_t i = 0; i < size / 2; i++) {
    int byte = hex_byte(hex + 2 * i);

    if (byte < 0)
      return 0;
    ret_name[i] = (char)byte;
  }
  ret_name[size / 2] = '\0';
  return size / 2;
}

/* DEL or U+0080 .. U+009F, as UTF-8, which jansson does not escape: how many bytes; else 0. */
static size_t control_size(const char *at)
{
  const unsigned char *s = (const unsigned char *)at;

  return s[0] == 0x7f ? 1 : s[0] == 0xc2 && s[1] < 0xa0 ? 2 : 0;
}

char *json_line(const json_t *object)
{
  char *plain = json_dumps(object, JSON_COMPACT), *line, *to;
  size_t size = 1;

  if (plain == NULL)
    return NULL;
  for (const char *at = plain; *at != '\0'; at++)
    size += control_size(at) > 0 ? 6 : 1;
  line = to = malloc(size);
  for (const char *at = plain; line != NULL && *at != '\0'; at++) {
    size_t control = control_size(at);

    if (control == 0) {
      *to++ = *at;
      continue;
    }
    at += control - 1;                   /* its last byte is its number */
    to += snprintf(to, 7, "\\u%04X", (unsigned)(unsigned char)*at);
  }
  if (line != NULL)
    *to = '\0';
  free(plain);
  return line;
}

void json_set_renamed(json_t *object, const char *key, const char *key_of_0_5, json_t *value)
{
  json_object_set(object, key_of_0_5, value);
  json_object_set_new(object, key, value);
}

void json_set_time(json_t *object)
{
  struct timespec now;
  struct tm utc;
  char seconds[32], text[48];

  clock_gettime(CLOCK_REALTIME, &now);
  if (gmtime_r(&now.tv_sec, &utc) == NULL)
    return;
  strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(text, sizeof(text), "%s.%03dZ", seconds, (int)(now.tv_nsec / 1000000));
  json_object_set_new(object, "time", json_string(text));
}

static bool is_incomplete;       /* as ferror(stdout) */

void json_print(json_t *object)
{
  char *line;

  json_set_time(object);
  line = json_line(object);
  json_decref(object);
  if (line != NULL) {
    puts(line);
  } else {
    is_incomplete = true;
    (void)say_no_memory();
  }
  free(line);
}

bool json_is_complete(void)
{
  return !is_incomplete;
}
