/* SPDX-License-Identifier: MIT */
/* cli/top_record.c - dibs top --record: readings in a file, a JSON object a line. */
#include "cli/top_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/top_json.h"

/* What was left by a recorder that was killed would spoil the first line. */
static void end_last_line(int fd, const char *path)
{
  off_t size = lseek(fd, 0, SEEK_END);
  int reading = size > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  char last = '\n';

  if (reading < 0)
    return;
  if (pread(reading, &last, 1, size - 1) == 1 && last != '\n')
    (void)!write(fd, "\n", 1);
  close(reading);
}

int top_record_open(top_record *t)
{
  struct stat is;

  t->fd = open(t->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (t->fd < 0)
    return say_fault(&(message_facts) { .code = CODE_FILE }, "cannot write %s: %s", t->path,
                     strerror(errno));
  if (fstat(t->fd, &is) == 0 && S_ISREG(is.st_mode))
    end_last_line(t->fd, t->path);
  return 0;
}

void top_record_close(top_record *t)
{
  if (t->path != NULL && t->fd >= 0)
    close(t->fd);
  t->fd = -1;
}

static int write_all(int fd, const char *bytes, size_t size)
{
  off_t before = lseek(fd, 0, SEEK_END);

  while (size > 0) {
    ssize_t wrote = write(fd, bytes, size);

    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0) {
      int error = errno;

      if (before >= 0)
        (void)!ftruncate(fd, before);
      return error;
    }
    bytes += wrote;
    size -= (size_t)wrote;
  }
  return 0;
}

int top_record_write(const top_record *t, const top_reading *r)
{
  const watch_row **rows = malloc((r->table.count + 1) * sizeof(const watch_row *));
  size_t count = rows == NULL ? 0 : watch_select(&r->table, t->order, "", t->shows_free, r->at_ms,
                                                 rows);
  json_t *object = top_json(r, rows, count < t->limit ? count : t->limit);
  char *line = NULL;
  size_t size;
  int error;

  free(rows);
  json_set_time(object);
  line = json_line(object);
  json_decref(object);
  if (line == NULL)
    return ENOMEM;
  size = strlen(line);
  line[size] = '\n';                       /* in the place of the zero: one write */
  error = write_all(t->fd, line, size + 1);
  free(line);
  return error;
}
