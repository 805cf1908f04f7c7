/* SPDX-License-Identifier: MIT */
/* resp/reply.h - what a flat reply consists of; private to resp/. */
#ifndef RESP_REPLY_H
#define RESP_REPLY_H

#include "resp/resp.h"

struct resp_reply {
  memory memory;
  size_t count;
  resp_node nodes[];
};

#endif
