/* SPDX-License-Identifier: MIT */
/* api/removed_files.c - see removed_files.h. */
#include "api/removed_files.h"

#include "api/degrade.h"

#define LOOK_AGAIN SPAN_MS(500)    /* doc/guide/which-deployment.md promises it */
#define REMOVED "its lock file was removed, or the program closed it, while it was held"

bool removed_files_plan(client_record *c)
{
  if (!instant_is_never(c->local->look_at))
    return false;
  c->local->look_at = instant_add(drive_now(), LOOK_AGAIN);
  return true;
}

static void share_again(claim *cl)
{
  dibs_error error = { .size = sizeof(error), .text = "" };
  dibs_status status = lock_files_share(cl, &cl->local->files, &error);

  cl->local->lacks_files = status != DIBS_OK;
  if (cl->local->lacks_files && local_claim_holds(cl, LOCAL_NOT))
    local_claim_lose(cl, status == DIBS_BUSY
                           ? REMOVED ", and another process has the lock without a server"
                           : error.text);
}

static void files_removed(claim *cl)
{
  if (cl->local->state == LOCAL_NOT) {
    share_again(cl);
    return;
  }
  if (local_claim_holds(cl, LOCAL_HELD))
    local_claim_lose(cl, REMOVED);
  local_claim_end_files(cl);
}

/* Whether files keep other processes from what this claim believes in, or asks the servers for. */
static bool needs_files(const claim *cl)
{
  return cl->local != NULL && cl->local->state != LOCAL_WAITS &&
         (lock_files_are_open(&cl->local->files) || cl->local->lacks_files);
}

void removed_files_look(client_record *c, instant now)
{
  claim *next;

  if (instant_before(now, c->local->look_at))
    return;
  c->local->look_at = INSTANT_NEVER;
  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    if (!needs_files(cl))
      continue;
    (void)removed_files_plan(c);
    if (cl->local->lacks_files || !lock_files_are_named(&cl->local->files))
      files_removed(cl);
  }
}
