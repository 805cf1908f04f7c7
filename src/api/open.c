/* SPDX-License-Identifier: MIT */
/* api/open.c - from URLs, options, environment and files to a client; which of them wins is
 * in settings.c. */
#include "api/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/degrade.h"
#include "api/settings.h"
#include "local/local.h"

#define SHOWN_BYTES_MAX (1u << 20)

/* ---- memory ---- */

static void *plain_allocate(size_t bytes, void *data)
{
  (void)data;
  return malloc(bytes);
}

static void *plain_reallocate(void *old, size_t bytes, void *data)
{
  (void)data;
  return realloc(old, bytes);
}

static void plain_release(void *old, void *data)
{
  (void)data;
  free(old);
}

memory memory_of(const dibs_allocator *a)
{
  if (a == NULL)
    return (memory){ plain_allocate, plain_reallocate, plain_release, NULL };
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
  if (source != NULL) {
    text_add(o->why, source);
    text_add(o->why, ": ");
  }
  text_add(o->why, words);
  return status;
}

/* Without a URL in the program: the environment, the file, the private server. */
static dibs_status url_find(opening *o, bool may_be_private)
{
  static const char *const names[] = { "DIBS_URL", "VALKEY_URL", "REDIS_URL" };
  dibs_status status;

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (environment(names[i]) != NULL)
      return url_read(o, names[i], environment(names[i]));
  status = config_find(&o->config, o->why);
  if (status != DIBS_OK)
    return status;
  if (o->config.url != NULL)
    return url_read(o, "url in the config file", o->config.url);
  if (may_be_private)
    return url_read(o, NULL, "local:");
  text_add(o->why, "no server is configured: set DIBS_URL, such as redis://host:6379, or "
                   "write url = ... into ~/.config/dibs/config");
  return DIBS_ERR_CONFIG;
}

