/* SPDX-License-Identifier: MIT */
/* test/live/local_place_test.c - one private server for each user of a machine, also for
 * programs with a /tmp or a network of their own.
 *
 * As root only: each case is a user of its own, whose number no account has, so the real
 * private server of whoever runs the test is never met. */
#include "tests.h"

#include <stdint.h>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "local/server_program.h"
#include "local_parts.h"

enum { OWN_TMP = 1, OWN_NETWORK = 2, WITHOUT_PROC = 4, WITH_FEWER_RIGHTS = 8,
       WITH_ONE_DESCRIPTOR = 16, OWN_NUMBERS = 32 };

static uid_t user;

static int setup_user(void **state)
{
  (void)setup(state);
  (void)unsetenv("DIBS_LOCAL_DIR");
  user = 100000000U + (uid_t)getpid();
  return 0;
}

/* What is left of the user: its processes and its directory. */
static int teardown_user(void **state)
{
  char path[64];
  pid_t child = fork_child();

  (void)state;
  if (child == 0) {
    if (setgroups(0, NULL) == 0 && setresuid(user, user, user) == 0)
      (void)kill(-1, SIGKILL);
    _exit(0);
  }
  (void)promise_waitpid(child, NULL, 0);
  (void)snprintf(path, sizeof(path), "/tmp/dibs-%lu", (unsigned long)user);
  test_directory_remove(path);
  test_directory_remove(runtime);
  return 0;
}

/* ---- programs of that user ---- */

struct news {
  dibs_status status;
  pid_t server;
  char url[320];
  dibs_error error;
};

struct program {
  pid_t pid;
  int go, news, leave;
};

