/* SPDX-License-Identifier: MIT */
/* drive/tls_shared.c - one TLS context for all servers that use the same files.
 *
 * Reading certificates takes milliseconds, and a cluster has hundreds of links. Contexts
 * are freed with the drive: a deployment names two or three sets of files. */
#include <string.h>

#include "drive/tls.h"

struct tls_shared_one {
  struct tls_shared_one *next;
  char *ca, *cert, *key;
  tls_context *context;
};

void tls_shared_init(tls_shared *s, const memory *m)
{
  *s = (tls_shared){ .memory = *m };
}

static void one_free(tls_shared *s, struct tls_shared_one *one)
{
  one->context = tls_context_free(one->context);
  mem_free(&s->memory, one->key);
  mem_free(&s->memory, one->cert);
  mem_free(&s->memory, one->ca);
  mem_free(&s->memory, one);
}

void tls_shared_deinit(tls_shared *s)
{
  while (s->first != NULL) {
    struct tls_shared_one *one = s->first;

    s->first = one->next;
    one_free(s, one);
  }
}

static bool is_same(const char *a, const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool copy(const memory *m, char **ret_copy, const char *words)
{
  *ret_copy = mem_copy_text(m, words);
  return *ret_copy != NULL || words == NULL;
}

static dibs_status one_new(tls_shared *s, const tls_files *files,
                           struct tls_shared_one **ret_one, text *why)
{
  struct tls_shared_one *one = mem_zalloc(&s->memory, sizeof(*one));
  dibs_status status = DIBS_ERR_NO_MEMORY;

  if (one == NULL)
    return status;
  if (copy(&s->memory, &one->ca, files->ca) && copy(&s->memory, &one->cert, files->cert) &&
      copy(&s->memory, &one->key, files->key))
    status = tls_context_new(&s->memory, files, &one->context, why);
  if (status != DIBS_OK) {
    one_free(s, one);
    return status;
  }
  *ret_one = one;
  return DIBS_OK;
}

dibs_status tls_shared_get(tls_shared *s, const server_url *server, tls_context **ret_context,
                           text *why)
{
  tls_files files = { .ca = server->ca_file, .cert = server->cert_file,
                      .key = server->key_file };
  struct tls_shared_one *one = s->first;
  dibs_status status;

  *ret_context = NULL;
  if (server->transport != SERVER_TLS)
    return DIBS_OK;
  while (one != NULL && !(is_same(one->ca, files.ca) && is_same(one->cert, files.cert) &&
                          is_same(one->key, files.key)))
    one = one->next;
  if (one == NULL) {
    status = one_new(s, &files, &one, why);
    if (status != DIBS_OK)
      return status;
    one->next = s->first;
    s->first = one;
  }
  *ret_context = one->context;
  return DIBS_OK;
}
