/* SPDX-License-Identifier: MIT */
/* test/sim/differential/draw.h - random commands with plausible words: few keys, few clients,
 * times to live at the edges. The same seed draws the same, given the same answers. */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include "dialect/native.h"
#include "frame.h"

enum { DRAW_EDGES = 32, DRAW_LEASES = 32, DRAW_CLIENTS = 4, DRAW_NAMES = 3, DRAW_WORDS = 24,
       DRAW_SCRIPTS = 256 };

typedef struct draw {
  random_source random;
  int64_t wall_us;
  int64_t edges_us[DRAW_EDGES];      /* when something that was asked for may end */
  size_t edge_count;
  protocol clients[DRAW_CLIENTS];
  uint64_t asks[DRAW_CLIENTS];       /* the newest */
  lease_id leases[DRAW_LEASES];      /* seen in answers and messages; the newest last */
  size_t lease_count;
  lease_id asked;                    /* who asked last, with its number; token 0 */
  uint64_t count;                    /* numbers of requests that have one */
  bool is_loaded[DRAW_SCRIPTS];      /* the server was sent this script's text */
  buffer command;                    /* the one that was drawn last */
} draw;

void draw_init(draw *d);
void draw_deinit(draw *d);
void draw_begin(draw *d, uint64_t seed, int64_t wall_us);

static inline unsigned draw_below(draw *d, size_t limit)
{
  return (unsigned)random_below(&d->random, limit);
}
/* True once in so many times. */
static inline bool draw_once_in(draw *d, size_t times) { return draw_below(d, times) == 0; }

/* Something may end so much later; draw_time() goes there. */
void draw_edge(draw *d, int64_t ms);
/* Mostly a little later; sometimes where something ends, or earlier. */
void draw_time(draw *d);

/* ---- each leaves a command in d->command ---- */

/* What programs and other lock libraries send. */
void draw_plain(draw *d);
/* The same, or small programs, inside a script. */
void draw_script(draw *d);
void draw_transaction(draw *d, bool has_begun);
void draw_discard(draw *d);
void draw_publish_subscribe(draw *d, bool is_subscriber);
/* Our scripts, built as the library builds them. */
void draw_lock(draw *d);
void draw_share(draw *d);
void draw_many(draw *d);
/* Locks in Redisson's format; who listens for them. */
void draw_redisson(draw *d);
void draw_redisson_listener(draw *d);
void draw_observed(draw *d);         /* latch, barrier, election */
void draw_guarded(draw *d);
/* One of our scripts with words that nobody would send. */
void draw_nonsense(draw *d);

/* ---- what goes round about them ---- */

/* Calls by digest become calls by text where the server has not got it. */
void draw_text_of_script(draw *d);
/* The reply to that command, or messages: leases to be named later, scripts forgotten. */
void draw_learn(draw *d, frame said);

/* ---- what they are made of ---- */

/* A template: words by blanks; `$x` is something of that kind, draw_word.c lists them;
 * `{a|b_c|}` one of these, `_` a blank inside. Appends to `words`; returns their number. */
typedef struct draw_words {
  resp_argument all[DRAW_WORDS];
  size_t count;
  char bytes[4096];
  text used;
} draw_words;

void draw_template(draw *d, const char *form, draw_words *w);
void draw_add_word(draw_words *w, const char *bytes, size_t size);
/* The words of a plain command. */
void draw_plain_words(draw *d, draw_words *w);
void draw_words_init(draw_words *w);
void draw_to_command(draw *d, const draw_words *w);

#endif
