/* SPDX-License-Identifier: MIT */
/* api/probe.c - see probe.h. */
#include "api/probe.h"

#ifdef HAVE_PROBES
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* The macros of sdt.h are not as clang wants them with -Wpedantic. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#define SEMAPHORE(probe) \
  volatile unsigned short dibs_##probe##_semaphore __attribute__((section(".probes")))
SEMAPHORE(acquire__start);
SEMAPHORE(granted);
SEMAPHORE(renewed);
SEMAPHORE(lost);
SEMAPHORE(released);
#else
#define DTRACE_PROBE3(provider, probe, a, b, c) ((void)(a), (void)(b), (void)(c))
#define DTRACE_PROBE4(provider, probe, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

/* The first name, and its class. */
static const char *names_of(const claim *cl, char ret_class[FLEET_CLASS_SIZE])
{
  const char *name = "";
  size_t size = 0;

  (void)claim_name(cl, 0, &name, &size);
  fleet_class_name(cl->client->servers.data.classes, name, size, ret_class);
  return name;
}

void probe_acquire_start(const claim *cl)
{
  char class_name[FLEET_CLASS_SIZE];
  const char *name = names_of(cl, class_name);

  DTRACE_PROBE3(dibs, acquire__start, name, class_name, cl->note.ttl_ms * 1000);
}

void probe_granted(const claim *cl)
{
  char class_name[FLEET_CLASS_SIZE];
  const char *name = names_of(cl, class_name);
  int64_t waited_us = span_to_us(instant_since(cl->note.granted, cl->note.began));

  DTRACE_PROBE4(dibs, granted, name, class_name, waited_us, cl->note_fence);
}

void probe_renewed(const claim *cl, instant now)
{
  char class_name[FLEET_CLASS_SIZE];
  const char *name = names_of(cl, class_name);
  instant until = { atomic_load(&cl->hold->valid_until_ns) };
  int64_t valid_us = span_to_us(instant_since(until, now));

  DTRACE_PROBE4(dibs, renewed, name, class_name, valid_us, cl->note_fence);
}

void probe_lost(const claim *cl, instant now)
{
  char class_name[FLEET_CLASS_SIZE];
  const char *name = names_of(cl, class_name);
  int64_t held_us = span_to_us(instant_since(now, cl->note.granted));

  DTRACE_PROBE4(dibs, lost, name, class_name, held_us, cl->note_fence);
}

void probe_released(const claim *cl, instant now)
{
  char class_name[FLEET_CLASS_SIZE];
  const char *name = names_of(cl, class_name);
  int64_t held_us = span_to_us(instant_since(now, cl->note.granted));

  DTRACE_PROBE4(dibs, released, name, class_name, held_us, cl->note_fence);
}
