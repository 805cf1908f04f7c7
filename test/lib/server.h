/* SPDX-License-Identifier: MIT */
/* test/lib/server.h - throw-away real servers for tests.
 *
 * Each has a directory of its own, /tmp/dibs-test-<pid>-XXXXXX, a unix socket in it and a
 * free loopback TCP port, both in use at once. A server dies with the thread that started
 * it, also when the test is killed by SIGKILL (start servers from the main thread); its
 * directory then goes with the next test that starts a server. DIBS_SERVER chooses
 * another server program for a whole test run.
 *
 * Whatever goes wrong in here ends the test program with a TAP "Bail out!" line, so the
 * functions have no error answers. Not thread-safe, except test_server_command(). */
#ifndef TEST_SERVER_H
#define TEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct test_authority;            /* authority.h */
struct test_server;

/* What a TLS server shows; signed by its authority. */
enum test_certificate {
  TEST_CERTIFICATE_GOOD,          /* localhost, 127.0.0.1, ::1, the hosts of partition.h */
  TEST_CERTIFICATE_WRONG_HOST,    /* elsewhere.example */
  TEST_CERTIFICATE_EXPIRED,
  TEST_CERTIFICATE_FOREIGN,       /* good, but signed by the foreign authority */
};

enum { TEST_DISK_AS_IT_IS = -1 };

/* Zero in a field: the default. */
struct test_server_options {
  const char *const *arguments;  /* more of the server's own, NULL at the end; they come
                                    last and so win over ours */
  const char *password;          /* --requirepass; test_server_command() then uses it */
  const char *user;              /* with `password`: a user of this name may do everything,
                                    and there is no other; each start makes it anew */
  bool has_tls;                  /* the TCP port speaks TLS only; the socket does not */
  bool wants_client_certificate; /* with has_tls: refuses clients without one */
  bool has_cluster;              /* --cluster-enabled yes; bus on port + 10000 */
  bool is_sentinel;              /* runs as Sentinel, by sentinel.conf in its directory */
  bool has_clock;                /* its wall clock obeys test_server_clock_...() */
  bool can_lose_power;           /* test_server_lose_power() may be called */
  bool keeps_configuration;      /* runs by server.conf in its directory: CONFIG REWRITE
                                    works, and counts after a restart */
  const struct test_authority *authority;  /* with has_tls; NULL: one of its own */
  enum test_certificate certificate;       /* with has_tls */
  const char *address;           /* where its port is; 127.0.0.1. Outlives the server */
  int network;                   /* descriptor of the network namespace it runs in, to be
                                    had from partition.h; 0: the test's own */
};

/* A server that answers PING already. Ended by test_server_stop(), or when the test
 * program ends. */
struct test_server *test_server_start(void);
struct test_server *test_server_start_with(const struct test_server_options *options);

/* Kills it, waits for its end and removes its directory. NULL is allowed. */
struct test_server *test_server_stop(struct test_server *s);

/* ---- where it is: valid until test_server_stop() ---- */

const char *test_server_url(const struct test_server *s);      /* unix:///... */
const char *test_server_unix_url(const struct test_server *s); /* the same */
const char *test_server_tcp_url(const struct test_server *s);  /* redis://127.0.0.1:N or
                                                                  rediss:// */
const char *test_server_socket(const struct test_server *s);   /* the path */
int test_server_port(const struct test_server *s);
const char *test_server_directory(const struct test_server *s);
const char *test_server_log(const struct test_server *s);      /* path of its log */
pid_t test_server_pid(const struct test_server *s);            /* 0 while it is dead */

const char *test_server_address(const struct test_server *s);

/* Files of the authority of a server with has_tls; more of them in authority.h. */
const char *test_server_ca(const struct test_server *s);
const char *test_server_client_certificate(const struct test_server *s);
const char *test_server_client_key(const struct test_server *s);
const char *test_server_foreign_ca(const struct test_server *s);  /* signed nothing here */

/* ---- what can happen to it ---- */

void test_server_kill9(struct test_server *s);     /* dead, and waited for, on return */
/* As kill9, and its append-only files lose what was not synced. Returns how many bytes that
 * was. Needs can_lose_power; test_server_restart(s, true) comes back with the rest. */
int64_t test_server_lose_power(struct test_server *s);
/* What a sync of its files takes from now on: so long instead of what the disk takes (0: no
 * time at all), or TEST_DISK_AS_IT_IS. Needs can_lose_power. Kept over a restart. */
void test_server_disk_takes(struct test_server *s, int ms);
/* The same port, socket and options; answers PING on return. With `keeps_data` a living
 * one saves first (expiry times stay as they are on the server's clock); without, it
 * comes back empty. */
void test_server_restart(struct test_server *s, bool keeps_data);
void test_server_pause(struct test_server *s);     /* SIGSTOP; stopped on return */
void test_server_resume(struct test_server *s);    /* SIGCONT */

/* ---- its wall clock; needs has_clock ----
 *
 * Seen by the server's next look at its clock, without a system call; kept over a restart.
 * The monotonic clocks stay true. Valkey 9 guesses the time between two looks, with the
 * processor's counter: a frozen clock of it creeps by up to 1 ms. */

/* It is so far ahead of the machine's; negative: behind. Not added to an earlier shift. */
void test_server_clock_shift(const struct test_server *s, int64_t ms);
/* It stands still, so many microseconds after 1970, until it is frozen elsewhere or ... */
void test_server_clock_freeze(const struct test_server *s, int64_t us);
/* ... runs again, by the machine's clock and its shift. */
void test_server_clock_thaw(const struct test_server *s);
/* By how much a frozen clock creeps at the most: 0, or 1000 with a server that guesses. */
int64_t test_server_clock_creep_us(const struct test_server *s);

/* ---- looking inside ---- */

/* Runs a command over the unix socket, written as for hiredis ("SET %s %d"), and returns
 * its answer as text: a string as it is, an integer in decimal, "(nil)", an error as the
 * server wrote it ("ERR ..."), an array as "[a, b, [c]]"; "(gone)" when no answer came.
 * Valid until the 32nd later call of the same thread. */
const char *test_server_command(const struct test_server *s, const char *format, ...);
/* The same for commands that are to be answered by an integer; bails out otherwise. */
long long test_server_integer(const struct test_server *s, const char *format, ...);
/* From now on both ask the member that MOVED names, where this one answers that. */
void test_server_follow_moved(struct test_server *s);

#endif
