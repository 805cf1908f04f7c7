/* SPDX-License-Identifier: MIT */
/* dialect/protocol.c - what clients and servers agree on, from the settings of a URL and
 * options. */
#include "dialect/native.h"

static void copy(char *to, size_t size, const char *from)
{
  text out = text_over(to, size);

  text_add(&out, from != NULL ? from : "");
}

void protocol_init(protocol *n, const protocol_settings *s)
{
  *n = (protocol){ .dialect = s->dialect, .has_tags = s->is_cluster,
                   .has_sharded_channels = s->has_sharded_channels,
                   .uses_functions = s->uses_functions, .is_voter = s->is_quorum,
                   .quarantine_ms = span_to_ms(s->quarantine) };
  copy(n->prefix, sizeof(n->prefix), s->prefix);
  copy(n->registry, sizeof(n->registry), s->registry);
  copy(n->client, sizeof(n->client), s->client);
}
