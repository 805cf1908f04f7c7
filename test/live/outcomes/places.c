/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/places.c - the private server, temporary servers, and the rights of a client:
 * what is called without a client. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outcomes.h"
#include "server_parts.h"

static char place[80];             /* DIBS_LOCAL_DIR */

/* What `run` returns in a directory of its own, where no private server runs. */
static dibs_status in_a_place(situation *run)
{
  char around[64];
  dibs_status status;

  test_directory_make(around, sizeof(around));
  (void)snprintf(place, sizeof(place), "%s/dibs", around);
  assert_int_equal(mkdir(place, 0700), 0);
  assert_int_equal(setenv("DIBS_LOCAL_DIR", place, 1), 0);
  status = run();
  assert_int_equal(dibs_local_stop(true, NULL), DIBS_OK);
  assert_int_equal(unsetenv("DIBS_LOCAL_DIR"), 0);
  test_directory_remove(around);
  return status;
}

/* What `run` returns while the variable `variable` has this value. */
static dibs_status with_variable(const char *variable, const char *value, situation *run)
{
  const char *before = getenv(variable);
  char *copy = before == NULL ? NULL : strdup(before);
  dibs_status status;

  assert_int_equal(setenv(variable, value, 1), 0);
  status = run();
  assert_int_equal(copy == NULL ? unsetenv(variable) : setenv(variable, copy, 1), 0);
  free(copy);
  return status;
}

/* What `run` returns while another process keeps the lock of those that start and stop. */
static dibs_status beside_a_starter(situation *run)
{
  char path[96];
  dibs_status status;
  int fd;

  (void)snprintf(path, sizeof(path), "%s/start.lock", place);
  fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
  status = run();
  assert_int_equal(close(fd), 0);
  return status;
}

static dibs_status at_a_relative_path(situation *run)
{
  return with_variable("DIBS_LOCAL_DIR", "here", run);
}

static dibs_status with_no_program(situation *run)
{
  return with_variable("DIBS_SERVER", "/nonexistent/server", run);
}

/* It ends at once. */
static dibs_status with_a_wrong_program(situation *run)
{
  return with_variable("DIBS_SERVER", "/bin/false", run);
}

/* ---- the private server ---- */

static dibs_status begin(void) { return dibs_local_start(0, false, NULL, NULL); }
static dibs_status begin_before_now(void) { return dibs_local_start(-1, false, NULL, NULL); }
static dibs_status end(void) { return dibs_local_stop(false, NULL); }

static dibs_status look(void)
{
  dibs_local_info info = { .size = sizeof(info) };

  return dibs_local_status(&info, NULL);
}

static dibs_status begin_without_descriptors(void) { return without_descriptors(begin); }
static dibs_status end_without_descriptors(void) { return without_descriptors(end); }
static dibs_status look_without_descriptors(void) { return without_descriptors(look); }
static dibs_status end_beside_a_starter(void) { return beside_a_starter(end); }

static dibs_status start(void) { return in_a_place(begin); }
static dibs_status start_before_now(void) { return in_a_place(begin_before_now); }
static dibs_status start_at_a_relative_path(void) { return at_a_relative_path(begin); }
static dibs_status begin_with_no_program(void) { return with_no_program(begin); }
static dibs_status start_with_no_program(void) { return in_a_place(begin_with_no_program); }
static dibs_status begin_with_a_wrong_program(void) { return with_a_wrong_program(begin); }
static dibs_status start_of_a_wrong_program(void)
{
  return in_a_place(begin_with_a_wrong_program);
}

static dibs_status start_without_descriptors(void)
{
  return in_a_place(begin_without_descriptors);
}

static dibs_status stop(void) { return in_a_place(end); }
static dibs_status stop_at_a_relative_path(void) { return at_a_relative_path(end); }
static dibs_status stop_beside_a_starter(void) { return in_a_place(end_beside_a_starter); }
static dibs_status stop_without_descriptors(void) { return in_a_place(end_without_descriptors); }
static dibs_status state(void) { return in_a_place(look); }
static dibs_status state_at_a_relative_path(void) { return at_a_relative_path(look); }
static dibs_status state_without_descriptors(void) { return in_a_place(look_without_descriptors); }

/* ---- temporary servers ---- */

static dibs_status sandbox_of(const dibs_sandbox_options *o, size_t url_size)
{
  dibs_sandbox *s = NULL;
  char url[512];
  dibs_status status = o == NULL ? dibs_sandbox_start(&s, url, url_size, NULL)
                                 : dibs_sandbox_start_with(o, &s, url, url_size, NULL);

  s = dibs_sandbox_stop(s);
  return status;
}

static dibs_status sandbox(void) { return sandbox_of(NULL, 512); }
static dibs_status sandbox_without_room(void) { return sandbox_of(NULL, 3); }
static dibs_status sandbox_with_no_program(void) { return with_no_program(sandbox); }
static dibs_status sandbox_of_a_wrong_program(void) { return with_a_wrong_program(sandbox); }
static dibs_status sandbox_without_descriptors(void) { return without_descriptors(sandbox); }

