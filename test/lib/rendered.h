/* SPDX-License-Identifier: MIT */
/* rendered.h - what a call of a dialect puts on the wire, for tests that look at the bytes or
 * send them on connections of their own.
 *
 *   RENDERED(native_renew, &names, &out, false, items, 2, 0)
 *
 * appends the command that native_renew(&names, request, items, 2, 0) fills to the buffer `out`,
 * true instead of false: with the script's text. false when memory is refused. */
#ifndef TEST_RENDERED_H
#define TEST_RENDERED_H

#include "dialect/native.h"

static inline request *draft_begin(request *draft, const buffer *out)
{
  request_init(draft, &out->memory);
  return draft;
}

static inline bool draft_end(request *draft, const protocol *n, buffer *out, bool carries_text,
                             bool is_made)
{
  bool is_rendered;

  draft->carries_text = carries_text;
  is_rendered = is_made && request_render(draft, n->uses_functions, out);
  request_deinit(draft);
  return is_rendered;
}

/* The arguments of a function are complete before it begins: the call, too. */
#define RENDERED(call, names, out, carries_text, ...)                                        \
  draft_end(&drafted, (names), (out), (carries_text),                                        \
            call((names), draft_begin(&drafted, (out)), __VA_ARGS__))

static _Thread_local request drafted;

#endif
