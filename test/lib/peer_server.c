/* SPDX-License-Identifier: MIT */
/* test/lib/peer_server.c - the server's side of the peer: connections, what comes on them,
 * what is answered without being asked for, and the dialogue that the test writes. */
#include "peer_parts.h"

#include "base/hash.h"

#define OWN_CHANNEL "dibs:inbox:" PEER_CLIENT

static void feed(struct peer *p, int i, const char *bytes, size_t size)
{
  engine_wall_clock(p->engine, p->now.ns / 1000 + PEER_START_US - SPAN_MS(1000000).ns / 1000,
                    p->now);
  engine_received(p->engine, i, bytes, size, p->now);
}

static bool is_forbidden(const struct peer *p, const resp_reply *r)
{
  return p->forbids_inbox || (p->forbids_channels && !peer_is_word(r, 1, OWN_CHANNEL));
}

/* Counts who listens where, and confirms it. */
static void channel_reply(struct peer *p, const resp_reply *r, char *reply, size_t size)
{
  bool is_left = peer_is_word(r, 0, "UNSUBSCRIBE");

  if (!peer_is_word(r, 1, OWN_CHANNEL))
    p->channels += is_left ? -1 : 1;
  snprintf(reply, size, "*3\r\n$%d\r\n%s\r\n$%zu\r\n%s\r\n:1\r\n", is_left ? 11 : 9,
           is_left ? "unsubscribe" : "subscribe", peer_word(r, 1)->size, peer_word(r, 1)->bytes);
}

