/* SPDX-License-Identifier: MIT */
/* Commands: the connection that asks, and the others. */
#include "server/parts.h"

/* sim_server_ask() has no connection to speak of. */
static bool has_connection(call *c)
{
  if (c->connection == NULL)
    reply_error(c->reply, "ERR nobody has no connection");
  return c->connection != NULL;
}

/* ---- AUTH, HELLO, SELECT, QUIT, RESET ---- */

static bool user_is_good(const sim_server *s, slice user, slice password)
{
  return slice_equal(user, SLICE("default")) &&
         (s->password == NULL || slice_equal(password, slice_of(s->password)));
}

static void answer_bad_password(call *c)
{
  reply_error(c->reply, "WRONGPASS invalid username-password pair or user is disabled.");
}

static void run_auth(call *c)
{
  slice user = c->count == 3 ? c->words[1] : SLICE("default");

  if (!has_connection(c))
    return;
  if (c->count > 3) {
    reply_syntax_error(c->reply);
  } else if (c->count == 2 && c->server->password == NULL) {
    reply_error(c->reply, "ERR AUTH <password> called without any password configured for "
                          "the default user. Are you sure your configuration is correct?");
  } else if (user_is_good(c->server, user, c->words[c->count - 1])) {
    c->connection->is_authenticated = true;
    reply_ok(c->reply);
  } else {
    answer_bad_password(c);
  }
}

static void set_name(sim_connection *c, slice name)
{
  sim_free(c->name);
  c->name = name.size == 0 ? NULL : mem_copy(sim_memory(), name.bytes, name.size);
}

static bool name_is_good(slice name)
{
  for (size_t i = 0; i < name.size; i++)
    if (name.bytes[i] < '!' || name.bytes[i] > '~')
      return false;
  return true;
}

static void answer_bad_name(call *c)
{
  reply_error(c->reply, "ERR Client names cannot contain spaces, newlines or special "
                        "characters.");
}

static void answer_hello(call *c)
{
  const sim_server *s = c->server;
  bool is_sentinel = s->sentinel != NULL;
  static const char *const pairs[][2] = { { "server", "redis" }, { "version", "7.0.15" } };

  reply_array(c->reply, is_sentinel ? 12 : 14);
  for (int i = 0; i < 2; i++) {
    reply_string(c->reply, slice_of(pairs[i][0]));
    reply_string(c->reply, slice_of(pairs[i][1]));
  }
  reply_string(c->reply, SLICE("proto"));
  reply_integer(c->reply, 2);
  reply_string(c->reply, SLICE("id"));
  reply_integer(c->reply, (int64_t)c->connection->id);
  reply_string(c->reply, SLICE("mode"));
  reply_string(c->reply, is_sentinel          ? SLICE("sentinel")
                         : s->cluster != NULL ? SLICE("cluster") : SLICE("standalone"));
  if (!is_sentinel) {
    reply_string(c->reply, SLICE("role"));
    reply_string(c->reply, server_is_replica(s) ? SLICE("replica") : SLICE("master"));
  }
  reply_string(c->reply, SLICE("modules"));
  reply_array(c->reply, 0);
}

static void answer_bad_option(call *c, slice option)
{
  char bytes[160];
  text t = text_over(bytes, sizeof(bytes));

  text_add(&t, "ERR Syntax error in HELLO option '");
  text_add_bytes(&t, option.bytes, option.size);
  text_add(&t, "'");
  reply_error(c->reply, bytes);
}

