/* SPDX-License-Identifier: MIT */
/* test/live/local_refusal_test.c - where the private server is refused, and the words. */
#include "tests.h"

#include <stdint.h>

#include "local_parts.h"

static char url[320];
static int use_fd;
static dibs_error error = DIBS_ERROR_INIT;

static dibs_status join(void)
{
  error = (dibs_error)DIBS_ERROR_INIT;
  return local_join(url, sizeof(url), &use_fd, &error);
}

static void assert_says(const char *words)
{
  if (strstr(error.text, words) == NULL)
    fail_msg("\"%s\" is not in \"%s\"", words, error.text);
}

static void make_directory(mode_t mode)
{
  place p;

  p = where();
  assert_int_equal(mkdir(p.directory, 0700), 0);
  assert_int_equal(chmod(p.directory, mode), 0);
}

TEST(a_directory_of_another_user_is_refused)
{
  place p;

  if (geteuid() != 0)
    skip();
  make_directory(0700);
  p = where();
  assert_int_equal(chown(p.directory, 65534, 65534), 0);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("belongs to another user");
  assert_says(p.directory);
  assert_int_equal(dibs_local_status(NULL, &error), DIBS_ERR_CONFIG);
  assert_int_equal(dibs_local_stop(false, &error), DIBS_ERR_CONFIG);
}

TEST(a_directory_open_to_others_is_refused)
{
  make_directory(0770);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("0700");
}

TEST(a_symbolic_link_is_refused)
{
  char target[128];
  place p;

  p = where();
  (void)snprintf(target, sizeof(target), "%s/elsewhere", runtime);
  assert_int_equal(mkdir(target, 0700), 0);
  assert_int_equal(symlink(target, p.directory), 0);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("symbolic link");
}

