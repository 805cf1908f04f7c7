/* SPDX-License-Identifier: MIT */
/* cli/top_live.c - dibs top while it goes on: readings, keys and signals as they come. */
#include "cli/top_live.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/force.h"
#include "cli/message.h"
#include "cli/screen.h"
#include "cli/top_source.h"

#define DRAW_EVERY_MS 1000   /* ages count on */

typedef struct live {
  top_live *options;
  top_source *source;
  int wake_fd;
  top_reading reading;
  bool has_reading;
  char *about;               /* the name that is looked at; NULL: nothing yet */
  top_screen screen;
  int64_t next_ms;           /* of a recording that is played */
  bool is_over;
} live;

/* ---- recordings ---- */

static void show_reading(live *l, size_t number)
{
  char why[200];

  l->screen.number = number;
  if (top_replay_read(l->options->replay, number, &l->reading, why))
    l->has_reading = true;
  else
    top_screen_say(&l->screen, why, sampler_now_ms());
  l->next_ms = sampler_now_ms() + l->options->every_ms;
}

static void step(live *l, int64_t by)
{
  int64_t to = (int64_t)l->screen.number + by, last = (int64_t)l->screen.recorded - 1;

  show_reading(l, (size_t)(to < 0 ? 0 : to > last ? last : to));
}

/* To the time that was typed. */
static void seek(live *l)
{
  char when[TOP_TIME_SIZE], text[200] = "";
  size_t number;

  if (!top_time_read(l->screen.typed, when)) {
    snprintf(text, sizeof(text), "\"%s\" is not " TOP_TIME_WORDS, l->screen.typed);
  } else {
    if (!top_replay_find(l->options->replay, when, l->screen.number, &number))
      snprintf(text, sizeof(text), TOP_LATE_WORDS, when);
    show_reading(l, number);
  }
  if (text[0] != '\0')
    top_screen_say(&l->screen, text, sampler_now_ms());
}

static void play(live *l)
{
  if (l->screen.paused_ms != 0 || sampler_now_ms() < l->next_ms)
    return;
  if (l->screen.number + 1 < l->screen.recorded)
    step(l, 1);
  else
    l->screen.paused_ms = sampler_now_ms();
}

/* One that fails is the last. */
static void record(live *l, const top_reading *r)
{
  top_record *t = l->options->record;
  int error = t->path == NULL ? 0 : top_record_write(t, r);

  if (error == 0)
    return;
  say("the recording ends: cannot write %s: %s", t->path, strerror(error));
  top_record_close(t);
  t->path = NULL;
}

/* ---- drawing ---- */

static void take_reading(live *l)
{
  top_reading r = { 0 };

  if (!top_source_take(l->source, &r))
    return;
  record(l, &r);
  if (l->screen.paused_ms != 0) {
    top_reading_free(&r);
    return;
  }
  top_reading_free(&l->reading);
  l->reading = r;
  l->has_reading = true;
}

static void take_news(live *l)
{
  uint64_t count;
  char *about, text[300];

  (void)!read(l->wake_fd, &count, sizeof(count));
  if (l->source == NULL) {
    play(l);
  } else {
    take_reading(l);
    about = top_source_about(l->source);
    if (about != NULL) {
      free(l->about);
      l->about = about;
    }
  }
  while (screen_message(text, sizeof(text)))
    top_screen_say(&l->screen, text, sampler_now_ms());
}

static void draw(live *l)
{
  static const char waiting[] = "dibs top: reading the servers ...";
  size_t lines, columns;

  screen_size(&lines, &columns);
  screen_begin();
  if (l->has_reading)
    top_screen_draw(&l->screen, &l->reading, l->about, sampler_now_ms(), lines, columns,
                    screen_put, NULL);
  else
    screen_put(&(top_cell) { .width = columns, .text = waiting, .size = sizeof(waiting) - 1 },
               NULL);
  screen_show();
}

/* ---- keys ---- */

static void break_chosen(live *l)
{
  force_order order = { .name = l->screen.chosen, .reason = "dibs top", .is_confirmed = true,
                        .only_fence = l->screen.chosen_fence };

  if (strlen(l->screen.chosen) != l->screen.chosen_size)
    say("a name with a zero byte cannot be broken here");
  else
    (void)force_release(l->options->session, &order);
  top_source_hurry(l->source);
}

