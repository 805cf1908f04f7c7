/* SPDX-License-Identifier: MIT */
/* link/link_state.h - the record of a link, for src/link only.
 *
 * link.c owns the life, the buffers and the deadlines; greeting.c writes the handshake and
 * reads its answers; channel.c owns further channels; answer.c matches every other reply
 * to its question. */
#ifndef LINK_STATE_H
#define LINK_STATE_H

#include "link/link.h"

typedef enum question_kind {
  QUESTION_AUTH = 1, QUESTION_SELECT, QUESTION_SETNAME, QUESTION_ROLE, QUESTION_TIME,
  QUESTION_SUBSCRIBE, QUESTION_PROOF, QUESTION_PING, QUESTION_COMMAND,
  QUESTION_CHANNEL, QUESTION_UNSUBSCRIBE, QUESTION_SHARD_CHANNEL,
  QUESTION_SHARD_UNSUBSCRIBE
} question_kind;

/* A command that was sent and not answered. */
typedef struct question {
  question_kind kind;
  uint64_t tag;
  uint64_t channel;          /* of a question about a channel: its hash */
  instant sent_at;
} question;

struct link {
  memory memory;
  link_role role;
  char *user, *password, *client_name, *channel;
  char *next_user, *next_password;         /* kept, not taken */
  int database;
  bool checks_role, uses_functions;
  bool is_rekeyed;           /* the credentials changed during this handshake: a reply may
                              * repeat the old ones, which are wiped */
  span answer_timeout, idle_ping;

  link_state state;
  resp_reader *reader;       /* NULL while down */
  buffer output;
  buffer unanswered;         /* of question, oldest first */
  instant last_traffic;

  bool has_fault;            /* a FAULT event is pending */
  dibs_status fault;
  char fault_text[256];      /* kept until the next fault */
};

/* Breaks the connection; `fault_text` has been written. */
void link_fault(link *l, dibs_status status);
/* The same with a text that may be in the reader. */
void link_fault_words(link *l, dibs_status status, const char *words);
/* The same: `words`, and the server's message, unless that repeats the password. */
void link_fault_reply(link *l, dibs_status status, const char *words,
                      const resp_node *said);

bool link_has_room(const link *l, size_t size);      /* to send `size` more bytes */
bool link_expect(link *l, question_kind kind, uint64_t tag, instant now);
bool link_expect_about(link *l, question_kind kind, uint64_t tag, uint64_t channel,
                       instant now);

/* Writes the whole handshake and expects its answers; false: no memory. */
bool link_greet(link *l, instant now);
/* Reads one answer of the handshake; the last one makes the link ready and an event. */
bool link_greeting_answer(link *l, const question *q, const resp_reply *reply,
                          link_event *ret_event);

bool node_is_word(const resp_node *node, const char *word);
/* "+PONG", or ["pong", ""] on a subscribed connection. */
bool link_is_pong(const link *l, const resp_reply *reply);

/* An unrequested reply on a ready inbox: true when it was one. `ret_is_event`: it made an
 * event, which owns the reply. */
bool link_push(link *l, resp_reply *reply, link_event *ret_event, bool *ret_is_event);
/* Reads an answer to the oldest question, which is about a channel; takes the question
 * with its last answer. True when it made an event, which owns the reply. */
bool link_channel_answer(link *l, const question *q, resp_reply *reply,
                         link_event *ret_event);

/* The oldest question; false without one. */
bool link_question(const link *l, question *ret_question);
void link_question_take(link *l);

/* Takes any reply; true when it made an event. Owns `reply`. */
bool link_reply(link *l, resp_reply *reply, instant now, link_event *ret_event);

#endif
