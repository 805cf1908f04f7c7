/* SPDX-License-Identifier: MIT */
/* test/live/local_sandbox_test.c - a sandbox is for one process and gone with it. */
#include "tests.h"

#include <stdint.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include "local/server_program.h"
#include "local_parts.h"

struct found {
  char url[320];
  char directory[320];
  pid_t server;
  pid_t watcher;
};

/* "unix:///tmp/x/server.sock" */
static struct found look_at(const char *url)
{
  struct found f = { 0 };
  size_t size;

  (void)snprintf(f.url, sizeof(f.url), "%s", url);
  size = strlen(url) - strlen("unix://") - strlen("/server.sock");
  memcpy(f.directory, url + strlen("unix://"), size);
  assert_int_equal(ask_ping(url + strlen("unix://"), SOON_MS, &f.server), ANSWER_PONG);
  f.watcher = parent_of(f.server);
  return f;
}

/* A child with a sandbox, which it keeps until it is killed. */
static pid_t start_owner(struct found *ret_found, bool has_child)
{
  int ends[2];
  pid_t owner;

  assert_int_equal(pipe(ends), 0);
  owner = fork_child();
  if (owner == 0) {
    dibs_sandbox *s;
    char url[320];
    struct found f = { 0 };
    (void)setpgid(0, 0);
    if (dibs_sandbox_start(&s, url, sizeof(url), NULL) == DIBS_OK)
      f = look_at(url);
    if (has_child && fork() == 0) {
      (void)alarm(60);          /* should the test fail to end it */
      (void)pause();
    }
    (void)!write(ends[1], &f, sizeof(f));
    (void)pause();
  }
  assert_int_equal(read(ends[0], ret_found, sizeof(*ret_found)), sizeof(*ret_found));
  (void)close(ends[0]);
  (void)close(ends[1]);
  assert_int_not_equal(ret_found->server, 0);
  return owner;
}

static void end_owner(pid_t owner)
{
  kill_and_wait(owner);
  assert_int_equal(promise_waitpid(owner, NULL, 0), owner);
}

TEST(it_serves_and_is_gone_after_its_stop)
{
  dibs_sandbox *a, *b;
  struct found fa, fb;
  char url[320];

  assert_int_equal(dibs_sandbox_start(&a, url, sizeof(url), NULL), DIBS_OK);
  fa = look_at(url);
  assert_int_equal(dibs_sandbox_start(&b, url, sizeof(url), NULL), DIBS_OK);
  fb = look_at(url);
  assert_int_not_equal(fa.server, fb.server);
  a = dibs_sandbox_stop(a);
  assert_null(a);
  assert_true(is_gone(fa.server));
  assert_int_equal(access(fa.directory, F_OK), -1);
  assert_false(is_gone(fb.server));
  b = dibs_sandbox_stop(b);
  assert_true(is_gone(fb.server));
  assert_null(dibs_sandbox_stop(NULL));
}

TEST(it_is_gone_when_its_owner_is_killed)
{
  struct found f;
  pid_t owner = start_owner(&f, false);

  end_owner(owner);
  assert_true(soon_gone(f.server));
  assert_true(soon_absent(f.directory));
  assert_true(soon_gone(f.watcher));
}

TEST(a_child_that_lives_on_does_not_keep_it)
{
  struct found f;
  pid_t owner = start_owner(&f, true);

  end_owner(owner);
  assert_true(soon_gone(f.server));
  assert_true(soon_absent(f.directory));
  (void)kill(-owner, SIGKILL);
}

TEST(a_stop_in_a_forked_child_leaves_it_alone)
{
  dibs_sandbox *s;
  struct found f;
  char url[320];
  pid_t child;

  assert_int_equal(dibs_sandbox_start(&s, url, sizeof(url), NULL), DIBS_OK);
  f = look_at(url);
  child = fork_child();
  if (child == 0) {
    (void)dibs_sandbox_stop(s);
    _exit(0);
  }
  assert_int_equal(promise_waitpid(child, NULL, 0), child);
  assert_int_equal(look_at(url).server, f.server);
  s = dibs_sandbox_stop(s);
}

TEST(with_its_watcher_killed_the_server_dies_and_the_next_one_sweeps)
{
  struct found f;
  pid_t owner = start_owner(&f, false);
  dibs_sandbox *s;
  char url[320];

  kill_and_wait(f.watcher);
  assert_true(soon_gone(f.server));
  assert_int_equal(access(f.directory, F_OK), 0);
  end_owner(owner);
  assert_int_equal(dibs_sandbox_start(&s, url, sizeof(url), NULL), DIBS_OK);
  assert_int_equal(access(f.directory, F_OK), -1);
  s = dibs_sandbox_stop(s);
}

static void *start_in_thread(void *ret_sandbox)
{
  static char url[320];

  return dibs_sandbox_start(ret_sandbox, url, sizeof(url), NULL) == DIBS_OK ? url : NULL;
}

