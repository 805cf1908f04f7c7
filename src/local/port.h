/* SPDX-License-Identifier: MIT */
/* local/port.h - finds free TCP ports on loopback, for temporary servers. */
#ifndef LOCAL_PORT_H
#define LOCAL_PORT_H

#include <stdbool.h>

/* Whether a server can have the port, and `port + 10000` (the bus of a cluster). */
bool port_is_free(int port);

/* A port that is free. Reserved among all callers of this machine until `ret_claim`, a
 * descriptor, is closed. 0: none, see errno. */
int port_claim(int *ret_claim);

#endif
