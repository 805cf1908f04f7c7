/* SPDX-License-Identifier: MIT */
/* resp/resp_command.c - commands to bytes, by hiredis' formatter. */
#include "resp/resp.h"

#include <limits.h>
#include <string.h>

#include <hiredis/hiredis.h>

#define FEW 32

/* Formats and appends; `words` and `sizes` have room for `count`. */
static bool command_append(buffer *out, const resp_argument *arguments, size_t count,
                           const char **words, size_t *sizes)
{
  char *command = NULL;
  bool is_appended;
  long long size;          /* an int before hiredis 1.1 */

  for (size_t i = 0; i < count; i++) {
    words[i] = arguments[i].size > 0 ? arguments[i].bytes : "";
    sizes[i] = arguments[i].size;
  }
  size = redisFormatCommandArgv(&command, (int)count, words, sizes);
  if (size < 0)
    return false;
  is_appended = buffer_append(out, command, (size_t)size);
  /* It may have been AUTH. */
  mem_wipe(command, (size_t)size);
  redisFreeCommand(command);
  return is_appended;
}

bool resp_command(buffer *out, const resp_argument *arguments, size_t count)
{
  const char *few_words[FEW];
  size_t few_sizes[FEW];
  const char **words = few_words;
  size_t *sizes = few_sizes;
  bool is_done = false;

  if (count > INT_MAX / (sizeof(*words) + sizeof(*sizes)))
    return false;
  if (count > FEW) {
    words = mem_alloc(&out->memory, count * sizeof(*words));
    sizes = mem_alloc(&out->memory, count * sizeof(*sizes));
  }
  if (words != NULL && sizes != NULL)
    is_done = command_append(out, arguments, count, words, sizes);
  if (words != few_words)
    mem_free(&out->memory, (void *)words);
  if (sizes != few_sizes)
    mem_free(&out->memory, sizes);
  return is_done;
}

/* `*<n>\r\n` or `$<n>\r\n`: the number, and where the next begins. */
static bool header_read(const char *bytes, size_t size, size_t *at, char kind, size_t *ret)
{
  size_t number = 0, i = *at;

  if (i >= size || bytes[i++] != kind)
    return false;
  for (; i < size && bytes[i] >= '0' && bytes[i] <= '9' && number < size; i++)
    number = number * 10 + (size_t)(bytes[i] - '0');
  if (size - i < 2 || bytes[i] != '\r' || bytes[i + 1] != '\n')
    return false;
  *at = i + 2;
  *ret = number;
  return true;
}

size_t resp_command_words(const buffer *command, resp_argument *ret_words, size_t most)
{
  const char *bytes = buffer_bytes(command);
  size_t size = buffer_size(command), at = 0, count = 0, length, read = 0;

  if (!header_read(bytes, size, &at, '*', &count))
    return 0;
  while (read < count && read < most && header_read(bytes, size, &at, '$', &length) &&
         size - at >= length + 2) {
    ret_words[read++] = (resp_argument){ bytes + at, length };
    at += length + 2;
  }
  return read;
}
