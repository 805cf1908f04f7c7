/* SPDX-License-Identifier: MIT */
/* cli/screen.c - the terminal as a screen of cells, by ncursesw. */
#define _XOPEN_SOURCE_EXTENDED 1
#include "cli/screen.h"

#include <curses.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/terminfo.h"

#define ESCAPE_MS 50         /* a terminal sends the rest of a key at once */

enum colour { COLOUR_WARN = 1, COLOUR_ALARM };

static struct screen {
  SCREEN *terminal;
  bool is_utf8, has_colours;
  int stderr_was, messages;  /* -1: not taken */
  off_t read_to;
} here = { .stderr_was = -1, .messages = -1 };

/* ---- begin and end ---- */

const char *screen_hindrance(void)
{
  return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? NULL : "";
}

/* A warning of the library would be written over the screen. */
static void take_stderr(void)
{
  int fd = memfd_create("dibs-messages", MFD_CLOEXEC);

  if (fd < 0)
    return;
  here.stderr_was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  here.read_to = 0;
  here.messages = here.stderr_was < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (here.messages >= 0)
    dup2(fd, STDERR_FILENO);
  close(fd);
}

static void give_stderr_back(void)
{
  char bytes[1024];
  ssize_t size;

  if (here.messages < 0)
    return;
  dup2(here.stderr_was, STDERR_FILENO);
  while ((size = pread(here.messages, bytes, sizeof(bytes), here.read_to)) > 0) {
    if (write(STDERR_FILENO, bytes, (size_t)size) < size)
      break;
    here.read_to += size;
  }
  close(here.messages);
  close(here.stderr_was);
  here.messages = here.stderr_was = -1;
}

static void set_colours(void)
{
  const char *none = getenv("NO_COLOR");

  here.has_colours = (none == NULL || none[0] == '\0') && has_colors() && start_color() == OK;
  if (!here.has_colours)
    return;
  use_default_colors();
  init_pair(COLOUR_WARN, COLOR_YELLOW, -1);
  init_pair(COLOUR_ALARM, COLOR_RED, -1);
}

bool screen_open(void)
{
  const char *move_to;

  if (!terminfo_is_known())
    return false;
  setlocale(LC_CTYPE, "");
  here.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  here.terminal = newterm(NULL, stdout, stdin);
  if (here.terminal == NULL)
    return false;
  move_to = tigetstr("cup");
  if (move_to == NULL || move_to == (const char *)-1) {
    screen_close();
    return false;
  }
  set_colours();
  set_escdelay(ESCAPE_MS);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  curs_set(0);
  take_stderr();
  return true;
}

void screen_close(void)
{
  if (here.terminal == NULL)
    return;
  endwin();
  delscreen(here.terminal);
  here.terminal = NULL;
  give_stderr_back();
}

void screen_leave(void)
{
  endwin();
}

void screen_enter(void)
{
  clearok(curscr, TRUE);
  refresh();
}

/* ---- drawing ---- */

void screen_size(size_t *ret_lines, size_t *ret_columns)
{
  struct winsize window;
  int lines, columns;

  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 && window.ws_col > 0 &&
      is_term_resized(window.ws_row, window.ws_col))
    resizeterm(window.ws_row, window.ws_col);
  getmaxyx(stdscr, lines, columns);
  *ret_lines = (size_t)lines;
  *ret_columns = (size_t)columns;
}

void screen_begin(void)
{
  erase();
}

static attr_t attributes(const top_cell *cell)
{
  attr_t chosen = cell->is_chosen ? A_REVERSE : A_NORMAL;

  switch (cell->style) {
  case TOP_FAINT:
    return chosen | (cell->is_chosen ? A_NORMAL : A_DIM);
  case TOP_HEAD:
    return chosen | A_BOLD;
  case TOP_WARN:
    return chosen | (here.has_colours ? (attr_t)COLOR_PAIR(COLOUR_WARN) : A_BOLD);
  case TOP_ALARM:
    return chosen | A_BOLD | (here.has_colours ? (attr_t)COLOR_PAIR(COLOUR_ALARM) : A_UNDERLINE);
  case TOP_PLAIN:
  default:
    return chosen;
  }
}

