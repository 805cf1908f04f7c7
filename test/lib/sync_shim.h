/* SPDX-License-Identifier: MIT */
/* test/lib/sync_shim.h - what a server and a test that cuts its power tell each other: a file
 * that both map, of what a disk would surely have kept. */
#ifndef TEST_SYNC_SHIM_H
#define TEST_SYNC_SHIM_H

#include <stdint.h>

/* The environment variable with the path of the file. */
#define SYNC_SHIM_FILE "DIBS_TEST_SYNCED"

enum { SYNC_SHIM_FILES = 64 };

struct sync_shim {
  _Atomic int32_t disk_ms;          /* written by the test: as it is, or what a sync takes */
  /* Written by the server only. A file never synced has no entry. */
  struct {
    _Atomic uint64_t inode;         /* 0: free */
    _Atomic int64_t synced_bytes;   /* its size when the last fsync that came back began */
  } files[SYNC_SHIM_FILES];
};

#endif
