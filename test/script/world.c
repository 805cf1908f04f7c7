/* SPDX-License-Identifier: MIT */
/* test/script/world.c - see world.h. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "mode.h"
#include "server.h"
#include "world.h"
#include "rendered.h"
#include "base/plain_memory.h"

#define SCRIPTS_MAX 256
#define CLOCK_KEY "clock"

static const memory heap = PLAIN_MEMORY;

/* One connection. */
struct wire {
  int fd;                 /* -1: none */
  resp_reader *reader;
};

struct world {
  struct test_server *server;
  struct wire commands, inbox[WORLD_CLIENTS], monitor;
  protocol client[WORLD_CLIENTS];
  buffer out;
  resp_reply *reply;
  char messages[65536];
  int64_t time_us;                    /* 0: the server's */
  int64_t mistake_us;
  lease_id detached[WORLD_CLIENTS];   /* token 0: none */
  char sha1[SCRIPTS_MAX][41];         /* of the scripts that read ours */
};

static void wire_open(struct wire *c, const char *path)
{
  struct sockaddr_un where = { .sun_family = AF_UNIX };

  assert_true(strlen(path) < sizeof(where.sun_path));
  memcpy(where.sun_path, path, strlen(path) + 1);
  c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(connect(c->fd, (struct sockaddr *)&where, sizeof(where)), 0);
  c->reader = resp_reader_new(&heap, RESP_LIMITS_DEFAULT);
}

static void wire_close(struct wire *c)
{
  if (c->fd >= 0)
    close(c->fd);
  resp_reader_free(c->reader);
  *c = (struct wire){ .fd = -1 };
}

static void wire_send(struct wire *c, const char *bytes, size_t size)
{
  while (size > 0) {
    ssize_t sent = send(c->fd, bytes, size, MSG_NOSIGNAL);
    assert_true(sent > 0);
    bytes += sent;
    size -= (size_t)sent;
  }
}

static resp_reply *wire_read(struct wire *c)
{
  resp_reply *reply = NULL;
  char bytes[16384];

  for (;;) {
    ssize_t got;
    assert_int_equal(resp_reader_next(c->reader, &reply), DIBS_OK);
    if (reply != NULL)
      return reply;
    got = recv(c->fd, bytes, sizeof(bytes), 0);
    assert_true(got > 0);
    assert_int_equal(resp_reader_feed(c->reader, bytes, (size_t)got), DIBS_OK);
  }
}

static void wire_command(struct wire *c, const char *first, const char *second,
                         const char *third)
{
  const char *const all[] = { first, second, third };
  resp_argument words[3];
  size_t count = 0;
  buffer out;

  buffer_init(&out, &heap);
  for (; count < 3 && all[count] != NULL; count++)
    words[count] = (resp_argument){ all[count], strlen(all[count]) };
  assert_true(resp_command(&out, words, count));
  wire_send(c, buffer_bytes(&out), buffer_size(&out));
  buffer_deinit(&out);
}

/* ---- the world ---- */

struct world *world_new(const char *const *arguments)
{
  struct test_server_options options = { .arguments = arguments };
  struct world *w = calloc(1, sizeof(*w));

  mode_options(&options);
  w->server = test_server_start_with(&options);
  mode_start(w->server);
  w->monitor.fd = -1;
  wire_open(&w->commands, test_server_socket(w->server));
  buffer_init(&w->out, &heap);
  for (int who = 0; who < WORLD_CLIENTS; who++) {
    w->inbox[who].fd = -1;
    strcpy(w->client[who].prefix, "dibs");
    memset(w->client[who].client, 'A' + who, CLIENT_ID_SIZE - 1);
    mode_native(&w->client[who]);
  }
  for (size_t i = 0; i < script_count; i++)
    assert_string_equal(test_server_command(w->server, "SCRIPT LOAD %s",
                                            script_table[i]->bytes), script_table[i]->sha1);
  if (mode_get().functions) {
    wire_command(&w->commands, "AUTH", "plain", "any");
    resp_reply_free(wire_read(&w->commands));
  }
  mode_clear(w->server);
  return w;
}

struct world *world_free(struct world *w)
{
  for (int who = 0; who < WORLD_CLIENTS; who++)
    wire_close(&w->inbox[who]);
  wire_close(&w->monitor);
  wire_close(&w->commands);
  buffer_deinit(&w->out);
  resp_reply_free(w->reply);
  test_server_stop(w->server);
  free(w);
  return NULL;
}

