/* SPDX-License-Identifier: MIT */
/* test/lib/peer_words.c - how a command reads in a story, and how an answer is written. */
#include "peer_parts.h"

#include "script/script.h"

const resp_node *peer_word(const resp_reply *r, size_t i)
{
  return resp_child(r, resp_root(r), i);
}

bool peer_is_word(const resp_reply *r, size_t i, const char *expected)
{
  const resp_node *n = peer_word(r, i);

  return n != NULL && n->size == strlen(expected) && memcmp(n->bytes, expected, n->size) == 0;
}

static const char *script_word(const resp_reply *r)
{
  for (size_t i = 0; i < script_count; i++) {
    const script *s = script_table[i];

    if (peer_is_word(r, 1, s->sha1) || peer_is_word(r, 1, s->bytes))
      return strchr(s->name, '/') + 1;
  }
  return "?";
}

static const char *argument(const resp_reply *r, size_t i)
{
  size_t keys = (size_t)strtoul(peer_word(r, 2)->bytes, NULL, 10);
  const resp_node *n = peer_word(r, 3 + keys + i);

  return n != NULL ? n->bytes : NULL;
}

static bool is_an_hour_ahead(const char *token)
{
  return strtoull(token, NULL, 10) > PEER_START_US + 3600000000u;
}

/* "acquire KEY K w", then "doubt" when the clock is not to be used, "watched" when it claims
 * to have watched the holder for a whole lease, and "far" when its floor is an hour ahead. */
static void describe_acquire(const resp_reply *r, char *line, size_t size)
{
  char floor[32], expected[32], mode[32], watched[128];
  unsigned long long ask;

  assert_int_equal(sscanf(argument(r, 0), "=%*[^:]:%llu:", &ask), 1);
  assert_int_equal(sscanf(argument(r, 1), "%*s %*s %31s %31s %31s %*s %127s", floor, expected,
                          mode, watched), 4);
  snprintf(line, size, " %s %llu %c%s%s%s", peer_word(r, 3)->bytes, ask, mode[0],
           strcmp(expected, "0") == 0 ? " doubt" : "",
           strcmp(watched, "-") != 0 ? " watched" : "",
           is_an_hour_ahead(floor) ? " far" : "");
}

/* "share_acquire KEY K r w", "share_acquire KEY K p2 t", then as acquire. */
static void describe_share_acquire(const resp_reply *r, char *line, size_t size)
{
  char mode = *argument(r, 7), watched[128];
  long long give_up;

  assert_int_equal(sscanf(argument(r, 7), "%*s %lld %127s", &give_up, watched), 2);
  snprintf(line, size, " %s %s %s %c%s", peer_word(r, 3)->bytes, argument(r, 1), argument(r, 6),
           mode, strcmp(watched, "-") != 0 ? " watched" : "");
}

/* "share_release C:K:T", then "tombstone" when it is to leave one. */
static void describe_share_release(const resp_reply *r, char *line, size_t size)
{
  snprintf(line, size, " %s:%s%s", argument(r, 0), argument(r, 1),
           strcmp(argument(r, 4), "0") != 0 ? " tombstone" : "");
}

/* "share_renew L", of each: then its mode when that is not what it was asked for: "still"
 * when it is not lengthened. */
static void describe_share_renew(const resp_reply *r, char *line, size_t size)
{
  size_t keys = (size_t)strtoul(peer_word(r, 2)->bytes, NULL, 10);

  for (size_t i = 0; i < keys; i++) {
    long long ttl;
    char mode;
    int used;

    assert_int_equal(sscanf(argument(r, 2 * i + 1), "%lld %c", &ttl, &mode), 2);
    used = snprintf(line, size, " %s %c%s", argument(r, 2 * i), mode, ttl == 0 ? " still" : "");
    line += used;
    size -= (size_t)used;
  }
}

