/* SPDX-License-Identifier: MIT */
/* test/lib/partition.h - a network of a test's own that can be cut anywhere: each host is a
 * network namespace, all are joined by a bridge in one more. Nothing of it is seen from
 * outside, and it ends with the test program and the servers in it.
 *
 *   struct test_network *net = test_network_make(4);
 *   if (net == NULL)
 *     skip();                                  not permitted here: test_network_why_not()
 *   struct test_set_options o = { .network = net };       members on hosts 0, 1, 2
 *   ...
 *   test_network_enter(net, 3);
 *   status = dibs_open(test_set_url(set), NULL, &client, NULL); the client lives on host 3
 *   test_network_leave(net);
 *   test_network_split(net, 1 << 3, 1 << 0);   silently: nobody hears that a packet is lost
 *   ...
 *   test_network_heal_all(net);
 *   net = test_network_free(net);              after the servers
 *
 * test_server_command() and the like work from anywhere: unix sockets know no namespaces. */
#ifndef TEST_PARTITION_H
#define TEST_PARTITION_H


struct test_network;

enum { TEST_HOSTS_MAX = 16 };

/* NULL: this machine does not let us, and test_network_why_not() says what it refused. */
struct test_network *test_network_make(int hosts);
struct test_network *test_network_free(struct test_network *n);
const char *test_network_why_not(void);

int test_network_count(const struct test_network *n);
/* "10.97.0.1" is host 0. */
const char *test_network_address(const struct test_network *n, int host);
/* For `network` of test_server_options. */
int test_network_descriptor(const struct test_network *n, int host);

/* ---- being there ---- */

/* The calling thread, and every thread and process it starts from now on, makes its sockets
 * on this host: a client opened now stays there with its own thread, also after ... */
void test_network_enter(const struct test_network *n, int host);
/* ... the caller has left. A client without a thread of its own must be used inside. */
void test_network_leave(const struct test_network *n);

/* ---- cutting: packets are dropped silently, those of established connections too ---- */

void test_network_cut_one_way(const struct test_network *n, int from, int to);
void test_network_heal(const struct test_network *n, int a, int b);     /* both ways */
/* Two sides, bit i for host i: all links between them. */
void test_network_split(const struct test_network *n, unsigned side, unsigned other);
void test_network_heal_all(const struct test_network *n);

#endif
