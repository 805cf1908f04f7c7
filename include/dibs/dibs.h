/* SPDX-License-Identifier: MIT */
/* dibs/dibs.h - distributed locks and synchronizers on Redis and Valkey: all of it. The pages that
 * the headers name, doc/guide/... and doc/design/..., are installed in share/doc/dibs/. */
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
#include <dibs/version.h>

#endif
