/* SPDX-License-Identifier: MIT */
/* Unit: drive/dial, drive/transports, drive/loop - how servers are reached, and how a call waits
 * for them, with an engine that a test plays: it says where links shall lead, and hears what became
 * of them. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "drive/drive.h"
#include "drive/internal.h"
#include "failing_heap.h"
#include "names.h"
#include "now.h"

enum { LONG_MS = 10000 };

/* ---- the engine ---- */

struct heard {
  int connected, disconnected;
  dibs_status why;
  char words[256], bytes[64], files[256];
  bool is_resolving;
};

struct engine {
  effect queue[8];
  int first, count;
  struct heard heard[ENGINE_LINKS_MAX];
};

static failing_heap heap;
static struct engine the_engine;
static char last_event[300];

engine *engine_new(const engine_settings *s, instant now)
{
  (void)s;
  (void)now;
  the_engine = (struct engine){ .count = 0 };
  return &the_engine;
}

engine *engine_free(engine *e)
{
  (void)e;
  return NULL;
}

void engine_connected(engine *e, int link, instant now)
{
  (void)now;
  e->heard[link].connected++;
}

void engine_disconnected(engine *e, int link, dibs_status why, const char *words, instant now)
{
  text shown = text_over(e->heard[link].words, sizeof(e->heard[link].words));

  (void)now;
  text_add(&shown, words);
  e->heard[link].disconnected++;
  e->heard[link].why = why;
}

void engine_received(engine *e, int link, const void *bytes, size_t size, instant now)
{
  text shown = text_over(e->heard[link].bytes, sizeof(e->heard[link].bytes));

  (void)now;
  text_add_bytes(&shown, bytes, size);
}

bool engine_next_effect(engine *e, effect *ret)
{
  if (e->first == e->count)
    return false;
  *ret = e->queue[e->first++];
  if (e->first == e->count)
    e->first = e->count = 0;
  return true;
}

const char *engine_output(const engine *e, int link, size_t *ret_size)
{
  (void)e;
  (void)link;
  *ret_size = 0;
  return "";
}

void engine_written(engine *e, int link, size_t size) { (void)e; (void)link; (void)size; }
void engine_files(engine *e, int link, const char *words)
{
  text shown = text_over(e->heard[link].files, sizeof(e->heard[link].files));

  text_add(&shown, words);
}

void engine_resolving(engine *e, int link, bool is_resolving)
{
  e->heard[link].is_resolving = is_resolving;
}

void engine_wall_clock(engine *e, int64_t us, instant now) { (void)e; (void)us; (void)now; }
void engine_tick(engine *e, instant now) { (void)e; (void)now; }
void engine_close(engine *e, instant now) { (void)e; (void)now; }
instant engine_deadline(const engine *e) { (void)e; return INSTANT_NEVER; }
static bool awaits_server;
bool engine_awaits_server(const engine *e) { (void)e; return awaits_server; }
bool engine_is_idle(const engine *e) { (void)e; return false; }

static void effect_heard(void *owner, const effect *e)
{
  text shown = text_over(last_event, sizeof(last_event));

  (void)owner;
  text_add(&shown, e->text);
}

static void forked_heard(void *owner) { (void)owner; }

/* ---- passwords in files ---- */

static _Atomic bool disk_hangs;
static _Atomic int readings;             /* begun */
static char given[16];                   /* the password that was read last */
static int64_t connect_timeout_ms;

static dibs_status disk_read(const memory *m, const char *file, password_place which,
                             char **ret_password, text *why)
{
  (void)file;
  (void)which;
  (void)why;
  readings++;
  while (disk_hangs)
    (void)poll(NULL, 0, 1);
  *ret_password = mem_copy_text(m, "new");
  return *ret_password == NULL ? DIBS_ERR_NO_MEMORY : DIBS_OK;
}

static void password_heard(void *owner, const char *file, password_place which,
                           const char *password)
{
  (void)owner;
  (void)which;
  assert_string_equal(file, "/secret");
  (void)snprintf(given, sizeof(given), "%s", password);
}

/* ---- what is tried, and when ---- */

static struct tried { char digits[64]; int64_t at_ms; int sockets; } tried[32];
static int tried_count;

static int sockets_open(void)
{
  DIR *directory = opendir("/proc/self/fd");
  struct dirent *entry;
  int count = 0;

  while ((entry = readdir(directory)) != NULL) {
    char target[32] = "";
    char path[280];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
    if (readlink(path, target, sizeof(target) - 1) > 0 && strncmp(target, "socket:", 7) == 0)
      count++;
  }
  (void)closedir(directory);
  return count;
}

