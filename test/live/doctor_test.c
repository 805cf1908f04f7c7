/* SPDX-License-Identifier: MIT */
/* test/live/doctor_test.c - servers with bad settings, and what dibs_examine() says of each. */
#include "tests.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deployment.h"
#include "live.h"
#include "proxy.h"

enum { FINDINGS_MAX = 128, SOCKETS = 40 };

struct seen { dibs_finding_grade grade; char check[24], node[80], text[512], advice[256]; };

static struct seen findings[FINDINGS_MAX];
static size_t finding_count, stop_behind;
static dibs_server_numbers numbers;          /* of the last server */
static const struct test_server *stepped;    /* whose clock moves once it was looked at */

static bool take(const dibs_finding *f, void *data)
{
  struct seen *s = &findings[finding_count];

  (void)data;
  assert_true(finding_count < FINDINGS_MAX);
  assert_int_equal(f->size, sizeof(*f));
  s->grade = f->grade;
  (void)snprintf(s->check, sizeof(s->check), "%s", f->check);
  (void)snprintf(s->node, sizeof(s->node), "%s", f->node);
  (void)snprintf(s->text, sizeof(s->text), "%s", f->text);
  (void)snprintf(s->advice, sizeof(s->advice), "%s", f->advice);
  assert_true(f->node[0] != 0);
  assert_true(f->text[0] != 0);
  assert_true((f->numbers != NULL) == (strcmp(f->check, "activity") == 0));
  if (f->numbers != NULL)
    numbers = *f->numbers;
  assert_true(strlen(f->text) < 2 || strcmp(f->text + strlen(f->text) - 2, ": ") != 0);
  assert_true((f->advice[0] == 0) == (f->grade == DIBS_FINDING_PASS));
  finding_count++;
  if (stepped != NULL && strcmp(f->check, "clock") == 0)
    test_server_clock_shift(stepped, 1500);
  return finding_count != stop_behind;
}

static void examine_url_as(const char *url, dibs_status expected)
{
  dibs_client *c = live_open(url);

  finding_count = 0;
  live_expect(c, dibs_examine(c, take, NULL), expected);
  c = dibs_close(c);
}

static void examine(const struct test_server *s)
{
  examine_url_as(test_server_url(s), DIBS_OK);
}

static void show_all(void)
{
  for (size_t i = 0; i < finding_count; i++)
    (void)fprintf(stderr, "# %s %d %s: %s\n", findings[i].node, (int)findings[i].grade,
                  findings[i].check, findings[i].text);
}

/* One of that name has this grade, and says so; `node`: of this server, or NULL. */
static void expect_at(const char *node, const char *check, dibs_finding_grade grade,
                      const char *words)
{
  for (size_t i = 0; i < finding_count; i++)
    if (strcmp(findings[i].check, check) == 0 && findings[i].grade == grade &&
        (node == NULL || strstr(findings[i].node, node) == findings[i].node) &&
        strstr(findings[i].text, words) != NULL)
      return;
  show_all();
  fail_msg("no finding %s of grade %d with \"%s\"", check, (int)grade, words);
}

static void expect(const char *check, dibs_finding_grade grade, const char *words)
{
  expect_at(NULL, check, grade, words);
}

static void expect_none(const char *check, dibs_finding_grade grade)
{
  for (size_t i = 0; i < finding_count; i++)
    if (strcmp(findings[i].check, check) == 0 && findings[i].grade == grade)
      fail_msg("%s: %s", check, findings[i].text);
}

static void expect_advice(const char *check, const char *words)
{
  for (size_t i = 0; i < finding_count; i++)
    if (strcmp(findings[i].check, check) == 0 && strstr(findings[i].advice, words) != NULL)
      return;
  show_all();
  fail_msg("no finding %s with the advice \"%s\"", check, words);
}

static void set(const struct test_server *s, const char *name, const char *value)
{
  assert_string_equal(test_server_command(s, "CONFIG SET %s %s", name, value), "OK");
}

/* Before 7.0 there is no ACL DRYRUN: whether a user may SUBSCRIBE stays open. */
static bool can_ask_for_rights(const struct test_server *s)
{
  return test_server_knows(s, "acl|dryrun");
}

static dibs_finding_grade subscribe_is(const struct test_server *s,
                                        dibs_finding_grade grade)
{
  return can_ask_for_rights(s) ? grade : DIBS_FINDING_UNKNOWN;
}

