/* SPDX-License-Identifier: MIT */
/* api/open.c - opens a client from URLs, options, environment and files; settings.c
 * decides which of them wins. */
#include "api/api.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/degrade.h"
#include "api/settings.h"
#include "api/url_text.h"
#include "base/descriptor.h"
#include "base/errno_text.h"
#include "base/record_size.h"
#include "base/plain_memory.h"
#include "local/local.h"

memory memory_of(const dibs_allocator *a)
{
  if (a == NULL)
    return plain_memory();
  return (memory){ a->allocate, a->reallocate, a->release, a->data };
}

/* ---- which server ---- */

static dibs_status url_read(opening *o, const char *source, const char *url)
{
  char words[400];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  status = deployment_parse(&o->memory, url, &o->servers, &why);
  if (status == DIBS_OK)
    return DIBS_OK;
  text_format(o->why, "%s%s%s", source != NULL ? source : "", source != NULL ? ": " : "", words);
  return status;
}

/* A file that the program names must name the servers: no other source is read. */
static dibs_status file_use(opening *o, const char *path)
{
  dibs_status status = config_find(&o->config, path, o->why);

  if (status != DIBS_OK)
    return status;
  if (o->config.url != NULL)
    return url_read(o, path, o->config.url);
  text_format(o->why, "%s: there is no url in it: add a line such as url = redis://host:6379",
              path);
  return DIBS_ERR_CONFIG;
}

static deployment deployment_none(memory m)
{
  return (deployment){ .memory = m, .data = { .memory = m } };
}

/* The settings of `dibs run` around this program. They complete DIBS_URL as long as it is
 * the URL that was passed on: another URL, or none, replaces them. What this version cannot read is
 * of another one: then DIBS_URL alone counts, which has the same settings, if it is unchanged. */
static dibs_status inherited_use(opening *o)
{
  const char *whole = environment("DIBS_INHERITED_URL"), *plain = environment("DIBS_URL");
  char *shown = NULL, words[400];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  if (whole == NULL || plain == NULL)
    return DIBS_OK;
  status = deployment_parse(&o->memory, whole, &o->servers, &why);
  if (status == DIBS_OK)
    status = url_written(&o->memory, &o->servers, false, &shown);
  if (status != DIBS_OK && status != DIBS_ERR_CONFIG)
    return status;
  o->is_inherited = status == DIBS_OK && strcmp(shown, plain) == 0;
  mem_free(&o->memory, shown);
  if (!o->is_inherited) {
    deployment_deinit(&o->servers);
    o->servers = deployment_none(o->memory);
  }
  return DIBS_OK;
}

/* Without a URL in the program: the environment, the file, the private server. */
static dibs_status url_find(opening *o, bool may_be_private)
{
  static const char *const names[] = { "DIBS_URL", "VALKEY_URL", "REDIS_URL" };
  dibs_status status = inherited_use(o);

  if (status != DIBS_OK || o->is_inherited)
    return status;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (environment(names[i]) != NULL)
      return url_read(o, names[i], environment(names[i]));
  status = config_find(&o->config, NULL, o->why);
  if (status != DIBS_OK)
    return status;
  if (o->config.url != NULL)
    return url_read(o, o->config.file, o->config.url);
  if (may_be_private) {
    o->is_unnamed = true;
    return url_read(o, NULL, "local:");
  }
  text_add(o->why, "no server is configured: set DIBS_URL, such as redis://host:6379, or "
                   "write url = ... into ~/.config/dibs/config");
  return DIBS_ERR_CONFIG;
}

/* local: replaced by the unix socket of the private server, which is started if needed. */
static dibs_status local_use(opening *o)
{
  char where[320];
  text why = text_over(o->local_error.text, sizeof(o->local_error.text));
  server_url *seed = &o->servers.seeds[0];
  server_url found;
  dibs_status status;

  if (seed->transport != SERVER_LOCAL)
    return DIBS_OK;
  if ((o->options.flags & DIBS_CLIENT_NO_LOCAL) != 0) {
    text_add(o->why, "the URL is local:, and DIBS_CLIENT_NO_LOCAL (--no-local) forbids the private "
                     "server. Set DIBS_URL to a server");
    return DIBS_ERR_CONFIG;
  }
  status = local_join(where, sizeof(where), &o->local_use_fd, &o->local_error);
  if (status != DIBS_OK) {
    text_add(o->why, o->local_error.text);
    return status;
  }
  o->local_use_fd = descriptor_keep(o->local_use_fd);
  if (o->local_use_fd < 0) {
    text_add(o->why, "no descriptor left for a client: ");
    text_add(o->why, errno_text(errno));
    return DIBS_ERR_SYSTEM;
  }
  o->is_private = true;
  status = server_url_parse(&o->memory, where, &found, &why);
  if (status != DIBS_OK) {
    text_add(o->why, o->local_error.text);
    return status;
  }
  seed->transport = o->servers.data.transport = SERVER_UNIX;
  seed->path = found.path;
  found.path = NULL;
  server_url_deinit(&found);
  return DIBS_OK;
}

