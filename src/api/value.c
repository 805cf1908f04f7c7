/* SPDX-License-Identifier: MIT */
/* api/value.c - values that are handed out: copied, and freed by dibs_value_free(). */
#include "api/value.h"

#include <string.h>

#include "api/api.h"

/* Begins with the program's dibs_value. Has its own memory functions: it is freed without a
 * client. */
typedef struct value_box {
  dibs_value value;
  memory memory;
  char bytes[];
} value_box;

dibs_value *dibs_value_free(dibs_value *value)
{
  value_box *box = (value_box *)(void *)value;

  if (box != NULL)
    mem_free(&box->memory, box);
  return NULL;
}

static dibs_value *value_copy(const memory *m, const data_value *v)
{
  value_box *box = mem_alloc(m, sizeof(*box) + v->size + 1);

  if (box == NULL)
    return NULL;
  box->memory = *m;
  box->value = (dibs_value){ .bytes = box->bytes, .size = v->size };
  memcpy(box->bytes, v->bytes, v->size);
  box->bytes[v->size] = 0;
  return &box->value;
}

static dibs_status too_long(client_record *c, size_t size)
{
  return client_refuse_with(c, DIBS_ERR_UNSUPPORTED,
                            "the value there has %zu bytes, and 1048576 are the most; nothing was "
                            "changed", size);
}

/* A change was executed, so the status cannot be "nothing was done". */
static dibs_status no_memory(client_record *c, bool is_read)
{
  if (is_read)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  return client_refuse(c, DIBS_UNKNOWN,
                       "the change was made, but there is no memory for the previous value");
}

dibs_status value_out(client_record *c, const data_value *v, bool is_read,
                      dibs_value **ret_value)
{
  dibs_value *copy = NULL;

  if (v->is_there && v->bytes == NULL)
    return too_long(c, v->size);
  if (v->is_there) {
    copy = value_copy(&c->memory, v);
    if (copy == NULL)
      return no_memory(c, is_read);
  }
  *ret_value = copy;
  return DIBS_OK;
}