int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t size)
{
  const struct sockaddr *address = to.__sockaddr__;
  struct tried *t = &tried[tried_count % 32];

  if (address->sa_family != AF_UNIX && tried_count < 32) {
    t->at_ms = test_now_ms();
    t->sockets = sockets_open();
    (void)getnameinfo(address, size, t->digits, sizeof(t->digits), NULL, 0, NI_NUMERICHOST);
    tried_count++;
  }
  return (int)syscall(SYS_connect, fd, address, size);
}

/* ---- servers: sockets that listen ---- */

static int listen_at(const char *digits, int port, int *ret_port)
{
  char number[8];
  struct addrinfo *info;
  struct sockaddr_storage bound;
  socklen_t size = sizeof(bound);
  int fd, on = 1;

  (void)snprintf(number, sizeof(number), "%d", port);
  info = names_address(digits, number);
  fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (fd < 0 || bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, 8) != 0) {
    freeaddrinfo(info);
    return -1;
  }
  freeaddrinfo(info);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&bound, &size), 0);
  *ret_port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                : ((struct sockaddr_in *)&bound)->sin_port);
  return fd;
}

static int accept_one(int listener)
{
  struct pollfd is_there = { .fd = listener, .events = POLLIN };

  assert_int_equal(poll(&is_there, 1, LONG_MS), 1);
  return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

/* ---- the drive ---- */

static server_url place_of(const char *host, int port)
{
  return (server_url){ .transport = SERVER_TCP, .host = (char *)(uintptr_t)host, .port = port };
}

static deployment servers;
static server_url seed;

static dibs_status make(bool has_thread, drive **ret, text *why)
{
  drive_settings s = { .has_thread = has_thread };

  servers.seeds = &seed;
  servers.seed_count = 1;
  s.engine.memory = FAILING_HEAP_AS(memory, &heap);
  s.engine.deployment = &servers;
  s.engine.connect_timeout = SPAN_MS(connect_timeout_ms);
  s.handler.effect = effect_heard;
  s.handler.forked = forked_heard;
  s.handler.password_read = disk_read;
  s.handler.password = password_heard;
  return drive_new(&s, ret, why);
}

static drive *drive_make(bool has_thread)
{
  char words[256];
  text why = text_over(words, sizeof(words));
  drive *d = NULL;

  seed = place_of("first.test", 6380);
  servers.data = (server_url){ .transport = SERVER_TCP };
  assert_int_equal(make(has_thread, &d, &why), DIBS_OK);
  tried_count = 0;
  return d;
}

static drive *drive_unmake(drive *d)
{
  d = drive_free(d);
  assert_int_equal(heap.live, 0);
  return d;
}

static void say(drive *d, effect e)
{
  drive_lock(d);
  if (e.text == NULL)
    e.text = "";
  the_engine.queue[the_engine.count++] = e;
  drive_flush(d);
  drive_unlock(d);
}

static void lead_to(drive *d, int link, const server_url *server)
{
  say(d, (effect){ .kind = EFFECT_CONNECT, .link = link, .server = server });
}

static void turn(drive *d, int ms)
{
  struct pollfd has_news = { .fd = drive_fd(d), .events = POLLIN };
  int64_t left = drive_process(d);

  (void)poll(&has_news, drive_fd(d) < 0 ? 0 : 1, left >= 0 && left < ms ? (int)left : ms);
}

static bool ended(drive *d, int link)
{
  bool so;

  drive_lock(d);
  so = the_engine.heard[link].connected > 0 || the_engine.heard[link].disconnected > 0;
  drive_unlock(d);
  return so;
}

/* How long it took until it was connected, or failed, in milliseconds. */
static int64_t wait_for(drive *d, int link)
{
  int64_t begun = test_now_ms();

  while (!ended(d, link) && test_now_ms() - begun < LONG_MS)
    turn(d, 5);
  assert_true(ended(d, link));
  return test_now_ms() - begun;
}

static int64_t reach(drive *d, int link, const server_url *server)
{
  int64_t took;

  drive_lock(d);
  the_engine.heard[link] = (struct heard){ .connected = 0 };
  drive_unlock(d);
  lead_to(d, link, server);
  took = wait_for(d, link);
  drive_lock(d);
  assert_int_equal(the_engine.heard[link].disconnected, 0);
  assert_int_equal(the_engine.heard[link].connected, 1);
  drive_unlock(d);
  return took;
}

static void wait_for_loss(drive *d, int link)
{
  int64_t until = test_now_ms() + LONG_MS;
  bool is_lost = false;

  while (!is_lost && test_now_ms() < until) {
    turn(d, 5);
    drive_lock(d);
    is_lost = the_engine.heard[link].disconnected > 0;
    drive_unlock(d);
  }
  assert_true(is_lost);
}

static void expect_bytes(drive *d, int link, int peer, const char *bytes)
{
  int64_t until = test_now_ms() + LONG_MS;
  bool is_there = false;

  assert_int_equal(write(peer, bytes, strlen(bytes)), strlen(bytes));
  while (!is_there && test_now_ms() < until) {
    turn(d, 5);
    drive_lock(d);
    is_there = strcmp(the_engine.heard[link].bytes, bytes) == 0;
    drive_unlock(d);
  }
  assert_true(is_there);
}

/* ---- addresses of a name ---- */

TEST(a_dead_first_address_costs_a_quarter_of_a_second)
{
  int port, listener = listen_at("127.0.0.1", 0, &port);
  struct black_hole hole = black_hole_open("127.0.0.2", port);
  server_url server = place_of("half.test", port);
  drive *d = drive_make(false);
  int64_t took;

  names_set("half.test", "127.0.0.2 127.0.0.1");
  took = reach(d, 0, &server);
  assert_in_range(took, 240, 900);
  assert_int_equal(tried_count, 2);
  assert_in_range(tried[1].at_ms - tried[0].at_ms, 249, 600);
  d = drive_unmake(d);
  black_hole_close(&hole);
  (void)close(listener);
}

TEST(a_refused_address_costs_nothing)
{
  int port, listener = listen_at("127.0.0.1", 0, &port);
  server_url server = place_of("refused.test", port);
  drive *d = drive_make(false);
  int64_t best = LONG_MS;

  names_set("refused.test", "127.0.0.3 127.0.0.4 ::1 127.0.0.1");
  for (int i = 0; i < 3; i++) {
    int64_t took = reach(d, 0, &server);

    best = took < best ? took : best;
  }
  assert_in_range(best, 0, 200);
  d = drive_unmake(d);
  (void)close(listener);
}

TEST(the_slower_of_two_is_closed)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), peer;
  struct black_hole holes[2] = { black_hole_open("127.0.0.2", port),
                                 black_hole_open("127.0.0.3", port) };
  server_url server = place_of("last.test", port);
  drive *d = drive_make(false);
  int before = sockets_open();

  names_set("last.test", "127.0.0.2 127.0.0.3 127.0.0.1");
  (void)reach(d, 0, &server);
  assert_int_equal(tried[2].sockets, before + 3);      /* all at the same time */
  assert_int_equal(sockets_open(), before + 1);
  peer = accept_one(listener);
  expect_bytes(d, 0, peer, "+PONG\r\n");
  (void)close(peer);
  d = drive_unmake(d);
  black_hole_close(&holes[0]);
  black_hole_close(&holes[1]);
  (void)close(listener);
}