/* What every client says and no test is about. */
static bool answer_courtesy(struct peer *p, int link, const resp_reply *r, char reply[256])
{
  const size_t size = 256;

  if (peer_is_word(r, 0, "CLIENT"))
    snprintf(reply, size, "+OK\r\n");
  else if (peer_is_word(r, 0, "TIME")) {
    char seconds[24], micros[24];
    snprintf(seconds, sizeof(seconds), "%lld", peer_server_us(p) / 1000000);
    snprintf(micros, sizeof(micros), "%lld", peer_server_us(p) % 1000000);
    snprintf(reply, size, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(seconds),
             seconds, strlen(micros), micros);
  } else if (peer_is_word(r, 0, "SUBSCRIBE") && p->holds_channels &&
             !peer_is_word(r, 1, OWN_CHANNEL)) {
    snprintf(p->held_channel, sizeof(p->held_channel), "%s", peer_word(r, 1)->bytes);
    reply[0] = '\0';
  } else if (peer_is_word(r, 0, "SUBSCRIBE") && is_forbidden(p, r))
    snprintf(reply, size, "-NOPERM No permissions to access a channel\r\n");
  else if (peer_is_word(r, 0, "SUBSCRIBE") && p->inbox_refusal != NULL)
    snprintf(reply, size, "%s\r\n", p->inbox_refusal);
  else if (peer_is_word(r, 0, "SUBSCRIBE") || peer_is_word(r, 0, "UNSUBSCRIBE"))
    channel_reply(p, r, reply, size);
  else if (peer_is_word(r, 0, "PING"))
    snprintf(reply, size, link == 0 ? "+PONG\r\n"
                                             : "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
  else if (peer_is_word(r, 0, "HSET") || peer_is_word(r, 0, "HDEL") ||
           peer_is_word(r, 0, "PEXPIRE") || peer_is_word(r, 0, "DEL"))
    snprintf(reply, size, ":1\r\n");
  else if (peer_is_word(r, 0, "INFO"))
    snprintf(reply, size, "$13\r\nmaxmemory:0\r\n\r\n");
  else
    return false;
  return true;
}

/* Answers are in the order of the commands: ours wait for the script's before them. */
static void settle(struct peer *p)
{
  while (p->owed_count > 0 && p->owed[0][0] != '\0') {
    char reply[256];

    snprintf(reply, sizeof(reply), "%s", p->owed[0]);
    peer_drop_first(p->owed, &p->owed_count);
    feed(p, 0, reply, strlen(reply));
  }
}

bool peer_read_commands(struct peer *p, int i)
{
  size_t size;
  const char *bytes = engine_output(p->engine, i, &size);
  resp_reply *r;
  bool fed = false;

  if (size == 0 || !p->up[i])
    return false;
  assert_int_equal(resp_reader_feed(p->readers[i], bytes, size), DIBS_OK);
  engine_written(p->engine, i, size);
  while (resp_reader_next(p->readers[i], &r) == DIBS_OK && r != NULL) {
    char line[1024], reply[256];

    if (answer_courtesy(p, i, r, reply)) {
      if (i == 0)
        peer_keep(p->owed, &p->owed_count, reply);
      else
        feed(p, i, reply, strlen(reply));
      fed = true;
    } else {
      peer_describe(r, line, sizeof(line));
      if (peer_renewal_of(r) >= 0)
        p->renewal_ms = peer_renewal_of(r);
      peer_keep(p->commands, &p->command_count, line);
      peer_keep(p->owed, &p->owed_count, "");
    }
    resp_reply_free(r);
  }
  settle(p);
  return fed;
}

void peer_connection_is_gone(struct peer *p, int link)
{
  p->up[link] = false;
  if (link != 0) {
    p->channels = 0;
    p->held_channel[0] = '\0';
    return;
  }
  while (p->command_count > 0)
    peer_drop_first(p->commands, &p->command_count);
  while (p->owed_count > 0)
    peer_drop_first(p->owed, &p->owed_count);
  p->unanswered = 0;
}

/* ---- connections ---- */

bool peer_wants(struct peer *p, int link) { return p->wanted[link]; }
dibs_status peer_wants_files(struct peer *p, int link) { return p->wants_files[link]; }

void peer_connect(struct peer *p, int link)
{
  assert_true(p->wanted[link]);
  p->wanted[link] = false;
  p->up[link] = true;
  resp_reader_free(p->readers[link]);
  p->readers[link] = resp_reader_new(&p->memory, RESP_LIMITS_DEFAULT);
  engine_connected(p->engine, link, p->now);
  peer_pull(p);
}

void peer_break_why(struct peer *p, int link, dibs_status why, const char *words)
{
  p->wanted[link] = false;
  peer_connection_is_gone(p, link);
  engine_disconnected(p->engine, link, why, words, p->now);
  peer_pull(p);
}

void peer_break(struct peer *p, int link)
{
  peer_break_why(p, link, DIBS_ERR_UNREACHABLE, "connection reset");
}

/* ---- dialogue ---- */

static bool matches(const char *pattern, const char *line)
{
  size_t size = strlen(pattern);

  if (size > 0 && pattern[size - 1] == '*')
    return strncmp(pattern, line, size - 1) == 0;
  return strcmp(pattern, line) == 0;
}

void peer_expect(struct peer *p, const char *pattern)
{
  if (p->command_count == 0)
    fail_msg("expected the command \"%s\", got none", pattern);
  if (!matches(pattern, p->commands[0]))
    fail_msg("expected the command \"%s\", got \"%s\"", pattern, p->commands[0]);
  snprintf(p->last_command, sizeof(p->last_command), "%s", p->commands[0]);
  peer_drop_first(p->commands, &p->command_count);
  p->unanswered++;
}

bool peer_try_expect(struct peer *p, const char *pattern)
{
  if (p->command_count == 0)
    return false;
  peer_expect(p, pattern);
  return true;
}

void peer_expect_nothing(struct peer *p)
{
  if (p->command_count > 0)
    fail_msg("expected no command, got \"%s\"", p->commands[0]);
}

void peer_answer(struct peer *p, const char *format, ...)
{
  char words[2048], bytes[8192];
  va_list arguments;

  assert_true(p->unanswered > 0);
  assert_true(p->owed_count > 0);
  p->unanswered--;
  peer_drop_first(p->owed, &p->owed_count);
  va_start(arguments, format);
  vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  feed(p, 0, bytes, peer_encode(words, bytes, sizeof(bytes)));
  settle(p);
  peer_pull(p);
}

void peer_renew(struct peer *p)
{
  peer_answer(p, "[%lld 0 %lld]", peer_server_us(p), (long long)p->renewal_ms);
}

void peer_speak(struct peer *p, const char *channel, const char *words)
{
  char bytes[2048];

  snprintf(bytes, sizeof(bytes), "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
           strlen(channel), channel, strlen(words), words);
  feed(p, 1, bytes, strlen(bytes));
  peer_pull(p);
}

void peer_hold_channels(struct peer *p) { p->holds_channels = true; }
void peer_forbid_channels(struct peer *p) { p->forbids_channels = true; }
void peer_refuse_inbox(struct peer *p, const char *error) { p->inbox_refusal = error; }
const char *peer_last_command(const struct peer *p) { return p->last_command; }
void peer_forbid_inbox(struct peer *p) { p->forbids_inbox = true; }
void peer_allow_channels(struct peer *p) { p->forbids_inbox = p->forbids_channels = false; }
int peer_channels(const struct peer *p) { return p->channels; }

void peer_message(struct peer *p, const char *format, ...)
{
  char words[1024];
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  peer_speak(p, OWN_CHANNEL, words);
}

unsigned long long peer_nonce(uint64_t ask)
{
  const engine_settings settings = peer_settings();

  return siphash(settings.nonce_key, (const uint64_t[2]){ ask, settings.seed }, 2);
}

void peer_hands_over(struct peer *p, const char *format, ...)
{
  char words[900], proven[1024];
  unsigned long long ask = 0;
  va_list arguments;
  char *rest;

  va_start(arguments, format);
  vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  rest = strchr(words, ' ');
  assert_non_null(rest);
  assert_int_equal(sscanf(rest, " %*[^:]:%llu:", &ask), 1);
  snprintf(proven, sizeof(proven), "%.*s:%020llu%s", (int)(rest - words), words,
           peer_nonce(ask), rest);
  peer_speak(p, OWN_CHANNEL, proven);
}

void peer_subscribed(struct peer *p)
{
  char bytes[512];

  assert_string_not_equal(p->held_channel, "");
  snprintf(bytes, sizeof(bytes), "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:2\r\n",
           strlen(p->held_channel), p->held_channel);
  p->held_channel[0] = '\0';
  p->channels++;
  feed(p, 1, bytes, strlen(bytes));
  peer_pull(p);
}
