/* SPDX-License-Identifier: MIT */
/* flash_sale - eight processes of four threads sell 1000 lamps: without a lock, with
 * dibs, and with dibs while a process is killed and another one frozen. */
#include "flash_sale.h"

#include <stdio.h>
#include <stdlib.h>

#include "sellers.h"

static void sell_without_lock(seller *s)
{
  while (shop_stock(s->lamps) > 0) {
    pause_ms(THINK_MS);
    shop_sell(s->lamps);
    tell(s, (event){ .kind = EVENT_SOLD });
  }
}

bool act_without_lock(const char *url, shop *lamps)
{
  int64_t begin = now_ns();
  long sold = 0;
  sale run;
  event e;

  printf("\n1. Without a lock: look at the stock, think for %d ms, take one.\n", THINK_MS);
  shop_fill(lamps, ITEMS);
  sale_open(&run, url, sell_without_lock);
  while (sale_next(&run, &e))
    sold += e.kind == EVENT_SOLD;
  sale_close(&run);
  printf("   sold %ld lamps of %d, %.1f s: %ld customers will get a letter of apology\n",
         sold, ITEMS, (double)(now_ns() - begin) / 1e9, sold - ITEMS);
  return true;
}

static void sell_with_lock(seller *s)
{
  long stock = 1;

  while (stock > 0) {
    dibs_hold *hold = NULL;
    dibs_status status = dibs_lock(s->client, "lamp", NULL, &hold);

    if (status != DIBS_OK) {
      tell(s, (event){ .kind = EVENT_FAULT, .status = (int32_t)status });
      return;
    }
    tell(s, (event){ .kind = EVENT_GRANTED, .fence = dibs_hold_fence(hold) });
    stock = shop_stock(s->lamps);
    if (stock > 0) {
      pause_ms(THINK_MS);
      shop_sell(s->lamps);
      tell(s, (event){ .kind = EVENT_SOLD });
    }
    status = dibs_release(hold);
    if (status != DIBS_OK)
      tell(s, (event){ .kind = EVENT_FAULT, .status = (int32_t)status });
  }
}

typedef struct times {
  int64_t ns[ITEMS + SELLERS];
  size_t count;
} times;

/* What the second act counts. */
typedef struct counts {
  long sold, faults, shares[PROCESSES];
  int64_t first_ns, last_ns;
  times inside, between;   /* hand-offs inside a process, and between two */
  int released_by;
} counts;

static void add_time(times *t, int64_t ns)
{
  if (t->count < sizeof(t->ns) / sizeof(*t->ns))
    t->ns[t->count++] = ns;
}

/* A hand-off is the time from the call of dibs_release() to the moment when the next
 * dibs_lock() has returned, wherever that is. */
static void count(counts *c, const event *e)
{
  if (e->kind == EVENT_FAULT) {
    fprintf(stderr, "   dibs said %s\n", dibs_status_name((dibs_status)e->status));
    c->faults++;
  }
  if (e->kind == EVENT_GRANTED) {
    if (c->first_ns == 0)
      c->first_ns = e->at_ns;
    if (c->last_ns > 0)
      add_time(e->process == c->released_by ? &c->inside : &c->between,
               e->at_ns - c->last_ns);
    c->last_ns = 0;
  }
  if (e->kind == EVENT_SOLD) {
    c->sold++;
    c->shares[e->process]++;
    c->last_ns = e->at_ns;
    c->released_by = e->process;
  }
}

static int compare_times(const void *left, const void *right)
{
  int64_t a = *(const int64_t *)left;
  int64_t b = *(const int64_t *)right;

  return (a > b) - (a < b);
}

static void print_times(const char *where, times *t)
{
  if (t->count == 0)
    return;
  qsort(t->ns, t->count, sizeof(*t->ns), compare_times);
  printf("     %4zu %s: median %.0f us, 99%% within %.0f us\n", t->count, where,
         (double)t->ns[t->count / 2] / 1e3, (double)t->ns[t->count * 99 / 100] / 1e3);
}

bool act_with_lock(const char *url, shop *lamps)
{
  counts *c = calloc(1, sizeof(*c));
  int64_t end_ns = 0;
  bool is_exact;
  sale run;
  event e;

  if (c == NULL)
    return false;
  printf("\n2. The same between dibs_lock() and dibs_release().\n");
  shop_fill(lamps, ITEMS);
  sale_open(&run, url, sell_with_lock);
  while (sale_next(&run, &e)) {
    count(c, &e);
    if (e.kind == EVENT_SOLD)
      end_ns = e.at_ns;
  }
  sale_close(&run);
  is_exact = c->sold == ITEMS && shop_stock(lamps) == 0 && c->faults == 0;
  printf("   sold %ld lamps of %d%s, %.1f s, %.0f orders per second\n", c->sold, ITEMS,
         is_exact ? ", exactly" : ": THIS IS WRONG", (double)(end_ns - c->first_ns) / 1e9,
         (double)c->sold * 1e9 / (double)(end_ns - c->first_ns));
  printf("   hand-offs, from the release to the moment when the next one has it:\n");
  print_times("to another process", &c->between);
  print_times("to a thread of the same process", &c->inside);
  printf("   share of each process:");
  for (int i = 0; i < PROCESSES; i++)
    printf(" %ld", c->shares[i]);
  printf("\n");
  free(c);
  return is_exact;
}

int main(void)
{
  dibs_client *client = NULL;
  dibs_client_info info = DIBS_CLIENT_INFO_INIT;
  dibs_error error = DIBS_ERROR_INIT;
  bool is_good;
  uint64_t ping_us;
  char url[512];
  shop *lamps;

  setvbuf(stdout, NULL, _IOLBF, 0);
  /* The server that dibs uses is the one that has the stock. */
  if (dibs_open(NULL, NULL, &client, &error) != DIBS_OK) {
    fprintf(stderr, "flash_sale: %s\n", error.text);
    return 1;
  }
  if (dibs_ping(client, 0, &ping_us) != DIBS_OK) {
    (void)dibs_client_error(client, 0, &error);
    fprintf(stderr, "flash_sale: %s\n", error.text);
    return 1;
  }
  (void)dibs_client_get_info(client, &info);
  snprintf(url, sizeof(url), "%s", info.url);
  client = dibs_close(client); /* before any fork: each process opens its own */
  lamps = shop_open(url);
  printf("A flash sale: %d lamps, %d processes with %d threads each.\n"
         "The stock lies in Redis, on %s.\n",
         ITEMS, PROCESSES, THREADS, url);
  is_good = act_without_lock(url, lamps);
  is_good = act_with_lock(url, lamps) && is_good;
  is_good = act_accidents(url, lamps) && is_good;
  shop_close(lamps);
  return is_good ? 0 : 1;
}
