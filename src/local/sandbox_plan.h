/* SPDX-License-Identifier: MIT */
/* local/sandbox_plan.h - plans the servers of a sandbox and forms its deployment. */
#ifndef LOCAL_SANDBOX_PLAN_H
#define LOCAL_SANDBOX_PLAN_H

#include <dibs/local.h>

#include "local/form.h"
#include "local/server_run.h"

enum { SANDBOX_SERVERS_MAX = FORM_NODES_MAX };

typedef struct sandbox_plan {
  dibs_sandbox_kind kind;
  int count;                            /* servers */
  int sentinels;                        /* of `count`, the last ones */
  server_run *runs;
  const char *roles[SANDBOX_SERVERS_MAX];
  form_node nodes[SANDBOX_SERVERS_MAX];
  int claims[SANDBOX_SERVERS_MAX];      /* of their ports */
} sandbox_plan;

/* Creates the directories and command lines below `directory`, and reserves ports. Call
 * sandbox_plan_free() after a failure, too. */
dibs_status sandbox_plan_make(sandbox_plan *plan, const dibs_sandbox_options *options,
                              const server_program *program, const char *directory,
                              dibs_error *error);
void sandbox_plan_free(sandbox_plan *plan);

/* What messages call a server: "the server", or "server 2 of 3, 127.0.0.1:12345,". */
const char *sandbox_plan_name(const sandbox_plan *plan, int which, char *ret_name, size_t size);

/* Forms the deployment, once all servers reply. Waits no longer when there is a message of the
 * watcher at `control`. */
dibs_status sandbox_plan_form(const sandbox_plan *plan, int control, int64_t until,
                              dibs_error *error);

/* false: `size` is too small. */
bool sandbox_plan_url(const sandbox_plan *plan, char *ret_url, size_t size);

#endif
