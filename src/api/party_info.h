/* SPDX-License-Identifier: MIT */
/* api/party_info.h - the client registrations of an inspection's holders and waiters. */
#ifndef API_PARTY_INFO_H
#define API_PARTY_INFO_H

#include "api/api.h"

/* Reads the hash `<p>:client:C` of each holder and waiter shown, all at once. Missing
 * registrations stay blank and are no fault. `parties`: of the holders, then of the waiters. */
void party_info_add(client_record *c, const dibs_inspection *in, dibs_party *parties,
                    const inspect_answer *a, instant until);

#endif
