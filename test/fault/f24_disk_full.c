/* SPDX-License-Identifier: MIT */
/* test/fault/f24_disk_full.c - F24: the disk of the append-only file is full. Synced each
 * second the server answers MISCONF until there is room; synced always it ends.
 *
 * The disk is a tmpfs in a mount namespace of this process alone: it is gone with the process
 * and its server, however they end. */
#include "scenario.h"
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lib/server_parts.h"

enum { TTL_MS = 1000 };

/* ---- the disk ---- */

static char disk[64], filler[96];

static void remove_disk(void)
{
  (void)umount2(disk, MNT_DETACH);
  (void)rmdir(disk);
}

static bool make_disk(struct world *w)
{
  test_directory_make(disk, sizeof(disk));
  (void)snprintf(filler, sizeof(filler), "%s/filler", disk);
  if (atexit(remove_disk) != 0 || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", disk, "tmpfs", 0, "size=16m,mode=700") != 0) {
    world_fail(w, "no disk of our own: %s", strerror(errno));
    return false;
  }
  return true;
}

static void fill_disk(void)
{
  static char bytes[4096];
  int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  size_t size = sizeof(bytes);

  while (fd >= 0 && size > 0) {
    ssize_t written = write(fd, bytes, size);

    if (written <= 0)
      size /= 2;
  }
  if (fd >= 0)
    (void)close(fd);
}

static void make_room(void)
{
  (void)unlink(filler);
}

static bool hire(struct world *w, const char *when)
{
  static const char *arguments[] = { "--dir", disk, "--appendonly", "yes", "--appendfsync",
                                     NULL, "--auto-aof-rewrite-min-size", "1mb", NULL };
  struct test_server_options options = { .arguments = arguments };
  struct plan plan = PLAN_INIT;

  if (!make_disk(w))
    return false;
  arguments[5] = when;
  world_server_options(w, &options);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 3000;
  plan.hold_us_max = TTL_MS * 600;
  plan.think_us = 3000;
  plan.wait_ms = 1000;
  plan.try_percent = 20;
  (void)world_hire(w, &plan, 5);
  return true;
}

/* ---- synced each second ---- */

static bool refuses(struct world *w, void *data)
{
  (void)data;
  return strncmp(test_server_command(world_server(w), "SET x y"), "MISCONF", 7) == 0;
}

static bool accepts(struct world *w, void *data)
{
  (void)data;
  return strcmp(test_server_command(world_server(w), "SET x y"), "OK") == 0;
}

static void run_everysec(struct world *w, const struct scale *scale)
{
  int lock = world_lock(w, 'm', "disk", 0);

  (void)scale;
  if (!hire(w, "everysec"))
    return;
  world_demand(w, "writes refused", 1);
  world_demand(w, "writes accepted again", 1);
  world_demand_overlap(w, 1);
  while (world_goes_on(w)) {
    int fault;

    (void)world_holder_of(w, lock, 3000);
    fault = world_fault_begin(w, FAULT_OTHER, EVERYBODY, NO_LOCK);
    fill_disk();
    if (world_until(w, 5000, refuses, NULL))
      world_mark(w, "writes refused");
    world_pass_ms(w, world_between(w, TTL_MS / 2, 2 * TTL_MS));
    make_room();
    if (world_until(w, 5000, accepts, NULL))
      world_mark(w, "writes accepted again");
    world_fault_end(w, fault);
    if (!world_wait_for_grants(w, 20, 5000))
      world_fail(w, "no work is done when there is room again");
  }
  (void)test_server_command(world_server(w), "DEL x");
}

const struct scenario f24_disk_everysec = {
  .id = "F24",
  .name = "a_server_that_cannot_write_its_file_keeps_nobody_waiting_and_recovers",
  .run = run_everysec,
  .skip_without = "root",
};

/* ---- synced always ---- */

static bool is_gone(struct world *w, void *data)
{
  (void)data;
  return strcmp(test_server_command(world_server(w), "PING"), "(gone)") == 0;
}

static void run_always(struct world *w, const struct scale *scale)
{
  int lock = world_lock(w, 'm', "disk", 0);

  (void)scale;
  if (!hire(w, "always"))
    return;
  world_demand(w, "ended by itself", 1);
  while (world_goes_on(w)) {
    int fault;

    (void)world_holder_of(w, lock, 3000);
    fault = world_fault_begin(w, FAULT_OTHER, EVERYBODY, NO_LOCK);
    fill_disk();
    if (world_until(w, 5000, is_gone, NULL))
      world_mark(w, "ended by itself");
    world_server_kill(w);
    world_pass_ms(w, world_between(w, 0, TTL_MS));
    make_room();
    world_server_start(w, true);
    world_fault_end(w, fault);
    if (!world_wait_for_grants(w, 20, 5000))
      world_fail(w, "no work is done when there is room again");
  }
}

const struct scenario f24_disk_always = {
  .id = "F24",
  .name = "a_server_that_ends_because_it_cannot_sync_keeps_every_lease",
  .run = run_always,
  .skip_without = "root",
};
