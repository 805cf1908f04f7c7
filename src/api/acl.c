/* SPDX-License-Identifier: MIT */
/* api/acl.c - the rights that clients need, as the line an administrator sends. */
#include <dibs/acl.h>

#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>

#include "api/settings.h"
#include "base/base.h"
#include "dialect/native.h"
#include "script/script.h"
#include "topo/topo.h"

#define USES_KNOWN 0x3ffu

/* Commands by what needs them, in the order of the line. `unless` takes them away again. */
typedef struct acl_part {
  uint32_t with, unless;         /* with 0: always */
  const char *commands;
} acl_part;

#define LATCHES 0x10000u
#define GUARDED 0x20000u
#define LIMITERS 0x40000u
#define DATA 0x80000u
#define OF_REDISSON 0x100000u
#define OF_SPRING 0x200000u
#define OF_PLAIN 0x400000u

static const acl_part acl_parts[] = {
  { 0, DIBS_ACL_FUNCTIONS, "+evalsha +eval" },
  { DIBS_ACL_FUNCTIONS, 0, "+fcall" },
  { 0, 0, "+time +set +mget +del +exists +pexpire +persist +pttl +hset +hget +hmget +hgetall"
          " +hdel +hlen +hscan" },
  { 0, DIBS_ACL_POLL, "+publish +pubsub|numsub" },
  { 0, 0, "+ping +auth +select +client|setname" },
  { 0, DIBS_ACL_POLL, "+subscribe +unsubscribe" },
  { 0, 0, "+scan +info" },
  { DIBS_ACL_QUARANTINE | LATCHES | GUARDED | LIMITERS | OF_REDISSON | OF_SPRING | OF_PLAIN, 0,
    "+get" },
  { LATCHES, 0, "+decrby" },
  { LATCHES | DATA, 0, "+hexists" },
  { GUARDED, 0, "+incrby +type" },
  { LIMITERS, 0, "+zadd +zcount +zrangebyscore +zrem +zremrangebyscore +zscore" },
  { DATA, 0, "+hsetnx +rpush +lpush +lindex +lset +linsert +lrem +llen +lpop +rpop +sadd +srem"
             " +sismember +scard +sscan +srandmember +unlink" },
  { OF_REDISSON, LATCHES, "+decrby" },
  { OF_REDISSON, LATCHES | DATA, "+hexists" },
  { OF_REDISSON, GUARDED, "+incrby +type" },
  { OF_REDISSON, LIMITERS, "+zadd +zcount +zrangebyscore +zrem +zremrangebyscore +zscore" },
  { OF_REDISSON, DATA, "+lindex +lpop +rpush +lrem +llen" },
  { OF_REDISSON, 0, "+incr +hincrby +lrange +zcard +zincrby +zrange" },
  { OF_SPRING, DATA, "+unlink" },
  { DIBS_ACL_ROLES, 0, "+role" },
  { DIBS_ACL_CLUSTER, 0, "+cluster|slots +asking" },
  { DIBS_ACL_CLUSTER, DIBS_ACL_BEFORE_7, "+cluster|shards" },
  { DIBS_ACL_CLUSTER, DIBS_ACL_BEFORE_7 | DIBS_ACL_POLL,
    "+spublish +pubsub|shardnumsub +ssubscribe +sunsubscribe" },
  { DIBS_ACL_REPLICAS | DIBS_ACL_FSYNC, 0, "+wait" },
  { DIBS_ACL_FSYNC, 0, "+waitaof" },
  { DIBS_ACL_DOCTOR, 0, "+config|get +acl|whoami +acl|dryrun" },
  { DIBS_ACL_DOCTOR, DIBS_ACL_ROLES, "+role" },
  { DIBS_ACL_DOCTOR, DIBS_ACL_CLUSTER, "+cluster|info" },
};

static bool part_is_needed(const acl_part *p, uint32_t uses)
{
  return (p->with == 0 || (p->with & uses) != 0) && (p->unless & uses) == 0;
}

/* ---- words ---- */

