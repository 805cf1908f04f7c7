/* SPDX-License-Identifier: MIT */
/* fleet/class.h - the class of a name; the command shows names beside the totals of their class. */
#ifndef FLEET_CLASS_H
#define FLEET_CLASS_H

#include <stdbool.h>
#include <stddef.h>

#define FLEET_CLASS_SIZE 65      /* bytes of a class name, with its zero */
#define FLEET_CLASSES_MAX 64     /* then the class `other` */
#define FLEET_PATTERNS_BYTES_MAX 1024

struct text;

/* The printable class of a name: the first of `patterns` that it fits, else what the name itself
 * says. `patterns`: texts in which `*` is any text, with commas between and blanks around them;
 * NULL or "": none. Returns whether a pattern fits. */
bool fleet_class_name(const char *patterns, const char *name, size_t size,
                      char ret_name[FLEET_CLASS_SIZE]);

/* Whether a class can have this name: of what another program wrote, two may look the same. */
bool fleet_class_is_possible(const char *name, size_t size);

/* How many patterns there are. */
size_t fleet_classes_count(const char *patterns);

/* Whether each pattern can be the name of a class. `why` (400 bytes) names the wrong one. */
bool fleet_classes_check(const char *patterns, struct text *why);

#endif
