/* SPDX-License-Identifier: MIT */
/* api/settings.c - merges the sources of settings: the first source that names a value
 * wins. */
#include "api/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dialect/string/lock.h"

#define CONNECT_MS 5000
#define COMMAND_MS 2000
#define CLOSE_MS 1000
#define PPM 10000
#define HANDOVERS 16
#define HANDOVER_MS 10
#define REPORT_MS 10000
#define HISTORY_MAX 10000
#define HISTORY_OVER_MS 1000

const char *environment(const char *name)
{
  const char *value = secure_getenv(name);

  return value != NULL && value[0] != 0 ? value : NULL;
}

/* ---- texts, which go into the URLs ---- */

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

static const char *password_weak(const opening *o)
{
  /* The private server has no password, and would refuse one. Inherited settings are
   * complete. */
  if (o->config.password != NULL || o->is_private || o->is_inherited)
    return o->config.password;
  return environment("DIBS_PASSWORD") != NULL ? environment("DIBS_PASSWORD")
                                              : environment("REDISCLI_AUTH");
}

/* The private server has no users either: a user of the config file, without a password there,
 * is meant for other servers. */
static const char *user_weak(const opening *o)
{
  return o->is_private && o->config.password == NULL ? NULL : o->config.user;
}

static void secret_drop(const opening *o, char **field)
{
  mem_free_secret(&o->memory, *field);
  *field = NULL;
}

/* Makes the path absolute: valid in another directory, later, and for programs started there. */
static dibs_status path_settle(opening *o, char **field)
{
  text whole = text_over(o->path, sizeof(o->path));

  if (*field == NULL || (*field)[0] == '/' || getcwd(o->path, sizeof(o->path)) == NULL)
    return DIBS_OK;
  whole.used = strlen(o->path);
  text_format(&whole, "/%s", *field);
  return whole.is_cut ? DIBS_OK : text_set(o, field, o->path, NULL);
}