static void run_hello(call *c)
{
  const slice *name = NULL;
  int64_t version;

  if (!has_connection(c))
    return;
  if (c->count > 1 && !slice_to_integer(c->words[1], &version)) {
    reply_error(c->reply, "ERR Protocol version is not an integer or out of range");
    return;
  }
  if (c->count > 1 && !slice_equal(c->words[1], SLICE("2"))) {
    reply_error(c->reply, slice_equal(c->words[1], SLICE("3"))
      ? "ERR unknown command `HELLO`, with args beginning with: `3`, "
      : "NOPROTO unsupported protocol version");
    return;
  }
  for (size_t i = 2; i < c->count; i++) {
    if (slice_is(c->words[i], "auth") && i + 2 < c->count) {
      if (!user_is_good(c->server, c->words[i + 1], c->words[i + 2])) {
        answer_bad_password(c);
        return;
      }
      c->connection->is_authenticated = true;
      i += 2;
    } else if (slice_is(c->words[i], "setname") && i + 1 < c->count) {
      name = &c->words[++i];
    } else {
      answer_bad_option(c, c->words[i]);
      return;
    }
  }
  if (!c->connection->is_authenticated) {
    reply_error(c->reply, "NOAUTH HELLO must be called with the client already "
                          "authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
                          "option can be used to authenticate the client and select the "
                          "RESP protocol version at the same time");
    return;
  }
  if (name != NULL && !name_is_good(*name)) {
    answer_bad_name(c);
    return;
  }
  if (name != NULL)
    set_name(c->connection, *name);
  answer_hello(c);
}

static void run_select(call *c)
{
  int64_t number;

  if (!slice_to_integer(c->words[1], &number)) {
    reply_not_integer(c->reply);
  } else if (number < 0 || number > 15) {
    reply_error(c->reply, "ERR DB index is out of range");
  } else if (number > 0 && c->server->cluster != NULL) {
    reply_error(c->reply, "ERR SELECT is not allowed in cluster mode");
  } else if (number > 0) {
    server_note_unknown(c->server, "the database", c->words[1]);
    reply_error(c->reply, "ERR the model has one database");
  } else {
    reply_ok(c->reply);
  }
}

static void run_quit(call *c)
{
  reply_ok(c->reply);
  if (c->connection != NULL)
    connection_finish(c->connection);
}

static void run_reset(call *c)
{
  if (!has_connection(c))
    return;
  channels_leave_all(c->connection);
  transaction_forget(c->connection);
  set_name(c->connection, SLICE(""));
  c->connection->is_authenticated = c->server->password == NULL;
  reply_status(c->reply, "RESET");
}

/* ---- CLIENT ---- */

static void run_client_id(call *c)
{
  if (has_connection(c))
    reply_integer(c->reply, (int64_t)c->connection->id);
}

static void run_client_setname(call *c)
{
  if (!has_connection(c))
    return;
  if (!name_is_good(c->words[2])) {
    answer_bad_name(c);
    return;
  }
  set_name(c->connection, c->words[2]);
  reply_ok(c->reply);
}

static void run_client_getname(call *c)
{
  if (!has_connection(c))
    return;
  if (c->connection->name == NULL)
    reply_nothing(c->reply);
  else
    reply_string(c->reply, slice_of(c->connection->name));
}

static void run_client_no_evict(call *c)
{
  if (slice_is(c->words[2], "on") || slice_is(c->words[2], "off"))
    reply_ok(c->reply);
  else
    reply_syntax_error(c->reply);
}

static void run_client_pause(call *c)
{
  sim_server *s = c->server;
  bool is_for_all = true;
  int64_t ms;

  if (c->count == 4) {
    is_for_all = slice_is(c->words[3], "all");
    if (!is_for_all && !slice_is(c->words[3], "write")) {
      reply_error(c->reply, "ERR CLIENT PAUSE mode must be WRITE or ALL");
      return;
    }
  }
  if (!slice_to_integer(c->words[2], &ms) || ms > (INT64_MAX - s->wall_us) / 1000) {
    reply_error(c->reply, "ERR timeout is not an integer or out of range");
    return;
  }
  if (ms < 0) {
    reply_error(c->reply, "ERR timeout is negative");
    return;
  }
  /* A pause is never made shorter or weaker by another one. */
  s->pause_is_for_all = is_for_all || (server_is_paused(s) && s->pause_is_for_all);
  if (s->wall_us + ms * 1000 > s->pause_until_us)
    s->pause_until_us = s->wall_us + ms * 1000;
  reply_ok(c->reply);
}

