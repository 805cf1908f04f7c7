/* SPDX-License-Identifier: MIT */
/* Expands every public macro once, in a program that is C99 and C++11 alike. */
#include <dibs/dibs.h>
#include <dibs/sim.h>

typedef char version_is_a_text[sizeof(DIBS_VERSION) >= sizeof("0.0.0") ? 1 : -1];
typedef char longest_time_fits_its_type[DIBS_MS_MAX <= 2147483647 ? 1 : -1];

#if DIBS_VERSION_MAJOR < 0 || DIBS_VERSION_MINOR < 0 || DIBS_VERSION_PATCH < 0
#error "versions are numbers that the preprocessor knows"
#endif

DIBS_API DIBS_MUST_CHECK dibs_status every_macro(void);
DIBS_API void every_word(const char *words, ...) DIBS_PRINTF(1, 2);

/* Compound literals, which C++ has not. */
#ifndef __cplusplus
static int32_t kinds_of_targets(void)
{
  const dibs_bytes n = dibs_text("n");
  const dibs_target *targets[] = { DIBS_LOCK("n"), DIBS_READ("n"), DIBS_WRITE("n"),
                                   DIBS_PERMITS("n", DIBS_UNITS_ALL_FREE),
                                   DIBS_PERMIT_OF("n", 2), DIBS_LEAD("n", "value"),
                                   &DIBS_TARGET(DIBS_TARGET_LOCK, "n", 0, 0, NULL),
                                   &DIBS_TARGET_BYTES(DIBS_TARGET_LOCK, n, 0, 0, NULL),
                                   DIBS_LOCKS(&n, 1) };

  return targets[0]->kind;
}
#else
static int32_t kinds_of_targets(void)
{
  return DIBS_TARGET_LOCK | DIBS_TARGET_READ | DIBS_TARGET_WRITE | DIBS_TARGET_PERMITS |
         DIBS_TARGET_LEAD;
}
#endif

dibs_status every_macro(void)
{
  static const uint32_t client_flags =
    DIBS_CLIENT_NO_THREAD | DIBS_CLIENT_NO_LOCAL | DIBS_CLIENT_LOCAL |
    DIBS_CLIENT_PROCESS_CALLBACKS | DIBS_CLIENT_DETECT_DEADLOCK;
  static const uint32_t lock_flags =
    DIBS_LOCK_FIXED | DIBS_LOCK_NO_OWNER | DIBS_LOCK_NO_REENTRY | DIBS_LOCK_FSYNC |
    DIBS_LOCK_REPORT | DIBS_LOCK_FAIR | DIBS_LOCK_SPIN | DIBS_LOCK_FENCED | DIBS_PERMITS_PLAIN;
  static const uint32_t acl_flags =
    DIBS_ACL_FUNCTIONS | DIBS_ACL_POLL | DIBS_ACL_ROLES | DIBS_ACL_CLUSTER |
    DIBS_ACL_REPLICAS | DIBS_ACL_FSYNC | DIBS_ACL_DOCTOR | DIBS_ACL_BEFORE_7 |
    DIBS_ACL_SENTINEL | DIBS_ACL_QUARANTINE;
  static const uint32_t metrics_flags = DIBS_METRICS_PROMETHEUS | DIBS_METRICS_NO_END;
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_lock_options lock = DIBS_LOCK_OPTIONS_INIT;
  dibs_wait_options wait = DIBS_WAIT_OPTIONS_INIT;
  dibs_client_info client = DIBS_CLIENT_INFO_INIT;
  dibs_hold_info hold = DIBS_HOLD_INFO_INIT;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_rate rate = DIBS_RATE_INIT;
  dibs_sim_options sim = DIBS_SIM_OPTIONS_INIT;
  dibs_history_options history = DIBS_HISTORY_OPTIONS_INIT;
  dibs_acl_options acl = DIBS_ACL_OPTIONS_INIT;
  dibs_log_options log = DIBS_LOG_OPTIONS_INIT;
  dibs_sandbox_options sandbox = DIBS_SANDBOX_OPTIONS_INIT;
  char line[DIBS_ACL_LINE_SIZE];
  const char *names[DIBS_MANY_MAX];
  char value[DIBS_LEADER_VALUE_MAX + 1];
  dibs_bytes data = dibs_text("data");
  char token[DIBS_TOKEN_SIZE];
  char name[DIBS_NAME_MAX + 1];
  char note[DIBS_NOTE_MAX + 1];
  char url[DIBS_URL_SIZE];
  char owner[DIBS_OWNER_MAX];

  if (kinds_of_targets() == 0)
    return DIBS_ERR_ARGUMENT;
  options.flags = client_flags;
  sim.flags = DIBS_SIM_IFEQ;
  lock.flags = lock_flags;
  lock.linger_ms = DIBS_LINGER_AUTO;
  lock.min_replicas = DIBS_REPLICAS_MAJORITY;
  acl.uses = acl_flags | metrics_flags;
  line[0] = 0;
  data.size = data.size < DIBS_KEY_MAX ? DIBS_DATA_MAX : DIBS_GUARDED_MAX;
  wait.wait_ms = DIBS_PERMITS_MAX;
  wait.wait_ms = DIBS_FOREVER;
  options.database = DIBS_DATABASE_ZERO;
  options.report_ms = DIBS_REPORT_OFF;
  log.lines_max = DIBS_LOG_ALL;
  history.limit = DIBS_SEMAPHORE_IF_ABSENT;
  history.limit += DIBS_FLEET_BUCKETS + DIBS_FLEET_WAITS + DIBS_FLEET_ENDS + DIBS_HANDOVERS;
  names[0] = NULL;
  token[0] = name[0] = note[0] = owner[0] = value[0] = url[0] = 0;
  return options.size + lock.size + wait.size + rate.size + sim.size + acl.size + history.size +
             sandbox.size + log.size + client.size + hold.size + error.size +
             (size_t)line[0] + (size_t)url[0] + data.size +
             (size_t)value[0] + (names[0] != NULL) +
             (size_t)token[0] + (size_t)name[0] + (size_t)note[0] + (size_t)owner[0] > 0
           ? DIBS_OK
           : DIBS_ERR_ARGUMENT;
}
