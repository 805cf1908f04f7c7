/* SPDX-License-Identifier: MIT */
/* topo/server_url_copy.c - copies the URL of one server, also for another address. */
#include "topo/server_url_parts.h"

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

static const address_mapping *mapping_of(const deployment *d, const char *host, int port)
{
  const address_mapping *any = NULL;

  for (size_t i = 0; i < d->mapping_count; i++) {
    const address_mapping *m = &d->mappings[i];
    if (!host_is_same(m->from_host, host))
      continue;
    if (m->from_port == port)
      return m;
    if (m->from_port == 0)
      any = m;
  }
  return any;
}

dibs_status deployment_url(const deployment *d, const char *host, int port,
                           server_url *ret_url)
{
  const address_mapping *mapping = mapping_of(d, host, port);
  server_url u;

  if (server_url_copy(&d->data, &u) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  u.host = mem_copy_text(&u.memory, mapping != NULL ? mapping->to_host : host);
  u.port = mapping != NULL && mapping->to_port != 0 ? mapping->to_port : port;
  if (u.host == NULL) {
    server_url_deinit(&u);
    return DIBS_ERR_NO_MEMORY;
  }
  *ret_url = u;
  return DIBS_OK;
}

bool password_is_of(const server_url *u, const char *file, password_place place)
{
  return u->password_file != NULL && strcmp(u->password_file, file) == 0 &&
         u->password_in == place;
}