static dibs_status quorum_of(int32_t servers)
{
  dibs_sandbox_options o = DIBS_SANDBOX_OPTIONS_INIT;

  o.kind = DIBS_SANDBOX_QUORUM;
  o.servers = servers;
  return sandbox_of(&o, 512);
}

static dibs_status quorum(void) { return quorum_of(1); }
static dibs_status quorum_of_two(void) { return quorum_of(2); }
static dibs_status quorum_with_no_program(void) { return with_no_program(quorum); }
static dibs_status quorum_of_a_wrong_program(void) { return with_a_wrong_program(quorum); }
static dibs_status quorum_without_descriptors(void) { return without_descriptors(quorum); }

/* ---- rights ---- */

static dibs_status line_of(const char *url, size_t size)
{
  char line[DIBS_ACL_LINE_SIZE];

  return dibs_acl_line(url, NULL, line, size, NULL);
}

static dibs_status line(void) { return line_of("redis://shop@locks", DIBS_ACL_LINE_SIZE); }
static dibs_status line_of_no_url(void) { return line_of("nonsense:", DIBS_ACL_LINE_SIZE); }
static dibs_status line_without_room(void) { return line_of(NULL, 3); }

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_local_start, DIBS_OK, start) \
  X(dibs_local_start, DIBS_ERR_ARGUMENT, start_before_now) \
  X(dibs_local_start, DIBS_ERR_NO_SERVER, start_with_no_program) \
  X(dibs_local_start, DIBS_ERR_CONFIG, start_at_a_relative_path) \
  X(dibs_local_start, DIBS_ERR_UNREACHABLE, start_of_a_wrong_program) \
  X(dibs_local_start, DIBS_ERR_SYSTEM, start_without_descriptors) \
  X(dibs_local_stop, DIBS_OK, stop) \
  X(dibs_local_stop, DIBS_ERR_CONFIG, stop_at_a_relative_path) \
  X(dibs_local_stop, DIBS_ERR_UNREACHABLE, stop_beside_a_starter) \
  X(dibs_local_stop, DIBS_ERR_SYSTEM, stop_without_descriptors) \
  X(dibs_local_status, DIBS_OK, state) \
  X(dibs_local_status, DIBS_ERR_CONFIG, state_at_a_relative_path) \
  X(dibs_local_status, DIBS_ERR_SYSTEM, state_without_descriptors) \
  X(dibs_sandbox_start, DIBS_OK, sandbox) \
  X(dibs_sandbox_start, DIBS_ERR_ARGUMENT, sandbox_without_room) \
  X(dibs_sandbox_start, DIBS_ERR_NO_SERVER, sandbox_with_no_program) \
  X(dibs_sandbox_start, DIBS_ERR_UNREACHABLE, sandbox_of_a_wrong_program) \
  X(dibs_sandbox_start, DIBS_ERR_SYSTEM, sandbox_without_descriptors) \
  NOT_HERE(dibs_sandbox_start, DIBS_ERR_NO_MEMORY, no test makes calloc fail) \
  NOT_HERE(dibs_sandbox_start, DIBS_ERR_CONFIG, only a library built with -Dlocal=disabled) \
  X(dibs_sandbox_start_with, DIBS_OK, quorum) \
  X(dibs_sandbox_start_with, DIBS_ERR_ARGUMENT, quorum_of_two) \
  X(dibs_sandbox_start_with, DIBS_ERR_NO_SERVER, quorum_with_no_program) \
  X(dibs_sandbox_start_with, DIBS_ERR_UNREACHABLE, quorum_of_a_wrong_program) \
  X(dibs_sandbox_start_with, DIBS_ERR_SYSTEM, quorum_without_descriptors) \
  NOT_HERE(dibs_sandbox_start_with, DIBS_ERR_NO_MEMORY, no test makes calloc fail) \
  NOT_HERE(dibs_sandbox_start_with, DIBS_ERR_CONFIG, only a library built with -Dlocal=disabled) \
  X(dibs_acl_line, DIBS_OK, line) \
  X(dibs_acl_line, DIBS_ERR_CONFIG, line_of_no_url) \
  X(dibs_acl_line, DIBS_ERR_ARGUMENT, line_without_room) \
  NOT_HERE(dibs_acl_line, DIBS_ERR_NO_MEMORY, no test makes malloc fail) \
  NOT_HERE(dibs_acl_line, DIBS_ERR_SYSTEM, only an OpenSSL without SHA-256) \
  NOT_HERE(dibs_sim_inject, DIBS_OK, sim/world) \
  NOT_HERE(dibs_sim_inject, DIBS_ERR_ARGUMENT, sim/world)

OUTCOMES(outcomes_of_places);
