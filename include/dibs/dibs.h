/* SPDX-License-Identifier: MIT */
/* dibs/dibs.h - distributed locks and synchronizers on Redis and Valkey: all of it. Declarations
 * only: a program that calls functions of map.h, list.h, set.h or data.h links libdibs-data, too;
 * others do not need it. The pages that the headers name, doc/guide/... and doc/design/..., are
 * installed in share/doc/dibs/.
 *
 * Where to begin: one program at a time, with a limit of the wait: dibs_lock() (lock.h). A report
 * of a loss: on_lost of dibs_lock_options, or dibs_hold_fd(). In your own loop: dibs_fd(),
 * dibs_process(), dibs_lock_async() (async.h). At most three at a time: DIBS_PERMIT_OF()
 * (semaphore.h). One leader: DIBS_LEAD() (election.h). Everything else that can be held:
 * dibs_acquire() (acquire.h). */
#ifndef DIBS_DIBS_H
#define DIBS_DIBS_H

#include <dibs/acl.h>
#include <dibs/acquire.h>
#include <dibs/async.h>
#include <dibs/barrier.h>
#include <dibs/client.h>
#include <dibs/data.h>
#include <dibs/doctor.h>
#include <dibs/election.h>
#include <dibs/fleet.h>
#include <dibs/guard.h>
#include <dibs/inspect.h>
#include <dibs/latch.h>
#include <dibs/list.h>
#include <dibs/local.h>
#include <dibs/lock.h>
#include <dibs/log.h>
#include <dibs/many.h>
#include <dibs/map.h>
#include <dibs/metrics.h>
#include <dibs/names.h>
#include <dibs/rate.h>
#include <dibs/rwlock.h>
#include <dibs/semaphore.h>
#include <dibs/set.h>
#include <dibs/status.h>
#include <dibs/value.h>
#include <dibs/version.h>

#endif
