/* SPDX-License-Identifier: MIT */
/* share.pml - one shared resource, N clients: readers and writers, or (SEM) permits.
 *
 * As mutex.pml, which explains the form; the scripts are those of lua/native/share_*.lua. The
 * server knows asks: each has a lease of its own. A reader is one unit, a writer all of them;
 * of a semaphore with two permits asks want one or two. So both are the same arithmetic but
 * for what the scripts write down beside it.
 */
#ifndef N
#define N 3
#endif
#ifndef EXTRA     /* asks beyond the first of each client */
#define EXTRA 0
#endif
#ifndef BREAKS    /* requests that a broken connection holds up, or whose answer is lost */
#define BREAKS 1
#endif
#ifndef LOSSES    /* messages lost; 255: any number */
#define LOSSES 255
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef EXPIRIES  /* leases that end although their client lives */
#define EXPIRIES 0
#endif
#ifndef SLOWS     /* grants learnt so late that only a renewal tells, or nothing does */
#define SLOWS 0
#endif
#ifndef DEAFS     /* inboxes that break */
#define DEAFS 0
#endif
#ifndef DOWNGRADES
#define DOWNGRADES 0
#endif

#define INBOX 2
#define KS 3               /* asks of a client, at most */
#define ASKS (N * KS)
#define ID(c, k) ((c) * KS + (k) - 1)
#define CLIENT(a) ((a) / KS)
#ifdef ENTRY_TWICE
#define QMAX (N + 3)
#else
#define QMAX (N + BREAKS + 1)
#endif

#define IDLE 0
#define ASKING 1
#define QUEUED 2
#define CONFIRMING 3
#define HELD 4
#define RELEASING 6
#define CANCELLING 7
#define CUT_OFF 8
#define DEAD 9

#define ACQUIRE_WAIT 1
#define ACQUIRE_TRY 2
#define CANCEL 3
#define RELEASE 4
#define RENEW 5
#define STRAY 6
#define DOWNGRADE 7

#define GRANTED 1
#define AGAIN 2
#define WAITING 3
#define BUSY 4
#define ENDED 5
#define DEAF 6
#define LATE 7
#define DONE 8
#define GONE 9

/* The server. Of each ask: the token of its lease, or 0; what it wants, 1 or 2 units, and
 * holds. Entries of the queue: 1 + ask + 32 (waiter). */
byte last, used, held[ASKS], units[ASKS], wants[ASKS];
bool writes;
byte qlen, q[QMAX];
#define ENTRY(a, w) (1 + (a) + 32 * (w))
#define EA(e) (((e) & 31) - 1)
#define EW(e) ((e) >> 5)

/* The clients: src/lock. */
byte st[N], K[N], T[N];
bool wish[N], trying[N], sent[N], again[N], cut[N];    /* cut: a copy may come late */
bool hears[N], asked[N], goes_down[N];
byte believes[N];                /* units */
byte rk[N], rt[N];
chan inbox[N] = [INBOX] of { byte, byte };              /* ask, token */

/* Requests on old connections. */
byte ln, lkind[BREAKS + 1], lask[BREAKS + 1], ltok[BREAKS + 1];
bool lold[BREAKS + 1];

byte extra = EXTRA, breaks = BREAKS, losses = LOSSES, cancels = CANCELS, crashes = CRASHES,
  expiries = EXPIRIES, slows = SLOWS, deafs = DEAFS, downgrades = DOWNGRADES;

/* What the properties remember. */
short overs;                     /* bits: tokens of leases that ended as over */
byte ended;                      /* 1 + the ask that the last script of all ended */
short ghosts;                    /* bits: asks that got something by a late copy */

hidden byte i, j, e, a, win, res, rtok, rq, how, s_a, s_t, mt, ma, place, me, sum;
hidden byte changed, over, old, learns, lapsed, reads, s_held, s_used, s_len, s_q, s_writes;
hidden byte mute, buries;

