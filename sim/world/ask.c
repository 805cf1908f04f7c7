/* SPDX-License-Identifier: MIT */
/* Asking the server behind everybody's back: words in, text out. */
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"

#define WORDS_MAX 64

/* ---- words: parted by blanks; with quotes around, they may have blanks ---- */

static bool word_take(const char **at, resp_argument *ret_word)
{
  const char *from = *at + strspn(*at, " "), *end;

  if (*from == 0)
    return false;
  if (*from == '"' || *from == '\'') {
    end = strchr(from + 1, *from);
    if (end != NULL) {
      *ret_word = (resp_argument){ from + 1, (size_t)(end - from) - 1 };
      *at = end + 1;
      return true;
    }
  }
  end = from + strcspn(from, " ");
  *ret_word = (resp_argument){ from, (size_t)(end - from) };
  *at = end;
  return true;
}

/* ---- the answer: a line for each value ---- */

static const char *show(const char *at, const char *end, char **out)
{
  const char *line = memchr(at, '\n', (size_t)(end - at));
  long long number = strtoll(at + 1, NULL, 10);

  if (line == NULL)
    return end;
  line++;
  switch (*at) {
  case '$':
    if (number < 0)
      return line;
    memcpy(*out, line, (size_t)number);
    *out += number;
    *(*out)++ = '\n';
    return line + number + 2;
  case '*':
    for (; number > 0; number--)
      line = show(line, end, out);
    return line;
  default:
    memcpy(*out, at + 1, (size_t)(line - at) - 3);
    *out += line - at - 3;
    *(*out)++ = '\n';
    return line;
  }
}

const char *dibs_sim_server_at(dibs_sim *sim, int server, const char *command)
{
  host *h = host_number(sim, server);
  resp_argument words[WORDS_MAX];
  size_t count = 0, size;
  const char *reply;
  buffer bytes;
  char *out;

  if (h == NULL)
    return "";
  while (count < WORDS_MAX && word_take(&command, &words[count]))
    count++;
  buffer_init(&bytes, sim_memory());
  if (!resp_command(&bytes, words, count))
    abort();
  host_clock(h);
  reply = sim_server_ask(h->server, buffer_bytes(&bytes), buffer_size(&bytes), &size);
  free(sim->answer);
  out = sim->answer = sim_zalloc(size + 2);
  (void)show(reply, reply + size, &out);
  if (out > sim->answer)
    out[-1] = 0;
  buffer_deinit(&bytes);
  host_flush(h);
  return sim->answer;
}

const char *world_command(dibs_sim *sim, const void *command, size_t size, size_t *ret_size)
{
  return world_command_at(sim, world_host(sim), command, size, ret_size);
}

const char *world_command_at(dibs_sim *sim, host *h, const void *command, size_t size,
                             size_t *ret_size)
{
  sim_connection *c;
  const char *reply;

  if (host_is_down(h) || host_is_paused(h))
    return NULL;
  host_clock(h);
  sim_server_tick(h->server);
  c = sim_server_accept(h->server);
  sim_server_receive(h->server, c, command, size);
  reply = sim_connection_output(c, ret_size);
  free(sim->answer);
  sim->answer = sim_zalloc(*ret_size + 1);
  memcpy(sim->answer, reply, *ret_size);
  sim_server_hang_up(h->server, c);
  host_flush(h);
  return sim->answer;
}

const char *dibs_sim_server(dibs_sim *sim, const char *command)
{
  return dibs_sim_server_at(sim, 1, command);
}
