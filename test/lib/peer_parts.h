/* SPDX-License-Identifier: MIT */
/* test/lib/peer_parts.h - what the files of the peer share: its state, and the two ends of
 * its talk with the engine. */
#ifndef TEST_PEER_PARTS_H
#define TEST_PEER_PARTS_H

#include "tests.h"

#include <dibs/client.h>

#include "one_server.h"
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 64
#define WHO_MAX 64

/* An operation as good as any: this script has a key and no arguments. */
struct observed {
  sync_op op;
  sync_row row;
  const char *channel;
  int64_t next_ms;
  char reply[64];             /* the last one */
};

struct who {
  const char *name;
  uint64_t id, fence;
  instant valid_until;
  struct observed observed;
};

enum { EVENT_KINDS = 8 };

struct peer {
  memory memory;
  bool holds_channels, forbids_channels, forbids_inbox;
  const char *inbox_refusal;
  char last_command[1024];
  int64_t renewal_ms;         /* what the newest renewal asks for */
  char held_channel[256];     /* asked for and not confirmed */
  int channels;               /* confirmed, besides the inbox */
  engine *engine;
  instant now;
  int64_t server_offset_us;
  bool wanted[ONE_SERVER_LINKS], up[ONE_SERVER_LINKS];
  dibs_status wants_files[ONE_SERVER_LINKS];
  resp_reader *readers[ONE_SERVER_LINKS];
  char *commands[LINES_MAX];
  size_t command_count, unanswered;
  char *owed[LINES_MAX];      /* in the order of the commands: what we say ourselves, or "" */
  size_t owed_count;
  char *lines[LINES_MAX];
  size_t line_count;
  char warning[512];
  struct who who[WHO_MAX];
  size_t who_count;
  int events[EVENT_KINDS];    /* of each dibs_event_kind */
  char last_event[512];
};

/* Lists of lines that were copied. */
void peer_keep(char **list, size_t *count, const char *line);
void peer_drop_first(char **list, size_t *count);

struct who *peer_who_of(struct peer *p, const char *name);

/* Everything the engine has to say now: effects, then what it wrote to its connections. */
void peer_pull(struct peer *p);
void peer_take_effect(struct peer *p, const effect *e);
/* False: there was nothing, or nothing the peer answers itself. */
bool peer_read_commands(struct peer *p, int link);
/* Nobody will hear the answers to what was asked on it. */
void peer_connection_is_gone(struct peer *p, int link);

/* ---- words ---- */
const resp_node *peer_word(const resp_reply *r, size_t i);
bool peer_is_word(const resp_reply *r, size_t i, const char *expected);
/* One line for a script call: what the tests are about, without the times. */
void peer_describe(const resp_reply *r, char *line, size_t size);
/* What a renewal asks for, of its first lease; otherwise -1. */
int64_t peer_renewal_of(const resp_reply *r);
/* The bytes of an answer as tests write it: see peer_answer(). */
size_t peer_encode(const char *words, char *out, size_t size);

#endif
