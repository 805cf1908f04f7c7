/* SPDX-License-Identifier: MIT */
/* Fuzz: any text as a server URL. Facts checked: a refusal says why, within its bounds; an
 * accepted URL, shown and read again, leads to the same server. */
#include "fuzz.h"

#include "topo/topo.h"

#include <string.h>

#define SHOWN_BYTES_MAX 16384
#define URL_BYTES_MAX 4096

static const memory heap = FUZZ_MEMORY;

static bool same_text(const char *a, const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_shown(const server_url *u)
{
  static char shown[SHOWN_BYTES_MAX];
  char words[256];
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  char words[256];
  text why = text_over(words, sizeof(words));
  char *url = malloc(size + 1);
  server_url u;
  dibs_status status;

  FUZZ_CHECK(url != NULL);
  if (size > 0)
    memcpy(url, bytes, size);
  url[size] = 0;
  status = server_url_parse(&heap, url, &u, &why);
  if (status == DIBS_OK) {
    FUZZ_CHECK(why.used == 0);
    check_shown(&u);
    server_url_deinit(&u);
  } else {
    FUZZ_CHECK(status == DIBS_ERR_CONFIG);
    FUZZ_CHECK(why.used > 0 && !why.is_cut);
  }
  free(url);
  return 0;
}