static void run_client_unpause(call *c)
{
  /* What waits runs with the next tick, which is due now. */
  if (server_is_paused(c->server))
    c->server->pause_until_us = c->server->wall_us;
  reply_ok(c->reply);
}

/* ---- CLIENT KILL ---- */

typedef struct kill_filter {
  int64_t id;                   /* 0: any */
  bool has_type, is_subscriber, spares_me;
} kill_filter;

static bool type_read(call *c, slice type)
{
  char bytes[160];
  text t = text_over(bytes, sizeof(bytes));

  if (slice_is(type, "normal") || slice_is(type, "pubsub"))
    return true;
  text_add(&t, "ERR Unknown client type '");
  text_add_bytes(&t, type.bytes, type.size);
  text_add(&t, "'");
  reply_error(c->reply, bytes);
  return false;
}

static bool kill_filter_read(call *c, kill_filter *f)
{
  *f = (kill_filter){ .spares_me = true };
  for (size_t i = 2; i < c->count; i += 2) {
    slice what;

    if (i + 1 == c->count) {
      reply_syntax_error(c->reply);
      return false;
    }
    what = c->words[i + 1];
    if (slice_is(c->words[i], "id")) {
      if (!slice_to_integer(what, &f->id) || f->id < 1) {
        reply_error(c->reply, "ERR client-id should be greater than 0");
        return false;
      }
    } else if (slice_is(c->words[i], "type")) {
      if (!type_read(c, what))
        return false;
      f->has_type = true;
      f->is_subscriber = slice_is(what, "pubsub");
    } else if (slice_is(c->words[i], "skipme") &&
               (slice_is(what, "yes") || slice_is(what, "no"))) {
      f->spares_me = slice_is(what, "yes");
    } else {
      server_note_unknown(c->server, "the filter of CLIENT KILL", c->words[i]);
      reply_syntax_error(c->reply);
      return false;
    }
  }
  return true;
}

static void run_client_kill(call *c)
{
  kill_filter f;
  int64_t killed = 0;

  /* The old form names an address; here nobody has one. */
  if (c->count == 3) {
    reply_error(c->reply, "ERR No such client");
    return;
  }
  if (!kill_filter_read(c, &f))
    return;
  for (sim_connection *o = c->server->first; o != NULL; o = o->next) {
    if (o->is_closed || (f.id != 0 && o->id != (uint64_t)f.id) ||
        (f.has_type && channels_are_subscribed(o) != f.is_subscriber) ||
        (f.spares_me && o == c->connection))
      continue;
    killed++;
    connection_finish(o);
  }
  reply_integer(c->reply, killed);
}

#define FIRST (COMMAND_NOT_IN_SCRIPT | COMMAND_WHILE_LOADING | COMMAND_WHILE_BUSY | \
               COMMAND_WITHOUT_AUTH)
#define ALONE (COMMAND_NOT_IN_SCRIPT | COMMAND_WHILE_LOADING)

const command commands_client[] = {
  { "auth", -2, FIRST, run_auth },
  { "hello", -1, FIRST, run_hello },
  { "select", 2, COMMAND_WHILE_LOADING, run_select },
  { "quit", -1, FIRST | COMMAND_SUBSCRIBED | COMMAND_AT_ONCE, run_quit },
  { "reset", 1, FIRST | COMMAND_SUBSCRIBED | COMMAND_AT_ONCE, run_reset },
  { "client", -2, COMMAND_PARENT, NULL },
  { "client|id", 2, ALONE, run_client_id },
  { "client|setname", 3, ALONE, run_client_setname },
  { "client|getname", 2, ALONE, run_client_getname },
  { "client|no-evict", 3, ALONE, run_client_no_evict },
  { "client|pause", -3, ALONE, run_client_pause },
  { "client|unpause", 2, ALONE, run_client_unpause },
  { "client|kill", -3, ALONE, run_client_kill },
  { NULL, 0, 0, NULL }
};
