/* SPDX-License-Identifier: MIT */
/* dibs/client.h - a client: one connection set to one deployment, shared by all threads. */
#ifndef DIBS_CLIENT_H
#define DIBS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dibs/status.h>
#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The connections of a process to one deployment.
 *
 * Time limits: each call of a function that blocks has one, and returns at most 50 ms after it,
 * whatever the servers and the network do.
 *
 * It is wait_ms where the function has that, also dibs_ping(). While no server has answered this
 * client yet: connect_timeout_ms, if that is shorter (dibs_degrade).
 *
 * After wait_ms follows command_timeout_ms, for the reply to the request that ends the call:
 * dibs_acquire() of DIBS_TARGET_LEAD, dibs_barrier_await(), dibs_rate_limiter_acquire(),
 * dibs_list_take().
 *
 * For dibs_release() it is command_timeout_ms, for dibs_close() close_timeout_ms.
 *
 * All other functions that ask a server have that of dibs_client_set_call_timeout(); a try for
 * leadership then command_timeout_ms. Functions that send requests until they have everything
 * have it after each reply: dibs_list(), dibs_list_names(), dibs_map_each(), dibs_set_each(),
 * dibs_list_range(), dibs_fleet_read(), dibs_history_read(), dibs_examine().
 *
 * As a table: doc/guide/time-limits.md.
 *
 * Outcomes of every function with a client or handle, beside those that its comment lists:
 * DIBS_ERR_ARGUMENT (it is NULL; of a handle DIBS_ERR_STALE), DIBS_ERR_STALE (it was closed or
 * released), DIBS_ERR_CLOSED (dibs_close() runs in another thread), DIBS_ERR_FORKED (it is of the
 * parent process), DIBS_ERR_WOULD_BLOCK (a blocking function in a callback), DIBS_ERR_NO_MEMORY.
 *
 * "The server's faults", of each function that asks a server: DIBS_ERR_UNREACHABLE, _AUTH, _DENIED,
 * _REFUSED, _READ_ONLY, _TLS, _PROTOCOL, _SERVER, DIBS_ERR_SYSTEM (no descriptor, no random
 * numbers), and DIBS_ERR_UNSUPPORTED: the server lacks a command, or the dialect or deployment this
 * kind of object. A quorum has exclusive and read/write locks only.
 *
 * pthread_cancel() does not act inside a function of the library, of any header: cancellation is
 * disabled in each (also in callbacks that dibs_process() runs) and as before when it returns. To
 * end a wait use wait_ms or dibs_cancel(). Since 0.5
 *
 * A signal handler may always call dibs_cancel() and functions that only read. If it interrupted a
 * function of a client or hold, or dibs_open(), any other one does nothing there and returns
 * DIBS_ERR_WOULD_BLOCK (-1, false, 0, NULL), and dibs_close() returns the client. So exit() in a
 * handler runs the destructors of static objects and the functions of atexit(), and ends the
 * program without waiting; what it held expires. Since 0.5 */
typedef struct dibs_client dibs_client;

/* Bytes of the caller, borrowed for the call; any of them may be zero. NULL with size 0 is
 * the empty value. */
typedef struct dibs_bytes {
  const void *bytes;
  size_t size;
} dibs_bytes;

/* The bytes of a C string. NULL is the empty value. Since 0.5 */
static inline dibs_bytes dibs_text(const char *string)
{
  dibs_bytes b;

  b.bytes = string;
  b.size = string == NULL ? 0 : strlen(string);
  return b;
}

/* For wait_ms of dibs_lock_options and dibs_wait_options: no limit. The INIT macros set it, and
 * NULL options mean it. It is INT32_MAX, which no computed remaining time is by mistake: a
 * deadline that has passed gives 0 or a small negative number, and an overflow INT32_MIN. There
 * 0 does not wait, and negative numbers are DIBS_ERR_ARGUMENT. Since 0.5 */
#define DIBS_FOREVER INT32_MAX

/* The longest time span any option takes: 24 days. */
#define DIBS_MS_MAX 2073600000
#define DIBS_NAME_MAX 512    /* bytes in a name */
#define DIBS_NOTE_MAX 256    /* bytes in a note */
#define DIBS_OWNER_MAX 128   /* bytes in an owner key */

