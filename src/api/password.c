/* SPDX-License-Identifier: MIT */
/* api/password.c - credentials that change while the client is open: the program gives others, or a
 * password was read again, because a server has refused it and it may have been replaced in its
 * file. */
#include "api/api.h"

dibs_status dibs_client_set_credentials(dibs_client *client, const char *user,
                                        const char *password)
{
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  status = client_enter(c, false);
  if (status == DIBS_OK) {
    if (!engine_set_credentials(drive_engine(c->drive), user, password))
      status = client_fault(c, DIBS_ERR_NO_MEMORY, "");
    client_leave(c);
  }
  return client_end(c, status);
}

static void url_update(server_url *u, const char *file, password_place place,
                       const char *password)
{
  char *copy;

  if (!password_is_of(u, file, place))
    return;
  copy = mem_copy_text(&u->memory, password);
  if (copy == NULL)
    return;                              /* a link that begins with the old one is refused */
  mem_free_secret(&u->memory, u->password);
  u->password = copy;
}

void api_password(void *client, const char *file, password_place place, const char *password)
{
  client_record *c = client;

  /* Also of connections to come, and of programs that this one starts. */
  url_update(&c->servers.data, file, place, password);
  for (size_t i = 0; i < c->servers.seed_count; i++)
    url_update(&c->servers.seeds[i], file, place, password);
  (void)engine_set_file_password(drive_engine(c->drive), file, place, password);
}