static bool is_open_there(const struct seen *f, const struct test_server *s)
{
  return !can_ask_for_rights(s) && f->grade == DIBS_FINDING_UNKNOWN &&
         strcmp(f->check, "channels") == 0 &&
         strstr(f->text, "SUBSCRIBE unknown without ACL DRYRUN") != NULL;
}

/* ---- a good one ---- */

TEST(a_good_server_passes)
{
  static const char *const arguments[] = { "--appendonly", "yes", "--appendfsync", "always",
                                           NULL };
  struct test_server_options o = { .arguments = arguments };
  struct test_server *s = test_server_start_with(&o);

  examine(s);
  for (size_t i = 0; i < finding_count; i++)
    if (findings[i].grade != DIBS_FINDING_PASS &&
        strcmp(findings[i].check, "security") != 0 && !is_open_there(&findings[i], s))
      fail_msg("%s: %s", findings[i].check, findings[i].text);
  expect("latency", DIBS_FINDING_PASS, "round trip");
  expect("persistence", DIBS_FINDING_PASS, "appendfsync=always");
  expect("clock", DIBS_FINDING_PASS, "offset");
  expect("scripts", DIBS_FINDING_PASS, "EVALSHA");
  expect("channels", subscribe_is(s, DIBS_FINDING_PASS), "SUBSCRIBE");
  assert_int_equal(test_server_integer(s, "EXISTS dibs:doctor"), 0);
  assert_string_equal(test_server_command(s, "KEYS dibs:doctor*"), "[]");
  s = test_server_stop(s);
}

TEST(it_stops_when_the_callback_has_heard_enough)
{
  struct test_server *s = test_server_start();

  stop_behind = 3;
  examine(s);
  stop_behind = 0;
  assert_int_equal(finding_count, 3);
  s = test_server_stop(s);
}

TEST(no_server_is_a_fault)
{
  examine_url_as("unix:///nowhere/at/all", DIBS_ERR_UNREACHABLE);
  expect("connection", DIBS_FINDING_FAIL, "unix:///nowhere/at/all");
}

TEST(a_slow_server_is_warned_of)
{
  struct test_server *s = test_server_start();
  struct test_proxy *p = test_proxy_start(s);

  test_proxy_delay(p, TEST_TO_SERVER, 60);
  examine_url_as(test_proxy_url(p), DIBS_OK);
  expect("latency", DIBS_FINDING_WARN, "round trip");
  p = test_proxy_stop(p);
  s = test_server_stop(s);
}

/* ---- memory and disk ---- */

TEST(eviction_fails_where_it_can_happen)
{
  struct test_server *s = test_server_start();

  set(s, "maxmemory-policy", "allkeys-lru");
  examine(s);
  expect("eviction", DIBS_FINDING_WARN, "allkeys-lru");
  set(s, "maxmemory", "100mb");
  examine(s);
  expect("eviction", DIBS_FINDING_FAIL, "allkeys-lru");
  set(s, "maxmemory-policy", "noeviction");
  examine(s);
  expect("eviction", DIBS_FINDING_PASS, "noeviction");
  expect("memory", DIBS_FINDING_PASS, "of 104857600");
  s = test_server_stop(s);
}

TEST(a_full_server_fails)
{
  struct test_server *s = test_server_start();

  set(s, "maxmemory", "100kb");
  examine(s);
  expect("memory", DIBS_FINDING_FAIL, "full");
  expect("keys", DIBS_FINDING_FAIL, "OOM");
  s = test_server_stop(s);
}

TEST(a_nearly_full_server_is_warned_of)
{
  struct test_server *s = test_server_start();
  const char *used;
  char limit[32];

  /* Much, so that what clients need beside it does not matter. */
  assert_string_equal(test_server_command(s, "SETRANGE ballast 60000000 x"), "60000001");
  used = strstr(test_server_command(s, "INFO memory"), "used_memory:");
  assert_non_null(used);
  (void)snprintf(limit, sizeof(limit), "%lld", strtoll(used + 12, NULL, 10) / 100 * 105);
  set(s, "maxmemory", limit);
  examine(s);
  expect("memory", DIBS_FINDING_WARN, "nearly full");
  s = test_server_stop(s);
}

