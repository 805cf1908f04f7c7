/* SPDX-License-Identifier: MIT */
/* era.pml - a failover, the era guard and min-replicas-to-write (deployments.md 4).
 *
 * A primary (OLD) and the replica that is promoted (NEW), each with one lease on one name. At
 * CUT they lose each other; clients reach either. OLD goes on until it notices that its
 * replica is gone: writes are refused from CUT + LAG on. NEW is promoted at CUT + DOWN or
 * later, with what OLD had at some time before CUT. Time goes in steps; what happens between
 * two steps happens in any order. A client believes in its lease until the end that the
 * server counts from its own grant or renewal, at most; told lost, it never renews.
 *
 * Guard: NEW makes nobody a new owner before Q steps after the first who asked it to. Properties:
 * S1, never two clients believe. */
#ifndef TTL
#define TTL 3
#endif
#ifndef LAG       /* min-replicas-max-lag and its tick, from the cut */
#define LAG 3
#endif
#ifndef DOWN      /* down-after, less a ping: promotion comes no sooner */
#define DOWN 3
#endif
#ifndef Q
#define Q TTL
#endif
#ifndef SKEW      /* NEW's clock runs ahead of OLD's by that much */
#define SKEW 0
#endif
#define NOBODY 3          /* clients are 0 and 1, and 2, who only waits to be handed the lock */
#ifndef CUT
#define CUT 1
#endif
#define END (CUT + DOWN + LAG + TTL + TTL + 1)
#define OLD 0
#define NEW 1

byte now;
byte owner[2], deadline[2];      /* of each server's lease; NOBODY: free */
byte belief[3];                  /* valid until, 0: none */
bool is_promoted, has_era;
byte quarantine;                 /* end of it, at NEW */

#define BELIEVES(c) (belief[c] > now)
#define NOT 0
#define MUST(c, P) if :: (c) :: else -> printf("broken: P\n"); assert(NOT == P) fi
hidden byte S1 = 1;
#define AT_MOST_ONE MUST(BELIEVES(0) + BELIEVES(1) + BELIEVES(2) <= 1, S1)
#define CLOCK(s) (now + (s == NEW -> SKEW : 0))

/* A lease is over by its deadline; the second of protocol.md's rule is left out: less margin. */
inline is_over(s, ret) { ret = owner[s] == NOBODY || deadline[s] <= CLOCK(s) }

inline writes(s, ret)
{
  ret = (s == OLD -> (now < CUT + LAG) : is_promoted);
#ifdef NO_MIN_REPLICAS
  ret = (s == OLD || is_promoted)
#endif
}

/* Whether a new owner may be made; at NEW the first who asks begins the quarantine. */
inline may_grant(s, ret)
{
  ret = true;
#ifndef NO_GUARD
  if
  :: s == NEW && !has_era -> has_era = true; quarantine = now + Q; ret = Q == 0
  :: s == NEW && has_era -> ret = now >= quarantine
  :: else
  fi
#endif
}

proctype Client(byte me)
{
  byte s; bool is_free, can_write, may;

  do
  :: now >= END -> break
  :: else ->
    if :: s = OLD :: s = NEW fi;
    if
    :: atomic { /* acquire */
         !BELIEVES(me) -> writes(s, can_write);
         if
         :: can_write ->
            is_over(s, is_free);
            if
            :: is_free || owner[s] == me ->    /* an old one of mine is over by a new ask */
               may_grant(s, may);
               if
               :: may -> owner[s] = me; deadline[s] = CLOCK(s) + TTL; belief[me] = now + TTL;
                         AT_MOST_ONE
               :: else
               fi
            :: else
            fi
         :: else
         fi; can_write = false; is_free = false; may = false }
    :: atomic { /* renew: wherever the servers of today are thought to be */
         BELIEVES(me) -> writes(s, can_write);
         if
         :: can_write && owner[s] == me ->
            deadline[s] = (deadline[s] > CLOCK(s) + TTL -> deadline[s] : CLOCK(s) + TTL);
            belief[me] = now + TTL; AT_MOST_ONE
         :: else
         fi; can_write = false }
    :: atomic { /* release: no belief any more; the request may arrive at both, or one, or none */
         BELIEVES(me) -> belief[me] = 0;
         writes(s, can_write);
         if
         :: can_write && owner[s] == me -> owner[s] = NOBODY
         :: true
         fi; can_write = false }
    :: atomic { /* a release that arrives late, or again, hands over at once to who waits */
         writes(s, can_write);
         if
         :: !BELIEVES(me) && can_write && owner[s] == me && !BELIEVES(2) ->
            may_grant(s, may);
#ifdef HANDOVER_UNGUARDED
            may = true;
#endif
            if
            :: may -> owner[s] = 2; deadline[s] = CLOCK(s) + TTL; belief[2] = now + TTL;
                      AT_MOST_ONE
            :: else -> owner[s] = NOBODY
            fi
         :: else
         fi; can_write = false; may = false }
    fi
  od
}

proctype Time()
{
  do
  :: now >= END -> break
  :: atomic { now < CUT -> owner[NEW] = owner[OLD]; deadline[NEW] = deadline[OLD] }
  :: atomic { now >= CUT + DOWN && !is_promoted -> is_promoted = true }
  :: atomic { now < END -> now++ }
  od
}

init
{
  atomic {
    owner[OLD] = NOBODY; owner[NEW] = NOBODY;
    run Client(0); run Client(1); run Time()
  }
}
