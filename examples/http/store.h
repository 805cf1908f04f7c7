/* SPDX-License-Identifier: MIT */
/* The sale's data: a stock and a list of orders in Redis, over a connection of its own. It is
 * read, checked and written back in steps, as programs do with a row of any database. */
#ifndef HTTP_STORE_H
#define HTTP_STORE_H

#include <stdbool.h>

typedef struct store store;

typedef struct store_state {
  long items;      /* there were in the beginning */
  long stock;      /* there are now, as far as the stock knows */
  long orders;     /* have been written: more than `items` means oversold */
} store_state;

/* `url` as in dibs_client_info. NULL: nothing answers there. Not thread-safe. */
store *store_open(const char *url);
store *store_close(store *s);

/* Each answers false when the server did not. */
bool store_reset(store *s, long items);                /* forgets all orders */
bool store_read(store *s, store_state *ret_state);
bool store_look(store *s, long *ret_stock);
/* Writes an order, and the stock that is left in the seller's opinion; both or none. */
bool store_sell(store *s, long left, const char *order);

#endif
