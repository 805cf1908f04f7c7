/* SPDX-License-Identifier: MIT */
/* cli/session.c - the client of one run of the command. */
#include "cli/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph.h"
#include "cli/message.h"
#include "cli/password.h"

/* Together with the patience of take.c and wait_view.c this stays below a second, the limit for an
 * interrupted `dibs run` to leave the queue. */
#define CLOSE_TIMEOUT_MS 400

/* ---- URL ---- */

/* Several are one text with blanks between them. NULL: no memory. */
static char *join_urls(const connection_options *c)
{
  size_t size = 1;
  char *joined, *to;

  for (size_t i = 0; i < c->url_count; i++)
    size += strlen(c->urls[i]) + 1;
  joined = to = malloc(size);
  for (size_t i = 0; i < c->url_count && joined != NULL; i++)
    to = stpcpy(stpcpy(to, i == 0 ? "" : " "), c->urls[i]);
  return joined;
}

/* What the options say. NULL in `s->url`: nothing, and the library looks elsewhere. */
static int find_url(session *s)
{
  const connection_options *c = &s->line->connection;

  if (c->wants_local)
    s->url = strdup("local:");
  else if (c->url_count > 0)
    s->url = join_urls(c);
  else
    return 0;
  return s->url == NULL ? CODE_INTERNAL : 0;
}

int session_prepare(session *s, const command_line *line)
{
  int code;

  *s = (session) { .line = line };
  code = find_url(s);
  return code != 0 ? code : password_find(s);
}

/* ---- client ---- */

static void report_event(const dibs_event *event, void *data)
{
  const command_line *line = data;
  char text[600];

  printable(event->text == NULL ? "" : event->text, text, sizeof(text));
  switch (event->kind) {
  case DIBS_EVENT_WARNING:
    say_warning(text);
    break;
  case DIBS_EVENT_CONNECTED:
    if (line->is_verbose)
      say("connected to %s", text);
    break;
  case DIBS_EVENT_DISCONNECTED:
    if (line->is_verbose)
      say("connection lost: %s", text);
    break;
  case DIBS_EVENT_RECOVERED:
    say_softly("servers can be asked again, %s", text);
    break;
  case DIBS_EVENT_LOST:
  default:
    break; /* the command that holds it reports it */
  }
}

static void fill_options(session *s, dibs_options *o)
{
  const connection_options *c = &s->line->connection;

  /* session_open() says it itself. */
  o->flags |= c->refuses_local ? DIBS_CLIENT_NO_LOCAL : DIBS_CLIENT_LOCAL;
  if (s->runs_callbacks)
    o->flags |= DIBS_CLIENT_PROCESS_CALLBACKS;
  o->config_file = c->config;
  if (c->database >= 0)
    o->database = c->database == 0 ? DIBS_DATABASE_ZERO : c->database;
  o->connect_timeout_ms = c->connect_timeout_ms;
  o->close_timeout_ms = CLOSE_TIMEOUT_MS;
  o->prefix = c->prefix;
  o->degrade = c->degrade;
  o->dialect = c->dialect;
  o->registry = c->registry;
  o->user = c->user;
  if (s->password_file != NULL)
    o->password_file = s->password_file;     /* for passwords that rotate */
  else
    o->password = s->password;
  o->ca_file = c->cacert;
  o->cert_file = c->cert;
  o->key_file = c->key;
  o->server_name = c->sni;
  graph_note(c->note, s->note);
  o->note = s->note[0] == '\0' ? NULL : s->note;
  o->on_event = report_event;
  /* Only read, and it lives as long as the client. */
  o->on_event_data = (void *)(uintptr_t)s->line;
}

int session_report(const dibs_error *error, const char *what, const char *name)
{
  dibs_status status = error->status;
  const char *text = error->text[0] != '\0' ? error->text : dibs_status_text(status);
  char shown[600], about[200];
  bool has_node;

  printable(text, shown, sizeof(shown));
  printable(what == NULL ? "" : what, about, sizeof(about));
  has_node = error->node[0] != '\0' && strstr(shown, error->node) == NULL;
  return say_fault(&(message_facts) { .code = code_of_status(status),
                                      .status = dibs_status_name(status),
                                      .name = name, .server = error->node },
                   "%s%s%s%s%s%s", about, about[0] == '\0' ? "" : ": ", shown,
                   has_node ? " (" : "", has_node ? error->node : "", has_node ? ")" : "");
}

int session_open(session *s, const char *program)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_client_info info;
  dibs_status status;

  fill_options(s, &options);
  /* The library registers the name of the program with the server: that of the command, not of
   * this wrapper. */
  if (program != NULL && *program != '\0')
    program_invocation_short_name = (char *)(uintptr_t)program;

  status = dibs_open(s->url, &options, &s->client, &error);
  if (status != DIBS_OK) {
    error.status = status;
    return session_report(&error, NULL, NULL);
  }

  s->request_ms = dibs_client_call_timeout(s->client);
  info = session_info(s->client);
  s->shown_url = info.url;
  s->is_private = info.is_private != 0;
  s->has_lock_files = info.degrade == DIBS_DEGRADE_LOCAL;
  if (info.is_unnamed != 0)
    say_softly("no URL set: using a private server for this user on this machine only "
               "(set DIBS_URL to coordinate several machines)");
  return 0;
}

