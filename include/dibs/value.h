/* SPDX-License-Identifier: MIT */
/* dibs/value.h - bytes that a call returns: of maps, lists and sets, and of guarded reads. */
#ifndef DIBS_VALUE_H
#define DIBS_VALUE_H

#include <stddef.h>

#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIBS_DATA_MAX 1048576   /* bytes in a value of a map or an element of a list */
#define DIBS_KEY_MAX 65536      /* bytes in a key of a map or a member of a set */

/* Bytes that a call returns, with a zero after the last one. Free with
 * dibs_value_free(). */
typedef struct dibs_value {
  char *bytes;
  size_t size;
} dibs_value;

/* Frees a value. Returns NULL; NULL allowed. Also after dibs_close(). Thread: any. Since 0.5 */
DIBS_API dibs_value *dibs_value_free(dibs_value *value);

#ifdef __cplusplus
}
#endif

#endif