TEST(what_a_restart_forgets_is_warned_of)
{
  struct test_server *s = test_server_start();

  examine(s);
  expect("persistence", DIBS_FINDING_WARN, "appendonly=no");
  assert_string_equal(test_server_command(s, "CONFIG SET save %s", "3600 1"), "OK");
  examine(s);
  expect("persistence", DIBS_FINDING_WARN, "snapshots only");
  set(s, "appendonly", "yes");
  set(s, "appendfsync", "no");
  examine(s);
  expect("persistence", DIBS_FINDING_WARN, "appendfsync=no");
  s = test_server_stop(s);
}

static bool has_delayed_a_sync(void *data)
{
  (void)test_server_command(data, "INCR written");
  return strstr(test_server_command(data, "INFO persistence"), "aof_delayed_fsync:0") == NULL;
}

TEST(a_disk_that_is_too_slow_for_a_sync_each_second_is_a_warning)
{
  static const char *const arguments[] = { "--appendonly", "yes", "--appendfsync", "everysec",
                                           NULL };
  struct test_server_options o = { .arguments = arguments, .can_lose_power = true };
  struct test_server *s = test_server_start_with(&o);

  test_server_disk_takes(s, 6000);
  assert_true(live_until(LIVE_LONG_MS, has_delayed_a_sync, s));
  test_server_disk_takes(s, 0);
  examine(s);
  expect("persistence", DIBS_FINDING_WARN, "aof_delayed_fsync");
  s = test_server_stop(s);
}

static bool save_failed(void *server)
{
  return strstr(test_server_command(server, "INFO persistence"), "rdb_last_bgsave_status:err") !=
         NULL;
}

TEST(a_disk_that_cannot_be_written_fails)
{
  static const char *const arguments[] = { "--dbfilename", "taken", NULL };
  struct test_server_options o = { .arguments = arguments };
  struct test_server *s = test_server_start_with(&o);
  char there[160];

  /* A snapshot becomes a file by rename(), which does not replace a folder. */
  (void)snprintf(there, sizeof(there), "%s/taken", test_server_directory(s));
  assert_int_equal(0, mkdir(there, 0700));
  (void)test_server_command(s, "BGSAVE");
  assert_true(live_until(LIVE_LONG_MS, save_failed, s));
  examine(s);
  expect("persistence", DIBS_FINDING_WARN, "snapshot failed");
  assert_string_equal(test_server_command(s, "CONFIG SET save %s", "3600 1"), "OK");
  examine(s);
  expect("persistence", DIBS_FINDING_FAIL, "MISCONF");
  expect("keys", DIBS_FINDING_FAIL, "MISCONF");
  s = test_server_stop(s);
}

/* ---- replicas ---- */

static bool is_replicated(void *server)
{
  return strstr(test_server_command(server, "INFO replication"), "state=online") != NULL;
}

TEST(replicas_that_do_not_bind_the_primary_are_warned_of)
{
  struct test_server *s = test_server_start();
  char port[16];
  const char *const arguments[] = { "--replicaof", "127.0.0.1", port, NULL };
  struct test_server_options o = { .arguments = arguments };
  struct test_server *replica;

  set(s, "repl-diskless-sync-delay", "0");
  (void)snprintf(port, sizeof(port), "%d", test_server_port(s));
  replica = test_server_start_with(&o);
  assert_true(live_until(LIVE_LONG_MS, is_replicated, s));
  examine(s);
  expect("replication", DIBS_FINDING_WARN, "min-replicas-to-write=0");
  set(s, "min-replicas-to-write", "1");
  examine(s);
  expect("replication", DIBS_FINDING_PASS, "min-replicas-to-write=1");
  set(s, "min-replicas-to-write", "2");
  examine(s);
  expect("replication", DIBS_FINDING_FAIL, "min-replicas-to-write=2");
  expect("keys", DIBS_FINDING_FAIL, "NOREPLICAS");
  examine(replica);
  expect("role", DIBS_FINDING_FAIL, "replica");
  replica = test_server_stop(replica);
  s = test_server_stop(s);
}

/* ---- the further addresses of a replicated set ---- */

/* An address at which nothing listens, as long as the socket is open. */
static int deaf_socket(int *ret_port)
{
  struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
  socklen_t size = sizeof(here);
  int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  assert_int_equal(bind(s, (void *)&here, size), 0);
  assert_int_equal(getsockname(s, (void *)&here, &size), 0);
  *ret_port = ntohs(here.sin_port);
  return s;
}

