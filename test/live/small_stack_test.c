/* SPDX-License-Identifier: MIT */
/* test/live/small_stack_test.c - all kinds and dialects in a thread of 64 KiB. Its client has no
 * thread, so that renewals, reports and the reading of a cluster's slots run there, too. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deployment.h"
#include "every_call.h"

/* A frame larger than the guard would skip it, and write to what lies below. */
enum { STACK_BYTES = 65536, GUARD_BYTES = 1 << 20 };
enum { TTL_MS = 3000, HOLDS_MAX = 128, SET_SIZE = 100 };

static pthread_attr_t small;

/* What is left of this thread's stack. */
static size_t stack_left(void)
{
  pthread_attr_t own;
  size_t size = 0;
  void *end = NULL;

  if (pthread_getattr_np(pthread_self(), &own) != 0)
    return 0;
  (void)pthread_attr_getstack(&own, &end, &size);
  (void)pthread_attr_destroy(&own);
  return (size_t)((char *)__builtin_frame_address(0) - (char *)end);
}

static void *stack_left_run(void *ret_left)
{
  *(size_t *)ret_left = stack_left();
  return NULL;
}

/* Thread-local variables of this program, which are large, are on the stack of a thread. */
static size_t size_of_small(void)
{
  enum { TRY_BYTES = 16 << 20 };         /* glibc does not use it again for a small one */
  pthread_attr_t attributes;
  pthread_t thread;
  size_t left = 0;

  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, TRY_BYTES), 0);
  assert_int_equal(pthread_create(&thread, &attributes, stack_left_run, &left), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  (void)pthread_attr_destroy(&attributes);
  return STACK_BYTES + TRY_BYTES - left;
}

static void run_small(void *(*run)(void *data), void *data)
{
  int faults = live_faults();
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, &small, run, data), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(live_faults() - faults, 0);
}

static bool is_as(dibs_status status, dibs_status wanted, const char *what)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (status == wanted)
    return true;
  (void)dibs_client_error(NULL, 0, &error);
  live_fault("%s: %s %s", what, dibs_status_name(status), error.text);
  return false;
}

/* ---- TLS ---- */

static struct test_server *tls;

static void use_by_tls(uint32_t flags, const char *ca, dibs_status wanted)
{
  dibs_options o = live_options();
  dibs_client *c = NULL;

  o.flags |= flags;
  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  o.ca_file = ca;
  o.cert_file = test_server_client_certificate(tls);
  o.key_file = test_server_client_key(tls);
  if (!is_as(dibs_open(test_server_tcp_url(tls), &o, &c, NULL), DIBS_OK, "open"))
    return;
  (void)is_as(dibs_ping(c, LIVE_LONG_MS, NULL), wanted, "ping");
  if (wanted == DIBS_OK)
    (void)is_as(live_try(c, "tls"), DIBS_OK, "try");
  c = dibs_close(c);
}

/* What is refused is read again, and tried a second time. */
static void *use_tls(void *data)
{
  (void)data;
  use_by_tls(DIBS_CLIENT_NO_THREAD, test_server_ca(tls), DIBS_OK);
  use_by_tls(0, test_server_ca(tls), DIBS_OK);
  use_by_tls(DIBS_CLIENT_NO_THREAD, test_server_foreign_ca(tls), DIBS_ERR_TLS);
  use_by_tls(DIBS_CLIENT_NO_THREAD, NULL, DIBS_ERR_TLS);
  return NULL;
}

/* Runs first: OpenSSL prepares itself in the first call of a process. */
TEST(the_first_handshake_of_tls_fits)
{
  const struct test_server_options server = { .has_tls = true, .wants_client_certificate = true };

  if (!test_servers_speak_tls())
    skip();
  tls = test_server_start_with(&server);
  run_small(use_tls, NULL);
  tls = test_server_stop(tls);
}

/* ---- kinds ---- */

struct place {
  const char *url;
  dibs_dialect dialect;
  bool has_shares, has_sets, has_more;   /* kinds of the dialect and of the deployment */
};

struct holds {
  dibs_client *client;
  dibs_hold *all[HOLDS_MAX];
  size_t count;
};

static char long_name[DIBS_NAME_MAX - 8];
static char set_names[SET_SIZE][16];
static const char *set[SET_SIZE];

