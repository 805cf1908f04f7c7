/* SPDX-License-Identifier: MIT */
/* link/channel.c - further channels of a ready inbox, plain and sharded ones.
 *
 * A server ends a sharded subscription when its slot moves. If this client unsubscribes at
 * the same moment, two replies come: that push, and MOVED as the answer; or, if the slot
 * was still there, only an answer that looks like the push. So a PING follows each
 * SUNSUBSCRIBE, and its PONG ends the question. */
#include "link/link_state.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

static uint64_t channel_hash(const void *channel, size_t size)
{
  return fnv1a(FNV1A_START, channel, size);
}

/* ---- asking ---- */

static bool channel_write(link *l, const char *word, const void *channel, size_t size,
                          bool is_pinged)
{
  resp_argument words[2] = { { word, strlen(word) }, { channel, size } };
  resp_argument ping[1] = { RESP_TEXT("PING") };
  size_t before = buffer_size(&l->output);

  if (!resp_command(&l->output, words, 2))
    return false;
  if (!is_pinged || resp_command(&l->output, ping, 1))
    return true;
  buffer_truncate(&l->output, buffer_size(&l->output) - before);
  return false;
}

static dibs_status channel_send(link *l, question_kind kind, const void *channel,
                                size_t size, uint64_t tag, instant now)
{
  static const char *const words[] = {
    [QUESTION_CHANNEL] = "SUBSCRIBE", [QUESTION_UNSUBSCRIBE] = "UNSUBSCRIBE",
    [QUESTION_SHARD_CHANNEL] = "SSUBSCRIBE",
    [QUESTION_SHARD_UNSUBSCRIBE] = "SUNSUBSCRIBE" };

  assert(l->state == LINK_READY);
  assert(l->role == LINK_INBOX);
  if (!link_has_room(l, size) || !buffer_reserve(&l->unanswered, sizeof(question))
      || !channel_write(l, words[kind], channel, size, kind == QUESTION_SHARD_UNSUBSCRIBE))
    return DIBS_ERR_NO_MEMORY;
  (void)link_expect_about(l, kind, tag, channel_hash(channel, size), now);
  l->last_traffic = now;
  return DIBS_OK;
}

dibs_status link_subscribe(link *l, const void *channel, size_t size, bool is_sharded,
                           uint64_t tag, instant now)
{
  return channel_send(l, is_sharded ? QUESTION_SHARD_CHANNEL : QUESTION_CHANNEL, channel,
                      size, tag, now);
}

dibs_status link_unsubscribe(link *l, const void *channel, size_t size, bool is_sharded,
                             instant now)
{
  return channel_send(l, is_sharded ? QUESTION_SHARD_UNSUBSCRIBE : QUESTION_UNSUBSCRIBE,
                      channel, size, 0, now);
}

/* ---- pushes ---- */

/* ["message", channel, payload], and ["smessage", ..] of a sharded one. */
static bool is_message(const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);
  const resp_node *word = resp_child(reply, root, 0);

  return root->kind == RESP_ARRAY && root->integer == 3
    && (node_is_word(word, "message") || node_is_word(word, "smessage"));
}

/* Of the client channel or of a further channel: the subscriber checks the name. */
static bool is_whole_message(const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);

  return resp_child(reply, root, 1)->kind == RESP_STRING
    && resp_child(reply, root, 2)->kind == RESP_STRING;
}

/* [word, channel, remaining subscriptions] */
static bool is_about_channel(const resp_reply *reply, const char *word)
{
  const resp_node *root = resp_root(reply);

  return root->kind == RESP_ARRAY && root->integer == 3
    && node_is_word(resp_child(reply, root, 0), word)
    && resp_child(reply, root, 1)->kind == RESP_STRING;
}

/* Whether the oldest question is the SUNSUBSCRIBE of the channel that `reply` names. */
static bool is_being_left(const link *l, const resp_reply *reply)
{
  const resp_node *channel = resp_child(reply, resp_root(reply), 1);
  question q;

  return link_question(l, &q) && q.kind == QUESTION_SHARD_UNSUBSCRIBE
    && q.channel == channel_hash(channel->bytes, channel->size);
}

bool link_push(link *l, resp_reply *reply, link_event *ret_event, bool *ret_is_event)
{
  *ret_is_event = true;
  if (is_message(reply) && is_whole_message(reply)) {
    *ret_event = (link_event){ .kind = LINK_EVENT_MESSAGE, .reply = reply };
    return true;
  }
  if (is_about_channel(reply, "sunsubscribe") && !is_being_left(l, reply)) {
    *ret_event = (link_event){ .kind = LINK_EVENT_UNSUBSCRIBED, .reply = reply };
    return true;
  }
  *ret_is_event = false;
  if (!is_message(reply))
    return false;
  resp_reply_free(reply);
  return true;
}

/* ---- answers ---- */

static bool is_question_to_enter(question_kind kind)
{
  return kind == QUESTION_CHANNEL || kind == QUESTION_SHARD_CHANNEL;
}

static bool entering_answered(link *l, const question *q, resp_reply *reply,
                              link_event *ret_event)
{
  bool stands = is_about_channel(reply, q->kind == QUESTION_CHANNEL ? "subscribe"
                                                                    : "ssubscribe");

  if (!stands && resp_root(reply)->kind != RESP_ERROR)
    return false;
  link_question_take(l);
  *ret_event = (link_event){
    .kind = stands ? LINK_EVENT_SUBSCRIBED : LINK_EVENT_REFUSED, .tag = q->tag,
    .channel = q->channel, .sent_at = q->sent_at, .reply = reply };
  return true;
}

/* Whether the reply is a possible answer. */
static bool leaving_answered(link *l, const question *q, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);
  bool is_last = true;
  bool is_expected;

  if (q->kind == QUESTION_UNSUBSCRIBE) {
    is_expected = is_about_channel(reply, "unsubscribe")
      || (said->kind == RESP_ERROR
          && resp_fault_of(said->bytes, said->size) == RESP_FAULT_DENIED);
  } else {
    is_last = link_is_pong(l, reply);
    is_expected = is_last || said->kind == RESP_ERROR
      || is_about_channel(reply, "sunsubscribe");
  }
  if (is_expected && is_last)
    link_question_take(l);
  return is_expected;
}

bool link_channel_answer(link *l, const question *q, resp_reply *reply,
                         link_event *ret_event)
{
  if (is_question_to_enter(q->kind)) {
    if (entering_answered(l, q, reply, ret_event))
      return true;
    link_fault_reply(l, DIBS_ERR_PROTOCOL, "an unexpected answer about a channel: ",
                     resp_root(reply));
  } else if (!leaving_answered(l, q, reply)) {
    link_fault_reply(l, DIBS_ERR_PROTOCOL, "an unexpected answer about a channel: ",
                     resp_root(reply));
  }
  resp_reply_free(reply);
  return false;
}
