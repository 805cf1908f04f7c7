/* SPDX-License-Identifier: MIT */
/* topo/server_url_copy.c - copies the URL of one server. */
#include "topo/topo.h"

#include <string.h>

dibs_status server_url_copy(const server_url *from, server_url *ret)
{
  char *const *texts[] = { &from->host, &from->path, &from->user, &from->password,
                           &from->password_file, &from->prefix, &from->ca_file,
                           &from->cert_file, &from->key_file, &from->server_name, &from->note,
                           &from->registry, &from->classes };
  server_url copy = *from;
  char **fields[] = { &copy.host, &copy.path, &copy.user, &copy.password, &copy.password_file,
                      &copy.prefix, &copy.ca_file, &copy.cert_file, &copy.key_file,
                      &copy.server_name, &copy.note, &copy.registry, &copy.classes };
  bool is_whole = true;

  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
    *fields[i] = mem_copy_text(&from->memory, *texts[i]);
    is_whole &= *fields[i] != NULL || *texts[i] == NULL;
  }
  if (!is_whole) {
    server_url_deinit(&copy);
    return DIBS_ERR_NO_MEMORY;
  }
  *ret = copy;
  return DIBS_OK;
}

bool password_is_of(const server_url *u, const char *file, password_place place)
{
  return u->password_file != NULL && strcmp(u->password_file, file) == 0 &&
         u->password_in == place;
}
