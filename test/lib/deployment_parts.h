/* SPDX-License-Identifier: MIT */
/* test/lib/deployment_parts.h - what the files of the deployments tell each other. */
#ifndef TEST_DEPLOYMENT_PARTS_H
#define TEST_DEPLOYMENT_PARTS_H

#include <hiredis/hiredis.h>

#include "deployment.h"
#include "partition.h"
#include "server_parts.h"

#include "local/form.h"

enum { FORM_MS = 40000, GROUP_ARGUMENTS = 64, GROUP_NUMBERS = 16, URL_SIZE = 1024 };

/* Servers with the same options. */
struct group {
  struct test_server_options options;
  struct test_authority *own_authority;
  struct test_network *network;
  int first_host;
  struct test_server *servers[TEST_MEMBERS_MAX];
  int count;
  const char *arguments[GROUP_ARGUMENTS];
  int argument_count;
  char numbers[GROUP_NUMBERS][16];
  int number_count;
};

/* First the options that all of a kind have, then ours, then the caller's, which win. */
void group_init(struct group *g, const struct test_server_options *server,
                struct test_network *network);
void group_argument(struct group *g, const char *name, const char *value);
void group_number(struct group *g, const char *name, int value);
void group_add_arguments(struct group *g, const char *const *more);
/* Starts one more; returns its number. */
int group_add(struct group *g);
void group_stop(struct group *g);

/* How form.h asks the servers of a group. `g` is needed as long as it. */
struct group_former {
  former former;
  form_node nodes[TEST_MEMBERS_MAX];
};
void group_former_init(struct group_former *ret_former, const struct group *g);

struct test_server *group_server(const struct group *g, int which);
bool group_is_living(const struct group *g, int which);    /* and not paused */
int group_with_port(const struct group *g, int port);      /* -1: none */
/* "scheme://a:1,b:2": of the first `count`. */
void group_url(const struct group *g, const char *scheme, int count, char *ret_url,
               size_t size);

/* Looks every few milliseconds. */
bool deployment_until(int limit_ms, bool (*is_so)(void *data), void *data);
/* Bails out unless the answer begins with `wanted`. */
void deployment_expect(const struct test_server *s, const char *wanted, const char *format,
                       ...);
/* A number of INFO; -1: no such field. The text of one, in `ret_text`; false: none. */
long long info_number(const struct test_server *s, const char *section, const char *field);
bool info_text(const struct test_server *s, const char *section, const char *field,
               char *ret_text, size_t size);
/* What a primary has written; whether the replica has that, from this primary. */
long long replication_offset(const struct test_server *primary);
bool replica_has(const struct test_server *replica, const struct test_server *primary,
                 long long offset);

/* The set that sentinels watch. */
struct group *set_group(struct test_set *set);

struct test_cluster {
  struct group group;
  char ids[TEST_MEMBERS_MAX][48];
  char url[URL_SIZE];
};

/* Which slots it serves by its own word, a byte each; false: no primary, or not there. */
bool cluster_slots_of(const struct test_server *s, unsigned char *ret_slots);

#endif