/* A line is parted at blanks; quotes would be read by redis-cli. */
static bool is_word(const char *words)
{
  if (*words == 0)
    return false;
  for (; *words != 0; words++)
    if ((unsigned char)*words <= ' ' || *words == 0x7f || *words == '"' || *words == '\'')
      return false;
  return true;
}

/* A prefix is no pattern: what has a meaning in one is escaped. */
static void add_plain(text *out, const char *words)
{
  for (; *words != 0; words++) {
    if (strchr("*?[]\\^", *words) != NULL)
      text_add(out, "\\");
    text_add_bytes(out, words, 1);
  }
}

static void add_pattern(text *out, char sign, const char *prefix, const char *rest)
{
  text_add(out, " ");
  text_add_bytes(out, &sign, 1);
  add_plain(out, prefix);
  text_add(out, rest);
}

static bool add_digest(text *out, const char *password)
{
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;

  if (EVP_Digest(password, strlen(password), digest, &size, EVP_sha256(), NULL) != 1)
    return false;
  text_add(out, "#");
  for (unsigned int i = 0; i < size; i++) {
    text_add_bytes(out, &digits[digest[i] >> 4], 1);
    text_add_bytes(out, &digits[digest[i] & 15], 1);
  }
  return true;
}

/* ---- the line ---- */

typedef struct acl_wish {
  uint32_t uses;
  const char *user, *password, *prefix, *latches, *guarded, *limiters, *data;
  const char *locks, *registry;
  unsigned dialect;              /* dibs_dialect, as url_dialect; 0: not said */
} acl_wish;

static void add_glob(text *out, const char *glob)
{
  if (glob == NULL)
    return;
  text_add(out, " ~");
  text_add(out, glob);
}

/* The state of a limiter, by Redisson's rule: braces unless the name brings one. */
static void add_limiter_state(text *out, const char *limiters, const char *kind)
{
  bool has_brace = strchr(limiters, '{') != NULL;

  text_add(out, has_brace ? " ~" : " ~{");
  text_add(out, limiters);
  text_add(out, has_brace ? "" : "}");
  text_add(out, kind);
}

/* What Redisson derives of a name: `kind:{N}rest`, braces as above. */
static void add_derived(text *out, const char *sign, const char *kind, const acl_wish *w,
                        const char *rest)
{
  bool has_brace = strchr(w->locks, '{') != NULL;

  text_add(out, sign);
  text_add(out, kind);
  text_add(out, has_brace ? "" : "{");
  text_add(out, w->locks);
  text_add(out, has_brace ? "" : "}");
  text_add(out, rest);
}

static void add_lock_keys(text *out, const acl_wish *w)
{
  if ((w->uses & OF_SPRING) != 0) {
    add_pattern(out, '~', w->registry, ":");
    text_add(out, w->locks);
  } else {
    add_glob(out, w->locks);
  }
  if ((w->uses & OF_REDISSON) == 0)
    return;
  add_derived(out, " ~", "", w, ":*");
  add_derived(out, " ~", "redisson_lock_queue:", w, "");
  add_derived(out, " ~", "redisson_lock_timeout:", w, "");
  add_derived(out, " ~", "redisson_lock_token:", w, "");
}

static void add_lock_channels(text *out, const acl_wish *w)
{
  if ((w->uses & OF_REDISSON) != 0) {
    add_derived(out, " &", "redisson_lock__channel:", w, "*");
    add_derived(out, " &", "redisson_rwlock:", w, "");
    add_derived(out, " &", "redisson_sc:", w, "");
  } else if ((w->uses & OF_SPRING) != 0) {
    add_pattern(out, '&', w->registry, "-channel");
    add_pattern(out, '&', w->registry, "-channel:*");
  }
}

/* Behind a pattern for all keys a server takes no other. */
static bool has_all_keys(const acl_wish *w)
{
  const char *globs[] = { w->latches, w->guarded, w->data, w->limiters,
                          (w->uses & OF_SPRING) == 0 ? w->locks : NULL };

  for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
    if (globs[i] != NULL && strcmp(globs[i], "*") == 0)
      return true;
  return false;
}

