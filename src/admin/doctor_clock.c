/* SPDX-License-Identifier: MIT */
/* admin/doctor_clock.c - compares the server's clock with this machine's (protocol.md 4,
 * "over"). */
#include "admin/doctor.h"

#include <inttypes.h>
#include <stdlib.h>

#define WRONG_US 2000000
#define LOOKS 5

/* What it costs, and until when. */
#define CRASHED "a crashed holder's name is busy for tries (dibs run -n) and for waits " \
  "shorter than its lease, for an hour or more; a wait longer than its lease takes it"
#define CRASHED_ADVICE "run chrony or ntpd on both machines; a name that is held so already: " \
  "dibs run -w 40s NAME -- true, where 40s is longer than its lease"
#define PAUSE_MS 300

/* One TIME request: what both clocks showed, and the error. */
typedef struct clock_reading {
  instant at;                    /* the middle of the round trip */
  int64_t wall_us, server_us;
  int64_t round_trip_us;
} clock_reading;

static bool look_once(examination *x, clock_reading *ret_look)
{
  dibs_status status;
  instant begin = drive_now();
  int64_t wall = drive_wall_us();
  resp_reply *reply = doctor_ask(x, &status, "TIME", NULL);
  int64_t trip = span_to_us(instant_since(drive_now(), begin));
  bool is_read = reply != NULL && resp_time(reply, &ret_look->server_us);

  resp_reply_free(reply);
  ret_look->round_trip_us = trip;
  ret_look->at = instant_add(begin, (span){ trip * 500 });
  ret_look->wall_us = wall + trip / 2;
  return is_read;
}

/* Keeps the reading with the smallest error. */
static bool look_well(examination *x, clock_reading *ret_look)
{
  clock_reading look;

  for (int i = 0; i < LOOKS; i++) {
    if (!look_once(x, &look))
      return false;
    if (i == 0 || look.round_trip_us < ret_look->round_trip_us)
      *ret_look = look;
  }
  return true;
}

/* How much more a clock advanced than the monotonic clock. */
static int64_t gain_us(int64_t first_us, int64_t second_us, instant first, instant second)
{
  return second_us - first_us - span_to_us(instant_since(second, first));
}

static void pause_a_moment(examination *x)
{
  drive_waiter unwoken;

  if (client_enter(x->client, true) != DIBS_OK)
    return;
  drive_waiter_init(&unwoken);
  (void)drive_wait(x->client->drive, &unwoken, instant_add(drive_now(), span_ms(PAUSE_MS)));
  client_leave(x->client);
}

static void rate_report(examination *x, const clock_reading *a, const clock_reading *b)
{
  int64_t passed = span_to_us(instant_since(b->at, a->at));
  int64_t fuzzy = a->round_trip_us + b->round_trip_us + passed / 50 + 3000;
  int64_t theirs = gain_us(a->server_us, b->server_us, a->at, b->at);
  int64_t ours = gain_us(a->wall_us, b->wall_us, a->at, b->at);

  if (llabs(theirs) > fuzzy)
    doctor_add(x, "clock-step", DIBS_FINDING_WARN,
               "let chrony or ntpd slew the server's clock instead of setting it",
               "the server's clock moved by %+" PRId64 " ms within %" PRId64 " ms", theirs / 1000,
               passed / 1000);
  else if (llabs(ours) > fuzzy)
    doctor_add(x, "clock-step", DIBS_FINDING_WARN,
               "let chrony or ntpd slew this machine's clock instead of setting it",
               "this machine's clock moved by %+" PRId64 " ms within %" PRId64 " ms", ours / 1000,
               passed / 1000);
  else
    doctor_add(x, "clock-step", DIBS_FINDING_PASS, "",
               "both clocks advance like the monotonic clock");
}

static void offset_report(examination *x, const char *name, const clock_reading *look)
{
  int64_t offset = look->server_us - look->wall_us;
  int64_t sure = llabs(offset) - look->round_trip_us / 2;

  if (sure > WRONG_US)
    doctor_add(x, name, DIBS_FINDING_FAIL, CRASHED_ADVICE,
               "offset to the server %+" PRId64 " ms: one of the two clocks is not "
               "synchronized, and the times shown are wrong; " CRASHED, offset / 1000);
  else if (sure > CLOCKS_AGREE_US)
    doctor_add(x, name, DIBS_FINDING_WARN, CRASHED_ADVICE,
               "offset to the server %+" PRId64 " ms: " CRASHED, offset / 1000);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "offset to the server %+.1f ms (within %.1f ms)",
               (double)offset / 1000, (double)look->round_trip_us / 2000);
}

static void clock_look(examination *x, const char *name)
{
  clock_reading first, second;

  if (look_well(x, &first)) {
    offset_report(x, name, &first);
    pause_a_moment(x);
    if (look_well(x, &second)) {
      rate_report(x, &first, &second);
      return;
    }
  }
  doctor_add(x, name, DIBS_FINDING_FAIL, "give this user +time (dibs acl)",
             "the server refuses TIME: dibs needs it");
}

const doctor_check doctor_clock_checks[] = {
  { "clock", clock_look },
  { NULL, NULL },
};
