/* SPDX-License-Identifier: MIT */
/* api/password.c - reads a password again that the server has refused: it may have been replaced
 * in its file since. */
#include "api/api.h"

#include <string.h>

#include "api/config.h"

static void url_update(server_url *u, const server_url *from, const char *password)
{
  char *copy;

  if (!password_is_of(u, from->password_file, from->password_in))
    return;
  copy = mem_copy_text(&u->memory, password);
  if (copy == NULL)
    return;                              /* a link that begins with the old one is refused */
  mem_free_secret(&u->memory, u->password);
  u->password = copy;
}

void api_password(void *client, const server_url *server, text *ret_files)
{
  client_record *c = client;
  const char *file = server->password_file;
  char *password = NULL;
  dibs_status status = password_file_read(&c->memory, file, server->password_in, &password,
                                          ret_files);

  if (status != DIBS_OK)
    return;
  /* Also of connections to come, and of programs that this one starts. */
  url_update(&c->servers.data, server, password);
  for (size_t i = 0; i < c->servers.seed_count; i++)
    url_update(&c->servers.seeds[i], server, password);
  if (engine_set_file_password(drive_engine(c->drive), file, server->password_in, password)) {
    text_add(ret_files, "password from ");
    text_add_quoted(ret_files, file, strlen(file));
  }
  mem_free_secret(&c->memory, password);
}
