/* SPDX-License-Identifier: MIT */
/* Commands: PUBLISH, SUBSCRIBE and their kin. */
#include "server/channels.h"
#include "server/parts.h"

static void publish(call *c, channel_kind kind)
{
  reply_integer(c->reply, (int64_t)channels_publish(c->server, kind, c->words[1],
                                                    c->words[2]));
}

static void run_publish(call *c)
{
  if (c->server->sentinel != NULL)
    sentinel_publish(c);
  else
    publish(c, CHANNEL_PLAIN);
}

static void run_spublish(call *c) { publish(c, CHANNEL_SHARD); }

/* What a subscriber is told of its own doing; no channel: NULL. */
static void answer(call *c, channel_kind kind, const char *what, const slice *name)
{
  reply_array(c->reply, 3);
  reply_string(c->reply, slice_of(what));
  if (name == NULL)
    reply_nothing(c->reply);
  else
    reply_string(c->reply, *name);
  reply_integer(c->reply, (int64_t)channels_of(c->connection, kind == CHANNEL_SHARD));
}

static void join(call *c, channel_kind kind, const char *what)
{
  if (c->connection == NULL) {
    reply_error(c->reply, "ERR nobody cannot subscribe");
    return;
  }
  for (size_t i = 1; i < c->count; i++) {
    channels_join(c->connection, kind, c->words[i]);
    answer(c, kind, what, &c->words[i]);
  }
}

static void run_subscribe(call *c) { join(c, CHANNEL_PLAIN, "subscribe"); }

static void run_ssubscribe(call *c) { join(c, CHANNEL_SHARD, "ssubscribe"); }

static void run_psubscribe(call *c) { join(c, CHANNEL_PATTERN, "psubscribe"); }

static void leave_one(call *c, channel_kind kind, const char *what, slice name)
{
  blob *kept = blob_new(name);       /* the channel may go with its last listener */
  slice shown = blob_slice(kept);

  channels_leave(c->connection, kind, shown);
  answer(c, kind, what, &shown);
  sim_free(kept);
}

static void leave(call *c, channel_kind kind, const char *what)
{
  slice name;

  if (c->connection == NULL) {
    reply_error(c->reply, "ERR nobody cannot subscribe");
    return;
  }
  if (c->count == 1 && !channels_first(c->connection, kind, &name))
    answer(c, kind, what, NULL);
  else if (c->count == 1)
    while (channels_first(c->connection, kind, &name))
      leave_one(c, kind, what, name);
  for (size_t i = 1; i < c->count; i++)
    leave_one(c, kind, what, c->words[i]);
}

static void run_unsubscribe(call *c) { leave(c, CHANNEL_PLAIN, "unsubscribe"); }

static void run_sunsubscribe(call *c) { leave(c, CHANNEL_SHARD, "sunsubscribe"); }

static void run_punsubscribe(call *c) { leave(c, CHANNEL_PATTERN, "punsubscribe"); }

/* ---- PUBSUB ---- */

static void answer_counts(call *c, channel_kind kind)
{
  reply_array(c->reply, 2 * (c->count - 2));
  for (size_t i = 2; i < c->count; i++) {
    reply_string(c->reply, c->words[i]);
    reply_integer(c->reply, (int64_t)channels_subscribers(c->server, kind, c->words[i]));
  }
}

static void run_numsub(call *c) { answer_counts(c, CHANNEL_PLAIN); }

static void run_shardnumsub(call *c) { answer_counts(c, CHANNEL_SHARD); }

static void answer_names(call *c, channel_kind kind)
{
  char bytes[192];
  text t = text_over(bytes, sizeof(bytes));

  if (c->count > 3) {
    text_add(&t, "ERR unknown subcommand or wrong number of arguments for '");
    text_add_bytes(&t, c->words[1].bytes, c->words[1].size);
    text_add(&t, "'. Try PUBSUB HELP.");
    reply_error(c->reply, bytes);
  } else {
    channels_list(c->server, kind, c->count == 3 ? &c->words[2] : NULL, c->reply);
  }
}

static void run_channels(call *c) { answer_names(c, CHANNEL_PLAIN); }

static void run_shardchannels(call *c) { answer_names(c, CHANNEL_SHARD); }

static void run_numpat(call *c)
{
  reply_integer(c->reply, (int64_t)channels_count(c->server, CHANNEL_PATTERN));
}

#define ALWAYS COMMAND_WHILE_LOADING
#define LISTEN (COMMAND_NOT_IN_SCRIPT | COMMAND_SUBSCRIBED | ALWAYS)

const command commands_channel[] = {
  { "publish", 3, COMMAND_MAY_SPREAD | ALWAYS, run_publish },
  { "spublish", 3, COMMAND_MAY_SPREAD | ALWAYS, run_spublish },
  { "subscribe", -2, LISTEN, run_subscribe },
  { "ssubscribe", -2, LISTEN, run_ssubscribe },
  { "psubscribe", -2, LISTEN, run_psubscribe },
  { "unsubscribe", -1, LISTEN, run_unsubscribe },
  { "sunsubscribe", -1, LISTEN, run_sunsubscribe },
  { "punsubscribe", -1, LISTEN, run_punsubscribe },
  { "pubsub", -2, COMMAND_PARENT, NULL },
  { "pubsub|numsub", -2, ALWAYS, run_numsub },
  { "pubsub|shardnumsub", -2, ALWAYS, run_shardnumsub },
  { "pubsub|channels", -2, ALWAYS, run_channels },
  { "pubsub|shardchannels", -2, ALWAYS, run_shardchannels },
  { "pubsub|numpat", 2, ALWAYS, run_numpat },
  { NULL, 0, 0, NULL }
};
