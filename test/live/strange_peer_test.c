/* SPDX-License-Identifier: MIT */
/* test/live/strange_peer_test.c - peers that are no Redis, or a mad one: every call ends in
 * time with DIBS_ERR_PROTOCOL, and memory stays small. The peer is a thread of this test. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live.h"

/* What it says to every connection: first `once`, then `again` for as long as it is taken,
 * up to `limit` bytes. */
struct speech {
  const char *once, *again;
  size_t limit;
  bool speaks_first;      /* else it waits for the first bytes */
};

/* A peer whose test failed before peer_stop() lives on beside the next one, with a socket and a
 * speech of its own. */
struct peer {
  int listener;
  struct speech speech;
};

static struct peer *peer;
static int port;
static pthread_t thread;

static bool say(int fd, const char *words)
{
  size_t size = strlen(words);

  while (size > 0) {
    ssize_t sent = send(fd, words, size, MSG_NOSIGNAL);

    if (sent <= 0)
      return false;
    words += sent;
    size -= (size_t)sent;
  }
  return true;
}

static void serve(int fd, const struct speech *speech)
{
  char bytes[4096];

  if (!speech->speaks_first && recv(fd, bytes, sizeof(bytes), 0) <= 0)
    return;
  if (!say(fd, speech->once))
    return;
  for (size_t said = 0; speech->again != NULL && said < speech->limit;
       said += strlen(speech->again))
    if (!say(fd, speech->again))
      return;
  while (recv(fd, bytes, sizeof(bytes), 0) > 0)
    ;
}

static void *accept_all(void *data)
{
  const struct peer *p = data;

  for (;;) {
    int fd = accept(p->listener, NULL, NULL);

    if (fd < 0)
      return NULL;
    serve(fd, &p->speech);
    (void)close(fd);
  }
}

static void peer_start(struct speech s)
{
  struct sockaddr_in address = { .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t size = sizeof(address);

  peer = malloc(sizeof(*peer));
  assert_non_null(peer);
  peer->speech = s;
  peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(peer->listener >= 0);
  assert_int_equal(bind(peer->listener, (struct sockaddr *)&address, size), 0);
  assert_int_equal(listen(peer->listener, 16), 0);
  assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&address, &size), 0);
  port = ntohs(address.sin_port);
  assert_int_equal(pthread_create(&thread, NULL, accept_all, peer), 0);
}

static void peer_stop(void)
{
  (void)shutdown(peer->listener, SHUT_RDWR);
  assert_int_equal(pthread_join(thread, NULL), 0);
  (void)close(peer->listener);
  free(peer);
}

static long peak_kb(void)
{
  struct rusage used;

  (void)getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

static void expect_protocol_fault(struct speech s)
{
  dibs_lock_options o = live_lock_options(5000, 2000);
  dibs_options options = live_options();
  dibs_client *client;
  dibs_hold *hold = NULL;
  char url[64];
  int64_t begun;
  long before;

  peer_start(s);
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d", port);
  options.connect_timeout_ms = 3000;     /* megabytes are read under a sanitizer, too */
  client = live_open_with(url, &options);
  before = peak_kb();
  begun = live_now_ms();
  live_expect(client, dibs_try_lock(client, "strange", NULL, &hold), DIBS_ERR_PROTOCOL);
  live_expect(client, dibs_lock(client, "strange", &o, &hold), DIBS_ERR_PROTOCOL);
  live_expect(client, dibs_ping(client, 2000, NULL), DIBS_ERR_PROTOCOL);
  assert_null(hold);
  assert_true(live_now_ms() - begun < 9000);
  assert_true(peak_kb() - before < 96 * 1024);
  client = dibs_close(client);
  peer_stop();
}

TEST(a_web_server_is_no_server)
{
  expect_protocol_fault((struct speech){
    .once = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
            "<html><body>Bad Request</body></html>\r\n" });
}

TEST(a_mail_server_that_speaks_first_is_no_server)
{
  expect_protocol_fault((struct speech){ .once = "220 mail.example ESMTP\r\n",
                                         .speaks_first = true });
}

TEST(a_shell_server_that_speaks_first_is_no_server)
{
  expect_protocol_fault((struct speech){ .once = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
                                         .speaks_first = true });
}

TEST(an_endless_string_is_refused)
{
  static char block[65537];

  memset(block, 'x', sizeof(block) - 1);
  expect_protocol_fault((struct speech){ .once = "$2000000000\r\n", .again = block,
                                         .limit = (size_t)1 << 30 });
}

TEST(an_endless_line_is_refused)
{
  static char block[65537];

  memset(block, 'x', sizeof(block) - 1);
  expect_protocol_fault((struct speech){ .once = "+", .again = block,
                                         .limit = (size_t)1 << 30 });
}

TEST(a_giant_array_is_refused)
{
  expect_protocol_fault((struct speech){ .once = "*100000000\r\n",
                                         .again = ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
                                         .limit = (size_t)1 << 29 });
}

TEST(a_deeply_nested_array_is_refused)
{
  expect_protocol_fault((struct speech){ .once = "*1\r\n", .again = "*1\r\n*1\r\n*1\r\n*1\r\n",
                                         .limit = (size_t)1 << 20 });
}

TEST(negative_and_overflowing_sizes_are_refused)
{
  static const char *const answers[] = { "$-2\r\n", "*-7\r\n", "$99999999999999999999\r\n",
                                         "*99999999999999999999\r\n", "$1x\r\n", ":\r\n" };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
    expect_protocol_fault((struct speech){ .once = answers[i] });
}

/* ---- not even that ---- */

TEST(a_silent_peer_is_unreachable_in_time)
{
  dibs_lock_options o = live_lock_options(5000, 0);
  dibs_client *client;
  dibs_hold *hold = NULL;
  int64_t begun;
  char url[64];

  peer_start((struct speech){ .once = "" });
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d", port);
  client = live_open(url);
  begun = live_now_ms();
  live_expect(client, dibs_lock(client, "silent", &o, &hold), DIBS_ERR_UNREACHABLE);
  assert_true(live_now_ms() - begun < 1000 + 550);
  client = dibs_close(client);
  peer_stop();
}

TEST(a_peer_that_hangs_up_is_unreachable_in_time)
{
  dibs_lock_options o = live_lock_options(5000, 0);
  dibs_client *client;
  dibs_hold *hold = NULL;
  int64_t begun;
  char url[64];

  peer_start((struct speech){ .once = "" });
  peer_stop();
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d", port);
  client = live_open(url);
  begun = live_now_ms();
  live_expect(client, dibs_lock(client, "nobody", &o, &hold), DIBS_ERR_UNREACHABLE);
  live_expect_words(client, "efused");
  assert_true(live_now_ms() - begun < 1000 + 550);
  client = dibs_close(client);
}

RUN_TESTS(NULL, NULL)
