/* SPDX-License-Identifier: MIT */
/* cli/session.h - the client of one run of the command. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <dibs/dibs.h>

#include "cli/options.h"
#include "cli/environment.h"

struct session {
  const command_line *line;
  dibs_client *client;
  int32_t request_ms;   /* the limit of a request, as the options and the URL say */
  bool runs_callbacks;  /* this thread does, by dibs_process(): it has a loop, and saves a thread */
  bool is_private;
  bool has_lock_files;  /* for its locks: degrade=local */
  const char *shown_url;   /* in use, without passwords; the client's */
  char *url;        /* asked for by an option; NULL: the library finds one */
  char *password;   /* from --askpass or --pass-file; NULL */
  const char *password_file;     /* --pass-file, if it can be read again: no pipe; NULL */
  char note[DIBS_NOTE_MAX + 1];  /* --note, and where we are; see graph.h */
};

/* Finds URL and password; asks for the latter on the terminal where that is wanted. `line`
 * lives until the session is closed. Returns 0, or an exit code after saying why. */
int session_prepare(session *s, const command_line *line);

/* Opens the client. `program` is shown as the holder's program; NULL: dibs. Returns 0, or
 * an exit code after saying why. */
int session_open(session *s, const char *program);

/* Both. */
int session_start(session *s, const command_line *line);

/* Does `work` in a session of its own: returns its exit code, or that of the start. `options`, as
 * of a subcommand, begins with a command_line. */
int session_with(const void *options, session_work *work);

/* Does `one` for each operand in one session. What is not CODE_OK or CODE_NO ends it, and is the
 * code; CODE_NO is, too, if one of them was. */
int session_each(const void *options, session_one *one);

/* Copes with any stage; wipes the password. */
void session_close(session *s);

/* For dibs_client_set_call_timeout(): a request of a wait that ends in `left_ms` takes no longer
 * than that, nor than any request. */
int32_t session_request_ms(const session *s, int64_t left_ms);

/* Says what went wrong with the lock `name`, or with `verb`, which is no lock (a subcommand,
 * "cannot list locks"); returns the exit code for it. */
int session_fault(const session *s, dibs_status status, const char *name);
int session_verb_fault(const session *s, dibs_status status, const char *verb);

/* The detail of the calling thread's last call, which ended with `status`. */
/* What a client is; nothing of one that is none. */
static inline dibs_client_info session_info(dibs_client *client)
{
  dibs_client_info info = DIBS_CLIENT_INFO_INIT;

  (void)dibs_client_get_info(client, &info);
  return info;
}

/* The permits that a hold has; 1 of a lock. */
uint32_t session_units(const dibs_hold *hold);

dibs_error session_error(dibs_client *client, dibs_status status);

/* The same of an error that another thread or a callback was given. `what` stands before its
 * text; NULL: nothing. `name` is the lock, or NULL. */
int session_report(const dibs_error *error, const char *what, const char *name);

/* Sets for a command that is started which locks these are, and how to reach them: DIBS_URL
 * without passwords and DIBS_INHERITED_URL with them, which dibs_open() reads. The only way in
 * which anything of this session goes to a command. false: no memory. */
bool session_hand_on(const session *s, environment *e);

int code_of_status(dibs_status status);

#endif
