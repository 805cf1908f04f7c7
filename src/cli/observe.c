/* SPDX-License-Identifier: MIT */
/* cli/observe.c - dibs elect observe: prints the leader at each change. */
#include <dibs/election.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/elect.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/signals.h"

/* ---- one state ---- */

static void print_json(const session *s, const char *name, const dibs_leader *l)
{
  json_t *object = json_object();
  char epoch[24];

  snprintf(epoch, sizeof(epoch), "%" PRIu64, l->epoch);
  json_object_set_new(object, "v", json_integer(1));
  json_set_name(object, name, strlen(name));
  json_object_set_new(object, "kind", json_string("election"));
  json_object_set_new(object, "state", json_string(l->is_led ? "led" : "free"));
  json_object_set_new(object, "epoch", json_integer((json_int_t)l->epoch));
  json_object_set_new(object, "epoch_text", json_string(epoch));
  json_object_set_new(object, "published", json_boolean(l->is_published));
  json_object_set_new(object, "value", json_text(l->value));
  json_object_set_new(object, "holder", l->is_led ? party_json(l->party) : json_null());
  json_set_renamed(object, "remaining_ms", "lease_ms",
                   json_integer(l->is_led ? l->remaining_ms : 0));
  if (s->is_private)
    json_object_set_new(object, "scope", json_string("private"));
  json_print(object);
}

/* EPOCH VALUE HOST:PID; "-" where there is none. */
static void print_line(const dibs_leader *l)
{
  char value[DIBS_LEADER_VALUE_MAX + 1], host[80];

  printable(l->value, value, sizeof(value));
  printf("%" PRIu64 " %s ", l->epoch, value[0] == '\0' ? "-" : value);
  if (!l->is_led)
    puts("-");
  else if (l->party->host[0] == '\0')
    puts(l->party->client);
  else
    printf("%s:%" PRId64 "\n", printable(l->party->host, host, sizeof(host)), l->party->pid);
}

/* false when stdout takes no more. */
static bool print_leader(const session *s, const elect_arguments *a, const dibs_leader *l)
{
  if (a->line.wants_json)
    print_json(s, a->line.operands[0], l);
  else
    print_line(l);
  return fflush(stdout) == 0 && !ferror(stdout);
}

/* ---- once, or always ---- */

static int look_once(session *s, const void *data)
{
  const elect_arguments *a = data;
  dibs_leader *leader = NULL;
  dibs_status status = dibs_get_leader(s->client, a->line.operands[0], &leader);
  int code;

  if (status != DIBS_OK)
    return session_fault(s, status, a->line.operands[0]);
  print_leader(s, a, leader);
  code = leader->is_led ? CODE_OK : CODE_NO;
  dibs_leader_free(leader);
  return code;
}

/* An observer gets epoch and value of a leader. Host and pid need a request; `leader` is freed
 * where that returns more. */
static dibs_leader *with_party(session *s, const char *name, dibs_leader *leader)
{
  dibs_leader *fuller = NULL;

  if (!leader->is_led || leader->party->host[0] != '\0' ||
      dibs_get_leader(s->client, name, &fuller) != DIBS_OK)
    return leader;
  if (!fuller->is_led || fuller->epoch != leader->epoch) {
    dibs_leader_free(fuller);       /* it is over already; the next change follows */
    return leader;
  }
  dibs_leader_free(leader);
  return fuller;
}

static void say_unseen(const char *name, const dibs_error *error)
{
  char about[200], why[600];
  bool has_node = error->node[0] != '\0' && strstr(error->text, error->node) == NULL;

  say_fault(&(message_facts) { .status = dibs_status_name(error->status), .name = name,
                               .server = error->node },
            "%s: cannot see the server: %s%s%s%s", printable(name, about, sizeof(about)),
            printable(error->text, why, sizeof(why)), has_node ? " (" : "",
            has_node ? error->node : "", has_node ? ")" : "");
}

static void say_seen_again(const char *name)
{
  char about[200];

  say_softly("%s: the server is seen again", printable(name, about, sizeof(about)));
}

/* A line does not show whether an empty value is published. */
static bool is_same_line(const dibs_leader *a, const dibs_leader *b)
{
  return a->error->status == DIBS_OK && a->is_led == b->is_led && a->epoch == b->epoch &&
         strcmp(a->value, b->value) == 0;
}

/* `*last` is what was taken before, or NULL. false: stdout takes no more. */
static bool show_news(session *s, const elect_arguments *a, dibs_leader *leader,
                      dibs_leader **last)
{
  const char *name = a->line.operands[0];
  dibs_leader *before = *last;
  bool goes_on = true;

  if (leader->error->status != DIBS_OK) {
    say_unseen(name, leader->error);
  } else {
    if (before != NULL && before->error->status != DIBS_OK)
      say_seen_again(name);
    leader = with_party(s, name, leader);
    if (a->line.wants_json || before == NULL || !is_same_line(before, leader))
      goes_on = print_leader(s, a, leader);
  }
  dibs_leader_free(before);
  *last = leader;
  return goes_on;
}

/* DIBS_BUSY: all is shown; DIBS_OK: stdout takes no more; or what ended the observation. */
static dibs_status take_news(session *s, const elect_arguments *a, dibs_observer *observer,
                             dibs_leader **last)
{
  dibs_leader *leader = NULL;
  dibs_status status;

  do
    status = dibs_observer_next(observer, &leader);
  while (status == DIBS_OK && show_news(s, a, leader, last));
  return status;
}

/* Of a wait with a limit: no request takes longer than what is left. */
static int32_t request_ms(const session *s, const elect_arguments *a, int64_t left_ms)
{
  return a->taking.wait.ms == 0 ? 0 : session_request_ms(s, left_ms);
}

static int observe(session *s, const void *data)
{
  const elect_arguments *a = data;
  int64_t until = clock_ms() + a->taking.wait.ms;
  dibs_observer *observer = NULL;
  struct pollfd fd = { .events = POLLIN };
  dibs_leader *last = NULL;
  int code = CODE_OK;
  /* An observer waits for a server without a limit: report a wrong one at once. */
  dibs_status status = dibs_ping(s->client, request_ms(s, a, a->taking.wait.ms), NULL);

  if (status == DIBS_OK)
    status = dibs_observe(s->client, a->line.operands[0], NULL, NULL, NULL, &observer);
  if (status != DIBS_OK)
    return session_fault(s, status, a->line.operands[0]);
  fd.fd = dibs_observer_fd(observer);
  if (fd.fd < 0)
    code = session_fault(s, DIBS_ERR_SYSTEM, a->line.operands[0]);
  status = DIBS_BUSY;
  while (status == DIBS_BUSY && fd.fd >= 0) {
    int64_t left = a->taking.wait.ms == 0 ? -1 : until - clock_ms();

    if (a->taking.wait.ms != 0 && left <= 0)
      break;
    if (poll(&fd, 1, (int)left) < 0)
      continue;
    (void)dibs_client_set_call_timeout(s->client, request_ms(s, a, until - clock_ms()));
    status = take_news(s, a, observer, &last);
  }
  if (status != DIBS_BUSY && status != DIBS_OK)
    code = session_fault(s, status, a->line.operands[0]);
  dibs_leader_free(last);
  dibs_observer_free(observer);
  return code;
}

int observe_leaders(const elect_arguments *a)
{
  signals_end_with_reader();
  return session_with(a, a->taking.wait.is_none ? look_once : observe);
}
