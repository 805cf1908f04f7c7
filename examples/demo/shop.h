/* SPDX-License-Identifier: MIT */
/* The demo's shop: a stock of items in Redis, over a connection of its own. dibs knows
 * nothing of it, just as it knows nothing of your data. */
#ifndef DEMO_SHOP_H
#define DEMO_SHOP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct shop shop;

/* `url` as in dibs_client_info: unix:///path or redis://host:port/db. Ends the program
 * with a message when nothing answers there: a demo has nothing better to do. */
shop *shop_open(const char *url);
shop *shop_close(shop *s);

void shop_fill(shop *s, long items);     /* forgets all orders */
long shop_stock(shop *s);
long shop_orders(shop *s);               /* orders written since the last fill */
long shop_turn(shop *s);                 /* counts how often anybody had a turn */
void shop_sell(shop *s);                 /* takes one item and writes the order */

/* The same, and refused when a greater fence has been here before. */
bool shop_sell_fenced(shop *s, uint64_t fence);
uint64_t shop_fence(shop *s);            /* the greatest fence seen */

#endif
