/* SPDX-License-Identifier: MIT */
/* link/answer.c - matches each reply to its question, and makes events and faults of it. */
#include "link/link_state.h"

#include <string.h>

/* ---- messages of faults ---- */

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
  /* Some servers repeat the arguments of an unknown command. */
  if (said->bytes == NULL)
    text_add(&t, "neither a text nor an error");
  else if (l->is_rekeyed
           || (l->password != NULL && l->password[0] != 0 && contains(said, l->password)))
    text_add(&t, "(its text repeats the password)");
  else
    text_add_quoted(&t, said->bytes, said->size);
  if (said->kind == RESP_ERROR)
    text_add(&t, resp_fault_remedy(said->bytes, said->size));
  link_fault(l, status);
}

/* ---- replies ---- */

bool node_is_word(const resp_node *node, const char *word)
{
  return node != NULL && node->bytes != NULL && node->size == strlen(word)
    && memcmp(node->bytes, word, node->size) == 0;
}

bool link_is_pong(const link *l, const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);

  /* An inbox without its own channel may have no subscription. */
  if ((l->role != LINK_INBOX || l->channel == NULL) && root->kind == RESP_STATUS)
    return node_is_word(root, "PONG");
  return l->role == LINK_INBOX && root->kind == RESP_ARRAY && root->integer == 2
    && node_is_word(resp_child(reply, root, 0), "pong");
}

static void pong_read(link *l, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);

  if (link_is_pong(l, reply))
    return;
  /* On a command link an error is as good as a PONG: the server is alive, and may forbid
   * PING. A subscribed server that answers an error has lost the subscription. */
  if (said->kind == RESP_ERROR && l->role != LINK_INBOX)
    return;
  link_fault_reply(l, DIBS_ERR_PROTOCOL, "an unexpected answer to PING: ", said);
}

/* A reply without a question: the order of replies is lost. */
static void unasked(link *l, const resp_node *said)
{
  dibs_status status = DIBS_ERR_PROTOCOL;

  /* Some servers send a reason before they close ("max number of clients reached"). */
  if (said->kind == RESP_ERROR
      && resp_fault_of(said->bytes, said->size) == RESP_FAULT_LATER)
    status = DIBS_ERR_UNREACHABLE;
  link_fault_reply(l, status, "an answer to no command: ", said);
}

/* True when it made an event, which owns the reply. */
static bool answer_read(link *l, const question *q, resp_reply *reply,
                        link_event *ret_event)
{
  bool is_ready;

  if (q->kind >= QUESTION_CHANNEL)
    return link_channel_answer(l, q, reply, ret_event);
  link_question_take(l);
  if (q->kind == QUESTION_COMMAND) {
    *ret_event = (link_event){
      .kind = LINK_EVENT_ANSWER, .tag = q->tag, .sent_at = q->sent_at, .reply = reply };
    return true;
  }
  is_ready = false;
  if (q->kind == QUESTION_PING)
    pong_read(l, reply);
  else
    is_ready = link_greeting_answer(l, q, reply, ret_event);
  resp_reply_free(reply);
  return is_ready;
}

bool link_reply(link *l, resp_reply *reply, instant now, link_event *ret_event)
{
  question q;
  bool is_event = false;

  (void)now;
  if (l->role == LINK_INBOX && l->state == LINK_READY
      && link_push(l, reply, ret_event, &is_event))
    return is_event;
  if (link_question(l, &q))
    return answer_read(l, &q, reply, ret_event);
  unasked(l, resp_root(reply));
  resp_reply_free(reply);
  return false;
}
