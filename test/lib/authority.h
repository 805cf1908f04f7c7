/* SPDX-License-Identifier: MIT */
/* test/lib/authority.h - a certificate authority of the test's own, made by openssl, and what
 * it has signed: files in a fresh directory, good for two days.
 *
 *   struct test_authority *by = test_authority_make();
 *   struct test_server_options o = { .has_tls = true, .authority = by };
 *   ... servers started with `o` trust each other, and a client with test_authority_ca(by) */
#ifndef TEST_AUTHORITY_H
#define TEST_AUTHORITY_H

#include "server.h"

struct test_authority;

struct test_authority *test_authority_make(void);
/* After the servers' end. NULL allowed. Nothing is lost when a test forgets it: the next
 * one sweeps the directory. */
struct test_authority *test_authority_free(struct test_authority *a);

/* ---- paths, valid until test_authority_free(); of NULL: NULL ---- */

const char *test_authority_ca(const struct test_authority *a);
/* Another authority, which has signed the foreign client and server only. */
const char *test_authority_foreign_ca(const struct test_authority *a);
/* Of a server: good, for another host, expired, or of the foreign authority. */
const char *test_authority_certificate(const struct test_authority *a,
                                       enum test_certificate which);
const char *test_authority_key(const struct test_authority *a, enum test_certificate which);
/* Of a client: good; expired; signed by the foreign authority. */
const char *test_authority_client_certificate(const struct test_authority *a);
const char *test_authority_client_key(const struct test_authority *a);
const char *test_authority_expired_client_certificate(const struct test_authority *a);
const char *test_authority_expired_client_key(const struct test_authority *a);
const char *test_authority_foreign_client_certificate(const struct test_authority *a);
const char *test_authority_foreign_client_key(const struct test_authority *a);

#endif
