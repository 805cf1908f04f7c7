/* SPDX-License-Identifier: MIT */
/* test/lib/server_shims.c - the environment that makes a server load our libraries. */
#include "server_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim_paths.h"   /* made by the build: where the libraries are */

static const char preload[] = "LD_PRELOAD=";

static char *libraries_of(const struct test_server *s)
{
  static char clock[] = "LD_PRELOAD=" TEST_CLOCK_SHIM_PATH;
  static char sync[] = "LD_PRELOAD=" TEST_SYNC_SHIM_PATH;
  static char both[] = "LD_PRELOAD=" TEST_CLOCK_SHIM_PATH ":" TEST_SYNC_SHIM_PATH;

  if (s->clock == NULL)
    return sync;
  return s->synced == NULL ? clock : both;
}

char **test_shims_environment(struct test_server *s)
{
  size_t count = 0, used = 0;
  char **all;

  if (s->clock == NULL && s->synced == NULL)
    return NULL;
  while (environ[count] != NULL)
    count++;
  all = calloc(count + 4, sizeof(*all));
  if (all == NULL)
    test_bail_out("no memory");
  /* What this program itself was told to load is not for the server. */
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], preload, sizeof(preload) - 1) != 0)
      all[used++] = environ[i];
  all[used++] = libraries_of(s);
  if (s->clock != NULL)
    all[used++] = s->clock_file;
  if (s->synced != NULL)
    all[used++] = s->synced_file;
  return all;
}
