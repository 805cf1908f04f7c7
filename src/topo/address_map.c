/* SPDX-License-Identifier: MIT */
/* topo/address_map.c - reads and writes `map=from>to,...`, which translates addresses that servers
 * report (deployment_url()), for networks where clients reach the servers at other addresses.
 *
 * Without a port, the left side matches all ports and the right side keeps the port. */
#include "topo/server_url_parts.h"

#include <string.h>

/* Reads one side of a mapping. The option's value is already decoded. */
static dibs_status side_read(url_reading *r, part words, char **ret_host, int *ret_port)
{
  address_parts a;
  dibs_status status = address_cut(r, words, &a);

  if (status != DIBS_OK)
    return status;
  *ret_host = mem_copy(&r->url.memory, a.host.at, a.host.size);
  if (*ret_host == NULL)
    return DIBS_ERR_NO_MEMORY;
  return address_check(r, &a, *ret_host, ret_port);
}

static dibs_status mapping_read(url_reading *r, part words)
{
  address_mapping *m = &r->mappings[r->mapping_count++];
  part from;
  dibs_status status;

  if (!part_split(&words, '>', &from))
    return url_fault(r, "each address is written from>to, as in "
                        "map=10.0.0.1:7000>127.0.0.1:17000");
  status = side_read(r, from, &m->from_host, &m->from_port);
  if (status == DIBS_OK)
    status = side_read(r, words, &m->to_host, &m->to_port);
  if (status != DIBS_OK)
    return status;
  if (m->from_port == 0 && m->to_port != 0)
    return url_fault(r, "a port after the '>' needs one before it: all ports cannot "
                        "become one");
  for (const address_mapping *other = r->mappings; other < m; other++)
    if (other->from_port == m->from_port && host_is_same(other->from_host, m->from_host))
      return url_fault(r, "an address is mapped twice");
  return DIBS_OK;
}

static dibs_status list_read(url_reading *r, part list)
{
  size_t count = part_count(list, ',') + 1;

  r->mappings = mem_zalloc(&r->url.memory, count * sizeof(*r->mappings));
  if (r->mappings == NULL)
    return DIBS_ERR_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    part words = { list.at, 0 };
    dibs_status status;

    (void)part_next(&list, ',', &words);
    status = mapping_read(r, words);
    if (status != DIBS_OK)
      return status;
  }
  return DIBS_OK;
}

dibs_status url_mappings_read(url_reading *r, part value)
{
  size_t said = r->why->used;
  char *decoded;
  dibs_status status = url_decode(r, value, "map", &decoded);

  if (status != DIBS_OK)
    return status;
  text_add(r->why, "the option map: ");
  status = list_read(r, (part){ decoded, strlen(decoded) });
  mem_free_secret(&r->url.memory, decoded);
  if (status != DIBS_ERR_CONFIG) {
    r->why->used = said;
    r->why->at[said] = 0;
  }
  return status;
}

static void side_write(text *out, const char *host, int port)
{
  bool is_ipv6 = strchr(host, ':') != NULL;

  text_add(out, is_ipv6 ? "%5B" : "");
  url_encoded_add(out, host, ':');
  text_add(out, is_ipv6 ? "%5D" : "");
  if (port != 0)
    text_format(out, ":%d", port);
}

void url_mappings_write(const url_reading *r, text *out)
{
  for (size_t i = 0; i < r->mapping_count; i++) {
    text_add(out, i == 0 ? "" : ",");
    side_write(out, r->mappings[i].from_host, r->mappings[i].from_port);
    text_add(out, "%3E");
    side_write(out, r->mappings[i].to_host, r->mappings[i].to_port);
  }
}
