/* SPDX-License-Identifier: MIT */
/* test/lib/authority.c - makes an authority and certificates with the openssl program. */
#include "authority.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server_parts.h"

enum leaf { GOOD, WRONG_HOST, EXPIRED, FOREIGN, CLIENT, EXPIRED_CLIENT, FOREIGN_CLIENT, LEAVES };

static const char *const names[LEAVES] = {
  "server", "elsewhere", "expired", "foreign-server", "client", "expired-client", "foreign-client",
};

struct test_authority {
  char directory[64];
  char ca[96], foreign_ca[96];
  char certificates[LEAVES][96], keys[LEAVES][96];
};

/* Elliptic keys, because making RSA ones would take longer than the tests. The network of
 * partition.h is 10.97.0.0/24. */
static const char recipe[] =
  "set -e; cd \"$1\"; exec 2>openssl.log\n"
  "curve='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
  "authority() { openssl req -x509 $curve -keyout $1.key -out $1.crt -subj /CN=$2 -days 2; }\n"
  "signed() { by=$1; days=$2; shift 2; openssl req $curve -keyout $1.key -out $1.csr"
  " -subj /CN=$2; printf '%s\\n' \"$3\" >$1.ext\n"
  " openssl x509 -req -in $1.csr -CA $by.crt -CAkey $by.key -CAcreateserial"
  " -extfile $1.ext -out $1.crt -days $days; }\n"
  "hosts=DNS:localhost,IP:127.0.0.1,IP:::1\n"
  "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do hosts=$hosts,IP:10.97.0.$i; done\n"
  "authority ca test-authority; authority foreign foreign-authority\n"
  "signed ca 2 server localhost subjectAltName=$hosts\n"
  "signed ca 2 elsewhere elsewhere.example subjectAltName=DNS:elsewhere.example\n"
  "signed ca -1 expired localhost subjectAltName=$hosts\n"
  "signed foreign 2 foreign-server localhost subjectAltName=$hosts\n"
  "signed ca 2 client test-client extendedKeyUsage=clientAuth\n"
  "signed ca -1 expired-client test-client extendedKeyUsage=clientAuth\n"
  "signed foreign 2 foreign-client test-client extendedKeyUsage=clientAuth\n";

struct test_authority *test_authority_make(void)
{
  struct test_authority *a = calloc(1, sizeof(*a));
  int how = -1;
  pid_t child;

  if (a == NULL)
    test_bail_out("no memory");
  test_directory_make(a->directory, sizeof(a->directory));
  child = fork();
  if (child == 0) {
    (void)execl("/bin/sh", "sh", "-c", recipe, "recipe", a->directory, (char *)NULL);
    _exit(127);
  }
  while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
    ;
  if (how != 0)
    test_bail_out("openssl cannot make certificates, see %s/openssl.log", a->directory);
  (void)snprintf(a->ca, sizeof(a->ca), "%s/ca.crt", a->directory);
  (void)snprintf(a->foreign_ca, sizeof(a->foreign_ca), "%s/foreign.crt", a->directory);
  for (int i = 0; i < LEAVES; i++) {
    (void)snprintf(a->certificates[i], sizeof(a->certificates[i]), "%s/%s.crt", a->directory,
                   names[i]);
    (void)snprintf(a->keys[i], sizeof(a->keys[i]), "%s/%s.key", a->directory, names[i]);
  }
  return a;
}

struct test_authority *test_authority_free(struct test_authority *a)
{
  if (a != NULL)
    test_directory_remove(a->directory);
  free(a);
  return NULL;
}

static const char *certificate(const struct test_authority *a, enum leaf which)
{
  return a == NULL ? NULL : a->certificates[which];
}

static const char *key(const struct test_authority *a, enum leaf which)
{
  return a == NULL ? NULL : a->keys[which];
}

static enum leaf leaf_of(enum test_certificate which)
{
  return which == TEST_CERTIFICATE_WRONG_HOST ? WRONG_HOST
         : which == TEST_CERTIFICATE_EXPIRED  ? EXPIRED
         : which == TEST_CERTIFICATE_FOREIGN  ? FOREIGN
                                              : GOOD;
}

const char *test_authority_ca(const struct test_authority *a)
{
  return a == NULL ? NULL : a->ca;
}

const char *test_authority_foreign_ca(const struct test_authority *a)
{
  return a == NULL ? NULL : a->foreign_ca;
}

const char *test_authority_certificate(const struct test_authority *a,
                                       enum test_certificate which)
{
  return certificate(a, leaf_of(which));
}

const char *test_authority_key(const struct test_authority *a, enum test_certificate which)
{
  return key(a, leaf_of(which));
}

const char *test_authority_client_certificate(const struct test_authority *a)
{
  return certificate(a, CLIENT);
}

const char *test_authority_client_key(const struct test_authority *a)
{
  return key(a, CLIENT);
}

const char *test_authority_expired_client_certificate(const struct test_authority *a)
{
  return certificate(a, EXPIRED_CLIENT);
}

const char *test_authority_expired_client_key(const struct test_authority *a)
{
  return key(a, EXPIRED_CLIENT);
}

const char *test_authority_foreign_client_certificate(const struct test_authority *a)
{
  return certificate(a, FOREIGN_CLIENT);
}

const char *test_authority_foreign_client_key(const struct test_authority *a)
{
  return key(a, FOREIGN_CLIENT);
}
