/* SPDX-License-Identifier: MIT */
/* api/open.c - from a URL, options, environment and files to a client. What the program
 * says wins over the URL, the URL over the config file, that over the environment's
 * passwords. */
#include "api/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config.h"
#include "local/local.h"

#define CONNECT_MS 5000
#define COMMAND_MS 2000
#define CLOSE_MS 1000
#define PPM 10000
#define HANDOVERS 16
#define HANDOVER_MS 10

/* All that is read on the way to a client; freed at the end of dibs_open(). */
typedef struct opening {
  memory memory;
  dibs_options options;
  config config;
  server_url url;
  bool is_private;
  int local_use_fd;
  dibs_error local_error;
  text *why;
} opening;

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

static memory memory_of(const dibs_allocator *a)
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

  server_url_deinit(&o->url);
  status = server_url_parse(&o->memory, url, &o->url, &why);
  if (status == DIBS_OK)
    return DIBS_OK;
  o->url = (server_url){ .memory = o->memory };
  if (source != NULL) {
    text_add(o->why, source);
    text_add(o->why, ": ");
  }
  text_add(o->why, words);
  return status;
}

static const char *environment(const char *name)
{
  const char *value = secure_getenv(name);

  return value != NULL && value[0] != 0 ? value : NULL;
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
  server_url found = { .memory = o->memory };
  dibs_status status;

  if (o->url.transport != SERVER_LOCAL)
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
  o->url.transport = SERVER_UNIX;
  o->url.path = found.path;
  found.path = NULL;
  server_url_deinit(&found);
  return DIBS_OK;
}

/* ---- settings: the first source that speaks wins ---- */

static dibs_status text_set(opening *o, char **field, const char *strong, const char *weak)
{
  const char *value = strong != NULL ? strong : *field == NULL ? weak : NULL;
  char *copy;

  if (value == NULL)
    return DIBS_OK;
  copy = mem_copy_text(&o->memory, value);
  if (copy == NULL)
    return DIBS_ERR_NO_MEMORY;
  mem_free_secret(&o->memory, *field);
  *field = copy;
  return DIBS_OK;
}

static int32_t number_of(int32_t strong, int32_t url, int32_t weak, int32_t otherwise)
{
  return strong != 0 ? strong : url != 0 ? url : weak != 0 ? weak : otherwise;
}

static const char *password_of_environment(void)
{
  const char *password = environment("DIBS_PASSWORD");

  return password != NULL ? password : environment("REDISCLI_AUTH");
}

