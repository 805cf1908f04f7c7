/* SPDX-License-Identifier: MIT */
/* quorum.pml - a lock over S servers, held by whoever has a majority of them, and the fence
 * that it is told.
 *
 * Each server grants as acquire.lua does: to one at a time, with a token above its last, above
 * its clock, and above the floor that came with the request. A client is src/quorum: a round
 * of tries in any order, any of them unanswered; a majority of grants; a fence that a majority
 * has, written back if need be; and then all is given back, late grants too, in any order.
 * Time is the lemma of mutex.pml: the lease of a holder does not end before he stops
 * believing. Clocks are not modelled: servers give the next number, or what the floor says.
 *
 * Properties: S1, at most one believes; S2, fences grow with the order of the grants; LEFT,
 * when all is over no server has a lease that nobody knows of. */
#ifndef S
#define S 3
#endif
#ifdef HALF
#define MAJORITY (S / 2)
#else
#define MAJORITY (S / 2 + 1)
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef LATES     /* grants that their client learns of only when its round is over */
#define LATES 1
#endif
#ifndef RESTARTS  /* servers that come back without their data */
#define RESTARTS 0
#endif
/* Such a one grants nothing until no lease from before can be believed (NO_QUARANTINE: at
 * once), and its tokens go on above all others, as its clock does (NO_CLOCK: from 0). */
#ifndef PROPOSES  /* clients know a token that all servers can grant */
#define PROPOSES 0
#endif
#define MAXTOKEN 200

#define NOT 0
#define MUST(c, P) if :: (c) :: else -> printf("broken: P\n"); assert(NOT == P) fi
hidden byte S1 = 1, S2 = 1, LEFT = 1;

byte owner[S];          /* 0: free */
byte token[S];          /* of the last grant */
bool quarantined[S];
byte counted[S];        /* clients that believe to have it */
byte highest;           /* of all tokens ever: what a clock would be above */
byte holders;
byte last_fence;
byte restarts = RESTARTS;
byte lates = LATES;
byte over;

hidden byte rank;

/* The server's answer to a try: granted, or somebody has it. */
inline serve(s, me, floor)
{
  owner[s] = me;
  if
  :: floor > token[s] -> token[s] = floor
  :: else -> token[s]++
  fi;
  if
  :: token[s] > highest -> highest = token[s]
  :: else
  fi
}

/* A release, and the cancel of what was not answered: what is ours there is free. */
inline give_back(s, me)
{
  if
  :: owner[s] == me -> owner[s] = 0
  :: else
  fi
}

#define ALL_TRIED (tried[0] && tried[1] && tried[2] && (S == 3 || (tried[S - 2] && tried[S - 1])))

/* Granted, known at once or late; not free; or it never came. */
#define TRY(n) atomic { !tried[n] -> \
    tried[n] = true; \
    if \
    :: owner[n] == 0 && !quarantined[n] -> \
       serve(n, me, proposed); \
       if \
       :: granted[n] = true; counted[n]++; seen[n] = token[n]; votes++ \
       :: lates > 0 -> lates--; late[n] = true \
       fi \
    :: skip \
    fi }

/* Not of a lease that a restart has ended. */
#define RAISE(n) atomic { granted[n] && seen[n] < fence -> \
    if \
    :: owner[n] == me -> token[n] = fence; seen[n] = fence \
    :: else -> granted[n] = false; counted[n]--; votes-- \
    fi; \
    d_step { count_confirmed(); s = 0 } }

/* The lowest token that the highest of some majority is, or (planted) the lowest at all. */
inline choose_fence()
{
  fence = 0;
  rank = 1;
  do
  :: rank <= highest && fence == 0 ->
     below = 0;
     s = 0;
     do
     :: s < S ->
        if
        :: granted[s] && seen[s] <= rank -> below++
        :: else
        fi;
        s++
     :: else -> break
     od;
     if
#ifdef TOKEN_BY_MIN
     :: below >= 1 -> fence = rank
#else
     :: below >= MAJORITY -> fence = rank
#endif
     :: else
     fi;
     rank++
  :: else -> break
  od;
  rank = 0
}

inline count_confirmed()
{
  confirmed = 0;
  s = 0;
  do
  :: s < S ->
     if
     :: granted[s] && seen[s] >= fence -> confirmed++
     :: else
     fi;
     s++
  :: else -> break
  od
}

proctype Client(byte me)
{
  byte round, s, fence, below, confirmed, votes, proposed;
  bool granted[S], tried[S], late[S];
  byte seen[S];

  do
  :: round >= ROUNDS || highest >= MAXTOKEN -> break
  :: else ->
     if
     :: PROPOSES -> proposed = highest + 1
     :: else -> skip
     fi;

     /* The tries, in any order; who does not answer is done without. */
     do
     :: TRY(0)
     :: TRY(1)
     :: TRY(2)
#if S > 3
     :: TRY(3)
     :: TRY(4)
#endif
     :: ALL_TRIED -> break
     od;

     if
     :: votes >= MAJORITY ->
        /* What the fence is, and who has it. */
        d_step { choose_fence(); count_confirmed(); s = 0; below = 0 }
#ifndef NO_RAISE
        do
        :: confirmed >= MAJORITY -> break
        :: confirmed < MAJORITY ->
           if
           :: RAISE(0)
           :: RAISE(1)
           :: RAISE(2)
#if S > 3
           :: RAISE(3)
           :: RAISE(4)
#endif
           :: break                                       /* a raise is not answered */
           fi
        od;
#endif
        if
#ifdef NO_RAISE
        :: true ->
#else
        :: confirmed >= MAJORITY ->
#endif
           atomic {
             holders++;
             MUST(holders == 1, S1);
#ifndef ONLY_S1
             MUST(fence > last_fence, S2);
#endif
             last_fence = fence
           };
           atomic { holders-- }
        :: confirmed < MAJORITY -> skip
        fi
     :: else -> skip
     fi;

     /* Everything is given back, on all servers, what came late, too. */
     do
     :: atomic { s < S ->
#ifdef LATE_KEPT
          if
          :: late[s] -> skip
          :: else -> give_back(s, me)
          fi;
#else
          give_back(s, me);
#endif
          counted[s] = counted[s] - granted[s];
          granted[s] = false;
          seen[s] = 0;
          late[s] = false;
          tried[s] = false;
          s++
        }
     :: s >= S -> break
     od;
     s = 0;
     fence = 0;
     votes = 0;
     confirmed = 0;
     proposed = 0;
     round++
  od;
  atomic {
    over++;
    if
    :: over == CLIENTS ->
       s = 0;
       do
       :: s < S -> MUST(owner[s] == 0, LEFT); s++
       :: else -> break
       od
    :: else
    fi
  }
}

/* A server comes back empty. */
proctype Restart()
{
  byte s;

  do
  :: restarts == 0 -> break
  :: restarts > 0 ->
     atomic {
       select(s : 0 .. S - 1);
       restarts--;
       owner[s] = 0;
#ifdef NO_CLOCK
       token[s] = 0;
#else
       token[s] = highest;
#endif
#ifndef NO_QUARANTINE
       quarantined[s] = true;
#endif
       skip
     };
#ifndef NO_QUARANTINE
     /* Until whatever was granted there before is not believed by anybody any more. */
     atomic { counted[s] == 0 -> quarantined[s] = false }
#endif
  :: over == CLIENTS -> break
  od
}

init {
  atomic {
    byte i;

    for (i : 1 .. CLIENTS) {
      run Client(i)
    }
    if
    :: RESTARTS > 0 -> run Restart()
    :: else
    fi
  }
}
