/* SPDX-License-Identifier: MIT */
/* test/lib/promise.h - what no busy machine is an excuse for: two holders, too many permits,
 * two leaders, a fence that did not grow, a lost update, one loss told twice.
 *
 * A test program that sees one ends with an exit code of its own. tools/tap_sum.py, which lets
 * what was only late run a second time, knows it by that, and by nothing else. Where a slow
 * machine can be the reason, as when a lease may have run out, an ordinary assertion is right.
 *
 * All of it may be called by any thread, in forked children, and with or without cmocka. */
#ifndef TEST_PROMISE_H
#define TEST_PROMISE_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sanitizers and valgrind end with it, too (./check); tools/tap_sum.py and
 * test/cli/harness.py have the same number. */
enum { PROMISE_BROKEN_EXIT = 86 };

/* Unless it is: prints "# BROKEN PROMISE: ..." to standard output, and the program is over. */
void promise_kept(bool is_kept, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A fence must be higher than one that was granted before. */
void promise_grown(unsigned long long fence, unsigned long long before, const char *where);
#define PROMISE_GROWN(fence, before) promise_grown((fence), (before), PROMISE_HERE)
#define PROMISE_HERE __FILE__ ":" PROMISE_TEXT(__LINE__)
#define PROMISE_TEXT(line) PROMISE_TEXT_OF(line)
#define PROMISE_TEXT_OF(line) #line

/* waitpid(); a child that ended with PROMISE_BROKEN_EXIT ends its parent with the same. What a
 * forked child finds by itself reaches its program also when nobody waits for it. */
pid_t promise_waitpid(pid_t pid, int *ret_status, int options);

/* What to do before the program ends so, in the process that began: once, at most one. */
void promise_clean_up_by(void (*clean_up)(void));

#ifdef __cplusplus
}
#endif

#endif
