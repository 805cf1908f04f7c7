/* SPDX-License-Identifier: MIT */
/* Fuzz: any text as the URL of a server, and of a deployment. Facts checked: a refusal says
 * why, within its bounds; an accepted URL, shown and read again, leads to the same servers. */
#include "fuzz.h"

#include "topo/topo.h"

#include <string.h>

#define SHOWN_BYTES_MAX 262144
#define URL_BYTES_MAX 4096

#define WHY_BYTES 400

static const memory heap = PLAIN_MEMORY;

static bool same_text(const char *a, const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_shown(const server_url *u)
{
  static char shown[SHOWN_BYTES_MAX];
  char words[WHY_BYTES];
  text out = text_over(shown, sizeof(shown));
  text why = text_over(words, sizeof(words));
  server_url again;

  server_url_show(u, &out);
  FUZZ_CHECK(!out.is_cut);
  if (out.used > URL_BYTES_MAX)
    return;
  FUZZ_CHECK(server_url_parse(&heap, shown, &again, &why) == DIBS_OK);
  FUZZ_CHECK(again.transport == u->transport || u->transport == SERVER_LOCAL);
  FUZZ_CHECK(again.port == u->port && same_text(again.host, u->host));
  FUZZ_CHECK(same_text(again.path, u->path));
  FUZZ_CHECK(again.database == u->database || u->transport == SERVER_LOCAL);
  FUZZ_CHECK(again.user == NULL && again.password == NULL);
  server_url_deinit(&again);
}

static void check_server(const char *url)
{
  char words[WHY_BYTES];
  text why = text_over(words, sizeof(words));
  server_url u;
  dibs_status status = server_url_parse(&heap, url, &u, &why);

  if (status == DIBS_OK) {
    FUZZ_CHECK(why.used == 0);
    check_shown(&u);
    server_url_deinit(&u);
  } else {
    FUZZ_CHECK(status == DIBS_ERR_CONFIG);
    FUZZ_CHECK(why.used > 0 && !why.is_cut);
  }
}

static void check_same(const deployment *d, const deployment *again)
{
  FUZZ_CHECK(again->kind == d->kind && again->seed_count == d->seed_count);
  FUZZ_CHECK(same_text(again->service, d->service));
  FUZZ_CHECK(again->data.transport == d->data.transport);
  FUZZ_CHECK(d->kind == DEPLOYMENT_QUORUM || again->data.database == d->data.database ||
             d->data.transport == SERVER_LOCAL);
  for (size_t i = 0; i < d->seed_count; i++) {
    FUZZ_CHECK(again->seeds[i].transport == d->seeds[i].transport);
    FUZZ_CHECK(server_url_same_address(&again->seeds[i], &d->seeds[i]) ||
               d->seeds[i].transport == SERVER_LOCAL);
    FUZZ_CHECK(again->seeds[i].user == NULL && again->seeds[i].password == NULL);
  }
}

static void check_parts(const deployment *d)
{
  server_url u;

  FUZZ_CHECK(d->seed_count >= 1 && d->seed_count <= SEEDS_MAX);
  FUZZ_CHECK((d->kind == DEPLOYMENT_SENTINEL) == (d->service != NULL));
  FUZZ_CHECK(d->kind != DEPLOYMENT_QUORUM || d->seed_count % 2 == 1);
  FUZZ_CHECK(d->kind != DEPLOYMENT_SINGLE || d->seed_count == 1);
  FUZZ_CHECK(d->data.host == NULL && d->data.path == NULL);
  for (size_t i = 0; i < d->seed_count; i++)
    for (size_t j = 0; j < i; j++)
      FUZZ_CHECK(!server_url_same_address(&d->seeds[i], &d->seeds[j]));
  for (size_t i = 0; i < d->mapping_count; i++) {
    FUZZ_CHECK(deployment_url(d, d->mappings[i].from_host, d->mappings[i].from_port, &u) ==
               DIBS_OK);
    FUZZ_CHECK(same_text(u.host, d->mappings[i].to_host));
    server_url_deinit(&u);
  }
}

static void check_deployment(const char *url)
{
  static char shown[SHOWN_BYTES_MAX];
  char words[WHY_BYTES];
  text why = text_over(words, sizeof(words));
  text out = text_over(shown, sizeof(shown));
  deployment d, again;
  dibs_status status = deployment_parse(&heap, url, &d, &why);

  if (status != DIBS_OK) {
    FUZZ_CHECK(status == DIBS_ERR_CONFIG);
    FUZZ_CHECK(why.used > 0 && !why.is_cut);
    return;
  }
  FUZZ_CHECK(why.used == 0);
  check_parts(&d);
  deployment_show(&d, &out);
  FUZZ_CHECK(!out.is_cut);
  status = deployment_parse(&heap, shown, &again, &why);
  /* Ports that were not written make it longer. */
  FUZZ_CHECK(status == DIBS_OK || out.used > URL_BYTES_MAX);
  if (status == DIBS_OK) {
    check_same(&d, &again);
    deployment_deinit(&again);
  }
  deployment_deinit(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  char *url = malloc(size + 1);

  FUZZ_CHECK(url != NULL);
  if (size > 0)
    memcpy(url, bytes, size);
  url[size] = 0;
  check_server(url);
  check_deployment(url);
  free(url);
  return 0;
}
