/* SPDX-License-Identifier: MIT */
/* dibs/visibility.h - marks what the library exports and what must be checked. */
#ifndef DIBS_VISIBILITY_H
#define DIBS_VISIBILITY_H

#if defined(__GNUC__) || defined(__clang__)
#define DIBS_API __attribute__((visibility("default")))
#define DIBS_MUST_CHECK __attribute__((warn_unused_result))
#define DIBS_PRINTF(words, first) __attribute__((format(printf, words, first)))
#else
#define DIBS_API
#define DIBS_MUST_CHECK
#define DIBS_PRINTF(words, first)
#endif

#endif