static void add_keys(text *out, const acl_wish *w)
{
  add_pattern(out, '~', w->prefix, ":*");
  if (has_all_keys(w)) {
    text_add(out, " ~*");
    return;
  }
  add_glob(out, w->latches);
  add_glob(out, w->guarded);
  add_glob(out, w->data);
  if (w->locks != NULL)
    add_lock_keys(out, w);
  if (w->limiters != NULL) {
    add_glob(out, w->limiters);
    add_limiter_state(out, w->limiters, ":value*");
    add_limiter_state(out, w->limiters, ":permits*");
  }
}

static void add_channels(text *out, const acl_wish *w)
{
  text_add(out, " resetchannels");
  if ((w->uses & DIBS_ACL_POLL) != 0)
    return;
  add_pattern(out, '&', w->prefix, ":inbox:*");
  add_pattern(out, '&', w->prefix, ":barrier:*");
  add_pattern(out, '&', w->prefix, ":elect:*");
  if (w->latches != NULL) {
    text_add(out, " &redisson_countdownlatch__channel__{");
    text_add(out, w->latches);
    text_add(out, "}");
  }
  if (w->locks != NULL)
    add_lock_channels(out, w);
}

static void add_commands(text *out, uint32_t uses)
{
  text_add(out, " -@all");
  for (size_t i = 0; i < sizeof(acl_parts) / sizeof(acl_parts[0]); i++)
    if (part_is_needed(&acl_parts[i], uses)) {
      text_add(out, " ");
      text_add(out, acl_parts[i].commands);
    }
}

#define SENTINEL_RIGHTS " resetkeys resetchannels &+switch-master -@all +ping +auth " \
  "+client|setname +sentinel|get-master-addr-by-name +sentinel|master +sentinel|sentinels " \
  "+subscribe +unsubscribe"

static bool line_write(const acl_wish *w, text *out)
{
  text_add(out, "ACL SETUSER ");
  text_add(out, w->user);
  text_add(out, " on ");
  if (w->password == NULL)
    text_add(out, ">PASSWORD");
  else if (!add_digest(out, w->password))
    return false;
  if ((w->uses & DIBS_ACL_SENTINEL) != 0) {
    text_add(out, SENTINEL_RIGHTS);
    return true;
  }
  text_add(out, " resetkeys");
  add_keys(out, w);
  add_channels(out, w);
  add_commands(out, w->uses);
  return true;
}

/* ---- checks ---- */

static dibs_status refuse(dibs_error *error, dibs_status status, const char *words)
{
  text shown;

  if (error == NULL)
    return status;
  *error = (dibs_error){ .status = status };
  shown = text_over(error->text, sizeof(error->text));
  text_add(&shown, words);
  return status;
}

static const char *wish_fault(const acl_wish *w)
{
  const char *fault = native_prefix_fault(w->prefix);

  if (fault != NULL)
    return fault;
  if (!is_word(w->prefix))
    return "the prefix has a quote in it, which the line cannot hold";
  if (!is_word(w->user))
    return "the user's name is empty, or has a blank or quote in it";
  if (w->latches != NULL && !is_word(w->latches))
    return "the pattern of latches is empty, or has a blank or quote in it";
  if (w->guarded != NULL && !is_word(w->guarded))
    return "the pattern of guarded keys is empty, or has a blank or quote in it";
  if (w->limiters != NULL && !is_word(w->limiters))
    return "the pattern of rate limiters is empty, or has a blank or quote in it";
  if (w->data != NULL && !is_word(w->data))
    return "the pattern of maps, lists and sets is empty, or has a blank or quote in it";
  if (w->locks != NULL && !is_word(w->locks))
    return "the pattern of locks is empty, or has a blank or quote in it";
  if (w->locks != NULL && (w->uses & (OF_REDISSON | OF_SPRING | OF_PLAIN)) == 0)
    return "names of native locks need no pattern: the prefix is enough; name a dialect";
  if ((w->uses & OF_SPRING) != 0 && w->locks != NULL &&
      (w->registry == NULL || !is_word(w->registry)))
    return "the dialect spring needs a registry, a word without blanks and quotes";
  if ((w->uses & DIBS_ACL_FUNCTIONS) != 0 && (w->uses & DIBS_ACL_BEFORE_7) != 0)
    return "servers before 7.0 have no functions";
  return NULL;
}

