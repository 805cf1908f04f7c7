/* SPDX-License-Identifier: MIT */
/* cli/url.h - a look at the URLs of servers; only the library understands them. */
#ifndef CLI_URL_H
#define CLI_URL_H

#include <stdbool.h>

/* Whether one of the URLs, parted by blanks or commas, has a password in it, of a server or of
 * sentinels. */
bool url_has_password(const char *urls);

#endif
