/* SPDX-License-Identifier: MIT */
/* cli/message.c - words for people, on stderr. */
#include "cli/message.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

#define LINE_SIZE 1200
#define STDERR_PATIENCE_MS 20

static pthread_mutex_t stderr_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t live_lines;
static bool is_quiet_now;

/* Writes if stderr takes it now. The mutex is held meanwhile, so patience is short. */
static void write_patiently(const char *bytes, size_t size)
{
  while (size > 0) {
    struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
    ssize_t wrote;

    if (poll(&ready, 1, STDERR_PATIENCE_MS) <= 0 || (ready.revents & POLLOUT) == 0)
      return;
    wrote = write(STDERR_FILENO, bytes, size);
    if (wrote <= 0)
      return;
    bytes += wrote;
    size -= (size_t)wrote;
  }
}

/* ---- live lines ---- */

/* Goes to the start of the first live line and clears to the end of the screen. */
static void erase_live(void)
{
  char up[32];
  int size;

  if (live_lines == 0)
    return;
  if (live_lines > 1)
    size = snprintf(up, sizeof(up), "\r\033[%zuA\033[J", live_lines - 1);
  else
    size = snprintf(up, sizeof(up), "\r\033[J");
  write_patiently(up, (size_t)size);
  live_lines = 0;
}

static size_t terminal_columns(void)
{
  struct winsize window;

  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col < 20)
    return 80;
  return window.ws_col;
}

void live_show(const char *const *lines, size_t count)
{
  char all[2 * LINE_SIZE];
  size_t used = 0, columns = terminal_columns() - 1;

  pthread_mutex_lock(&stderr_lock);
  erase_live();
  for (size_t i = 0; i < count; i++) {
    size_t size = printable_cut(lines[i], columns);

    if (size > LINE_SIZE - 1)
      size = LINE_SIZE - 1;
    if (used + size + 1 >= sizeof(all))
      break;
    if (i > 0)
      all[used++] = '\n';
    memcpy(all + used, lines[i], size);
    used += size;
    live_lines++;
  }
  write_patiently(all, used);
  pthread_mutex_unlock(&stderr_lock);
}

void live_clear(void)
{
  pthread_mutex_lock(&stderr_lock);
  erase_live();
  pthread_mutex_unlock(&stderr_lock);
}

/* ---- messages ---- */

void message_be_quiet(bool is_quiet)
{
  is_quiet_now = is_quiet;
}

static void say_line(const char *format, va_list values)
{
  char line[LINE_SIZE];
  int start = snprintf(line, sizeof(line), "dibs: ");
  int size = vsnprintf(line + start, sizeof(line) - (size_t)start - 1, format, values);
  size_t used = (size_t)start + (size < 0 ? 0 : (size_t)size);

  if (used > sizeof(line) - 2)
    used = sizeof(line) - 2;
  line[used++] = '\n';

  pthread_mutex_lock(&stderr_lock);
  erase_live();
  write_patiently(line, used);
  pthread_mutex_unlock(&stderr_lock);
}

void say(const char *format, ...)
{
  va_list values;

  va_start(values, format);
  say_line(format, values);
  va_end(values);
}

void say_softly(const char *format, ...)
{
  va_list values;

  if (is_quiet_now)
    return;
  va_start(values, format);
  say_line(format, values);
  va_end(values);
}

void say_raw(const char *line)
{
  pthread_mutex_lock(&stderr_lock);
  erase_live();
  write_patiently(line, strlen(line));
  write_patiently("\n", 1);
  pthread_mutex_unlock(&stderr_lock);
}

int say_usage(const char *subcommand, const char *format, ...)
{
  va_list values;

  va_start(values, format);
  say_line(format, values);
  va_end(values);
  if (subcommand == NULL)
    say("try: dibs --help");
  else
    say("try: dibs %s --help", subcommand);
  return CODE_USAGE;
}

/* ---- text from elsewhere ---- */

/* Length of the UTF-8 character at `at` if it is whole and harmless on a terminal; 0. */
static size_t harmless_size(const unsigned char *at)
{
  unsigned code;
  size_t more;

  if (at[0] < 0x80)
    return at[0] >= 0x20 && at[0] != 0x7f ? 1 : 0;
  if (at[0] >= 0xc2 && at[0] <= 0xdf)
    code = at[0] & 0x1fu, more = 1;
  else if (at[0] >= 0xe0 && at[0] <= 0xef)
    code = at[0] & 0x0fu, more = 2;
  else if (at[0] >= 0xf0 && at[0] <= 0xf4)
    code = at[0] & 0x07u, more = 3;
  else
    return 0;

  for (size_t i = 1; i <= more; i++) {
    if ((at[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (at[i] & 0x3fu);
  }
  if ((more == 2 && code < 0x800) || (more == 3 && code < 0x10000) || code > 0x10ffff)
    return 0;
  if (code < 0xa0 || (code >= 0xd800 && code <= 0xdfff))
    return 0;
  /* Marks that change the direction of what follows could dress up one name as
   * another. */
  if (code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
      (code >= 0x2066 && code <= 0x2069))
    return 0;
  return more + 1;
}

const char *printable(const char *text, char *ret_text, size_t ret_size)
{
  const unsigned char *at = (const unsigned char *)text;
  size_t used = 0;

  while (*at != '\0') {
    size_t size = harmless_size(at);

    if (used + (size == 0 ? 1 : size) >= ret_size)
      break;
    if (size == 0) {
      ret_text[used++] = '?';
      at++;
    } else {
      memcpy(ret_text + used, at, size);
      used += size;
      at += size;
    }
  }
  ret_text[used] = '\0';
  return ret_text;
}

size_t printable_cut(const char *text, size_t columns)
{
  size_t at = 0, seen = 0;

  for (; text[at] != '\0'; at++) {
    bool is_start = ((unsigned char)text[at] & 0xc0) != 0x80;

    if (is_start && seen++ == columns)
      break;
  }
  return at;
}
