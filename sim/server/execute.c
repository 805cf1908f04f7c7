/* SPDX-License-Identifier: MIT */
/* Running a command: what refuses it, in a real server's order, and what follows it. */
#include "server/parts.h"

#include <string.h>

#define SHOWN_BYTES 128

static void add_cut(text *t, slice s)
{
  text_add_bytes(t, s.bytes, s.size < SHOWN_BYTES ? s.size : SHOWN_BYTES);
}

static void answer_unknown(sim_server *s, reply *r, const slice *all, size_t count)
{
  char bytes[512];
  text t = text_over(bytes, sizeof(bytes));
  size_t begun;

  /* What came with later versions, and what clients send to try. */
  if (s->sentinel == NULL && !slice_is(all[0], "waitaof"))
    server_note_unknown(s, "the command", all[0]);
  text_add(&t, "ERR unknown command '");
  add_cut(&t, all[0]);
  text_add(&t, "', with args beginning with: ");
  begun = t.used;
  for (size_t i = 1; i < count && t.used - begun < SHOWN_BYTES; i++) {
    size_t left = SHOWN_BYTES - (t.used - begun);

    text_add(&t, "'");
    text_add_bytes(&t, all[i].bytes, all[i].size < left ? all[i].size : left);
    text_add(&t, "' ");
  }
  reply_error(r, bytes);
}

static void answer_unknown_part(sim_server *s, reply *r, const command *parent, slice part)
{
  char bytes[256];
  text t = text_over(bytes, sizeof(bytes));

  /* What came with later versions, and what clients send to try. */
  if (!slice_is(part, "setinfo"))
    server_note_unknown(s, parent->name, part);
  text_add(&t, "ERR unknown subcommand '");
  add_cut(&t, part);
  text_add(&t, "'. Try ");
  for (const char *c = parent->name; *c != 0; c++)
    text_add_bytes(&t, (char[]){ (char)(*c - 'a' + 'A') }, 1);
  text_add(&t, " HELP.");
  reply_error(r, bytes);
}

/* The command to run; NULL: answered with an error. */
static const command *find(sim_server *s, reply *r, const slice *all, size_t count)
{
  const command *cmd = command_find(s, all[0]), *part;

  if (cmd == NULL || (s->sentinel != NULL && !sentinel_knows(cmd))) {
    answer_unknown(s, r, all, count);
    return NULL;
  }
  if ((cmd->flags & COMMAND_PARENT) != 0 && count > 1) {
    part = command_find_part(s, cmd, all[1]);
    if (part == NULL) {
      answer_unknown_part(s, r, cmd, all[1]);
      return NULL;
    }
    cmd = part;
  }
  if (command_count_is_good(cmd, count))
    return cmd;
  reply_wrong_count(r, cmd->name);
  return NULL;
}

const char *refusal_of_state(const sim_server *s, const command *cmd)
{
  bool writes = (cmd->flags & COMMAND_WRITES) != 0;

  if (s->conditions[SIM_MISCONF] && (writes || strcmp(cmd->name, "ping") == 0))
    return "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to "
           "persist to disk. Commands that may modify the data set are disabled, because "
           "this instance is configured to report errors during writes if RDB snapshotting "
           "fails (stop-writes-on-bgsave-error option). Please check the Redis logs for "
           "details about the RDB error.";
  if (server_lacks_replicas(s) && writes)
    return "NOREPLICAS Not enough good replicas to write.";
  if (server_is_replica(s) && writes)
    return "READONLY You can't write against a read only replica.";
  return NULL;
}