/* Of the hold that was written to h->all[h->count]. */
static void keep(struct holds *h, dibs_status status, const char *what)
{
  h->count += is_as(status, DIBS_OK, what) ? 1 : 0;
}

static void take_exclusive(struct holds *h)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  char name[16];

  keep(h, dibs_lock(h->client, long_name, &o, &h->all[h->count]), "a long name");
  for (int i = 0; i < 20; i++) {
    (void)snprintf(name, sizeof(name), "lock/%d", i);
    keep(h, dibs_lock(h->client, name, &o, &h->all[h->count]), name);
  }
}

static void take_shares(struct holds *h)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  char name[16];

  for (int i = 0; i < 40; i++) {
    dibs_hold **next = &h->all[h->count];

    (void)snprintf(name, sizeof(name), "share/%d", i);
    keep(h, i % 4 == 0 ? dibs_acquire(h->client, DIBS_WRITE(name), &o, next)
                       : dibs_acquire(h->client, DIBS_READ(name), &o, next), name);
  }
  if (is_as(dibs_semaphore_set(h->client, dibs_text("permits"), 8, DIBS_SEMAPHORE_IF_ABSENT,
                               NULL), DIBS_OK, "semaphore"))
    keep(h, dibs_acquire(h->client, DIBS_PERMITS("permits", 2), &o, &h->all[h->count]),
         "permits");
}

static void take_set(struct holds *h)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  keep(h, acquire_names(h->client, set, SET_SIZE, &o, &h->all[h->count]), "set");
}

static void use_more(dibs_client *c)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;
  dibs_inspection *seen = NULL;

  if (!is_as(dibs_acquire(c, DIBS_LEAD("election", "v"), &o, &hold), DIBS_OK, "campaign"))
    return;
  (void)is_as(dibs_guarded_hset(c, "g", dibs_hold_fence(hold), &field, 1), DIBS_OK, "hset");
  (void)is_as(dibs_guarded_hdel(c, "g", dibs_hold_fence(hold), two, 2), DIBS_OK, "hdel");
  (void)is_as(dibs_publish(hold, "w"), DIBS_OK, "publish");
  (void)is_as(dibs_inspect(c, dibs_text("election"), &seen), DIBS_OK, "inspect");
  seen = dibs_inspection_free(seen);
  (void)is_as(dibs_release(hold), DIBS_OK, "resign");
}

/* On a busy machine one may be lost: no matter here. */
static bool all_renewed(void *data)
{
  const struct holds *h = data;
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;

  (void)dibs_process(h->client, NULL);
  return dibs_client_get_info(h->client, &stats) == DIBS_OK &&
         (stats.renewed >= h->count || stats.lost > 0);
}

static void on_line(const dibs_log_line *line, void *data)
{
  (void)line;
  (void)data;
}

static void *use_all_kinds(void *data)
{
  const struct place *p = data;
  dibs_options o = live_options();
  dibs_log_options log = DIBS_LOG_OPTIONS_INIT;
  struct holds h = { .count = 0 };

  o.dialect = p->dialect;
  o.registry = p->dialect == DIBS_DIALECT_SPRING ? "registry" : NULL;
  o.flags |= DIBS_CLIENT_NO_THREAD;
  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  if (!is_as(dibs_open(p->url, &o, &h.client, NULL), DIBS_OK, "open"))
    return NULL;
  log.level = DIBS_LOG_DEBUG;
  log.lines_max = DIBS_LOG_ALL;
  if (!is_as(dibs_client_set_log(h.client, &log, on_line, NULL, NULL), DIBS_OK, "log"))
    return NULL;
  take_exclusive(&h);
  if (p->has_shares)
    take_shares(&h);
  if (p->has_sets)
    take_set(&h);
  if (p->has_more)
    use_more(h.client);
  if (!live_until(LIVE_LONG_MS, all_renewed, &h))
    live_fault("no renewals");
  for (size_t i = 0; i < h.count; i++)
    (void)dibs_release(h.all[i]);
  h.client = dibs_close(h.client);       /* reports */
  return NULL;
}