TEST(an_address_that_does_not_answer_is_warned_of)
{
  struct test_server *s = test_server_start();
  char url[160], node[80];
  int port, nothing = deaf_socket(&port);

  (void)snprintf(url, sizeof(url), "%s,127.0.0.1:%d", test_server_tcp_url(s), port);
  examine_url_as(url, DIBS_OK);
  (void)snprintf(node, sizeof(node), "redis://127.0.0.1:%d/0", port);
  expect_at(node, "connection", DIBS_FINDING_WARN, "cannot take over");
  (void)close(nothing);
  s = test_server_stop(s);
}

TEST(two_primaries_in_one_url_fail)
{
  struct test_server *s = test_server_start(), *other = test_server_start();
  char url[160], a[32], b[32];

  (void)snprintf(url, sizeof(url), "%s,127.0.0.1:%d", test_server_tcp_url(s),
                 test_server_port(other));
  examine_url_as(url, DIBS_OK);
  (void)snprintf(a, sizeof(a), ":%d", test_server_port(s));
  (void)snprintf(b, sizeof(b), ":%d", test_server_port(other));
  expect("role", DIBS_FINDING_FAIL, "two primaries");
  expect("role", DIBS_FINDING_FAIL, a);
  expect("role", DIBS_FINDING_FAIL, b);
  (void)snprintf(url, sizeof(url), "%s,localhost:%d", test_server_tcp_url(s),
                 test_server_port(s));
  examine_url_as(url, DIBS_OK);
  expect("role", DIBS_FINDING_PASS, "by another address");
  expect_none("role", DIBS_FINDING_FAIL);
  s = test_server_stop(s);
  other = test_server_stop(other);
}

/* What its primary says of it: an address, and no port that another begins with. */
static void expect_late(const struct test_server *replica)
{
  char words[80];

  (void)snprintf(words, sizeof(words), ":%d has acknowledged nothing for ",
                 test_server_port(replica));
  expect("replication", DIBS_FINDING_WARN, words);
}

static bool is_late(void *primary)
{
  const char *lag = strstr(test_server_command(primary, "INFO replication"), ",lag=");

  return lag != NULL && strtol(lag + 5, NULL, 10) > 3;
}

TEST(a_replica_that_lags_is_warned_of)
{
  struct test_set *set = test_set_start(&(struct test_set_options){ .replicas = 1,
                                                                    .repl_timeout_s = 600 });
  struct test_server *replica = test_set_member(set, 1);

  examine_url_as(test_set_url(set), DIBS_OK);
  expect_at(test_server_tcp_url(replica), "role", DIBS_FINDING_PASS, "replica of 127.0.0.1:");
  test_server_pause(replica);
  assert_true(live_until(LIVE_LONG_MS, is_late, test_set_member(set, 0)));
  examine_url_as(test_set_url(set), DIBS_OK);
  expect_late(replica);
  expect("replication", DIBS_FINDING_WARN, "min-replicas-to-write=0");
  expect_at(test_server_tcp_url(replica), "connection", DIBS_FINDING_WARN, "cannot take over");
  set = test_set_stop(set);
}

TEST(a_replica_that_does_not_follow_the_primary_is_reported)
{
  struct test_set *set = test_set_start(NULL);
  struct test_server *stray = test_server_start(), *other = test_server_start();
  char url[400];
  int port, nothing = deaf_socket(&port);

  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
                 test_server_port(test_set_member(set, 0)),
                 test_server_port(test_set_member(set, 1)),
                 test_server_port(test_set_member(set, 2)), test_server_port(stray));
  assert_string_equal(test_server_command(stray, "REPLICAOF 127.0.0.1 %d", port), "OK");
  examine_url_as(url, DIBS_OK);
  expect_at(test_server_tcp_url(stray), "role", DIBS_FINDING_WARN, "is down");
  test_demote(stray, other);
  assert_true(test_wait_in_sync(other, stray, LIVE_LONG_MS));
  examine_url_as(url, DIBS_OK);
  /* The client asks the stray one for its primary, and on a slow machine may find that first. */
  expect("role", DIBS_FINDING_FAIL, "primar");
  (void)close(nothing);
  stray = test_server_stop(stray);
  other = test_server_stop(other);
  set = test_set_stop(set);
}

