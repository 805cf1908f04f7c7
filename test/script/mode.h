/* SPDX-License-Identifier: MIT */
/* test/script/mode.h - in which deployment the stories are played: the same ones on one
 * server, in a Cluster of one node, by functions instead of EVAL, under the era guard.
 * DIBS_SCRIPT_MODE chooses: `functions`, `cluster`, `sharded`, `guard`; several with commas. */
#ifndef SCRIPT_MODE_H
#define SCRIPT_MODE_H

#include "dialect/native.h"
#include "server.h"

typedef struct script_mode {
  bool functions, tags, sharded, guard;
} script_mode;

script_mode mode_get(void);
/* What the server program lacks for it; NULL: nothing. */
const char *mode_why_not(void);
/* Whose commands the stories send. */
const char *mode_user(void);
void mode_native(protocol *n);
void mode_options(struct test_server_options *options);
/* Slots, functions, and the user `plain`, who may not use EVAL. */
void mode_start(const struct test_server *s);
/* After the server was emptied: a quarantine that was over long ago. */
void mode_clear(const struct test_server *s);

#endif
