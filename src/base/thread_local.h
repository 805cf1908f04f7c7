/* SPDX-License-Identifier: MIT */
/* base/thread_local.h - small variables of a thread that each public call reads several times. */
#ifndef BASE_THREAD_LOCAL_H
#define BASE_THREAD_LOCAL_H

#include <limits.h>                      /* defines __GLIBC__ */

/* glibc has room for these also in a library that dlopen() loads; others do not, and each read is a
 * call of __tls_get_addr() there. */
#ifdef __GLIBC__
#define THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define THREAD_LOCAL _Thread_local
#endif

#endif