int session_start(session *s, const command_line *line)
{
  int code = session_prepare(s, line);

  return code != 0 ? code : session_open(s, NULL);
}

int session_with(const void *options, session_work *work)
{
  session s;
  int code = session_start(&s, options);

  if (code == 0)
    code = work(&s, options);
  session_close(&s);
  return code;
}

int session_each(const void *options, session_one *one)
{
  const command_line *line = options;
  session s;
  int code = session_start(&s, line);

  for (int i = 0; i < line->operand_count && (code == CODE_OK || code == CODE_NO); i++) {
    int next = one(&s, options, line->operands[i]);

    code = next == CODE_OK ? code : next;
  }
  session_close(&s);
  return code;
}

void session_close(session *s)
{
  s->client = dibs_close(s->client);
  if (s->password != NULL)
    explicit_bzero(s->password, strlen(s->password));
  free(s->password);
  free(s->url);
  memset(s, 0, sizeof(*s));
}

int32_t session_request_ms(const session *s, int64_t left_ms)
{
  if (left_ms >= s->request_ms)
    return s->request_ms;
  return left_ms > 0 ? (int32_t)left_ms : 1;
}

bool session_hand_on(const session *s, environment *e)
{
  char *url = calloc(1, DIBS_URL_SIZE);
  bool is_done = url != NULL &&
                 dibs_full_url(s->client, false, url, DIBS_URL_SIZE) == DIBS_OK;

  if (is_done)
    environment_set(e, "DIBS_URL", url);
  is_done = is_done && dibs_full_url(s->client, true, url, DIBS_URL_SIZE) == DIBS_OK;
  if (is_done)
    environment_set(e, "DIBS_INHERITED_URL", url);
  if (url != NULL)
    explicit_bzero(url, strlen(url));     /* not 32 pages, of which one is used */
  free(url);
  return is_done;
}

dibs_error session_error(dibs_client *client, dibs_status status)
{
  dibs_error error = DIBS_ERROR_INIT;

  /* The detail belongs to faults; the last one may be about something else. */
  if (status < 0)
    (void)dibs_client_error(client, 0, &error);
  if (error.status != status)
    error = (dibs_error) { .size = sizeof(error), .status = status };
  return error;
}

uint32_t session_units(const dibs_hold *hold)
{
  dibs_hold_info info = DIBS_HOLD_INFO_INIT;

  (void)dibs_hold_get_info(hold, &info);
  return info.units;
}

int session_fault(const session *s, dibs_status status, const char *name)
{
  dibs_error error = session_error(s->client, status);

  return session_report(&error, name, name);
}

int session_verb_fault(const session *s, dibs_status status, const char *verb)
{
  dibs_error error = session_error(s->client, status);

  return session_report(&error, verb, NULL);
}

int code_of_status(dibs_status status)
{
  static const struct { dibs_status status; int code; } rows[] = {
    { DIBS_OK, CODE_OK },
    { DIBS_BUSY, CODE_BUSY }, { DIBS_TIMED_OUT, CODE_BUSY },
    { DIBS_ERR_ARGUMENT, CODE_USAGE },
    { DIBS_UNKNOWN, CODE_UNREACHABLE }, { DIBS_ERR_UNREACHABLE, CODE_UNREACHABLE },
    { DIBS_ERR_REFUSED, CODE_UNREACHABLE }, { DIBS_ERR_READ_ONLY, CODE_UNREACHABLE },
    { DIBS_ERR_NO_SERVER, CODE_UNREACHABLE }, { DIBS_ERR_NOT_REPLICATED, CODE_UNREACHABLE },
    { DIBS_ERR_AUTH, CODE_DENIED }, { DIBS_ERR_DENIED, CODE_DENIED },
    { DIBS_ERR_CONFIG, CODE_CONFIG }, { DIBS_ERR_TLS, CODE_CONFIG },
    { DIBS_WOULD_DEADLOCK, CODE_DEADLOCK },
    { DIBS_ERR_WRONG_TYPE, CODE_OTHER_USE },
    { DIBS_ERR_NOT_SET, CODE_NOT_SET },
    { DIBS_ERR_PROTOCOL, CODE_PROTOCOL },
    { DIBS_ERR_UNSUPPORTED, CODE_UNSUPPORTED },
    { DIBS_BROKEN, CODE_NO },
  };

  if (dibs_status_is_lost(status))
    return CODE_LOST;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (rows[i].status == status)
      return rows[i].code;
  return CODE_INTERNAL;
}
