/* SPDX-License-Identifier: MIT */
/* local/server_program.c - finds a server program. */
#include "local/server_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const known_names[] = {
  "valkey-server", "redis-server",     "redict-server",
  "keydb-server",  "valkey-check-rdb", "redis-check-rdb",
};

static bool is_program(const char *path)
{
  struct stat found;

  return stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

/* The absolute path of `name`: itself, or found on PATH. */
static bool find_on_path(const char *name, char *ret_path, size_t size)
{
  const char *folder = secure_getenv("PATH");

  if (strchr(name, '/') != NULL) {
    int length = snprintf(ret_path, size, "%s", name);
    return length > 0 && (size_t)length < size && is_program(ret_path);
  }
  if (folder == NULL || folder[0] == '\0')
    folder = "/usr/local/bin:/usr/bin:/bin";
  while (*folder != '\0') {
    size_t folder_size = strcspn(folder, ":");
    int length = snprintf(ret_path, size, "%.*s/%s", (int)folder_size, folder, name);
    /* Empty and relative entries depend on the working directory, so only absolute ones
     * count. */
    if (folder[0] == '/' && length > 0 && (size_t)length < size && is_program(ret_path))
      return true;
    folder += folder_size;
    folder += *folder == ':';
  }
  return false;
}

/* "redis-check-rdb" gets the name "redis-server"; other programs keep theirs. */
static void name_for_server(const char *path, char *ret_name, size_t size)
{
  const char *slash = strrchr(path, '/');
  const char *name = slash == NULL ? path : slash + 1;
  const char *check = strstr(name, "-check-rdb");

  if (check == NULL)
    (void)snprintf(ret_name, size, "%.*s", (int)size - 1, name);
  else
    (void)snprintf(ret_name, size, "%.*s-server", (int)(check - name), name);
}

static bool try_name(const char *name, server_program *ret_program)
{
  server_program program;

  if (!find_on_path(name, program.path, sizeof(program.path)))
    return false;
  name_for_server(program.path, program.argv0, sizeof(program.argv0));
  *ret_program = program;
  return true;
}

bool server_program_find(server_program *ret_program)
{
  const char *chosen = secure_getenv("DIBS_SERVER");

  if (chosen != NULL && chosen[0] != '\0')
    return try_name(chosen, ret_program);
  for (size_t i = 0; i < sizeof(known_names) / sizeof(known_names[0]); i++)
    if (try_name(known_names[i], ret_program))
      return true;
  return false;
}
