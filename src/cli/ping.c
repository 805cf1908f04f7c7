/* SPDX-License-Identifier: MIT */
/* cli/ping.c - dibs ping: round trips, shown like ping(8). */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

/* One question waits at most so long, so that Ctrl-C is heard. */
#define PATIENCE_MS 2000

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

static void tell_answer(session *s, const arguments *a, int64_t sequence, uint64_t us)
{
  json_t *object;

  if (a->wants_json) {
    object = json_object();
    json_object_set_new(object, "v", json_integer(1));
    json_object_set_new(object, "seq", json_integer(sequence));
    json_object_set_new(object, "time_us", json_integer((json_int_t)us));
    json_print(object);
  } else if (!a->is_quiet) {
    printf("from %s: seq=%" PRId64 " time=%.3f ms\n", dibs_url(s->client), sequence,
           (double)us / 1000);
  }
  fflush(stdout);
}

static void tell_figures(session *s, const arguments *a, const ping_figures *f)
{
  double mean = f->answered == 0 ? 0 : f->sum_us / (double)f->answered;

  if (a->wants_json) {
    json_print(json_pack("{s:i s:s s:I s:I s:f s:f s:f}", "v", 1, "url",
                         dibs_url(s->client), "sent", (json_int_t)f->sent, "answered",
                         (json_int_t)f->answered, "min_us", f->least_us, "avg_us", mean,
                         "max_us", f->most_us));
    return;
  }
  printf("--- %s ---\n%" PRId64 " sent, %" PRId64 " answered\n", dibs_url(s->client),
         f->sent, f->answered);
  if (f->answered > 0)
    printf("round trip min/avg/max = %.3f/%.3f/%.3f ms\n", f->least_us / 1000,
           mean / 1000, f->most_us / 1000);
}

static bool goes_on(const arguments *a, const ping_figures *f)
{
  return !is_interrupted && (a->count == 0 || f->sent < a->count);
}

static int ping(session *s, const arguments *a)
{
  ping_figures f = { .sent = 0 };
  int code = CODE_UNREACHABLE;

  while (goes_on(a, &f)) {
    int64_t next = clock_ms() + a->interval_ms;
    uint64_t us = 0;
    dibs_status status = dibs_ping(
        s->client, a->connect_timeout_ms == 0 ? PATIENCE_MS : a->connect_timeout_ms, &us);

    f.sent++;
    if (status == DIBS_OK) {
      count_answer(&f, (double)us);
      tell_answer(s, a, f.sent, us);
      code = CODE_OK;
    } else {
      int fault = session_fault(s, status, "ping");

      code = f.answered == 0 ? fault : code;
    }
    if (goes_on(a, &f) && next > clock_ms())
      poll(NULL, 0, (int)(next - clock_ms()));
  }
  tell_figures(s, a, &f);
  return code;
}

int command_ping(const arguments *a)
{
  struct sigaction action = { .sa_handler = interrupt };
  session s;
  int code = session_start(&s, a);

  if (code == 0) {
    sigaction(SIGINT, &action, NULL);
    if (!a->wants_json && !a->is_quiet) {
      printf("PING %s\n", dibs_url(s.client));
      fflush(stdout);
    }
    code = ping(&s, a);
  }
  session_close(&s);
  return code;
}
