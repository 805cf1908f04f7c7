/* SPDX-License-Identifier: MIT */
/* api/people.h - who is behind the clients of an inspection. */
#ifndef API_PEOPLE_H
#define API_PEOPLE_H

#include "api/api.h"

/* Asks for the hash `<p>:client:C` of each holder and waiter that is shown, all at once.
 * What is not there, or not to be had, stays blank: it is no fault. */
void people_add(dibs_client *c, dibs_inspection *in, const inspect_answer *a);

#endif