TEST(all_kinds_of_all_dialects_fit)
{
  struct place places[] = { { live_url(), DIBS_DIALECT_NATIVE, true, true, true },
                            { live_url(), DIBS_DIALECT_REDISSON, true, false, false },
                            { live_url(), DIBS_DIALECT_SPRING, false, false, false },
                            { live_url(), DIBS_DIALECT_PLAIN, false, false, false } };

  live_needs_one_server();
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
    run_small(use_all_kinds, &places[i]);
    (void)test_server_command(live_server, "FLUSHALL");
  }
}

/* ---- deployments ---- */

static void *use_a_sandbox(void *data)
{
  dibs_sandbox_options o = DIBS_SANDBOX_OPTIONS_INIT;
  struct place p = { .dialect = DIBS_DIALECT_NATIVE };
  dibs_sandbox *sandbox = NULL;
  char url[512];
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status;

  o.kind = *(dibs_sandbox_kind *)data;
  p.has_shares = p.has_more = o.kind == DIBS_SANDBOX_CLUSTER;
  status = dibs_sandbox_start_with(&o, &sandbox, url, sizeof(url), &error);
  p.url = url;
  if (status == DIBS_OK)
    (void)use_all_kinds(&p);
  else if (status != DIBS_ERR_UNSUPPORTED)     /* built without */
    live_fault("sandbox: %s", error.text);
  sandbox = dibs_sandbox_stop(sandbox);
  return NULL;
}

TEST(sandboxes_of_several_servers_fit)
{
  dibs_sandbox_kind kinds[] = { DIBS_SANDBOX_CLUSTER, DIBS_SANDBOX_QUORUM };

  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    run_small(use_a_sandbox, &kinds[i]);
}

/* ---- every call ---- */

static void *use_row(void *data)
{
  struct trial *t = data;
  dibs_client *c = NULL;
  dibs_status status = dibs_open(t->url, t->options, &c, NULL);

  if (is_as(status, DIBS_OK, t->row->function))
    status = t->row->call(c, t);
  c = dibs_close(c);                     /* runs the callback */
  if (t->row->has_callback && status == DIBS_OK && !has_callback_run(t))
    live_fault("%s: its callback did not run", t->row->function);
  return NULL;
}

TEST(every_call_fits_that_gets_no_answer)
{
  static struct trial trials[ROW_COUNT];
  struct test_server *s = test_server_start();
  dibs_options o = live_options();
  int faults = live_faults();

  test_server_kill9(s);
  o.connect_timeout_ms = 100;
  o.flags |= DIBS_CLIENT_NO_THREAD;
  for (size_t i = 0; i < ROW_COUNT; i++)
    trials[i] = trial_of(i, test_server_tcp_url(s), &o);
  run_all_rows(trials, &small, use_row);
  s = test_server_stop(s);
  assert_int_equal(live_faults() - faults, 0);
}

/* ---- threads of the library ---- */

static void note_the_stack(const dibs_error *error, void *ending)
{
  if (stack_left() < 2 * STACK_BYTES)
    live_fault("a callback has a stack of %zu bytes", stack_left());
  live_note_ending(error, ending);
}

/* What `ulimit -s` sets for a program. */
TEST(library_threads_do_not_depend_on_the_default)
{
  struct live_ending ending = { .callbacks = 0 };
  int faults = live_faults();
  pthread_attr_t before;
  dibs_client *c;
  dibs_hold *hold;

  assert_int_equal(pthread_getattr_default_np(&before), 0);
  assert_int_equal(pthread_setattr_default_np(&small), 0);
  c = live_open(live_url());
  hold = live_lock(c, "r", 30000);
  live_expect(c, dibs_release_async(hold, note_the_stack, &ending), DIBS_OK);
  live_expect_ending(&ending, DIBS_OK);
  c = dibs_close(c);
  assert_int_equal(pthread_setattr_default_np(&before), 0);
  (void)pthread_attr_destroy(&before);
  assert_int_equal(live_faults() - faults, 0);
}

static int setup(void **state)
{
  memset(long_name, 'n', sizeof(long_name) - 1);
  for (int i = 0; i < SET_SIZE; i++) {
    (void)snprintf(set_names[i], sizeof(set_names[i]), "set/%d", i);
    set[i] = set_names[i];
  }
  (void)pthread_attr_init(&small);
  (void)pthread_attr_setstacksize(&small, size_of_small());
  (void)pthread_attr_setguardsize(&small, GUARD_BYTES);
  return every_call_setup(state);
}

RUN_TESTS(setup, live_server_teardown)
