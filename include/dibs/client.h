/* SPDX-License-Identifier: MIT */
/* dibs/client.h - a client: one connection set to one deployment, shared by all threads. */
#ifndef DIBS_CLIENT_H
#define DIBS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/status.h>
#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_client dibs_client;

/* The longest time span any option takes: 24 days. */
#define DIBS_MS_MAX 2073600000
#define DIBS_NAME_MAX 512    /* bytes in a name */
#define DIBS_NOTE_MAX 256    /* bytes in a note */
#define DIBS_OWNER_MAX 128   /* bytes in an owner key */

/* Bits of dibs_options.flags. */
#define DIBS_CLIENT_NO_THREAD 0x1u /* no library thread: blocking calls run the loop
                                      themselves, renewals happen in dibs_process() */
#define DIBS_CLIENT_NO_LOCAL 0x2u  /* never fall back to the private local server */
#define DIBS_CLIENT_PROCESS_CALLBACKS 0x4u /* the library thread renews, but callbacks
                                      run only in dibs_process(), in your own loop */
#define DIBS_CLIENT_DETECT_DEADLOCK 0x8u /* a blocking call whose owner holds something
                                      looks, once it has waited for a second, whether
                                      owners of clients with this flag wait for each
                                      other in a circle; the youngest call of a confirmed
                                      one gets DIBS_WOULD_DEADLOCK, and dibs_last_error()
                                      names the circle. Async calls are not examined, and
                                      are no part of one: their owner may go on and let
                                      go. doc/guide/deadlock.md. Since 0.2 */

/* What dibs_on_event() tells. Values never change; ignore unknown ones. */
typedef enum dibs_event_kind {
  DIBS_EVENT_CONNECTED = 1,    /* text: the server's address */
  DIBS_EVENT_DISCONNECTED = 2, /* text: why */
  DIBS_EVENT_LOST = 3,         /* text: the name, and why */
  DIBS_EVENT_WARNING = 4       /* text: what is unsafe here, and what to do */
} dibs_event_kind;

/* What a client does while none of its servers can be reached. Since 0.4 */
typedef enum dibs_degrade {
  DIBS_DEGRADE_DEFAULT = 0, /* as the URL says, else FAIL */
  DIBS_DEGRADE_FAIL = 1,    /* calls end with DIBS_ERR_UNREACHABLE after connect_timeout_ms */
  DIBS_DEGRADE_WAIT = 2,    /* calls wait for a server as they wait for another holder */
  DIBS_DEGRADE_LOCAL = 3    /* after connect_timeout_ms exclusive locks become locks of this
                               machine; the hold says so (dibs_hold_durability()), an event
                               does once, and it is lost when a server answers again */
} dibs_degrade;

/* Whose format the locks of a client have on the server; doc/guide/java.md,
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
                                redsync, redislock, redis-py, node-redlock and their like */
} dibs_dialect;

typedef struct dibs_event {
  size_t size;
  dibs_event_kind kind;
  const char *text; /* borrowed until the callback returns */
} dibs_event;

typedef void (*dibs_event_callback)(const dibs_event *event, void *data);

/* Replaces malloc, realloc and free for one client. All three are called from any
 * thread, must not call dibs, and may fail by returning NULL. */
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
  int32_t connect_timeout_ms;   /* 5000; how long a call goes on without any server */
  int32_t command_timeout_ms;   /* 2000; an answer later than this breaks the link */
  int32_t close_timeout_ms;     /* 1000; the longest that dibs_close() takes */
  int32_t renew_every_ms;       /* 0: a third of each ttl; else 1 .. ttl/2 */
  int32_t clock_rate_error_ppm; /* 10000 = 1 %; how much two clocks may differ in rate */
  int32_t local_handovers_max;  /* 16; hand-overs in a row inside the process while
                                   other processes wait; -1: none, strict order */
  int32_t local_handover_ms;    /* 10; and for how long */
  const char *prefix;           /* "dibs"; 1..64 bytes, no blank, brace or control */
  const char *user;             /* overrides the URL's */
  const char *password;         /* overrides the URL's */
  const char *ca_file;          /* TLS: own authorities instead of the system's */
  const char *cert_file;        /* TLS: client certificate, with key_file */
  const char *key_file;
  const char *server_name;      /* TLS: the name to check instead of the URL's host */
  const char *note;             /* shown to people who ask who holds a lock */
  const dibs_allocator *allocator; /* malloc and friends */
  dibs_event_callback on_event; /* NULL: events are dropped */
  void *on_event_data;
  int32_t quarantine_ms;        /* era guard: on a server that was promoted or restarted
                                   nobody new is granted anything for so long. 0: none. The
                                   same for all clients of a prefix; see
                                   doc/guide/which-deployment.md. Since 0.4 */
  dibs_degrade degrade;         /* what to do while no server can be reached. Since 0.4 */
  const char *sentinel_user;    /* log-in at the sentinels, which have their own; NULL: as the
                                   URL says, else none. Since 0.4 */
  const char *sentinel_password;
  dibs_dialect dialect;         /* Since 0.5 */
  const char *registry;         /* SPRING: the registryKey of the Spring side, 1 to 64 bytes;
                                   copied. Others: NULL. Since 0.5 */
  int32_t names_max;            /* how many names it keeps in memory at once: held, waited for,
                                   lingering, or given back and not confirmed. One more is
                                   DIBS_ERR_LIMIT, unless one lingers and can be given back
                                   for it. 0: as many as there is memory for; else 1 or more.
                                   names.h. Since 0.5 */
} dibs_options;

#define DIBS_OPTIONS_INIT \
  { sizeof(dibs_options), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, 0, DIBS_DEGRADE_DEFAULT, NULL, NULL, \
    DIBS_DIALECT_DEFAULT, NULL, 0 }

