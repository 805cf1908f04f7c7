/* SPDX-License-Identifier: MIT */
/* admin/acl.c - the ACL SETUSER line with the rights that clients need. */
#include <dibs/acl.h>

#include <stdbool.h>
#include <string.h>

#include "api/settings.h"
#include "base/base.h"
#include "base/record_size.h"
#include "dialect/dialect.h"
#include "script/script.h"
#include "tls/digest.h"
#include "topo/topo.h"

#define USES_KNOWN 0x3ffu

/* Uses beyond those of DIBS_ACL_*: patterns that were given. */
#define LATCHES 0x10000u
#define GUARDED 0x20000u
#define LIMITERS 0x40000u
#define DATA 0x80000u
#define FOREIGN 0x100000u        /* locks of another dialect than native */

/* Commands by the feature that needs them, in the order of the line; left out with a feature
 * of `unless`. */
typedef struct acl_part {
  uint32_t with, unless;         /* with 0: always */
  const char *commands;          /* NULL: those of the dialect */
} acl_part;

static const acl_part acl_parts[] = {
  { 0, DIBS_ACL_FUNCTIONS, "+evalsha +eval" },
  { DIBS_ACL_FUNCTIONS, 0, "+fcall" },
  { 0, 0, "+time +set +mget +del +exists +pexpire +persist +pttl +hset +hget +hmget +hgetall"
          " +hdel +hlen +hscan" },
  { 0, DIBS_ACL_POLL, "+publish +pubsub|numsub" },
  { 0, 0, "+zadd +zrange +zrem +zremrangebyscore +xadd +xrevrange" },
  { 0, 0, "+ping +auth +select +client|setname" },
  { 0, DIBS_ACL_POLL, "+subscribe +unsubscribe" },
  { 0, 0, "+scan +info" },
  { DIBS_ACL_QUARANTINE | LATCHES | GUARDED | LIMITERS | FOREIGN, 0, "+get" },
  { LATCHES, 0, "+decrby" },
  { LATCHES | DATA, 0, "+hexists" },
  { GUARDED, 0, "+incrby +type" },
  { LIMITERS, 0, "+zadd +zcount +zrangebyscore +zrem +zremrangebyscore +zscore" },
  { DATA, 0, "+hsetnx +rpush +lpush +lindex +lset +linsert +lrem +llen +lpop +rpop +sadd +srem"
             " +sismember +scard +sscan +srandmember +unlink" },
  { FOREIGN, 0, NULL },
  { DIBS_ACL_ROLES, 0, "+role" },
  { DIBS_ACL_CLUSTER, 0, "+cluster|slots +asking" },
  { DIBS_ACL_CLUSTER, DIBS_ACL_BEFORE_7, "+cluster|shards" },
  { DIBS_ACL_CLUSTER, DIBS_ACL_BEFORE_7 | DIBS_ACL_POLL,
    "+spublish +pubsub|shardnumsub +ssubscribe +sunsubscribe" },
  { DIBS_ACL_REPLICAS | DIBS_ACL_FSYNC, 0, "+wait" },
  { DIBS_ACL_FSYNC, 0, "+waitaof" },
  { DIBS_ACL_DOCTOR, 0, "+config|get +acl|whoami +acl|dryrun +role +cluster|info" },
};

/* What has no prefix needs a pattern of its names; in the order of the line. Templates are as
 * those of dialect_rights. */
typedef struct acl_pattern {
  uint32_t use;
  const char *subject, *keys, *channels;     /* keys NULL: those of the dialect */
} acl_pattern;

static const acl_pattern acl_patterns[] = {
  { LATCHES, "latches", "~%n", "&redisson_countdownlatch__channel__{%n}" },
  { GUARDED, "guarded keys", "~%n", "" },
  { DATA, "maps, lists and sets", "~%n", "" },
  { FOREIGN, "locks", NULL, NULL },
  { LIMITERS, "rate limiters", "~%n ~%t:value* ~%t:permits*", "" },
};

enum { PATTERNS = sizeof(acl_patterns) / sizeof(acl_patterns[0]) };

typedef struct acl_wish {
  uint32_t uses;
  const char *user, *password, *prefix, *registry;
  const char *globs[PATTERNS];   /* of acl_patterns[]; NULL: not given */
  const dialect_ops *dialect;    /* of FOREIGN */
} acl_wish;

/* ---- parts of the line ---- */

/* The line is split at blanks, and redis-cli interprets quotes. */
static bool is_word(const char *words)
{
  if (*words == 0)
    return false;
  for (; *words != 0; words++)
    if ((unsigned char)*words <= ' ' || *words == 0x7f || *words == '"' || *words == '\'')
      return false;
  return true;
}

/* Escapes characters of the prefix that have a meaning in a pattern. */
static void add_plain(text *out, const char *words)
{
  for (; *words != 0; words++) {
    if (strchr("*?[]\\^", *words) != NULL)
      text_add(out, "\\");
    text_add_bytes(out, words, 1);
  }
}