/* Those in front are given up one by one; never more than eight at once. */
TEST(a_ninth_address_is_reached_with_eight_sockets)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), before;
  struct black_hole holes[9];
  server_url server = place_of("many.test", port);
  drive *d;

  for (int i = 0; i < 9; i++) {
    char digits[16];

    (void)snprintf(digits, sizeof(digits), "127.0.0.%d", 2 + i);
    holes[i] = black_hole_open(digits, port);
  }
  names_set("many.test", "127.0.0.2 127.0.0.3 127.0.0.4 127.0.0.5 127.0.0.6 127.0.0.7 127.0.0.8 "
                         "127.0.0.9 127.0.0.10 127.0.0.1");
  d = drive_make(false);
  before = sockets_open();
  (void)reach(d, 0, &server);
  assert_int_equal(tried_count, 10);
  for (int i = 0; i < 10; i++)
    assert_in_range(tried[i].sockets, 1, before + 8);
  assert_int_equal(tried[9].sockets, before + 8);
  assert_int_equal(sockets_open(), before + 1);
  d = drive_unmake(d);
  for (int i = 0; i < 9; i++)
    black_hole_close(&holes[i]);
  (void)close(listener);
}

TEST(families_are_tried_by_turns)
{
  static const char *const expected[] = { "::1", "127.0.0.3", "::1", "127.0.0.4", "127.0.0.5" };
  int port, listener = listen_at("127.0.0.1", 0, &port);
  server_url server = place_of("both.test", port);
  drive *d;

  (void)close(listener);                               /* nobody is there */
  if (access("/proc/net/if_inet6", F_OK) != 0)
    skip();
  d = drive_make(false);
  names_set("both.test", "::1 ::1 127.0.0.3 127.0.0.4 127.0.0.5");
  lead_to(d, 0, &server);
  (void)wait_for(d, 0);
  assert_int_equal(the_engine.heard[0].disconnected, 1);
  assert_int_equal(the_engine.heard[0].why, DIBS_ERR_UNREACHABLE);
  assert_non_null(strstr(the_engine.heard[0].words, "redis://both.test:"));
  assert_non_null(strstr(the_engine.heard[0].words, "(127.0.0.5:"));
  assert_non_null(strstr(the_engine.heard[0].words, "Connection refused"));
  assert_int_equal(tried_count, 5);
  for (int i = 0; i < 5; i++)
    assert_string_equal(tried[i].digits, expected[i]);
  d = drive_unmake(d);
}

