/* SPDX-License-Identifier: MIT */
/* Fuzz: any bytes as a config file. Facts checked: a refusal says why and where, within
 * its bounds; what is accepted stays within its ranges. */
#include "fuzz.h"

#include "api/config.h"

#include <string.h>

static const memory heap = PLAIN_MEMORY;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  char words[512];
  text why = text_over(words, sizeof(words));
  dibs_status status;
  config c;

  config_init(&c, &heap);
  status = config_parse(&c, (const char *)bytes, size, "config", &why);
  if (status == DIBS_OK) {
    FUZZ_CHECK(why.used == 0);
    FUZZ_CHECK(c.connect_timeout_ms >= 0 && c.command_timeout_ms >= 0);
    FUZZ_CHECK(c.clock_rate_error_ppm >= 0 && c.clock_rate_error_ppm <= 500000);
    FUZZ_CHECK(c.url == NULL || c.url[0] != 0);
  } else {
    FUZZ_CHECK(status == DIBS_ERR_CONFIG);
    FUZZ_CHECK(strncmp(words, "config:", 7) == 0 && why.used > 9);
  }
  config_deinit(&c);
  return 0;
}