/* Adds a blank and `template`, filled in; `glob` is the pattern of names, "" where it has none. */
static void add_template(text *out, const char *template, const acl_wish *w, const char *glob)
{
  bool has_brace = strchr(glob, '{') != NULL;
  size_t size;

  for (text_add(out, *template != 0 ? " " : ""); *template != 0; template += size) {
    size = *template == '%' ? 2 : strcspn(template, "%");
    if (*template != '%') {
      text_add_bytes(out, template, size);
    } else if (template[1] == 'p' || template[1] == 'r') {
      add_plain(out, template[1] == 'p' ? w->prefix : w->registry);
    } else {
      bool adds_braces = template[1] == 't' && !has_brace;

      text_add(out, adds_braces ? "{" : "");
      text_add(out, glob);
      text_add(out, adds_braces ? "}" : "");
    }
  }
}

/* Adds the commands that the line does not have after byte `start`. */
static void add_new(text *out, size_t start, const char *commands)
{
  while (*commands != 0) {
    size_t size = strcspn(commands, " ");
    const char *at = out->at + start;

    while ((at = memmem(at, strlen(at), commands, size)) != NULL && at[size] != ' ' &&
           at[size] != 0)
      at += size;
    if (at == NULL) {
      text_add(out, " ");
      text_add_bytes(out, commands, size);
    }
    commands += size + strspn(commands + size, " ");
  }
}

static bool add_digest(text *out, const char *password, text *why)
{
  char digits[SHA256_TEXT_SIZE];

  if (!sha256_write(password, strlen(password), digits, why))
    return false;
  text_add(out, "#");
  text_add(out, digits);
  return true;
}

/* ---- the line ---- */

static const char *keys_of(const acl_wish *w, size_t pattern)
{
  const char *keys = acl_patterns[pattern].keys;

  return keys != NULL ? keys : w->dialect->rights.keys;
}

/* After a pattern for all keys, ACL SETUSER refuses other patterns. */
static bool has_all_keys(const acl_wish *w)
{
  for (size_t i = 0; i < PATTERNS; i++)
    if (w->globs[i] != NULL && strcmp(w->globs[i], "*") == 0 &&
        strncmp(keys_of(w, i), "~%n", 3) == 0)
      return true;
  return false;
}

static void add_keys(text *out, const acl_wish *w)
{
  add_template(out, native_dialect.rights.keys, w, "");
  if (has_all_keys(w)) {
    text_add(out, " ~*");
    return;
  }
  for (size_t i = 0; i < PATTERNS; i++)
    if (w->globs[i] != NULL)
      add_template(out, keys_of(w, i), w, w->globs[i]);
}

static void add_channels(text *out, const acl_wish *w)
{
  text_add(out, " resetchannels");
  if ((w->uses & DIBS_ACL_POLL) != 0)
    return;
  add_template(out, native_dialect.rights.channels, w, "");
  for (size_t i = 0; i < PATTERNS; i++) {
    const char *channels = acl_patterns[i].channels;

    if (w->globs[i] != NULL)
      add_template(out, channels != NULL ? channels : w->dialect->rights.channels, w,
                   w->globs[i]);
  }
}

static void add_commands(text *out, const acl_wish *w)
{
  size_t start = out->used;

  text_add(out, " -@all");
  for (size_t i = 0; i < sizeof(acl_parts) / sizeof(acl_parts[0]); i++) {
    const acl_part *p = &acl_parts[i];

    if ((p->with == 0 || (p->with & w->uses) != 0) && (p->unless & w->uses) == 0)
      add_new(out, start, p->commands != NULL ? p->commands : w->dialect->rights.commands);
  }
}

#define SENTINEL_RIGHTS " resetkeys resetchannels &+switch-master -@all +ping +auth " \
  "+client|setname +sentinel|get-master-addr-by-name +sentinel|master +sentinel|sentinels " \
  "+subscribe +unsubscribe"

static bool line_write(const acl_wish *w, text *out, text *why)
{
  text_format(out, "ACL SETUSER %s on ", w->user);
  if (w->password == NULL)
    text_add(out, ">PASSWORD");
  else if (!add_digest(out, w->password, why))
    return false;
  if ((w->uses & DIBS_ACL_SENTINEL) != 0) {
    text_add(out, SENTINEL_RIGHTS);
    return true;
  }
  text_add(out, " resetkeys");
  add_keys(out, w);
  add_channels(out, w);
  add_commands(out, w);
  return true;
}

/* ---- checks ---- */

static dibs_status refuse(dibs_error *error, dibs_status status, const char *words)
{
  text shown;

  if (error == NULL)
    return status;
  error->status = status;
  error->node[0] = 0;
  shown = text_over(error->text, sizeof(error->text));
  text_add(&shown, words);
  return status;
}

/* Adds what is wrong with the patterns; false: nothing. */
static bool add_pattern_fault(text *out, const acl_wish *w)
{
  for (size_t i = 0; i < PATTERNS; i++)
    if (w->globs[i] != NULL && !is_word(w->globs[i])) {
      text_format(out, "the pattern of %s is empty, or has a blank or quote in it",
                  acl_patterns[i].subject);
      return true;
    }
  if ((w->uses & FOREIGN) == 0)
    return false;
  if (w->dialect == &native_dialect) {
    text_add(out, "names of native locks need no pattern: the prefix is enough; name a dialect");
    return true;
  }
  if (!w->dialect->has_registry || (w->registry != NULL && is_word(w->registry)))
    return false;
  text_format(out, "the dialect %s needs a registry, a word without blanks and quotes",
              w->dialect->traits.name);
  return true;
}

