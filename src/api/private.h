/* SPDX-License-Identifier: MIT */
/* api/private.h - what libdibs exports for libdibs-data only, and no header that is installed
 * has: its node in libdibs.map is DIBS_PRIVATE_ and the whole version.
 *
 * Records cross this border whose layout any version may change. So both libraries are of one
 * version: with another one the loader finds no such node, and refuses the pair. What needs no
 * client, such as texts and the reading of replies, is not here: libdibs-data.so has copies. */
#ifndef API_PRIVATE_H
#define API_PRIVATE_H

#include <dibs/value.h>

#include "api/options.h"
#include "dialect/data.h"

#define DIBS_PRIVATE __attribute__((visibility("default")))

/* ---- a call; as client_begin() of a call that blocks, and so on: api.h ---- */

DIBS_PRIVATE dibs_status dibs_private_begin(dibs_client *client, client_record **ret_client);
DIBS_PRIVATE dibs_status dibs_private_end(client_record *c, dibs_status status);
DIBS_PRIVATE dibs_status dibs_private_refuse(client_record *c, dibs_status status,
                                             const char *message);
DIBS_PRIVATE dibs_status dibs_private_name_check(client_record *c, const void *name, size_t size);
DIBS_PRIVATE dibs_status dibs_private_one_place_check(client_record *c);
/* Around a callback of the program. */
DIBS_PRIVATE int dibs_private_enter_callback(void);
DIBS_PRIVATE void dibs_private_leave_callback(int before);

/* ---- one request about data ---- */

/* Returns within one command timeout after `limit`, and at the client's limit of a call. DIBS_OK:
 * the reply, freed by resp_reply_free(); otherwise NULL. */
DIBS_PRIVATE dibs_status dibs_private_data_run(client_record *c, const data_call *call,
                                               instant limit, resp_reply **ret_reply);
/* Copies the value of a reply to `verb` for the program. */
DIBS_PRIVATE dibs_status dibs_private_data_value(client_record *c, data_verb verb,
                                                 const resp_reply *r, dibs_value **ret_value);

/* ---- waiting for an element of a list ---- */

/* Checks name and options; DIBS_CANCELLED if that has happened. */
DIBS_PRIVATE dibs_status dibs_private_wait_check(client_record *c, const char *name,
                                                 const dibs_wait_options *options,
                                                 wait_plan *ret_plan);
DIBS_PRIVATE dibs_status dibs_private_list_await(client_record *c, resp_argument name,
                                                 const wait_plan *plan);
/* Whether a connection to a server is ready. */
DIBS_PRIVATE bool dibs_private_has_server(client_record *c);
DIBS_PRIVATE instant dibs_private_now(void);

#endif