#define NOT 0
#define MUST(x, P) if :: (x) :: else -> printf("broken: P\n"); assert(NOT == P) fi
hidden byte S1 = 1, S2 = 1, S4 = 1, S8 = 1, S10 = 1, I2 = 1, I4 = 1, I5 = 1, I8 = 1, I13 = 1,
  L4 = 1, USED = 1;

#define OPEN(c) (st[c] == ASKING || st[c] == QUEUED || st[c] == CANCELLING || st[c] == CUT_OFF)
#define OURS(c) (st[c] == HELD || st[c] == CONFIRMING || st[c] == RELEASING)
#define BELIEVED(x) (believes[CLIENT(x)] && K[CLIENT(x)] > 0 && \
  ID(CLIENT(x), K[CLIENT(x)]) == (x) && T[CLIENT(x)] == held[x])
#define IS_OVER(t) ((overs >> (t)) & 1)
#define IS_GHOST(x) ((ghosts >> (x)) & 1)
#ifdef SEM
#define FITS(x) (used + wants[x] <= 2)
#else
#define FITS(x) (wants[x] == 1 -> !writes : used == 0)
#endif

inline remove(at) {
  for (j : at .. QMAX - 2) { q[j] = q[j + 1] }
  q[QMAX - 1] = 0; qlen--
}

inline append(entry) { MUST(qlen < QMAX, I5); q[qlen] = entry; qlen++ }

/* place: of the entry of ask x, or QMAX. */
inline find(x) {
  place = QMAX;
  for (j : 0 .. QMAX - 1) {
    if :: j < qlen && EA(q[j]) == (x) && place == QMAX -> place = j :: else fi
  }
}

inline tell(x, t) {
  if
  :: !mute && st[CLIENT(x)] != DEAD && hears[CLIENT(x)] && len(inbox[CLIENT(x)]) < INBOX ->
    inbox[CLIENT(x)]!x, t
  :: else
  fi
}

#ifdef SEM
#define COST(x) wants[x]
#else
#define COST(x) 1
#endif

inline grant(x) {
  last++; MUST(last < 16, I4); MUST(held[x] == 0, I4);
  held[x] = last; units[x] = wants[x]; used = used + COST(x);
#ifndef SEM
  if :: wants[x] == 2 -> writes = true :: else fi
#endif
}

inline drop(x) {
#ifdef USED_FORGOTTEN
  if :: units[x] == 1 -> used = used - 1 :: else fi;
#else
#ifdef SEM
  used = used - units[x];
#else
  used = used - 1;
#endif
#endif
#ifndef WRITES_FORGOTTEN
  if :: units[x] == 2 -> writes = false :: else fi;
#endif
  held[x] = 0; units[x] = 0
}

/* shared/share_pump.lua; self: the caller's ask, or ASKS. */
inline pump(self) {
  win = 0; how = 0;
  do
#ifdef PUMP_ONE
  :: qlen > 0 && !how ->
#else
  :: qlen > 0 ->
#endif
    e = q[0]; a = EA(e);
    if
    :: EW(e) && (a == (self) || hears[CLIENT(a)]) ->
      if
      :: FITS(a) ->
        remove(0); grant(a); how = 1;
        if :: a == (self) -> win = 1 :: else -> tell(a, last) fi
      :: else -> break
      fi
    :: else -> remove(0); ended = 0
    fi
  :: else -> break
  od
}

