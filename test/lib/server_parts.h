/* SPDX-License-Identifier: MIT */
/* test/lib/server_parts.h - what the files of the server support tell each other. */
#ifndef TEST_SERVER_PARTS_H
#define TEST_SERVER_PARTS_H

#include "server.h"

struct clock_shim;
struct sync_shim;

struct test_server {
  struct test_server_options options;
  struct test_server *next;      /* all living ones of this process */
  pid_t owner;                   /* the process that started it */
  pid_t pid;                     /* 0 while dead */
  bool is_paused;
  int port;
  int port_claim;                /* holds the port among all tests of this machine */
  char directory[64];
  char socket[96];
  char log[96];
  char unix_url[128];
  char tcp_url[64];
  struct clock_shim *clock;      /* mapped; NULL without has_clock */
  char clock_file[160];          /* "NAME=path", for its environment */
  struct sync_shim *synced;      /* mapped; NULL without can_lose_power */
  char synced_file[160];
  char ca[96], foreign_ca[96], client_certificate[96], client_key[96];
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

/* Writes the certificates of a TLS server into its directory and sets the paths. */
void test_certificates_make(struct test_server *s);

/* The file of a server with a clock of its own; outlives the server's process. */
void test_clock_make(struct test_server *s);
void test_clock_free(struct test_server *s);
/* The same for the file of what a server has synced. */
void test_power_make(struct test_server *s);
void test_power_free(struct test_server *s);
/* Ours, with what makes the server load the libraries of these; NULL: it needs none. The
 * caller frees the array, not what it points to. */
char **test_shims_environment(struct test_server *s);

#endif
