/* SPDX-License-Identifier: MIT */
/* admin/doctor_rights.c - whether the user may execute what dibs needs: asks the server (ACL
 * DRYRUN, 7.0), or tries it where a try is harmless. */
#include "admin/doctor.h"

#include <stdio.h>
#include <string.h>

#define PROBE_SIZE (PREFIX_MAX_BYTES + 72)

/* `<p>:inbox:{tag}:C` is the form of a client channel in a cluster. */
static void probe_name(const examination *x, const char *part, char ret_name[PROBE_SIZE])
{
  if (x->is_cluster)
    (void)snprintf(ret_name, PROBE_SIZE, "%s:%s:{%s}:%s", x->client->names.prefix, part, x->tag,
                   x->client->names.client);
  else
    (void)snprintf(ret_name, PROBE_SIZE, "%s:%s:%s", x->client->names.prefix, part,
                   x->client->names.client);
}

/* A request for a key would have no result in time. */
static bool waits_for_cluster(examination *x, const char *name)
{
  if (x->is_down)
    doctor_add(x, name, DIBS_FINDING_UNKNOWN, "see the finding about the cluster",
               "not examined: the cluster serves no keys now");
  return x->is_down;
}

/* ---- scripts ---- */

static void scripts_look(examination *x, const char *name)
{
  client_record *c = x->client;
  bool by_function = c->names.uses_functions;
  dibs_status status = DIBS_ERR_NO_MEMORY;
  request k;
  dibs_error error = DIBS_ERROR_INIT;

  if (waits_for_cluster(x, name))
    return;
  request_init(&k, &c->memory);
  if (native_inspect(&c->names, &k, x->tag, strlen(x->tag)))
    resp_reply_free(doctor_ask_request(x, &status, &k));
  request_deinit(&k);
  (void)dibs_client_error(NULL, 0, &error);
  if (status == DIBS_OK)
    doctor_add(x, name, DIBS_FINDING_PASS, "", "%s allowed", by_function ? "FCALL" : "EVALSHA");
  else if (status == DIBS_ERR_DENIED)
    doctor_add(x, name, DIBS_FINDING_FAIL,
               by_function ? ADVICE_RIGHTS
                           : ADVICE_RIGHTS ", or use functions=yes where EVAL is forbidden",
               "%s", error.text);
  else
    doctor_add(x, name, DIBS_FINDING_FAIL,
               by_function ? "load the functions: dibs acl --functions"
               : strstr(error.text, "unknown command") != NULL
                 ? "use functions=yes, and load what dibs acl --functions prints"
                 : "see the error",
               "%s", error.text);
}

/* ---- writing ---- */

static void writing_look(examination *x, const char *name)
{
  char key[PROBE_SIZE];
  dibs_status status;
  dibs_error error = DIBS_ERROR_INIT;

  if (waits_for_cluster(x, name))
    return;
  probe_name(x, "doctor", key);
  resp_reply_free(doctor_ask(x, &status, "SET", key, "1", "PX", "10000", NULL));
  (void)dibs_client_error(NULL, 0, &error);
  if (status == DIBS_OK) {
    resp_reply_free(doctor_ask(x, &status, "DEL", key, NULL));
    doctor_add(x, name, DIBS_FINDING_PASS, "", "keys under %s: may be written",
               x->client->names.prefix);
  } else if (status == DIBS_ERR_DENIED) {
    doctor_add(x, name, DIBS_FINDING_FAIL, ADVICE_RIGHTS, "%s", error.text);
  } else {
    doctor_add(x, name, DIBS_FINDING_FAIL, "see the findings about memory, persistence and "
               "replication", "nothing can be written: %s", error.text);
  }
}

/* ---- channels ---- */

typedef enum channel_right { CHANNEL_YES, CHANNEL_NO, CHANNEL_UNKNOWN } channel_right;

/* ACL DRYRUN replies OK or a message. */
static channel_right dry_run(examination *x, const char *user, const char *command,
                             const char *channel)
{
  dibs_status status;
  resp_reply *reply = doctor_ask(x, &status, "ACL", "DRYRUN", user, command, channel, NULL);
  channel_right right = CHANNEL_UNKNOWN;

  if (reply != NULL)
    right = resp_root(reply)->kind == RESP_STATUS ? CHANNEL_YES : CHANNEL_NO;
  resp_reply_free(reply);
  return right;
}

/* The commands of one kind of channel. */
typedef struct channel_words {
  const char *publish, *subscribe, *count;
} channel_words;