/* Bits of dibs_options.flags. */
#define DIBS_CLIENT_NO_THREAD 0x1u /* no library thread: blocking calls run the loop
                                      themselves, renewals happen in dibs_process() */
#define DIBS_CLIENT_NO_LOCAL 0x2u  /* no private local server, also not by the URL local: */
#define DIBS_CLIENT_LOCAL 0x10u    /* the private server is intended if no other is named: no
                                      warning. Since 0.5 */
#define DIBS_CLIENT_PROCESS_CALLBACKS 0x4u /* the library thread renews, but callbacks
                                      run only in dibs_process(), in your own loop */
#define DIBS_CLIENT_DETECT_DEADLOCK 0x8u /* a blocking call whose owner holds something
                                      checks, once it has waited for a second, whether
                                      owners of clients with this flag wait for each
                                      other in a cycle; the youngest call of a confirmed
                                      one gets DIBS_WOULD_DEADLOCK, and dibs_client_error()
                                      names the cycle. Async calls are not examined, and
                                      are no part of one: their owner may continue and
                                      release. doc/guide/deadlock.md. Since 0.2 */

/* Events for dibs_options.on_event. Values never change; ignore unknown ones. */
typedef enum dibs_event_kind {
  DIBS_EVENT_CONNECTED = 1,    /* text: the server's address */
  DIBS_EVENT_DISCONNECTED = 2, /* text: why */
  DIBS_EVENT_LOST = 3,         /* text: the name, and why */
  DIBS_EVENT_WARNING = 4,      /* text: what is unsafe, and what to do; or for how long waiting
                                  calls could not reach a server, and why: after 2 s, then 2, 4,
                                  8 ... 60 s later */
  DIBS_EVENT_RECOVERED = 5     /* text: after how long servers could be asked again; follows
                                  such a warning when a server answers what waited or was
                                  refused, of a quorum a majority. Not when the calls gave
                                  up, unless a later one is answered within 10 s. Since 0.5 */
} dibs_event_kind;

/* What waiting calls do while no server can decide: none is reachable, or they answer
 * LOADING, CLUSTERDOWN, READONLY ... Since 0.4 */
typedef enum dibs_degrade {
  DIBS_DEGRADE_DEFAULT = 0, /* as the URL or file says; else FAIL until a server (of a quorum: a
                               majority) has answered a request of this client, then WAIT */
  DIBS_DEGRADE_FAIL = 1,    /* they end after connect_timeout_ms without a server, with
                               DIBS_ERR_UNREACHABLE, READ_ONLY or REFUSED */
  DIBS_DEGRADE_WAIT = 2,    /* they wait for a server as they wait for another holder */
  DIBS_DEGRADE_LOCAL = 3    /* after connect_timeout_ms, or a shorter wait_ms in which a
                               connection failed, exclusive locks become locks of this
                               machine; dibs_hold_get_info() shows it, an event reports it
                               once, and the hold is lost when the server that decides about
                               its name answers again (of a quorum: a majority). On one
                               machine none is held beside a lease of a server, if all clients
                               have this setting: each of their leases has a lock file, and
                               without one a call ends with DIBS_ERR_SYSTEM */
} dibs_degrade;

/* The format of a client's locks on the server; doc/guide/java.md,
 * doc/guide/other-languages.md. Since 0.5 */
typedef enum dibs_dialect {
  DIBS_DIALECT_DEFAULT = 0,  /* as the URL says, else NATIVE */
  DIBS_DIALECT_NATIVE = 1,   /* ours: direct hand-off, fences, lingering */
  DIBS_DIALECT_REDISSON = 2, /* locks and permits shared with Java programs that use Redisson:
                                RLock, RFairLock, RSpinLock, RFencedLock, RReadWriteLock,
                                RPermitExpirableSemaphore, RSemaphore */
  DIBS_DIALECT_SPRING = 3,   /* exclusive locks shared with a RedisLockRegistry of Spring
                                Integration; needs `registry` */
  DIBS_DIALECT_PLAIN = 4     /* exclusive locks that are a string with an end, shared with
                                redsync, redislock, redis-py, node-redlock and similar ones */
} dibs_dialect;