static bool is_refused(const sim_server *s, sim_connection *c, const command *cmd,
                       const slice *all, size_t count, reply *r)
{
  const char *words = NULL;
  char room[256];
  text t = text_over(room, sizeof(room));
  command whole = *cmd;

  if (s->is_looking)                    /* an oracle sees what nobody else may ask for */
    return false;
  if (c != NULL && (cmd->flags & COMMAND_RUNS_QUEUE) != 0)
    whole.flags |= c->queue_flags;
  if (c != NULL && c->is_queueing &&
      ((cmd->flags & COMMAND_AT_ONCE) == 0 || (cmd->flags & COMMAND_NO_NESTING) != 0))
    whole.flags |= COMMAND_ALLOCATES;   /* the place in the queue */
  if (c != NULL && !c->is_authenticated && (cmd->flags & COMMAND_WITHOUT_AUTH) == 0)
    words = "NOAUTH Authentication required.";
  else if (s->cluster != NULL && c != NULL)
    words = cluster_refusal(c, cmd, all, count, &t);
  if (words != NULL)
    ;
  else if (s->conditions[SIM_OUT_OF_MEMORY] && (whole.flags & COMMAND_ALLOCATES) != 0)
    words = "OOM command not allowed when used memory > 'maxmemory'.";
  else
    words = refusal_of_state(s, &whole);
  if (words == NULL && c != NULL && channels_are_subscribed(c) &&
      (cmd->flags & COMMAND_SUBSCRIBED) == 0) {
    text_add(&t, "ERR Can't execute '");
    text_add(&t, cmd->name);
    text_add(&t, "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                 "allowed in this context");
    words = room;
  }
  if (words == NULL && s->conditions[SIM_LOADING] &&
      (cmd->flags & COMMAND_WHILE_LOADING) == 0)
    words = "LOADING Redis is loading the dataset in memory";
  if (words == NULL && s->conditions[SIM_BUSY] && (cmd->flags & COMMAND_WHILE_BUSY) == 0)
    words = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or "
            "SHUTDOWN NOSAVE.";
  if (words != NULL && c != NULL && (cmd->flags & COMMAND_RUNS_QUEUE) != 0)
    transaction_abort(c, r, words);
  else if (words != NULL)
    reply_error(r, words);
  return words != NULL;
}

bool execute_must_wait(const sim_server *s, const sim_connection *c, const slice *all,
                       size_t count)
{
  const command *cmd, *part;

  if (!server_is_paused(s) || !c->is_authenticated)
    return false;
  cmd = command_find(s, all[0]);
  if (cmd != NULL && (cmd->flags & COMMAND_PARENT) != 0 && count > 1) {
    part = command_find_part(s, cmd, all[1]);
    cmd = part == NULL ? cmd : part;
  }
  if (cmd == NULL || !command_count_is_good(cmd, count) ||
      (c->is_queueing && (cmd->flags & COMMAND_AT_ONCE) == 0))
    return false;
  return s->pause_is_for_all || (cmd->flags & (COMMAND_WRITES | COMMAND_MAY_SPREAD)) != 0;
}

void execute_end(sim_server *s)
{
  if (s->replica != NULL)
    replica_end_of_command(s);
}

void execute(sim_server *s, sim_connection *c, const slice *all, size_t count)
{
  reply r = reply_to_bytes(c == NULL ? &s->answer : &c->output);
  const command *cmd = find(s, &r, all, count);
  call one = { s, c, cmd, all, count, &r };
  uint64_t offset = s->offset;

  s->counts.commands += !s->is_looking;
  if (cmd == NULL || is_refused(s, c, cmd, all, count, &r)) {
    if (c != NULL && c->is_queueing)
      c->queue_has_failed = true;
  } else if (c != NULL && c->is_queueing && (cmd->flags & COMMAND_AT_ONCE) == 0) {
    transaction_queue(c, cmd, all, count);
    reply_status(&r, "QUEUED");
  } else {
    cmd->run(&one);
    execute_end(s);
    if (c != NULL && s->offset != offset)
      c->written_offset = s->offset;
  }
  if (c != NULL && !c->is_queueing && (cmd == NULL || strcmp(cmd->name, "asking") != 0))
    c->is_asking = false;
  s->counts.errors += r.is_error && !s->is_looking;
}
