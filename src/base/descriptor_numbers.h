/* SPDX-License-Identifier: MIT */
/* base/descriptor_numbers.h - see descriptor.h. Thread: any, and signal handlers. */
#ifndef BASE_DESCRIPTOR_NUMBERS_H
#define BASE_DESCRIPTOR_NUMBERS_H

#include <stdbool.h>

/* `fd` is not negative. false: it is taken. */
bool descriptor_number_take(int fd);
void descriptor_number_give(int fd);

#endif
