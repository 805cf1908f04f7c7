/* SPDX-License-Identifier: MIT */
/* dialect/children.c - reads the array that a script answers, the same for all dialects. */
#include "dialect/children.h"

#include <dibs/client.h>
#include <string.h>

#include "dialect/internal.h"

bool child_int(const resp_reply *r, size_t i, int64_t *ret_value)
{
  const resp_node *node = resp_child(r, resp_root(r), i);

  if (node == NULL || node->kind != RESP_INTEGER)
    return false;
  *ret_value = node->integer;
  return true;
}

bool child_count(const resp_reply *r, size_t i, uint64_t *ret_value)
{
  int64_t value;

  if (!child_int(r, i, &value) || value < 0)
    return false;
  *ret_value = (uint64_t)value;
  return true;
}

const resp_node *child_string(const resp_reply *r, size_t i)
{
  const resp_node *node = resp_child(r, resp_root(r), i);

  return node != NULL && node->kind == RESP_STRING ? node : NULL;
}

bool child_lease(const resp_reply *r, size_t i, lease_id *ret_lease)
{
  const resp_node *node = child_string(r, i);

  return node != NULL && lease_id_read(node->bytes, node->size, ret_lease) &&
         ret_lease->token <= TOKEN_MAX;
}

bool is_time(int64_t us)
{
  return us >= 0 && us <= TOKEN_MAX;
}

bool is_remaining(int64_t ms, int64_t most)
{
  return ms >= -TOKEN_MAX / 1000 && ms <= most && most <= DIBS_MS_MAX;
}

bool has_children(const resp_reply *r, int64_t count)
{
  const resp_node *root = resp_root(r);

  return root->kind == RESP_ARRAY && root->integer == count;
}

bool own_lease(const protocol *n, uint64_t ask, uint64_t token, lease_id *ret_lease)
{
  if (token == 0 || token > TOKEN_MAX)
    return false;
  memcpy(ret_lease->client, n->client, CLIENT_ID_SIZE);
  ret_lease->ask = ask;
  ret_lease->token = token;
  return true;
}
