/* SPDX-License-Identifier: MIT */
/* fleet/class.h - the class of a name; the command shows names beside the totals of their class. */
#ifndef FLEET_CLASS_H
#define FLEET_CLASS_H

#include <stddef.h>

#define FLEET_CLASS_SIZE 65      /* bytes of a class name, with its zero */

/* The printable class of a name. */
void fleet_class_name(const char *name, size_t size, char ret_name[FLEET_CLASS_SIZE]);

#endif