/* What a client writes into the history; fleet.h. Since 0.5 */
typedef enum dibs_history_mode {
  DIBS_HISTORY_DEFAULT = 0,  /* as the URL or file says; else NOTABLE */
  DIBS_HISTORY_NOTABLE = 1,  /* lost, taken, timed out, and what waited or was held for
                                longer than history_over_ms */
  DIBS_HISTORY_ALL = 2,      /* each hold and each request that was given up; at most 500 between
                                two reports */
  DIBS_HISTORY_OFF = 3
} dibs_history_mode;

typedef struct dibs_event {
  size_t size;
  dibs_event_kind kind;
  const char *text; /* borrowed until the callback returns */
} dibs_event;

/* Runs as all callbacks of all headers that return nothing do:
 *
 * Where    those of one client one after the other, without a mutex of the library: on its thread
 *          dibs-callback; with DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS inside
 *          dibs_process() only. Both flags together are the first one alone.
 * Allowed  functions that do not wait: all `_async` forms, those that read what the client knows,
 *          dibs_release() and dibs_hold_detach(), dibs_cancel(), dibs_request_cancel(),
 *          dibs_observer_free(). Others return DIBS_ERR_WOULD_BLOCK, and dibs_close() does nothing.
 * Close    dibs_close() runs what is due before it returns, on the thread dibs-callback, with one
 *          of these flags inside itself: the end of each `_async` call (DIBS_ERR_CLOSED, or what it
 *          was), releases, events, lines of the log. A loss, a change of a hold or of an election
 *          that has not been reported before may not be reported any more.
 * End      by return, as of every callback and visitor. After an exception, longjmp() or
 *          pthread_exit() the call that ran it is not over for the library: its thread can make no
 *          other one (DIBS_ERR_WOULD_BLOCK), nor dibs_close(). On dibs-callback an exception ends
 *          the program. Functions that C++ passes to <dibs/dibs.hpp> may throw where that says so.
 *
 * Callbacks that return bool are visitors: they run inside the call that got them, in its
 * thread, and their headers say what they may call. */
typedef void (*dibs_event_callback)(const dibs_event *event, void *data);

/* Frees the data of a callback. Runs exactly once for each call of the library that was given
 * it, also if that call fails, as soon as the callback cannot run any more; on the thread
 * dibs-callback, in dibs_process(), or in the call that ends the last use, before that returns.
 * May call what the callback may, and no more, also in that call, where the library does not
 * refuse it. A child made by fork() has a copy of the data: dibs_close()
 * there runs it for that copy, unless a thread of the parent freed it at that moment or was
 * inside the library for long (then the child frees nothing of the client). Since 0.5 */
typedef void (*dibs_free_callback)(void *data);

/* Replaces malloc, realloc and free for one client. All three are called from any
 * thread, must not call dibs, and may fail by returning NULL. `data` is used until dibs_close() has
 * returned and everything that the client's calls gave has been freed. Not covered: the input
 * buffer of hiredis (hiredisSetAllocators() replaces its functions for the whole process), OpenSSL,
 * and the handle table, which belongs to the process. They handle refused memory, too. */
typedef struct dibs_allocator {
  void *(*allocate)(size_t bytes, void *data);
  void *(*reallocate)(void *memory, size_t bytes, void *data);
  void (*release)(void *memory, void *data);
  void *data;
} dibs_allocator;

/* How to open a client. Zero in a field means "the default written beside it".
 * Everything is copied. Start from DIBS_OPTIONS_INIT. */