TEST(an_ipv6_address_is_reached)
{
  int port, listener = listen_at("::1", 0, &port), peer;
  server_url server = place_of("::1", port);
  char shown[64];
  drive *d;

  if (listener < 0)
    skip();
  d = drive_make(false);
  (void)reach(d, 0, &server);
  peer = accept_one(listener);
  expect_bytes(d, 0, peer, "six");
  (void)snprintf(shown, sizeof(shown), "redis://[::1]:%d/0", port);
  assert_string_equal(drive_node(d), shown);
  (void)close(peer);
  d = drive_unmake(d);
  (void)close(listener);
}

TEST(a_link_given_up_meanwhile_leaves_nothing)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), before;
  struct black_hole hole = black_hole_open("127.0.0.2", port);
  server_url server = place_of("gone.test", port);
  drive *d = drive_make(false);

  names_set("gone.test", "127.0.0.2 127.0.0.2 127.0.0.1");
  before = sockets_open();
  lead_to(d, 0, &server);
  while (tried_count < 2)
    turn(d, 5);
  say(d, (effect){ .kind = EFFECT_DISCONNECT, .link = 0 });
  assert_int_equal(sockets_open(), before);
  for (int i = 0; i < 40; i++)
    turn(d, 10);                                       /* past the time of the third */
  assert_int_equal(tried_count, 2);
  assert_false(ended(d, 0));
  d = drive_unmake(d);
  black_hole_close(&hole);
  (void)close(listener);
}

/* ---- names ---- */

TEST(a_name_is_asked_for_at_each_connect)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), peer, other_port;
  int other = listen_at("127.0.0.2", port, &other_port), asked;
  server_url server = place_of("moves.test", port);
  drive *d = drive_make(true);

  names_set("moves.test", "127.0.0.1 127.0.0.2");
  asked = names_asked("moves.test");
  (void)reach(d, 0, &server);
  peer = accept_one(listener);
  names_set("moves.test", "127.0.0.2 127.0.0.1");
  expect_bytes(d, 0, peer, "still here");              /* a healthy connection stays */
  assert_int_equal(names_asked("moves.test"), asked + 1);
  (void)close(peer);
  wait_for_loss(d, 0);
  (void)reach(d, 0, &server);
  peer = accept_one(other);
  assert_int_equal(names_asked("moves.test"), asked + 2);
  (void)close(peer);
  d = drive_unmake(d);
  (void)close(other);
  (void)close(listener);
}

TEST(a_slow_resolver_holds_up_nobody_else)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), peer;
  server_url digits = place_of("127.0.0.1", port), slow = place_of("slow.test", port);
  drive *d = drive_make(true);

  names_set("slow.test", "127.0.0.1");
  (void)reach(d, 0, &digits);
  peer = accept_one(listener);
  names_hold(true);
  lead_to(d, 1, &slow);
  while (names_waiting() == 0)
    turn(d, 5);
  expect_bytes(d, 0, peer, "quick");
  assert_false(ended(d, 1));
  names_hold(false);
  (void)wait_for(d, 1);
  assert_int_equal(the_engine.heard[1].connected, 1);
  names_hold(true);                                    /* and one that ends amid a question */
  lead_to(d, 1, &slow);
  while (names_waiting() == 0)
    turn(d, 5);
  d = drive_unmake(d);
  names_hold(false);
  while (names_waiting() > 0)
    (void)poll(NULL, 0, 1);
  (void)close(peer);
  (void)close(listener);
}

/* The program in the child may have another file there when it closes the client. */
TEST(a_child_has_no_descriptor_of_a_name_that_is_asked_for)
{
  server_url slow = place_of("forked.test", 1);
  drive *d = drive_make(true);
  int fd, status;
  pid_t child;

  names_set("forked.test", "127.0.0.1");
  names_hold(true);
  lead_to(d, 0, &slow);
  while (names_waiting() == 0)
    turn(d, 5);
  fd = d->resolves->errand.fd;
  assert_true(fcntl(fd, F_GETFD) >= 0);
  child = fork();
  if (child == 0)
    _exit(fcntl(fd, F_GETFD) == -1 ? 0 : 1);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  d = drive_unmake(d);
  names_hold(false);
  while (names_waiting() > 0)
    (void)poll(NULL, 0, 1);
}

static void ask_and_give_up(drive *d, int link, const server_url *server)
{
  int waiting = names_waiting();

  lead_to(d, link, server);
  while (names_waiting() == waiting)
    turn(d, 5);
  assert_true(the_engine.heard[link].is_resolving);
  say(d, (effect){ .kind = EFFECT_DISCONNECT, .link = link });
}

