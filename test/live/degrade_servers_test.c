/* SPDX-License-Identifier: MIT */
/* test/live/degrade_servers_test.c - degrade=local: locks of this machine and leases of servers
 * exclude each other, on both sides of an outage. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "degrade_place.h"

enum { TTL_MS = 20000 };

static dibs_client *open_local(const char *url)
{
  dibs_options o = local_options();

  return live_open_with(url, &o);
}

static bool is_up(void *client)
{
  uint64_t us;

  return dibs_ping(client, 100, &us) == DIBS_OK;
}

/* They connect at their first request, so that none is sent to a server that dies. */
static int setup(void **state)
{
  (void)state;
  a = open_local(test_server_url(live_server));
  b = open_local(test_server_url(live_server));
  return 0;
}

static dibs_durability_kind kind_of(const dibs_hold *hold)
{
  return (dibs_durability_kind)live_info(hold).durability;
}

/* ---- processes that fork ---- */

/* A process takes `name`, forks a child that goes on, and dies. Returns that child, whose fork()
 * has returned. */
static pid_t die_behind_a_child(const char *name)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 5000);
  int ends[2], how = 0;
  dibs_hold *hold = NULL;
  pid_t holder, child = 0;

  assert_int_equal(pipe(ends), 0);
  holder = fork();
  if (holder == 0) {
    if (dibs_lock(open_local(test_server_url(live_server)), name, &o, &hold) != DIBS_OK)
      _exit(1);
    if (fork() != 0)
      _exit(0);
    child = getpid();
    (void)!write(ends[1], &child, sizeof(child));
    (void)alarm(60);                       /* if the test fails before it ends this child */
    for (;;)
      (void)pause();
  }
  assert_true(holder > 0);
  assert_int_equal(promise_waitpid(holder, &how, 0), holder);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  (void)close(ends[1]);
  assert_int_equal(read(ends[0], &child, sizeof(child)), (ssize_t)sizeof(child));
  (void)close(ends[0]);
  return child;
}

TEST(a_child_keeps_nothing_of_a_holder_that_has_died)
{
#ifdef __SANITIZE_THREAD__
  (void)state;               /* it loses count of threads that are made behind a fork */
  return;
#endif
  dibs_status of_lease, of_lock;
  pid_t children[2];

  children[0] = die_behind_a_child("x");
  test_server_kill9(live_server);
  of_lease = live_try(b, "x");
  children[1] = die_behind_a_child("y");
  of_lock = live_try(b, "y");
  for (int i = 0; i < 2; i++)
    (void)kill(children[i], SIGKILL);
  test_server_restart(live_server, false);
  assert_int_equal(of_lease, DIBS_OK);
  assert_int_equal(of_lock, DIBS_OK);
}

/* ---- which lock it is ---- */

static dibs_status try_by(const char *options)
{
  char url[512];
  dibs_client *c;
  dibs_status status;

  (void)snprintf(url, sizeof(url), "%s%s", test_server_url(live_server), options);
  c = open_local(url);
  status = live_try(c, "x");
  c = dibs_close(c);
  return status;
}

TEST(it_is_the_key_in_the_database)
{
  dibs_hold *native, *redisson;
  dibs_client *c;
  char url[512];

  (void)snprintf(url, sizeof(url), "%s?dialect=redisson&prefix=one", test_server_url(live_server));
  c = open_local(url);
  test_server_kill9(live_server);
  redisson = live_lock(c, "x", TTL_MS);
  live_refused(try_by("?dialect=redisson&prefix=two"), DIBS_BUSY);    /* no part of its keys */
  native = live_lock(a, "x", TTL_MS);
  live_refused(try_by("?prefix=dibs"), DIBS_BUSY);
  live_refused(try_by("?db=0"), DIBS_BUSY);
  assert_int_equal(try_by("?db=1"), DIBS_OK);
  assert_int_equal(try_by("?prefix=two"), DIBS_OK);
  assert_int_equal(try_by("?dialect=redisson&prefix=one&db=1"), DIBS_OK);
  assert_int_equal(try_by("?dialect=spring&registry=r"), DIBS_OK);
  assert_int_equal(dibs_release(redisson), DIBS_OK);
  assert_int_equal(dibs_release(native), DIBS_OK);
  c = dibs_close(c);
  test_server_restart(live_server, false);
}

