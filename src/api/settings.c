/* SPDX-License-Identifier: MIT */
/* api/settings.c - the first source that speaks wins. */
#include "api/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/string_lock.h"

#define CONNECT_MS 5000
#define COMMAND_MS 2000
#define CLOSE_MS 1000
#define PPM 10000
#define HANDOVERS 16
#define HANDOVER_MS 10

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
  /* The private server has no password, and would refuse one. */
  if (o->config.password != NULL || o->is_private)
    return o->config.password;
  return environment("DIBS_PASSWORD") != NULL ? environment("DIBS_PASSWORD")
                                              : environment("REDISCLI_AUTH");
}

static dibs_status login_merge(opening *o, server_url *u)
{
  const dibs_options *p = &o->options;

  if (text_set(o, &u->user, p->user, o->config.user) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return text_set(o, &u->password, p->password, password_weak(o));
}

/* Sentinels have a log-in of their own; that of the servers is never shown to them. */
static dibs_status sentinel_login_merge(opening *o, server_url *u)
{
  const dibs_options *p = &o->options;

  if (text_set(o, &u->user, p->sentinel_user, o->config.sentinel_user) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return text_set(o, &u->password, p->sentinel_password, o->config.sentinel_password);
}

static dibs_status tls_merge(opening *o, server_url *u)
{
  const dibs_options *p = &o->options;
  const config *c = &o->config;

  if (u->transport != SERVER_TLS)
    return DIBS_OK;
  if (text_set(o, &u->ca_file, p->ca_file, c->ca_file) != DIBS_OK ||
      text_set(o, &u->cert_file, p->cert_file, c->cert_file) != DIBS_OK ||
      text_set(o, &u->key_file, p->key_file, c->key_file) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return text_set(o, &u->server_name, p->server_name, c->server_name);
}

_Static_assert((int)DIBS_DIALECT_NATIVE == (int)URL_NATIVE
               && (int)DIBS_DIALECT_REDISSON == (int)URL_REDISSON
               && (int)DIBS_DIALECT_SPRING == (int)URL_SPRING
               && (int)DIBS_DIALECT_PLAIN == (int)URL_PLAIN
               && (int)URL_NATIVE == DIALECT_NATIVE + 1
               && (int)URL_REDISSON == DIALECT_REDISSON + 1
               && (int)URL_SPRING == DIALECT_SPRING + 1
               && (int)URL_PLAIN == DIALECT_PLAIN + 1, "one numbering");

static dialect_kind dialect_of(const opening *o, const server_url *data)
{
  url_dialect wanted = o->options.dialect != DIBS_DIALECT_DEFAULT
                         ? (url_dialect)o->options.dialect
                         : data->dialect != 0 ? data->dialect : o->config.dialect;

  return wanted == 0 ? DIALECT_NATIVE : (dialect_kind)(wanted - 1);
}

/* That of the config file is for those of its clients that are Spring's. */
static dibs_status registry_merge(opening *o)
{
  server_url *u = &o->servers.data;
  bool is_spring = dialect_of(o, u) == DIALECT_SPRING;

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
  if (status != DIBS_OK ||
      text_set(o, &d->data.prefix, o->options.prefix, o->config.prefix) != DIBS_OK ||
      text_set(o, &d->data.note, o->options.note, o->config.note) != DIBS_OK ||
      registry_merge(o) != DIBS_OK)
    return DIBS_ERR_NO_MEMORY;
  return text_set(o, &d->data.prefix, NULL, "dibs");
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

  if (dialect_of(o, &o->servers.data) != DIALECT_SPRING) {
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

static dibs_status settings_check(opening *o)
{
  const server_url *u = &o->servers.data;
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
  if (names_tls(o) && !speaks_tls(&o->servers)) {
    text_add(o->why, "cacert, cert, key and sni need TLS: rediss:// or valkeys://");
    return DIBS_ERR_CONFIG;
  }
  return registry_check(o);
}

dibs_status settings_merge(opening *o)
{
  dibs_status status = texts_merge(o);

  return status == DIBS_OK ? settings_check(o) : status;
}

/* ---- numbers and choices ---- */

static int32_t number_of(int32_t strong, int32_t url, int32_t weak, int32_t otherwise)
{
  return strong != 0 ? strong : url != 0 ? url : weak != 0 ? weak : otherwise;
}

client_times times_of(const opening *o, const server_url *data)
{
  const dibs_options *p = &o->options;

  return (client_times){
    .connect_ms = number_of(p->connect_timeout_ms, data->connect_timeout_ms,
                            o->config.connect_timeout_ms, CONNECT_MS),
    .command_ms = number_of(p->command_timeout_ms, data->command_timeout_ms,
                            o->config.command_timeout_ms, COMMAND_MS),
    .close_ms = number_of(p->close_timeout_ms, data->close_timeout_ms,
                          o->config.close_timeout_ms, CLOSE_MS),
    .renew_every_ms = p->renew_every_ms,
  };
}

_Static_assert((int)DIBS_DEGRADE_FAIL == (int)DEGRADE_FAIL
               && (int)DIBS_DEGRADE_WAIT == (int)DEGRADE_WAIT
               && (int)DIBS_DEGRADE_LOCAL == (int)DEGRADE_LOCAL, "one numbering");

url_degrade degrade_of(const opening *o, const server_url *data)
{
  if (o->options.degrade != DIBS_DEGRADE_DEFAULT)
    return (url_degrade)o->options.degrade;
  return data->degrade != 0 ? data->degrade
         : o->config.degrade != 0 ? o->config.degrade : DEGRADE_FAIL;
}

static url_choice choice_of(url_choice url, url_choice weak, url_choice otherwise)
{
  return url != 0 ? url : weak != 0 ? weak : otherwise;
}

static void deployment_settings_set(const dibs_client *c, const opening *o, engine_settings *s)
{
  const server_url *data = &c->servers.data;
  const config *f = &o->config;

  s->deployment = &c->servers;
  s->quarantine = span_ms(number_of(o->options.quarantine_ms, data->quarantine_ms,
                                    f->quarantine_ms, 0));
  s->uses_functions = choice_of(data->functions, f->functions, CHOICE_NO) == CHOICE_YES;
  s->only_polls = choice_of(data->pubsub, f->pubsub, CHOICE_YES) == CHOICE_NO;
  s->shuns_shards = choice_of(data->sharded, f->sharded, CHOICE_YES) == CHOICE_NO;
  s->is_patient = c->degrade == DEGRADE_WAIT;
  s->dialect = dialect_of(o, data);
}

void engine_settings_set(const dibs_client *c, const opening *o, engine_settings *s)
{
  const dibs_options *p = &o->options;
  const server_url *data = &c->servers.data;

  deployment_settings_set(c, o, s);
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
  s->clock_rate_error_ppm = number_of(p->clock_rate_error_ppm, data->clock_rate_error_ppm,
                                      o->config.clock_rate_error_ppm, PPM);
  s->local_handovers_max = p->local_handovers_max == 0   ? HANDOVERS
                           : p->local_handovers_max < 0 ? 0 : p->local_handovers_max;
  s->names_max = c->names_max;
  s->tells_owners = (c->flags & DIBS_CLIENT_DETECT_DEADLOCK) != 0;
  s->local_handover_time =
    span_ms(p->local_handover_ms == 0 ? HANDOVER_MS : p->local_handover_ms);
}
