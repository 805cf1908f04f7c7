/* SPDX-License-Identifier: MIT */
/* test/sim/differential/draw_plain.c - the commands that a program, or another lock library,
 * sends beside scripts. */
#include "draw.h"

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static const char *const templates[] = {
  /* strings */
  "SET $s $v", "SET $s $v PX $t", "SET $s $v NX PX $t", "SET $s $v XX PX $t",
  "SET $s $v {NX|XX|} {GET|} {PX_$t|EX_$T|PXAT_$a|EXAT_$A|KEEPTTL|}", "SET $k $v {px_$t|nx|}",
  "GET $s", "GET $k", "GETDEL $s", "GETSET $s $v",
  "SETNX $s $v", "SETEX $s $T $v", "PSETEX $s $t $v", "APPEND $s $v", "STRLEN $s",
  "MGET $s $k $k", "MSET $s $v $k $v", "MSETNX $s $v $k $v",
  "INCR $s", "DECR $s", "INCRBY $s $n", "DECRBY $s $n",
  /* hashes */
  "HSET $h $f $v", "HSET $h $f $v $f $v", "HSETNX $h $f $v", "HMSET $h $f $v $f $v",
  "HGET $h $f", "HMGET $h $f $f", "HDEL $h $f", "HDEL $h $f $f", "HLEN $h", "HEXISTS $h $f",
  "HINCRBY $h $f $n", "HINCRBY $h owner-1 {1|-1}", "HGETALL $h", "HKEYS $h", "HVALS $h",
  "HSTRLEN $h $f", "HSCAN $h 0 {MATCH_$p|} {COUNT_100|}",
  /* lists */
  "{LPUSH|RPUSH} $l $v", "{LPUSH|RPUSH} $l $m $m", "{LPUSHX|RPUSHX} $l $m",
  "{LPOP|RPOP} $l", "{LPOP|RPOP} $l $i", "LLEN $l", "LRANGE $l $i $i", "LRANGE $l 0 -1",
  "LREM $l $i $m", "LINDEX $l $i", "LSET $l $i $v", "LTRIM $l $i $i",
  "LINSERT $l {BEFORE|AFTER} $m $m", "RPOPLPUSH $l $l", "LMOVE $l $l {LEFT|RIGHT} {LEFT|RIGHT}",
  /* sorted sets */
  "ZADD $z $w $m", "ZADD $z $w $m $w $m", "ZADD $z {NX|XX|} {GT|LT|} {CH|} {INCR|} $w $m",
  "ZREM $z $m", "ZREM $z $m $m", "ZSCORE $z $m", "ZRANK $z $m", "ZREVRANK $z $m", "ZCARD $z",
  "ZCOUNT $z $b $b", "ZRANGE $z $i $i {WITHSCORES|}", "ZRANGE $z 0 -1 WITHSCORES",
  "ZREVRANGE $z $i $i {WITHSCORES|}", "ZINCRBY $z $w $m",
  "ZRANGEBYSCORE $z $b $b {WITHSCORES|} {LIMIT_0_$i|}", "ZREMRANGEBYSCORE $z $b $b",
  "ZREMRANGEBYRANK $z $i $i", "{ZPOPMIN|ZPOPMAX} $z", "ZMSCORE $z $m $m",
  /* keys */
  "{DEL|UNLINK} $k", "{DEL|UNLINK} $k $k", "EXISTS $k", "EXISTS $k $k", "TYPE $k",
  "PEXPIRE $k $t {NX|XX|GT|LT|}", "PEXPIRE $k $t", "EXPIRE $k $T {NX|XX|GT|LT|}",
  "PEXPIREAT $k $a {NX|XX|GT|LT|}", "EXPIREAT $k $A", "PTTL $k", "TTL $k", "PEXPIRETIME $k",
  "EXPIRETIME $k", "PERSIST $k", "RENAME $k $k", "RENAMENX $k $k", "KEYS $p", "TOUCH $k $k",
  "SCAN 0 COUNT 1000 {MATCH_$p|} {TYPE_string|TYPE_hash|}",
  /* the server */
  "PING", "PING $v", "ECHO $v", "TIME", "SELECT 0", "CLIENT GETNAME", "CLIENT SETNAME name",
  "WAIT 0 0", "PUBLISH $c $v", "SCRIPT EXISTS ffffffffffffffffffffffffffffffffffffffff",
  "EVALSHA ffffffffffffffffffffffffffffffffffffffff 0", "PUBSUB NUMSUB $c $c",
  "PUBSUB CHANNELS", "PUBSUB NUMPAT", "SPUBLISH $c $v", "PUBSUB SHARDNUMSUB $c",
  "PUBSUB SHARDCHANNELS", "AUTH password",
};

