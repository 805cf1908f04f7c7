/* SPDX-License-Identifier: MIT */
/* stripes - one hot article, sold by four threads at once: its stock lies in eight segments
 * with a lock each, and dibs_stripe() says at which one a buyer begins. A sale looks first
 * and takes then; the lock makes that one, the fence makes it safe. */
#include <dibs/dibs.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARTICLE "example:stock"

enum { SEGMENTS = 8, IN_EACH = 20, SELLERS = 4, BUYERS_OF_EACH = 50 };

typedef struct seller {
  dibs_client *client;
  int id, sold;
  dibs_status status;
} seller;

/* A segment's lock and the key of its stock have the same name. */
static void name_segment(char *name, size_t size, unsigned number)
{
  (void)snprintf(name, size, ARTICLE "#%u", number);
}

static dibs_status fill(dibs_client *client, unsigned number)
{
  char segment[32], left[16];
  dibs_hold *hold = NULL;
  dibs_status status;

  name_segment(segment, sizeof(segment), number);
  (void)snprintf(left, sizeof(left), "%d", IN_EACH);
  status = dibs_lock(client, segment, NULL, &hold);
  if (status != DIBS_OK)
    return status;
  status = dibs_guarded_set(client, segment, dibs_hold_fence(hold), left, strlen(left), 0);
  (void)dibs_release(hold);
  return status;
}

/* One piece out of this segment, if it has one. */
static dibs_status sell_from(seller *s, unsigned number, bool *ret_sold)
{
  char segment[32];
  dibs_hold *hold = NULL;
  int64_t left = 0;
  dibs_status status;

  name_segment(segment, sizeof(segment), number);
  status = dibs_lock(s->client, segment, NULL, &hold);
  if (status != DIBS_OK)
    return status;
  status = dibs_guarded_incr(s->client, segment, dibs_hold_fence(hold), 0, &left);
  *ret_sold = status == DIBS_OK && left > 0;
  if (*ret_sold)                       /* here the card would be charged */
    status = dibs_guarded_incr(s->client, segment, dibs_hold_fence(hold), -1, NULL);
  (void)dibs_release(hold);
  return status;                       /* DIBS_FENCED: the lock was lost, nothing is sold */
}

/* Begins at the buyer's stripe and goes on to the next while they are empty. */
static dibs_status sell_to(seller *s, const char *buyer)
{
  char stripe[sizeof(ARTICLE) + 9];
  dibs_status status = dibs_stripe(ARTICLE, buyer, strlen(buyer), SEGMENTS, stripe,
                                   sizeof(stripe));
  bool is_sold = false;
  unsigned first;

  if (status != DIBS_OK)
    return status;
  first = (unsigned)strtoul(strchr(stripe, '#') + 1, NULL, 10);
  for (unsigned i = 0; i < SEGMENTS && status == DIBS_OK && !is_sold; i++)
    status = sell_from(s, (first + i) % SEGMENTS, &is_sold);
  s->sold += status == DIBS_OK && is_sold;
  return status;
}

static void *sell(void *data)
{
  seller *s = data;
  char buyer[32];

  for (int i = 0; i < BUYERS_OF_EACH && s->status == DIBS_OK; i++) {
    (void)snprintf(buyer, sizeof(buyer), "buyer-%d-%d", s->id, i);
    s->status = sell_to(s, buyer);
  }
  return NULL;
}

/* All sellers at once; the pieces sold, or -1. */
static int sell_all(dibs_client *client)
{
  seller sellers[SELLERS];
  pthread_t threads[SELLERS];
  int sold = 0, started = 0;

  for (; started < SELLERS; started++) {
    sellers[started] = (seller){ .client = client, .id = started };
    if (pthread_create(&threads[started], NULL, sell, &sellers[started]) != 0)
      break;
  }
  for (int i = 0; i < started; i++) {
    (void)pthread_join(threads[i], NULL);
    if (sellers[i].status != DIBS_OK)
      sold = -SELLERS * BUYERS_OF_EACH - 1;
    sold += sellers[i].sold;
  }
  return started == SELLERS && sold >= 0 ? sold : -1;
}

int main(void)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);
  int sold;

  if (status != DIBS_OK) {
    fprintf(stderr, "stripes: %s\n", error.text);
    return 1;
  }
  for (unsigned i = 0; i < SEGMENTS && status == DIBS_OK; i++)
    status = fill(client, i);
  sold = status == DIBS_OK ? sell_all(client) : -1;
  client = dibs_close(client);
  printf("%d in stock, %d buyers, %d sold\n", SEGMENTS * IN_EACH, SELLERS * BUYERS_OF_EACH,
         sold);
  return sold == SEGMENTS * IN_EACH ? 0 : 1;
}