/* One more than are open. */
static bool leave_one_descriptor(void)
{
  int next = open("/dev/null", O_RDONLY);
  struct rlimit limit;

  if (next < 0 || close(next) != 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return false;
  limit.rlim_cur = (rlim_t)next + 1;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* The rest of this process is pid 1 of a name space, and /proc has other numbers. */
static bool become_first(void)
{
  pid_t child;

  if (unshare(CLONE_NEWPID) != 0)
    return false;
  child = fork();            /* become_user() makes it end with its parent */
  if (child == 0)
    return true;
  (void)promise_waitpid(child, NULL, 0);
  _exit(0);
}

static bool enter(int how)
{
  int flags = ((how & (OWN_TMP | WITHOUT_PROC)) != 0 ? CLONE_NEWNS : 0)
              | ((how & OWN_NETWORK) != 0 ? CLONE_NEWNET : 0);

  if (flags != 0 && unshare(flags) != 0)
    return false;
  if ((flags & CLONE_NEWNS) != 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return false;
  if ((how & OWN_TMP) != 0 && mount("none", "/tmp", "tmpfs", 0, "mode=1777") != 0)
    return false;
  if ((how & WITHOUT_PROC) != 0 && umount2("/proc", MNT_DETACH) != 0)
    return false;
  if ((how & OWN_NUMBERS) != 0 && !become_first())
    return false;
  return (how & WITH_ONE_DESCRIPTOR) == 0 || leave_one_descriptor();
}

static bool become_user(void)
{
  return setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0
         && setresuid(user, user, user) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

static struct program start_program(int how)
{
  int go[2], news[2], leave[2];
  struct program p;

  assert_int_equal(pipe(go) | pipe(news) | pipe(leave), 0);
  p = (struct program){ fork_child(), go[1], news[0], leave[1] };
  if (p.pid == 0) {
    struct news n = { 0 };
    char byte;
    int fd;
    (void)close(go[1]), (void)close(leave[1]);
    n.status = DIBS_ERR_UNSUPPORTED;
    if (enter(how) && become_user()) {
      (void)!read(go[0], &byte, 1);
      n.status = local_join(n.url, sizeof(n.url), &fd, &n.error);
      if (n.status == DIBS_OK)
        n.server = server_pid();
    }
    (void)!write(news[1], &n, sizeof(n));
    (void)!read(leave[0], &byte, 1);
    _exit(0);
  }
  (void)close(go[0]), (void)close(news[1]), (void)close(leave[0]);
  return p;
}

/* A byte, not the end of the pipe: later programs inherit that. */
static void let_go(struct program *p)
{
  assert_int_equal(write(p->go, "", 1), 1);
  (void)close(p->go);
  p->go = -1;
}

/* Skips where the kernel does not let us make name spaces. */
static struct news hear(struct program *p)
{
  struct news n;

  if (p->go >= 0)
    let_go(p);
  assert_int_equal(read(p->news, &n, sizeof(n)), sizeof(n));
  if (n.status == DIBS_ERR_UNSUPPORTED)
    skip();
  return n;
}

static struct news hear_of_a_server(struct program *p)
{
  struct news n = hear(p);

  if (n.status != DIBS_OK)
    print_error("%s\n", n.error.text);
  assert_int_equal(n.status, DIBS_OK);
  return n;
}

static void end(struct program *p)
{
  assert_int_equal(write(p->leave, "", 1), 1);
  (void)close(p->leave);
  assert_int_equal(promise_waitpid(p->pid, NULL, 0), p->pid);
  (void)close(p->news);
}

static void require_root(void)
{
  if (geteuid() != 0)
    skip();
}

/* DIBS_SERVER may name one where only root may go, as ~/.cache/dibs-servers of root. */
static void require_program(void)
{
  const char *chosen = getenv("DIBS_SERVER");
  server_program program;
  pid_t child;
  int status;

  require_root();
  if (chosen == NULL || chosen[0] == 0)
    return;
  child = fork_child();
  if (child == 0)
    _exit(become_user() && server_program_find(&program) ? 0 : 1);
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  if (status != 0) {
    print_message("# skipped: other users may not execute %s\n", chosen);
    skip();
  }
}

/* ---- what each finds ---- */

static const int worlds[] = { 0, OWN_TMP, OWN_NETWORK, OWN_TMP | OWN_NETWORK };

enum { WORLDS = sizeof(worlds) / sizeof(worlds[0]) };

/* Whichever comes first starts it, and the others find it. */
TEST(programs_of_all_worlds_get_one_server)
{
  require_program();
  for (int first = 0; first < WORLDS; first++) {
    struct program all[WORLDS];
    pid_t server = 0;
    for (int i = 0; i < WORLDS; i++) {
      struct news n;
      all[i] = start_program(worlds[(first + i) % WORLDS]);
      n = hear_of_a_server(&all[i]);
      assert_int_not_equal(n.server, 0);
      if (server == 0)
        server = n.server;
      assert_int_equal(n.server, server);
    }
    for (int i = 0; i < WORLDS; i++)
      end(&all[i]);
    (void)teardown_user(state);
    (void)setup_user(state);
    user += (uid_t)first + 1;
  }
}

/* As after `unshare -pf`: the supervisor finds itself in /proc by a number it does not know. */
TEST(a_container_with_the_proc_of_its_host_gets_a_server)
{
  struct program p;

  require_program();
  p = start_program(OWN_NUMBERS);
  (void)hear_of_a_server(&p);
  end(&p);
}

/* No lock on a path, and no name of a socket, is common to them. */
TEST(starters_in_two_worlds_at_once_get_one_server)
{
  require_program();
  for (int round = 0; round < 6; round++) {
    struct program all[4];
    pid_t server = 0;
    for (int i = 0; i < 4; i++)
      all[i] = start_program(i % 2 == 0 ? 0 : OWN_TMP | OWN_NETWORK);
    for (int i = 0; i < 4; i++)
      let_go(&all[i]);
    for (int i = 0; i < 4; i++) {
      struct news n = hear_of_a_server(&all[i]);
      if (server == 0)
        server = n.server;
      assert_int_equal(n.server, server);
    }
    for (int i = 0; i < 4; i++)
      end(&all[i]);
    kill_and_wait(server);
  }
}

/* The supervisor sees that its socket is gone, and ends its server before the next one. */
TEST(a_removed_directory_does_not_make_a_second_server)
{
  struct program a, b;
  struct news na, nb;
  char path[64];

  require_program();
  a = start_program(0);
  na = hear_of_a_server(&a);
  (void)snprintf(path, sizeof(path), "/tmp/dibs-%lu", (unsigned long)user);
  test_directory_remove(path);
  b = start_program(0);
  nb = hear(&b);
  assert_true(nb.status != DIBS_OK || is_gone(na.server));
  end(&a);
  end(&b);
}

TEST(without_proc_none_is_started)
{
  struct program p;
  struct news n;

  require_root();
  p = start_program(OWN_TMP | WITHOUT_PROC);
  n = hear(&p);
  if (strstr(n.error.text, "/proc") == NULL)
    print_error("%s\n", n.error.text);
  assert_int_equal(n.status, DIBS_ERR_CONFIG);
  assert_non_null(strstr(n.error.text, "/proc"));
  end(&p);
}

/* It suffices for /proc, and for no file in it: no process would be seen. */
TEST(without_descriptors_for_the_search_none_is_started)
{
  struct program p;
  struct news n;

  require_root();
  p = start_program(WITH_ONE_DESCRIPTOR);
  n = hear(&p);
  assert_int_equal(n.status, DIBS_ERR_SYSTEM);
  assert_non_null(strstr(n.error.text, "Too many open files"));
  assert_non_null(strstr(n.error.text, "ulimit -n"));
  end(&p);
}

TEST(a_directory_that_another_user_made_first_is_refused)
{
  struct program p;
  struct news n;
  char path[64];

  require_root();
  (void)snprintf(path, sizeof(path), "/tmp/dibs-%lu", (unsigned long)user);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(chown(path, 65534, 65534), 0);
  p = start_program(0);
  n = hear(&p);
  assert_int_equal(n.status, DIBS_ERR_CONFIG);
  assert_non_null(strstr(n.error.text, "another user"));
  end(&p);
}

/* Names of processes are free for all: what counts is whose they are. */
TEST(a_process_of_another_user_with_our_name_does_not_count)
{
  struct program p;
  pid_t liar;

  require_program();
  liar = fork_child();
  if (liar == 0) {
    (void)prctl(PR_SET_NAME, "dibs-private");
    (void)pause();
    _exit(0);
  }
  p = start_program(0);
  assert_int_equal(hear(&p).status, DIBS_OK);
  end(&p);
  kill_and_wait(liar);
  (void)promise_waitpid(liar, NULL, 0);
}

RUN_TESTS_EACH(NULL, NULL, setup_user, teardown_user)
