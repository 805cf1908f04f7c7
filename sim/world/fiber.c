/* SPDX-License-Identifier: MIT */
/* Stacks with a page below them that may not be touched, kept for the next fiber: a world
 * is made and ended thousands of times in a run. */
#include "world/fiber.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* As large as a thread's usually is: untouched pages cost nothing. */
enum { STACK_BYTES = 8 << 20, PAGE_BYTES = 4096, KEPT_MAX = 256 };

struct fiber {
  ucontext_t inside, outside;
  char *stack;
  void (*run)(void *data);
  void *data;
  bool has_ended;
  /* What AddressSanitizer wants to know of the stack that is left. */
  void *shadow;
  const void *outer_stack;
  size_t outer_size;
};

static char *kept[KEPT_MAX];
static int kept_count;
static fiber *entering;            /* makecontext() passes ints only */

static char *stack_new(void)
{
  char *stack;

  if (kept_count > 0)
    return kept[--kept_count];
  stack = mmap(NULL, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, PAGE_BYTES, PROT_NONE) != 0) {
    (void)fputs("dibs-sim: no memory for a stack\n", stderr);
    abort();
  }
  return stack;
}

static void stack_free(char *stack)
{
#ifdef HAS_ASAN
  ASAN_UNPOISON_MEMORY_REGION(stack + PAGE_BYTES, STACK_BYTES);
#endif
  if (kept_count < KEPT_MAX)
    kept[kept_count++] = stack;
  else
    (void)munmap(stack, STACK_BYTES + PAGE_BYTES);
}

static void leaving(fiber *f)
{
#ifdef HAS_ASAN
  __sanitizer_start_switch_fiber(f->has_ended ? NULL : &f->shadow, f->outer_stack,
                                 f->outer_size);
#else
  (void)f;
#endif
}

static void arrived(fiber *f)
{
#ifdef HAS_ASAN
  __sanitizer_finish_switch_fiber(f->shadow, &f->outer_stack, &f->outer_size);
#else
  (void)f;
#endif
}

static void begin(void)
{
  fiber *f = entering;

  arrived(f);
  f->run(f->data);
  f->has_ended = true;
  leaving(f);
  (void)setcontext(&f->outside);
  abort();
}

fiber *fiber_new(void (*run)(void *data), void *data)
{
  fiber *f = calloc(1, sizeof(*f));

  if (f == NULL || getcontext(&f->inside) != 0) {
    (void)fputs("dibs-sim: no memory for a thread\n", stderr);
    abort();
  }
  f->run = run;
  f->data = data;
  f->stack = stack_new();
  f->inside.uc_stack.ss_sp = f->stack + PAGE_BYTES;
  f->inside.uc_stack.ss_size = STACK_BYTES;
  f->inside.uc_link = NULL;
  makecontext(&f->inside, begin, 0);
  return f;
}

bool fiber_enter(fiber *f)
{
#ifdef HAS_ASAN
  void *shadow = NULL;

  __sanitizer_start_switch_fiber(&shadow, f->stack + PAGE_BYTES, STACK_BYTES);
#endif
  entering = f;
  (void)swapcontext(&f->outside, &f->inside);
#ifdef HAS_ASAN
  __sanitizer_finish_switch_fiber(shadow, NULL, NULL);
#endif
  return f->has_ended;
}

void fiber_leave(fiber *f)
{
  leaving(f);
  (void)swapcontext(&f->inside, &f->outside);
  arrived(f);
}

fiber *fiber_free(fiber *f)
{
  if (f == NULL)
    return NULL;
  stack_free(f->stack);
  free(f);
  return NULL;
}