/* Where the first name server is down, each answer takes 5 s: longer than an attempt. */
TEST(the_next_attempt_goes_on_with_the_question)
{
  int port, listener = listen_at("127.0.0.1", 0, &port);
  server_url server = place_of("patient.test", port);
  drive *d = drive_make(true);
  int asked;

  names_set("patient.test", "127.0.0.1");
  asked = names_asked("patient.test");
  names_hold(true);
  ask_and_give_up(d, 0, &server);
  for (int i = 0; i < 3; i++) {
    lead_to(d, 0, &server);
    turn(d, 5);
    assert_int_equal(names_waiting(), 1);
    say(d, (effect){ .kind = EFFECT_DISCONNECT, .link = 0 });
  }
  lead_to(d, 0, &server);
  names_hold(false);
  (void)wait_for(d, 0);
  assert_int_equal(the_engine.heard[0].connected, 1);
  assert_int_equal(names_asked("patient.test"), asked + 1);
  assert_false(the_engine.heard[0].is_resolving);
  d = drive_unmake(d);
  (void)close(listener);
}

static void answer_between_attempts(drive *d, const server_url *server)
{
  names_hold(true);
  ask_and_give_up(d, 0, server);
  names_hold(false);
  for (bool is_kept = false; !is_kept;) {
    turn(d, 5);
    drive_lock(d);
    is_kept = !instant_is_never(d->resolves->answer_until);
    drive_unlock(d);
  }
}

TEST(an_answer_between_two_attempts_is_for_the_next_one)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), asked;
  server_url server = place_of("between.test", port);
  drive *d = drive_make(true);

  names_set("between.test", "127.0.0.1");
  asked = names_asked("between.test");
  answer_between_attempts(d, &server);
  (void)reach(d, 0, &server);
  assert_int_equal(names_asked("between.test"), asked + 1);
  (void)close(accept_one(listener));
  wait_for_loss(d, 0);
  (void)reach(d, 0, &server);                          /* it was used: asked again */
  assert_int_equal(names_asked("between.test"), asked + 2);
  answer_between_attempts(d, &server);
  drive_lock(d);
  d->resolves->answer_until = drive_now();             /* too old */
  drive_unlock(d);
  (void)reach(d, 0, &server);
  assert_int_equal(names_asked("between.test"), asked + 4);
  drive_lock(d);
  assert_null(d->resolves);
  drive_unlock(d);
  d = drive_unmake(d);
  (void)close(listener);
}

/* A search for a primary asks several hosts, each time on other links. */
TEST(a_question_is_for_its_host_on_any_link)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), old, new;
  server_url dead = place_of("dead.test", port), server = place_of("alive.test", port);
  drive *d = drive_make(true);

  names_set("dead.test", "127.0.0.9");
  names_set("alive.test", "127.0.0.1");
  old = names_asked("dead.test");
  new = names_asked("alive.test");
  names_hold(true);
  ask_and_give_up(d, 0, &dead);
  ask_and_give_up(d, 1, &server);
  for (int i = 0; i < 3; i++) {
    lead_to(d, i % 2, &server);
    lead_to(d, 1 - i % 2, &dead);
    turn(d, 5);
    assert_int_equal(names_waiting(), 2);
    say(d, (effect){ .kind = EFFECT_DISCONNECT, .link = 0 });
    say(d, (effect){ .kind = EFFECT_DISCONNECT, .link = 1 });
  }
  lead_to(d, 0, &server);
  names_hold(false);
  (void)wait_for(d, 0);
  assert_int_equal(the_engine.heard[0].connected, 1);
  assert_int_equal(the_engine.heard[1].connected, 0);
  assert_int_equal(names_asked("alive.test"), new + 1);
  d = drive_unmake(d);
  while (names_waiting() > 0)
    (void)poll(NULL, 0, 1);
  assert_in_range(names_asked("dead.test"), old, old + 1);
  (void)close(listener);
}

TEST(an_unknown_name_is_named)
{
  server_url server = place_of("nowhere.test", 6380);
  drive *d = drive_make(true);

  lead_to(d, 3, &server);
  (void)wait_for(d, 3);
  assert_int_equal(the_engine.heard[3].why, DIBS_ERR_UNREACHABLE);
  assert_non_null(strstr(the_engine.heard[3].words, "\"nowhere.test\" cannot be resolved"));
  d = drive_unmake(d);
}

TEST(a_system_that_cannot_ask_for_a_name_says_why)
{
  server_url server = place_of("system.test", 6380);

  names_set("system.test", "!");
  for (int has_thread = 0; has_thread < 2; has_thread++) {
    drive *d = drive_make(has_thread);

    lead_to(d, 3, &server);
    (void)wait_for(d, 3);
    assert_non_null(strstr(the_engine.heard[3].words, "Too many open files in system"));
    d = drive_unmake(d);
  }
}

/* ---- many links ---- */