/* ---- the outage ends ---- */

/* The program may use the memory of the name again. */
TEST(the_servers_are_asked_for_the_name_of_the_call)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *lost, *hold;
  char name[] = "x";
  struct live_ask ask;

  test_server_kill9(live_server);
  lost = live_lock(a, "x", 1000);
  live_refused_beside(lost, live_try(b, "x"), DIBS_BUSY);
  live_ask_begin(&ask, b, name, &o);
  name[0] = 'y';
  test_server_restart(live_server, false);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_int_equal(kind_of(hold), DIBS_DURABLE_PRIMARY);
  assert_true(live_until(LIVE_LONG_MS, is_up, a));
  live_refused(live_try(a, "x"), DIBS_BUSY);
  assert_int_equal(live_try(a, "y"), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_release(lost), DIBS_LOST);
}

/* ---- a lease of the server first ---- */

static dibs_hold *lease_of(dibs_client *client, const char *name, int ttl_ms)
{
  dibs_hold *lease;

  assert_true(live_until(LIVE_LONG_MS, is_up, client));
  lease = live_lock(client, name, ttl_ms);
  assert_int_equal(kind_of(lease), DIBS_DURABLE_PRIMARY);
  return lease;
}

TEST(a_lease_keeps_out_locks_of_this_machine)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *lease = lease_of(a, "x", TTL_MS), *hold;
  struct live_ask ask;

  test_server_kill9(live_server);
  live_refused(live_try(b, "x"), DIBS_BUSY);
  assert_int_equal(live_try(b, "y"), DIBS_OK);
  live_ask_begin(&ask, b, "x", &o);
  live_still_waits(&ask, 300);
  assert_int_not_equal(dibs_hold_state(lease), DIBS_HOLD_GONE);
  assert_int_equal(dibs_release_async(lease, NULL, NULL), DIBS_OK);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_int_equal(kind_of(hold), DIBS_DURABLE_LOCAL);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  test_server_restart(live_server, false);
}

TEST(leases_of_all_kinds_do)
{
  static const char *const names[] = { "many1", "many2" };
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *holds[3];

  assert_true(live_until(LIVE_LONG_MS, is_up, a));
  live_expect_ok(dibs_acquire(a, DIBS_READ("read"), &o, &holds[0]));
  live_expect_ok(acquire_names(a, names, 2, &o, &holds[1]));
  live_expect_ok(dibs_acquire(a, DIBS_LEAD("led", "me"), &o, &holds[2]));
  test_server_kill9(live_server);
  live_refused(live_try(b, "read"), DIBS_BUSY);
  live_refused(live_try(b, "many1"), DIBS_BUSY);
  live_refused(live_try(b, "many2"), DIBS_BUSY);
  live_refused(live_try(b, "led"), DIBS_BUSY);
  for (int i = 0; i < 3; i++)
    assert_int_equal(dibs_release_async(holds[i], NULL, NULL), DIBS_OK);
  assert_int_equal(live_try(b, "many2"), DIBS_OK);
  test_server_restart(live_server, false);
}

TEST(a_lease_that_has_ended_does_not)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *lease = lease_of(a, "x", 1000), *hold;

  test_server_kill9(live_server);
  hold = live_lock_with(b, "x", &o);
  promise_kept(dibs_hold_state(lease) == DIBS_HOLD_GONE, "a lease and a lock of this machine");
  assert_int_equal(kind_of(hold), DIBS_DURABLE_LOCAL);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  (void)dibs_release_async(lease, NULL, NULL);
  test_server_restart(live_server, false);
}

