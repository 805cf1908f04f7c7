/* SPDX-License-Identifier: MIT */
/* api/status.c - the names and texts of dibs/status.h, from one table. */
#include <dibs/status.h>

typedef struct status_row {
  dibs_status status;
  const char *name, *text;
} status_row;

static const status_row rows[] = {
  { DIBS_OK, "DIBS_OK", "done" },
  { DIBS_BUSY, "DIBS_BUSY", "another owner holds it" },
  { DIBS_TIMED_OUT, "DIBS_TIMED_OUT", "the wait timed out" },
  { DIBS_CANCELLED, "DIBS_CANCELLED", "the caller cancelled it" },
  { DIBS_LOST, "DIBS_LOST", "the hold ended; another client may have had the name" },
  { DIBS_EXPIRED, "DIBS_EXPIRED", "the hold ended; no other client had the name since" },
  { DIBS_TAKEN, "DIBS_TAKEN", "the hold ended; another client has the name now" },
  { DIBS_WOULD_DEADLOCK, "DIBS_WOULD_DEADLOCK", "the caller would wait for itself" },
  { DIBS_UNKNOWN, "DIBS_UNKNOWN",
    "no reply in time; the operation may have been executed" },
  { DIBS_BROKEN, "DIBS_BROKEN", "a party of the barrier gave up or died" },
  { DIBS_FENCED, "DIBS_FENCED", "a newer fence was seen; not written after it" },
  { DIBS_ERR_ARGUMENT, "DIBS_ERR_ARGUMENT", "a value is out of range" },
  { DIBS_ERR_NO_MEMORY, "DIBS_ERR_NO_MEMORY", "not enough memory" },
  { DIBS_ERR_UNREACHABLE, "DIBS_ERR_UNREACHABLE",
    "no server answers, or none can decide" },
  { DIBS_ERR_AUTH, "DIBS_ERR_AUTH", "the server refused the user or the password" },
  { DIBS_ERR_DENIED, "DIBS_ERR_DENIED", "an ACL of the server forbids it" },
  { DIBS_ERR_REFUSED, "DIBS_ERR_REFUSED", "the server cannot write now" },
  { DIBS_ERR_READ_ONLY, "DIBS_ERR_READ_ONLY", "the server is a replica" },
  { DIBS_ERR_WRONG_TYPE, "DIBS_ERR_WRONG_TYPE",
    "the key holds another type, or the name is used as another kind" },
  { DIBS_ERR_PROTOCOL, "DIBS_ERR_PROTOCOL", "the peer does not use the RESP protocol" },
  { DIBS_ERR_TLS, "DIBS_ERR_TLS",
    "the TLS handshake or the check of the certificate failed" },
  { DIBS_ERR_CONFIG, "DIBS_ERR_CONFIG", "a URL, file or environment variable is wrong" },
  { DIBS_ERR_NO_SERVER, "DIBS_ERR_NO_SERVER",
    "no server program was found for the private server" },
  { DIBS_ERR_FORKED, "DIBS_ERR_FORKED", "this handle belongs to the parent process" },
  { DIBS_ERR_CLOSED, "DIBS_ERR_CLOSED", "the client is being closed" },
  { DIBS_ERR_STALE, "DIBS_ERR_STALE", "the handle was released or never existed" },
  { DIBS_ERR_WOULD_BLOCK, "DIBS_ERR_WOULD_BLOCK",
    "it would block a callback, or a signal handler that interrupted a call" },
  { DIBS_ERR_UNSUPPORTED, "DIBS_ERR_UNSUPPORTED",
    "this server, deployment or dialect does not support it" },
  { DIBS_ERR_SYSTEM, "DIBS_ERR_SYSTEM", "the operating system refused" },
  { DIBS_ERR_SERVER, "DIBS_ERR_SERVER", "the server answered with an error" },
  { DIBS_ERR_NOT_SET, "DIBS_ERR_NOT_SET", "no number of permits, count or limit is set" },
  { DIBS_ERR_NOT_REPLICATED, "DIBS_ERR_NOT_REPLICATED",
    "too few replicas confirmed it; it was released" },
  { DIBS_ERR_LIMIT, "DIBS_ERR_LIMIT", "the client has names_max names in memory" },
};

static const status_row *row_of(dibs_status status)
{
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (rows[i].status == status)
      return &rows[i];
  return NULL;
}

const char *dibs_status_name(dibs_status status)
{
  const status_row *row = row_of(status);

  return row == NULL ? "DIBS_?" : row->name;
}

const char *dibs_status_text(dibs_status status)
{
  const status_row *row = row_of(status);

  return row == NULL ? "a status that this library does not know" : row->text;
}

bool dibs_status_is_retriable(dibs_status status)
{
  return status == DIBS_BUSY || status == DIBS_TIMED_OUT || status == DIBS_UNKNOWN ||
         status == DIBS_ERR_UNREACHABLE || status == DIBS_ERR_REFUSED ||
         status == DIBS_ERR_READ_ONLY || status == DIBS_ERR_NOT_REPLICATED;
}

bool dibs_status_is_lost(dibs_status status)
{
  return status == DIBS_LOST || status == DIBS_EXPIRED || status == DIBS_TAKEN;
}