void world_clear(struct world *w)
{
  for (int who = 0; who < WORLD_CLIENTS; who++)
    world_deafen(w, who);
  wire_close(&w->monitor);
  w->mistake_us = 0;
  memset(w->detached, 0, sizeof(w->detached));
  test_server_command(w->server, "FLUSHALL");
  mode_clear(w->server);
  test_server_command(w->server, "CONFIG RESETSTAT");
}

const struct test_server *world_server(const struct world *w) { return w->server; }
const protocol *world_native(const struct world *w, int who) { return &w->client[who]; }

void world_guard(struct world *w, int64_t quarantine_ms)
{
  for (int who = 0; who < WORLD_CLIENTS; who++) {
    mode_native(&w->client[who]);
    if (quarantine_ms > 0)
      w->client[who].quarantine_ms = quarantine_ms;
  }
}

int64_t world_time_us(struct world *w)
{
  const char *answer;
  long long seconds, micros;

  if (w->time_us > 0)
    return w->time_us;
  answer = test_server_command(w->server, "TIME");

  assert_int_equal(sscanf(answer, "[%lld, %lld]", &seconds, &micros), 2);
  return seconds * 1000000 + micros;
}

/* The text with each call of TIME replaced by one that reads a list of two strings. */
static char *with_clock(const char *bytes)
{
  static const char theirs[] = "redis.call('TIME')";
  static const char ours[] = "redis.call('LRANGE', '" CLOCK_KEY "', 0, 1)";
  size_t size = 2 * strlen(bytes) + 1;
  char *copy = malloc(size);
  text t = text_over(copy, size);

  for (const char *found; (found = strstr(bytes, theirs)) != NULL;
       bytes = found + strlen(theirs)) {
    text_add_bytes(&t, bytes, (size_t)(found - bytes));
    text_add(&t, ours);
  }
  text_add(&t, bytes);
  assert_false(t.is_cut);
  return copy;
}

static void load_with_clock(struct world *w, size_t i)
{
  char *copy = with_clock(script_table[i]->bytes);

  snprintf(w->sha1[i], sizeof(w->sha1[i]), "%s",
           test_server_command(w->server, "SCRIPT LOAD %s", copy));
  free(copy);
}

static void load_functions_with_clock(struct world *w)
{
  char *copy = with_clock(script_library_text);

  assert_string_equal(test_server_command(w->server, "FUNCTION LOAD REPLACE %s", copy),
                      script_library_name);
  free(copy);
}

void world_set_time(struct world *w, int64_t us)
{
  assert_true(us > 0);
  assert_true(script_count <= SCRIPTS_MAX);
  for (size_t i = 0; w->time_us == 0 && i < script_count; i++)
    load_with_clock(w, i);
  if (w->time_us == 0 && mode_get().functions)
    load_functions_with_clock(w);
  w->time_us = us;
  test_server_command(w->server, "EVAL %s 0 %lld %lld",
                      "redis.call('DEL', '" CLOCK_KEY "') "
                      "redis.call('RPUSH', '" CLOCK_KEY "', ARGV[1], ARGV[2])",
                      (long long)(us / 1000000), (long long)(us % 1000000));
}

/* ---- inboxes ---- */

static void inbox_name(const struct world *w, int who, char *out, size_t size)
{
  text t = text_over(out, size);

  native_name_inbox(&w->client[who], WORLD_NAME, strlen(WORLD_NAME), &t);
}

void world_listen(struct world *w, int who)
{
  char channel[128];

  wire_open(&w->inbox[who], test_server_socket(w->server));
  inbox_name(w, who, channel, sizeof(channel));
  wire_command(&w->inbox[who], mode_get().sharded ? "SSUBSCRIBE" : "SUBSCRIBE", channel, NULL);
  resp_reply_free(wire_read(&w->inbox[who]));
}

void world_listen_pattern(struct world *w, const char *pattern)
{
  wire_open(&w->monitor, test_server_socket(w->server));
  wire_command(&w->monitor, "PSUBSCRIBE", pattern, NULL);
  resp_reply_free(wire_read(&w->monitor));
}

void world_deafen(struct world *w, int who)
{
  char channel[128];

  if (w->inbox[who].fd < 0)
    return;
  world_messages(w, who);
  inbox_name(w, who, channel, sizeof(channel));
  wire_command(&w->inbox[who], mode_get().sharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE", channel,
               NULL);
  resp_reply_free(wire_read(&w->inbox[who]));
  wire_close(&w->inbox[who]);
}