/* The password is in this file, and is read again after a refusal. */
static dibs_status password_file_set(opening *o, server_url *u, const char *path,
                                     password_place place)
{
  u->password_in = place;
  if (text_set(o, &u->password_file, path, NULL) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return path_settle(o, &u->password_file);
}

static dibs_status password_merge(opening *o, server_url *u)
{
  const dibs_options *p = &o->options;
  const config *c = &o->config;
  dibs_status status = DIBS_OK;

  if (p->password != NULL || p->password_file != NULL) {
    secret_drop(o, &u->password_file);
    secret_drop(o, &u->password);
  }
  if (p->password != NULL)
    return text_set(o, &u->password, p->password, NULL);
  if (p->password_file != NULL || u->password_file != NULL)
    status = password_file_set(o, u, p->password_file, PASSWORD_LINE);
  /* A program around this one gives the password, too. */
  if (status != DIBS_OK || u->password != NULL)
    return status;
  if (u->password_file != NULL)
    return password_file_read(&o->memory, u->password_file, PASSWORD_LINE, &u->password,
                              o->why);
  if (c->password != NULL)
    status = password_file_set(o, u, c->password_file != NULL ? c->password_file : c->file,
                               c->password_file != NULL ? PASSWORD_LINE : PASSWORD_KEY);
  return status == DIBS_OK ? text_set(o, &u->password, NULL, password_weak(o)) : status;
}

static dibs_status login_merge(opening *o, server_url *u)
{
  const dibs_options *p = &o->options;

  if (text_set(o, &u->user, p->user, user_weak(o)) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return password_merge(o, u);
}

/* Sentinels have their own log-in; the servers' log-in is never sent to them. */
static dibs_status sentinel_login_merge(opening *o, server_url *u)
{
  const dibs_options *p = &o->options;
  const config *c = &o->config;
  dibs_status status = text_set(o, &u->user, p->sentinel_user, c->sentinel_user);

  if (status == DIBS_OK && p->sentinel_password == NULL && u->password == NULL &&
      c->sentinel_password != NULL)
    status = password_file_set(o, u, c->file, SENTINEL_PASSWORD_KEY);
  if (status != DIBS_OK)
    return status;
  return text_set(o, &u->password, p->sentinel_password, c->sentinel_password);
}

/* Reading a file that is not regular could block. */
static dibs_status file_settle(opening *o, const char *option, char **field)
{
  const char *fault;

  if (*field == NULL)
    return DIBS_OK;
  if (path_settle(o, field) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  fault = config_file_fault(*field);
  if (fault == NULL)
    return DIBS_OK;
  text_format(o->why, "%s %s%s", option, *field, fault);
  return DIBS_ERR_CONFIG;
}

static dibs_status tls_files_settle(opening *o, server_url *u)
{
  dibs_status status = file_settle(o, "cacert", &u->ca_file);

  if (status == DIBS_OK)
    status = file_settle(o, "cert", &u->cert_file);
  return status == DIBS_OK ? file_settle(o, "key", &u->key_file) : status;
}

static dibs_status tls_merge(opening *o, server_url *u)
{
  const dibs_options *p = &o->options;
  const config *c = &o->config;

  if (u->transport != SERVER_TLS)
    return DIBS_OK;
  if (text_set(o, &u->ca_file, p->ca_file, c->ca_file) != DIBS_OK ||
      text_set(o, &u->cert_file, p->cert_file, c->cert_file) != DIBS_OK ||
      text_set(o, &u->key_file, p->key_file, c->key_file) != DIBS_OK ||
      text_set(o, &u->server_name, p->server_name, c->server_name) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return tls_files_settle(o, u);
}

#define ONE_NUMBERING(number, NAME, word) \
  _Static_assert((int)DIBS_DIALECT_##NAME == (number), "base/dialects.h and dibs_dialect");
DIALECTS(ONE_NUMBERING)

/* The registry of the config file, or of a program around this one, applies to dialect
 * spring only. */
static dibs_status registry_merge(opening *o)
{
  server_url *u = &o->servers.data;
  bool is_spring = dialect_of_number(u->dialect) == &spring_dialect;

  if (o->is_inherited && !is_spring) {
    mem_free_secret(&o->memory, u->registry);
    u->registry = NULL;
  }
  return text_set(o, &u->registry, o->options.registry, is_spring ? o->config.registry : NULL);
}

static dibs_status texts_merge(opening *o)
{
  deployment *d = &o->servers;
  dibs_status status = login_merge(o, &d->data);

  if (status == DIBS_OK)
    status = tls_merge(o, &d->data);
  for (size_t i = 0; status == DIBS_OK && i < d->seed_count; i++) {
    status = d->kind == DEPLOYMENT_SENTINEL ? sentinel_login_merge(o, &d->seeds[i])
                                            : login_merge(o, &d->seeds[i]);
    if (status == DIBS_OK)
      status = tls_merge(o, &d->seeds[i]);
  }
  if (status != DIBS_OK)
    return status;
  if (text_set(o, &d->data.prefix, o->options.prefix, o->config.prefix) != DIBS_OK ||
      text_set(o, &d->data.note, o->options.note, o->config.note) != DIBS_OK ||
      text_set(o, &d->data.classes, o->options.classes, o->config.classes) != DIBS_OK ||
      registry_merge(o) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return text_set(o, &d->data.prefix, NULL, PREFIX_DEFAULT);
}

/* ---- numbers and choices, which go there too ---- */

static int32_t number_of(int32_t strong, int32_t url, int32_t weak)
{
  return strong != 0 ? strong : url != 0 ? url : weak;
}

_Static_assert((int)DIBS_DEGRADE_FAIL == (int)DEGRADE_FAIL
               && (int)DIBS_DEGRADE_WAIT == (int)DEGRADE_WAIT
               && (int)DIBS_DEGRADE_LOCAL == (int)DEGRADE_LOCAL, "one numbering");

static void choices_merge(opening *o)
{
  const dibs_options *p = &o->options;
  const config *c = &o->config;
  server_url *u = &o->servers.data;

  u->dialect = (url_dialect)number_of((int32_t)p->dialect, (int32_t)u->dialect,
                                      (int32_t)c->dialect);
  u->degrade = (url_degrade)number_of((int32_t)p->degrade, (int32_t)u->degrade,
                                      (int32_t)c->degrade);
  u->pubsub = u->pubsub != 0 ? u->pubsub : c->pubsub;
  u->functions = u->functions != 0 ? u->functions : c->functions;
  u->sharded = u->sharded != 0 ? u->sharded : c->sharded;
  u->quarantine_ms = number_of(p->quarantine_ms, u->quarantine_ms, c->quarantine_ms);
  u->clock_rate_error_ppm = number_of(p->clock_rate_error_ppm, u->clock_rate_error_ppm,
                                      c->clock_rate_error_ppm);
  u->report_ms = number_of(p->report_ms, u->report_ms, c->report_ms);
  u->history = (url_history)number_of((int32_t)p->history, (int32_t)u->history,
                                      (int32_t)c->history);
  u->history_max = number_of(p->history_max, u->history_max, c->history_max);
  u->history_over_ms = number_of(p->history_over_ms, u->history_over_ms, c->history_over_ms);
  u->connect_timeout_ms = number_of(p->connect_timeout_ms, u->connect_timeout_ms,
                                    c->connect_timeout_ms);
  u->command_timeout_ms = number_of(p->command_timeout_ms, u->command_timeout_ms,
                                    c->command_timeout_ms);
  /* The close timeout of this program does not concern other programs. */
  u->close_timeout_ms = number_of(0, u->close_timeout_ms, c->close_timeout_ms);
}

/* DIBS_DATABASE_ZERO is 0. Sentinels have no databases. */
static dibs_status database_merge(opening *o)
{
  deployment *d = &o->servers;
  int database = o->options.database < 0 ? 0 : o->options.database;

  if (o->options.database == 0)
    return DIBS_OK;
  if (database > 0 && (o->is_private || d->kind == DEPLOYMENT_CLUSTER)) {
    text_format(o->why, "database %d: %s database 0 only", database,
                o->is_private ? "the private server is used with" : "a cluster has");
    return DIBS_ERR_ARGUMENT;
  }
  d->data.database = database;
  for (size_t i = 0; i < d->seed_count && d->kind != DEPLOYMENT_SENTINEL; i++)
    d->seeds[i].database = database;
  return DIBS_OK;
}

/* ---- do they fit? ---- */

static bool names_tls(const opening *o)
{
  const dibs_options *p = &o->options;
  const config *c = &o->config;

  return p->ca_file != NULL || p->cert_file != NULL || p->key_file != NULL ||
         p->server_name != NULL || c->ca_file != NULL || c->cert_file != NULL ||
         c->key_file != NULL || c->server_name != NULL;
}

static bool speaks_tls(const deployment *d)
{
  bool is_tls = d->data.transport == SERVER_TLS;

  for (size_t i = 0; i < d->seed_count; i++)
    is_tls = is_tls || d->seeds[i].transport == SERVER_TLS;
  return is_tls;
}

static dibs_status registry_check(opening *o)
{
  const char *registry = o->servers.data.registry, *fault = NULL;

  if (dialect_of_number(o->servers.data.dialect) != &spring_dialect) {
    if (registry == NULL)
      return DIBS_OK;
    text_add(o->why, "registry is for dialect=spring; leave it out, or add that");
  } else if (registry == NULL) {
    text_add(o->why, "dialect=spring needs registry=KEY, the registryKey that the "
                     "RedisLockRegistry of the Spring side was made with");
  } else if ((fault = spring_registry_fault(registry)) == NULL) {
    return DIBS_OK;
  } else {
    text_add(o->why, "registry ");
    text_add_quoted(o->why, registry, strlen(registry));
    text_add(o->why, ": ");
    text_add(o->why, fault);
  }
  return o->options.registry != NULL ? DIBS_ERR_ARGUMENT : DIBS_ERR_CONFIG;
}

/* A file is read only where no URL is given: what is no option of the program is of that file. */
static dibs_status wrong_setting(const opening *o, const char *option)
{
  if (option != NULL)
    return DIBS_ERR_ARGUMENT;
  if (o->config.file != NULL)
    text_format(o->why, "%s: ", o->config.file);
  return DIBS_ERR_CONFIG;
}

static dibs_status settings_check(opening *o)
{
  const server_url *u = &o->servers.data;
  const char *fault = native_prefix_fault(u->prefix);
  char words[300];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  if (fault != NULL) {
    status = wrong_setting(o, o->options.prefix);
    text_add(o->why, "prefix ");
    text_add_quoted(o->why, u->prefix, strlen(u->prefix));
    text_add(o->why, ": ");
    text_add(o->why, fault);
    return status;
  }
  if (u->note != NULL && strlen(u->note) > DIBS_NOTE_MAX) {
    status = wrong_setting(o, o->options.note);
    text_add(o->why, "note is longer than 256 bytes");
    return status;
  }
  /* An authority implies TLS. */
  if (names_tls(o) && !speaks_tls(&o->servers)) {
    text_add(o->why, "cacert, cert, key and sni need TLS: rediss:// or valkeys://");
    return DIBS_ERR_CONFIG;
  }
  if (!fleet_classes_check(u->classes, &why)) {
    status = wrong_setting(o, o->options.classes);
    text_add(o->why, words);
    return status;
  }
  return registry_check(o);
}

dibs_status settings_merge(opening *o)
{
  dibs_status status;

  choices_merge(o);
  status = texts_merge(o);
  if (status == DIBS_OK)
    status = database_merge(o);
  return status == DIBS_OK ? settings_check(o) : status;
}

/* ---- what is this client's alone ---- */

client_times times_of(const opening *o, const server_url *data)
{
  const dibs_options *p = &o->options;

  return (client_times){
    .connect_ms = number_of(data->connect_timeout_ms, CONNECT_MS, 0),
    .command_ms = number_of(data->command_timeout_ms, COMMAND_MS, 0),
    .close_ms = number_of(p->close_timeout_ms, data->close_timeout_ms, CLOSE_MS),
    .renew_every_ms = p->renew_every_ms,
    .clock_rate_error_ppm = number_of(data->clock_rate_error_ppm, PPM, 0),
  };
}

static void deployment_settings_set(const client_record *c, engine_settings *s)
{
  const server_url *data = &c->servers.data;

  s->deployment = &c->servers;
  s->quarantine = span_ms(data->quarantine_ms);
  s->uses_functions = data->functions == CHOICE_YES;
  s->only_polls = data->pubsub == CHOICE_NO;
  s->shuns_shards = data->sharded == CHOICE_NO;
  s->patience = data->degrade == DEGRADE_WAIT ? PATIENCE_ALWAYS
                : data->degrade == 0 ? PATIENCE_ONCE_ANSWERED : PATIENCE_NEVER;
  s->dialect = dialect_of_number(data->dialect);
}

_Static_assert((int)DIBS_HISTORY_OFF == (int)URL_HISTORY_OFF &&
               (int)HISTORY_OFF == (int)URL_HISTORY_OFF &&
               (int)DIBS_HISTORY_ALL == (int)HISTORY_ALL, "one numbering");

static void report_settings_set(const server_url *data, engine_settings *s)
{
  int32_t ms = number_of(data->report_ms, REPORT_MS, 0);

  s->report_every = span_ms(ms < 0 ? 0 : ms);
  s->history = data->history != 0 ? (fleet_history)data->history : HISTORY_NOTABLE;
  s->history_max = (uint64_t)number_of(data->history_max, HISTORY_MAX, 0);
  s->history_over = span_ms(number_of(data->history_over_ms, HISTORY_OVER_MS, 0));
  s->classes = data->classes;
}

void engine_settings_set(const client_record *c, const opening *o, engine_settings *s)
{
  const dibs_options *p = &o->options;
  const server_url *data = &c->servers.data;

  deployment_settings_set(c, s);
  report_settings_set(data, s);
  s->memory = o->memory;
  s->prefix = data->prefix;
  s->registry = data->registry;
  s->program = program_invocation_short_name;
  s->version = DIBS_VERSION;
  s->note = data->note != NULL ? data->note : "";
  s->pid = drive_process_id();
  s->connect_timeout = span_ms(c->times.connect_ms);
  s->command_timeout = span_ms(c->times.command_ms);
  s->renew_every = span_ms(c->times.renew_every_ms);
  s->clock_rate_error_ppm = c->times.clock_rate_error_ppm;
  s->local_handovers_max = p->local_handovers_max == 0   ? HANDOVERS
                           : p->local_handovers_max < 0 ? 0 : p->local_handovers_max;
  s->names_max = c->names_max;
  s->reports_waits = (c->flags & DIBS_CLIENT_DETECT_DEADLOCK) != 0;
  s->local_handover_time =
    span_ms(p->local_handover_ms == 0 ? HANDOVER_MS : p->local_handover_ms);
}