static dibs_status texts_merge(opening *o)
{
  const dibs_options *p = &o->options;
  const config *c = &o->config;
  server_url *u = &o->url;
  /* The private server has no password, and would refuse one. */
  const char *password = c->password != NULL ? c->password
                         : o->is_private     ? NULL : password_of_environment();

  if (text_set(o, &u->prefix, p->prefix, c->prefix) != DIBS_OK ||
      text_set(o, &u->user, p->user, c->user) != DIBS_OK ||
      text_set(o, &u->password, p->password, password) != DIBS_OK ||
      text_set(o, &u->ca_file, p->ca_file, c->ca_file) != DIBS_OK ||
      text_set(o, &u->cert_file, p->cert_file, c->cert_file) != DIBS_OK ||
      text_set(o, &u->key_file, p->key_file, c->key_file) != DIBS_OK ||
      text_set(o, &u->server_name, p->server_name, c->server_name) != DIBS_OK ||
      text_set(o, &u->note, p->note, c->note) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return text_set(o, &u->prefix, NULL, "dibs");
}

static dibs_status settings_check(opening *o)
{
  const server_url *u = &o->url;
  const char *fault = native_prefix_fault(u->prefix);

  if (fault != NULL) {
    text_add(o->why, "prefix ");
    text_add_quoted(o->why, u->prefix, strlen(u->prefix));
    text_add(o->why, ": ");
    text_add(o->why, fault);
    return o->options.prefix != NULL ? DIBS_ERR_ARGUMENT : DIBS_ERR_CONFIG;
  }
  if (u->note != NULL && strlen(u->note) > DIBS_NOTE_MAX) {
    text_add(o->why, "note is longer than 256 bytes");
    return DIBS_ERR_CONFIG;
  }
  /* Whoever names an authority believes to speak TLS. */
  if (u->transport != SERVER_TLS &&
      (u->ca_file != NULL || u->cert_file != NULL || u->key_file != NULL ||
       u->server_name != NULL)) {
    text_add(o->why, "cacert, cert, key and sni need TLS: rediss:// or valkeys://");
    return DIBS_ERR_CONFIG;
  }
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
  text_base64url_16(bytes, ret_id);
  memcpy(ret_seed, bytes + 16, sizeof(*ret_seed));
  return true;
}

static void times_set(dibs_client *c, const opening *o)
{
  const dibs_options *p = &o->options;

  c->times = (client_times){
    .connect_ms = number_of(p->connect_timeout_ms, o->url.connect_timeout_ms,
                            o->config.connect_timeout_ms, CONNECT_MS),
    .command_ms = number_of(p->command_timeout_ms, o->url.command_timeout_ms,
                            o->config.command_timeout_ms, COMMAND_MS),
    .close_ms = number_of(p->close_timeout_ms, o->url.close_timeout_ms,
                          o->config.close_timeout_ms, CLOSE_MS),
    .renew_every_ms = p->renew_every_ms,
  };
}

static void engine_settings_set(const dibs_client *c, const opening *o, engine_settings *s)
{
  const dibs_options *p = &o->options;

  s->memory = o->memory;
  s->prefix = o->url.prefix;
  s->user = o->url.user;
  s->password = o->url.password;
  s->database = o->url.database;
  s->program = program_invocation_short_name;
  s->version = DIBS_VERSION;
  s->note = o->url.note != NULL ? o->url.note : "";
  s->pid = drive_process_id();
  s->connect_timeout = span_ms(c->times.connect_ms);
  s->command_timeout = span_ms(c->times.command_ms);
  s->renew_every = span_ms(c->times.renew_every_ms);
  s->clock_rate_error_ppm = number_of(p->clock_rate_error_ppm, o->url.clock_rate_error_ppm,
                                      o->config.clock_rate_error_ppm, PPM);
  s->local_handovers_max = p->local_handovers_max == 0   ? HANDOVERS
                           : p->local_handovers_max < 0 ? 0 : p->local_handovers_max;
  s->tells_owners = (c->flags & DIBS_CLIENT_DETECT_DEADLOCK) != 0;
  s->local_handover_time =
    span_ms(p->local_handover_ms == 0 ? HANDOVER_MS : p->local_handover_ms);
}

static dibs_status drive_make(dibs_client *c, const opening *o)
{
  char host[256];
  drive_settings s = { .url = &o->url,
                       .has_thread = (c->flags & DIBS_CLIENT_NO_THREAD) == 0,
                       .has_callback_thread = (c->flags & (DIBS_CLIENT_NO_THREAD |
                                                          DIBS_CLIENT_PROCESS_CALLBACKS)) == 0,
                       .handler = { c, api_effect, api_cancelled } };
  text prefix = text_over(c->names.prefix, sizeof(c->names.prefix));
  dibs_status status;

  if (!client_id_make(s.engine.client_id, &s.engine.seed)) {
    text_add(o->why, "no random numbers: getrandom failed");
    return DIBS_ERR_SYSTEM;
  }
  memcpy(c->names.client, s.engine.client_id, sizeof(c->names.client));
  text_add(&prefix, o->url.prefix);
  drive_host(host, sizeof(host));
  engine_settings_set(c, o, &s.engine);
  s.engine.host = host;
  status = drive_new(&s, &c->drive, o->why);
  if (status != DIBS_OK || c->on_event == NULL)
    return status;
  return drive_callbacks_prepare(c->drive);
}

static dibs_status client_make(opening *o, dibs_client **ret_client)
{
  dibs_client *c = mem_zalloc(&o->memory, sizeof(*c));
  text shown;
  dibs_status status = DIBS_ERR_NO_MEMORY;

  if (c == NULL)
    return DIBS_ERR_NO_MEMORY;
  c->memory = o->memory;
  c->epoch = fork_epoch();
  c->flags = o->options.flags;
  c->on_event = o->options.on_event;
  c->on_event_data = o->options.on_event_data;
  c->is_private = o->is_private;
  c->local_use_fd = o->local_use_fd;
  o->local_use_fd = -1;
  shown = text_over(c->shown, sizeof(c->shown));
  server_url_show(&o->url, &shown);
  times_set(c, o);
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
    status = texts_merge(o);
  if (status == DIBS_OK)
    status = settings_check(o);
  return status == DIBS_OK ? client_make(o, ret_client) : status;
}

static void opening_deinit(opening *o)
{
  server_url_deinit(&o->url);
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
  o.url = (server_url){ .memory = o.memory };
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