inline s_acquire(x, waits) {
  changed = 0; res = 0; win = 0;
  find(x);
  if
#ifndef NO_UNTIL
  :: old -> res = LATE
  :: !old && held[x] -> res = AGAIN; rtok = held[x]
  :: !old && !held[x] && place < QMAX && !EW(q[place]) -> res = ENDED
#else
  :: held[x] -> res = AGAIN; rtok = held[x]
  :: !held[x] && place < QMAX && !EW(q[place]) -> res = ENDED
#endif
  :: else ->
    if
    :: over < ASKS -> overs = overs | (1 << held[over]); drop(over)
    :: else
    fi;
    pump(x);
    if
    :: win -> res = GRANTED; rtok = held[x]; changed = 1
#ifdef READER_PASSES_WRITER
    :: !win && FITS(x) ->
#else
    :: !win && qlen == 0 && FITS(x) ->
#endif
      for (j : 0 .. QMAX - 1) {
        if
        :: j < qlen && EW(q[j]) && hears[CLIENT(EA(q[j]))] -> MUST(EA(q[j]) == (x), L4)
        :: else
        fi
      }
      grant(x); res = GRANTED; rtok = last; changed = 1
    :: else ->
      if
      :: !(waits) -> res = BUSY
      :: waits && !hears[CLIENT(x)] -> res = DEAF
      :: waits && hears[CLIENT(x)] ->
        find(x); res = WAITING; rtok = last;
#ifdef ENTRY_TWICE
        append(ENTRY(x, 1)); changed = 1
#else
        if :: place == QMAX -> append(ENTRY(x, 1)); changed = 1 :: else fi
#endif
      fi
    fi
  fi;
  MUST(!(old && changed), S10);
  MUST(!(ended == 1 + x && changed), S8)
}

/* shared/share_leave.lua: holder and place go, who fits comes in, a tombstone at the end. */
inline leave(x, entombs) {
  if :: place < QMAX -> remove(place) :: else fi;
  if :: held[x] -> drop(x) :: else fi;
#ifdef NO_PUMP_ON_CANCEL
  if :: rq != CANCEL -> pump(ASKS) :: else fi;
#else
  pump(ASKS);
#endif
#ifndef NO_TOMBSTONE
  if :: entombs -> append(ENTRY(x, 0)) :: else fi
#endif
}

inline s_cancel(x) {
  res = DONE; find(x); leave(x, !old)
}

inline s_release(x, t) {
  find(x);
  if
  :: held[x] && held[x] != t -> res = GONE
  :: else ->
    res = (held[x] -> DONE : GONE);
    leave(x, buries && !old)
  fi
}

inline s_renew(x, t, reads_only) {
  if
  :: held[x] && held[x] == t ->
    res = DONE;
    if :: (reads_only) && units[x] == 2 -> units[x] = 1; wants[x] = 1; writes = false :: else fi;
    pump(ASKS)
  :: else -> res = GONE
  fi
}

/* What every script must leave. */
inline after_script() {
  sum = 0; s_q = 0;
  for (i : 0 .. ASKS - 1) {
    if :: held[i] -> sum = sum + COST(i); s_q = s_q || (units[i] == 2) :: else fi;
    e = 0;
    for (j : 0 .. QMAX - 1) { if :: j < qlen && EA(q[j]) == i -> e++ :: else fi }
    MUST(e <= 1, I5)
  }
  MUST(sum == used, USED);
#ifdef SEM
  MUST(used <= 2, S1);
#else
  MUST(s_q == writes && (!writes || used == 1), S4);
#endif
  if
  :: qlen > 0 && EW(q[0]) -> a = EA(q[0]); MUST(!(hears[CLIENT(a)] && FITS(a)), I8)
  :: else
  fi;
#ifndef ONLY_BELIEF
  for (i : 0 .. N - 1) {
    if
    :: believes[i] -> MUST(held[ID(i, K[i])] == T[i] && units[ID(i, K[i])] >= believes[i], I2)
    :: else
    fi
  }
#endif
}

inline execute(kind, x, t) {
  if
  :: kind == ACQUIRE_WAIT || kind == ACQUIRE_TRY -> s_acquire(x, (kind == ACQUIRE_WAIT))
  :: kind == CANCEL -> s_cancel(x)
  :: kind == RELEASE || kind == STRAY -> s_release(x, t)
  :: kind == RENEW || kind == DOWNGRADE -> s_renew(x, t, (kind == DOWNGRADE))
  fi
}

