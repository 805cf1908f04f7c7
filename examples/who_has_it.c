/* SPDX-License-Identifier: MIT */
/* who_has_it - asks the server about one name, and lists all: what `dibs who` and
 * `dibs status` do. */
#include <dibs/dibs.h>

#include <stdio.h>

static bool show(const dibs_inspection *i, void *data)
{
  int *count = data;

  ++*count;
  if (i->is_held)
    printf("%s: held by %s, process %lld (%s), for %lld ms more; %zu waiting\n", i->name,
           i->holder->host, (long long)i->holder->pid, i->holder->note,
           (long long)i->remaining_ms, i->waiter_count);
  else
    printf("%s: free, last fence %llu\n", i->name, (unsigned long long)i->fence);
  return true;
}

int main(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_inspection *inspection = NULL;
  dibs_hold *hold = NULL;
  int asked = 0, listed = 0;

  options.note = "an example";
  if (dibs_open(NULL, &options, &client, NULL) != DIBS_OK)
    return 1;
  if (dibs_lock(client, "example:shown", NULL, &hold) != DIBS_OK)
    return 1;
  if (dibs_inspect(client, dibs_text("example:shown"), &inspection) == DIBS_OK)
    show(inspection, &asked);
  inspection = dibs_inspection_free(inspection);
  if (dibs_release(hold) != DIBS_OK)
    return 1;
  if (dibs_list(client, "example:*", show, &listed) != DIBS_OK)
    return 1;
  client = dibs_close(client);
  return asked == 1 && listed >= 1 ? 0 : 1;
}
