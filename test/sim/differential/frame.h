/* SPDX-License-Identifier: MIT */
/* test/sim/differential/frame.h - whole RESP2 replies and commands as bytes: where their
 * parts are, whether two say the same, how they look to people. */
#ifndef SIM_FRAME_H
#define SIM_FRAME_H

#include "base/base.h"

/* malloc and friends. */
extern const memory frame_heap;

typedef struct frame { const char *bytes; size_t size; } frame;

/* The frame at the front; size 0 when it is not whole yet. */
frame frame_first(const char *bytes, size_t size);
/* Elements of an array; -1: it is none, or nil. */
int64_t frame_count(frame f);
/* Element `i`, itself a frame. */
frame frame_child(frame f, size_t i);
/* What a string, status, error or integer says, without its RESP clothing. */
frame frame_text(frame f);

typedef enum frame_order {
  FRAME_IN_ORDER,        /* byte by byte */
  FRAME_AS_SET,          /* an array whose elements come in any order */
  FRAME_AS_PAIRS,        /* likewise, two by two */
  FRAME_SCANNED,         /* a cursor, and a set */
  FRAME_SCANNED_PAIRS,   /* a cursor, and pairs */
  FRAME_OF_ANY_ORDER     /* an array of replies, each of which may be any of these */
} frame_order;

bool frame_equal(frame a, frame b, frame_order order);

/* Appends it in one line, as people read it. Scripts of ours by their names. */
void frame_print(frame f, text *out);
/* Several, one behind the other. */
void frame_print_all(frame several, text *out);

#endif
