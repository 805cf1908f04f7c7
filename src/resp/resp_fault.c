/* SPDX-License-Identifier: MIT */
/* resp/resp_fault.c - classifies error replies.
 *
 * The first word of an error is its kind. Servers wrap an error inside a script:
 *
 *   6.x  ERR Error running script (call to f_<sha>): @user_script:12: WRONGTYPE Operation...
 *        ERR Error running script (call to f_<sha>): @user_script:12: -OOM command not...
 *   7.x  WRONGTYPE Operation ... script: <sha>, on @user_script:12.
 *        ERR ACL failure in script: User ... script: <sha>, on @user_script:12.
 *        ERR Error running script ... script: <sha>, on @user_script:12. */
#include "resp/resp.h"

#include <string.h>

typedef struct meaning { const char *word; resp_fault fault; } meaning;

static const meaning meanings[] = {
  { "NOSCRIPT", RESP_FAULT_NO_SCRIPT },
  { "LOADING", RESP_FAULT_LATER },
  { "BUSY", RESP_FAULT_LATER },
  { "TRYAGAIN", RESP_FAULT_LATER },
  { "MASTERDOWN", RESP_FAULT_NO_PRIMARY },
  { "CLUSTERDOWN", RESP_FAULT_NO_SLOT },
  { "MOVED", RESP_FAULT_MOVED },
  { "ASK", RESP_FAULT_ASK },
  { "READONLY", RESP_FAULT_READ_ONLY },
  { "MISCONF", RESP_FAULT_REFUSED },
  { "OOM", RESP_FAULT_REFUSED },
  { "NOREPLICAS", RESP_FAULT_NO_REPLICAS },
  { "NOAUTH", RESP_FAULT_AUTH },
  { "WRONGPASS", RESP_FAULT_AUTH },
  { "NOPERM", RESP_FAULT_DENIED },
  { "DENIED", RESP_FAULT_DENIED },     /* protected mode */
  { "WRONGTYPE", RESP_FAULT_WRONG_TYPE },
  { "LATE", RESP_FAULT_LATE },
};

/* Errors without a word of their own, found by a part of their text. */
static const meaning phrases[] = {
  { "invalid password", RESP_FAULT_AUTH },
  { "Function not found", RESP_FAULT_NO_FUNCTION },
  { "max number of clients", RESP_FAULT_LATER },   /* "... + cluster connections reached", too */
  { "The user executing the script can't ", RESP_FAULT_DENIED },
  /* cluster-allow-reads-when-down: a script gets to its first write, which has no CLUSTERDOWN. */
  { "while the cluster is down", RESP_FAULT_NO_SLOT },
};

bool resp_error_has(const char *bytes, size_t size, const char *phrase)
{
  size_t length = strlen(phrase);

  for (size_t i = 0; length <= size && i <= size - length; i++)
    if (memcmp(bytes + i, phrase, length) == 0)
      return true;
  return false;
}

static bool is_unknown_command(const char *bytes, size_t size)
{
  static const char words[] = "ERR unknown command";

  return size >= sizeof(words) - 1 && memcmp(bytes, words, sizeof(words) - 1) == 0;
}

static resp_fault fault_of_word(const char *bytes, size_t size)
{
  /* Redis before 7 keeps the minus sign of an inner error. */
  if (size > 0 && bytes[0] == '-') {
    bytes++;
    size--;
  }
  for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
    if (strlen(meanings[i].word) == size && memcmp(meanings[i].word, bytes, size) == 0)
      return meanings[i].fault;
  return RESP_FAULT_OTHER;
}

static size_t word_size(const char *bytes, size_t size)
{
  size_t used = 0;

  while (used < size && bytes[used] != ' ')
    used++;
  return used;
}

/* The first word of the text that is a kind of error. */
static resp_fault fault_inside(const char *bytes, size_t size)
{
  size_t at = 0;

  while (at < size) {
    size_t word = word_size(bytes + at, size - at);
    resp_fault fault = fault_of_word(bytes + at, word);
    if (fault != RESP_FAULT_OTHER)
      return fault;
    at += word + 1;
  }
  return RESP_FAULT_OTHER;
}

bool resp_fault_in_script(const char *bytes, size_t size)
{
  return resp_error_has(bytes, size, "user_script") || resp_error_has(bytes, size, "script:") ||
         resp_error_has(bytes, size, "The user executing the script can't ");
}

resp_fault resp_fault_of(const char *bytes, size_t size)
{
  resp_fault fault = fault_of_word(bytes, word_size(bytes, size));

  if (fault != RESP_FAULT_OTHER)
    return fault;
  if (is_unknown_command(bytes, size))
    return RESP_FAULT_NO_COMMAND;
  /* From Redis 7.2 and Valkey 7.2 on, with the name of the user, which may be any word. */
  if (resp_error_has(bytes, size, "ACL failure in script: "))
    return RESP_FAULT_DENIED;
  if (resp_error_has(bytes, size, "user_script") || resp_error_has(bytes, size, "script:"))
    fault = fault_inside(bytes, size);
  for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
    if (fault == RESP_FAULT_OTHER && resp_error_has(bytes, size, phrases[i].word))
      fault = phrases[i].fault;
  return fault;
}