/* What was published before our PING is in the stream before its answer. */
const char *world_messages(struct world *w, int who)
{
  size_t used = 0;

  wire_command(&w->inbox[who], "PING", NULL, NULL);
  for (;;) {
    resp_reply *r = wire_read(&w->inbox[who]);
    const resp_node *word = resp_child(r, resp_root(r), 0);
    const resp_node *body = resp_child(r, resp_root(r), 2);

    assert_non_null(word);
    if (strcmp(word->bytes, "message") != 0 && strcmp(word->bytes, "smessage") != 0) {
      assert_string_equal(word->bytes, "pong");
      resp_reply_free(r);
      break;
    }
    assert_true(used + body->size + 2 < sizeof(w->messages));
    memcpy(w->messages + used, body->bytes, body->size);
    used += body->size;
    w->messages[used++] = '\n';
    resp_reply_free(r);
  }
  w->messages[used] = 0;
  return w->messages;
}

/* ---- calls ---- */

buffer *world_buffer(struct world *w) { return &w->out; }

/* Puts `new` in the place of `old`, of the same length. */
static void replace(const buffer *command, const char *old, const char *new)
{
  char *found = memmem(buffer_bytes(command), buffer_size(command), old, strlen(old));

  if (found != NULL)
    memcpy(found, new, strlen(new));
}

const resp_reply *world_raw(struct world *w, const buffer *command)
{
  resp_reply_free(w->reply);
  w->reply = NULL;
  for (size_t i = 0; w->time_us > 0 && i < script_count; i++)
    replace(command, script_table[i]->sha1, w->sha1[i]);
  wire_send(&w->commands, buffer_bytes(command), buffer_size(command));
  w->reply = wire_read(&w->commands);
  return w->reply;
}

static void check_retention(struct world *w)
{
  long long left = test_server_integer(w->server, "PTTL %s", WORLD_KEY);

  if (left != -2)
    assert_in_range(left, HOUR_MS - 60000, INT64_MAX);
}

/* Sends what is in w->out, and checks what every call owes. */
static const resp_reply *call(struct world *w)
{
  const resp_reply *r = world_raw(w, &w->out);

  buffer_clear(&w->out);
  if (resp_root(r)->kind == RESP_ERROR)
    fail_msg("%s", resp_root(r)->bytes);
  check_retention(w);
  return r;
}

acquire_call world_call(struct world *w, uint64_t ask)
{
  return (acquire_call){ .name = WORLD_NAME, .name_size = strlen(WORLD_NAME), .ask = ask,
                         .ttl_ms = 30000, .waits = true, .estimate_us = world_time_us(w) };
}

void world_detach(struct world *w, int who, const lease_id *lease)
{
  w->detached[who] = lease != NULL ? *lease : (lease_id){ .token = 0 };
}

static const lease_id *detached_of(const struct world *w, int who)
{
  return w->detached[who].token != 0 ? &w->detached[who] : NULL;
}

acquire_answer world_send(struct world *w, int who, const acquire_call *call_of_test)
{
  acquire_call sent = *call_of_test, *c = &sent;
  acquire_answer a;

  sent.detached = detached_of(w, who);
  assert_true(RENDERED(native_acquire, &w->client[who], &w->out, false, c));
  assert_true(native_acquire_answer(&w->client[who], c->ask, c->ttl_ms, call(w), &a));
  return a;
}

acquire_answer world_acquire(struct world *w, int who, uint64_t ask)
{
  acquire_call c = world_call(w, ask);

  return world_send(w, who, &c);
}

acquire_answer world_try(struct world *w, int who, uint64_t ask)
{
  acquire_call c = world_call(w, ask);

  c.waits = false;
  return world_send(w, who, &c);
}

void world_mistake(struct world *w, int64_t us) { w->mistake_us = us; }

/* What the client that lets go says TIME should be. */
static int64_t expected_us(struct world *w) { return world_time_us(w) + w->mistake_us; }

release_answer world_release(struct world *w, int who, const lease_id *lease)
{
  release_answer a;

  assert_true(RENDERED(native_release, &w->client[who], &w->out, false, WORLD_NAME,
                       strlen(WORLD_NAME), lease, expected_us(w)));
  assert_true(native_release_answer(call(w), &a));
  return a;
}

static bool token_release(const protocol *n, request *out, const lease_id *lease, int64_t us)
{
  return native_release(n, out, WORLD_NAME, strlen(WORLD_NAME), lease, us) && request_limit(out);
}

release_answer world_token_release(struct world *w, int who, const lease_id *lease)
{
  release_answer a;

  assert_true(RENDERED(token_release, &w->client[who], &w->out, false, lease, expected_us(w)));
  assert_true(native_release_answer(call(w), &a));
  return a;
}

