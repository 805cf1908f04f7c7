/* SPDX-License-Identifier: MIT */
/* api/url_text.c - deployments as texts, and dibs_full_url(). */
#include "api/url_text.h"

#include <string.h>

#include "api/api.h"

#define URL_TEXT_MAX (1u << 20)

typedef enum url_form { FORM_SHOWN, FORM_PLAIN, FORM_WHOLE } url_form;

static void form_write(const deployment *d, url_form form, text *out)
{
  if (form == FORM_SHOWN)
    deployment_show(d, out);
  else
    deployment_write(d, form == FORM_WHOLE, out);
}

/* Allocates: there can be many long hosts and paths. */
static dibs_status text_make(const memory *m, const deployment *d, url_form form,
                             char **ret_text)
{
  for (size_t size = 512; size <= URL_TEXT_MAX; size *= 4) {
    char *bytes = mem_alloc(m, size);
    text out;

    if (bytes == NULL)
      return DIBS_ERR_NO_MEMORY;
    out = text_over(bytes, size);
    form_write(d, form, &out);
    if (!out.is_cut) {
      *ret_text = bytes;
      return DIBS_OK;
    }
    mem_wipe(bytes, size);
    mem_free(m, bytes);
  }
  return DIBS_ERR_NO_MEMORY;
}

dibs_status url_shown(const memory *m, const deployment *d, char **ret_text)
{
  return text_make(m, d, FORM_SHOWN, ret_text);
}

dibs_status url_written(const memory *m, const deployment *d, bool with_passwords,
                        char **ret_text)
{
  return text_make(m, d, with_passwords ? FORM_WHOLE : FORM_PLAIN, ret_text);
}

static dibs_status full_url(client_record *c, bool with_passwords, char *ret_url,
                            size_t url_size)
{
  char *url = NULL;
  dibs_status status = client_enter(c, false);

  if (status != DIBS_OK)
    return status;
  if (ret_url == NULL)
    status = client_fault(c, DIBS_ERR_ARGUMENT, "ret_url is NULL");
  else if (url_written(&c->memory, &c->servers, with_passwords, &url) != DIBS_OK)
    status = client_fault(c, DIBS_ERR_NO_MEMORY, "");
  else if (strlen(url) >= url_size)
    status = client_fault(c, DIBS_ERR_LIMIT, "url_size is too small for the URL");
  else
    memcpy(ret_url, url, strlen(url) + 1);
  client_leave(c);
  mem_free_secret(&c->memory, url);
  return status;
}

dibs_status dibs_full_url(dibs_client *client, bool with_passwords, char *ret_url,
                          size_t url_size)
{
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, full_url(c, with_passwords, ret_url, url_size));
}