TEST(its_owner_enters_it_again)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 2000);
  dibs_hold *outer = lease_of(a, "x", TTL_MS), *inner;

  test_server_kill9(live_server);
  live_expect_free(a, "y", LIVE_LONG_MS);  /* on this machine: it knows of the outage */
  inner = live_lock_with(a, "x", &o);
  assert_int_equal(live_info(inner).depth, 2);
  assert_int_equal(dibs_hold_fence(inner), dibs_hold_fence(outer));
  assert_int_equal(dibs_release_async(inner, NULL, NULL), DIBS_OK);
  live_refused(live_try(b, "x"), DIBS_BUSY);
  assert_int_equal(dibs_release_async(outer, NULL, NULL), DIBS_OK);
  assert_int_equal(live_try(b, "x"), DIBS_OK);
  test_server_restart(live_server, false);
}

/* ---- a lock of this machine first ---- */

/* `a` reaches the server again later than `b`: a proxy. */
TEST(it_keeps_out_leases_until_its_release)
{
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *c = open_local(test_proxy_url(proxy));
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS), brief = o;
  struct live_loss loss = { 0 };
  dibs_hold *hold, *lease, *none = NULL;
  struct live_ask ask;

  test_proxy_refuse(proxy, true);
  live_report_loss(&o, &loss);
  hold = live_lock_with(c, "x", &o);
  assert_int_equal(kind_of(hold), DIBS_DURABLE_LOCAL);
  assert_true(live_until(LIVE_LONG_MS, is_up, b));
  live_refused(live_try(b, "x"), DIBS_BUSY);
  live_expect_words(b, "machine");
  brief.wait_ms = 300;
  live_expect_refused(b, dibs_lock(b, "x", &brief, &none), DIBS_TIMED_OUT);
  live_expect_refused(b, dibs_acquire(b, DIBS_READ("x"), &brief, &none), DIBS_TIMED_OUT);
  brief.wait_ms = LIVE_LONG_MS;
  live_ask_begin(&ask, b, "x", &brief);
  live_still_waits(&ask, 300);
  test_proxy_refuse(proxy, false);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  live_still_waits(&ask, 300);             /* its program has its ttl to stop */
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  lease = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_int_equal(kind_of(lease), DIBS_DURABLE_PRIMARY);
  assert_int_equal(dibs_release(lease), DIBS_OK);
  c = dibs_close(c);
  proxy = test_proxy_stop(proxy);
}

/* Of a set, whose names may have any bytes: the first is not "x". */
TEST(it_keeps_out_sets_with_its_name)
{
  static const dibs_bytes names[] = { { "x\0y", 3 }, { "z", 1 } };
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *c = open_local(test_proxy_url(proxy)), *plain;
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *other, *hold, *set, *none = NULL;
  struct live_ask ask;

  plain = live_open(test_server_url(live_server));
  test_proxy_refuse(proxy, true);
  other = live_lock(c, "x", TTL_MS);
  hold = live_lock(c, "z", TTL_MS);
  assert_int_equal(kind_of(hold), DIBS_DURABLE_LOCAL);
  assert_true(live_until(LIVE_LONG_MS, is_up, b));
  live_ask_begin_target(&ask, b, DIBS_LOCKS(names, 2), &o);
  live_still_waits(&ask, 300);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  set = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_int_equal(kind_of(set), DIBS_DURABLE_PRIMARY);
  live_refused(live_try(plain, "z"), DIBS_BUSY);
  live_expect_refused(plain, acquire_now(plain, DIBS_LOCKS(names, 1), NULL, &none), DIBS_BUSY);
  assert_int_equal(live_try(plain, "y"), DIBS_OK);
  assert_int_equal(dibs_release(set), DIBS_OK);
  assert_int_equal(dibs_release(other), DIBS_OK);
  plain = dibs_close(plain);
  c = dibs_close(c);
  proxy = test_proxy_stop(proxy);
}

TEST(or_for_a_ttl_after_its_loss)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *lost, *lease;

  test_server_kill9(live_server);
  lost = live_lock(a, "x", 500);
  live_refused_beside(lost, live_try(b, "x"), DIBS_BUSY);
  test_server_restart(live_server, false);
  assert_true(live_until(LIVE_LONG_MS, is_up, b));
  lease = live_lock_with(b, "x", &o);
  promise_kept(dibs_hold_state(lost) == DIBS_HOLD_GONE, "a lock of this machine and a lease");
  assert_int_equal(dibs_release(lease), DIBS_OK);
  assert_int_equal(dibs_release(lost), DIBS_LOST);
}

