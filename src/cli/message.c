/* SPDX-License-Identifier: MIT */
/* cli/message.c - messages on stderr, as text or as JSON. */
#include "cli/message.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/errno_text.h"
#include "cli/bounded_write.h"
#include "cli/cli.h"
#include "cli/json.h"

#define LINE_SIZE 1200
#define TEXT_SIZE (LINE_SIZE - 16)   /* of a message without what stands before it */
#define STDERR_PATIENCE_MS 20

static pthread_mutex_t stderr_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t live_lines;
static bool is_quiet_now, is_json_now;

/* Writes if stderr takes it now. The mutex is held meanwhile, so patience is short. */
static void write_patiently(const char *bytes, size_t size)
{
  (void)bounded_write(STDERR_FILENO, bytes, size, STDERR_PATIENCE_MS);
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

bool terminal_erases(int fd)
{
  const char *kind = getenv("TERM");

  return isatty(fd) == 1 && kind != NULL && kind[0] != '\0' && strcmp(kind, "dumb") != 0;
}

size_t terminal_columns_of(int fd)
{
  struct winsize window;

  if (ioctl(fd, TIOCGWINSZ, &window) != 0)
    return 0;
  return window.ws_col < 20 ? 80 : window.ws_col;
}

static size_t terminal_columns(void)
{
  size_t columns = terminal_columns_of(STDERR_FILENO);

  return columns == 0 ? 80 : columns;
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

void message_use_json(void)
{
  is_json_now = true;
}

static void write_line(const char *line)
{
  pthread_mutex_lock(&stderr_lock);
  erase_live();
  write_patiently(line, strlen(line));
  write_patiently("\n", 1);
  pthread_mutex_unlock(&stderr_lock);
}

/* false: no memory; nothing was written. */
static bool write_json(json_t *object)
{
  char *line;

  json_set_time(object);
  line = json_line(object);
  json_decref(object);
  if (line == NULL)
    return false;
  write_line(line);
  free(line);
  return true;
}

void json_say(json_t *object)
{
  (void)write_json(object);
}

static void set_text(json_t *object, const char *key, const char *text)
{
  if (text != NULL && *text != '\0')
    json_object_set_new(object, key, json_text(text));
}

static json_t *message_json(const char *event, const message_facts *facts, const char *text)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_object_set_new(object, "event", json_string(event));
  set_text(object, "status", facts->status);
  if (facts->code != 0)
    json_object_set_new(object, "code", json_integer(facts->code));
  set_text(object, "name", facts->name);
  set_text(object, "server", facts->server);
  set_text(object, "text", text);
  return object;
}

/* All messages go through here. `help` is the command that shows help, or NULL. */
static void write_message(const char *event, const message_facts *facts, const char *help,
                 const char *text)
{
  char line[LINE_SIZE];

  if (is_json_now) {
    json_t *object = message_json(event, facts, text);

    set_text(object, "help", help);
    if (write_json(object))
      return;
  }
  snprintf(line, sizeof(line), "dibs: %s", text);
  write_line(line);
  if (help == NULL)
    return;
  snprintf(line, sizeof(line), "dibs: try: %s", help);
  write_line(line);
}

static const message_facts no_facts;

void say(const char *format, ...)
{
  char text[TEXT_SIZE];
  va_list values;

  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  write_message("notice", &no_facts, NULL, text);
}

void say_softly(const char *format, ...)
{
  char text[TEXT_SIZE];
  va_list values;

  if (is_quiet_now)
    return;
  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  write_message("notice", &no_facts, NULL, text);
}

void say_warning(const char *text)
{
  char line[TEXT_SIZE];

  if (is_quiet_now)
    return;
  snprintf(line, sizeof(line), "%s%s", is_json_now ? "" : "warning: ", text);
  write_message("warning", &no_facts, NULL, line);
}

int say_fault(const message_facts *facts, const char *format, ...)
{
  char text[TEXT_SIZE];
  va_list values;

  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  write_message("error", facts, NULL, text);
  return facts->code;
}

int say_system(const char *what)
{
  return say_fault(&(message_facts) { .code = CODE_INTERNAL, .status = "DIBS_ERR_SYSTEM" },
                   "cannot %s: %s", what, errno_text(errno));
}

int say_no_memory(void)
{
  return say_fault(&(message_facts) { .code = CODE_INTERNAL, .status = "DIBS_ERR_NO_MEMORY" },
                   "not enough memory");
}

int say_usage(const char *subcommand, const char *format, ...)
{
  static const message_facts usage = { .code = CODE_USAGE, .status = "DIBS_ERR_ARGUMENT" };
  char text[TEXT_SIZE], help[80];
  va_list values;

  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  snprintf(help, sizeof(help), "dibs %s%s--help", subcommand == NULL ? "" : subcommand,
           subcommand == NULL ? "" : " ");
  write_message("error", &usage, help, text);
  return CODE_USAGE;
}