/* local: becomes the unix socket of the private server, started if need be. */
static dibs_status local_use(opening *o)
{
  char where[320];
  text why = text_over(o->local_error.text, sizeof(o->local_error.text));
  server_url *seed = &o->servers.seeds[0];
  server_url found;
  dibs_status status;

  if (seed->transport != SERVER_LOCAL)
    return DIBS_OK;
  status = local_join(where, sizeof(where), &o->local_use_fd, &o->local_error);
  if (status != DIBS_OK) {
    text_add(o->why, o->local_error.text);
    return status;
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

static bool client_id_make(char ret_id[CLIENT_ID_SIZE], uint64_t *ret_seed)
{
  uint8_t bytes[16 + sizeof(uint64_t)];

  if (!drive_random(bytes, sizeof(bytes)))
    return false;
  /* A token begins with the id and is a word of command lines: never with a dash. */
  if (bytes[0] >> 2 == 62)
    bytes[0] &= 0x7f;
  /* Other dialects write it as a UUID of version 4. */
  bytes[6] = (uint8_t)(0x40 | (bytes[6] & 0x0f));
  bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
  text_base64url_16(bytes, ret_id);
  memcpy(ret_seed, bytes + 16, sizeof(*ret_seed));
  return true;
}

/* What the scripts that the API runs itself must know of the deployment. */
static void names_set(dibs_client *c, const engine_settings *s)
{
  text registry = text_over(c->names.registry, sizeof(c->names.registry));

  text_add(&registry, s->registry != NULL ? s->registry : "");
  c->names.dialect = s->dialect;
  c->names.has_tags = c->servers.kind == DEPLOYMENT_CLUSTER;
  c->names.has_sharded_channels = c->names.has_tags && !s->shuns_shards;   /* since 7.0 */
  c->names.uses_functions = s->uses_functions;
  c->names.quarantine_ms = span_to_ms(s->quarantine);
}

/* What the native protocol has and another format lacks. */
static dibs_status dialect_check(const dibs_client *c, text *why)
{
  const char *lacks = NULL;

  if (c->names.dialect == DIALECT_NATIVE)
    return DIBS_OK;
  if (c->servers.kind == DEPLOYMENT_QUORUM && !dialect_traits_of(&c->names)->has_quorums)
    lacks = "locks on a quorum; give the URL of one deployment";
  else if (c->names.quarantine_ms > 0)
    lacks = "an era guard; leave quarantine out";
  else if ((c->flags & DIBS_CLIENT_DETECT_DEADLOCK) != 0)
    lacks = "a search for deadlocks; leave DIBS_CLIENT_DETECT_DEADLOCK out";
  if (lacks == NULL)
    return DIBS_OK;
  text_add(why, "the dialect ");
  text_add(why, dialect_traits_of(&c->names)->name);
  text_add(why, " does not have ");
  text_add(why, lacks);
  return DIBS_ERR_CONFIG;
}

static dibs_status drive_make(dibs_client *c, const opening *o)
{
  char host[256];
  drive_settings s = { .has_thread = (c->flags & DIBS_CLIENT_NO_THREAD) == 0,
                       .has_callback_thread = (c->flags & (DIBS_CLIENT_NO_THREAD |
                                                          DIBS_CLIENT_PROCESS_CALLBACKS)) == 0,
                       .handler = { c, api_effect, api_cancelled, degrade_alarm } };
  text prefix = text_over(c->names.prefix, sizeof(c->names.prefix));
  dibs_status status;

  if (!client_id_make(s.engine.client_id, &s.engine.seed)) {
    text_add(o->why, "no random numbers: getrandom failed");
    return DIBS_ERR_SYSTEM;
  }
  memcpy(c->names.client, s.engine.client_id, sizeof(c->names.client));
  text_add(&prefix, c->servers.data.prefix);
  drive_host(host, sizeof(host));
  engine_settings_set(c, o, &s.engine);
  s.engine.host = host;
  names_set(c, &s.engine);
  status = dialect_check(c, o->why);
  if (status != DIBS_OK)
    return status;
  status = drive_new(&s, &c->drive, o->why);
  if (status != DIBS_OK || c->on_event == NULL)
    return status;
  return drive_callbacks_prepare(c->drive);
}

/* Hosts and paths can be many and long. */
static bool shown_make(dibs_client *c)
{
  for (size_t size = 512; size <= SHOWN_BYTES_MAX; size *= 4) {
    char *bytes = mem_alloc(&c->memory, size);
    text shown;

    if (bytes == NULL)
      return false;
    shown = text_over(bytes, size);
    deployment_show(&c->servers, &shown);
    c->shown = bytes;
    if (!shown.is_cut)
      return true;
    mem_free(&c->memory, bytes);
    c->shown = NULL;
  }
  return false;
}

static dibs_status client_make(opening *o, dibs_client **ret_client)
{
  dibs_client *c = mem_zalloc(&o->memory, sizeof(*c));
  dibs_status status = DIBS_ERR_NO_MEMORY;

  if (c == NULL)
    return DIBS_ERR_NO_MEMORY;
  c->memory = o->memory;
  c->epoch = fork_epoch();
  c->flags = o->options.flags;
  c->names_max = (uint64_t)o->options.names_max;
  c->on_event = o->options.on_event;
  c->on_event_data = o->options.on_event_data;
  c->is_private = o->is_private;
  c->local_use_fd = o->local_use_fd;
  o->local_use_fd = -1;
  c->servers = o->servers;
  o->servers = (deployment){ .memory = o->memory, .data = { .memory = o->memory } };
  c->degrade = degrade_of(o, &c->servers.data);
  c->times = times_of(o, &c->servers.data);
  if (c->degrade == DEGRADE_LOCAL)
    c->outage = mem_zalloc(&c->memory, sizeof(*c->outage));
  if ((c->degrade != DEGRADE_LOCAL || c->outage != NULL) && shown_make(c))
    c->handle = handle_new(HANDLE_CLIENT, c, NULL);
  if (c->handle != NULL) {
    c->handle_word = handle_value(c->handle);
    status = drive_make(c, o);
  }
  if (status == DIBS_OK)
    *ret_client = c;
  else
    (void)client_free(c);
  return status;
}

/* ---- open ---- */

static dibs_status open_all(opening *o, const char *url, dibs_client **ret_client)
{
  bool may_be_private = url == NULL && (o->options.flags & DIBS_CLIENT_NO_LOCAL) == 0;
  dibs_status status = url == NULL || url[0] == 0 ? url_find(o, may_be_private)
                                                  : url_read(o, NULL, url);

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
    (void)close(o->local_use_fd);
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
  if (drive_is_in_callback())
    return DIBS_ERR_WOULD_BLOCK;
  status = client_options_read(options, &o.options, why);
  if (status != DIBS_OK)
    return status;
  o.memory = memory_of(o.options.allocator);
  o.servers = (deployment){ .memory = o.memory, .data = { .memory = o.memory } };
  config_init(&o.config, &o.memory);
  status = open_all(&o, url, ret_client);
  opening_deinit(&o);
  return status;
}

dibs_status dibs_open_with_error(const char *url, const dibs_options *options,
                                 dibs_client **ret_client, dibs_error *error)
{
  char words[sizeof(error->text)];
  text why = text_over(words, sizeof(words));
  dibs_status status = open_checked(url, options, ret_client, &why);

  if (error != NULL) {
    text shown = text_over(error->text, sizeof(error->text));

    error->status = status;
    error->node[0] = 0;
    if (status != DIBS_OK)
      text_add(&shown, why.used > 0 ? words : dibs_status_text(status));
  }
  return status;
}

dibs_status dibs_open(const char *url, const dibs_options *options, dibs_client **ret_client)
{
  return dibs_open_with_error(url, options, ret_client, NULL);
}
