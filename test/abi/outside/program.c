/* SPDX-License-Identifier: MIT */
/* A program that uses the installed package. */
#include <dibs/dibs.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  if (strcmp(dibs_version(), DIBS_VERSION) != 0)
    return 1;
  options.flags = DIBS_CLIENT_NO_THREAD;
  if (dibs_open("gopher://nowhere", &options, &client, &error) !=
      DIBS_ERR_CONFIG)
    return 2;
  if (dibs_open("redis://127.0.0.1:1", &options, &client, NULL) != DIBS_OK)
    return 3;
  client = dibs_close(client);
  printf("%s %s\n", dibs_version(), dibs_status_name(DIBS_OK));
  return 0;
}
