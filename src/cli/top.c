/* SPDX-License-Identifier: MIT */
/* cli/top.c - dibs top: the names with the longest waits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/screen.h"
#include "cli/top_json.h"
#include "cli/top_live.h"
#include "cli/top_source.h"

typedef struct top_own {
  enum watch_order order;
  bool shows_free, is_once;
  uint32_t limit;
  int32_t every_ms;
} top_own;

typedef struct top_arguments {
  command_line line;
  connection_options connection;
  top_own own;
} top_arguments;

static const option_choice order_choices[] = {
  { "name", WATCH_BY_NAME }, { "held", WATCH_BY_HELD }, { "wait", WATCH_BY_WAIT },
  { "lease", WATCH_BY_LEASE }, { NULL, 0 },
};

static const option_row option_rows[] = {
  { "all", 'a', NULL, FLAG(top_own, shows_free), "free locks too" },
  { "sort", 0, "KEY", ONE_OF(top_own, order, order_choices),
    "by name, held, wait or lease (wait)" },
  { "once", 0, NULL, FLAG(top_own, is_once), "print one table, also on a terminal" },
  { "interval", 'i', "DUR", DURATION(top_own, every_ms, 100), "read the servers every DUR (2s)" },
  { "limit", 0, "N", UINT32(top_own, limit, 1, 100000), "the first N names in that order (50)" },
  { .name = NULL },
};

/* ---- one table ---- */

typedef struct printer {
  size_t line, column;
} printer;

/* A top_put. */
static void print_cell(const top_cell *cell, void *data)
{
  printer *p = data;

  for (; p->line < cell->line; p->line++, p->column = 0)
    putchar('\n');
  for (; p->column < cell->column; p->column++)
    putchar(' ');
  fwrite(cell->text, 1, cell->size, stdout);
  for (size_t i = 0; i < cell->size; i++)
    p->column += ((unsigned char)cell->text[i] & 0xc0) != 0x80;
}

static void print_sums(const top_reading *r)
{
  watch_text oldest = { 0 };

  watch_add_time(&oldest, r->sums.waiting > 0 ? 1000 * r->sums.oldest_ms : -1);
  printf("%zu held   %zu waiting   oldest %s   %s\n", r->sums.held, r->sums.waiting,
         oldest.used > 0 ? oldest.bytes : "-", r->when);
  watch_text_free(&oldest);
}

static void print_table(const top_reading *r, const watch_row *const *rows, size_t count)
{
  printer p = { 0 };

  print_sums(r);
  top_table_draw(&(top_table) { .reading = r, .rows = rows, .count = count, .now_ms = r->at_ms,
                                .columns = terminal_columns_of(STDOUT_FILENO),
                                .chosen = TOP_NONE },
                 print_cell, &p);
  putchar('\n');
}

static int print_reading(const top_arguments *a, const top_reading *r)
{
  const watch_row **rows = malloc((r->table.count + 1) * sizeof(const watch_row *));
  size_t count, shown;

  if (rows == NULL)
    return say_fault(&(message_facts) { .code = CODE_INTERNAL }, "top: not enough memory");
  count = watch_select(&r->table, a->own.order, "", a->own.shows_free, r->at_ms, rows);
  shown = count < a->own.limit ? count : a->own.limit;
  if (a->line.wants_json)
    json_print(top_json(r, rows, shown));
  else
    print_table(r, rows, shown);
  if (count > shown)
    say_softly("%zu more names; --limit shows them", count - shown);
  free(rows);
  return count > 0 ? CODE_OK : CODE_NO;
}

static const char *pattern_of(const top_arguments *a)
{
  return a->line.operand_count > 0 ? a->line.operands[0] : NULL;
}

static int top_once(const top_arguments *a, dibs_client *client)
{
  static sampler s;          /* large */
  top_reading r;
  int code;

  s.client = client;
  s.pattern = pattern_of(a);
  if (sampler_read(&s) != DIBS_OK) {
    code = session_report(&s.error, "top", NULL);
  } else if (!top_source_reading(&s, NULL, &r)) {
    code = say_fault(&(message_facts) { .code = CODE_INTERNAL }, "top: not enough memory");
  } else {
    code = print_reading(a, &r);
    top_reading_free(&r);
  }
  sampler_free(&s);
  return code;
}

/* ---- the screen ---- */

static bool wants_screen(const top_arguments *a)
{
  const char *hindrance = screen_hindrance();

  if (a->own.is_once || a->line.wants_json)
    return false;
  if (hindrance != NULL && hindrance[0] != '\0')
    say_softly("%s", hindrance);
  return hindrance == NULL;
}

static int top_screen_run(const top_arguments *a, session *s, top_live *live)
{
  live->session = s;
  live->pattern = pattern_of(a);
  live->every_ms = a->own.every_ms;
  live->order = a->own.order;
  live->shows_free = a->own.shows_free;
  (void)signals_stop_in_background(STDIN_FILENO);
  if (screen_open())
    return top_live_run(live);
  say_softly("this terminal (TERM) has no screen; this is one table");
  return top_once(a, s->client);
}

static int top_run(void *data)
{
  const top_arguments *a = data;
  signal_watch signals;
  top_live live = { .signals = &signals };
  session s;
  bool is_screen = wants_screen(a);
  int code;

  /* Threads of the client have the signals blocked, too. */
  if (is_screen && !signals_begin(&signals))
    return say_fault(&(message_facts) { .code = CODE_INTERNAL }, "top: cannot wait for signals");
  code = session_start(&s, &a->line, &a->connection);
  if (code == 0)
    code = is_screen ? top_screen_run(a, &s, &live) : top_once(a, s.client);
  session_close(&s);
  return live.signal == 0 ? code : signals_leave(live.signal, signals.is_by_terminal);
}

const command top_command = {
  .name = "top", .operands = "[PATTERN]",
  .summary = "show the locks with the longest waits",
  .operands_max = 1,
  .examples = { "dibs top", "dibs top 'orders:*' --sort held",
                "dibs top --json | jq '.locks[] | select(.waiting > 0)'" },
  .notes = "On a terminal a screen: ? shows its keys. Else one table; exit: 0, 1 nothing is held.",
  OPTIONS({ option_rows, offsetof(top_arguments, own) },
          GROUP(options_common, top_arguments, line),
          GROUP(options_connection, top_arguments, connection)),
  ARGUMENTS(top_arguments, .connection = CONNECTION_DEFAULTS,
            .own = { .order = WATCH_BY_WAIT, .limit = 50, .every_ms = 2000 }),
  .ends_with_reader = true,
  .run = top_run
};
