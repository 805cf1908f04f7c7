/* SPDX-License-Identifier: MIT */
/* api/probe.h - static probes (USDT) for bpftrace, perf, SystemTap and gdb, fired where noting.c
 * learns what happens to a claim. doc/guide/what-is-going-on.md lists them.
 *
 * A tracer adds to the semaphore of a probe while it traces it. While none does, a probe costs a
 * look at that number; built without sys/sdt.h, nothing. */
#ifndef API_PROBE_H
#define API_PROBE_H

#include "api/api.h"

#ifdef HAVE_PROBES
#define PROBE_SEMAPHORE(probe) \
  extern volatile unsigned short dibs_##probe##_semaphore __attribute__((visibility("hidden")))
PROBE_SEMAPHORE(acquire__start);
PROBE_SEMAPHORE(granted);
PROBE_SEMAPHORE(renewed);
PROBE_SEMAPHORE(lost);
PROBE_SEMAPHORE(released);
#define PROBE_IS_ON(probe) __builtin_expect(dibs_##probe##_semaphore != 0, false)
#else
#define PROBE_IS_ON(probe) false
#endif

/* `cl->note` is as before a change by src/fleet/. */
void probe_acquire_start(const claim *cl);
void probe_granted(const claim *cl);
void probe_renewed(const claim *cl, instant now);
void probe_lost(const claim *cl, instant now);
void probe_released(const claim *cl, instant now);

#endif