/* ---- clocks ---- */

TEST(clocks_that_differ_are_told)
{
  struct test_server_options o = { .has_clock = true };
  struct test_server *s = test_server_start_with(&o);

  test_server_clock_shift(s, -600);
  examine(s);
  expect("clock", DIBS_FINDING_WARN, "a wait longer than its lease takes it");
  expect("clock-step", DIBS_FINDING_PASS, "");
  test_server_clock_shift(s, 5500);
  examine(s);
  expect("clock", DIBS_FINDING_FAIL, "offset to the server +5");
  test_server_clock_shift(s, 0);
  stepped = s;
  examine(s);
  stepped = NULL;
  expect("clock", DIBS_FINDING_PASS, "offset");
  expect("clock-step", DIBS_FINDING_WARN, "moved by +");
  s = test_server_stop(s);
}

/* ---- rights ---- */

static void examine_as(const struct test_server *s, const char *rights)
{
  char url[160], command[512];

  (void)snprintf(command, sizeof(command), "ACL SETUSER some reset on >pw %s", rights);
  assert_string_equal(test_server_command(s, command), "OK");
  (void)snprintf(url, sizeof(url), "unix://some:pw@%s", test_server_socket(s));
  examine_url_as(url, DIBS_OK);
}

TEST(a_missing_command_of_channels_is_named)
{
  static const char *const missing[] = { "PUBLISH", "SUBSCRIBE", "PUBSUB" };

  for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
    const char *const arguments[] = { "--rename-command", missing[i], "", NULL };
    struct test_server_options o = { .arguments = arguments };
    struct test_server *s = test_server_start_with(&o);
    char words[40];

    (void)snprintf(words, sizeof(words), "%s is missing", missing[i]);
    examine(s);
    expect("channels", DIBS_FINDING_WARN, words);
    s = test_server_stop(s);
  }
}

TEST(a_server_without_evalsha_needs_functions)
{
  const char *const arguments[] = { "--rename-command", "EVALSHA", "", NULL };
  struct test_server_options o = { .arguments = arguments };
  struct test_server *s = test_server_start_with(&o);

  examine(s);
  expect("scripts", DIBS_FINDING_FAIL, "unknown command");
  expect_advice("scripts", "functions=yes");
  s = test_server_stop(s);
}

TEST(rights_that_lack_are_named)
{
  struct test_server *s = test_server_start();

  examine_as(s, "~* &* +@all -evalsha");
  expect("scripts", DIBS_FINDING_FAIL, "evalsha");
  examine_as(s, "~dibs:m:* ~dibs:client:* &* +@all");
  expect("keys", DIBS_FINDING_FAIL, "NOPERM");
  examine_as(s, "~* &* +@all -publish");
  expect("channels", DIBS_FINDING_WARN, "PUBLISH");
  examine_as(s, "~* &* +@all -subscribe");
  expect("channels", subscribe_is(s, DIBS_FINDING_WARN), "SUBSCRIBE");
  examine_as(s, "~* &* +@all -pubsub");
  expect("channels", DIBS_FINDING_WARN, "PUBSUB NUMSUB");
  examine_as(s, "~* &* +@all -acl");
  expect("channels", DIBS_FINDING_UNKNOWN, "ACL DRYRUN");
  examine_as(s, "~* &* +@all -config");
  expect("settings", DIBS_FINDING_UNKNOWN, "CONFIG GET");
  examine_as(s, "~* &* +@all -info");
  expect("server", DIBS_FINDING_UNKNOWN, "INFO");
  s = test_server_stop(s);
}

TEST(the_line_for_doctors_leaves_nothing_unknown)
{
  struct test_server *s = test_server_start();
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  char line[DIBS_ACL_LINE_SIZE], url[160];

  o.uses = DIBS_ACL_DOCTOR;
  o.password = "pw";
  assert_int_equal(dibs_acl_line(NULL, &o, line, sizeof(line), NULL), DIBS_OK);
  assert_string_equal(test_server_command(s, line), "OK");
  (void)snprintf(url, sizeof(url), "unix://worker:pw@%s", test_server_socket(s));
  examine_url_as(url, DIBS_OK);
  for (size_t i = 0; i < finding_count; i++)
    if (findings[i].grade == DIBS_FINDING_FAIL ||
        (findings[i].grade == DIBS_FINDING_UNKNOWN &&
         strcmp(findings[i].check, "security") != 0 && !is_open_there(&findings[i], s)))
      fail_msg("%s: %s", findings[i].check, findings[i].text);
  assert_string_equal(test_server_command(s, "ACL LOG"), "[]");
  s = test_server_stop(s);
}

