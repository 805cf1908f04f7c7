/* SPDX-License-Identifier: MIT */
/* cli/bounded_write.h - writes that block for a moment at most.
 *
 * The descriptor is shared with other processes, such as the command of `dibs run`, so it cannot
 * be made non-blocking, and another writer can fill it between a poll() and a write(). A timer
 * interrupts a write() that blocks; one that does not block is never cut short. */
#ifndef CLI_BOUNDED_WRITE_H
#define CLI_BOUNDED_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* false, with errno: a part was left out, as `fd` took nothing for `patience_ms` (EAGAIN) or
 * refused it. SIGPIPE does not end the process. */
bool bounded_write(int fd, const char *bytes, size_t size, int32_t patience_ms);

/* As one write(), which gives up after `patience_ms`: what it has written, or EAGAIN. */
ssize_t bounded_write_once(int fd, const char *bytes, size_t size, int32_t patience_ms);

#endif