/* Rare, because they take away what the others need. */
static const char *const sweeping[] = { "FLUSHALL", "FLUSHDB", "SCRIPT FLUSH", "SCRIPT FLUSH SYNC",
                                        "DEL s1 s2 h1 h2 l1 l2 z1 z2" };

/* Too few words, too many, or a strange one. */
static void spoil(draw *d, draw_words *w)
{
  switch (draw_below(d, 3)) {
  case 0:
    w->count -= w->count > 1;
    break;
  case 1:
    draw_add_word(w, "more", 4);
    break;
  default:
    if (w->count > 2)                /* else it may be a subcommand, which is unknown then */
      w->all[w->count - 1] = RESP_TEXT("strange");
  }
}

void draw_plain_words(draw *d, draw_words *w)
{
  if (draw_once_in(d, 60))
    draw_template(d, sweeping[draw_below(d, COUNT_OF(sweeping))], w);
  else
    draw_template(d, templates[draw_below(d, COUNT_OF(templates))], w);
  if (draw_once_in(d, 40) && w->count > 1)
    spoil(d, w);
}

void draw_plain(draw *d)
{
  draw_words w;

  draw_words_init(&w);
  draw_plain_words(d, &w);
  draw_to_command(d, &w);
}

void draw_transaction(draw *d, bool has_begun)
{
  static const char *const before[] = { "WATCH $k", "WATCH $s $s", "MULTI", "MULTI", "UNWATCH" };
  static const char *const inside[] = { "EXEC", "EXEC", "EXEC", "DISCARD", "MULTI", "WATCH $k" };
  draw_words w;

  draw_words_init(&w);
  draw_template(d, has_begun ? inside[draw_below(d, COUNT_OF(inside))]
                             : before[draw_below(d, COUNT_OF(before))], &w);
  draw_to_command(d, &w);
}

void draw_discard(draw *d)
{
  draw_words w;

  draw_words_init(&w);
  draw_template(d, "DISCARD", &w);
  draw_to_command(d, &w);
}

/* Whole names, so that the number of replies is known. */
static const char *const of_subscribers[] = {
  "SUBSCRIBE $c", "SUBSCRIBE $c $c", "UNSUBSCRIBE $c", "PSUBSCRIBE ne*", "PUNSUBSCRIBE ne*",
  "PSUBSCRIBE dibs:inbox:x*", "PUNSUBSCRIBE dibs:inbox:x*", "PING", "PING $v", "GET $s",
  "SSUBSCRIBE $c", "SUNSUBSCRIBE $c", "RESET",
};

static const char *const of_publishers[] = {
  "PUBLISH $c $v", "PUBLISH $c $v", "PUBSUB NUMSUB $c $c", "PUBSUB CHANNELS", "PUBSUB NUMPAT",
  "SPUBLISH $c $v", "PUBSUB SHARDNUMSUB $c",
};

void draw_publish_subscribe(draw *d, bool is_subscriber)
{
  draw_words w;
  char inbox[64];
  text t = text_over(inbox, sizeof(inbox));

  draw_words_init(&w);
  native_inbox(&d->clients[draw_below(d, DRAW_CLIENTS)], &t);
  if (!is_subscriber && draw_once_in(d, 3)) {
    draw_template(d, "PUBSUB NUMSUB", &w);
    draw_add_word(&w, inbox, t.used);
  } else if (!is_subscriber)
    draw_template(d, of_publishers[draw_below(d, COUNT_OF(of_publishers))], &w);
  else if (draw_once_in(d, 3))
    draw_template(d, of_subscribers[draw_below(d, COUNT_OF(of_subscribers))], &w);
  else {
    draw_template(d, draw_once_in(d, 4) ? "UNSUBSCRIBE" : "SUBSCRIBE", &w);
    draw_add_word(&w, inbox, t.used);
  }
  draw_to_command(d, &w);
}