/* Opens a client. Does not wait for the server: the first call that needs it does.
 *
 * `url`        redis://, valkey://, rediss://, valkeys:// (TLS): [user[:password]@]
 *              host[:port][/db][?option=value&...]; unix://[user[:password]@]/path[?db=N];
 *              local: for the private server. Several servers: redis://h1,h2,h3/0
 *              (replicated), redis+sentinel://h1,h2,h3/service/0, redis+cluster://h1,h2;
 *              3 to 15 URLs, an odd number, with blanks or commas between (a quorum).
 *              Options in the query: db, prefix, user, password, connect_timeout,
 *              command_timeout, close_timeout (durations: 500ms, 10s, 5m),
 *              clock_rate_error_ppm, cacert, cert, key, sni, note, quarantine, degrade,
 *              dialect, registry, map, functions, pubsub, sharded,
 *              sentinel_user, sentinel_password, sentinel_tls;
 *              doc/design/deployments.md 1.
 *              NULL: DIBS_URL, VALKEY_URL, REDIS_URL, the config file, then the
 *              private local server. "" never uses the private server.
 *              Copied. A password in it is never shown in any message.
 * `options`    read during the call only; NULL means all defaults. Non-zero fields
 *              win over the URL's query.
 * `ret_client` written on DIBS_OK only. The caller owns it: dibs_close().
 * `error`      see dibs_error; may be NULL. (dibs_open() is this with NULL.)
 *
 * Returns  DIBS_OK
 *          DIBS_ERR_CONFIG     the URL, a file or a variable is wrong; the text names it.
 *          DIBS_ERR_ARGUMENT   an option is out of range or from the future.
 *          DIBS_ERR_NO_SERVER  a private server is wanted, and no program was found.
 *          DIBS_ERR_TLS        a certificate file cannot be used.
 *          DIBS_ERR_NO_MEMORY, DIBS_ERR_SYSTEM.
 *
 * Thread   any. May start one thread, named dibs-io (see DIBS_CLIENT_NO_THREAD), and
 *          for local: a server process. Not from a callback.
 * Fork     in the child every handle answers DIBS_ERR_FORKED, nothing is sent, and the
 *          parent keeps its holds; dibs_close() there only frees memory.
 * Source   doc/design/architecture.md 1, 4; doc/guide/first-lock.md.
 * Since    0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_open_with_error(
  const char *url, const dibs_options *options, dibs_client **ret_client,
  dibs_error *error);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_open(
  const char *url, const dibs_options *options, dibs_client **ret_client);

/* Releases everything the client holds, leaves every queue and frees the client.
 * Blocking calls of other threads end with DIBS_ERR_CLOSED, and are waited for. What
 * could not be released within close_timeout_ms is left to run out. NULL is allowed.
 * Returns NULL, so that `client = dibs_close(client)` is safe to repeat.
 *
 * Thread   any one, not twice at once, not from a callback. Blocks at most
 *          close_timeout_ms.
 * Since    0.1 */
DIBS_API dibs_client *dibs_close(dibs_client *client);

/* Copies the detail of the last fault of this client into `ret_error`: the server's
 * words and address. Thread: any. Since 0.1 */
DIBS_API void dibs_last_error(dibs_client *client, dibs_error *ret_error);

/* Other credentials from the next connection on; those that stand, stay. For passwords that
 * rotate. NULL: none. Copied; the old ones are wiped.
 * Returns DIBS_OK, DIBS_ERR_NO_MEMORY. Thread: any. Since 0.4 */
DIBS_API dibs_status dibs_set_credentials(
  dibs_client *client, const char *user, const char *password);

/* The detail of the last fault for each server that took part, where there are several (a
 * quorum). Writes at most `count` and returns how many there are; 0 with one server.
 * Thread: any. Since 0.4 */
DIBS_API size_t dibs_last_errors(dibs_client *client, dibs_error *ret_errors, size_t count);

/* Asks the server for its time. Waits for a connection, at most `wait_ms` (0: the
 * connect timeout).
 *
 * `ret_round_trip_us`  how long the question took, microseconds; may be NULL.
 *
 * Returns  DIBS_OK, DIBS_ERR_UNREACHABLE, DIBS_ERR_AUTH, any other fault.
 * Thread   any; blocks; not from a callback.
 * Since    0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_ping(
  dibs_client *client, int32_t wait_ms, uint64_t *ret_round_trip_us);

/* Returns the URL in use without users and passwords, "redis://127.0.0.1:6379/0"; of several
 * servers all that were named; borrowed until dibs_close(). Thread: any. Since 0.1 */
DIBS_API const char *dibs_url(const dibs_client *client);

/* Whether this client uses the private local server. Thread: any. Since 0.1 */
DIBS_API bool dibs_is_private(const dibs_client *client);

/* Counters since dibs_open(). */
typedef struct dibs_stats {
  size_t size;
  uint64_t granted;        /* acquisitions, local ones included */
  uint64_t granted_local;  /* of these, without a round trip */
  uint64_t released;
  uint64_t lost;
  uint64_t renewed;
  uint64_t renew_failed;
  uint64_t commands;       /* sent to the server */
  uint64_t messages;       /* received on the inbox */
  uint64_t connects;
  uint64_t holds;          /* now */
  uint64_t waiting;        /* requests that wait now */
  uint64_t names;          /* names in the local table now */
  uint64_t table_bytes;    /* memory behind them */
} dibs_stats;

/* Reads the counters. `ret_stats->size` must be set to sizeof(dibs_stats) before.
 * Returns DIBS_OK, or DIBS_ERR_ARGUMENT for a size of 0. Thread: any. Since 0.1 */
DIBS_API dibs_status dibs_get_stats(dibs_client *client, dibs_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