typedef struct dibs_options {
  size_t size;                  /* set by DIBS_OPTIONS_INIT */
  uint32_t flags;               /* DIBS_CLIENT_* bits; unknown bits are refused */
  int32_t connect_timeout_ms;   /* 5000; the limit of a call that does not wait, and of one that
                                   waits while no server has answered this client yet */
  int32_t command_timeout_ms;   /* 2000; a later reply breaks the link; the limit of
                                   dibs_release() */
  int32_t close_timeout_ms;     /* 1000; the limit of dibs_close() */
  int32_t renew_every_ms;       /* 0: a third of each ttl; else 1 .. ttl/2 */
  int32_t clock_rate_error_ppm; /* 10000 = 1 %; how much two clocks may differ in rate: this
                                   part of a lease is not used, and a renewal after
                                   renew_every_ms has to come before it */
  int32_t local_handovers_max;  /* 16; hand-overs in a row inside the process while
                                   other processes wait; -1: none, strict order */
  int32_t local_handover_ms;    /* 10; the time limit for them */
  const char *prefix;           /* "dibs"; 1..64 bytes, no blank, brace or control; none of
                                   its parts between ':' but the first is "m" */
  const char *user;             /* overrides the URL's. Without a password anywhere it logs in with
                                   an empty one, which a user with `nopass` accepts */
  const char *password;         /* overrides the URL's */
  const char *ca_file;          /* TLS: own authorities instead of the system's. This file, and the
                                   next two, are read again when a connection is refused and
                                   they have changed on the disk */
  const char *cert_file;        /* TLS: client certificate, with key_file */
  const char *key_file;
  const char *server_name;      /* TLS: the name to check instead of the URL's host */
  const char *note;             /* shown with the holder of a lock */
  const dibs_allocator *allocator; /* malloc and friends */
  dibs_event_callback on_event; /* NULL: events are dropped. Runs where dibs_lost_callback runs */
  void *on_event_data;          /* used until dibs_close() has returned: on_event_free */
  int32_t quarantine_ms;        /* era guard: after a promotion or restart a server makes no
                                   new owner for this time. 0: none. The
                                   same for all clients of a prefix; see
                                   doc/guide/which-deployment.md. Since 0.4 */
  dibs_degrade degrade;         /* while no server can be reached. Since 0.4 */
  const char *sentinel_user;    /* log-in at the sentinels, which have their own; NULL: as the
                                   URL says, else none. Since 0.4 */
  const char *sentinel_password;
  dibs_dialect dialect;         /* Since 0.5 */
  const char *registry;         /* SPRING: the registryKey of the Spring side, 1 to 64 bytes;
                                   copied. Others: NULL. Since 0.5 */
  int32_t names_max;            /* how many names it keeps in memory at once: held, waited for,
                                   lingering, or released and not confirmed; names of one server
                                   or slot that are taken as one count as one. One more is
                                   DIBS_ERR_LIMIT, unless one lingers and can be released
                                   for it. 0: no limit; else 1 or more.
                                   names.h. Since 0.5 */
  int32_t database;             /* overrides the URL's: 1 .. 1000000, or DIBS_DATABASE_ZERO;
                                   0: as the URL says. Since 0.5 */
  const char *config_file;      /* this configuration file, which must name the servers, instead
                                   of all variables and other files; without a URL in
                                   dibs_open(). Since 0.5 */
  int32_t report_ms;            /* 10000; how often what this client did is added to the totals of
                                   the fleet, 1000 .. DIBS_MS_MAX, and at its close; or
                                   DIBS_REPORT_OFF, also for the history. fleet.h. Since 0.5 */
  dibs_history_mode history;    /* Since 0.5 */
  int32_t history_max;          /* 10000; about how many entries the history keeps,
                                   1 .. 1000000. Since 0.5 */
  int32_t history_over_ms;      /* 1000; NOTABLE: longer than this. Since 0.5 */
  dibs_free_callback on_event_free; /* NULL, or gets on_event_data when on_event cannot run any
                                   more: in dibs_close(), or in dibs_open() if that fails.
                                   Since 0.5 */
  const char *password_file;    /* instead of `password`: the first line of this file, which is
                                   read again when the server refuses the log-in. Since 0.5 */
  const char *classes;          /* which names are counted as one, for metrics, totals and log:
                                   patterns with commas between, "orders:*, user:*"; `*` is any
                                   text. The first that a name fits is its class; without one
                                   that is the part before the first ':', fleet.h. At most 64
                                   patterns of 64 bytes, 1024 bytes in all. Since 0.6 */
} dibs_options;

#define DIBS_REPORT_OFF (-1)    /* dibs_options.report_ms */

