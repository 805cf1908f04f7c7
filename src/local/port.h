/* SPDX-License-Identifier: MIT */
/* local/port.h - finds free TCP ports on loopback, for temporary servers. */
#ifndef LOCAL_PORT_H
#define LOCAL_PORT_H

/* An unused port, with `port + 10000` unused, too (the bus of a cluster). Reserved among all
 * callers of this machine until `ret_claim`, a descriptor, is closed. 0: none, see errno. */
int port_claim(int *ret_claim);

#endif
