/* SPDX-License-Identifier: MIT */
/* A program that uses a map, from the installed libdibs-data. */
#include <dibs/client.h>
#include <dibs/map.h>

#include <stdio.h>

int main(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_bytes key = { "k", 1 };
  dibs_client *client = NULL;
  dibs_value *value = NULL;

  options.flags = DIBS_CLIENT_NO_THREAD;
  options.connect_timeout_ms = 100;
  if (dibs_open("redis://127.0.0.1:1", &options, &client, NULL) != DIBS_OK)
    return 1;
  if (dibs_map_get(client, "m", key, &value) != DIBS_ERR_UNREACHABLE)
    return 2;
  value = dibs_value_free(value);
  client = dibs_close(client);
  printf("%s\n", dibs_status_name(DIBS_OK));
  return 0;
}