/* ---- the files ---- */

static void remove_files(void)
{
  char command[64];

  (void)snprintf(command, sizeof(command), "rm -f %s/locks/*", runtime);
  assert_int_equal(system(command), 0);
}

static bool is_gone(void *hold)
{
  return dibs_hold_state(hold) == DIBS_HOLD_GONE;
}

/* A waiter has the file open that others do not find any more. */
TEST(the_lock_of_a_file_that_was_removed_is_none)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *first, *second;
  struct live_ask ask;

  test_server_kill9(live_server);
  live_expect_free(b, "y", LIVE_LONG_MS);  /* on this machine: it knows of the outage */
  first = live_lock(a, "x", TTL_MS);
  live_ask_begin(&ask, b, "x", &o);
  live_still_waits(&ask, 500);             /* it has tried */
  remove_files();
  (void)dibs_release(first);               /* DIBS_OK, or it was lost first */
  second = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_int_equal(kind_of(second), DIBS_DURABLE_LOCAL);
  live_refused(live_try(a, "x"), DIBS_BUSY);
  assert_int_equal(dibs_release(second), DIBS_OK);
  test_server_restart(live_server, false);
}

TEST(it_is_lost_within_a_bounded_time)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_loss loss = { 0 };
  dibs_hold *outer, *inner;
  char why[128];

  test_server_kill9(live_server);
  live_report_loss(&o, &loss);
  outer = live_lock_with(a, "x", &o);
  o.on_lost = NULL;
  inner = live_lock_with(a, "x", &o);
  assert_int_equal(kind_of(outer), DIBS_DURABLE_LOCAL);
  remove_files();
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(atomic_load(&loss.why), DIBS_LOST);
  assert_int_equal(dibs_hold_state(outer), DIBS_HOLD_GONE);
  assert_int_equal(dibs_hold_why(outer, why, sizeof(why)), DIBS_OK);
  assert_non_null(strstr(why, "its lock file was removed"));
  assert_true(live_until(LIVE_LONG_MS, is_gone, inner));
  assert_int_equal(dibs_release(inner), DIBS_LOST);
  assert_int_equal(dibs_release(outer), DIBS_LOST);
  assert_int_equal(live_try(a, "x"), DIBS_OK);
  assert_int_equal(live_try(b, "x"), DIBS_OK);
  assert_int_equal(atomic_load(&loss.count), 1);
  test_server_restart(live_server, false);
}

/* As a program that closes all that it does not know, and then opens files of its own. Not by
 * dup2(), which is a race with dibs-io for ThreadSanitizer. */
static int replace_files(int own)
{
  char link[64], path[256];
  int count = 0;

  for (int fd = 3; fd < 256; fd++) {
    ssize_t size;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = 0;
    if (strstr(path, "/locks/") != NULL && syscall(SYS_dup3, own, fd, O_CLOEXEC) == fd)
      count++;
  }
  return count;
}

/* The number of those that were open. */
static int close_all_of(const char *path)
{
  struct stat own, found;
  int count = 0;

  assert_int_equal(stat(path, &own), 0);
  for (int fd = 3; fd < 256; fd++)
    if (fstat(fd, &found) == 0 && found.st_dev == own.st_dev && found.st_ino == own.st_ino &&
        close(fd) == 0)
      count++;
  return count;
}

TEST(it_is_lost_when_the_program_has_another_file_in_its_place)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *outer, *inner;
  char path[] = "/tmp/dibs-own-XXXXXX", why[128];
  int own = mkstemp(path), other = open(path, O_RDWR | O_CLOEXEC);

  assert_true(own >= 0 && other >= 0);
  test_server_kill9(live_server);
  outer = live_lock_with(a, "x", &o);
  inner = live_lock_with(a, "x", &o);
  assert_int_equal(kind_of(outer), DIBS_DURABLE_LOCAL);
  assert_int_equal(flock(own, LOCK_EX), 0);
  assert_int_equal(replace_files(own), 2);
  assert_true(live_until(LIVE_LONG_MS, is_gone, outer));
  assert_true(live_until(LIVE_LONG_MS, is_gone, inner));
  assert_int_equal(dibs_hold_why(outer, why, sizeof(why)), DIBS_OK);
  assert_non_null(strstr(why, "the program closed it"));
  assert_int_equal(live_try(b, "x"), DIBS_OK);
  assert_int_equal(dibs_release(inner), DIBS_LOST);
  assert_int_equal(dibs_release(outer), DIBS_LOST);
  assert_int_equal(live_try(a, "x"), DIBS_OK);
  assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);   /* the library did not unlock it, */
  assert_int_equal(close_all_of(path), 4);                 /* and has closed none of them */
  (void)unlink(path);
  test_server_restart(live_server, false);
}

