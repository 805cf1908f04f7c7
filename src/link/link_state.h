/* SPDX-License-Identifier: MIT */
/* link/link_state.h - what a link is made of; inner to link/.
 *
 * link.c owns the life, the buffers and the deadlines; greeting.c writes the handshake
 * and reads its answers; channel.c is about further channels; answer.c matches every other
 * reply to what was asked. */
#ifndef LINK_STATE_H
#define LINK_STATE_H

#include "link/link.h"

typedef enum question_kind {
  QUESTION_AUTH = 1, QUESTION_SELECT, QUESTION_SETNAME, QUESTION_ROLE, QUESTION_TIME,
  QUESTION_SUBSCRIBE, QUESTION_PROOF, QUESTION_PING, QUESTION_COMMAND,
  QUESTION_CHANNEL, QUESTION_UNSUBSCRIBE, QUESTION_SHARD_CHANNEL,
  QUESTION_SHARD_UNSUBSCRIBE
} question_kind;

/* Something sent and not answered. */
typedef struct question {
  question_kind kind;
  uint64_t tag;              /* QUESTION_SHARD_UNSUBSCRIBE: the channel's hash */
  instant sent_at;
} question;

struct link {
  memory memory;
  link_role role;
  char *user, *password, *client_name, *channel;
  int database;
  bool checks_role;
  bool is_rekeyed;           /* other credentials came during this handshake: what the peer
                                says may repeat those that nobody knows any more */
  span answer_timeout, idle_ping;

  link_state state;
  resp_reader *reader;       /* NULL while down */
  buffer output;
  buffer unanswered;         /* of question, oldest first */
  instant last_traffic;

  bool has_fault;            /* a FAULT event waits to be taken */
  dibs_status fault;
  char fault_text[256];      /* kept until the next fault */
};

/* Breaks the connection off; `fault_text` has been written. */
void link_fault(link *l, dibs_status status);
/* The same with a text that may lie in the reader. */
void link_fault_words(link *l, dibs_status status, const char *words);
/* The same: `words`, and what the peer said, unless that repeats the password. */
void link_fault_reply(link *l, dibs_status status, const char *words,
                      const resp_node *said);

bool link_has_room(const link *l, size_t size);      /* to send so many bytes more */
bool link_expect(link *l, question_kind kind, uint64_t tag, instant now);

/* Writes the whole handshake and expects its answers; false when memory is refused. */
bool link_greet(link *l, instant now);
/* Reads one answer of the handshake; the last one makes the link ready and an event. */
bool link_greeting_answer(link *l, const question *q, const resp_reply *reply,
                          link_event *ret_event);

bool node_is_word(const resp_node *node, const char *word);
/* "+PONG", or ["pong", ""] on a subscribed connection. */
bool link_is_pong(const link *l, const resp_reply *reply);

/* A reply on a ready inbox that was not asked for: true when it was one. `ret_is_event`:
 * and it made an event, which has the reply. */
bool link_push(link *l, resp_reply *reply, link_event *ret_event, bool *ret_is_event);
/* Reads an answer to the question about a channel that is the oldest; takes the question
 * when it is the last answer to it. True when it made an event, which has the reply. */
bool link_channel_answer(link *l, const question *q, resp_reply *reply,
                         link_event *ret_event);

/* The oldest question; false when there is none. */
bool link_question(const link *l, question *ret_question);
void link_question_take(link *l);

/* Takes any reply; true when it made an event. Owns `reply` from here on. */
bool link_reply(link *l, resp_reply *reply, instant now, link_event *ret_event);

#endif
