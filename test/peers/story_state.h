/* SPDX-License-Identifier: MIT */
/* test/peers/story_state.h - what is on a server now, and what was published since it was asked
 * last, as lines that are the same at every run.
 *
 *   key NAME TYPE CONTENT [ttl MS]
 *   message CHANNEL PAYLOAD
 *
 * A client's id becomes U1, U2 ..., the number of a thread behind it T1, T2 ..., 32 digits of
 * hex and 16 raw bytes P1, P2 ..., in the order in which they were seen first; an instant is
 * now+MS. Spans are multiples of 10 s: what was so long at most 9 s ago, so long a story may
 * take. Keys that live for one call (redisson_unlock_latch) and our own (dibs:...) are left
 * out. */
#ifndef TEST_PEERS_STORY_STATE_H
#define TEST_PEERS_STORY_STATE_H

#include <stdbool.h>
#include <stddef.h>

enum { STORY_STATE_BYTES = 8192 };

struct story_state;

/* Listens from now on to the server at this socket, which nobody else uses. Without threads each
 * is T, whatever its number. */
struct story_state *story_state_new(const char *socket, bool has_threads);
struct story_state *story_state_free(struct story_state *s);
/* Messages are kept until story_state_forget(). */
void story_state_lines(struct story_state *s, char *ret_lines);
void story_state_forget(struct story_state *s);

#endif
