/* SPDX-License-Identifier: MIT */
/* test/lib/peer.h - a scripted server in memory, in front of one engine.
 *
 * The dialogue is the test: peer_expect() names the next command the engine must have
 * sent, peer_answer() what the server says to it. Time is the test's. Greetings, TIME and
 * what only people look at (HSET, PEXPIRE, INFO, HDEL, DEL of the client's own key) are
 * answered by the peer itself. Everything the engine tells is kept as lines. */
#ifndef TEST_PEER_H
#define TEST_PEER_H

#include "engine/engine.h"

struct peer;

#define PEER_CLIENT "AAAAAAAAAAAAAAAAAAAAAA"
#define PEER_OTHER "BBBBBBBBBBBBBBBBBBBBBB"
/* Server time at the start, microseconds; the wall clock beside the engine agrees. */
#define PEER_START_US 1700000000000000

struct peer *peer_new(void);
/* With other settings: start from peer_settings(). `m` of them is used for all memory. */
engine_settings peer_settings(void);
struct peer *peer_new_with(const engine_settings *settings);
struct peer *peer_free(struct peer *p);
engine *peer_engine(struct peer *p);

instant peer_now(const struct peer *p);
long long peer_server_us(const struct peer *p);
/* Lets time pass, ticking the engine whenever it asked to be. */
void peer_advance_ms(struct peer *p, int64_t ms);
/* Lets time pass until a command is sent. */
void peer_advance_to_command(struct peer *p);
/* Time passes without the engine noticing: a stopped process. It ticks afterwards. */
void peer_stop_ms(struct peer *p, int64_t ms);
/* The server's wall clock steps; ours does not. */
void peer_step_server_ms(struct peer *p, int64_t ms);

/* ---- requests; `who` is a literal that names the hold in the log ---- */
struct wish {
  const char *name, *owner;
  bool is_try, is_fixed, no_reentry;
  int64_t ttl_ms, wait_ms, max_hold_ms;   /* 0: 30 s, for ever, none */
  lock_kind kind;
  bool reads;                             /* RWLOCK */
  uint64_t units, limit;                  /* 0: 1; none */
  bool is_drain;                          /* all permits that are free */
  int64_t linger_ms;
  int64_t warn_ms;
  const char *names[3];                   /* several: sorted, up to the first NULL */
};
void peer_lock(struct peer *p, const char *who, struct wish w);
void peer_cancel(struct peer *p, const char *who);
void peer_release(struct peer *p, const char *who);
void peer_downgrade(struct peer *p, const char *who);
dibs_status peer_detach(struct peer *p, const char *who);
void peer_close(struct peer *p);

/* ---- observations: the question is "inspect" of the name n ---- */
struct watch {
  const char *channel;                    /* NULL: thing:{n}; "": none */
  int64_t every_ms, wait_ms;              /* 0: 3 s, for ever */
  int64_t next_ms;                        /* each reply wants the next request then */
  bool is_patient;
};
void peer_observe(struct peer *p, const char *who, struct watch w);
bool peer_observe_end(struct peer *p, const char *who);

/* An operation of sync/ that one reply ends; `op` outlives it. */
void peer_run(struct peer *p, const char *who, sync_op *op);

/* How stories begin. Connected, "a" has asked; the name is n. */
struct peer *peer_asked(struct wish w);
/* "a" has the lease PEER_CLIENT:1:60. */
struct peer *peer_held(struct wish w);
/* "a" waits, its inbox stands, behind PEER_OTHER's lease of 30 s with token 50. */
struct peer *peer_queued(struct wish w);
/* The end: nothing is kept, told or sent. Frees it. */
void peer_end_clean(struct peer *p);

/* ---- the connections ---- */
void peer_connect(struct peer *p, int link);         /* the engine must have asked for it */
void peer_break(struct peer *p, int link);
void peer_break_why(struct peer *p, int link, dibs_status why, const char *words);
void peer_reconnect(struct peer *p);                 /* that of the commands, after 1 ms */
bool peer_wants(struct peer *p, int link);            /* asked for, not yet connected */
dibs_status peer_wants_files(struct peer *p, int link);  /* for which refusal; DIBS_OK: none */

/* ---- the dialogue ---- */
/* The next scripted command must be `pattern`: "acquire NAME K w|t", "release L",
 * "cancel K", "renew L [L...]", "share_acquire KEY K r|w|p2 w|t", "share_release L",
 * "share_cancel C:K", "share_renew L r|w|p [still]", "many_acquire .n K w|t [keeps]",
 * "many_release L", "many_cancel .n K", others, SET, AUTH and EXISTS as their
 * words; `*` matches anything to the end. */
void peer_expect(struct peer *p, const char *pattern);
bool peer_try_expect(struct peer *p, const char *pattern);   /* false: no command is there */
void peer_expect_nothing(struct peer *p);
const char *peer_last_command(const struct peer *p);         /* that was expected */
/* Answers the oldest command that was expected and not answered. Format: an integer
 * "7", text "'words", status "+OK", error "-ERR ...", "nothing", array "[1 2 'x]"; %-conversions
 * as printf. */
void peer_answer(struct peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The newest renewal gets what it asks for. */
void peer_renew(struct peer *p);
/* The next command must be `pattern`, and then peer_answer(). */
#define peer_serve(p, pattern, ...) (peer_expect((p), (pattern)), peer_answer((p), __VA_ARGS__))
/* On a channel of observers. */
void peer_speak(struct peer *p, const char *channel, const char *words);
/* Subscriptions of observers are confirmed by peer_subscribed() only; or refused. */
void peer_hold_channels(struct peer *p);
void peer_subscribed(struct peer *p);
void peer_forbid_channels(struct peer *p);
void peer_forbid_inbox(struct peer *p);        /* and them too */
void peer_allow_channels(struct peer *p);      /* both, as the ACL has changed */
/* The inbox is refused with this error; NULL: it is confirmed again. */
void peer_refuse_inbox(struct peer *p, const char *error);
int peer_channels(const struct peer *p);       /* confirmed now, besides the inbox */
void peer_message(struct peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of an ask of the client of peer_settings(). */
unsigned long long peer_nonce(uint64_t ask);
/* A grant or share as the server's script sends it: with the nonce of the ask that it names. */
void peer_hands_over(struct peer *p, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

/* The next line of the log must be this: "granted a", "failed a DIBS_BUSY", "lost a
 * DIBS_LOST", "lost a DIBS_LOST let go" by its token, "released a DIBS_OK", "suspect a",
 * "renewed a", "ends_soon a", "observed a 5",
 * "cut_off a DIBS_ERR_UNREACHABLE", which is a warning too; "over a DIBS_TIMED_OUT". */
void peer_expect_told(struct peer *p, const char *line);
bool peer_try_told(struct peer *p, const char *line);    /* false: something else, or nothing */
void peer_expect_told_nothing(struct peer *p);
/* The last warning has these words in it; it is forgotten. */
void peer_expect_warning(struct peer *p, const char *words);
/* How many events of this kind (dibs_event_kind) came so far; the text of the last of all. */
int peer_events(const struct peer *p, int kind);
const char *peer_last_event(const struct peer *p);
/* Of a granted hold, by the engine's words: */
uint64_t peer_id(struct peer *p, const char *who);
uint64_t peer_fence(struct peer *p, const char *who);
int64_t peer_valid_ms(struct peer *p, const char *who);    /* from now */

#endif
