/* SPDX-License-Identifier: MIT */
/* cli/url.h - small changes to the URLs of servers; only the library understands it all.
 * There may be several, of a quorum, with blanks or commas between them. */
#ifndef CLI_URL_H
#define CLI_URL_H

#include <stddef.h>

size_t url_count(const char *urls);

/* Each returns a new text, to be freed; NULL when memory is refused. */

/* Without the passwords of the user part and of the query. */
char *url_without_password(const char *url);

/* With another database number. */
char *url_with_database(const char *url, int database);

/* With `key=value` in the query, instead of what it said there; the value is escaped. Of
 * several URLs in the first, which speaks for all. */
char *url_with_query(const char *url, const char *key, const char *value);

/* The password in the user part, unescaped; NULL when there is none. Of one URL. */
char *url_password(const char *url);

#endif