release_answer world_break(struct world *w, int who, const lease_id *lease)
{
  release_answer a;

  assert_true(RENDERED(native_break, &w->client[who], &w->out, false, WORLD_NAME,
                       strlen(WORLD_NAME), lease, expected_us(w)));
  assert_true(native_release_answer(call(w), &a));
  return a;
}

int64_t world_cancel(struct world *w, int who, uint64_t ask, int64_t until_us)
{
  const resp_reply *r;

  assert_true(RENDERED(native_cancel, &w->client[who], &w->out, false, WORLD_NAME,
                       strlen(WORLD_NAME), ask, until_us, expected_us(w),
                       detached_of(w, who)));
  r = call(w);
  assert_true(native_cancel_answer(r));
  return resp_root(r)->integer;
}

renew_answer world_renew_at(struct world *w, int who, const lease_id *lease, int64_t ttl_ms,
                            int64_t estimate_us)
{
  renew_item item = { WORLD_NAME, strlen(WORLD_NAME), lease, ttl_ms };
  const resp_reply *r;
  renew_answer a;
  int64_t server_us;

  assert_true(RENDERED(native_renew, &w->client[who], &w->out, false, &item, 1,
                       estimate_us));
  r = call(w);
  assert_true(native_renew_server_us(r, &server_us));
  assert_true(native_renew_answer(r, 0, &a));
  return a;
}

renew_answer world_renew(struct world *w, int who, const lease_id *lease, int64_t ttl_ms)
{
  return world_renew_at(w, who, lease, ttl_ms, world_time_us(w));
}

static bool token_renew(const protocol *n, request *out, const renew_item *item, int64_t us)
{
  return native_renew(n, out, item, 1, us) && request_limit(out);
}

renew_answer world_token_renew(struct world *w, int who, const lease_id *lease, int64_t ttl_ms)
{
  renew_item item = { WORLD_NAME, strlen(WORLD_NAME), lease, ttl_ms };
  renew_answer a;

  assert_true(RENDERED(token_renew, &w->client[who], &w->out, false, &item, world_time_us(w)));
  assert_true(native_renew_answer(call(w), 0, &a));
  return a;
}

inspect_answer world_inspect(struct world *w, int who)
{
  inspect_answer a;

  assert_true(RENDERED(native_inspect, &w->client[who], &w->out, false, WORLD_NAME,
                       strlen(WORLD_NAME)));
  assert_true(native_inspect_answer(call(w), &a));
  return a;
}

static const char *error_of(struct world *w)
{
  const resp_node *root = resp_root(world_raw(w, &w->out));

  buffer_clear(&w->out);
  return root->kind == RESP_ERROR ? root->bytes : "";
}

const char *world_acquire_error(struct world *w, int who, const acquire_call *c)
{
  assert_true(RENDERED(native_acquire, &w->client[who], &w->out, false, c));
  return error_of(w);
}

const char *world_release_error(struct world *w, int who, const lease_id *lease)
{
  assert_true(RENDERED(native_release, &w->client[who], &w->out, false, WORLD_NAME,
                       strlen(WORLD_NAME), lease, expected_us(w)));
  return error_of(w);
}

/* ---- what is stored ---- */

lease_id world_plant(struct world *w, int who, uint64_t ask, int64_t left_ms,
                     int64_t length_ms, int flags)
{
  lease_id l = { .ask = ask };
  char value[160];

  memcpy(l.client, w->client[who].client, CLIENT_ID_SIZE);
  l.token = (uint64_t)world_time_us(w) - 3600000000u;
  snprintf(value, sizeof(value), "%s %lld %lld 0 %d", lease_text(&l),
           (long long)left_ms + HOUR_MS, (long long)length_ms, flags);
  assert_string_equal(test_server_command(w->server, "SET %s %s PX %d", WORLD_KEY, value,
                                          HOUR_MS), "OK");
  return l;
}

const char *world_type(struct world *w)
{
  return test_server_command(w->server, "TYPE %s", WORLD_KEY);
}

long long world_errors(struct world *w)
{
  const char *info = test_server_command(w->server, "INFO stats");
  const char *found = strstr(info, "total_error_replies:");

  assert_non_null(found);
  return strtoll(found + strlen("total_error_replies:"), NULL, 10);
}

const char *lease_text(const lease_id *l)
{
  static char buffers[8][LEASE_TEXT_SIZE];
  static unsigned next;
  char *out = buffers[next++ % 8];
  text t = text_over(out, LEASE_TEXT_SIZE);

  lease_id_write(l, &t);
  return out;
}
