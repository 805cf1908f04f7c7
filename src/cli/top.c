/* SPDX-License-Identifier: MIT */
/* cli/top.c - dibs top: the names with the longest waits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/screen.h"
#include "cli/top_json.h"
#include "cli/top_live.h"
#include "cli/top_record.h"
#include "cli/top_source.h"

typedef struct top_arguments {
  command_line line;
  enum watch_order order;
  bool shows_free, is_once, asks_by_code;
  uint32_t limit;
  int32_t every_ms;
  const char *record, *replay, *at;
  char when[TOP_TIME_SIZE];          /* `at`, as readings have it */
} top_arguments;

#define ORDER_CHOICE(order, word) { #word, order },
static const option_choice order_choices[] = {
  WATCH_ORDERS(ORDER_CHOICE) { NULL, 0 },
};

static const option_row option_rows[] = {
  { "all", 'a', NULL, FLAG(top_arguments, shows_free), "free locks too" },
  { "sort", 0, "KEY", ONE_OF(top_arguments, order, order_choices),
    "by " WATCH_ORDER_WORDS " (wait)" },
  { "once", 0, NULL, FLAG(top_arguments, is_once), "print one table, also on a terminal" },
  { "interval", 'i', "DUR", DURATION(top_arguments, every_ms, 100),
    "read the servers every DUR (2s)" },
  { "limit", 0, "N", UINT32(top_arguments, limit, 1, 100000),
    "the first N names in that order (50)" },
  { "exit-code", 0, NULL, FLAG(top_arguments, asks_by_code),
    "a table, --json: exit 1 if nothing is held" },
  { "record", 0, "FILE", OUTPUT(top_arguments, record), "append each reading to FILE, as JSON" },
  { "replay", 0, "FILE", TEXT(top_arguments, replay), "show what was recorded" },
  { "at", 0, "TIME", TEXT(top_arguments, at), "begin there: HH:MM, or YYYY-MM-DD HH:MM" },
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
  p->column += watch_width(cell->text, cell->size, printable_cells);
}

static void print_sums(const top_reading *r)
{
  watch_text oldest = { 0 }, error = { 0 };

  /* Of a recording, where it may have any bytes. */
  watch_add_safe(&error, r->error, strlen(r->error));
  if (!r->is_up)
    printf("NO READING: %s\n", error.used > 0 ? error.bytes : "");
  watch_text_free(&error);
  if (r->servers_down > 0) {
    watch_text servers = { 0 };

    top_servers(r, &servers);
    printf("%s   ", servers.used > 0 ? servers.bytes : "");
    watch_text_free(&servers);
  }
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
                                .chosen = TOP_NONE, .cells = printable_cells },
                 print_cell, &p);
  putchar('\n');
}

static int print_reading(const top_arguments *a, const top_reading *r)
{
  const watch_row **rows = malloc((r->table.count + 1) * sizeof(const watch_row *));
  size_t count, shown;

  if (rows == NULL)
    return say_no_memory();
  count = watch_select(&r->table, a->order, "", a->shows_free, r->at_ms, rows);
  shown = count < a->limit ? count : a->limit;
  if (a->line.wants_json)
    json_print(top_json(r, rows, shown));
  else
    print_table(r, rows, shown);
  if (count > shown)
    say_softly("%zu more name%s; --limit shows more", count - shown, plural_s(count - shown));
  free(rows);
  return count == 0 && a->asks_by_code ? CODE_NO : CODE_OK;
}

static const char *pattern_of(const top_arguments *a)
{
  return a->line.operand_count > 0 ? a->line.operands[0] : NULL;
}

static int print_and_record(const top_arguments *a, const top_reading *r, const top_record *t)
{
  int error = t->path == NULL ? 0 : top_record_write(t, r);

  if (error != 0)
    return say_fault(&(message_facts) { .code = CODE_FILE }, "cannot write %s: %s", t->path,
                     strerror(error));
  return print_reading(a, r);
}

static int top_once(const top_arguments *a, dibs_client *client, const top_record *t)
{
  static sampler s;          /* large */
  top_reading r;
  int code;

  s.client = client;
  s.pattern = pattern_of(a);
  if (sampler_read(&s) != DIBS_OK) {
    code = session_report(&s.error, "top", NULL);
  } else if (!top_source_reading(&s, NULL, &r)) {
    code = say_no_memory();
  } else {
    code = print_and_record(a, &r, t);
    top_reading_free(&r);
  }
  sampler_free(&s);
  return code;
}

/* ---- what goes on ---- */