/* ---- settings ---- */

/* Before 7.0 it has the older name only. */
static const char *name_of_busy(const struct test_server *s)
{
  const char *answer = test_server_command(s, "CONFIG GET busy-reply-threshold");

  return strcmp(answer, "[]") == 0 ? "lua-time-limit" : "busy-reply-threshold";
}

TEST(settings_that_hurt_are_warned_of)
{
  struct test_server *s = test_server_start();
  const char *busy = name_of_busy(s);
  char words[40];

  set(s, "timeout", "10");
  set(s, "tcp-keepalive", "0");
  set(s, busy, "0");
  assert_string_equal(test_server_command(s, "CONFIG SET client-output-buffer-limit %s",
                                          "pubsub 1000 1000 1"), "OK");
  examine_url_as(test_server_tcp_url(s), DIBS_OK);
  expect("timeout", DIBS_FINDING_WARN, "timeout=10");
  expect("keepalive", DIBS_FINDING_WARN, "tcp-keepalive=0");
  (void)snprintf(words, sizeof(words), "%s=0", busy);
  expect("busy", DIBS_FINDING_WARN, words);
  expect_advice("busy", busy);
  expect("buffers", DIBS_FINDING_WARN, "pubsub 1000");
  s = test_server_stop(s);
}

TEST(too_many_clients_are_warned_of)
{
  static const char *const arguments[] = { "--maxclients", "44", NULL };
  struct test_server_options o = { .arguments = arguments };
  struct test_server *s = test_server_start_with(&o);
  struct sockaddr_in there = { .sin_family = AF_INET,
                               .sin_addr = { htonl(INADDR_LOOPBACK) } };
  int sockets[SOCKETS];

  there.sin_port = htons((uint16_t)test_server_port(s));
  for (int i = 0; i < SOCKETS; i++) {
    sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(sockets[i], (void *)&there, sizeof(there)), 0);
  }
  examine(s);
  expect("clients", DIBS_FINDING_WARN, "of 44");
  for (int i = 0; i < SOCKETS; i++)
    (void)close(sockets[i]);
  s = test_server_stop(s);
}

/* ---- refused at the door ---- */

/* A server that says this to each connection, and closes it; ended by its pid. */
static pid_t refuser_start(const char *words, int *ret_port)
{
  struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
  socklen_t size = sizeof(here);
  int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), guest;
  pid_t pid;

  assert_int_equal(bind(door, (void *)&here, size), 0);
  assert_int_equal(listen(door, 16), 0);
  assert_int_equal(getsockname(door, (void *)&here, &size), 0);
  *ret_port = ntohs(here.sin_port);
  pid = fork();
  assert_true(pid >= 0);
  while (pid == 0 && (guest = accept(door, NULL, NULL)) >= 0) {
    (void)!write(guest, words, strlen(words));
    (void)shutdown(guest, SHUT_WR);
    (void)close(guest);
  }
  if (pid == 0)
    _exit(0);
  (void)close(door);
  return pid;
}

static void expect_refusal(const char *words, dibs_status status, const char *text,
                           const char *advice)
{
  char url[64];
  int port;
  pid_t pid = refuser_start(words, &port);

  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d?connect_timeout=1s", port);
  examine_url_as(url, status);
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, NULL, 0);
  assert_int_equal(finding_count, 1);
  expect("connection", DIBS_FINDING_FAIL, text);
  expect_advice("connection", advice);
}

TEST(a_server_in_protected_mode_is_one_finding)
{
  expect_refusal("-DENIED Redis is running in protected mode because protected mode is "
                 "enabled\r\n",
                 DIBS_ERR_DENIED, "protected mode", "set protected-mode no");
}

TEST(a_server_with_too_many_clients_is_one_finding)
{
  expect_refusal("-ERR max number of clients reached\r\n", DIBS_ERR_UNREACHABLE,
                 "max number of clients", "raise maxclients");
}

