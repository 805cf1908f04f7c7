/* SPDX-License-Identifier: MIT */
/* dialect/children.h - reading the array that a script answers, child by child. */
#ifndef DIALECT_CHILDREN_H
#define DIALECT_CHILDREN_H

#include "dialect/native.h"

bool child_int(const resp_reply *r, size_t i, int64_t *ret_value);
bool child_count(const resp_reply *r, size_t i, uint64_t *ret_value);    /* not negative */
const resp_node *child_string(const resp_reply *r, size_t i);            /* NULL: none */
bool child_lease(const resp_reply *r, size_t i, lease_id *ret_lease);
bool has_children(const resp_reply *r, int64_t count);

/* What can be added to an instant without a thought for overflow. */
bool is_time(int64_t us);
bool is_remaining(int64_t ms, int64_t most);

/* The lease with this token that `ask` of our client has got. */
bool own_lease(const native *n, uint64_t ask, uint64_t token, lease_id *ret_lease);

#endif