/* The file of the only name, in `ret_path`; "": there is none. */
static bool file_find(char ret_path[256])
{
  DIR *directory;
  const struct dirent *entry;

  (void)snprintf(ret_path, 256, "%s/locks", runtime);
  directory = opendir(ret_path);
  ret_path[0] = 0;
  while (directory != NULL && (entry = readdir(directory)) != NULL)
    if (entry->d_name[0] != '.')
      (void)snprintf(ret_path, 256, "%s/locks/%.64s", runtime, entry->d_name);
  (void)closedir(directory);
  return ret_path[0] != 0;
}

static bool is_a_file_there(void *path)
{
  return file_find(path);
}

TEST(a_lease_keeps_them_out_by_the_new_file)
{
  dibs_hold *lease;
  char path[256];

  remove_files();
  lease = lease_of(a, "x", TTL_MS);
  remove_files();
  assert_true(live_until(LIVE_LONG_MS, is_a_file_there, path));
  test_server_kill9(live_server);
  live_refused(live_try(b, "x"), DIBS_BUSY);
  assert_int_not_equal(dibs_hold_state(lease), DIBS_HOLD_GONE);
  assert_int_equal(dibs_release_async(lease, NULL, NULL), DIBS_OK);
  assert_int_equal(live_try(b, "x"), DIBS_OK);
  test_server_restart(live_server, false);
}

/* Another process creates the file and locks it before the lease's client looks. */
TEST(or_is_lost_if_another_process_has_the_new_file)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_loss loss = { 0 };
  dibs_hold *lease;
  char path[256], other[272];
  int fd;

  remove_files();
  assert_true(live_until(LIVE_LONG_MS, is_up, a));
  live_report_loss(&o, &loss);
  lease = live_lock_with(a, "x", &o);
  assert_true(file_find(path));
  (void)snprintf(other, sizeof(other), "%s.new", path);
  fd = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
  assert_int_equal(rename(other, path), 0);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(atomic_load(&loss.why), DIBS_LOST);
  live_refused(live_try(b, "x"), DIBS_BUSY);
  assert_int_equal(dibs_release(lease), DIBS_LOST);
  live_refused(live_try(b, "x"), DIBS_BUSY);
  (void)close(fd);
  assert_int_equal(live_try(b, "x"), DIBS_OK);       /* the lease was released */
  assert_int_equal(atomic_load(&loss.count), 1);
}

/* systemd-tmpfiles removes old files of /tmp, locked ones too, but none with the sticky bit. */
TEST(files_are_marked_as_not_to_be_removed)
{
  dibs_hold *hold;
  char path[64];
  DIR *directory;
  const struct dirent *entry;
  struct stat found;
  unsigned marked = 0;

  remove_files();
  hold = live_lock(a, "x", TTL_MS);
  (void)snprintf(path, sizeof(path), "%s/locks", runtime);
  directory = opendir(path);
  assert_non_null(directory);
  while ((entry = readdir(directory)) != NULL)
    if (entry->d_name[0] != '.') {
      assert_int_equal(fstatat(dirfd(directory), entry->d_name, &found, AT_SYMLINK_NOFOLLOW), 0);
      assert_int_equal(found.st_mode & 07777, S_ISVTX | 0600);
      marked++;
    }
  (void)closedir(directory);
  assert_int_equal(marked, 1);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

RUN_TESTS_EACH(group_setup, group_teardown, setup, teardown)