#define DIBS_DATABASE_ZERO (-1) /* dibs_options.database: database 0 */

#define DIBS_OPTIONS_INIT \
  { sizeof(dibs_options), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, 0, DIBS_DEGRADE_DEFAULT, NULL, NULL, \
    DIBS_DIALECT_DEFAULT, NULL, 0, 0, NULL, 0, DIBS_HISTORY_DEFAULT, 0, 0, NULL, NULL, NULL }

/* Opens a client. Does not wait for the server: the first call that needs it does.
 *
 * `url`        redis://, valkey://, rediss://, valkeys:// (TLS): [user[:password]@]
 *              host[:port][/db][?option=value&...]; unix://[user[:password]@]/path[?db=N];
 *              local: for the private server. Several servers: redis://h1,h2,h3/0
 *              (replicated), redis+sentinel://h1,h2,h3/service/0, redis+cluster://h1,h2;
 *              3 to 15 URLs, an odd number, with blanks or commas between (a quorum).
 *              Options in the query: db, prefix, user, password, password_file, connect_timeout,
 *              command_timeout, close_timeout (durations: 500ms, 10s, 5m),
 *              clock_rate_error_ppm, cacert, cert, key, sni, note, quarantine, degrade,
 *              dialect, registry, map, functions, pubsub, sharded, report, history,
 *              history_max, history_over, classes,
 *              sentinel_user, sentinel_password, sentinel_tls;
 *              doc/design/deployments.md 1.
 *              NULL: the settings of an enclosing `dibs run` (DIBS_INHERITED_URL, while
 *              DIBS_URL is unchanged), DIBS_URL, VALKEY_URL, REDIS_URL, the config file,
 *              then the private local server, with a DIBS_EVENT_WARNING, or without
 *              on_event one line on standard error, once per process. Nothing else is ever
 *              written there. DIBS_CLIENT_LOCAL or the URL local: disables the warning.
 *              "" never uses the private server.
 *              Copied. A password in it is never shown in any message.
 * `options`    read during the call only; NULL means all defaults. Non-zero fields
 *              override the URL's query.
 * `ret_client` written on DIBS_OK only. The caller owns it: dibs_close().
 * `error`      why not; may be NULL. Then dibs_client_error(NULL, 0, ...) has it.
 *
 * Returns  DIBS_OK
 *          DIBS_ERR_CONFIG     the URL, a file or a variable is wrong; the text names it.
 *          DIBS_ERR_ARGUMENT   an option is out of range or from the future; error->size.
 *          DIBS_ERR_NO_SERVER  a private server is needed, and no program was found.
 *          DIBS_ERR_TLS        a certificate file cannot be used, or OpenSSL cannot be loaded.
 *          DIBS_ERR_NO_MEMORY, DIBS_ERR_SYSTEM (also: OpenSSL cannot be loaded, of which
 *          degrade=local needs SHA-256).
 *
 * Thread   any; like every call, with 64 KiB of stack, which is enough for TLS. May start one
 *          thread, named dibs-io (see DIBS_CLIENT_NO_THREAD), and for local: a server process;
 *          then it blocks, at most 5 s. Not from a callback.
 * Fork     in the child every handle returns DIBS_ERR_FORKED, nothing is sent, and the
 *          parent keeps its holds; dibs_close() there only frees memory. The child keeps no
 *          connection of the parent: a waiter that is killed is passed over, also while its child
 *          lives. (Not in a child that a signal handler forked inside a call of the library.)
 * Copies   of a machine or process with an open client (a snapshot restored twice) are one client
 *          to the server, and all granted what one of them holds: close it before the snapshot.
 * Source   doc/guide/first-lock.md, doc/guide/threads.md, doc/design/architecture.md.
 * Since    0.1; `error` since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_open(
  const char *url, const dibs_options *options, dibs_client **ret_client, dibs_error *error);

/* Releases all holds of the client, leaves every queue and frees the client.
 * From its beginning no hold of the client is valid (DIBS_HOLD_GONE), before another client can
 * have the name. Blocking calls of other threads end with DIBS_ERR_CLOSED, and are waited for; with
 * DIBS_UNKNOWN one whose change was sent, and may be executed: a guarded write, a map, a latch ...
 * Leases that could not be released within close_timeout_ms expire. A client is a handle, not
 * a pointer into memory: a call with a closed one, dibs_close() included, gets DIBS_ERR_STALE
 * and does nothing. NULL is allowed.
 * Returns NULL; inside a callback, or in a signal handler that interrupted a call of the library,
 * where it does nothing, `client`.
 *
 * Thread   any, also while other threads call. Of two at once, one closes and the other
 *          returns at once. Not from a callback. Blocks at most close_timeout_ms, and
 *          without a limit until a callback that runs has returned: then no callback of the
 *          client runs any more.
 * Since    0.1 */
