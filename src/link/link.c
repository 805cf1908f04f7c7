/* SPDX-License-Identifier: MIT */
/* link/link.c - one connection without its socket.
 *
 *          link_opened              last greeting answered
 *   DOWN --------------> GREETING -----------------------> READY
 *     ^                     |                                |
 *     +---- link_closed, or a fault (one FAULT event) -------+
 *
 * All sent commands are in `unanswered`, in order; RESP replies come in the same order and
 * have no id, so only the order matches them. Replies are parsed only when
 * link_next_event() asks: after a fault or a close no event of the old connection is left. */
#include "link/link_state.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define OUTPUT_BYTES_MAX ((size_t)8 << 20)
#define UNANSWERED_MAX ((size_t)65536)

/* ---- life ---- */

link *link_new(const link_settings *settings)
{
  link *l = mem_zalloc(settings->memory, sizeof(*l));

  if (l == NULL)
    return NULL;
  l->memory = *settings->memory;
  l->role = settings->role;
  l->database = settings->database;
  l->checks_role = settings->checks_role;
  l->uses_functions = settings->uses_functions;
  l->answer_timeout = settings->answer_timeout;
  l->idle_ping = settings->idle_ping;
  buffer_init(&l->output, &l->memory);
  buffer_init(&l->unanswered, &l->memory);
  l->user = mem_copy_text(&l->memory, settings->user);
  l->password = mem_copy_text(&l->memory, settings->password);
  l->client_name = mem_copy_text(&l->memory, settings->client_name);
  l->channel = mem_copy_text(&l->memory, settings->channel);
  if ((settings->user != NULL && l->user == NULL)
      || (settings->password != NULL && l->password == NULL)
      || (settings->client_name != NULL && l->client_name == NULL)
      || (settings->channel != NULL && l->channel == NULL))
    return link_free(l);
  return l;
}

/* The greeting has the password; the later output is harmless. */
static void output_forget(link *l)
{
  if (l->state == LINK_GREETING && l->output.bytes != NULL)
    mem_wipe(l->output.bytes, l->output.capacity);
  buffer_clear(&l->output);
}

link *link_free(link *l)
{
  if (l != NULL) {
    output_forget(l);
    resp_reader_free(l->reader);
    buffer_deinit(&l->output);
    buffer_deinit(&l->unanswered);
    mem_free(&l->memory, l->channel);
    mem_free(&l->memory, l->client_name);
    link_drop_credentials(l);
    mem_free_secret(&l->memory, l->password);
    mem_free_secret(&l->memory, l->user);
    mem_free(&l->memory, l);
  }
  return NULL;
}

bool link_keep_credentials(link *l, const char *user, const char *password)
{
  mem_free_secret(&l->memory, l->next_user);
  mem_free_secret(&l->memory, l->next_password);
  l->next_user = mem_copy_text(&l->memory, user);
  l->next_password = mem_copy_text(&l->memory, password);
  return (user == NULL || l->next_user != NULL) &&
         (password == NULL || l->next_password != NULL);
}

void link_drop_credentials(link *l)
{
  (void)link_keep_credentials(l, NULL, NULL);
}

void link_take_credentials(link *l)
{
  mem_free_secret(&l->memory, l->user);
  mem_free_secret(&l->memory, l->password);
  l->user = l->next_user;
  l->password = l->next_password;
  l->next_user = l->next_password = NULL;
  l->is_rekeyed = l->state == LINK_GREETING;
}

bool link_set_credentials(link *l, const char *user, const char *password)
{
  bool is_kept = link_keep_credentials(l, user, password);

  if (is_kept)
    link_take_credentials(l);
  else
    link_drop_credentials(l);
  return is_kept;
}

/* The same one again does not hide what the server says about it. */
bool link_set_password(link *l, const char *password)
{
  if (l->password != NULL && strcmp(l->password, password) == 0)
    return true;
  return link_set_credentials(l, l->user, password);
}

bool link_was_rekeyed(const link *l)
{
  return l->is_rekeyed;
}

link_state link_state_of(const link *l)
{
  return l->state;
}

void link_closed(link *l)
{
  output_forget(l);
  buffer_clear(&l->unanswered);
  l->reader = resp_reader_free(l->reader);
  l->state = LINK_DOWN;
  l->has_fault = false;
}

void link_fault(link *l, dibs_status status)
{
  link_closed(l);
  l->has_fault = true;
  l->fault = status;
}

dibs_status link_opened(link *l, instant now)
{
  link_closed(l);
  l->reader = resp_reader_new(&l->memory, l->role == LINK_SCOUT ? RESP_LIMITS_OF_MAPS
                                                                : RESP_LIMITS_DEFAULT);
  l->state = LINK_GREETING;
  l->is_rekeyed = false;
  if (l->reader == NULL || !link_greet(l, now)) {
    link_closed(l);
    return DIBS_ERR_NO_MEMORY;
  }
  l->last_traffic = now;
  return DIBS_OK;
}

