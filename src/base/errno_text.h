/* SPDX-License-Identifier: MIT */
/* base/errno_text.h - the text of an errno, from any thread; callers define _GNU_SOURCE. */
#ifndef BASE_ERRNO_TEXT_H
#define BASE_ERRNO_TEXT_H

#include <errno.h>
#include <string.h>

/* In English and never NULL. Only glibc has strerrordesc_np(); strerror() of musl returns a
 * constant, too. meson.build looks which one is there. */
static inline const char *errno_text(int fault)
{
  if (fault == EMFILE)
    return "Too many open files: close some, or raise the limit (ulimit -n)";
#ifdef HAVE_STRERRORDESC_NP
  const char *words = strerrordesc_np(fault);

  return words != NULL ? words : "failed";
#else
  return strerror(fault);
#endif
}

#endif
