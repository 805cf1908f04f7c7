/* SPDX-License-Identifier: MIT */
/* test/fault/scenarios.c - the list of all scenarios. */
#include "scenario.h"

#include <stddef.h>

extern const struct scenario f00_no_fault, f01_holder_killed;
extern const struct scenario f02_holder_stopped, f03_late_writer, f04_server_emptied;
extern const struct scenario f05_killed_everysec, f05_killed_always, f05_killed_slow;
extern const struct scenario f06_power_everysec, f06_power_always;
extern const struct scenario f07_server_stopped, f08_server_busy;
extern const struct scenario f18_clock_steps, f18_clock_beyond;
extern const struct scenario f23_memory_full, f23_evictions;
extern const struct scenario f24_disk_everysec, f24_disk_always, f33_starved;
extern const struct scenario f09_letters, f10_holder, f10_connection, f10_subscriber;
extern const struct scenario f11_slow_network;
extern const struct scenario f25_disturbed, f25_emptied, f25_permissions, f28_crowd;
extern const struct scenario f29_fork, f29_storm, f29_callbacks;
extern const struct scenario f30_descriptors, f30_memory, f30_resolver, f30_threads, f31_hostile;
extern const struct scenario f34_publisher;

extern const struct scenario f12_killed, f12_killed_strong, f13_black, f13_black_guarded;
extern const struct scenario f17_stepped, f18_skewed, f18_skewed_strong;
extern const struct scenario f14_plain, f14_replicas, f14_strong;
extern const struct scenario f15_one_way, f16_ring, f19_plain, f19_guarded;
extern const struct scenario f26_plain, f26_guarded;
extern const struct scenario f27_minority, f27_emptied_plain, f27_emptied_guarded;
extern const struct scenario f32_tls;
extern const struct scenario f20_reshard, f21_half, f21_target, f22_atomic;

const struct scenario *const all_scenarios[] = {
  &f00_no_fault,
  &f01_holder_killed,
  &f02_holder_stopped,
  &f03_late_writer,
  &f04_server_emptied,
  &f05_killed_everysec,
  &f05_killed_always,
  &f05_killed_slow,
  &f06_power_everysec,
  &f06_power_always,
  &f07_server_stopped,
  &f08_server_busy,
  &f09_letters,
  &f10_holder,
  &f10_connection,
  &f10_subscriber,
  &f11_slow_network,
  &f12_killed,
  &f12_killed_strong,
  &f13_black,
  &f13_black_guarded,
  &f14_plain,
  &f14_replicas,
  &f14_strong,
  &f15_one_way,
  &f16_ring,
  &f17_stepped,
  &f18_clock_steps,
  &f18_clock_beyond,
  &f18_skewed,
  &f18_skewed_strong,
  &f19_plain,
  &f19_guarded,
  &f20_reshard,
  &f21_half,
  &f21_target,
  &f22_atomic,
  &f23_memory_full,
  &f23_evictions,
  &f24_disk_everysec,
  &f24_disk_always,
  &f25_disturbed,
  &f25_emptied,
  &f25_permissions,
  &f26_plain,
  &f26_guarded,
  &f27_minority,
  &f27_emptied_plain,
  &f27_emptied_guarded,
  &f28_crowd,
  &f29_fork,
  &f29_storm,
  &f29_callbacks,
  &f30_descriptors,
  &f30_memory,
  &f30_resolver,
  &f30_threads,
  &f31_hostile,
  &f32_tls,
  &f33_starved,
  &f34_publisher,
  NULL
};