static channel_right may_subscribe(examination *x, const channel_words *words,
                                   const char *channel)
{
  dibs_status status;
  resp_reply *reply = doctor_ask(x, &status, "ACL", "WHOAMI", NULL);
  channel_right right = CHANNEL_UNKNOWN;

  if (reply != NULL && resp_root(reply)->kind == RESP_STRING)
    right = dry_run(x, resp_root(reply)->bytes, words->subscribe, channel);
  resp_reply_free(reply);
  return right;
}

static channel_right right_of(dibs_status status)
{
  return status == DIBS_OK ? CHANNEL_YES
         : status == DIBS_ERR_DENIED ? CHANNEL_NO : CHANNEL_UNKNOWN;
}

/* The channel has no subscriber; clients ignore unknown messages. */
static channel_right may_publish(examination *x, const channel_words *words,
                                 const char *channel)
{
  dibs_status status;

  resp_reply_free(doctor_ask(x, &status, words->publish, channel, "doctor", NULL));
  return right_of(status);
}

/* Scripts count the subscribers of a waiter before a handoff. */
static channel_right may_count(examination *x, const channel_words *words, const char *channel)
{
  dibs_status status;

  resp_reply_free(doctor_ask(x, &status, "PUBSUB", words->count, channel, NULL));
  return right_of(status);
}

/* Without arguments nothing is executed: "wrong number of arguments" comes before the rights. */
static bool is_missing(examination *x, const char *command, dibs_error *ret_error)
{
  dibs_status status;

  resp_reply_free(doctor_ask(x, &status, command, NULL));
  (void)dibs_client_error(NULL, 0, ret_error);
  return status == DIBS_ERR_UNSUPPORTED ||
         (status == DIBS_ERR_SERVER && strstr(ret_error->text, "wrong number of arg") == NULL);
}

/* Renamed, or unknown to a proxy. */
static bool names_missing(examination *x, const char *name, const channel_words *words)
{
  const char *commands[] = { words->publish, words->subscribe, "PUBSUB" };

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    dibs_error error = DIBS_ERROR_INIT;

    if (!is_missing(x, commands[i], &error))
      continue;
    doctor_add(x, name, DIBS_FINDING_WARN,
               "give the command back (rename-command, a proxy), or say pubsub=no",
               "%s is missing: waiters get no messages and poll (%s)", commands[i], error.text);
    return true;
  }
  return false;
}

/* Sharded channels where the cluster has them. */
static const channel_words *words_for(const examination *x)
{
  static const channel_words plain = { "PUBLISH", "SUBSCRIBE", "NUMSUB" };
  static const channel_words sharded = { "SPUBLISH", "SSUBSCRIBE", "SHARDNUMSUB" };

  const bool shuns = x->client->servers.data.sharded == CHOICE_NO;

  return x->is_cluster && !shuns && doctor_is_since(x, 7, 0) ? &sharded : &plain;
}

static void channels_look(examination *x, const char *name)
{
  const channel_words *words = words_for(x);
  char channel[PROBE_SIZE];
  channel_right hears, speaks, counts;

  if (x->client->servers.data.pubsub == CHOICE_NO) {
    doctor_add(x, name, DIBS_FINDING_PASS, "", "pubsub=no: waiters poll");
    return;
  }
  if (names_missing(x, name, words))
    return;
  probe_name(x, "inbox", channel);
  speaks = may_publish(x, words, channel);
  counts = may_count(x, words, channel);
  hears = may_subscribe(x, words, channel);
  if (speaks == CHANNEL_NO || hears == CHANNEL_NO || counts == CHANNEL_NO)
    doctor_add(x, name, DIBS_FINDING_WARN, ADVICE_RIGHTS,
               "%s on %s:inbox:* is not allowed: waiters get no messages and poll",
               speaks == CHANNEL_NO  ? words->publish
               : hears == CHANNEL_NO ? words->subscribe
                                      : "PUBSUB NUMSUB",
               x->client->names.prefix);
  else if (hears == CHANNEL_UNKNOWN)
    doctor_add(x, name, DIBS_FINDING_UNKNOWN,
               "servers 7.0 and newer report it to a user with the rights of "
               "dibs acl --mode doctor",
               "PUBLISH on %s:inbox:* allowed; SUBSCRIBE unknown without ACL DRYRUN",
               x->client->names.prefix);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "PUBLISH and SUBSCRIBE on %s:inbox:* allowed",
               x->client->names.prefix);
}

const doctor_check doctor_rights_checks[] = {
  { "scripts", scripts_look },
  { "keys", writing_look },
  { "channels", channels_look },
  { NULL, NULL },
};
