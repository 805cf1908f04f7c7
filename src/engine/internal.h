/* SPDX-License-Identifier: MIT */
/* engine/internal.h - the record of an engine; internal to it, as the headers that it includes. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include <dibs/client.h>

#include "engine/ask.h"
#include "engine/fleet_link.h"
#include "engine/topology.h"
#include "quorum/multi.h"
#include "quorum/quorum.h"

/* Tags of engine commands have a bit that no slot index of lock/ has. */
#define TAG_OURS 0x80000000u
#define TAG_IGNORED TAG_OURS
#define TAG_MEMORY (TAG_OURS | 1u)
#define TAG_FAREWELL (TAG_OURS | 2u)
#define TAG_FLEET (TAG_OURS | 3u)        /* above it: the number of the part */
/* Tags of channels: */
#define TAG_NAME_CHANNEL 1u
#define TAG_OBSERVED_CHANNEL 2u
#define TAG_ASKS (TAG_OURS | 0x40000000u)

#define HEARTBEAT SPAN_MS(60000)

#define NEWS_MAX 8
typedef struct news { int event; char node[128]; char words[512]; } news;

struct engine {
  memory memory;
  engine_settings settings;
  char *host, *program, *version, *note;
  char *user, *password;    /* from engine_set_credentials() */
  bool has_credentials;
  protocol names;
  hold_front *front;        /* the program's claims; its backends follow */
  quorum *quorum;           /* NULL: one lock table */
  lock_table *cluster_locks;         /* NULL: each server has its own */
  bool has_sharded_channels;
  multi *multi;             /* Cluster: multi-locks of several slots */
  instant now;              /* of the last input */
  server **servers; size_t server_count;
  connection *links[ENGINE_LINKS_MAX];
  int link_count;
  topology topology;
  request scratch;
  slots ask_slots;
  ask *first_ask, *last_ask;
  observation *first_observation;
  observation *first_news;
  observed_channel *first_channel;
  timers observe_timers;
  size_t observation_count;
  random_source random;
  bool is_patient;          /* waiting calls go on without a server until their limit */
  bool observe_is_mute;     /* an observation may be waiting for a server */
  stuck_report stuck;
  fleet *fleet;
  fleet_link fleet_link;
  bool is_closing, farewell_was_sent, is_closed, ended_was_reported;
  size_t farewells;         /* without a reply yet */
  news news[NEWS_MAX];
  size_t news_first, news_count;
  char effect_words[512], effect_node[128];
  uint64_t commands, messages, connects, reconnects;
};

lock_table *engine_locks(const engine *e);            /* not for a quorum */
size_t engine_table_count(const engine *e);
lock_table *engine_table(const engine *e, size_t i);
void engine_report(engine *e, int event, const char *words);
/* The same about one server; NULL, or without an address: unknown. */
void engine_report_of(engine *e, int event, const server_url *url, const char *words);
/* A copy that lives as long as the effect. */
const char *engine_words(engine *e, const char *words);
void engine_advance(engine *e, instant now);

#endif