inline run_script(kind, x, t) {
  d_step {
    execute(kind, x, t);
    if
    :: (kind == CANCEL || (kind == RELEASE && buries)) && !old && res == DONE -> ended = 1 + x
    :: else
    fi;
    after_script()
  }
}

#define MAY_BE_OVER(x) (held[x] && !BELIEVED(x) && \
  (st[CLIENT(x)] == DEAD || IS_GHOST(x) || expiries > 0))
#define MUST_BE_OVER(x) (MAY_BE_OVER(x) && (st[CLIENT(x)] == DEAD || IS_GHOST(x)))

/* Runs request rq of ask s_a at the server, with what the clocks say there: at most one
 * holder is over; of those whose client is gone, one is. */
inline arrive() {
  over = ASKS;
  if
  :: rq == ACQUIRE_WAIT || rq == ACQUIRE_TRY ->
    sum = 0;
    for (i : 0 .. ASKS - 1) {
      if :: MUST_BE_OVER(i) && i != s_a -> over = i :: else fi
    }
    if
    :: over == ASKS && expiries > 0 ->
      for (i : 0 .. ASKS - 1) {
        if :: over == ASKS && MAY_BE_OVER(i) && i != s_a -> over = i :: true fi
      }
      if :: over < ASKS -> expiries-- :: else fi
    :: else
    fi
  :: else
  fi;
  run_script(rq, s_a, s_t);
  printf("request %d ask %d token %d, over %d: answer %d token %d; now used %d, queue %d %d %d\n",
    rq, s_a, s_t, over, res, rtok, used, q[0], q[1], q[2])
}

inline turn(c, state) {
  st[c] = state; rk[c] = 0; rt[c] = 0; sent[c] = false; again[c] = false
}

inline next_ask(c) {
  MUST(K[c] < KS, I4); K[c]++; wants[ID(c, K[c])] = (K[c] > 1 -> wants[ID(c, K[c] - 1)] : 1);
  turn(c, ASKING); T[c] = 0; cut[c] = false
}

inline settle(c) {
  T[c] = 0;
  if
  :: wish[c] -> next_ask(c)
  :: else -> turn(c, IDLE); trying[c] = false; goes_down[c] = false; cut[c] = false
  fi
}

inline read_answer(c) {
  if
  :: rk[c] == GRANTED || rk[c] == AGAIN -> learns = 1; mt = rt[c]; lapsed = IS_OVER(mt)
  :: rk[c] == WAITING -> st[c] = QUEUED; T[c] = rt[c]; rk[c] = 0; rt[c] = 0
  :: rk[c] == BUSY ->
    wish[c] = false;
    if :: again[c] -> turn(c, CANCELLING) :: else -> settle(c) fi
  :: rk[c] == ENDED -> next_ask(c)
  :: rk[c] == DEAF -> st[c] = CUT_OFF; rk[c] = 0
  :: rk[c] == LATE -> rk[c] = 0
  :: rk[c] == DONE || rk[c] == GONE ->
    if
    :: st[c] == RELEASING || st[c] == CANCELLING -> settle(c)
    :: st[c] == CONFIRMING && rk[c] == DONE -> learns = 1; mt = T[c]; lapsed = IS_OVER(mt)
    :: st[c] == CONFIRMING && rk[c] == GONE -> next_ask(c)
    :: st[c] == HELD && rk[c] == DONE -> rk[c] = 0; believes[c] = 1; goes_down[c] = false
    :: st[c] == HELD && rk[c] == GONE -> believes[c] = 0; turn(c, RELEASING)
    fi
  fi
}

