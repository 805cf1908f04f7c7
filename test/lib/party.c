/* SPDX-License-Identifier: MIT */
/* test/lib/party.c - see party.h. */
#include "tests.h"
#include "party.h"

#include <stdio.h>
#include <string.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void party_fault(const char *what, dibs_status status)
{
  (void)fprintf(stderr, "# party %d: %s: %s\n", (int)getpid(), what, dibs_status_name(status));
  if (status != DIBS_OK)
    live_fault("%s: %s", what, dibs_status_name(status));
}

static dibs_status take(dibs_client *c, struct want want, int wait_ms, dibs_hold **ret)
{
  dibs_lock_options o = live_lock_options(60000, wait_ms);
  char one[2] = { want.name[0], 0 }, two[2] = { want.name[0] != 0 ? want.name[1] : 0, 0 };
  const char *names[] = { one, two };

  switch (want.kind) {
  case 'r':
    return dibs_acquire(c, DIBS_READ(want.name), &o, ret);
  case 'w':
    return dibs_acquire(c, DIBS_WRITE(want.name), &o, ret);
  case 'p':
    return dibs_acquire(c, DIBS_PERMITS(want.name, 1), &o, ret);
  case 'm':
    return acquire_names(c, names, 2, &o, ret);
  default:
    return dibs_lock(c, want.name, &o, ret);
  }
}

static void order_await(const struct party *p)
{
  char byte;

  if (read(p->orders[0], &byte, 1) != 1)
    party_fault("no order", DIBS_UNKNOWN);
}

static void report_make(const struct party *p, dibs_client *c, dibs_status status,
                        int64_t since_ms)
{
  struct report r = { .status = status, .after_ms = live_now_ms() - since_ms };
  dibs_error error = DIBS_ERROR_INIT;

  (void)dibs_client_error(c, 0, &error);
  (void)snprintf(r.text, sizeof(r.text), "%s", error.text);
  if (write(p->reports[1], &r, sizeof(r)) != (ssize_t)sizeof(r))
    party_fault("no report", DIBS_UNKNOWN);
}

/* Takes the first, says so; wants the second when told to, says how it went; lets go of all
 * when told to. */
static void party_run(const struct party *p, dibs_client *c)
{
  dibs_hold *first = NULL, *second = NULL;
  dibs_status status = take(c, p->first, 5000, &first);
  int64_t since_ms;

  report_make(p, c, status, live_now_ms());
  order_await(p);
  since_ms = live_now_ms();
  status = take(c, p->second, p->wait_ms > 0 ? p->wait_ms : LIVE_LONG_MS, &second);
  report_make(p, c, status, since_ms);
  order_await(p);
  if (second != NULL)
    (void)dibs_release(second);
  (void)dibs_release(first);
}

static void *party_thread(void *data)
{
  const struct party *p = data;

  party_run(p, p->client);
  return NULL;
}

static void party_process(const struct party *p)
{
  dibs_options o = live_options();
  dibs_client *c = NULL;
  dibs_status status;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  o.flags = p->flags;
  status = dibs_open(p->url != NULL ? p->url : live_url(), &o, &c, NULL);
  if (status == DIBS_OK)
    party_run(p, c);
  else
    party_fault("open", status);
  c = dibs_close(c);
  _exit(0);
}

/* ---- what tests do with them ---- */

struct report party_report(const struct party *p)
{
  struct report r = { .status = DIBS_ERR_SYSTEM };

  assert_int_equal(read(p->reports[0], &r, sizeof(r)), sizeof(r));
  return r;
}

void party_start(struct party *p)
{
  assert_int_equal(pipe(p->orders), 0);
  assert_int_equal(pipe(p->reports), 0);
  (void)fflush(NULL);
  if (p->client != NULL) {
    assert_int_equal(pthread_create(&p->thread, NULL, party_thread, p), 0);
  } else {
    p->pid = fork();
    assert_true(p->pid >= 0);
    if (p->pid == 0)
      party_process(p);
  }
  assert_int_equal(party_report(p).status, DIBS_OK);
}

void party_order(const struct party *p)
{
  assert_int_equal(write(p->orders[1], "x", 1), 1);
}

/* Of all servers that have keys: what `script` counts there. */
static long long sum_of(const char *script)
{
  long long sum = 0;

  for (int i = 0; i < live_server_count(); i++)
    sum += test_server_integer(live_server_at(i), "EVAL %s 0", script);
  return sum;
}

/* Who waits: in the queues of the server, or among the threads of its client. */
static long long waiting(const struct party *p)
{
  if (p->client != NULL)
    return (long long)live_stats(p->client).waiting;
  return sum_of(
    "local count = 0 "
    "for _, key in ipairs(redis.call('KEYS', 'dibs:m:*')) do "
    "  if redis.call('TYPE', key).ok == 'hash' then "
    "    for _, field in ipairs(redis.call('HKEYS', key)) do "
    "      count = count + (field:match('^w%d') and 1 or 0) "
    "    end "
    "  end "
    "end "
    "return count");
}

struct waiting_more { const struct party *party; long long than; };

static bool is_waiting_more(void *data)
{
  const struct waiting_more *more = data;

  return waiting(more->party) > more->than;
}

void party_want(const struct party *p)
{
  struct waiting_more more = { p, waiting(p) };

  party_order(p);
  assert_true(live_until(LIVE_LONG_MS, is_waiting_more, &more));
  (void)usleep(20000);
}

void party_end(struct party *p)
{
  int status = 0;

  party_order(p);
  if (p->client != NULL) {
    assert_int_equal(pthread_join(p->thread, NULL), 0);
  } else {
    assert_int_equal(promise_waitpid(p->pid, &status, 0), p->pid);
    assert_int_equal(status, 0);
  }
  for (int i = 0; i < 2; i++) {
    (void)close(p->orders[i]);
    (void)close(p->reports[i]);
  }
}

void party_ring(struct party *parties, int count, uint32_t flags)
{
  static const char *const names[] = { "ring-a", "ring-b", "ring-c", "ring-d" };

  for (int i = 0; i < count; i++)
    parties[i] = (struct party){ .first = { 'x', names[i] },
                                 .second = { 'x', names[(i + 1) % count] }, .flags = flags };
}

int party_tellers(void)
{
  return (int)sum_of(
    "local count = 0 "
    "for _, key in ipairs(redis.call('KEYS', 'dibs:client:*')) do "
    "  count = count + redis.call('HEXISTS', key, 'owners') "
    "end "
    "return count");
}

bool party_tellers_are(void *count)
{
  return party_tellers() == *(const int *)count;
}

void party_permits_set(const char *name, uint32_t permits)
{
  dibs_client *c = live_open(live_url());

  live_expect(c, dibs_semaphore_set(c, dibs_text(name), permits, 0, NULL), DIBS_OK);
  (void)dibs_close(c);
}
