/* SPDX-License-Identifier: MIT */
/* The acts of the flash sale. Each prints what happened and answers whether it went as
 * dibs promises. */
#ifndef DEMO_FLASH_SALE_H
#define DEMO_FLASH_SALE_H

#include <stdbool.h>

#include "shop.h"

/* How long a seller thinks between looking at the stock and taking an item. */
enum { ITEMS = 1000, THINK_MS = 1 };

bool act_without_lock(const char *url, shop *lamps);
bool act_with_lock(const char *url, shop *lamps);
bool act_accidents(const char *url, shop *lamps);

#endif
