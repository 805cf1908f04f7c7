/* SPDX-License-Identifier: MIT */
/* The table of all commands, found by name in any case. */
#include "server/parts.h"
#include "server/table.h"

#define NAME_MAX_SIZE 40

struct command_entry {
  UT_hash_handle hh;
  const command *command;
};

static const command *const groups[] = {
  commands_string, commands_number, commands_key, commands_scan, commands_hash,
  commands_list, commands_stream, commands_zset, commands_zset_range, commands_server,
  commands_client,
  commands_channel, commands_script, commands_transaction, commands_info, commands_cluster,
  commands_sentinel
};

void commands_new(sim_server *s)
{
  for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
    for (const command *c = groups[i]; c->name != NULL; c++) {
      command_entry *e = sim_zalloc(sizeof(*e));

      e->command = c;
      HASH_ADD_KEYPTR(hh, s->commands, c->name, strlen(c->name), e);
    }
}

void commands_free(sim_server *s)
{
  command_entry *e = s->commands, *next;

  HASH_CLEAR(hh, s->commands);
  for (; e != NULL; e = next) {
    next = e->hh.next;
    sim_free(e);
  }
}

static size_t add_lower(char *to, size_t used, slice name)
{
  for (size_t i = 0; i < name.size && used < NAME_MAX_SIZE; i++, used++) {
    char c = name.bytes[i];

    to[used] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
  return used;
}

static const command *find(const sim_server *s, const char *name, size_t size)
{
  const command_entry *e;

  HASH_FIND(hh, s->commands, name, size, e);
  return e == NULL ? NULL : e->command;
}

const command *command_find(const sim_server *s, slice name)
{
  char lower[NAME_MAX_SIZE];
  size_t used = add_lower(lower, 0, name);

  return name.size >= NAME_MAX_SIZE || memchr(lower, '|', used) != NULL
    ? NULL : find(s, lower, used);
}

const command *command_find_part(const sim_server *s, const command *parent, slice name)
{
  char lower[NAME_MAX_SIZE];
  size_t used = add_lower(lower, 0, slice_of(parent->name));

  used = add_lower(lower, used, SLICE("|"));
  used = add_lower(lower, used, name);
  return used >= NAME_MAX_SIZE ? NULL : find(s, lower, used);
}

bool command_count_is_good(const command *cmd, size_t count)
{
  return cmd->arity >= 0 ? count == (size_t)cmd->arity : count >= (size_t)-cmd->arity;
}
