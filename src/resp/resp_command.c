/* SPDX-License-Identifier: MIT */
/* resp/resp_command.c - converts commands to bytes with hiredis' formatter. */
#include "resp/resp.h"

#include <limits.h>
#include <string.h>

#include <hiredis/hiredis.h>

#define FEW 32

/* Formats and appends; `words` and `sizes` have `count` elements. */
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
  /* The command may be AUTH. */
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

static resp_argument word_of(const char *bytes)
{
  return (resp_argument){ bytes, strlen(bytes) };
}

size_t resp_auth_arguments(const char *user, const char *password, resp_argument ret_arguments[3])
{
  bool has_user = user != NULL && user[0] != 0;
  size_t count = 0;

  if (!has_user && password == NULL)
    return 0;
  ret_arguments[count++] = word_of("AUTH");
  if (has_user)
    ret_arguments[count++] = word_of(user);
  ret_arguments[count++] = word_of(password == NULL ? "" : password);
  return count;
}
