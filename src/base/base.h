/* SPDX-License-Identifier: MIT */
/* base - memory, byte buffers, timers, handles, random numbers, text.
 *
 * It knows nothing of locks. Includes the C library's memory and string functions and
 * <dibs/status.h> only. A function that cannot allocate reports it in its result and has
 * changed nothing. */
#ifndef BASE_H
#define BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dibs/status.h>

#include "base/instant.h"

/* The record of which `part` is the member. */
#define RECORD_OF(type, member, part) ((type *)(void *)((char *)(part) - offsetof(type, member)))

/* ---- memory ---- */

/* The allocator of a client; filled from dibs_allocator in api/. */
typedef struct memory {
  void *(*allocate)(size_t bytes, void *data);
  void *(*reallocate)(void *memory, size_t bytes, void *data);
  void (*release)(void *memory, void *data);
  void *data;
} memory;

void *mem_alloc(const memory *m, size_t bytes);             /* NULL when refused */
void *mem_zalloc(const memory *m, size_t bytes);            /* zeroed */
void *mem_realloc(const memory *m, void *old, size_t bytes);
void mem_free(const memory *m, void *p);     /* NULL allowed; `m` may be a part of what is freed */
char *mem_copy(const memory *m, const void *bytes, size_t size); /* adds a final zero */
char *mem_copy_text(const memory *m, const char *words);     /* NULL for NULL */
/* Overwrites a secret with zeros; the optimizer does not remove it. */
void mem_wipe(void *p, size_t bytes);
void mem_free_secret(const memory *m, char *words);         /* wiped first; NULL allowed */

/* ---- buffer: bytes appended at the end, consumed at the front ---- */

typedef struct buffer {
  memory memory;
  char *bytes;      /* the first unconsumed byte is bytes + start */
  size_t start, end, capacity;
} buffer;

void buffer_init(buffer *b, const memory *m);
void buffer_deinit(buffer *b);
bool buffer_reserve(buffer *b, size_t more);   /* room for `more` bytes at the end */
bool buffer_append(buffer *b, const void *bytes, size_t size);
void buffer_consume(buffer *b, size_t size);   /* asserts size <= buffer_size */
void buffer_clear(buffer *b);
void buffer_truncate(buffer *b, size_t size);  /* removes bytes at the end */
static inline const char *buffer_bytes(const buffer *b)
{
  return b->bytes == NULL ? "" : b->bytes + b->start;
}
static inline size_t buffer_size(const buffer *b) { return b->end - b->start; }

/* ---- text: bounded writing without stdio; always zero-terminated, truncated when full ---- */

typedef struct text {
  char *at;
  size_t size, used;
  bool is_cut;
} text;

text text_over(char *bytes, size_t size);      /* asserts size >= 1; starts empty */
void text_add_bytes(text *t, const void *bytes, size_t size);
static inline void text_add(text *t, const char *words)      /* of a literal, the size is known */
{
  text_add_bytes(t, words, strlen(words));
}
void text_add_int(text *t, int64_t value);
void text_add_uint(text *t, uint64_t value);
#define UINT_DIGITS 20
size_t uint_digits(char ret_digits[UINT_DIGITS], uint64_t value);    /* their number; no zero */
/* As printf(), of which it takes %s, and %d and %u of an int, a long, a long long or a size_t. */
void text_format(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_format_list(text *t, const char *format, va_list values)
  __attribute__((format(printf, 2, 0)));
/* Printable ASCII unchanged, other bytes as \xNN, quotes and backslashes after a backslash. No
 * escape is cut in two. */
void text_add_escaped(text *t, const void *bytes, size_t size);
/* The same in quotes; at most 64 bytes are shown. */
void text_add_quoted(text *t, const void *bytes, size_t size);

/* Decimal digits only, no sign, blank or overflow; else false. */
bool text_to_uint(const char *bytes, size_t size, uint64_t *ret_value);

/* "500ms", "10s", "5m", "1h30m", "2d", a bare number = seconds; fractions as in "1.5s".
 * false: invalid, negative, or over INT32_MAX ms. */
bool text_to_ms(const char *words, int32_t *ret_ms);

/* Unpadded base64url of 16 bytes: 22 characters and a zero. */
void text_base64url_16(const uint8_t bytes[16], char ret_text[23]);
/* false: a character is not base64url. */
bool text_base64url_16_read(const char words[22], uint8_t ret_bytes[16]);
/* As above in the standard alphabet, which has `+` and `/`. */
void text_base64_16(const uint8_t bytes[16], char ret_text[23]);

/* ---- HighwayHash, 128 bits; `bytes` may be NULL when `size` is 0 ---- */

void highway_hash_128(const uint64_t key[4], const void *bytes, size_t size,
                      uint64_t ret_words[2]);

/* ---- random: for jitter only, never for secrets ---- */

typedef struct random_source { uint64_t state[2]; } random_source;

void random_seed(random_source *r, uint64_t seed);
/* A seed of random bytes, the same on machines of either byte order, as its simulated world. */
uint64_t seed_of_bytes(const uint8_t bytes[8]);
uint64_t random_next(random_source *r);
uint64_t random_below(random_source *r, uint64_t limit);   /* asserts limit > 0 */
/* Uniform in [low, high]; asserts low <= high. */
span random_span(random_source *r, span low, span high);

/* ---- timers: a heap of instants; equal ones fire in the order of timers_set() ---- */

typedef struct timer {
  instant at;
  uint32_t place;      /* 0: not set */
  int kind;            /* defined by the owner: of which record it is a part */
} timer;

/* With the sort key, so that moving an entry reads no other memory. */
typedef struct timer_entry {
  instant at;
  uint64_t sequence;
  timer *timer;
} timer_entry;

typedef struct timers {
  memory memory;
  timer_entry *heap;   /* 1-based */
  size_t count, capacity;
  uint64_t sequence;
} timers;

void timers_init(timers *ts, const memory *m);
void timers_deinit(timers *ts);                 /* the timers themselves are not freed */
/* Reserves space: while at most `total` timers are set, timers_set() cannot fail. */
bool timers_reserve(timers *ts, size_t total);
void timer_init(timer *t, int kind);
void timers_set(timers *ts, timer *t, instant at);  /* moves it if set; needs reserved space */
void timers_clear(timers *ts, timer *t);            /* no effect when not set */
static inline bool timer_is_set(const timer *t) { return t->place != 0; }
instant timers_first(const timers *ts);             /* INSTANT_NEVER when empty */
timer *timers_pop(timers *ts, instant now);         /* a timer that is due, or NULL */

/* ---- slots: pointers by id; an id is never reused for another pointer ---- */

typedef struct slot { void *item; uint32_t generation; uint32_t next_free; } slot;

typedef struct slots {
  memory memory;
  slot *all;
  uint32_t count, capacity, first_free;   /* first_free UINT32_MAX: none */
} slots;

void slots_init(slots *s, const memory *m);
void slots_deinit(slots *s);
uint64_t slots_add(slots *s, void *item);        /* 0 when memory is refused */
void *slots_get(const slots *s, uint64_t id);    /* NULL when stale */
void slots_remove(slots *s, uint64_t id);        /* asserts it is there */

#endif