static bool wants_screen(const top_arguments *a)
{
  const char *hindrance = screen_hindrance();

  if (a->is_once || a->line.wants_json)
    return false;
  if (hindrance != NULL && hindrance[0] != '\0')
    say_softly("%s", hindrance);
  return hindrance == NULL;
}

/* Of a terminal that has one. */
static bool open_screen(top_live *live)
{
  if (!live->has_screen)
    return false;
  (void)signals_stop_in_background(STDIN_FILENO);
  live->has_screen = screen_open();
  if (!live->has_screen)
    say_softly("this terminal (TERM) has no screen");
  return live->has_screen;
}

static int top_serve(const top_arguments *a, top_live *live)
{
  session s;
  int code = session_start(&s, &a->line);

  live->session = &s;
  if (code == 0 && open_screen(live))
    code = top_live_run(live);
  else if (code == 0 && live->record->path != NULL && !a->is_once)
    code = top_live_record(live);
  else if (code == 0)
    code = top_once(a, s.client, live->record);
  live->session = NULL;
  session_close(&s);
  return code;
}

/* Without a screen: one reading, the last unless a time was given. */
static int top_show_recording(const top_arguments *a, top_live *live)
{
  const char *at = a->at;
  bool has_screen, is_found;
  top_reading r = { 0 };
  char why[200];
  size_t last;
  int code = top_replay_open(a->replay, &live->replay);

  if (code != 0)
    return code;
  last = top_replay_count(live->replay) - 1;
  is_found = at == NULL || top_replay_find(live->replay, a->when, last, &live->replay_from);
  has_screen = open_screen(live);
  if (!is_found)                                   /* the screen shows messages, too */
    say_softly(TOP_LATE_WORDS, at);
  if (has_screen) {
    code = top_live_run(live);
  } else if (top_replay_read(live->replay, at == NULL ? last : live->replay_from, &r, why)) {
    code = print_reading(a, &r);
    top_reading_free(&r);
  } else {
    code = say_fault(&(message_facts) { .code = CODE_FILE }, "%s: %s", a->replay, why);
  }
  live->replay = top_replay_close(live->replay);
  return code;
}

static int top_run(void *data)
{
  const top_arguments *a = data;
  top_record record = { .path = a->record, .fd = -1, .order = a->order,
                        .shows_free = a->shows_free, .limit = a->limit };
  signal_watch signals;
  top_live live = { .signals = &signals, .pattern = pattern_of(a), .every_ms = a->every_ms,
                    .order = a->order, .shows_free = a->shows_free,
                    .record = &record, .has_screen = wants_screen(a) };
  bool goes_on = live.has_screen || (record.path != NULL && !a->is_once);
  /* Before the signals: this may wait for the reader of a pipe. */
  int code = record.path == NULL ? 0 : top_record_open(&record);

  /* Threads of the client have the signals blocked, too. */
  if (code == 0 && goes_on) {
    signals_outlive_readers();
    if (!signals_begin(&signals))
      code = say_fault(&(message_facts) { .code = CODE_INTERNAL }, "top: cannot wait for signals");
  }
  if (code == 0)
    code = a->replay != NULL ? top_show_recording(a, &live) : top_serve(a, &live);
  top_record_close(&record);
  return live.signal == 0 ? code : signals_leave(live.signal, signals.is_by_terminal);
}

static int top_check(void *data)
{
  top_arguments *a = data;
  char shown[200];

  if (a->replay != NULL && a->line.operand_count > 0)
    return say_usage("top", "--replay shows the names that were recorded: PATTERN is for a server");
  if (a->at != NULL && a->replay == NULL)
    return say_usage("top", "--at is a time in a recording: give --replay");
  if (a->at != NULL && !top_time_read(a->at, a->when))
    return say_usage("top", "--at: \"%s\" is not " TOP_TIME_WORDS,
                     printable(a->at, shown, sizeof(shown)));
  return 0;
}

const command top_command = {
  .name = "top", .operands = "[PATTERN]",
  .summary = "show the locks with the longest waits",
  .operands_max = 1, .check = top_check, .is_in_view = true,
  .examples = { "dibs top", "dibs top 'orders:*' --sort held",
                "dibs top --record night.json -i 10s >/dev/null &",
                "dibs top --replay night.json --at 03:12" },
  .notes = "On a terminal a screen: ? shows its keys. Else one table.",
  OPTIONS({ option_rows, 0 }, COMMON, SERVER),
  ARGUMENTS(top_arguments, .line = LINE_DEFAULTS,
            .order = WATCH_BY_WAIT, .limit = 50, .every_ms = 2000),
  .ends_with_reader = true,
  .run = top_run
};