/* ---- the client ---- */

static bool client_id_make(engine_settings *s)
{
  uint8_t bytes[16 + sizeof(uint64_t)];

  if (!drive_random(bytes, sizeof(bytes)) ||
      !drive_random(s->nonce_key, sizeof(s->nonce_key)))
    return false;
  /* A token begins with the id and is a command line argument: it must not begin with a
   * dash. */
  if (bytes[0] >> 2 == 62)
    bytes[0] &= 0x7f;
  /* Other dialects write the id as a UUID of version 4. */
  bytes[6] = (uint8_t)(0x40 | (bytes[6] & 0x0f));
  bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
  text_base64url_16(bytes, s->client_id);
  s->seed = seed_of_bytes(bytes + 16);
  return true;
}

/* Options of the native protocol that another dialect lacks. */
static dibs_status dialect_check(const client_record *c, text *why)
{
  const char *lacks = NULL;

  if (c->names.dialect == &native_dialect)
    return DIBS_OK;
  if (c->servers.kind == DEPLOYMENT_QUORUM && !c->names.dialect->traits.has_quorums)
    lacks = "locks on a quorum; give the URL of one deployment";
  else if (c->names.quarantine_ms > 0)
    lacks = "an era guard; leave quarantine out";
  else if ((c->flags & DIBS_CLIENT_DETECT_DEADLOCK) != 0)
    lacks = "a search for deadlocks; leave DIBS_CLIENT_DETECT_DEADLOCK out";
  if (lacks == NULL)
    return DIBS_OK;
  text_format(why, "the dialect %s does not have %s", c->names.dialect->traits.name, lacks);
  return DIBS_ERR_CONFIG;
}

static dibs_status drive_make(client_record *c, const opening *o)
{
  char host[256];
  drive_settings s = { .has_thread = (c->flags & DIBS_CLIENT_NO_THREAD) == 0,
                       .has_callback_thread = (c->flags & (DIBS_CLIENT_NO_THREAD |
                                                          DIBS_CLIENT_PROCESS_CALLBACKS)) == 0,
                       .handler = { c, api_effect, api_cancelled, client_alarm, client_forked,
                                    password_file_read, api_password } };
  dibs_status status;

  if (!client_id_make(&s.engine)) {
    text_add(o->why, "no random numbers: getrandom failed");
    return DIBS_ERR_SYSTEM;
  }
  drive_host(host, sizeof(host));
  engine_settings_set(c, o, &s.engine);
  c->history_over = s.engine.history_over;
  s.engine.host = host;
  engine_protocol(&s.engine, &c->names);
  status = dialect_check(c, o->why);
  if (status != DIBS_OK)
    return status;
  status = drive_new(&s, &c->drive, o->why);
  if (status != DIBS_OK || c->on_event == NULL)
    return status;
  status = drive_callbacks_prepare(c->drive);
  if (status != DIBS_OK)
    text_add(o->why, "the thread dibs-callback" THREAD_REFUSED);
  return status;
}

/* Locks that other machines do not see must be reported. */
static void unnamed_report(client_record *c)
{
  static const char message[] = "no server is named: locks hold on this machine and for this user "
                                "only. Set DIBS_URL; where it is meant, open local:";

  if (c->on_event == NULL) {
    local_notice(message);
    return;
  }
  drive_lock(c->drive);
  client_event(c, DIBS_EVENT_WARNING, "", message);
  drive_unlock(c->drive);
}

static dibs_status handle_make(client_record *c)
{
  c->handle = handle_new(HANDLE_CLIENT, c, NULL);
  if (c->handle == NULL)
    return DIBS_ERR_NO_MEMORY;
  c->handle_word = handle_value(c->handle);
  return DIBS_OK;
}