/* "many_acquire C.n K w", then "keeps" and "watched". */
static void describe_many_acquire(const resp_reply *r, char *line, size_t size)
{
  char mode = *argument(r, 6), keeps, watched[128];
  long long give_up;

  assert_int_equal(sscanf(argument(r, 6), "%*s %c %lld %127s", &keeps, &give_up, watched), 3);
  snprintf(line, size, " %s %s %c%s%s", strrchr(argument(r, 0), '.'), argument(r, 1), mode,
           keeps == '1' ? " keeps" : "", strcmp(watched, "-") != 0 ? " watched" : "");
}

/* A plain command: its words. */
static void describe_plain(const resp_reply *r, char *line, size_t size)
{
  const resp_node *n;

  for (size_t i = 0; (n = peer_word(r, i)) != NULL; i++) {
    int used = snprintf(line, size, "%s%s", i > 0 ? " " : "", n->bytes);

    line += used;
    size -= (size_t)used;
  }
}

void peer_describe(const resp_reply *r, char *line, size_t size)
{
  const char *verb = script_word(r);
  int used;

  if (peer_is_word(r, 0, "SET") || peer_is_word(r, 0, "AUTH") || peer_is_word(r, 0, "EXISTS")) {
    describe_plain(r, line, size);
    return;
  }
  used = snprintf(line, size, "%s%s", peer_is_word(r, 0, "EVAL") ? "text:" : "", verb);

  line += used;
  size -= (size_t)used;
  if (strcmp(verb, "acquire") == 0)
    describe_acquire(r, line, size);
  else if (strcmp(verb, "cancel") == 0)
    snprintf(line, size, " %s", argument(r, 1));
  else if (strcmp(verb, "release") == 0)
    snprintf(line, size, " %s", argument(r, 0));
  else if (strcmp(verb, "share_acquire") == 0)
    describe_share_acquire(r, line, size);
  else if (strcmp(verb, "share_release") == 0)
    describe_share_release(r, line, size);
  else if (strcmp(verb, "share_cancel") == 0 || strcmp(verb, "many_release") == 0)
    snprintf(line, size, " %s", argument(r, 0));
  else if (strcmp(verb, "share_renew") == 0)
    describe_share_renew(r, line, size);
  else if (strcmp(verb, "many_acquire") == 0)
    describe_many_acquire(r, line, size);
  else if (strcmp(verb, "many_cancel") == 0)
    snprintf(line, size, " %s %s", strrchr(argument(r, 0), '.'), argument(r, 1));
  else
    for (size_t i = 0; argument(r, i) != NULL; i++)
      if (strchr(argument(r, i), ':') != NULL) {
        used = snprintf(line, size, " %s", argument(r, i));
        line += used;
        size -= (size_t)used;
      }
}

int64_t peer_renewal_of(const resp_reply *r)
{
  const char *verb = script_word(r);

  return strcmp(verb, "renew") == 0 || strcmp(verb, "share_renew") == 0
           ? strtoll(argument(r, 1), NULL, 10) : -1;
}

static size_t encode_array(const char **words, char *out, size_t size)
{
  char body[4096] = "";
  size_t used = 0;
  int count = 0;

  (*words)++;
  while (**words != ']' && **words != '\0') {
    char item[1024];
    size_t n = 0;

    while (**words == ' ')
      (*words)++;
    while (**words != ' ' && **words != ']' && **words != '\0')
      item[n++] = *(*words)++;
    item[n] = '\0';
    if (n > 0) {
      used += peer_encode(item, body + used, sizeof(body) - used);
      count++;
    }
  }
  return (size_t)snprintf(out, size, "*%d\r\n%s", count, body);
}

size_t peer_encode(const char *words, char *out, size_t size)
{
  if (words[0] == '[')
    return encode_array(&words, out, size);
  if (words[0] == '\'')
    return (size_t)snprintf(out, size, "$%zu\r\n%s\r\n", strlen(words + 1), words + 1);
  if (words[0] == '+')
    return (size_t)snprintf(out, size, "%s\r\n", words);
  if (strcmp(words, "nothing") == 0)
    return (size_t)snprintf(out, size, "$-1\r\n");
  if (words[0] == '-' && (words[1] < '0' || words[1] > '9'))
    return (size_t)snprintf(out, size, "%s\r\n", words);
  return (size_t)snprintf(out, size, ":%s\r\n", words);
}
