/* SPDX-License-Identifier: MIT */
/* test/fault/run_file.c - run.txt, written line by line and read as a whole. */
#include "run_file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void path_of(const char *directory, char *ret_path, size_t size)
{
  (void)snprintf(ret_path, size, "%s/run.txt", directory);
}

void run_write(const char *directory, const char *format, ...)
{
  char path[300], line[512];
  va_list values;
  int fd, length;

  va_start(values, format);
  length = vsnprintf(line, sizeof(line) - 1, format, values);
  va_end(values);
  if (length < 0 || (size_t)length >= sizeof(line) - 1)
    length = (int)sizeof(line) - 2;
  line[length++] = '\n';
  path_of(directory, path, sizeof(path));
  fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, (size_t)length) != length) {
    perror(path);
    exit(70);
  }
  (void)close(fd);
}

void run_write_expectations(const char *directory, const struct expectations *e)
{
  run_write(directory, "expect without %u", e->without);
  run_write(directory, "expect expects_overlap %d", e->expects_overlap);
  run_write(directory, "expect allows_overlap %d", e->allows_overlap);
  run_write(directory, "expect allows_idle_busy %d", e->allows_idle_busy);
  run_write(directory, "expect allows_shared_reads %d", e->allows_shared_reads);
  run_write(directory, "expect has_two_issuers %d", e->has_two_issuers);
  run_write(directory, "expect allows_fence_reuse %d", e->allows_fence_reuse);
  run_write(directory, "expect wake_ms_max %d", e->wake_ms_max);
  run_write(directory, "expect wake_ms_p99 %d", e->wake_ms_p99);
  run_write(directory, "expect late_ms_max %d", e->late_ms_max);
  run_write(directory, "expect rss_kib_max %d", e->rss_kib_max);
  run_write(directory, "expect fds_more %d", e->fds_more);
}

static bool read_expectation(const char *word, long number, struct expectations *e)
{
  if (strcmp(word, "without") == 0)
    e->without = (uint32_t)number;
  else if (strcmp(word, "expects_overlap") == 0)
    e->expects_overlap = number != 0;
  else if (strcmp(word, "allows_overlap") == 0)
    e->allows_overlap = number != 0;
  else if (strcmp(word, "allows_idle_busy") == 0)
    e->allows_idle_busy = number != 0;
  else if (strcmp(word, "allows_shared_reads") == 0)
    e->allows_shared_reads = number != 0;
  else if (strcmp(word, "has_two_issuers") == 0)
    e->has_two_issuers = number != 0;
  else if (strcmp(word, "allows_fence_reuse") == 0)
    e->allows_fence_reuse = number != 0;
  else if (strcmp(word, "wake_ms_max") == 0)
    e->wake_ms_max = (int)number;
  else if (strcmp(word, "wake_ms_p99") == 0)
    e->wake_ms_p99 = (int)number;
  else if (strcmp(word, "late_ms_max") == 0)
    e->late_ms_max = (int)number;
  else if (strcmp(word, "rss_kib_max") == 0)
    e->rss_kib_max = (int)number;
  else if (strcmp(word, "fds_more") == 0)
    e->fds_more = (int)number;
  else
    return false;
  return true;
}

static bool read_line(const char *line, struct history *h, struct expectations *e)
{
  struct run_lock lock;
  char word[32];
  long number;
  long long times;

  if (line[0] == '\0' || strncmp(line, "about ", 6) == 0)
    return true;
  if (sscanf(line, "lock %c %u %63s", &lock.kind, &lock.limit, lock.name) == 3) {
    if (h->lock_count == LOCKS_MAX)
      return false;
    h->locks[h->lock_count++] = lock;
    return true;
  }
  if (strncmp(line, "marker ", 7) == 0) {
    if (h->marker_count == MARKERS_MAX)
      return false;
    (void)snprintf(h->markers[h->marker_count++], sizeof(h->markers[0]), "%.47s", line + 7);
    return true;
  }
  if (sscanf(line, "demand %ld %lld", &number, &times) == 2) {
    if (number < 0 || (size_t)number >= h->marker_count)
      return false;
    h->demanded[number] = times;
    return true;
  }
  if (sscanf(line, "overlap %lld", &times) == 1) {
    h->demanded_overlap = times;
    return true;
  }
  if (sscanf(line, "dialect %d", &h->dialect) == 1)
    return true;
  return sscanf(line, "expect %31s %ld", word, &number) == 2 &&
         read_expectation(word, number, e);
}

bool run_read(const char *directory, struct history *h, struct expectations *ret_expects)
{
  struct expectations expects = { 0 };
  char path[300], line[512];
  bool is_good = true;
  FILE *file;

  path_of(directory, path, sizeof(path));
  file = fopen(path, "re");
  if (file == NULL)
    return false;
  while (is_good && fgets(line, sizeof(line), file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    is_good = read_line(line, h, &expects);
  }
  (void)fclose(file);
  if (ret_expects != NULL)
    *ret_expects = expects;
  return is_good;
}