/* S1, S4: what is believed fits together. */
inline learn(c) {
  if
  :: !lapsed ->
    T[c] = mt; turn(c, HELD); believes[c] = wants[ID(c, K[c])]; wish[c] = false;
    trying[c] = false;
    printf("C%d believes in ask %d:%d, %d units\n", c, ID(c, K[c]), mt, believes[c]);
    d_step {
      sum = 0; e = 0;
      for (i : 0 .. N - 1) {
        sum = sum + believes[i];
        if :: believes[i] == 2 -> e = 1 :: else fi
      }
#ifdef SEM
      MUST(sum <= 2, S1)
#else
      MUST(!e || sum == 2, S4)
#endif
    }
  :: lapsed || slows > 0 ->
    if :: !lapsed -> slows-- :: else fi;
    T[c] = mt;
    if :: how = RELEASING :: how = CONFIRMING fi;
    turn(c, how)
  fi
}

inline send(c) {
  old = 0; rtok = 0; buries = cut[c] || rq == STRAY;
  if
  :: me = 0
#if BREAKS > 0
  :: breaks > 0 -> me = 1; breaks--; if :: rq != STRAY -> cut[c] = true :: else fi
  :: breaks > 0 ->
    me = 2; breaks--; if :: rq != STRAY -> cut[c] = true :: else fi;
    printf("C%d request %d ask %d token %d is held up\n", c, rq, s_a, s_t);
    lkind[ln] = rq; lask[ln] = s_a; ltok[ln] = s_t; ln++
#endif
  fi;
  if :: me != 2 -> arrive() :: else fi;
  if
  :: me == 0 && rq != STRAY ->
    rk[c] = res;
    if :: res == GRANTED || res == AGAIN || res == WAITING -> rt[c] = rtok :: else fi;
    reads = !(res == GRANTED || res == AGAIN || rq == DOWNGRADE)
  :: else
  fi
}

#ifdef NO_POLL
#define POLLS false
#else
#define POLLS true
#endif
#ifdef DOWNGRADE_AFTER_ANSWER    /* writes on until the server has said yes */
#define STOPS_WRITING 2
#else
#define STOPS_WRITING 1
#endif

inline read_message(c) {
  inbox[c]?ma, mt;
  printf("C%d reads of ask %d token %d\n", c, ma, mt);
  if
#if LOSSES > 0
  :: losses > 0 -> printf("  no, it is lost\n"); if :: losses < 255 -> losses-- :: else fi
#endif
  :: OPEN(c) && ma == ID(c, K[c]) ->
    if
#ifdef NO_NEWEST
    :: st[c] != CANCELLING -> learns = 1; lapsed = IS_OVER(mt) && mt > T[c]
#else
    :: st[c] != CANCELLING && mt > T[c] -> learns = 1; lapsed = IS_OVER(mt)
#endif
    :: else
    fi
  :: !((OPEN(c) || OURS(c)) && ma == ID(c, K[c])) ->
    rq = STRAY; s_a = ma; s_t = mt
  :: else
  fi
}

