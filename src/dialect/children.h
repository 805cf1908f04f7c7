/* SPDX-License-Identifier: MIT */
/* dialect/children.h - reads the array that a script answers, child by child. */
#ifndef DIALECT_CHILDREN_H
#define DIALECT_CHILDREN_H

#include "dialect/native.h"

bool child_int(const resp_reply *r, size_t i, int64_t *ret_value);
bool child_count(const resp_reply *r, size_t i, uint64_t *ret_value);    /* not negative */
const resp_node *child_string(const resp_reply *r, size_t i);            /* NULL: no string */
bool child_lease(const resp_reply *r, size_t i, lease_id *ret_lease);
bool has_children(const resp_reply *r, int64_t count);

/* Whether it can be added to an instant without overflow. */
bool is_time(int64_t us);
bool is_remaining(int64_t ms, int64_t most);

/* The lease of this client's `ask` with this token. */
bool own_lease(const protocol *n, uint64_t ask, uint64_t token, lease_id *ret_lease);

#endif
