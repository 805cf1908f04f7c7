/* SPDX-License-Identifier: MIT */
/* The simulated server against real ones where servers belong together: nodes of a cluster, a
 * primary with a replica, a sentinel. The same requests to both, by a script of steps; the
 * replies must be the same byte for byte, but for ids (40 hexadecimal digits). */
#include "tests.h"

#include <stdint.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "deployment.h"
#include "server/sim_sentinel.h"
#include "server/sim_server.h"

enum { NODES_MAX_HERE = 3, TEXT_MAX = 16384 };

/* One connection to a real server, one to the model of it. */
typedef struct side_by_side {
  int fd;
  sim_server *model;
  sim_connection *connection;
  char real_said[TEXT_MAX], model_said[TEXT_MAX];
} side_by_side;

static int64_t wall_us = INT64_C(1700000000000000);

static void open_real(side_by_side *s, const struct test_server *real)
{
  struct sockaddr_un to = { .sun_family = AF_UNIX };

  s->fd = socket(AF_UNIX, SOCK_STREAM, 0);
  (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", test_server_socket(real));
  assert_int_equal(connect(s->fd, (struct sockaddr *)&to, sizeof(to)), 0);
}

static void open_model(side_by_side *s, const char *host, int port)
{
  s->model = sim_server_new(&(sim_server_settings){ .seed = 3, .wall_us = wall_us,
                                                    .host = host, .port = port });
  s->connection = sim_server_accept(s->model);
}

static void close_both(side_by_side *s)
{
  const char *unknown = sim_server_unknown(s->model);

  if (unknown != NULL)
    print_error("the model does not know %s\n", unknown);
  assert_null(unknown);
  (void)close(s->fd);
  s->model = sim_server_free(s->model);
}

/* ---- what is said ---- */

static size_t ids_hidden(char *words, size_t size)
{
  for (size_t i = 0; i + 40 <= size; i++)
    if (strspn(words + i, "0123456789abcdef") >= 40 && strspn(words + i, "0") < 40)
      memset(words + i, 'x', 40);
  words[size] = 0;
  return size;
}

/* Until nothing comes for `limit_ms`, once something is there and whole lines are. */
static void hear_real(side_by_side *s, int limit_ms)
{
  size_t size = 0;

  for (;;) {
    struct pollfd p = { .fd = s->fd, .events = POLLIN };
    ssize_t got;

    if (poll(&p, 1, size == 0 ? limit_ms : 30) == 0)
      break;
    got = recv(s->fd, s->real_said + size, TEXT_MAX - size - 1, 0);
    if (got <= 0)
      break;
    size += (size_t)got;
  }
  (void)ids_hidden(s->real_said, size);
}

static void hear_model(side_by_side *s)
{
  size_t size;
  const char *bytes = sim_connection_output(s->connection, &size);

  assert_true(size < TEXT_MAX);
  memcpy(s->model_said, bytes, size);
  (void)ids_hidden(s->model_said, size);
  sim_connection_sent(s->connection, size);
}

/* Words parted by blanks, as a command. */
static size_t command_of(const char *line, char *to, size_t room)
{
  size_t used = 0, count = 1;

  for (const char *c = line; *c != 0; c++)
    count += *c == ' ';
  used = (size_t)snprintf(to, room, "*%zu\r\n", count);
  for (; count > 0; count--) {
    size_t size = strcspn(line, " ");

    used += (size_t)snprintf(to + used, room - used, "$%zu\r\n%.*s\r\n", size, (int)size, line);
    line += size + 1;
  }
  return used;
}

static void say_real(side_by_side *s, const char *line)
{
  char bytes[512];
  size_t size = command_of(line, bytes, sizeof(bytes));

  assert_int_equal(send(s->fd, bytes, size, 0), size);
}

static void say_model(side_by_side *s, const char *line)
{
  char bytes[512];
  size_t size = command_of(line, bytes, sizeof(bytes));

  sim_server_receive(s->model, s->connection, bytes, size);
}

static void say(side_by_side *s, const char *line)
{
  say_real(s, line);
  say_model(s, line);
  hear_real(s, 2000);
  hear_model(s);
}

static void both_say_the_same(side_by_side *s, const char *line)
{
  say(s, line);
  if (strcmp(s->real_said, s->model_said) != 0)
    print_error("after: %s\n  real:  %s\n  model: %s\n", line, s->real_said, s->model_said);
  assert_string_equal(s->real_said, s->model_said);
}

/* The model says fewer things than a real server; what it says is what that one says. Rows
 * end with CR LF. */
static void each_line_is_true(side_by_side *s, const char *line, const char *const *but)
{
  char *state = NULL;

  say(s, line);
  for (char *row = strtok_r(s->model_said, "\r\n", &state); row != NULL;
       row = strtok_r(NULL, "\r\n", &state)) {
    bool is_left_out = *row == '$' || *row == '*';

    for (const char *const *b = but; *b != NULL; b++)
      is_left_out = is_left_out || strncmp(row, *b, strlen(*b)) == 0;
    if (!is_left_out && strstr(s->real_said, row) == NULL)
      print_error("not in the real answer to %s: %s\n%s\n", line, row, s->real_said);
    assert_true(is_left_out || strstr(s->real_said, row) != NULL);
  }
}

/* ---- cluster: b is in slot 3300, c in 7365, a in 15495 ---- */

static const char *const cluster_steps[] = {
  /* where things are */
  "0 CLUSTER SLOTS", "1 CLUSTER SLOTS", "0 CLUSTER KEYSLOT {b}x", "0 CLUSTER KEYSLOT {}b",
  "0 SET b 1", "0 SET a 1", "0 GET c", "1 GET c", "2 DEL a", "0 MGET b a", "0 MGET b {b}x",
  "0 EVAL return{1} 1 b", "0 EVAL return{1} 1 c", "0 EVAL return{1} 2 b c", "0 EVAL return{1} 0",
  "0 EVAL return{redis.call('GET','c')} 1 b", "0 EVAL return{redis.pcall('GET','c')} 1 b",
  "0 EVAL return{redis.call('GET','b')} 0", "0 SELECT 0", "0 SELECT 1", "0 ASKING", "0 ASKING 1",
  "0 EVAL return{redis.call('SPUBLISH','c','x')} 1 b",
  "0 EVAL return{redis.call('SPUBLISH','b','x')} 1 b",
  "0 EVAL return{redis.call('PUBLISH','c','x')} 1 b", "0 CLUSTER KEYSLOT",
  /* shard channels */
  "0 SSUBSCRIBE c", "0 SSUBSCRIBE b c", "0 SPUBLISH c m", "0 SPUBLISH b m",
  "0 PUBSUB SHARDNUMSUB b c", "0 PUBSUB SHARDCHANNELS",
  /* slot 3300 is on its way from 0 to 1 */
  "0 SET {b}y 1", "0 DEL b", "1 CLUSTER SETSLOT 3300 IMPORTING %0",
  "0 CLUSTER SETSLOT 3300 MIGRATING %1", "0 GET b", "0 SET b 1", "0 GET {b}y", "0 MGET b {b}y",
  "0 MGET b {b}z", "0 EVAL return{1} 1 b", "0 EVAL return{1} 2 b {b}y",
  "0 EVAL return{redis.call('GET','b')} 1 {b}y", "0 SPUBLISH b m", "0 ASKING", "0 GET b",
  "0 EXISTS b {b}y", "0 CLUSTER COUNTKEYSINSLOT 3300", "0 CLUSTER GETKEYSINSLOT 3300 9",
  "1 GET b", "1 ASKING", "1 GET b", "1 GET b", "1 ASKING", "1 SET b 2", "1 ASKING",
  "1 MGET b {b}q", "1 ASKING", "1 EVAL return{1} 2 b {b}q", "1 ASKING", "1 EVAL return{1} 1 {b}q",
  "1 ASKING", "1 EVAL return{redis.call('GET','b')} 1 {b}q", "1 SPUBLISH b m", "1 ASKING",
  "1 SPUBLISH b m", "1 ASKING", "1 ASKING", "1 GET b", "1 MULTI", "1 GET b", "1 EXEC",
  "0 CLUSTER SETSLOT 3300 NODE %1", "0 CLUSTER SETSLOT 3300 NOSUCH",
  "0 CLUSTER SETSLOT 99999 STABLE", "0 CLUSTER SETSLOT 3300 MIGRATING nobody",
  "2 CLUSTER SETSLOT 3300 MIGRATING %1", "0 CLUSTER SETSLOT 3300 IMPORTING %1",
  /* what a script removes there it cannot write again */
  "0 EVAL redis.call('DEL',KEYS[1])redis.call('HSET',KEYS[1],'f','v') 1 {b}y", "0 DEL {b}y",
  /* a listener of its channel is told that it leaves; now the slot is there */
  "3 SSUBSCRIBE b {b}k", "1 CLUSTER SETSLOT 3300 NODE %1", "0 CLUSTER SETSLOT 3300 NODE %1",
  "3", "3 PING", "0 GET b", "1 GET b", "0 SSUBSCRIBE b", "1 CLUSTER SLOTS", NULL
};

static void run_cluster_steps(side_by_side all[4], char real_ids[][48], char model_ids[][48])
{
  for (const char *const *step = cluster_steps; *step != NULL; step++) {
    side_by_side *s = &all[**step - '0'];
    const char *at = strchr(*step, '%');
    char real_line[256], model_line[256];

    if ((*step)[1] == 0) {
      hear_real(s, 1000);
      hear_model(s);
      assert_string_equal(s->real_said, s->model_said);
      continue;
    }
    if (at == NULL) {
      both_say_the_same(s, *step + 2);
      continue;
    }
    (void)snprintf(real_line, sizeof(real_line), "%.*s%s", (int)(at - *step) - 2, *step + 2,
                   real_ids[at[1] - '0']);
    (void)snprintf(model_line, sizeof(model_line), "%.*s%s", (int)(at - *step) - 2, *step + 2,
                   model_ids[at[1] - '0']);
    say_real(s, real_line);
    say_model(s, model_line);
    hear_real(s, 2000);
    hear_model(s);
    if (strcmp(s->real_said, s->model_said) != 0)
      print_error("after %s: real %s model %s\n", *step, s->real_said, s->model_said);
    assert_string_equal(s->real_said, s->model_said);
  }
}

static void id_take(char ret_id[48], const char *reply)
{
  (void)snprintf(ret_id, 48, "%.40s", reply + strcspn(reply, "\n") + 1);
}

TEST(a_node_of_a_cluster_answers_as_the_model)
{
  struct test_cluster *real =
    test_cluster_start(&(struct test_cluster_options){ .primaries = 3, .replicas = TEST_NONE });
  static const int ends[] = { 0, 5461, 10922, TEST_SLOTS };
  static side_by_side all[4];
  sim_node nodes[NODES_MAX_HERE];
  char real_ids[NODES_MAX_HERE][48], model_ids[NODES_MAX_HERE][48];

  for (int i = 0; i < NODES_MAX_HERE; i++)
    nodes[i] = (sim_node){ "127.0.0.1", test_server_port(test_cluster_member(real, i)), -1 };
  for (int i = 0; i < NODES_MAX_HERE; i++) {
    side_by_side *s = &all[i];
    size_t size;

    open_real(s, test_cluster_member(real, i));
    open_model(s, "127.0.0.1", nodes[i].port);
    sim_server_cluster(s->model, nodes, NODES_MAX_HERE, (size_t)i);
    for (int n = 0; n < NODES_MAX_HERE; n++)
      sim_server_own_slots(s->model, ends[n], ends[n + 1] - 1, n);
    (void)snprintf(real_ids[i], 48, "%s",
                   test_server_command(test_cluster_member(real, i), "CLUSTER MYID"));
    say_model(s, "CLUSTER MYID");
    id_take(model_ids[i], sim_connection_output(s->connection, &size));
    sim_connection_sent(s->connection, size);
  }
  open_real(&all[3], test_cluster_member(real, 0));
  all[3].model = all[0].model;
  all[3].connection = sim_server_accept(all[0].model);
  run_cluster_steps(all, real_ids, model_ids);
  (void)close(all[3].fd);
  for (int i = 0; i < NODES_MAX_HERE; i++)
    close_both(&all[i]);
  real = test_cluster_stop(real);
}

/* ---- a primary and its replica ---- */

static void id_of(side_by_side *s, const char *field, char real_id[48], char model_id[48])
{
  /* With the ids in them. */
  char *const said[] = { s->real_said, s->model_said };
  char *const to[] = { real_id, model_id };
  size_t size;
  const char *bytes;
  ssize_t got;

  say_real(s, "INFO replication");
  say_model(s, "INFO replication");
  got = recv(s->fd, s->real_said, TEXT_MAX - 1, 0);
  assert_true(got > 0);
  s->real_said[got] = 0;
  bytes = sim_connection_output(s->connection, &size);
  memcpy(s->model_said, bytes, size);
  s->model_said[size] = 0;
  sim_connection_sent(s->connection, size);
  for (int i = 0; i < 2; i++) {
    const char *at = strstr(said[i], field);

    assert_non_null(at);
    (void)snprintf(to[i], 48, "%.40s", at + strlen(field));
  }
}

TEST(a_primary_and_its_replica_answer_as_the_model)
{
  static const char *const offsets[] = { ":", "master_repl_offset", "second_repl_offset", "slave0",
                                         "slave_repl_offset", "role-", NULL };
  static const char *const past[] = { "master_repl_offset", "second_repl_offset",
                                      "connected_slaves", NULL };
  struct test_set *real = test_set_start(&(struct test_set_options){ .replicas = 1 });
  char before[2][48], after[2][48], second[2][48];
  static side_by_side all[2];

  for (int i = 0; i < 2; i++) {
    open_real(&all[i], test_set_member(real, i));
    open_model(&all[i], "127.0.0.1", test_server_port(test_set_member(real, i)));
  }
  sim_server_follow(all[1].model, all[0].model);
  /* A replica is told of once it has acknowledged something. */
  say_real(&all[0], "WAIT 1 5000");
  hear_real(&all[0], 6000);
  each_line_is_true(&all[0], "ROLE", offsets);
  each_line_is_true(&all[1], "ROLE", offsets);
  each_line_is_true(&all[0], "INFO replication", offsets);
  each_line_is_true(&all[1], "INFO replication", offsets);
  both_say_the_same(&all[0], "SET k v");
  both_say_the_same(&all[1], "SET k v");
  both_say_the_same(&all[1], "WAIT 1 1");
  both_say_the_same(&all[1], "EVAL return{redis.call('SET','a','b')} 0");
  /* It has got it, and the primary has heard so. */
  assert_true(test_set_wait_in_sync(real, 5000));
  sim_server_replicate(all[1].model, sim_server_offset(all[0].model));
  sim_server_acknowledge(all[1].model, sim_server_offset(all[0].model));
  both_say_the_same(&all[0], "WAIT 1 5000");
  both_say_the_same(&all[1], "GET k");
  /* The replica is promoted: a new history, and it knows whose it was. */
  id_of(&all[1], "master_replid:", before[0], before[1]);
  say_real(&all[1], "REPLICAOF NO ONE");
  hear_real(&all[1], 1000);
  sim_server_promote(all[1].model);
  id_of(&all[1], "master_replid:", after[0], after[1]);
  id_of(&all[1], "master_replid2:", second[0], second[1]);
  for (int i = 0; i < 2; i++) {
    assert_string_not_equal(before[i], after[i]);
    assert_string_equal(before[i], second[i]);
  }
  both_say_the_same(&all[1], "SET k new");
  each_line_is_true(&all[1], "INFO replication", past);
  /* The old one is demoted while somebody waits: told, and thrown out. */
  both_say_the_same(&all[0], "SET k lost");
  say_real(&all[0], "WAIT 5 0");
  say_model(&all[0], "WAIT 5 0");
  test_demote(test_set_member(real, 0), test_set_member(real, 1));
  sim_server_follow(all[0].model, all[1].model);
  hear_real(&all[0], 3000);
  hear_model(&all[0]);
  assert_string_equal(all[0].real_said, all[0].model_said);
  assert_true(sim_connection_is_closed(all[0].connection));
  for (int i = 0; i < 2; i++)
    close_both(&all[i]);
  real = test_set_stop(real);
}

/* ---- a sentinel ---- */

TEST(a_sentinel_answers_as_the_model)
{
  static const char *const same[] = {
    "PING", "SENTINEL GET-MASTER-ADDR-BY-NAME service", "SENTINEL GET-MASTER-ADDR-BY-NAME other",
    "SENTINEL MASTER other", "SENTINEL SENTINELS other", "SENTINEL MASTER",
    "ROLE", "GET k", "SELECT 0", "TIME", "CONFIG GET maxmemory", "EVAL return{1} 0",
    "CLIENT SETNAME me", "PUBLISH +switch-master x", "SUBSCRIBE +switch-master", "PING",
    "SENTINEL MASTER service", "UNSUBSCRIBE"
  };
  static const char *const no_ids[] = { ":", "xx", NULL };
  struct test_set *set = test_set_start(&(struct test_set_options){ .replicas = 1 });
  struct test_sentinels *real = test_sentinels_start(set, NULL);
  static side_by_side one;

  open_real(&one, test_sentinel(real, 0));
  open_model(&one, "127.0.0.1", test_server_port(test_sentinel(real, 0)));
  sim_sentinel_watch(one.model, "service", "127.0.0.1",
                     test_server_port(test_set_member(set, 0)), 2, 1000);
  for (int i = 1; i < 3; i++)
    sim_sentinel_meet(one.model, "127.0.0.1", test_server_port(test_sentinel(real, i)));
  for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
    both_say_the_same(&one, same[i]);
  each_line_is_true(&one, "SENTINEL MASTER service", no_ids);
  each_line_is_true(&one, "SENTINEL SENTINELS service", no_ids);
  close_both(&one);
  real = test_sentinels_stop(real);
  set = test_set_stop(set);
}

RUN_TESTS(NULL, NULL)