/* Without names of locks a dialect needs nothing. */
static uint32_t uses_of_dialect(const acl_wish *w)
{
  if (w->locks == NULL)
    return 0;
  switch (w->dialect) {
  case DIBS_DIALECT_REDISSON: return OF_REDISSON;
  case DIBS_DIALECT_SPRING: return OF_SPRING;
  case DIBS_DIALECT_PLAIN: return OF_PLAIN;
  default: return 0;
  }
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
  const char *fault = wish_fault(w);

  if (fault != NULL)
    return refuse(error, DIBS_ERR_ARGUMENT, fault);
  if (!line_write(w, &out))
    return refuse(error, DIBS_ERR_SYSTEM, "no SHA-256");
  if (out.used + 1 >= sizeof(line) || out.used >= text_size)
    return refuse(error, DIBS_ERR_ARGUMENT, "text_size is too small, or a word too long");
  memcpy(ret_text, line, out.used + 1);
  return DIBS_OK;
}

/* Later fields are not there in a caller's smaller struct. */
static acl_wish wish_of(const dibs_acl_options *given)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;

  if (given != NULL)
    memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
  return (acl_wish){ .uses = o.uses, .user = o.user, .password = o.password,
                     .prefix = o.prefix,
                     .latches = o.latches, .guarded = o.guarded,
                     .limiters = o.limiters, .data = o.data, .locks = o.locks,
                     .registry = o.registry, .dialect = (unsigned)o.dialect };
}

dibs_status dibs_acl_line(const char *url, const dibs_acl_options *options, char *ret_text,
                          size_t text_size, dibs_error *error)
{
  memory m = memory_of(NULL);
  deployment d;
  char words[256];
  text why = text_over(words, sizeof(words));
  acl_wish w;
  const char *of_url;
  dibs_status status = DIBS_OK;

  if (ret_text == NULL || (options != NULL && options->size < sizeof(size_t)))
    return refuse(error, DIBS_ERR_ARGUMENT, "ret_text is NULL, or options.size not set");
  w = wish_of(options);
  if ((w.uses & ~USES_KNOWN) != 0)
    return refuse(error, DIBS_ERR_ARGUMENT, "a bit in `uses` that this version does not know");
  if (url != NULL) {
    status = deployment_parse(&m, url, &d, &why);
    if (status != DIBS_OK)
      return refuse(error, status, words);
    w.uses |= uses_of_url(&d);
    w.dialect = w.dialect != 0 ? w.dialect : (unsigned)d.data.dialect;
    w.registry = first_of(w.registry, d.data.registry, NULL);
  }
  if (url != NULL && (w.uses & DIBS_ACL_SENTINEL) != 0 && d.kind == DEPLOYMENT_SENTINEL)
    of_url = d.seeds[0].user;            /* sentinels have users of their own */
  else
    of_url = url != NULL ? d.data.user : NULL;
  w.user = first_of(w.user, of_url, "worker");
  w.prefix = first_of(w.prefix, url != NULL ? d.data.prefix : NULL, "dibs");
  w.uses |= (w.latches != NULL ? LATCHES : 0) | (w.guarded != NULL ? GUARDED : 0) |
            (w.limiters != NULL ? LIMITERS : 0) | (w.data != NULL ? DATA : 0) |
            uses_of_dialect(&w);
  status = wish_write(&w, ret_text, text_size, error);
  if (url != NULL)
    deployment_deinit(&d);
  return status;
}

const char *dibs_function_library(void)
{
  return script_library_text;
}