TEST(each_of_1024_links_has_its_own_bytes)
{
  static const int links[] = { 0, 1023, 1, 255, 256 };
  int port, listener = listen_at("127.0.0.1", 0, &port), peers[5];
  server_url server = place_of("127.0.0.1", port);
  drive *d = drive_make(false);

  for (int i = 0; i < 5; i++) {
    (void)reach(d, links[i], &server);
    peers[i] = accept_one(listener);
  }
  for (int i = 0; i < 5; i++) {
    char bytes[16];

    (void)snprintf(bytes, sizeof(bytes), "for %d", links[i]);
    expect_bytes(d, links[i], peers[i], bytes);
  }
  for (int i = 0; i < 5; i++) {
    char bytes[16];

    (void)snprintf(bytes, sizeof(bytes), "for %d", links[i]);
    assert_string_equal(the_engine.heard[links[i]].bytes, bytes);
    (void)close(peers[i]);
  }
  for (int i = 0; i < 5; i++)
    wait_for_loss(d, links[i]);
  assert_int_equal(the_engine.heard[2].disconnected, 0);
  d = drive_unmake(d);
  (void)close(listener);
}

TEST(a_link_may_lead_elsewhere)
{
  int ports[2], listeners[2] = { listen_at("127.0.0.1", 0, &ports[0]),
                                 listen_at("127.0.0.1", 0, &ports[1]) }, peers[2];
  server_url server;
  drive *d = drive_make(false);
  char shown[64], nothing[8];

  for (int i = 0; i < 2; i++) {
    char host[] = "127.0.0.1";

    server = place_of(host, ports[i]);
    (void)reach(d, 7, &server);
    memset(host, 'x', sizeof(host) - 1);               /* what was told may go */
    peers[i] = accept_one(listeners[i]);
    expect_bytes(d, 7, peers[i], i == 0 ? "old" : "new");
    (void)snprintf(shown, sizeof(shown), "redis://127.0.0.1:%d/0", ports[i]);
    say(d, (effect){ .kind = EFFECT_EVENT, .event = DIBS_EVENT_CONNECTED });
    assert_string_equal(last_event, shown);
  }
  assert_int_equal(recv(peers[0], nothing, sizeof(nothing), 0), 0);       /* closed */
  say(d, (effect){ .kind = EFFECT_EVENT, .event = DIBS_EVENT_CONNECTED, .text = "b, c" });
  assert_string_equal(last_event, "b, c");             /* what the engine says goes */
  d = drive_unmake(d);
  for (int i = 0; i < 2; i++) {
    (void)close(peers[i]);
    (void)close(listeners[i]);
  }
}

TEST(the_node_is_the_last_that_answered_or_failed)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), peer, dead_port;
  int dead = listen_at("127.0.0.1", 0, &dead_port);
  struct black_hole hole = black_hole_open("127.0.0.2", port);
  server_url server = place_of("127.0.0.1", port), gone = place_of("127.0.0.1", dead_port),
             silent = place_of("127.0.0.2", port);
  drive *d = drive_make(false);
  char shown[64], shown_gone[64];

  (void)close(dead);
  (void)snprintf(shown, sizeof(shown), "redis://127.0.0.1:%d/0", port);
  (void)snprintf(shown_gone, sizeof(shown_gone), "redis://127.0.0.1:%d/0", dead_port);
  assert_string_equal(drive_node(d), "redis://first.test:6380/0");
  (void)reach(d, 0, &server);
  peer = accept_one(listener);
  lead_to(d, 1, &gone);
  (void)wait_for(d, 1);
  assert_string_equal(drive_node(d), shown_gone);
  expect_bytes(d, 0, peer, "+OK");
  assert_string_equal(drive_node(d), shown);
  lead_to(d, 0, &silent);                              /* nothing is known of it yet */
  assert_string_equal(drive_node(d), shown);
  say(d, (effect){ .kind = EFFECT_DISCONNECT, .link = 0 });      /* the engine gave it up */
  assert_non_null(strstr(drive_node(d), "127.0.0.2"));
  (void)close(peer);
  d = drive_unmake(d);
  black_hole_close(&hole);
  (void)close(listener);
}

/* ---- faults ---- */

TEST(a_socket_file_that_is_missing_is_named)
{
  server_url server = { .transport = SERVER_UNIX,
                        .path = (char *)(uintptr_t)"/nonexistent/dibs.sock" };
  drive *d = drive_make(false);

  lead_to(d, 0, &server);
  (void)wait_for(d, 0);
  assert_int_equal(the_engine.heard[0].why, DIBS_ERR_UNREACHABLE);
  assert_non_null(strstr(the_engine.heard[0].words, "/nonexistent/dibs.sock"));
  d = drive_unmake(d);
}

