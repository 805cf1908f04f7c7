/* SPDX-License-Identifier: MIT */
/* cli/url.c - whether there is a password in a URL of the command line. */
#include "cli/url.h"

#include <string.h>

/* Where the next "scheme://" begins; NULL. */
static const char *next_scheme(const char *text)
{
  const char *end = strstr(text, "://");

  while (end != NULL && end > text && strchr("abcdefghijklmnopqrstuvwxyz+", end[-1]) != NULL)
    end--;
  return end;
}

/* A "user:password@" ends at the last '@' before the query. The path counts, too: there
 * stands what follows a '/' in a password that should have been %2F. */
static bool has_login(const char *authority)
{
  size_t size = strcspn(authority, "? \t\r\n");
  const char *next = next_scheme(authority);
  const char *at, *colon;

  if (next != NULL && (size_t)(next - authority) < size)
    size = (size_t)(next - authority);
  at = memrchr(authority, '@', size);
  colon = memchr(authority, ':', size);
  return at != NULL && colon != NULL && colon < at;
}

static bool has_option(const char *url, const char *name)
{
  size_t size = strlen(name);

  for (const char *at = strpbrk(url, "?&"); at != NULL; at = strpbrk(at + 1, "?&"))
    if (strncmp(at + 1, name, size) == 0 && at[1 + size] == '=')
      return true;
  return false;
}

bool url_has_password(const char *urls)
{
  for (const char *at = strstr(urls, "://"); at != NULL; at = strstr(at + 3, "://"))
    if (has_login(at + 3))
      return true;
  return has_option(urls, "password") || has_option(urls, "sentinel_password");
}