proctype Client(byte c) {
  do
  :: atomic {
    if
    :: st[c] == IDLE && (!asked[c] || extra > 0) && (c == 0 || asked[c - 1]) ->
      if :: asked[c] -> extra-- :: else -> asked[c] = true fi;
      wish[c] = true; next_ask(c);
      if :: wants[ID(c, K[c])] = 1 :: wants[ID(c, K[c])] = 2 fi;
      if :: trying[c] = false :: trying[c] = true fi
    :: rk[c] == 0 && (st[c] == ASKING || (POLLS && st[c] == QUEUED)) ->
      again[c] = sent[c]; sent[c] = true;
      rq = (trying[c] -> ACQUIRE_TRY : ACQUIRE_WAIT); s_a = ID(c, K[c]); s_t = 0
    :: rk[c] == 0 && st[c] == RELEASING -> rq = RELEASE; s_a = ID(c, K[c]); s_t = T[c]
    :: rk[c] == 0 && st[c] == CANCELLING -> rq = CANCEL; s_a = ID(c, K[c]); s_t = 0
    :: rk[c] == 0 && st[c] == CONFIRMING -> rq = RENEW; s_a = ID(c, K[c]); s_t = T[c]
    :: rk[c] == 0 && st[c] == HELD && goes_down[c] ->
      rq = DOWNGRADE; s_a = ID(c, K[c]); s_t = T[c]
    :: rk[c] != 0 -> reads = 1
    :: st[c] != DEAD && len(inbox[c]) > 0 -> read_message(c)
    :: st[c] == HELD -> believes[c] = 0; turn(c, RELEASING)
#if DOWNGRADES > 0
    :: st[c] == HELD && believes[c] == 2 && downgrades > 0 ->
      downgrades--; believes[c] = STOPS_WRITING; goes_down[c] = true
#endif
#if CANCELS > 0
    :: cancels > 0 && wish[c] && (OPEN(c) && sent[c] || st[c] == CONFIRMING) ->
      cancels--; wish[c] = false; how = CANCELLING;
      turn(c, how)
#endif
#if CRASHES > 0
    :: crashes > 0 && st[c] != DEAD && asked[c] ->
      crashes--; believes[c] = 0; wish[c] = false; trying[c] = false; T[c] = 0; cut[c] = false;
      goes_down[c] = false; turn(c, DEAD);
      do :: len(inbox[c]) > 0 -> inbox[c]?ma, mt :: else -> break od;
      if :: hears[c] = false :: true fi
#endif
#if DEAFS > 0
    :: deafs > 0 && hears[c] && asked[c] && st[c] != DEAD ->
      deafs--; hears[c] = false;
      do :: len(inbox[c]) > 0 -> inbox[c]?ma, mt :: else -> break od
    :: !hears[c] && st[c] != DEAD ->
      hears[c] = true; if :: st[c] == CUT_OFF -> st[c] = ASKING :: else fi
#endif
    fi;
    if :: rq -> send(c) :: else fi;
    if :: reads -> read_answer(c) :: else fi;
    if :: learns -> learn(c) :: else fi;
    rq = 0; reads = 0; learns = 0 }
  od
}

#define COMES_LATE(x) \
  :: lkind[x] -> \
    old = lold[x]; rq = lkind[x]; s_a = lask[x]; s_t = ltok[x]; buries = 1; \
    printf("late, old %d:\n", old); \
    lkind[x] = 0; lask[x] = 0; ltok[x] = 0; lold[x] = false \
  :: (lkind[x] == ACQUIRE_WAIT || lkind[x] == ACQUIRE_TRY || lkind[x] == CANCEL) && !lold[x] -> \
    lold[x] = true \
  :: lkind[x] -> lkind[x] = 0; lask[x] = 0; ltok[x] = 0; lold[x] = false

proctype Net() {
  do
  :: atomic {
    if
#if BREAKS > 0
    COMES_LATE(0)
#endif
#if BREAKS > 1
    COMES_LATE(1)
#endif
    :: false
    fi;
    if
    :: rq ->
      changed = 0; arrive();
      if
      :: (rq == ACQUIRE_WAIT || rq == ACQUIRE_TRY) && changed -> ghosts = ghosts | (1 << s_a)
      :: else
      fi
    :: else
    fi;
    rq = 0; old = 0 }
  od
}

init {
  atomic {
    byte x;
    for (x : 0 .. N - 1) { hears[x] = true; run Client(x) }
    run Net()
  }
}

#if BREAKS > 1
#define NOTHING_LATE (lkind[0] == 0 && lkind[1] == 0)
#else
#define NOTHING_LATE (lkind[0] == 0)
#endif
#define OVER_AND_OUT(c) (st[c] == DEAD || (st[c] == IDLE && asked[c]))
#if N > 2
#define ALL_OUT (OVER_AND_OUT(0) && OVER_AND_OUT(1) && OVER_AND_OUT(2))
#else
#define ALL_OUT (OVER_AND_OUT(0) && OVER_AND_OUT(1))
#endif
/* Nobody wants it: then nobody holds it, unless a client died or a late copy got something. */
ltl fin { <> (ALL_OUT && NOTHING_LATE && (used == 0 || ghosts != 0 || crashes < CRASHES)) }
