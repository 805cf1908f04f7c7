/* SPDX-License-Identifier: MIT */
/* cli/names.h - the names of latches, barriers and elections under the prefix. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include <dibs/inspect.h>

typedef struct name_list {
  struct named { dibs_family family; char *name; } *items;
  size_t count;
  bool has_no_memory;
  bool has_locks;      /* there are locks, too; they are not kept */
} name_list;

/* Fills `list`, sorted, each once; after a fault with what was found. To be freed in any case. */
dibs_status names_read(name_list *list, dibs_client *client, uint32_t families,
                       const char *pattern);
bool names_have(const name_list *list, dibs_family family, const char *name);
void names_free(name_list *list);

#endif