DIBS_API dibs_client *dibs_close(dibs_client *client);

/* Copies the error of the last call of the calling thread, like errno: status, the server's error
 * and its address. No call of another thread changes it. After a call that returned DIBS_OK it is
 * DIBS_OK with an empty text. Calls are the functions that return a dibs_status other than this
 * one, dibs_close() and dibs_hold_fd(); those that only read (dibs_hold_state(), ..._free()) and
 * those without a client (dibs_stripe()) leave it unchanged. Callbacks get their error as an
 * argument.
 *
 * `client`    the last call must have been with this client or one of its holds, else the error
 *             is DIBS_OK. NULL: with any client; only with `index` 0.
 * `index`     0: the error that the call ended with. 1, 2, ...: that of the first, second server
 *             of a quorum in that call; after a call that did not fail, or that 63 later faults of
 *             this client have displaced, the last error of this server.
 * `ret_error` written on DIBS_OK only; start from DIBS_ERROR_INIT.
 *
 * Returns  DIBS_OK, DIBS_ERR_ARGUMENT (ret_error is NULL, or its size is not set; or there is no
 *          such server: without a quorum `index` must be 0). It leaves the error as it is.
 * Thread   any; never blocks; allowed in callbacks.
 * Source   doc/guide/threads.md. Since 0.6 */
DIBS_API dibs_status dibs_client_error(
  dibs_client *client, size_t index, dibs_error *ret_error);

/* Sets other credentials for the next connections; present ones stay. For passwords that
 * rotate. NULL: none; a user without a password logs in with an empty one. Copied; the old ones
 * are wiped.
 * Returns DIBS_OK, DIBS_ERR_NO_MEMORY. Thread: any. Since 0.4 */
DIBS_API dibs_status dibs_client_set_credentials(
  dibs_client *client, const char *user, const char *password);

/* Sets the limit of calls that do not wait (those whose page or comment names no wait_ms), in
 * milliseconds, 1 to DIBS_MS_MAX; 0: connect_timeout_ms, or command_timeout_ms if that is
 * longer, which is the default. Applies to calls that begin after it, in all threads. A change of a
 * latch or a rate limiter whose reply is lost is DIBS_UNKNOWN after 55 s: the server forgets it.
 * dibs_release() and dibs_close() have separate limits: the list at dibs_client.
 * Returns DIBS_OK, DIBS_ERR_ARGUMENT, DIBS_ERR_FORKED. Thread: any. Since 0.5 */
DIBS_API dibs_status dibs_client_set_call_timeout(dibs_client *client, int32_t ms);

/* Returns the limit that dibs_client_set_call_timeout() sets, in milliseconds; 0 for a client
 * that was closed. Thread: any; never blocks. Since 0.5 */
DIBS_API int32_t dibs_client_call_timeout(const dibs_client *client);