/* A full server does it, and one that is being restarted behind a proxy: waiting calls go on. */
TEST(a_server_that_hangs_up_in_the_handshake_is_unreachable)
{
  int port, listener = listen_at("127.0.0.1", 0, &port);
  server_url server = place_of("127.0.0.1", port);
  drive *d = drive_make(false);

  server.transport = SERVER_TLS;
  lead_to(d, 0, &server);
  turn(d, 5);
  (void)close(accept_one(listener));
  (void)wait_for(d, 0);
  assert_int_equal(the_engine.heard[0].why, DIBS_ERR_UNREACHABLE);
  assert_non_null(strstr(the_engine.heard[0].words, "no TLS session with "));
  d = drive_unmake(d);
  (void)close(listener);
}

TEST(refused_memory_is_told_to_the_engine)
{
  int port, listener = listen_at("127.0.0.1", 0, &port);
  server_url server = place_of("127.0.0.1", port);
  drive *d = drive_make(false);

  for (size_t i = 1; i <= 3; i++) {                    /* the transport, host, name */
    heap.fail_at = heap.asked + (i == 1 ? 1 : i - 1);
    lead_to(d, 9, &server);
    heap.fail_at = 0;
    assert_int_equal(the_engine.heard[9].disconnected, (int)i);
    assert_int_equal(the_engine.heard[9].why, DIBS_ERR_NO_MEMORY);
  }
  (void)reach(d, 9, &server);
  d = drive_unmake(d);
  (void)close(listener);
}

TEST(unusable_certificates_are_told_at_once)
{
  server_url *const places[] = { &seed, &servers.data };
  char words[256];
  drive *d = NULL;

  for (int i = 0; i < 2; i++) {
    text why = text_over(words, sizeof(words));

    seed = place_of("127.0.0.1", 6380);
    servers.data = (server_url){ .transport = SERVER_TCP };
    places[i]->transport = SERVER_TLS;
    places[i]->ca_file = (char *)(uintptr_t)"/nonexistent/ca.pem";
    assert_int_equal(make(false, &d, &why), DIBS_ERR_TLS);
    assert_non_null(strstr(words, "/nonexistent/ca.pem"));
    assert_null(d);
    assert_int_equal(heap.live, 0);
  }
}

TEST(certificates_of_a_server_found_later_are_told_to_the_engine)
{
  server_url server = place_of("127.0.0.1", 6380);
  drive *d = drive_make(false);

  server.transport = SERVER_TLS;
  server.ca_file = (char *)(uintptr_t)"/nonexistent/ca.pem";
  lead_to(d, 0, &server);
  assert_int_equal(the_engine.heard[0].why, DIBS_ERR_TLS);
  assert_non_null(strstr(the_engine.heard[0].words, "/nonexistent/ca.pem"));
  assert_string_equal(drive_node(d), "rediss://127.0.0.1:6380/0");
  d = drive_unmake(d);
}

/* ---- what a server refused is read again ---- */

static drive *drive_make_with_disk(int64_t timeout_ms)
{
  connect_timeout_ms = timeout_ms;
  disk_hangs = true;
  readings = 0;
  given[0] = '\0';
  return drive_make(true);
}

static void refused(drive *d, int link, const server_url *server)
{
  the_engine.heard[link] = (struct heard){ .connected = 0 };
  say(d, (effect){ .kind = EFFECT_CONNECT, .link = link, .server = server,
                   .status = DIBS_ERR_AUTH });
}

/* Another thread may be giving it. */
static bool is_given(drive *d, const char *password)
{
  bool is_it;

  drive_lock(d);
  is_it = strcmp(given, password) == 0;
  drive_unlock(d);
  return is_it;
}

static void has_the_new_one(drive *d)
{
  while (is_given(d, ""))
    turn(d, 5);
  assert_true(is_given(d, "new"));
}

TEST(a_slow_disk_holds_up_nobody_else)
{
  int port, listener = listen_at("127.0.0.1", 0, &port), peer;
  server_url quick = place_of("127.0.0.1", port), secret = place_of("127.0.0.1", port);
  drive *d = drive_make_with_disk(100 * LONG_MS);

  secret.password_file = (char *)(uintptr_t)"/secret";
  (void)reach(d, 0, &quick);
  peer = accept_one(listener);
  refused(d, 1, &secret);
  expect_bytes(d, 0, peer, "quick");
  assert_false(ended(d, 1));
  disk_hangs = false;
  (void)wait_for(d, 1);
  assert_int_equal(the_engine.heard[1].connected, 1);
  assert_string_equal(the_engine.heard[1].files, "password from \"/secret\"");
  has_the_new_one(d);
  d = drive_unmake(d);
  (void)close(peer);
  (void)close(listener);
}