static dibs_status client_make(opening *o, dibs_client **ret_client)
{
  client_record *c = mem_zalloc(&o->memory, sizeof(*c));
  dibs_status status;

  if (c == NULL)
    return DIBS_ERR_NO_MEMORY;
  c->memory = o->memory;
  c->epoch = fork_epoch();
  c->flags = o->options.flags;
  c->degrade_alarm_at = c->log_alarm_at = INSTANT_NEVER;
  c->names_max = (uint64_t)o->options.names_max;
  c->on_event = o->options.on_event;
  c->on_event_data = o->options.on_event_data;
  c->is_private = o->is_private;
  c->is_unnamed = o->is_unnamed;
  c->local_use_fd = o->local_use_fd;
  o->local_use_fd = -1;
  c->servers = o->servers;
  o->servers = deployment_none(o->memory);
  c->times = times_of(o, &c->servers.data);
  status = degrade_open(c, o->why);
  if (status == DIBS_OK)
    status = url_shown(&c->memory, &c->servers, &c->shown);
  if (status == DIBS_OK)
    status = handle_make(c);
  if (status == DIBS_OK)
    status = drive_make(c, o);
  if (status == DIBS_OK && c->is_unnamed && (c->flags & DIBS_CLIENT_LOCAL) == 0)
    unnamed_report(c);
  if (status != DIBS_OK) {
    (void)client_free(c);
    return status;
  }
  c->event_over = client_options_data(&o->options);
  *ret_client = c->handle_word;
  return DIBS_OK;
}

/* ---- open ---- */

static dibs_status open_all(opening *o, const char *url, dibs_client **ret_client)
{
  bool may_be_private = url == NULL && (o->options.flags & DIBS_CLIENT_NO_LOCAL) == 0;
  const char *file = o->options.config_file;
  dibs_status status;

  if (url != NULL && url[0] != 0 && file != NULL) {
    text_add(o->why, "a URL and config_file are both given: the file names the server");
    return DIBS_ERR_ARGUMENT;
  }
  if (file != NULL)
    status = file_use(o, file);
  else
    status = url == NULL || url[0] == 0 ? url_find(o, may_be_private) : url_read(o, NULL, url);
  if (status == DIBS_OK)
    status = local_use(o);
  if (status == DIBS_OK)
    status = settings_merge(o);
  return status == DIBS_OK ? client_make(o, ret_client) : status;
}

static void opening_deinit(opening *o)
{
  deployment_deinit(&o->servers);
  config_deinit(&o->config);
  if (o->local_use_fd >= 0)
    descriptor_close(o->local_use_fd);
}

static dibs_status open_checked(const char *url, const dibs_options *options,
                                dibs_client **ret_client, text *why)
{
  opening o = { .local_use_fd = -1, .why = why };
  dibs_status status;

  if (ret_client == NULL) {
    text_add(why, "ret_client is NULL");
    return DIBS_ERR_ARGUMENT;
  }
  status = drive_may_open(why);
  if (status == DIBS_OK)
    status = client_options_read(options, &o.options, why);
  if (status != DIBS_OK)
    return status;
  o.memory = memory_of(o.options.allocator);
  o.servers = deployment_none(o.memory);
  config_init(&o.config, &o.memory);
  status = open_all(&o, url, ret_client);
  opening_deinit(&o);
  return status;
}

dibs_status dibs_open(const char *url, const dibs_options *options, dibs_client **ret_client,
                      dibs_error *error)
{
  char words[sizeof(error->text)];
  text why = text_over(words, sizeof(words));
  dibs_status status = DIBS_ERR_WOULD_BLOCK;
  bool may_block = !drive_is_in_callback() && !drive_is_busy();

  drive_enter_call();
  if (!error_has_room(error)) {
    text_add(&why, NO_ERROR_ROOM);
    status = DIBS_ERR_ARGUMENT;
  } else if (may_block) {
    status = open_checked(url, options, ret_client, &why);
  }
  drive_leave_call();
  if (error != NULL && error_has_room(error)) {
    text shown = text_over(error->text, sizeof(error->text));

    error->status = status;
    error->node[0] = 0;
    if (status != DIBS_OK)
      text_add(&shown, why.used > 0 ? words : dibs_status_text(status));
  }
  status = fault_end_with(NULL, status, words);
  if (status != DIBS_OK) {
    callback_data over = client_options_data(options);

    (void)callback_data_end(&over, status);
  }
  return status;
}
