/* SPDX-License-Identifier: MIT */
/* link/answer.c - which question a reply answers, and what that makes of it. */
#include "link/link_state.h"

#include <string.h>

/* ---- faults, in words ---- */

void link_fault_words(link *l, dibs_status status, const char *words)
{
  text t = text_over(l->fault_text, sizeof(l->fault_text));

  text_add(&t, words);
  link_fault(l, status);
}

static bool contains(const resp_node *said, const char *words)
{
  size_t size = strlen(words);

  for (size_t i = 0; size <= said->size && i <= said->size - size; i++)
    if (memcmp(said->bytes + i, words, size) == 0)
      return true;
  return false;
}

void link_fault_reply(link *l, dibs_status status, const char *words,
                      const resp_node *said)
{
  text t = text_over(l->fault_text, sizeof(l->fault_text));

  text_add(&t, words);
  /* Some servers repeat the arguments of a command they do not know. */
  if (said->bytes == NULL)
    text_add(&t, "neither a text nor an error");
  else if (l->password != NULL && l->password[0] != 0 && contains(said, l->password))
    text_add(&t, "(its words repeat the password)");
  else
    text_add_quoted(&t, said->bytes, said->size);
  link_fault(l, status);
}

/* ---- replies ---- */

static bool is_word(const resp_node *node, const char *word)
{
  return node != NULL && node->bytes != NULL && node->size == strlen(word)
    && memcmp(node->bytes, word, node->size) == 0;
}

/* A push on a subscribed connection: ["message", channel, payload]. */
static bool is_message(const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);

  return root->kind == RESP_ARRAY && root->integer == 3
    && is_word(resp_child(reply, root, 0), "message");
}

/* Of our own inbox or of a further channel: whoever subscribed knows his. */
static bool is_whole_message(const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);

  return resp_child(reply, root, 1)->kind == RESP_STRING
    && resp_child(reply, root, 2)->kind == RESP_STRING;
}

/* "+PONG", or ["pong", ""] on a subscribed connection. */
static bool is_pong(const link *l, const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);

  if (l->role == LINK_COMMANDS)
    return root->kind == RESP_STATUS && is_word(root, "PONG");
  return root->kind == RESP_ARRAY && root->integer == 2
    && is_word(resp_child(reply, root, 0), "pong");
}

static void pong_read(link *l, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);

  if (is_pong(l, reply))
    return;
  /* On commands an error answers as well as a PONG does: the peer is alive, and has
   * perhaps forbidden PING to us. A subscribed peer that errs is not subscribed. */
  if (said->kind == RESP_ERROR && l->role == LINK_COMMANDS)
    return;
  link_fault_reply(l, DIBS_ERR_PROTOCOL, "an unexpected answer to PING: ", said);
}

/* [word, channel, how many are left] */
static bool is_about_channel(const resp_reply *reply, const char *word)
{
  const resp_node *root = resp_root(reply);

  return root->kind == RESP_ARRAY && root->integer == 3
    && is_word(resp_child(reply, root, 0), word)
    && resp_child(reply, root, 1)->kind == RESP_STRING;
}

/* True when a further channel stands. One that an ACL forbids leaves the others as they
 * are. */
static bool channel_answered(link *l, question_kind kind, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);

  if (is_about_channel(reply, kind == QUESTION_CHANNEL ? "subscribe" : "unsubscribe"))
    return kind == QUESTION_CHANNEL;
  if (said->kind != RESP_ERROR
      || resp_fault_of(said->bytes, said->size) != RESP_FAULT_DENIED)
    link_fault_reply(l, DIBS_ERR_PROTOCOL, "an unexpected answer about a channel: ", said);
  return false;
}

static bool question_take(link *l, question *ret_question)
{
  if (buffer_size(&l->unanswered) == 0)
    return false;
  memcpy(ret_question, buffer_bytes(&l->unanswered), sizeof(*ret_question));
  buffer_consume(&l->unanswered, sizeof(*ret_question));
  return true;
}

/* An answer to nothing: from here on order means nothing either. */
static void unasked(link *l, const resp_node *said)
{
  dibs_status status = DIBS_ERR_PROTOCOL;

  /* Servers say why they hang up ("max number of clients reached"). */
  if (said->kind == RESP_ERROR
      && resp_fault_of(said->bytes, said->size) == RESP_FAULT_LATER)
    status = DIBS_ERR_UNREACHABLE;
  link_fault_reply(l, status, "an answer to no command: ", said);
}

bool link_reply(link *l, resp_reply *reply, instant now, link_event *ret_event)
{
  question q;
  bool is_event = false;

  (void)now;
  if (l->role == LINK_INBOX && l->state == LINK_READY && is_message(reply)) {
    if (is_whole_message(reply)) {
      *ret_event = (link_event){ .kind = LINK_EVENT_MESSAGE, .reply = reply };
      return true;
    }
  } else if (!question_take(l, &q)) {
    unasked(l, resp_root(reply));
  } else if (q.kind == QUESTION_COMMAND) {
    *ret_event = (link_event){
      .kind = LINK_EVENT_ANSWER, .tag = q.tag, .sent_at = q.sent_at, .reply = reply };
    return true;
  } else if (q.kind == QUESTION_PING) {
    pong_read(l, reply);
  } else if (q.kind == QUESTION_CHANNEL || q.kind == QUESTION_UNSUBSCRIBE) {
    if (channel_answered(l, q.kind, reply)) {
      *ret_event = (link_event){ .kind = LINK_EVENT_SUBSCRIBED, .reply = reply };
      return true;
    }
  } else {
    is_event = link_greeting_answer(l, &q, reply, ret_event);
  }
  resp_reply_free(reply);
  return is_event;
}
