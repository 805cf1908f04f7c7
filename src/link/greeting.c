/* SPDX-License-Identifier: MIT */
/* link/greeting.c - the handshake, sent in one write.
 *
 *   commands   [AUTH] [SELECT] [CLIENT SETNAME] [ROLE] TIME
 *   inbox      [AUTH] [CLIENT SETNAME] [ROLE] SUBSCRIBE, or PING without a channel
 *   probe      [AUTH] [CLIENT SETNAME] PING
 *
 * The last command is one that a server must answer, so that a ready link has proof that
 * commands are understood and permitted. */
#include "link/link_state.h"

#include <string.h>

/* The rest of the handshake: command names, sizes, line ends. */
#define GREETING_REST_BYTES 512

static resp_argument words_of(const char *words)
{
  return (resp_argument){ words, strlen(words) };
}

static bool ask(link *l, question_kind kind, const resp_argument *words, size_t count,
                instant now)
{
  return resp_command(&l->output, words, count) && link_expect(l, kind, 0, now);
}

static bool ask_auth(link *l, instant now)
{
  resp_argument words[3];
  size_t count = resp_auth_arguments(l->user, l->password, words);

  return count == 0 || ask(l, QUESTION_AUTH, words, count, now);
}

static bool ask_select(link *l, instant now)
{
  char number[16];
  text t = text_over(number, sizeof(number));
  resp_argument words[2] = { RESP_TEXT("SELECT") };

  /* Channels belong to no database, and neither do the commands of a probe. */
  if (l->database == 0 || l->role != LINK_COMMANDS)
    return true;
  text_add_int(&t, l->database);
  words[1] = (resp_argument){ number, t.used };
  return ask(l, QUESTION_SELECT, words, 2, now);
}

static bool ask_set_name(link *l, instant now)
{
  resp_argument words[3] = { RESP_TEXT("CLIENT"), RESP_TEXT("SETNAME") };

  if (l->client_name == NULL || l->client_name[0] == 0)
    return true;
  words[2] = words_of(l->client_name);
  return ask(l, QUESTION_SETNAME, words, 3, now);
}

static bool ask_role(link *l, instant now)
{
  resp_argument words[1] = { RESP_TEXT("ROLE") };

  if (!l->checks_role || l->role == LINK_SCOUT)
    return true;
  return ask(l, QUESTION_ROLE, words, 1, now);
}

/* The command that a server must answer. */
static bool ask_proof(link *l, instant now)
{
  resp_argument time_words[1] = { RESP_TEXT("TIME") };
  resp_argument ping_words[1] = { RESP_TEXT("PING") };
  resp_argument subscribe_words[2] = { RESP_TEXT("SUBSCRIBE") };

  if (l->role == LINK_COMMANDS)
    return ask(l, QUESTION_TIME, time_words, 1, now);
  if (l->role == LINK_SCOUT || l->channel == NULL)
    return ask(l, QUESTION_PROOF, ping_words, 1, now);
  subscribe_words[1] = words_of(l->channel);
  return ask(l, QUESTION_SUBSCRIBE, subscribe_words, 2, now);
}

static size_t length_of(const char *words)
{
  return words == NULL ? 0 : strlen(words);
}

bool link_greet(link *l, instant now)
{
  size_t variable = length_of(l->user) + length_of(l->password)
                    + length_of(l->client_name) + length_of(l->channel);

  /* Room for the whole handshake: a growing buffer would leave copies of the password. */
  if (!buffer_reserve(&l->output, variable + GREETING_REST_BYTES))
    return false;
  return ask_auth(l, now) && ask_select(l, now) && ask_set_name(l, now)
    && ask_role(l, now) && ask_proof(l, now);
}

/* ---- answers ---- */

static const char *words_for(question_kind kind)
{
  switch (kind) {
  case QUESTION_AUTH: return "the server refuses AUTH: ";
  case QUESTION_SELECT: return "the server refuses SELECT: ";
  case QUESTION_SETNAME: return "the server refuses this client: ";
  case QUESTION_ROLE: return "the server refuses ROLE: ";
  case QUESTION_TIME: return "the server refuses TIME: ";
  case QUESTION_SUBSCRIBE: return "the server refuses SUBSCRIBE: ";
  case QUESTION_PROOF: return "the server refuses PING: ";
  case QUESTION_PING:
  case QUESTION_COMMAND:
  case QUESTION_CHANNEL:
  case QUESTION_UNSUBSCRIBE:
  case QUESTION_SHARD_CHANNEL:
  case QUESTION_SHARD_UNSUBSCRIBE: break;
  }
  return "the server refuses: ";
}

static bool begins_with(const resp_node *said, const char *word)
{
  size_t size = strlen(word);

  return said->size >= size && memcmp(said->bytes, word, size) == 0;
}

