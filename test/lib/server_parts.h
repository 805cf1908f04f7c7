/* SPDX-License-Identifier: MIT */
/* test/lib/server_parts.h - what the files of the server support tell each other. */
#ifndef TEST_SERVER_PARTS_H
#define TEST_SERVER_PARTS_H

#include <stdarg.h>

#include "authority.h"
#include "server.h"

struct redisContext;
struct redisReply;

struct clock_shim;
struct sync_shim;

struct test_server {
  struct test_server_options options;
  struct test_server *next;      /* all living ones of this process */
  pid_t owner;                   /* the process that started it */
  pid_t pid;                     /* 0 while dead */
  bool is_paused;
  bool has_no_guards;            /* before 7.0: DEBUG, all settings are allowed */
  bool follows_moved;
  int port;
  int port_claim;                /* holds the port among all tests of this machine */
  char directory[64];
  char socket[96];
  char log[96];
  char unix_url[128];
  char tcp_url[64];
  struct test_authority *own_authority;    /* NULL: options.authority is another's */
  struct clock_shim *clock;      /* mapped; NULL without has_clock */
  char clock_file[160];          /* "NAME=path", for its environment */
  struct sync_shim *synced;      /* mapped; NULL without can_lose_power */
  char synced_file[160];
};

/* Ends the test program: "Bail out! ..." on stdout. */
_Noreturn void test_bail_out(const char *format, ...)
  __attribute__((format(printf, 1, 2)));

/* In a child, between fork and exec, with async-signal-safe calls only: runs `path`, its output
 * into `log`, no signal blocked, no descriptor inherited, dead when `parent` is. */
_Noreturn void test_become(const char *path, char *const *words, char *const *environment,
                           const char *log, pid_t parent);

/* A fresh /tmp/dibs-test-<pid>-XXXXXX; sweeps those of dead processes the first time. */
void test_directory_make(char *ret_path, size_t size);
void test_directory_remove(const char *path);

/* A port nobody has, with `port + 10000` free too; claimed until `ret_claim` closes. */
int test_port_claim(int *ret_claim);

/* The file of a server with a clock of its own; outlives the server's process. */
void test_clock_make(struct test_server *s);
void test_clock_free(struct test_server *s);
/* The same for the file of what a server has synced. */
void test_power_make(struct test_server *s);
void test_power_free(struct test_server *s);
/* Ours, with what makes the server load the libraries of these; NULL: it needs none. The
 * caller frees the array, not what it points to. */
char **test_shims_environment(struct test_server *s);

/* Where DIBS_TEST_ACL has a line of `dibs acl`, clients that name no user have its rights
 * only, and the tests' own commands and replicas are this user, with its name as password. */
#define TEST_ADMIN "dibs-test-admin"
bool test_acl_is_for(const struct test_server *s);
void test_acl_make(const struct test_server *s);

/* A connection to its socket, logged in. */
struct redisContext *test_server_connect(const struct test_server *s);
/* The answer as hiredis has it, for those too long for test_server_command(); NULL: none. */
struct redisReply *test_server_ask(const struct test_server *s, const char *format, ...);
struct redisReply *test_server_ask_with(const struct test_server *s, const char *format,
                                        va_list values);

#endif
