/* SPDX-License-Identifier: MIT */
/* cli/session.h - the client behind one run of the command. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <dibs/dibs.h>

#include "cli/cli.h"

typedef struct session {
  dibs_client *client;
  bool is_private;
  char *url;        /* asked for by flag or environment; NULL: the library chose */
  char *password;   /* from --askpass or --pass-file; NULL */
  bool url_is_of_environment;
  char note[DIBS_NOTE_MAX + 1];  /* --reason, and where we are; see graph.h */
} session;

/* Finds URL and password; asks for the latter on the terminal where that is wanted.
 * Returns 0, or an exit code after saying why. */
int session_prepare(session *s, const arguments *a);

/* Opens the client. `program` is what people see who ask for the holder; NULL: dibs.
 * Returns 0, or an exit code after saying why. */
int session_open(session *s, const arguments *a, const char *program);

/* Both. */
int session_start(session *s, const arguments *a);

/* Copes with any stage; wipes the password. */
void session_close(session *s);

/* Says what went wrong and returns the exit code for it. `what` is the name or word that
 * it is about. */
int session_fault(const session *s, dibs_status status, const char *what);

/* The URL for a command that runs inside: without a password, unless there are several and
 * it could read them before. To be freed, NULL: no memory. */
char *session_inner_url(const session *s, const arguments *a);

int code_of_status(dibs_status status);

#endif