/* Asks the server for its time, of a quorum all until a majority has answered. Waits for a
 * connection, at most `wait_ms`, 1 .. DIBS_MS_MAX (0: the connect timeout; never without a limit).
 *
 * `ret_round_trip_us`  receives the round trip time, microseconds; may be NULL.
 *
 * Returns  DIBS_OK, DIBS_ERR_UNREACHABLE (no reply within wait_ms, too), DIBS_ERR_ARGUMENT, the
 *          server's faults.
 * Thread   any; blocks; not from a callback.
 * Since    0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_ping(
  dibs_client *client, int32_t wait_ms, uint64_t *ret_round_trip_us);

/* Writes the URL in use with all settings that identify its locks and reach its servers:
 * servers, user, database, prefix, dialect, registry, TLS files (with their whole path), time
 * limits and every other option of a URL, from the URL, the options or a file;
 * `with_passwords` also its passwords. For programs that this one starts: one that finds this
 * text with passwords in DIBS_INHERITED_URL and the one without in DIBS_URL opens the same
 * deployment by dibs_open(NULL). Never put passwords on a command line.
 * It has no note, and the credentials that dibs_open() found, not those of
 * dibs_client_set_credentials().
 *
 * `ret_url`   url_size bytes; DIBS_URL_SIZE is always enough.
 *
 * Returns  DIBS_OK, DIBS_ERR_LIMIT (it does not fit), DIBS_ERR_ARGUMENT, DIBS_ERR_NO_MEMORY.
 * Thread   any; never blocks.
 * Since    0.5 */
#define DIBS_URL_SIZE 131072
DIBS_API DIBS_MUST_CHECK dibs_status dibs_full_url(
  dibs_client *client, bool with_passwords, char *ret_url, size_t url_size);

/* Returns the id of this client, as in dibs_party.client: 22 characters, in
 * every dialect; borrowed until dibs_close(). NULL gives "". Thread: any. Since 0.5 */
DIBS_API const char *dibs_client_id(const dibs_client *client);

/* Returns whether a connection to a server is ready now: to more than half of a quorum, else to
 * at least one server. It sends no request: false before the first call that needs one, and true
 * until a break is detected. For a status page, not for deciding whether a lock is held.
 * Thread: any; does not block. Since 0.5 */
DIBS_API bool dibs_is_connected(const dibs_client *client);

/* What a client is, and its counters since dibs_open(). Start from DIBS_CLIENT_INFO_INIT.
 * Since 0.6 */
typedef struct dibs_client_info {
  size_t size;             /* set by DIBS_CLIENT_INFO_INIT */
  const char *url;         /* in use, without users and passwords: "redis://127.0.0.1:6379/0"; of
                              several servers all named ones; borrowed until dibs_close() */
  int32_t is_private;      /* 1: it uses the private local server */
  int32_t degrade;         /* the dibs_degrade of options, URL or file; 0: none of them says it */
  uint64_t granted;        /* acquisitions, local ones included */
  uint64_t granted_local;  /* of these, without a round trip */
  uint64_t released;
  uint64_t lost;
  uint64_t renewed;
  uint64_t renew_failed;
  uint64_t commands;       /* sent to the server */
  uint64_t messages;       /* received on the client channel */
  uint64_t connects;
  uint64_t holds;          /* now */
  uint64_t waiting;        /* requests that wait now */
  uint64_t names;          /* names in the local table now */
  uint64_t table_bytes;    /* memory that they use, and the names of detached locks, and of the last
                              256 that each server released in the last 30 s */
  const char *classes;     /* the patterns of its classes in use, as in dibs_options; "": none;
                              borrowed until dibs_close() */
  uint32_t servers;        /* that may have names, as known now: the primaries of a Cluster, the
                              servers of a quorum; else 1 */
  uint32_t servers_down;   /* of these: the connection failed and there is none since, or the
                              Cluster left it out; not one that was never asked */
  char server_down[128];   /* the address of the first of these; "": none */
  int32_t is_unnamed;      /* 1: it uses the private local server because no server is named
                              anywhere */
  int32_t reserved;        /* 0 */
} dibs_client_info;

#define DIBS_CLIENT_INFO_INIT \
  { sizeof(dibs_client_info), "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "", 0, 0, "", 0, 0 }

/* Reads what a client is, and its counters: all of one moment.
 *
 * `ret_info` written on DIBS_OK only. A smaller `size`, of a program that was compiled with an
 *            older header, gets the fields that it has.
 *
 * Returns  DIBS_OK, DIBS_ERR_ARGUMENT (ret_info is NULL, or its size is not set).
 * Thread   any; never waits for a server; allowed in callbacks.
 * Since    0.6 */
DIBS_API dibs_status dibs_client_get_info(dibs_client *client, dibs_client_info *ret_info);

#ifdef __cplusplus
}
#endif

#endif
