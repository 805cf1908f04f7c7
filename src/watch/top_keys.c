/* SPDX-License-Identifier: MIT */
/* watch/top_keys.c - what keys do to the screen of dibs top. */
#include <string.h>

#include "watch/top.h"

#define MESSAGE_MS 10000
#define TOP_JUMP 30          /* readings */

void top_screen_say(top_screen *s, const char *text, int64_t now_ms)
{
  watch_text safe = { 0 };
  size_t size;

  watch_add_safe(&safe, text, strlen(text));
  size = safe.used < sizeof(s->message) ? safe.used : sizeof(s->message) - 1;
  if (size > 0)
    memcpy(s->message, safe.bytes, size);
  s->message[size] = 0;
  s->message_ms = now_ms + MESSAGE_MS;
  watch_text_free(&safe);
}

static void drop_character(char *typed)
{
  size_t size = strlen(typed);

  while (size > 0 && ((unsigned char)typed[size - 1] & 0xc0) == 0x80)
    size--;
  typed[size > 0 ? size - 1 : 0] = 0;
}

static void add_character(char typed[TOP_TYPED_SIZE], int key)
{
  size_t size = strlen(typed);
  unsigned code = (unsigned)key;

  if (key < ' ' || key == 0x7f || (key >= 0x80 && key < 0xa0) || size + 5 > TOP_TYPED_SIZE)
    return;
  if (code < 0x80) {
    typed[size++] = (char)code;
  } else if (code < 0x800) {
    typed[size++] = (char)(0xc0 | code >> 6);
    typed[size++] = (char)(0x80 | (code & 0x3f));
  } else {
    if (code < 0x10000) {
      typed[size++] = (char)(0xe0 | code >> 12);
    } else {
      typed[size++] = (char)(0xf0 | code >> 18);
      typed[size++] = (char)(0x80 | (code >> 12 & 0x3f));
    }
    typed[size++] = (char)(0x80 | (code >> 6 & 0x3f));
    typed[size++] = (char)(0x80 | (code & 0x3f));
  }
  typed[size] = 0;
}

static enum top_wish input_key(top_screen *s, int key, int64_t now_ms)
{
  enum top_input input = s->input;
  bool is_filter = input == TOP_FILTER, is_over = key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE;

  if (key == TOP_KEY_ERASE)
    drop_character(s->typed);
  else if (key == TOP_KEY_ESCAPE)
    s->typed[0] = 0;
  else if (key < TOP_KEY_UP)
    add_character(s->typed, key);
  if (is_filter)
    memcpy(s->filter, s->typed, sizeof(s->filter));
  if (!is_over)
    return TOP_GOES_ON;
  s->input = TOP_KEYS;
  if (is_filter)
    return TOP_GOES_ON;
  if (input == TOP_TIME)
    return s->typed[0] != 0 ? TOP_SEEKS : TOP_GOES_ON;
  if (strcmp(s->typed, "yes") == 0)
    return TOP_BREAKS;
  top_screen_say(s, "nothing was broken", now_ms);
  return TOP_GOES_ON;
}

static void move(top_screen *s, int key)
{
  size_t by = key == TOP_KEY_PAGE_UP || key == TOP_KEY_PAGE_DOWN ? s->page : 1;

  s->is_moved = true;
  if (key == TOP_KEY_HOME)
    s->place = 0;
  else if (key == TOP_KEY_END)
    s->place = TOP_NONE / 2;
  else if (key == TOP_KEY_DOWN || key == TOP_KEY_PAGE_DOWN)
    s->place += by;
  else
    s->place = s->place > by ? s->place - by : 0;
}

static void begin_input(top_screen *s, enum top_input input)
{
  s->input = input;
  s->typed[0] = 0;
  if (input == TOP_FILTER)
    memcpy(s->typed, s->filter, sizeof(s->typed));
}

static enum top_wish view_key(top_screen *s, enum top_view view)
{
  s->view = view;
  s->first = view == TOP_NAMES ? s->first : 0;
  return view == TOP_ONE_NAME ? TOP_LOOKS : TOP_GOES_ON;
}

/* Keys of a recording; TOP_GOES_ON: it is none of them. */
static enum top_wish recording_key(top_screen *s, int key)
{
  s->step = key == TOP_KEY_LEFT    ? -1
            : key == TOP_KEY_RIGHT ? 1
            : key == '['           ? -TOP_JUMP
            : key == ']'           ? TOP_JUMP
                                   : 0;
  if (key == 'g')
    begin_input(s, TOP_TIME);
  return s->step != 0 ? TOP_STEPS : TOP_GOES_ON;
}

/* Keys that a recording has no answer to. */
static bool is_live_key(const top_screen *s, int key)
{
  return key == 'b' || (key == TOP_KEY_ENTER && s->view == TOP_NAMES);
}

enum top_wish top_screen_key(top_screen *s, int key, int64_t now_ms)
{
  if (s->input != TOP_KEYS)
    return input_key(s, key, now_ms);
  if (s->recorded > 0 && is_live_key(s, key)) {
    top_screen_say(s, "this is a recording: it has no queues, and cannot break locks", now_ms);
    return TOP_GOES_ON;
  }
  if (s->recorded > 0 && recording_key(s, key) != TOP_GOES_ON)
    return TOP_STEPS;
  switch (key) {
  case 'q':
    if (s->view == TOP_NAMES)
      return TOP_ENDS;
    return view_key(s, TOP_NAMES);
  case TOP_KEY_ESCAPE:
    if (s->view == TOP_NAMES)
      s->filter[0] = 0;
    return view_key(s, TOP_NAMES);
  case TOP_KEY_ENTER:
    return s->view == TOP_NAMES && s->chosen_size > 0 ? view_key(s, TOP_ONE_NAME) : TOP_GOES_ON;
  case '?':
  case 'h':
    return view_key(s, TOP_HELP);
  case 's':
    s->order = (enum watch_order)((s->order + 1) % WATCH_ORDER_COUNT);
    break;
  case 'a':
    s->shows_free = !s->shows_free;
    break;
  case 'p':
    s->paused_ms = s->paused_ms == 0 ? now_ms : 0;
    break;
  case '/':
    (void)view_key(s, TOP_NAMES);
    begin_input(s, TOP_FILTER);
    break;
  case 'b':
    if (s->view == TOP_HELP || s->chosen_size == 0)
      break;
    if (s->chosen_fence == 0)
      top_screen_say(s, "only a single holder with a fence can be broken here; "
                        "see dibs break", now_ms);
    else
      begin_input(s, TOP_CONFIRM);
    break;
  case 'k':
  case 'j':
    move(s, key == 'k' ? TOP_KEY_UP : TOP_KEY_DOWN);
    break;
  default:
    if (key >= TOP_KEY_UP && key <= TOP_KEY_END)
      move(s, key);
  }
  return TOP_GOES_ON;
}
