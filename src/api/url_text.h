/* SPDX-License-Identifier: MIT */
/* api/url_text.h - deployments as texts: for people, and for other programs. */
#ifndef API_URL_TEXT_H
#define API_URL_TEXT_H

#include "topo/topo.h"

/* What deployment_show() and deployment_write() write, in allocated memory; freed by
 * mem_free_secret(). DIBS_OK or DIBS_ERR_NO_MEMORY. */
dibs_status url_shown(const memory *m, const deployment *d, char **ret_text);
dibs_status url_written(const memory *m, const deployment *d, bool with_passwords,
                        char **ret_text);

#endif
