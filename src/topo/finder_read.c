/* SPDX-License-Identifier: MIT */
/* topo/finder_read.c - reads texts, hosts, ports and numbers in replies to probes. */
#include "topo/finder_parts.h"

#include <string.h>

static bool is_text(const resp_node *node)
{
  return node != NULL && (node->kind == RESP_STRING || node->kind == RESP_STATUS);
}

bool node_is(const resp_node *node, const char *words)
{
  return is_text(node) && node->size == strlen(words)
    && memcmp(node->bytes, words, node->size) == 0;
}

const resp_node *node_next(const resp_reply *reply, const resp_node *list,
                           const resp_node *before)
{
  if (list == NULL || list->kind != RESP_ARRAY)
    return NULL;
  if (before == NULL)
    return resp_child(reply, list, 0);
  return before->end < list->end ? resp_root(reply) + before->end : NULL;
}

const resp_node *node_value(const resp_reply *reply, const resp_node *list, const char *name)
{
  const resp_node *key;
  const resp_node *value = NULL;

  while ((key = node_next(reply, list, value)) != NULL
         && (value = node_next(reply, list, key)) != NULL)
    if (node_is(key, name))
      return value;
  return NULL;
}

bool node_host_read(const resp_node *node, char ret_host[HOST_REPORTED_SIZE])
{
  return is_text(node) && host_reported_read((part){ node->bytes, node->size }, ret_host)
    && ret_host[0] != 0;
}

bool node_uint_read(const resp_node *node, uint64_t *ret_value)
{
  if (node != NULL && node->kind == RESP_INTEGER && node->integer >= 0) {
    *ret_value = (uint64_t)node->integer;
    return true;
  }
  return is_text(node) && text_to_uint(node->bytes, node->size, ret_value);
}

bool node_port_read(const resp_node *node, int *ret_port)
{
  uint64_t port;

  if (!node_uint_read(node, &port) || port > 65535)
    return false;
  *ret_port = (int)port;
  return true;
}

bool node_error_begins(const resp_node *node, const char *words)
{
  size_t size = strlen(words);

  return node->kind == RESP_ERROR && node->size >= size
    && memcmp(node->bytes, words, size) == 0;
}

/* Before 7.0: "ERR Unknown subcommand or wrong number of arguments for 'SHARDS'. Try ...";
 * since then: "ERR unknown subcommand 'SHARDS'. Try CLUSTER HELP." */
bool node_is_unknown_command(const resp_node *node)
{
  return node_error_begins(node, "ERR unknown command")
    || node_error_begins(node, "ERR unknown subcommand")
    || node_error_begins(node, "ERR Unknown subcommand");
}

bool node_is_forbidden(const resp_node *node)
{
  return node_error_begins(node, "NOPERM");
}