/* ---- sending ---- */

size_t link_unanswered(const link *l)
{
  return buffer_size(&l->unanswered) / sizeof(question);
}

bool link_has_room(const link *l, size_t size)
{
  return link_unanswered(l) < UNANSWERED_MAX && size <= OUTPUT_BYTES_MAX
    && buffer_size(&l->output) <= OUTPUT_BYTES_MAX - size;
}

bool link_expect_about(link *l, question_kind kind, uint64_t tag, uint64_t channel,
                       instant now)
{
  question q;

  /* Clears padding too, so that the buffer has no undefined bytes. */
  memset(&q, 0, sizeof(q));
  q.kind = kind;
  q.tag = tag;
  q.channel = channel;
  q.sent_at = now;
  return buffer_append(&l->unanswered, &q, sizeof(q));
}

bool link_expect(link *l, question_kind kind, uint64_t tag, instant now)
{
  return link_expect_about(l, kind, tag, 0, now);
}

bool link_question(const link *l, question *ret_question)
{
  if (buffer_size(&l->unanswered) == 0)
    return false;
  memcpy(ret_question, buffer_bytes(&l->unanswered), sizeof(*ret_question));
  return true;
}

void link_question_take(link *l)
{
  buffer_consume(&l->unanswered, sizeof(question));
}

dibs_status link_send(link *l, const request *command, uint64_t tag, instant now)
{
  size_t before = buffer_size(&l->output);

  assert(l->state == LINK_READY);
  assert(l->role != LINK_INBOX);
  if (!link_has_room(l, 0) || !request_render(command, l->uses_functions, &l->output))
    return DIBS_ERR_NO_MEMORY;
  if (!link_has_room(l, 0) || !link_expect(l, QUESTION_COMMAND, tag, now)) {
    buffer_truncate(&l->output, buffer_size(&l->output) - before);
    return DIBS_ERR_NO_MEMORY;
  }
  l->last_traffic = now;
  return DIBS_OK;
}

const char *link_output(const link *l, size_t *ret_size)
{
  *ret_size = buffer_size(&l->output);
  return buffer_bytes(&l->output);
}

void link_written(link *l, size_t size)
{
  assert(size <= buffer_size(&l->output));
  if (l->state == LINK_GREETING && size > 0)
    mem_wipe(l->output.bytes + l->output.start, size);
  buffer_consume(&l->output, size);
}

/* ---- receiving ---- */

void link_received(link *l, const void *bytes, size_t size, instant now)
{
  dibs_status status;

  if (l->state == LINK_DOWN || size == 0)
    return;
  l->last_traffic = now;
  status = resp_reader_feed(l->reader, bytes, size);
  if (status != DIBS_OK)
    link_fault_words(l, status, resp_reader_fault(l->reader));
}

bool link_next_event(link *l, instant now, link_event *ret_event)
{
  while (l->state != LINK_DOWN) {
    resp_reply *reply = NULL;
    dibs_status status = resp_reader_next(l->reader, &reply);

    if (status != DIBS_OK) {
      link_fault_words(l, status, resp_reader_fault(l->reader));
      break;
    }
    if (reply == NULL)
      return false;
    if (link_reply(l, reply, now, ret_event))
      return true;
  }
  if (!l->has_fault)
    return false;
  l->has_fault = false;
  *ret_event = (link_event){
    .kind = LINK_EVENT_FAULT, .status = l->fault, .text = l->fault_text };
  return true;
}

/* ---- time ---- */

instant link_unanswered_since(const link *l)
{
  question oldest;

  return l->state != LINK_DOWN && link_question(l, &oldest) ? oldest.sent_at : INSTANT_NEVER;
}

instant link_deadline(const link *l)
{
  question oldest;

  if (l->state == LINK_DOWN)
    return INSTANT_NEVER;
  if (link_question(l, &oldest))
    return l->answer_timeout.ns <= 0 ? INSTANT_NEVER
                                     : instant_add(oldest.sent_at, l->answer_timeout);
  return l->idle_ping.ns <= 0 ? INSTANT_NEVER
                              : instant_add(l->last_traffic, l->idle_ping);
}

static void ping(link *l, instant now)
{
  static const resp_argument words[] = { { "PING", 4 } };

  if (!resp_command(&l->output, words, 1) || !link_expect(l, QUESTION_PING, 0, now)) {
    link_fault_words(l, DIBS_ERR_NO_MEMORY, "no memory to look after an idle connection");
    return;
  }
  l->last_traffic = now;
}

void link_tick(link *l, instant now)
{
  text t;

  if (l->state == LINK_DOWN || instant_before(now, link_deadline(l)))
    return;
  if (link_unanswered(l) == 0) {
    ping(l, now);
    return;
  }
  t = text_over(l->fault_text, sizeof(l->fault_text));
  text_format(&t, "no answer within %" PRId64 " ms (command_timeout)",
              span_to_ms(l->answer_timeout));
  link_fault(l, DIBS_ERR_UNREACHABLE);
}
