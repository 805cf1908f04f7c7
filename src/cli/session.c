/* SPDX-License-Identifier: MIT */
/* cli/session.c - the client behind one run of the command. */
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/graph.h"
#include "cli/message.h"
#include "cli/url.h"

#define PASSWORD_MAX 4096

/* Together with the patience of take.c and wait_view.c this stays below a second: so long
 * may an interrupted `dibs run` take to leave the queue. */
#define CLOSE_TIMEOUT_MS 400

/* ---- passwords ---- */

static int read_password_file(const char *path, char **ret_password)
{
  char line[PASSWORD_MAX];
  FILE *file = fopen(path, "re");

  if (file == NULL) {
    say("--pass-file %s: %s", path, strerror(errno));
    return CODE_CONFIG;
  }
  if (fgets(line, sizeof(line), file) == NULL)
    line[0] = '\0';
  fclose(file);
  line[strcspn(line, "\r\n")] = '\0';
  *ret_password = strdup(line);
  explicit_bzero(line, sizeof(line));
  return *ret_password == NULL ? CODE_INTERNAL : 0;
}

static int ask_password(char **ret_password)
{
  struct termios before, silent;
  char line[PASSWORD_MAX];
  int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  ssize_t size;

  if (terminal < 0 || tcgetattr(terminal, &before) != 0) {
    if (terminal >= 0)
      close(terminal);
    return say_usage(NULL, "--askpass: there is no terminal to ask on");
  }
  silent = before;
  silent.c_lflag &= ~(tcflag_t)ECHO;
  tcsetattr(terminal, TCSAFLUSH, &silent);
  dprintf(terminal, "Password: ");
  size = read(terminal, line, sizeof(line) - 1);
  tcsetattr(terminal, TCSAFLUSH, &before);
  dprintf(terminal, "\n");
  close(terminal);

  line[size < 0 ? 0 : size] = '\0';
  line[strcspn(line, "\r\n")] = '\0';
  *ret_password = strdup(line);
  explicit_bzero(line, sizeof(line));
  return *ret_password == NULL ? CODE_INTERNAL : 0;
}

/* ---- URL ---- */

static const char *environment_url(void)
{
  static const char *const variables[] = { "DIBS_URL", "VALKEY_URL", "REDIS_URL" };

  for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
    const char *url = getenv(variables[i]);

    if (url != NULL && *url != '\0')
      return url;
  }
  return NULL;
}

/* Several are one text with blanks between them. NULL: no memory. */
static char *join_urls(const arguments *a)
{
  size_t size = 1;
  char *joined, *to;

  for (size_t i = 0; i < a->url_count; i++)
    size += strlen(a->urls[i]) + 1;
  joined = to = malloc(size);
  for (size_t i = 0; i < a->url_count && joined != NULL; i++)
    to = stpcpy(stpcpy(to, i == 0 ? "" : " "), a->urls[i]);
  return joined;
}

/* What the options or the environment say; NULL in `s->url`: nothing. */
static int choose_url(session *s, const arguments *a)
{
  const char *url = environment_url();

  if (a->wants_local) {
    s->url = strdup("local:");
  } else if (a->url_count > 0) {
    s->url = join_urls(a);
  } else if (url != NULL) {
    s->url_is_of_environment = true;
    s->url = strdup(url);
  } else {
    return 0;
  }
  return s->url == NULL ? CODE_INTERNAL : 0;
}

static int find_url(session *s, const arguments *a)
{
  int code = choose_url(s, a);
  char *chosen = s->url;

  if (code != 0 || a->database < 0)
    return code;
  if (chosen == NULL)
    return say_usage(NULL, "--db needs a URL: -u, or DIBS_URL");
  if (strncmp(chosen, "local:", 6) == 0)
    return say_usage(NULL, "--db: the private server is used with database 0 only");
  s->url = url_with_database(chosen, a->database);
  free(chosen);
  return s->url == NULL ? CODE_INTERNAL : 0;
}

int session_prepare(session *s, const arguments *a)
{
  int code;

  memset(s, 0, sizeof(*s));
  /* The library reads the file; it looks for it where this variable says. */
  if (a->config != NULL && setenv("DIBS_CONFIG", a->config, 1) != 0)
    return CODE_INTERNAL;

  code = find_url(s, a);
  if (code != 0)
    return code;
  if (a->wants_askpass)
    return ask_password(&s->password);
  if (a->pass_file != NULL)
    return read_password_file(a->pass_file, &s->password);
  return 0; /* the library knows DIBS_PASSWORD and REDISCLI_AUTH */
}

/* ---- client ---- */

static void tell_event(const dibs_event *event, void *data)
{
  const arguments *a = data;
  char text[600];

  printable(event->text == NULL ? "" : event->text, text, sizeof(text));
  switch (event->kind) {
  case DIBS_EVENT_WARNING:
    say_softly("warning: %s", text);
    break;
  case DIBS_EVENT_CONNECTED:
    if (a->is_verbose)
      say("connected to %s", text);
    break;
  case DIBS_EVENT_DISCONNECTED:
    if (a->is_verbose)
      say("connection lost: %s", text);
    break;
  case DIBS_EVENT_LOST:
  default:
    break; /* who holds it tells about it */
  }
}