/* ---- what it counts ---- */

TEST(its_own_numbers_are_read)
{
  struct test_server *s = test_server_start();

  set(s, "maxmemory", "100000000");
  assert_string_equal(test_server_command(s, "SET ends soon PX 1"), "OK");
  while (test_server_integer(s, "EXISTS ends") == 1)
    ;
  examine(s);
  expect("activity", DIBS_FINDING_PASS, "no key evicted");
  assert_true(numbers.memory_bytes > 100000);
  assert_int_equal(numbers.memory_max_bytes, 100000000);
  assert_int_equal(numbers.expired_keys, 1);
  assert_int_equal(numbers.evicted_keys, 0);
  assert_true(numbers.script_calls >= 1);           /* of the examination */
  assert_true(numbers.script_us >= 1);
  assert_int_equal(numbers.replicas, 0);
  assert_int_equal(numbers.replica_lag_bytes, 0);
  s = test_server_stop(s);
}

TEST(evicted_keys_are_warned_of)
{
  struct test_server *s = test_server_start();

  set(s, "maxmemory-policy", "allkeys-random");
  for (int i = 0; i < 300; i++)
    assert_int_equal(test_server_integer(s, "SETRANGE key%d 20000 x", i), 20001);
  set(s, "maxmemory", "4000000");
  examine(s);
  expect("activity", DIBS_FINDING_WARN, "keys evicted");
  assert_true(numbers.evicted_keys > 0);
  s = test_server_stop(s);
}

/* ---- cluster ---- */

TEST(a_node_of_a_cluster_is_no_server_by_itself)
{
  struct test_server_options o = { .has_cluster = true };
  struct test_server *s = test_server_start_with(&o);

  set(s, "cluster-node-timeout", "25000");
  examine(s);
  expect("cluster", DIBS_FINDING_FAIL, "node of a cluster");
  expect("cluster", DIBS_FINDING_FAIL, "0 of 16384 slots assigned");
  expect("node-timeout", DIBS_FINDING_WARN, "25000");
  expect("coverage", DIBS_FINDING_WARN, "one dead shard");
  s = test_server_stop(s);
}

TEST(a_server_with_two_votes_in_a_quorum_fails)
{
  struct test_server *s = test_server_start(), *other = test_server_start();
  char url[256];

  (void)snprintf(url, sizeof(url), "%s %s redis://localhost:%d", test_server_tcp_url(s),
                 test_server_tcp_url(other), test_server_port(s));
  examine_url_as(url, DIBS_OK);
  expect("votes", DIBS_FINDING_FAIL, "it has two votes");
  s = test_server_stop(s);
  other = test_server_stop(other);
}

/* Its scripts and writes are refused for that reason, and for no other. */
TEST(a_cluster_that_is_down_is_one_failure)
{
  struct test_server_options o = { .has_cluster = true };
  struct test_server *s = test_server_start_with(&o);
  char url[300];

  test_server_add_slots(s, 8001);
  (void)snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d", test_server_port(s));
  examine_url_as(url, DIBS_OK);
  expect("cluster", DIBS_FINDING_FAIL, "8001 of 16384 slots assigned");
  expect("scripts", DIBS_FINDING_UNKNOWN, "cluster");
  expect("keys", DIBS_FINDING_UNKNOWN, "cluster");
  for (size_t i = 0; i < finding_count; i++)
    assert_true(findings[i].grade != DIBS_FINDING_FAIL ||
                strcmp(findings[i].check, "cluster") == 0);
  s = test_server_stop(s);
}

/* ---- sentinels ---- */

TEST(sentinels_that_act_too_soon_are_warned_of)
{
  struct test_set *set = test_set_start(NULL);
  struct test_sentinels *watch = test_sentinels_start(set, NULL);

  examine_url_as(test_sentinels_url(watch), DIBS_OK);
  expect("sentinel", DIBS_FINDING_PASS, "3 sentinels, quorum 2");
  expect("down-after", DIBS_FINDING_WARN, "down-after-milliseconds=1000");
  assert_int_equal(numbers.replicas, 2);
  assert_true(numbers.replica_lag_bytes >= 0);
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
}

int main(void)
{
  /* This one makes its users itself. */
  (void)unsetenv("DIBS_TEST_ACL");
  return tests_run(NULL, NULL, NULL, NULL);
}