static void add_fault(text *out, const acl_wish *w)
{
  const char *fault = native_prefix_fault(w->prefix);

  if (fault != NULL)
    text_add(out, fault);
  else if (!is_word(w->prefix))
    text_add(out, "the prefix has a quote in it, which the line cannot hold");
  else if (!is_word(w->user))
    text_add(out, "the user's name is empty, or has a blank or quote in it");
  else if (!add_pattern_fault(out, w) && (w->uses & DIBS_ACL_FUNCTIONS) != 0 &&
           (w->uses & DIBS_ACL_BEFORE_7) != 0)
    text_add(out, "servers before 7.0 have no functions");
}

static uint32_t uses_of_url(const deployment *d)
{
  uint32_t uses = 0;

  if (d->kind == DEPLOYMENT_REPLICATED || d->kind == DEPLOYMENT_SENTINEL)
    uses |= DIBS_ACL_ROLES;
  if (d->kind == DEPLOYMENT_CLUSTER)
    uses |= DIBS_ACL_CLUSTER;
  if (d->data.functions == CHOICE_YES)
    uses |= DIBS_ACL_FUNCTIONS;
  if (d->data.pubsub == CHOICE_NO)
    uses |= DIBS_ACL_POLL;
  if (d->data.quarantine_ms > 0)
    uses |= DIBS_ACL_QUARANTINE;
  return uses;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
  return a != NULL ? a : b != NULL ? b : c;
}

static dibs_status wish_write(const acl_wish *w, char *ret_text, size_t text_size,
                              dibs_error *error)
{
  char line[DIBS_ACL_LINE_SIZE];
  text out = text_over(line, sizeof(line));
  char words[256];
  text fault = text_over(words, sizeof(words));

  add_fault(&fault, w);
  if (fault.used > 0)
    return refuse(error, DIBS_ERR_ARGUMENT, words);
  if (!line_write(w, &out, &fault))
    return refuse(error, DIBS_ERR_SYSTEM, words);
  if (out.used + 1 >= sizeof(line) || out.used >= text_size)
    return refuse(error, DIBS_ERR_ARGUMENT, "text_size is too small, or a word too long");
  memcpy(ret_text, line, out.used + 1);
  return DIBS_OK;
}

/* A caller with a smaller struct does not have the later fields. */
static acl_wish wish_of(const dibs_acl_options *given, unsigned *ret_dialect)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  acl_wish w;

  if (given != NULL)
    memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
  w = (acl_wish){ .uses = o.uses, .user = o.user, .password = o.password, .prefix = o.prefix,
                  .registry = o.registry,
                  .globs = { o.latches, o.guarded, o.data, o.locks, o.limiters } };
  *ret_dialect = (unsigned)o.dialect;
  return w;
}

dibs_status dibs_acl_line(const char *url, const dibs_acl_options *options, char *ret_text,
                          size_t text_size, dibs_error *error)
{
  memory m = memory_of(NULL);
  deployment d;
  char words[256];
  text why = text_over(words, sizeof(words));
  acl_wish w;
  unsigned dialect;
  const char *of_url;
  dibs_status status = DIBS_OK;

  if (!error_has_room(error))
    return DIBS_ERR_ARGUMENT;
  if (ret_text == NULL || (options != NULL && !record_size_is_whole(options->size)))
    return refuse(error, DIBS_ERR_ARGUMENT, "ret_text is NULL, or options.size not set");
  w = wish_of(options, &dialect);
  if ((w.uses & ~USES_KNOWN) != 0)
    return refuse(error, DIBS_ERR_ARGUMENT, "a bit in `uses` that this version does not know");
  if (url != NULL) {
    status = deployment_parse(&m, url, &d, &why);
    if (status != DIBS_OK)
      return refuse(error, status, words);
    w.uses |= uses_of_url(&d);
    dialect = dialect != 0 ? dialect : (unsigned)d.data.dialect;
    w.registry = first_of(w.registry, d.data.registry, NULL);
  }
  if (url != NULL && (w.uses & DIBS_ACL_SENTINEL) != 0 && d.kind == DEPLOYMENT_SENTINEL)
    of_url = d.seeds[0].user;            /* sentinels have their own users */
  else
    of_url = url != NULL ? d.data.user : NULL;
  w.user = first_of(w.user, of_url, "worker");
  w.prefix = first_of(w.prefix, url != NULL ? d.data.prefix : NULL, "dibs");
  w.dialect = dialect_of_number(dialect);
  for (size_t i = 0; i < PATTERNS; i++)
    w.uses |= w.globs[i] != NULL ? acl_patterns[i].use : 0;
  status = wish_write(&w, ret_text, text_size, error);
  if (url != NULL)
    deployment_deinit(&d);
  return status;
}

const char *dibs_function_library(void)
{
  return script_library_text;
}
