/* SPDX-License-Identifier: MIT */
/* cli/top_live.c - the screen of dibs top: readings, keys and signals as they come. */
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
  bool is_over;
} live;

/* ---- drawing ---- */

static void take_news(live *l)
{
  uint64_t count;
  char *about = top_source_about(l->source), text[300];

  (void)!read(l->wake_fd, &count, sizeof(count));
  if (l->screen.paused_ms == 0 && top_source_take(l->source, &l->reading))
    l->has_reading = true;
  if (about != NULL) {
    free(l->about);
    l->about = about;
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
}

static void look(live *l)
{
  bool looks = l->screen.view == TOP_ONE_NAME;

  free(l->about);
  l->about = NULL;
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
    case TOP_ENDS:
      l->is_over = true;
      break;
    case TOP_GOES_ON:
    default:
      if (looked && l->screen.view != TOP_ONE_NAME)
        look(l);
    }
  }
}

/* ---- signals ---- */

static void stop(void)
{
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
      stop();
    } else if (signals_is_fatal((int)info.ssi_signo) && info.ssi_signo != SIGWINCH) {
      l->options->signal = (int)info.ssi_signo;
      l->is_over = true;
    }
  }
}

/* ---- all ---- */

static void run(live *l)
{
  struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                          { .fd = l->options->signals->fd, .events = POLLIN },
                          { .fd = l->wake_fd, .events = POLLIN } };

  while (!l->is_over) {
    take_news(l);
    draw(l);
    (void)poll(fds, sizeof(fds) / sizeof(fds[0]), DRAW_EVERY_MS);
    take_signals(l);
    take_keys(l);
    if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
      l->is_over = true;                           /* the terminal is gone */
  }
}

int top_live_run(top_live *o)
{
  live l = { .options = o, .screen = { .order = o->order, .shows_free = o->shows_free } };
  int code = CODE_OK;

  l.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  /* The screen should soon say that servers are gone. */
  (void)dibs_set_call_timeout(o->session->client, 2000);
  if (l.wake_fd >= 0)
    l.source = top_source_start(o->session->client, o->pattern, o->every_ms, l.wake_fd);
  if (l.source != NULL)
    run(&l);
  screen_close();
  if (l.source == NULL)
    code = say_fault(&(message_facts) { .code = CODE_INTERNAL }, "top: cannot start a thread");
  top_source_stop(l.source);
  if (l.wake_fd >= 0)
    close(l.wake_fd);
  top_reading_free(&l.reading);
  free(l.about);
  return code;
}