TEST(a_file_in_its_place_is_refused)
{
  place p;

  p = where();
  (void)close(open(p.directory, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says(p.directory);
  (void)unlink(p.directory);
}

/* /sys belongs to root and lets nobody make directories. */
TEST(a_place_that_cannot_be_written_is_told)
{
  if (geteuid() != 0 || access("/sys/kernel", F_OK) != 0)
    skip();                    /* not mounted: an ordinary directory */
  (void)setenv("DIBS_LOCAL_DIR", "/sys/dibs", 1);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("/sys/dibs cannot be made");
}

TEST(the_environment_can_forbid_it)
{
  (void)setenv("DIBS_NO_LOCAL", "1", 1);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("DIBS_NO_LOCAL");
  (void)setenv("DIBS_NO_LOCAL", "0", 1);
  assert_int_equal(join(), DIBS_OK);
  (void)close(use_fd);
  (void)unsetenv("DIBS_NO_LOCAL");
}

TEST(it_is_refused_inside_kubernetes)
{
  (void)setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("Kubernetes");
  assert_says("DIBS_URL");
  (void)unsetenv("KUBERNETES_SERVICE_HOST");
}

TEST(without_a_program_the_package_is_named)
{
  char *path = strdup(getenv("PATH"));
  char *chosen = getenv("DIBS_SERVER") == NULL ? NULL : strdup(getenv("DIBS_SERVER"));

  (void)unsetenv("DIBS_SERVER");
  (void)setenv("PATH", "/nowhere", 1);
  assert_int_equal(join(), DIBS_ERR_NO_SERVER);
  assert_says("apt-get install redis-tools");
  (void)setenv("PATH", path, 1);
  (void)setenv("DIBS_SERVER", "/nowhere/server", 1);
  assert_int_equal(join(), DIBS_ERR_NO_SERVER);
  assert_says("DIBS_SERVER=/nowhere/server");
  (void)unsetenv("DIBS_SERVER");
  if (chosen != NULL)
    (void)setenv("DIBS_SERVER", chosen, 1);
  free(path);
  free(chosen);
}

static void write_program(const char *path, const char *text, mode_t mode)
{
  FILE *file = fopen(path, "we");

  assert_non_null(file);
  (void)fputs(text, file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, mode), 0);
}

TEST(a_server_that_ends_at_once_is_told_with_its_log)
{
  char *chosen = getenv("DIBS_SERVER") == NULL ? NULL : strdup(getenv("DIBS_SERVER"));
  char program[128];

  (void)snprintf(program, sizeof(program), "%s/server", runtime);
  (void)setenv("DIBS_SERVER", program, 1);
  write_program(program, "#!/bin/sh\necho the moon is too near >&2\nexit 3\n", 0700);
  assert_int_equal(join(), DIBS_ERR_UNREACHABLE);
  assert_says("the moon is too near");
  write_program(program, "not a program", 0700);
  assert_int_equal(join(), DIBS_ERR_NO_SERVER);
  assert_says("cannot be executed");
  (void)unsetenv("DIBS_SERVER");
  if (chosen != NULL)
    (void)setenv("DIBS_SERVER", chosen, 1);
  free(chosen);
}

TEST(looking_at_it_makes_nothing)
{
  dibs_local_info info = { .size = sizeof(info) };
  place p;

  p = where();
  assert_int_equal(dibs_local_status(&info, NULL), DIBS_OK);
  assert_false(info.is_running);
  assert_int_equal(info.server_pid, 0);
  assert_int_equal(info.users, 0);
  assert_string_equal(info.url, p.url);
  assert_string_not_equal(info.program, "");
  assert_int_equal(access(p.directory, F_OK), -1);
  assert_int_equal(dibs_local_stop(false, NULL), DIBS_OK);
  assert_int_equal(access(p.directory, F_OK), -1);
}

/* An older program's shorter record is not written beyond its end. */
TEST(a_shorter_record_is_filled_as_far_as_it_goes)
{
  dibs_local_info info;

  memset(&info, 'x', sizeof(info));
  info.size = offsetof(dibs_local_info, directory);
  assert_int_equal(dibs_local_status(&info, NULL), DIBS_OK);
  assert_false(info.is_running);
  assert_int_equal(info.directory[0], 'x');
}

/* Another user could put a directory in its place after it was looked at. */
TEST(a_parent_in_which_others_may_rename_is_refused)
{
  assert_int_equal(chmod(runtime, 0777), 0);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("sticky");
  assert_int_equal(chmod(runtime, 01777), 0);
  assert_int_equal(join(), DIBS_OK);
  (void)close(use_fd);
  assert_int_equal(chmod(runtime, 0700), 0);
}

/* What differs between a login, cron, su and a service of one user. */
TEST(the_environment_does_not_move_it)
{
  static const char *const variables[] = { "XDG_RUNTIME_DIR", "TMPDIR", "TMP", "HOME",
                                           "XDG_CONFIG_HOME" };
  char ours[64];

  (void)snprintf(ours, sizeof(ours), "/tmp/dibs-%lu", (unsigned long)geteuid());
  (void)unsetenv("DIBS_LOCAL_DIR");
  for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
    char *before = getenv(variables[i]);
    place p;

    before = before == NULL ? NULL : strdup(before);
    (void)setenv(variables[i], runtime, 1);
    assert_int_equal(place_base(&p, NULL), DIBS_OK);
    assert_string_equal(p.directory, ours);
    assert_false(p.is_chosen);
    (void)unsetenv(variables[i]);
    if (before != NULL)
      (void)setenv(variables[i], before, 1);
    free(before);
  }
}

TEST(a_chosen_directory_is_taken_as_it_is_or_refused)
{
  char deep[256];
  place p;

  (void)setenv("DIBS_LOCAL_DIR", "/tmp/x/y///", 1);
  p = where();
  assert_string_equal(p.directory, "/tmp/x/y");
  assert_true(p.is_chosen);
  (void)setenv("DIBS_LOCAL_DIR", "here", 1);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("DIBS_LOCAL_DIR=here");
  (void)snprintf(deep, sizeof(deep), "%s/%0100d", runtime, 1);
  (void)setenv("DIBS_LOCAL_DIR", deep, 1);
  assert_int_equal(join(), DIBS_ERR_CONFIG);
  assert_says("89");
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
