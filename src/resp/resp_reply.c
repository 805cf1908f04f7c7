/* SPDX-License-Identifier: MIT */
/* resp/resp_reply.c - the nodes of a flat reply; needs no parser. */
#include "resp/reply.h"

#include <assert.h>

const resp_node *resp_root(const resp_reply *reply)
{
  return &reply->nodes[0];
}

const resp_node *resp_child(const resp_reply *reply, const resp_node *parent, size_t i)
{
  size_t at = (size_t)(parent - reply->nodes) + 1;

  assert(at <= reply->count);
  if (parent->kind != RESP_ARRAY || i >= (uint64_t)parent->integer)
    return NULL;
  if (parent->end - at == (uint64_t)parent->integer)
    return &reply->nodes[at + i];        /* none of its children has children */
  while (i-- > 0)
    at = reply->nodes[at].end;
  return &reply->nodes[at];
}

resp_reply *resp_reply_free(resp_reply *reply)
{
  if (reply != NULL)
    mem_free(&reply->memory, reply);
  return NULL;
}