bool resp_late_time(const char *bytes, size_t size, int64_t *ret_us)
{
  size_t word = word_size(bytes, size);
  uint64_t us;

  if (word == size || fault_of_word(bytes, word) != RESP_FAULT_LATE ||
      !text_to_uint(bytes + word + 1, word_size(bytes + word + 1, size - word - 1), &us) ||
      us > INT64_MAX)
    return false;
  *ret_us = (int64_t)us;
  return true;
}

/* The consequence of each class for a call. `passes`: the state ends without an
 * administrator, so a call that may wait asks again; any other class ends the call at once. */
static const struct consequence { dibs_status status; bool passes; } consequences[] = {
  [RESP_FAULT_NO_SCRIPT] = { DIBS_ERR_SERVER, true },
  [RESP_FAULT_NO_COMMAND] = { DIBS_ERR_UNSUPPORTED, false },
  [RESP_FAULT_NO_FUNCTION] = { DIBS_ERR_REFUSED, false },
  [RESP_FAULT_LATER] = { DIBS_ERR_UNREACHABLE, true },
  [RESP_FAULT_NO_PRIMARY] = { DIBS_ERR_UNREACHABLE, true },
  [RESP_FAULT_MOVED] = { DIBS_ERR_CONFIG, false },     /* without a slot map to follow it */
  [RESP_FAULT_ASK] = { DIBS_ERR_CONFIG, false },
  [RESP_FAULT_NO_SLOT] = { DIBS_ERR_UNREACHABLE, true },
  [RESP_FAULT_READ_ONLY] = { DIBS_ERR_READ_ONLY, true },
  [RESP_FAULT_NO_REPLICAS] = { DIBS_ERR_REFUSED, true },
  [RESP_FAULT_REFUSED] = { DIBS_ERR_REFUSED, false },
  [RESP_FAULT_AUTH] = { DIBS_ERR_AUTH, false },
  [RESP_FAULT_DENIED] = { DIBS_ERR_DENIED, false },
  [RESP_FAULT_WRONG_TYPE] = { DIBS_ERR_WRONG_TYPE, false },
  [RESP_FAULT_LATE] = { DIBS_ERR_UNREACHABLE, true },
  [RESP_FAULT_OTHER] = { DIBS_ERR_SERVER, false },
};

dibs_status resp_fault_status(resp_fault fault)
{
  return consequences[fault].status;
}

bool resp_fault_passes(resp_fault fault)
{
  return consequences[fault].passes;
}

/* `ERR unknown command 'EVALSHA', with args beginning with: ...`; the arguments may be anything. */
static bool is_evalsha_unknown(const char *bytes, size_t size)
{
  return is_unknown_command(bytes, size) && resp_error_has(bytes, size < 32 ? size : 32, "EVALSHA");
}

const char *resp_fault_advice(const char *bytes, size_t size)
{
  resp_fault fault = resp_fault_of(bytes, size);

  if (is_evalsha_unknown(bytes, size))
    return "ERR unknown command 'EVALSHA': it was renamed or removed on this server; use "
           "functions=yes, and load what `dibs acl --functions` prints";
  if (fault == RESP_FAULT_NO_FUNCTION)
    return "the server lacks the functions of this version: load what "
           "`dibs acl --functions` prints";
  if (fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK)
    return "this server is a node of a Cluster: begin the URL with redis+cluster://";
  return NULL;
}

const char *resp_fault_remedy(const char *bytes, size_t size)
{
  switch (resp_fault_of(bytes, size)) {
  case RESP_FAULT_AUTH:
    return " (check user and password: in the URL, DIBS_PASSWORD or the config file)";
  case RESP_FAULT_DENIED:                /* that of protected mode says what to do */
    return resp_error_has(bytes, size, "protected mode")
             ? "" : " (`dibs acl` prints the rights that a user needs; options add "
                    "those for latches, limiters, data)";
  case RESP_FAULT_REFUSED:
    return resp_error_has(bytes, size, "OOM ") ? " (raise maxmemory, or remove keys)" : "";
  default:
    return "";
  }
}

void resp_fault_add(const char *bytes, size_t size, text *out)
{
  const char *advice = resp_fault_advice(bytes, size);

  if (advice != NULL) {
    text_add(out, advice);
    return;
  }
  for (size_t i = 0; i < size; i++)
    text_add_bytes(out, bytes[i] >= ' ' && bytes[i] <= '~' ? &bytes[i] : "?", 1);
  text_add(out, resp_fault_remedy(bytes, size));
}