static void look(live *l)
{
  bool looks = l->screen.view == TOP_ONE_NAME;

  free(l->about);
  l->about = NULL;
  if (l->source != NULL)
    top_source_look(l->source, looks ? l->screen.chosen : NULL, l->screen.chosen_size);
}

static void take_keys(live *l)
{
  int key;

  while (!l->is_over && screen_key(&key)) {
    bool looked = l->screen.view == TOP_ONE_NAME;

    switch (top_screen_key(&l->screen, key, sampler_now_ms())) {
    case TOP_LOOKS:
      look(l);
      break;
    case TOP_BREAKS:
      break_chosen(l);
      break;
    case TOP_STEPS:
      l->screen.paused_ms = sampler_now_ms();
      step(l, l->screen.step);
      break;
    case TOP_SEEKS:
      l->screen.paused_ms = sampler_now_ms();
      seek(l);
      break;
    case TOP_ENDS:
      l->is_over = true;
      break;
    case TOP_GOES_ON:
    default:
      if (looked && l->screen.view != TOP_ONE_NAME)
        look(l);
    }
    draw(l);                                       /* the next key is for what it shows */
  }
}

/* ---- signals ---- */

static void stop(const live *l)
{
  if (!l->options->has_screen) {
    signals_stop_self();
    return;
  }
  screen_leave();
  signals_stop_self();
  (void)signals_stop_in_background(STDIN_FILENO);
  screen_enter();
}

static void take_signals(live *l)
{
  struct signalfd_siginfo info;

  while (signals_next(l->options->signals, &info)) {
    if (info.ssi_signo == SIGTSTP) {
      stop(l);
    } else if (signals_is_fatal((int)info.ssi_signo) && info.ssi_signo != SIGWINCH) {
      l->options->signal = (int)info.ssi_signo;
      l->is_over = true;
    }
  }
}

/* ---- all ---- */

static int wait_ms(const live *l)
{
  int64_t left_ms = l->next_ms - sampler_now_ms();

  if (l->source != NULL || l->screen.paused_ms != 0 || left_ms > DRAW_EVERY_MS)
    return DRAW_EVERY_MS;
  return left_ms > 0 ? (int)left_ms : 0;
}

static void run(live *l)
{
  struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                          { .fd = l->options->signals->fd, .events = POLLIN },
                          { .fd = l->wake_fd, .events = POLLIN } };

  while (!l->is_over) {
    take_news(l);
    draw(l);
    (void)poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms(l));
    take_signals(l);
    take_keys(l);
    if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
      l->is_over = true;                           /* the terminal is gone */
  }
}

/* 0, or an exit code after saying why. */
static int begin(live *l, top_live *o)
{
  *l = (live) { .options = o, .screen = { .cells = printable_cells, .order = o->order,
                                             .shows_free = o->shows_free } };
  l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (l->wake_fd >= 0 && o->replay != NULL)
    return 0;
  if (l->wake_fd >= 0) {
    /* The screen should soon say that servers are gone. */
    (void)dibs_client_set_call_timeout(o->session->client, 2000);
    l->source = top_source_start(o->session->client, o->pattern, o->every_ms, l->wake_fd);
  }
  return l->source != NULL ? 0 : say_fault(&(message_facts) { .code = CODE_INTERNAL },
                                           "top: cannot start a thread");
}

static void end(live *l)
{
  top_source_stop(l->source);
  if (l->wake_fd >= 0)
    close(l->wake_fd);
  top_reading_free(&l->reading);
  free(l->about);
}

int top_live_run(top_live *o)
{
  live l;
  int code = begin(&l, o);

  if (code == 0 && o->replay != NULL) {
    l.screen.recorded = top_replay_count(o->replay);
    show_reading(&l, o->replay_from);
  }
  if (code == 0)
    run(&l);
  screen_close();
  end(&l);
  return code;
}

int top_live_record(top_live *o)
{
  live l;
  int code = begin(&l, o);
  struct pollfd fds[] = { { .fd = o->signals->fd, .events = POLLIN },
                          { .fd = l.wake_fd, .events = POLLIN } };

  while (code == 0 && !l.is_over) {
    uint64_t count;

    (void)poll(fds, sizeof(fds) / sizeof(fds[0]), -1);
    (void)!read(l.wake_fd, &count, sizeof(count));
    take_signals(&l);
    take_reading(&l);
    code = o->record->path == NULL ? CODE_FILE : CODE_OK;      /* it could not be written */
  }
  end(&l);
  return code;
}