/* The character at `text`, in bytes; a wide one takes two columns, and one that the terminal's
 * character set or font does not have is '?'. */
static size_t next_character(const char *text, size_t size, wchar_t *ret_character,
                             size_t *ret_columns)
{
  mbstate_t state;
  size_t used = 1;
  int columns = 1;

  memset(&state, 0, sizeof(state));
  if (here.is_utf8 && (used = mbrtowc(ret_character, text, size, &state)) > 0 && used <= size &&
      (columns = wcwidth(*ret_character)) >= 0) {
    *ret_columns = (size_t)columns;
    return used;
  }
  for (used = 1; used < size && ((unsigned char)text[used] & 0xc0) == 0x80;)
    used++;
  *ret_character = used > 1 ? L'?' : (wchar_t)(unsigned char)text[0];
  *ret_columns = 1;
  return used;
}

void screen_put(const top_cell *cell, void *data)
{
  attr_t how = attributes(cell);
  size_t columns = 0;

  (void)data;
  (void)attrset((int)how);
  if (move((int)cell->line, (int)cell->column) == ERR)
    return;
  for (size_t at = 0; at < cell->size;) {
    wchar_t text[2] = { 0 };
    size_t one = 1;

    at += next_character(cell->text + at, cell->size - at, &text[0], &one);
    columns += one;
    if (columns > cell->width)
      break;
    addnwstr(text, 1);
  }
  for (; cell->size == 0 && columns < cell->width; columns++)
    addch(' ');
}

void screen_show(void)
{
  (void)attrset(A_NORMAL);
  refresh();
}

/* ---- keys and messages ---- */

bool screen_key(int *ret_key)
{
  static const struct { int code; int key; } keys[] = {
    { KEY_UP, TOP_KEY_UP }, { KEY_DOWN, TOP_KEY_DOWN }, { KEY_PPAGE, TOP_KEY_PAGE_UP },
    { KEY_NPAGE, TOP_KEY_PAGE_DOWN }, { KEY_HOME, TOP_KEY_HOME }, { KEY_END, TOP_KEY_END },
    { KEY_LEFT, TOP_KEY_LEFT }, { KEY_RIGHT, TOP_KEY_RIGHT },
    { KEY_ENTER, TOP_KEY_ENTER }, { KEY_BACKSPACE, TOP_KEY_ERASE } };
  wint_t typed = 0;
  int kind = get_wch(&typed);

  if (kind == ERR)
    return false;
  *ret_key = (int)typed;
  if (kind == KEY_CODE_YES) {
    *ret_key = 0;                              /* one without a meaning */
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
      *ret_key = (int)typed == keys[i].code ? keys[i].key : *ret_key;
  } else if (typed == '\r' || typed == '\n') {
    *ret_key = TOP_KEY_ENTER;
  } else if (typed == 0x1b) {
    *ret_key = TOP_KEY_ESCAPE;
  } else if (typed == 0x7f || typed == '\b') {
    *ret_key = TOP_KEY_ERASE;
  }
  return true;
}

bool screen_message(char *ret_text, size_t size)
{
  static const char prefix[] = "dibs: ";
  ssize_t got = here.messages < 0 ? 0 : pread(here.messages, ret_text, size - 1, here.read_to);
  char *end;

  if (got <= 0)
    return false;
  ret_text[got] = '\0';
  end = strchr(ret_text, '\n');
  here.read_to += end == NULL ? got : end - ret_text + 1;
  if (end != NULL)
    *end = '\0';
  if (strncmp(ret_text, prefix, sizeof(prefix) - 1) == 0)
    memmove(ret_text, ret_text + sizeof(prefix) - 1, strlen(ret_text) - sizeof(prefix) + 2);
  return true;
}