/* The name is for people that watch the server: an old server, an odd name or a forbidden
 * command must not prevent the link. An error about the connection does. */
static bool set_name_is_harmless(const resp_node *said)
{
  resp_fault fault = resp_fault_of(said->bytes, said->size);

  return fault != RESP_FAULT_LATER && fault != RESP_FAULT_NO_PRIMARY && fault != RESP_FAULT_AUTH
    && !begins_with(said, "DENIED");
}

/* A user without the right to ROLE gets READONLY later. */
static bool role_is_harmless(const resp_node *said)
{
  return begins_with(said, "NOPERM") || begins_with(said, "ERR unknown command");
}

static void refused(link *l, question_kind kind, const resp_node *said)
{
  resp_fault fault = resp_fault_of(said->bytes, said->size);
  dibs_status status = resp_fault_status(fault);

  if (kind == QUESTION_SETNAME && set_name_is_harmless(said))
    return;
  if (kind == QUESTION_ROLE && role_is_harmless(said))
    return;
  /* Any refusal of AUTH ("no password is set" too) needs other credentials; unless the
   * server is not ready to check them. */
  if (kind == QUESTION_AUTH && fault != RESP_FAULT_LATER && !begins_with(said, "DENIED"))
    status = DIBS_ERR_AUTH;
  if (kind == QUESTION_SELECT && fault == RESP_FAULT_OTHER)     /* no such database */
    status = DIBS_ERR_CONFIG;
  link_fault_reply(l, status, words_for(kind), said);
}

static bool is_ok(const resp_node *said)
{
  return said->kind == RESP_STATUS && said->size == 2
    && memcmp(said->bytes, "OK", 2) == 0;
}

/* ["master", ..] is no replica; ["slave", host, port, ..] names its primary. */
static void replica_fault(link *l, const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);
  const resp_node *word = resp_child(reply, root, 0);
  const resp_node *host = resp_child(reply, root, 1);
  const resp_node *port = resp_child(reply, root, 2);
  char place[300];
  text t = text_over(place, sizeof(place));

  if (!node_is_word(word, "slave") || host == NULL || host->kind != RESP_STRING
      || port == NULL || port->kind != RESP_INTEGER) {
    link_fault_reply(l, DIBS_ERR_READ_ONLY, "the server is no primary, its role is ", word);
    return;
  }
  text_add_bytes(&t, host->bytes, host->size);
  text_add(&t, ":");
  text_add_int(&t, port->integer);
  link_fault_reply(l, DIBS_ERR_READ_ONLY, "the server is a replica, its primary is ",
                   &(resp_node){ .kind = RESP_STRING, .bytes = place, .size = t.used });
}

/* Whether it is a possible answer to ROLE; a server that is no primary is a fault. */
static bool role_read(link *l, const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);
  const resp_node *word = resp_child(reply, root, 0);

  if (root->kind != RESP_ARRAY || word == NULL || word->kind != RESP_STRING)
    return false;
  if (!node_is_word(word, "master"))
    replica_fault(l, reply);
  return true;
}

/* ["subscribe", channel, 1] */
static bool is_subscribed(const link *l, const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);
  const resp_node *word = resp_child(reply, root, 0);
  const resp_node *channel = resp_child(reply, root, 1);

  return root->kind == RESP_ARRAY && root->integer == 3
    && word->size == 9 && memcmp(word->bytes, "subscribe", 9) == 0
    && channel->size == strlen(l->channel)
    && memcmp(channel->bytes, l->channel, channel->size) == 0;
}

bool link_greeting_answer(link *l, const question *q, const resp_reply *reply,
                          link_event *ret_event)
{
  const resp_node *said = resp_root(reply);
  bool is_last = q->kind == QUESTION_TIME || q->kind == QUESTION_SUBSCRIBE
    || q->kind == QUESTION_PROOF;
  bool is_expected;
  int64_t server_us = 0;

  if (said->kind == RESP_ERROR) {
    refused(l, q->kind, said);
    return false;
  }
  if (q->kind == QUESTION_TIME)
    is_expected = resp_time(reply, &server_us);
  else if (q->kind == QUESTION_SUBSCRIBE)
    is_expected = is_subscribed(l, reply);
  else if (q->kind == QUESTION_PROOF)
    is_expected = said->kind == RESP_STATUS && node_is_word(said, "PONG");
  else if (q->kind == QUESTION_ROLE)
    is_expected = role_read(l, reply);
  else
    is_expected = is_ok(said);
  if (!is_expected) {
    link_fault_reply(l, DIBS_ERR_PROTOCOL, "an unexpected answer in the handshake: ",
                     said);
    return false;
  }
  if (!is_last || l->state == LINK_DOWN)
    return false;
  l->state = LINK_READY;
  *ret_event = (link_event){
    .kind = LINK_EVENT_READY, .sent_at = q->sent_at, .server_us = server_us };
  return true;
}