TEST(it_outlives_the_thread_that_started_it)
{
  dibs_sandbox *s = NULL;
  pthread_t thread;
  void *url;

  assert_int_equal(pthread_create(&thread, NULL, start_in_thread, &s), 0);
  assert_int_equal(pthread_join(thread, &url), 0);
  assert_non_null(url);
  nap_ms(50);            /* a death signal of the thread would have come by now */
  assert_false(is_gone(look_at(url).server));
  s = dibs_sandbox_stop(s);
}

TEST(a_directory_full_of_the_server_s_files_goes_too)
{
  dibs_sandbox *s;
  struct found f;
  char url[320], path[400];

  assert_int_equal(dibs_sandbox_start(&s, url, sizeof(url), NULL), DIBS_OK);
  f = look_at(url);
  (void)snprintf(path, sizeof(path), "%s/appendonlydir", f.directory);
  assert_int_equal(mkdir(path, 0700), 0);
  for (int i = 0; i < 200; i++) {
    (void)snprintf(path, sizeof(path), "%s/appendonlydir/appendonly.aof.%d.incr.aof",
                   f.directory, i);
    (void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  }
  s = dibs_sandbox_stop(s);
  assert_int_equal(access(f.directory, F_OK), -1);
}

TEST(without_a_program_the_package_is_named)
{
  char *path = strdup(getenv("PATH"));
  char *chosen = getenv("DIBS_SERVER") == NULL ? NULL : strdup(getenv("DIBS_SERVER"));
  dibs_sandbox *s = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  char url[320];

  (void)unsetenv("DIBS_SERVER");
  (void)setenv("PATH", "/nowhere", 1);
  assert_int_equal(dibs_sandbox_start(&s, url, sizeof(url), &error), DIBS_ERR_NO_SERVER);
  assert_non_null(strstr(error.text, "apt-get install redis-tools"));
  (void)setenv("PATH", path, 1);
  (void)setenv("DIBS_SERVER", "/bin/false", 1);
  assert_int_equal(dibs_sandbox_start(&s, url, sizeof(url), &error),
                   DIBS_ERR_UNREACHABLE);
  assert_null(s);
  (void)unsetenv("DIBS_SERVER");
  if (chosen != NULL)
    (void)setenv("DIBS_SERVER", chosen, 1);
  free(path);
  free(chosen);
}

/* How many directories the process has left. */
static int count_left(pid_t owner)
{
  DIR *all = opendir("/tmp");
  struct dirent *entry;
  char begin[64];
  int count = 0;

  assert_non_null(all);
  (void)snprintf(begin, sizeof(begin), "dibs-sandbox-%ld-", (long)owner);
  while ((entry = readdir(all)) != NULL)
    count += strncmp(entry->d_name, begin, strlen(begin)) == 0;
  (void)closedir(all);
  return count;
}

enum { OTHER_WORDS = 3 };

/* As a child: exits with what went wrong, 0 nothing. */
static _Noreturn void start_with_few(int descriptors, dibs_sandbox_kind kind)
{
  dibs_sandbox_options o = { .size = sizeof(o), .kind = kind, .servers = 3 };
  int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dibs_error error = DIBS_ERROR_INIT;
  dibs_sandbox *s = NULL;
  struct rlimit limit;
  char url[1000];

  if (close(next) != 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
    _exit(1);
  limit.rlim_cur = (rlim_t)(next + descriptors);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    _exit(2);
  if (dibs_sandbox_start_with(&o, &s, url, sizeof(url), &error) == DIBS_OK)
    s = dibs_sandbox_stop(s);
  else if (error.status != DIBS_ERR_SYSTEM || strstr(error.text, "Too many open files") == NULL)
    _exit(OTHER_WORDS);
  _exit(s == NULL ? 0 : 4);
}

/* As those of tools/servers. */
static bool is_started_by_a_shell(void)
{
  server_program program;
  char begin[2] = "";
  int fd;

  assert_true(server_program_find(&program));
  fd = open(program.path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_int_equal(read(fd, begin, sizeof(begin)), sizeof(begin));
  (void)close(fd);
  return memcmp(begin, "#!", sizeof(begin)) == 0;
}

/* A shell before the server needs more descriptors, and has words of its own for that. */
TEST(nothing_is_left_where_descriptors_are_short)
{
  static const dibs_sandbox_kind kinds[] = { DIBS_SANDBOX_SERVER, DIBS_SANDBOX_QUORUM };
  bool has_shell = is_started_by_a_shell();

  for (int i = 0; i < 2; i++) {
    for (int descriptors = 0; descriptors < 8; descriptors++) {
      pid_t owner = fork_child();
      int status;

      if (owner == 0)
        start_with_few(descriptors, kinds[i]);
      assert_int_equal(waitpid(owner, &status, 0), owner);
      if (!has_shell || !WIFEXITED(status) || WEXITSTATUS(status) != OTHER_WORDS)
        assert_int_equal(status, 0);
      assert_int_equal(count_left(owner), 0);
    }
  }
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
