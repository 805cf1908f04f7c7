/* SPDX-License-Identifier: MIT */
/* cli/ping.c - dibs ping: round trips, shown like ping(8). */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

/* The limit of one request, so that Ctrl-C has an effect. */
#define PATIENCE_MS 2000

typedef struct ping_arguments {
  command_line line;
  int count;              /* 0: until interrupted */
  int32_t interval_ms;
} ping_arguments;

static const option_row rows[] = {
  { "count", 0, "N", INT(ping_arguments, count, 1, INT32_MAX),
    "stop after N (until interrupted)" },
  { "interval", 'i', "DUR", DURATION(ping_arguments, interval_ms, 10),
    "time between two pings (1s)" },
  { .name = NULL },
};

typedef struct ping_figures {
  int64_t sent, answered;
  double sum_us, least_us, most_us;
} ping_figures;

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
  (void)number;
  is_interrupted = 1;
}

static void count_answer(ping_figures *f, double us)
{
  if (f->answered == 0 || us < f->least_us)
    f->least_us = us;
  if (us > f->most_us)
    f->most_us = us;
  f->answered++;
  f->sum_us += us;
}

static void report_answer(session *s, const ping_arguments *a, int64_t sequence, uint64_t us)
{
  json_t *object;

  if (a->line.wants_json) {
    object = json_object();
    json_object_set_new(object, "v", json_integer(1));
    json_object_set_new(object, "seq", json_integer(sequence));
    json_object_set_new(object, "time_us", json_integer((json_int_t)us));
    json_print(object);
  } else if (!a->line.is_quiet) {
    printf("from %s: seq=%" PRId64 " time=%.3f ms\n", s->shown_url, sequence,
           (double)us / 1000);
  }
  fflush(stdout);
}

static void report_figures(session *s, const ping_arguments *a, const ping_figures *f)
{
  double mean = f->answered == 0 ? 0 : f->sum_us / (double)f->answered;

  if (a->line.wants_json) {
    json_print(json_pack("{s:i s:s s:I s:I s:f s:f s:f}", "v", 1, "url",
                         s->shown_url, "sent", (json_int_t)f->sent, "answered",
                         (json_int_t)f->answered, "min_us", f->least_us, "avg_us", mean,
                         "max_us", f->most_us));
    return;
  }
  printf("--- %s ---\n%" PRId64 " sent, %" PRId64 " answered\n", s->shown_url,
         f->sent, f->answered);
  if (f->answered > 0)
    printf("round trip min/avg/max = %.3f/%.3f/%.3f ms\n", f->least_us / 1000,
           mean / 1000, f->most_us / 1000);
}

/* A reason is shown once, not for each ping that it fails. `last`: of the ping before. */
static void report_failure(const ping_arguments *a, const ping_figures *f,
                           const dibs_error *error, const dibs_error *last)
{
  if (last->status != error->status || strcmp(last->text, error->text) != 0 ||
      strcmp(last->node, error->node) != 0)
    (void)session_report(error, "ping", NULL);
  if (f->sent == 1 && a->count == 0)
    say_softly("ping goes on: Ctrl-C stops it, --count N stops it after N");
}

static bool goes_on(const ping_arguments *a, const ping_figures *f)
{
  return !is_interrupted && (a->count == 0 || f->sent < a->count);
}

static int ping(session *s, const void *data)
{
  const struct sigaction action = { .sa_handler = interrupt };
  const ping_arguments *a = data;
  ping_figures f = { .sent = 0 };
  dibs_error last = DIBS_ERROR_INIT;
  int code = CODE_UNREACHABLE;

  sigaction(SIGINT, &action, NULL);
  if (!a->line.wants_json && !a->line.is_quiet) {
    printf("PING %s\n", s->shown_url);
    fflush(stdout);
  }
  while (goes_on(a, &f)) {
    int64_t next = clock_ms() + a->interval_ms;
    int32_t limit_ms = a->line.connection.connect_timeout_ms;
    uint64_t us = 0;
    dibs_status status = dibs_ping(s->client, limit_ms == 0 ? PATIENCE_MS : limit_ms, &us);
    dibs_error error = session_error(s->client, status);

    f.sent++;
    if (status == DIBS_OK) {
      count_answer(&f, (double)us);
      report_answer(s, a, f.sent, us);
      code = CODE_OK;
    } else {
      report_failure(a, &f, &error, &last);
      code = f.answered == 0 ? code_of_status(status) : code;
    }
    last = error;
    if (goes_on(a, &f) && next > clock_ms())
      poll(NULL, 0, (int)(next - clock_ms()));
  }
  report_figures(s, a, &f);
  return code;
}

const command ping_command = {
  .name = "ping", .operands = "", .summary = "measure round trips to the server",
  .examples = { "dibs ping", "dibs ping --count 3",
                "dibs ping -i 200ms -u rediss://cache.example.org",
                "dibs ping -q --count 1 && echo up" },
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(ping_arguments, .line = LINE_DEFAULTS, .interval_ms = 1000),
  .ends_with_reader = true,
  .work = ping
};
