/* SPDX-License-Identifier: MIT */
/* cli/option_table.c - every option of every subcommand, once. */
#include <stddef.h>

#include "cli/options.h"

/* A row without help is another spelling of the row before it. For refused options the
 * help is the reason. */

const option_row options_common[] = {
  { "json", 0, NULL, OPTION_JSON, "one JSON object per line" },
  { "quiet", 'q', NULL, OPTION_QUIET, "say only what went wrong" },
  { "verbose", 'v', NULL, OPTION_VERBOSE, "say more" },
  { "help", 'h', NULL, OPTION_HELP, "show this" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_connection[] = {
  { "url", 'u', "URL", OPTION_URL,
    "the server: redis://HOST, local: ...; several: a quorum" },
  { "db", 0, "N", OPTION_DATABASE, "the database number" },
  { "user", 0, "NAME", OPTION_USER, "the ACL user" },
  { "askpass", 0, NULL, OPTION_ASKPASS, "ask for the password on the terminal" },
  { "pass-file", 0, "FILE", OPTION_PASS_FILE, "the password is the first line of FILE" },
  { "cacert", 0, "FILE", OPTION_CACERT, "TLS: authorities to trust" },
  { "cert", 0, "FILE", OPTION_CERT, "TLS: client certificate" },
  { "key", 0, "FILE", OPTION_KEY, "TLS: its key" },
  { "sni", 0, "HOST", OPTION_SNI, "TLS: the name to check instead of the URL's host" },
  { "prefix", 0, "WORD", OPTION_PREFIX, "put before every key (dibs)" },
  { "dialect", 0, "WORD", OPTION_DIALECT,
    "whose locks: native, redisson, spring or plain" },
  { "registry", 0, "KEY", OPTION_REGISTRY, "dialect spring: the registry's key" },
  { "connect-timeout", 0, "DUR", OPTION_CONNECT_TIMEOUT,
    "go on so long without any server (5s)" },
  { "config", 0, "FILE", OPTION_CONFIG, "read this configuration file" },
  { "local", 0, NULL, OPTION_LOCAL, "use the private server of this machine" },
  { "no-local", 0, NULL, OPTION_NO_LOCAL, "never use it" },
  { "tls", 0, NULL, OPTION_REFUSED, "say it in the URL: rediss:// or valkeys://" },
  { "insecure", 0, NULL, OPTION_REFUSED,
    "certificates are always checked; name your own authority with --cacert FILE" },
  { "cacertdir", 0, "DIR", OPTION_REFUSED, "use --cacert FILE" },
  { "pass", 0, "WORD", OPTION_REFUSED,
    "everybody can see the command line; use --askpass, --pass-file or DIBS_PASSWORD" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_taking[] = {
  { "nonblock", 'n', NULL, OPTION_NONBLOCK,
    "do not wait: exit 75 when somebody else has it" },
  { "nb", 0, NULL, OPTION_NONBLOCK, NULL },
  { "wait", 'w', "DUR", OPTION_WAIT, "wait at most so long (for ever), then exit 75" },
  { "timeout", 0, "DUR", OPTION_WAIT, NULL },
  { "conflict-exit-code", 'E', "N", OPTION_CONFLICT_CODE, "exit N instead of 75" },
  { "skip-ok", 0, NULL, OPTION_SKIP_OK, "exit 0 instead of 75" },
  { "fair", 0, NULL, OPTION_FAIR,
    "first come, first served (native locks always are)" },
  { "spin", 0, NULL, OPTION_SPIN, "dialect redisson: a lock whose end is told to nobody" },
  { "fenced", 0, NULL, OPTION_FENCED,
    "dialect redisson: a lock whose fence Java counts, too" },
  { "ttl", 't', "DUR", OPTION_TTL,
    "the lease: how long the lock outlives a dead holder (30s)" },
  { "max-hold", 0, "DUR", OPTION_MAX_HOLD, "stop renewing then; the lock ends" },
  { "reason", 'm', "TEXT", OPTION_REASON, "shown to people who ask who holds it" },
  { "progress", 0, "MODE", OPTION_PROGRESS, "while waiting: auto, plain, json or none" },
  { "scope", 0, NULL, OPTION_REFUSED, "systemd scopes are not in this version" },
  { "no-fork", 'F', NULL, OPTION_REFUSED,
    "dibs has to stay beside the command to renew the lock and to stop it in time" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_kind[] = {
  { "shared", 's', NULL, OPTION_SHARED, "a read/write lock, for reading" },
  { "exclusive", 'x', NULL, OPTION_EXCLUSIVE, "a read/write lock, for writing" },
  { NULL, 'e', NULL, OPTION_EXCLUSIVE, NULL },
  { "permits", 'j', "N", OPTION_PERMITS, "a semaphore with N permits; take one" },
  { "jobs", 0, "N", OPTION_PERMITS, NULL },
  { "take", 0, "M", OPTION_TAKE, "take M permits at once" },
  { "plain-permits", 0, NULL, OPTION_PLAIN_PERMITS,
    "run, redisson: permits of a plain RSemaphore, without leases" },
  { "multi", 0, "A,B,C", OPTION_MULTI, "several locks, all or none; no NAME then" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_permits[] = {
  { "permits", 'j', "N", OPTION_PERMITS, "acquire: set N permits if none are set yet" },
  { "jobs", 0, "N", OPTION_PERMITS, NULL },
  { "take", 0, "M", OPTION_TAKE, "acquire: take M permits at once (1)" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_run[] = {
  { "command", 'c', "TEXT", OPTION_COMMAND, "run TEXT by the shell" },
  { "min-hold", 0, "DUR", OPTION_MIN_HOLD, "keep the lock at least so long" },
  { "on-lost", 0, "SIGNAL", OPTION_ON_LOST,
    "sent when the lock is about to end (TERM); or ignore" },
  { "kill-after", 'k', "DUR", OPTION_KILL_AFTER, "from that signal to KILL (5s)" },
  { "foreground", 0, NULL, OPTION_FOREGROUND, "leave the command in our process group" },
  { "quiet-on-success", 0, NULL, OPTION_QUIET_ON_SUCCESS,
    "show output only when it fails" },
  { "status-file", 0, "FILE", OPTION_STATUS_FILE, "write how it went, as JSON" },
  { "status-fd", 0, "N", OPTION_STATUS_FD, "the same, to a descriptor" },
  { "notify", 0, NULL, OPTION_NOTIFY, "tell systemd: ready once acquired" },
  { "fg", 0, NULL, OPTION_ALWAYS, NULL },
  { "bg", 0, NULL, OPTION_REFUSED, "dibs run waits for its command; put & behind it" },
  { "id", 0, "NAME", OPTION_REFUSED, "NAME stands before the command: dibs run -j 4 NAME -- CMD" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_acquire[] = {
  { "for-pid", 0, "PID", OPTION_FOR_PID, "renew until that process ends, then release" },
  { "no-renew", 0, NULL, OPTION_NO_RENEW,
    "let the lease end after --ttl, without a hint" },
  { "sh", 0, NULL, OPTION_SHELL, "print export DIBS_TOKEN=... DIBS_FENCE=..." },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_renew[] = {
  { "ttl", 't', "DUR", OPTION_TTL, "let it last so long from now (30s)" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_release[] = {
  { "force", 0, NULL, OPTION_FORCE, "break the lock NAME, whoever holds it" },
  { "yes", 'y', NULL, OPTION_YES, "do not ask" },
  { "fence", 0, "N", OPTION_FENCE, "with --force: only the lease with this fence" },
  { "reason", 'm', "TEXT", OPTION_REASON, "with --force: why, for the system log" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_status[] = {
  { "held", 0, NULL, OPTION_ONLY_HELD, "only names that somebody holds" },
  { "waiting", 0, NULL, OPTION_ONLY_WAITING, "only names that somebody waits for" },
  { "kind", 0, "KIND", OPTION_KIND, "only lock, rw, semaphore, latch, barrier or election" },
  { "sort", 0, "KEY", OPTION_SORT, "by name, held or wait" },
  { "graph", 0, NULL, OPTION_GRAPH, "who waits for whom, cycles marked" },
  { "dot", 0, NULL, OPTION_DOT, "the same for dot(1) of Graphviz" },
  { "watch", 0, "[=DUR]", OPTION_WATCH, "again and again (every 2s)" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_wait[] = {
  { "free", 0, NULL, OPTION_UNTIL_FREE, "until nobody holds it (the default)" },
  { "held", 0, NULL, OPTION_UNTIL_HELD, "until somebody holds it" },
  { "zero", 0, NULL, OPTION_UNTIL_ZERO, "until the latch NAME is at zero" },
  { "leader", 0, NULL, OPTION_UNTIL_LEADER, "until somebody leads the election NAME" },
  { "wait", 'w', "DUR", OPTION_WAIT, "at most so long (for ever), then exit 75" },
  { "timeout", 0, "DUR", OPTION_WAIT, NULL },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_acl[] = {
  { "mode", 0, "A,B,...", OPTION_MODE,
    "what else is used than the URL says; see below" },
  { "latches", 0, "GLOB", OPTION_LATCHES, "and latches with such names" },
  { "guarded", 0, "GLOB", OPTION_GUARDED, "and guarded writes on such keys" },
  { "limiters", 0, "GLOB", OPTION_LIMITERS, "and rate limiters with such names" },
  { "data", 0, "GLOB", OPTION_DATA, "and maps, lists and sets with such names" },
  { "locks", 0, "GLOB", OPTION_LOCKS, "and locks of another --dialect with such names" },
  { "sentinel", 0, NULL, OPTION_SENTINEL, "the line for the sentinels instead" },
  { "functions", 0, NULL, OPTION_FUNCTIONS, "print the library for FUNCTION LOAD instead" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_doctor[] = {
  { "strict", 0, NULL, OPTION_STRICT, "warnings fail, too" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_ping[] = {
  { "count", 'c', "N", OPTION_COUNT, "stop after N (until interrupted)" },
  { "interval", 'i', "DUR", OPTION_INTERVAL, "between two questions (1s)" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_elect[] = {
  { "value", 0, "TEXT", OPTION_VALUE, "what observers are told while we lead" },
  { "loop", 0, NULL, OPTION_LOOP, "stand again after a loss" },
  { "on-elected", 0, "TEXT", OPTION_ON_ELECTED, "run TEXT by the shell when elected" },
  { "on-deposed", 0, "TEXT", OPTION_ON_DEPOSED,
    "run TEXT by the shell when leading ends, before others lead" },
  { "observe", 0, NULL, OPTION_OBSERVE,
    "do not stand: print EPOCH VALUE HOST:PID at each change" },
  { "resign", 0, NULL, OPTION_RESIGN, "make whoever leads stop leading" },
  { "yes", 'y', NULL, OPTION_YES, "with --resign: do not ask" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_latch[] = {
  { "id", 0, "ID", OPTION_COUNT_ID, "down: the same ID counts once" },
  { "wait", 'w', "DUR", OPTION_WAIT, "wait: at most so long (for ever), then exit 75" },
  { "timeout", 0, "DUR", OPTION_WAIT, NULL },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_rate[] = {
  { "wait", 'w', "DUR", OPTION_WAIT, "take: at most so long (for ever), then exit 75" },
  { "timeout", 0, "DUR", OPTION_WAIT, NULL },
  { "nonblock", 'n', NULL, OPTION_NONBLOCK, "take: do not wait, exit 75" },
  { "per-client", 0, NULL, OPTION_PER_CLIENT, "set: each client has the whole rate for itself" },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_barrier[] = {
  { "parties", 'n', "N", OPTION_PARTIES, "wait: how many have to arrive" },
  { "wait", 'w', "DUR", OPTION_WAIT, "wait: at most so long (for ever), then exit 75" },
  { "timeout", 0, "DUR", OPTION_WAIT, NULL },
  { NULL, 0, NULL, 0, NULL },
};

const option_row options_local[] = {
  { "idle", 0, "DUR", OPTION_IDLE, "start: stop so long after the last user (60s)" },
  { "aof", 0, NULL, OPTION_AOF, "start: keep the data over restarts" },
  { NULL, 0, NULL, 0, NULL },
};