TEST(a_disk_that_hangs_is_not_awaited_and_asked_once)
{
  int port, listener = listen_at("127.0.0.1", 0, &port);
  server_url secret = place_of("127.0.0.1", port);
  drive *d = drive_make_with_disk(200);

  secret.password_file = (char *)(uintptr_t)"/secret";
  for (int i = 0; i < 3; i++) {
    refused(d, 0, &secret);
    (void)wait_for(d, 0);
    assert_int_equal(the_engine.heard[0].connected, 1);
    assert_non_null(strstr(the_engine.heard[0].files, "/secret"));
    assert_true(is_given(d, ""));
  }
  assert_int_equal(readings, 1);
  disk_hangs = false;
  has_the_new_one(d);                    /* for the next try */
  disk_hangs = true;
  refused(d, 0, &secret);                /* and one that ends while the disk hangs */
  while (readings == 1)
    turn(d, 5);
  d = drive_unmake(d);
  disk_hangs = false;
  (void)close(listener);
}

TEST(without_threads_the_call_reads)
{
  int port, listener = listen_at("127.0.0.1", 0, &port);
  server_url secret = place_of("127.0.0.1", port);
  drive *d;

  connect_timeout_ms = 200;
  disk_hangs = false;
  given[0] = '\0';
  d = drive_make(false);
  secret.password_file = (char *)(uintptr_t)"/secret";
  refused(d, 0, &secret);
  assert_string_equal(given, "new");
  d = drive_unmake(d);
  (void)close(listener);
}

/* ---- one command on a connection of its own ---- */

/* It takes the command and says something now and then, or nothing, until the client hangs up. */
struct slow_peer {
  int listener;
  const char *says;
  bool was_left;              /* within LONG_MS */
};

static void *slow_peer_runs(void *data)
{
  struct slow_peer *p = data;
  int64_t until = test_now_ms() + LONG_MS;
  int fd = accept_one(p->listener);
  ssize_t got = 1;
  char bytes[256];

  while (!p->was_left && test_now_ms() < until) {
    struct pollfd has_news = { .fd = fd, .events = POLLIN };

    (void)send(fd, p->says, strlen(p->says), MSG_NOSIGNAL);
    if (poll(&has_news, 1, 20) == 1)
      got = recv(fd, bytes, sizeof(bytes), 0);
    p->was_left = got <= 0;
  }
  (void)close(fd);
  return NULL;
}

static void on_alarm(int number) { (void)number; }

static void expect_end_in_time(const char *peer_says)
{
  memory m = FAILING_HEAP_AS(memory, &heap);
  struct slow_peer peer = { .says = peer_says };
  int port;
  server_url server;
  resp_reply *reply = NULL;
  buffer command;
  pthread_t thread;
  sigset_t alarms;

  peer.listener = listen_at("127.0.0.1", 0, &port);
  server = place_of("127.0.0.1", port);
  (void)sigemptyset(&alarms);
  (void)sigaddset(&alarms, SIGALRM);
  assert_int_equal(pthread_sigmask(SIG_BLOCK, &alarms, NULL), 0);
  assert_int_equal(pthread_create(&thread, NULL, slow_peer_runs, &peer), 0);
  assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &alarms, NULL), 0);
  buffer_init(&command, &m);
  assert_true(buffer_append(&command, "PING\r\n", 6));
  assert_int_equal(drive_ask_once(&m, &server, &command, SPAN_MS(300), &reply),
                   DIBS_ERR_UNREACHABLE);
  buffer_deinit(&command);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(peer.was_left);
  (void)close(peer.listener);
}

TEST(a_reply_that_drips_is_not_awaited_for_longer)
{
  expect_end_in_time(":1");              /* a line without an end */
}

TEST(signals_do_not_prolong_the_wait_for_a_reply)
{
  const struct sigaction with_handler = { .sa_handler = on_alarm };
  const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
  struct sigaction before;

  assert_int_equal(sigaction(SIGALRM, &with_handler, &before), 0);
  assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
  expect_end_in_time("");
  assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

/* ---- a leader spins before it sleeps ---- */

/* A wait in which nothing comes. */
static void lead_in_vain(drive *d, bool for_server)
{
  awaits_server = for_server;
  drive_lock(d);
  loop_lead(d, drive_now());
  drive_unlock(d);
  awaits_server = false;
}

static bool has_spun(const spin_history *h)
{
  return h->failures > 0;
}

TEST(waits_for_grants_spin_too_by_a_history_of_their_own)
{
  drive *d = drive_make(false);
  bool may_spin = spinner_enters();      /* not with one processor */

  if (may_spin)
    spinner_leaves();
  lead_in_vain(d, false);
  assert_int_equal(has_spun(&d->grant_spins), may_spin);
  assert_false(has_spun(&d->reply_spins));
  lead_in_vain(d, true);
  assert_int_equal(has_spun(&d->reply_spins), may_spin);
  d = drive_unmake(d);
}

RUN_TESTS(NULL, NULL)
