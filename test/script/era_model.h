/* SPDX-License-Identifier: MIT */
/* test/script/era_model.h - section 16 of doc/design/protocol.md once more, for the models:
 * what is known of the era, and what that holds back. */
#ifndef SCRIPT_ERA_MODEL_H
#define SCRIPT_ERA_MODEL_H

#include "dialect/native.h"

struct model_era {
  int64_t quarantine_ms;      /* 0: no guard */
  bool is_known, is_ours;     /* there is a key; with the server's replication id */
  int64_t ends_us;
};

/* Looks, and keeps what it finds. */
bool era_is_quarantined(struct model_era *e, int64_t now, const lease_id *watched);
bool era_is_young(const struct model_era *e, int64_t now);
/* A waiting or busy answer that names nobody. */
acquire_answer era_held_back(const struct model_era *e, int64_t now, acquire_outcome outcome);

/* ---- on the stage ---- */

void era_model_begin(struct model_era *e, int64_t quarantine_ms);
/* Another server is primary, or this one has lost the key that tells so. */
void era_model_failover(struct model_era *e, bool loses_key);
void era_model_compare(const struct model_era *e, const char *what);

#endif
