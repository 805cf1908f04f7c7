/* SPDX-License-Identifier: MIT */
/* Two wrong ways to let go: DEL without looking, and looking without holding still. */
#include "pitfall.h"

#include <string.h>

enum { TTL_MS = 1000, LONG_MS = 60000 };       /* a second is enough to look in between */

static bool takes(stage *s, actor who, const char *value, int ttl_ms)
{
  return strcmp(by_hand(s, who, "SET shop %s NX PX %d", value, ttl_ms), "OK") == 0;
}

static void takes_after(stage *s, actor who, const char *value)
{
  if (takes(s, who, value, LONG_MS))
    begins_work(s, who);
}

/* ---- DEL without a check ---- */

static void unchecked_hand(stage *s)
{
  (void)takes(s, ANNA, "anna", TTL_MS);
  sleeps_past(s, ANNA, "shop");
  takes_after(s, BERT, "bert");
  by_hand(s, ANNA, "DEL shop");                        /* hers, she believes */
  takes_after(s, CORA, "cora");
}

/* A lease that is not renewed, so that it ends as Anna's did by hand. Bert waits for it. */
static void slept_dibs(stage *s, bool looks_first)
{
  (void)locks(s, ANNA, TTL_MS, DIBS_LOCK_FIXED);
  if (looks_first)
    (void)asks_its_hold(s, ANNA);
  remark(s, ANNA, "sleeps; Bert waits");
  if (locks(s, BERT, 0, 0) == DIBS_OK)
    begins_work(s, BERT);
  if (releases(s, ANNA) == DIBS_OK)
    breaks(s, "Anna is told that it was hers");
  if (tries(s, CORA) == DIBS_OK)
    begins_work(s, CORA);
  ends_work(s, BERT);
  if (releases(s, BERT) != DIBS_OK)
    breaks(s, "Bert's lock was taken from him");
}

static void unchecked_dibs(stage *s) { slept_dibs(s, false); }

const pitfall unchecked_del = { "unchecked-del", "DEL without a check", unchecked_hand,
                                unchecked_dibs };

/* ---- GET, then DEL ---- */

static void get_hand(stage *s)
{
  bool is_hers;

  (void)takes(s, ANNA, "anna", TTL_MS);
  is_hers = strcmp(by_hand(s, ANNA, "GET shop"), "\"anna\"") == 0;
  sleeps_past(s, ANNA, "shop");                        /* between the two commands */
  takes_after(s, BERT, "bert");
  if (is_hers)
    by_hand(s, ANNA, "DEL shop");
  takes_after(s, CORA, "cora");
}

static void get_dibs(stage *s) { slept_dibs(s, true); }

const pitfall get_then_del = { "get-then-del", "GET, then DEL, without a script", get_hand,
                               get_dibs };