static void fill_options(session *s, const arguments *a, dibs_options *o)
{
  if (a->refuses_local)
    o->flags |= DIBS_CLIENT_NO_LOCAL;
  o->connect_timeout_ms = a->connect_timeout_ms;
  o->close_timeout_ms = CLOSE_TIMEOUT_MS;
  o->prefix = a->prefix;
  o->dialect = a->dialect;
  o->registry = a->registry;
  o->user = a->user;
  o->password = s->password;
  o->ca_file = a->cacert;
  o->cert_file = a->cert;
  o->key_file = a->key;
  o->server_name = a->sni;
  graph_note(a->reason, s->note);
  o->note = s->note[0] == '\0' ? NULL : s->note;
  o->on_event = tell_event;
  /* Only read, and it lives as long as the client. */
  o->on_event_data = (void *)(uintptr_t)a;
}

static int tell_fault(dibs_status status, const dibs_error *error, const char *what)
{
  const char *text = error->text[0] != '\0' ? error->text : dibs_status_text(status);
  char shown[600], about[200];

  printable(text, shown, sizeof(shown));
  printable(what == NULL ? "" : what, about, sizeof(about));
  if (error->node[0] != '\0' && strstr(shown, error->node) == NULL)
    say("%s%s%s (%s)", about, about[0] == '\0' ? "" : ": ", shown, error->node);
  else
    say("%s%s%s", about, about[0] == '\0' ? "" : ": ", shown);
  return code_of_status(status);
}

int session_open(session *s, const arguments *a, const char *program)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_error error = { .status = DIBS_OK };
  dibs_status status;

  fill_options(s, a, &options);
  /* The library tells the server the name of the program; a wrapper's own name would
   * answer nobody's question. */
  if (program != NULL && *program != '\0')
    program_invocation_short_name = (char *)(uintptr_t)program;

  status = dibs_open_with_error(s->url, &options, &s->client, &error);
  if (status != DIBS_OK)
    return tell_fault(status, &error, NULL);

  s->is_private = dibs_is_private(s->client);
  if (s->is_private && !a->wants_local)
    say_softly("%susing a private server for this user on this machine only "
               "(set DIBS_URL to coordinate several machines)",
               s->url != NULL ? "" : "no URL set: ");
  return 0;
}

int session_start(session *s, const arguments *a)
{
  int code = session_prepare(s, a);

  return code != 0 ? code : session_open(s, a, NULL);
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

/* One password can be handed on beside the URL, as DIBS_PASSWORD. Several cannot, and stay
 * where the command could read them before. */
static bool has_several_passwords(const char *url)
{
  return url_count(url) > 1 || strstr(url, "sentinel_password=") != NULL;
}

/* Frees `url`. NULL: no memory. */
static char *with_option(char *url, const char *key, const char *value)
{
  char *with;

  if (url == NULL || value == NULL)
    return url;
  with = url_with_query(url, key, value);
  free(url);
  return with;
}

char *session_inner_url(const session *s, const arguments *a)
{
  bool is_chosen = s->url != NULL && strncmp(s->url, "local:", 6) != 0;
  bool is_whole = is_chosen && s->url_is_of_environment && has_several_passwords(s->url);
  char *url = is_whole ? strdup(s->url)
                       : url_without_password(is_chosen ? s->url : dibs_url(s->client));

  url = with_option(url, "prefix", a->prefix);
  url = with_option(url, "dialect", a->dialect_word);
  return with_option(url, "registry", a->registry);
}

int session_fault(const session *s, dibs_status status, const char *what)
{
  dibs_error error = { .status = DIBS_OK };

  /* The detail belongs to faults; the last one may be about something else. */
  if (status < 0)
    dibs_last_error(s->client, &error);
  if (error.status != status)
    error = (dibs_error) { .status = status };
  return tell_fault(status, &error, what);
}

int code_of_status(dibs_status status)
{
  switch (status) {
  case DIBS_OK:
    return CODE_OK;
  case DIBS_BUSY:
  case DIBS_TIMED_OUT:
    return CODE_BUSY;
  case DIBS_LOST:
  case DIBS_EXPIRED:
  case DIBS_TAKEN:
    return CODE_LOST;
  case DIBS_ERR_ARGUMENT:
    return CODE_USAGE;
  case DIBS_UNKNOWN:
  case DIBS_ERR_UNREACHABLE:
  case DIBS_ERR_REFUSED:
  case DIBS_ERR_READ_ONLY:
  case DIBS_ERR_NO_SERVER:
    return CODE_UNREACHABLE;
  case DIBS_ERR_AUTH:
  case DIBS_ERR_DENIED:
    return CODE_DENIED;
  case DIBS_WOULD_DEADLOCK:
  case DIBS_ERR_CONFIG:
  case DIBS_ERR_TLS:
  case DIBS_ERR_WRONG_TYPE:
  case DIBS_ERR_PROTOCOL:
  case DIBS_ERR_UNSUPPORTED:
  case DIBS_ERR_NOT_SET:
    return CODE_CONFIG;
  case DIBS_BROKEN:
    return CODE_NO;
  default:
    return CODE_INTERNAL;
  }
}
