/* SPDX-License-Identifier: MIT */
/* mutex.pml - one name, N clients, everything that an exclusive lock does without clocks.
 *
 * Each inline s_... is one script of lua/native, executed at once; proctype Client is
 * src/lock; Net brings late what an old connection had on its way. Time is the lemma that
 * lease.pml proves: the server ends a lease as over only while nobody believes in it, and
 * who learns of a grant after that does not believe it. doc/design/models.md tells what that
 * leaves out. Budgets and planted bugs are set by -D; ./check knows the useful ones.
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
#ifndef EXPIRIES  /* leases that end although their client lives: late, stopped, cut off */
#define EXPIRIES 0
#endif
#ifndef SLOWS     /* grants learnt so late that only a renewal tells, or nothing does */
#define SLOWS 0
#endif
#ifndef DEAFS     /* inboxes that break */
#define DEAFS 0
#endif
#ifndef RENEWALS
#define RENEWALS 0
#endif
#ifndef DETACHES
#define DETACHES 0
#endif
#ifndef ADMINS    /* breaks */
#define ADMINS 0
#endif
#ifndef LINGERS   /* releases that keep the lease idle */
#define LINGERS 0
#endif
#ifndef GIVEUPS   /* releases and cancels that the client stops repeating */
#define GIVEUPS 0
#endif
/* SLOW_ANSWERS: every answer takes its time on the way. Else only a grant does: of the others
 * nothing can be seen before they are read, but for what models.md tells. */
#ifndef ALL_WANTS /* 1: also those that their client would ignore, see tell() */
#define ALL_WANTS 0
#endif
#ifndef SLOW_ANSWERS
#define SLOW_ANSWERS 0
#endif
#ifndef FORGES    /* grants that somebody publishes who is not the server */
#define FORGES 0
#endif
/* IFEQ: the first copy of a release may be SET ... IFEQ, which writes the memory only over the very
 * string of the grant. */
#ifndef JUMPS     /* waiters passed over as dead by a server whose clock was set */
#define JUMPS 0
#endif

#define NONE 3    /* no client: there are at most three */
#define INBOX 2
#ifdef ENTRY_TWICE
#define QMAX (N + 2)
#else
#define QMAX N
#endif

/* What a client is about: src/lock/table.h. */
#define IDLE 0
#define ASKING 1
#define QUEUED 2
#define CONFIRMING 3
#define HELD 4
#define LINGERING 5
#define RELEASING 6
#define CANCELLING 7
#define CUT_OFF 8      /* asking, but nobody would hear the grant */
#define DEAD 9

/* Requests. */
#define ACQUIRE_WAIT 1
#define ACQUIRE_TRY 2
#define CANCEL 3
#define RELEASE 4
#define RENEW 5
#define STRAY 6        /* a release that is sent once */
#define BREAK 7
#define RELEASE_IF 8   /* a release without a script */

/* Answers. */
#define GRANTED 1
#define AGAIN 2
#define WAITING 3
#define BUSY 4
#define ENDED 5
#define DEAF 6
#define LATE 7
#define DONE 8
#define GONE 9
#define NOTHING 10     /* to RELEASE_IF: not this string */

/* Messages. */
#define GRANT 1
#define WANT 2
#define LOST 3
#define FORGED 8       /* added to the ask: the nonce of the message is not that of the ask */

/* The server: lease or memory lc:lk:tk, and the queue of entries C + 4 K + 32 (waiter). */
bool held, fat;
byte lc = NONE, lk, tk;
#ifdef IFEQ
bool renewed;          /* the string is not that of the grant any more */
#endif
byte qlen, q[QMAX];
#define ENTRY(c, k, w) ((c) + 4 * (k) + 32 * (w))
#define EC(e) ((e) & 3)
#define EK(e) (((e) >> 2) & 7)
#define EW(e) ((e) >> 5)

/* The clients. */
byte st[N], K[N], T[N];          /* T: of the lease; while asking, of the last `waiting` */
bool wish[N], trying[N];         /* the claim that waits in the program; it is a try */
bool sent[N], again[N];          /* this ask was sent, and more than once */
bool believes[N], hears[N];      /* hears: its inbox is subscribed */
bool asked[N];                   /* its first claim has come */
byte rk[N], rt[N];               /* the answer on its way */
chan inbox[N] = [INBOX] of { byte, byte, byte };

/* Requests on old connections: kind, client, K, T; old: past their `until`. */
byte ln, lkind[BREAKS + 1], lwho[BREAKS + 1], lask[BREAKS + 1], ltok[BREAKS + 1];
bool lold[BREAKS + 1], lknows[BREAKS + 1];   /* knows: it names the detached lease */

/* A lease in other hands. */
bool outside;
byte oc = NONE, ok, ot;

/* A lease that an administrator has seen. */
byte ac = NONE, ak, at;
bool broken;

/* Budgets. */
byte extra = EXTRA, breaks = BREAKS, losses = LOSSES, cancels = CANCELS, crashes = CRASHES,
  expiries = EXPIRIES, slows = SLOWS, deafs = DEAFS, renewals = RENEWALS, detaches = DETACHES,
  admins = ADMINS, lingers = LINGERS, giveups = GIVEUPS, jumps = JUMPS, forges = FORGES;

/* What the properties remember. */
byte top;                        /* the highest token believed in */
short overs;                     /* bits: tokens of leases that ended as over */
byte ended_c = NONE, ended_k;    /* the ask that the last script of all ended */
bool ghost;                      /* a copy that came late got something */

/* Within one step only. */
hidden byte i, j, e, win, wk, res, rtok, rq, how, s_k, s_t, s_held, s_c, s_kk, s_tk, s_len;
hidden byte mk, mc, mt;
hidden byte ends, learns, lapsed, reads, late_c;
hidden byte forged;
hidden byte is_free, changed, over, old, knows, mine, mute, pass;

#define NOT 0
#define MUST(c, P) if :: (c) :: else -> printf("broken: P\n"); assert(NOT == P) fi
hidden byte S1 = 1, S2 = 1, S8 = 1, S9 = 1, S10 = 1, I2 = 1, I3 = 1, I4 = 1, I5 = 1, I8 = 1,
  I13 = 1, TOLD = 1;

#define OPEN(c) (st[c] == ASKING || st[c] == QUEUED || st[c] == CANCELLING || st[c] == CUT_OFF)
#define OURS(c) (st[c] == HELD || st[c] == CONFIRMING || st[c] == LINGERING || \
  st[c] == RELEASING)
#define BELIEVED(c, k, t) ((believes[c] && K[c] == (k) && T[c] == (t)) || \
  (outside && oc == (c) && ok == (k) && ot == (t)))
#define WAS_BROKEN(c, k, t) (broken && ac == (c) && ak == (k) && at == (t))
#define IS_OVER(t) ((overs >> (t)) & 1)
#define DETACHED(c, k, t) (oc == (c) && ok == (k) && ot == (t))

inline remove(place) {
  for (j : place .. QMAX - 2) { q[j] = q[j + 1] }
  q[QMAX - 1] = 0; qlen--
}

inline append(entry) { MUST(qlen < QMAX, I5); q[qlen] = entry; qlen++ }

inline find(c) {               /* mine: the place of C's entry, or QMAX */
  mine = QMAX;
  for (j : 0 .. QMAX - 1) {
    if :: j < qlen && EC(q[j]) == (c) && mine == QMAX -> mine = j :: else fi
  }
}

/* Who is not there, or has too much to read, misses it. A `want` that its client would ignore
 * now is the same as one lost: it is said again, or is about a lease that has gone meanwhile. */
inline tell(word, c, k, t) {
  if
  :: !mute && st[c] != DEAD && hears[c] && len(inbox[c]) < (word == WANT -> 1 : INBOX) &&
    (word != WANT || ALL_WANTS || st[c] == LINGERING || K[c] != k || !(OPEN(c) || OURS(c))) ->
    inbox[c]!word, k, t
  :: else
  fi
}

inline grant(c, k) {
  held = true; lc = c; lk = k; tk++;
#ifdef IFEQ
  renewed = false;
#endif
  MUST(tk < 16, I4);
#ifdef TOKEN_REPEATED
  if :: tk > 1 -> tk-- :: else fi;
#endif
}

/* shared/grant_next.lua; me: the caller, if it may be in the queue, else NONE. */
inline grant_next(me, ask) {
  win = NONE;
  do
  :: qlen > 0 && win == NONE ->
    e = q[0]; remove(0); ended_c = NONE; ended_k = 0;
    if
    :: EW(e) && EC(e) == (me) -> win = EC(e); wk = ask
    :: else ->
      if
      :: EW(e) && hears[EC(e)] && !pass -> win = EC(e); wk = EK(e)
      :: EW(e) && hears[EC(e)] && pass -> pass = 0; jumps--
      :: else
      fi
    fi
  :: else -> break
  od;
  if
  :: win != NONE ->
    grant(win, wk);
    if :: win != (me) -> tell(GRANT, win, wk, tk) :: else fi
  :: else
  fi
}

/* shared/end_lease.lua: the next one, or the short memory. */
inline end_lease(c, k, t) {
#ifdef LEASE_LOST_ON_RELEASE
  win = NONE;
#else
  grant_next(NONE, 0);
#endif
  if
  :: win == NONE ->
    held = false; fat = false; lc = c; lk = k; tk = t;
#ifdef NO_MEMORY
    lc = NONE; lk = 0;
#endif
#ifdef TOKEN_FORGOTTEN
    tk = 0
#endif
  :: else
  fi
}

#ifdef WANT_ONCE
#define WANTS_AGAIN changed
#else
#define WANTS_AGAIN true
#endif
/* acquire.lua with shared/contend.lua, enqueue.lua and trim.lua. */
inline s_acquire(c, k, waits) {
  changed = 0; res = 0; win = NONE;
#ifndef NO_UNTIL
  if :: old -> res = LATE :: else fi;
#endif
  is_free = !held;
  if
#ifdef DISOWNS_DETACHED
  :: !res && lc == c ->
#else
  :: !res && lc == c && !(held && knows && DETACHED(lc, lk, tk)) ->
#endif
    if
#ifdef ASK_NOT_COMPARED
    :: held -> res = AGAIN; rtok = tk
#else
    :: held && lk == k -> res = AGAIN; rtok = tk
    :: !(held && lk == k) && lk >= k -> res = ENDED
#endif
    :: else -> is_free = true
    fi
  :: else
  fi;
  find(c);
  if
  :: !res && mine < QMAX && (EK(q[mine]) > k || (EK(q[mine]) == k && !EW(q[mine]))) ->
    res = ENDED
  :: else
  fi;
  if
  :: !res ->
    if :: !is_free && over -> is_free = true; overs = overs | (1 << tk) :: else fi;
    if
    :: waits && (fat || !is_free) && !hears[c] -> res = DEAF
    :: waits && (fat || !is_free) && hears[c] ->
      fat = true;
      if
#ifndef ENTRY_TWICE
      :: mine < QMAX && EW(q[mine]) -> q[mine] = ENTRY(c, k, 1)
      :: mine < QMAX && !EW(q[mine]) -> remove(mine); append(ENTRY(c, k, 1)); changed = 1
#endif
      :: else -> append(ENTRY(c, k, 1)); changed = 1
      fi
    :: !waits && mine < QMAX && EW(q[mine]) && EK(q[mine]) < k -> remove(mine)
    :: else
    fi;
    if :: is_free && fat -> grant_next(c, k) :: else fi;
    if
    :: is_free && (win == c || win == NONE) ->
      if :: win == NONE -> grant(c, k); fat = false :: else fi;
      res = GRANTED; rtok = tk; changed = 1
    :: !(is_free && (win == c || win == NONE)) && res != DEAF && !waits ->
      res = BUSY;
#if LINGERS > 0
      if :: win == NONE -> tell(WANT, lc, lk, tk) :: else fi
#endif
    :: !(is_free && (win == c || win == NONE)) && res != DEAF && waits ->
      res = WAITING; rtok = tk;
      do
      :: win == NONE && !EW(q[0]) -> remove(0); ended_c = NONE; ended_k = 0
      :: else -> break
      od;
      if
#ifndef NO_WANT
      :: win == NONE && EC(q[0]) == c && WANTS_AGAIN -> tell(WANT, lc, lk, tk)
#endif
      :: else
      fi
    :: else
    fi
  :: else
  fi;
  MUST(!(old && changed), S10);
#ifndef ONLY_S1
  MUST(!(ended_c == c && k <= ended_k && changed), S8)
#endif
}

inline s_release(c, k, t) {
  if
#ifdef RELEASE_WITHOUT_TOKEN
  :: held && lc == c ->
#else
#ifdef RELEASE_WITHOUT_ASK
  :: held && lc == c && tk >= t ->
#else
  :: held && lc == c && lk == k && tk == t ->
#endif
#endif
    ends = 1; rtok = t; res = DONE
  :: else ->
    if
    :: !held && lc == c && lk == k && tk == t -> res = DONE
    :: else -> res = GONE
    fi
  fi;
  MUST(!(res == DONE && broken && ac == c && ak == k && at == t), TOLD)
}

inline s_cancel(c, k) {
  res = DONE;
  if
#ifndef CANCEL_WITHOUT_ASK
  :: lc == c && !(held && knows && DETACHED(lc, lk, tk)) && lk > k -> skip
#endif
  :: else ->
    find(c);
    if
    :: mine < QMAX && EK(q[mine]) <= k ->
#ifdef NO_TOMBSTONE
      remove(mine)
#else
      if :: old -> remove(mine) :: else -> q[mine] = ENTRY(c, k, 0) fi
    :: mine == QMAX && fat && !old -> append(ENTRY(c, k, 0))
#endif
    :: else
    fi;
    if
#ifndef CANCEL_FORGETS_HANDOFF
    :: lc == c && held && !(knows && DETACHED(lc, lk, tk)) -> ends = 1; rtok = tk
#endif
    :: else ->
      if :: !held && !fat -> lc = c; lk = k :: else fi
    fi
  fi
}

inline s_renew(c, k, t) {
#ifdef RENEW_CREATES
  if
  :: !held -> held = true; lc = c; lk = k; tk = t; MUST(t > top, S9)
  :: else
  fi;
#endif
  if
  :: held && lc == c && lk == k && tk == t ->
    res = DONE;
#ifdef IFEQ
    renewed = true
#endif
  :: else -> res = GONE
  fi
}

#ifdef IFEQ
#ifdef IFEQ_READS_FAT     /* as if the queue were not part of what is compared */
#define IS_THIN true
#else
#define IS_THIN (!fat && !renewed)
#endif
#ifdef IFEQ_WITHOUT_TOKEN
#define IS_STRING(c, k, t) (held && IS_THIN && lc == c)
#else
#define IS_STRING(c, k, t) (held && IS_THIN && lc == c && lk == k && tk == t)
#endif
/* SET <lock> =C:K:T IFEQ <the string of the grant> KEEPTTL: no queue, so nothing is handed on. */
inline s_release_if(c, k, t) {
  if
  :: IS_STRING(c, k, t) ->
    held = false; res = DONE;
#ifdef DELIFEQ            /* DELIFEQ <lock> <the string of the grant> */
    lc = NONE; lk = 0
#endif
  :: else -> res = NOTHING
  fi;
  MUST(!(res == DONE && broken && ac == c && ak == k && at == t), TOLD)
}
#endif

inline s_break(c, k, t) {
  res = GONE;
  if
#ifdef BREAK_ANYBODY
  :: held ->
#else
  :: held && lc == c && lk == k && tk == t ->
#endif
    MUST(lc == c && lk == k && tk == t, I3);
    broken = true; res = DONE; ends = 1;
#ifdef BREAK_KEEPS_TOKEN
    rtok = t;
#else
    rtok = t + 1;
#endif
    tell(LOST, c, k, t)
  :: else
  fi
}

/* What every script must leave. */
inline after_script(c) {
  MUST(held || qlen == 0, I8);
  for (i : 0 .. N - 1) {
    e = 0;
    for (j : 0 .. QMAX - 1) { if :: j < qlen && EC(q[j]) == i -> e++ :: else fi }
    MUST(e <= 1, I5);
#ifndef ONLY_S1
    MUST(!believes[i] || WAS_BROKEN(i, K[i], T[i]) ||
      (held && lc == i && lk == K[i] && tk == T[i]), I2)
#endif
  }
}

inline execute(kind, c, k, t) {
  ends = 0;
  if
  :: kind == ACQUIRE_WAIT || kind == ACQUIRE_TRY -> s_acquire(c, k, (kind == ACQUIRE_WAIT))
  :: kind == CANCEL -> s_cancel(c, k)
  :: kind == RELEASE || kind == STRAY -> s_release(c, k, t)
  :: kind == RENEW -> s_renew(c, k, t)
  :: kind == BREAK -> s_break(c, k, t)
#ifdef IFEQ
  :: kind == RELEASE_IF -> s_release_if(c, k, t)
#endif
  fi;
  if :: ends -> end_lease(c, k, rtok) :: else fi
}

/* Runs a script; with TWICE a second time at once, which must change nothing (I13). */
inline run_script(kind, c, k, t) {
  d_step {
    execute(kind, c, k, t);
#ifdef TWICE
    s_held = held; s_c = lc; s_kk = lk; s_tk = tk; s_len = qlen; s_t = 0; over = 0; mute = 1;
    for (j : 0 .. QMAX - 1) { s_t = s_t * 7 + q[j] }
    execute(kind, c, k, t);
    e = 0; mute = 0;
    for (j : 0 .. QMAX - 1) { e = e * 7 + q[j] }
    MUST(s_held == held && s_c == lc && s_kk == lk && s_tk == tk && s_len == qlen && s_t == e, I13);
#endif
    /* What a copy that comes now must find: its ask is over, and nobody passed since. */
    if
    :: (kind == CANCEL && !old && (fat || !held)) ||
      ((kind == RELEASE || kind == RELEASE_IF) && !held && res == DONE) ->
      ended_c = c; ended_k = k
    :: else -> if :: ended_c != c -> ended_c = NONE; ended_k = 0 :: else fi
    fi;
    after_script(c)
  }
}

/* Whether a lease may be taken as over by this request; OVER_TOO_EARLY: in use. */
#ifdef OVER_TOO_EARLY
#define MAY_BE_OVER(c) (held && lc != (c))
#else
#define MAY_BE_OVER(c) (held && (lc != (c) || DETACHED(lc, lk, tk)) && \
  !BELIEVED(lc, lk, tk) && (st[lc] == DEAD || expiries > 0))
#endif

/* Runs request rq of C at the server, with what the clocks say there. */
inline arrive(c) {
  over = 0; pass = 0;
  if
  :: (rq == ACQUIRE_WAIT || rq == ACQUIRE_TRY) && MAY_BE_OVER(c) && st[lc] == DEAD -> over = 1
  :: (rq == ACQUIRE_WAIT || rq == ACQUIRE_TRY) && MAY_BE_OVER(c) && st[lc] != DEAD ->
    over = 1; if :: expiries > 0 -> expiries-- :: else fi
  :: !((rq == ACQUIRE_WAIT || rq == ACQUIRE_TRY) && MAY_BE_OVER(c) && st[lc] == DEAD)
#if JUMPS > 0
  :: jumps > 0 -> pass = 1
#endif
  fi;
  run_script(rq, c, s_k, s_t);
  printf("C%d request %d ask %d token %d, over %d: answer %d token %d; now held %d by %d:%d:%d, queue %d %d %d\n",
    c, rq, s_k, s_t, over, res, rtok, held, lc, lk, tk, q[0], q[1], q[QMAX - 1])
}

inline next_ask(c) {
  K[c]++; MUST(K[c] < 8, I4);
  st[c] = ASKING; sent[c] = false; again[c] = false; T[c] = 0; rk[c] = 0; rt[c] = 0
}

/* Another state: what the connection has yet to answer is of no interest any more. */
inline turn(c, state) {
  st[c] = state; rk[c] = 0; rt[c] = 0; sent[c] = false; again[c] = false
}

/* Nothing of ours is left: the next claim, if one waits. */
inline settle(c) {
  T[c] = 0;
  if :: wish[c] -> next_ask(c) :: else -> turn(c, IDLE); trying[c] = false fi
}

/* What an answer of now makes of C; learns: a grant that is C's to believe in, token mt. */
inline read_answer(c) {
  printf("C%d is answered %d token %d\n", c, rk[c], rt[c]);
  if
  :: rk[c] == GRANTED || rk[c] == AGAIN -> learns = 1; mt = rt[c]; lapsed = IS_OVER(mt)
  :: rk[c] == WAITING -> st[c] = QUEUED; T[c] = rt[c]; rk[c] = 0; rt[c] = 0
  :: rk[c] == BUSY ->
    wish[c] = false;
    if :: again[c] -> turn(c, CANCELLING) :: else -> settle(c) fi
  :: rk[c] == ENDED -> next_ask(c)
  :: rk[c] == DEAF -> st[c] = CUT_OFF; rk[c] = 0
  :: rk[c] == LATE -> rk[c] = 0
#ifdef NOTHING_IS_DONE
  :: rk[c] == NOTHING -> settle(c)
#else
  :: rk[c] == NOTHING -> rk[c] = 0        /* the script decides */
#endif
  :: rk[c] == DONE || rk[c] == GONE ->
    if
    :: st[c] == RELEASING || st[c] == CANCELLING -> settle(c)
    :: st[c] == CONFIRMING && rk[c] == DONE -> learns = 1; mt = T[c]; lapsed = IS_OVER(mt)
    :: st[c] == CONFIRMING && rk[c] == GONE -> next_ask(c)
    :: (st[c] == HELD || st[c] == LINGERING) && rk[c] == DONE -> rk[c] = 0
    :: (st[c] == HELD || st[c] == LINGERING) && rk[c] == GONE ->
      believes[c] = false; turn(c, RELEASING)
    fi
  fi
}

/* A grant that C learns of. By the clock it may be too late to believe in it. */
inline learn(c) {
  if
  :: !lapsed ->
    T[c] = mt; turn(c, HELD); believes[c] = true; wish[c] = false; trying[c] = false;
    printf("C%d believes in %d:%d\n", c, K[c], mt);
    d_step {
      e = (outside && !WAS_BROKEN(oc, ok, ot) -> 1 : 0);
      for (i : 0 .. N - 1) {
        if :: believes[i] && !WAS_BROKEN(i, K[i], T[i]) -> e++ :: else fi
      }
      MUST(e <= 1, S1);
#ifndef ONLY_S1
      MUST(mt > top || WAS_BROKEN(c, K[c], mt), S2);
#endif
      if :: mt > top -> top = mt :: else fi
    }
  :: lapsed || slows > 0 ->
    if :: !lapsed -> slows-- :: else fi;
    T[c] = mt;
    if :: how = RELEASING :: how = CONFIRMING fi;
    turn(c, how)
  fi
}

/* Sends rq: executed now, now but without an answer, or later, from an old connection. */
inline send(c) {
  old = 0; rtok = 0; knows = (oc == c);
  if
  :: how = 0
#if BREAKS > 0
  :: breaks > 0 -> how = 1; breaks--
  :: breaks > 0 ->
    how = 2; breaks--;
    printf("C%d request %d ask %d token %d is held up\n", c, rq, s_k, s_t);
    lkind[ln] = rq; lwho[ln] = c; lask[ln] = s_k; ltok[ln] = s_t;
    lknows[ln] = knows; ln++
#endif
  fi;
  if :: how != 2 -> arrive(c) :: else fi;
  if
  :: how == 0 && rq != STRAY ->
    rk[c] = res;
    if
    :: res == GRANTED || res == AGAIN || res == WAITING -> rt[c] = rtok
    :: else
    fi;
    reads = !(res == GRANTED || res == AGAIN || SLOW_ANSWERS)
  :: else
  fi
}

#ifdef NO_GIVE_BACK
#define GIVES_BACK(c, k, t) false
#else
#define GIVES_BACK(c, k, t) (!DETACHED(c, k, t))
#endif
#ifdef GRANT_WITHOUT_ASK
#define IS_OPEN_ASK(c, k) OPEN(c)
#else
#define IS_OPEN_ASK(c, k) (OPEN(c) && K[c] == k)
#endif
#ifdef NO_NONCE
#define IS_PROVEN true
#else
#define IS_PROVEN !forged
#endif
#ifdef HEAL_WITHOUT_TOKEN
#define IS_KNOWN(c, k) OPEN(c)
#else
#define IS_KNOWN(c, k) ((OPEN(c) || OURS(c)) && K[c] == k)
#endif
#ifdef NO_NEWEST
#define IS_NEW(c, t) true
#else
#define IS_NEW(c, t) (t > T[c])
#endif

/* A message, or its loss: who may not read it is as if it had not been sent. */
inline read_message(c) {
  inbox[c]?mc, mk, mt;
  forged = mk >= FORGED;
  if :: forged -> mk = mk - FORGED :: else fi;
  printf("C%d reads %d of %d:%d, forged %d\n", c, mc, mk, mt, forged);
  if
#if LOSSES > 0
  :: losses > 0 -> printf("  no, it is lost\n"); if :: losses < 255 -> losses-- :: else fi
#endif
  :: mc == GRANT && IS_OPEN_ASK(c, mk) ->
    /* It was granted after the request that was answered with T: so the clock tells. */
    if
    /* Without the nonce it is a reason to poll, which C may do at any time. */
    :: st[c] != CANCELLING && IS_NEW(c, mt) && IS_PROVEN -> learns = 1; lapsed = IS_OVER(mt) && mt > T[c]
    :: else
    fi
  :: mc != LOST && !(mc == GRANT && IS_OPEN_ASK(c, mk)) && !IS_KNOWN(c, mk) ->
    if
    :: GIVES_BACK(c, mk, mt) -> rq = STRAY; s_k = mk; s_t = mt
    :: else
    fi
  :: mc == WANT && st[c] == LINGERING && K[c] == mk -> believes[c] = false; turn(c, RELEASING)
  :: mc == LOST && st[c] == LINGERING && K[c] == mk && T[c] == mt ->
    believes[c] = false; turn(c, RELEASING)
  /* The answer to a renewal says whether it is so. */
  :: mc == LOST && st[c] == HELD && K[c] == mk && T[c] == mt && rk[c] == 0 ->
    rq = RENEW; s_k = mk; s_t = mt
  :: else
  fi
}

#ifdef NO_POLL
#define POLLS false
#else
#define POLLS true
#endif

proctype Client(byte c) {
  do
  :: atomic {
    if
    /* The program wants the name. Clients are alike: they begin in the order of numbers. */
    :: st[c] == IDLE && (!asked[c] || extra > 0) && (c == 0 || asked[c - 1]) ->
      if :: asked[c] -> extra-- :: else -> asked[c] = true fi;
      wish[c] = true;
      if :: trying[c] = false :: trying[c] = true fi;
      next_ask(c)

    /* Asks, polls, leaves, renews. */
    :: rk[c] == 0 && (st[c] == ASKING || (POLLS && st[c] == QUEUED)) ->
      again[c] = sent[c]; sent[c] = true;
      rq = (trying[c] -> ACQUIRE_TRY : ACQUIRE_WAIT); s_k = K[c]; s_t = 0
    :: rk[c] == 0 && st[c] == RELEASING -> rq = RELEASE; s_k = K[c]; s_t = T[c]
#ifdef IFEQ
    :: rk[c] == 0 && st[c] == RELEASING && !sent[c] ->
      sent[c] = true; rq = RELEASE_IF; s_k = K[c]; s_t = T[c]
#endif
    :: rk[c] == 0 && st[c] == CANCELLING -> rq = CANCEL; s_k = K[c]; s_t = 0
    :: rk[c] == 0 && (st[c] == CONFIRMING || (st[c] == HELD && renewals > 0)) ->
      if :: st[c] == HELD -> renewals-- :: else fi;
      rq = RENEW; s_k = K[c]; s_t = T[c]

    :: rk[c] != 0 -> reads = 1
    :: st[c] != DEAD && len(inbox[c]) > 0 -> read_message(c)

    /* The program is done with it. */
    :: st[c] == HELD -> believes[c] = false; turn(c, RELEASING)
#if LINGERS > 0
    :: st[c] == HELD && lingers > 0 && hears[c] -> lingers--; turn(c, LINGERING)
    :: st[c] == LINGERING && extra > 0 -> extra--; st[c] = HELD
#endif
#if DETACHES > 0
    :: st[c] == HELD && detaches > 0 ->
      detaches--; believes[c] = false; outside = true; oc = c; ok = K[c]; ot = T[c];
      settle(c)
#endif

    /* It has waited long enough. */
#if CANCELS > 0
    :: cancels > 0 && wish[c] && (OPEN(c) && sent[c] || st[c] == CONFIRMING) ->
      cancels--; wish[c] = false;
#ifdef CANCEL_RELEASES
      how = (st[c] == CONFIRMING -> RELEASING : CANCELLING);
#else
      how = CANCELLING;
#endif
      turn(c, how)
#endif
#if GIVEUPS > 0
    :: giveups > 0 && (st[c] == RELEASING || st[c] == CANCELLING) -> giveups--; settle(c)
#endif

    /* What goes wrong at its end. */
#if CRASHES > 0
    :: crashes > 0 && st[c] != DEAD && asked[c] ->
      crashes--; believes[c] = false; wish[c] = false; trying[c] = false; T[c] = 0;
      turn(c, DEAD);
      do :: len(inbox[c]) > 0 -> inbox[c]?mc, mk, mt :: else -> break od;
      if :: hears[c] = false :: true fi
#endif
#if DEAFS > 0
    :: deafs > 0 && hears[c] && asked[c] && st[c] != DEAD ->
      deafs--; hears[c] = false;
      if :: st[c] == LINGERING -> believes[c] = false; turn(c, RELEASING) :: else fi;
      do :: len(inbox[c]) > 0 -> inbox[c]?mc, mk, mt :: else -> break od
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

/* A copy of an ask that a cancel ends. The `until` of a cancel is not before that of any of them. */
#define IS_YOUNG_ASK(y, x) \
  ((lkind[y] == ACQUIRE_WAIT || lkind[y] == ACQUIRE_TRY) && !lold[y] && lwho[y] == lwho[x] && \
   lask[y] <= lask[x])
#define MAY_GET_OLD(x) \
  (!lold[x] && (lkind[x] == ACQUIRE_WAIT || lkind[x] == ACQUIRE_TRY || \
                (lkind[x] == CANCEL && !IS_YOUNG_ASK(0, x) && !IS_YOUNG_ASK(1, x))))

#define COMES_LATE(x) \
  :: lkind[x] -> \
    old = lold[x]; knows = lknows[x]; rq = lkind[x]; late_c = lwho[x]; s_k = lask[x]; s_t = ltok[x]; \
    printf("late, old %d:\n", old); \
    lkind[x] = 0; lwho[x] = 0; lask[x] = 0; ltok[x] = 0; lold[x] = false; \
    lknows[x] = false \
  :: MAY_GET_OLD(x) -> lold[x] = true \
  :: lkind[x] -> lkind[x] = 0; lwho[x] = 0; lask[x] = 0; ltok[x] = 0; lold[x] = false; \
    lknows[x] = false

/* Old connections (late, older than `until`, or never), an administrator, and whoever has
 * the detached lease. */
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
#if DETACHES > 0
    :: outside -> outside = false; rq = RELEASE; late_c = oc; s_k = ok; s_t = ot
#endif
#if FORGES > 0
    :: forges > 0 && held && OPEN(0) && K[0] < FORGED && hears[0] && len(inbox[0]) < INBOX ->
      forges--; inbox[0]!GRANT, K[0] + FORGED, tk + 1
    :: forges > 0 && held && OPEN(1) && K[1] < FORGED && hears[1] && len(inbox[1]) < INBOX ->
      forges--; inbox[1]!GRANT, K[1] + FORGED, tk + 1
    :: forges > 0 && held && OURS(0) && hears[0] && len(inbox[0]) < INBOX ->
      forges--; inbox[0]!LOST, K[0], T[0]
#endif
#if ADMINS > 0
    :: held && ac == NONE -> ac = lc; ak = lk; at = tk
    :: ac != NONE && admins > 0 -> admins--; rq = BREAK; late_c = ac; s_k = ak; s_t = at
#endif
    :: false
    fi;
    if
    :: rq ->
      changed = 0; arrive(late_c);
      if :: (rq == ACQUIRE_WAIT || rq == ACQUIRE_TRY) && changed -> ghost = true :: else fi
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
#define OVER_AND_OUT(c) (st[c] == DEAD || st[c] == LINGERING || (st[c] == IDLE && asked[c]))
#if N > 2
#define ALL_OUT (OVER_AND_OUT(0) && OVER_AND_OUT(1) && OVER_AND_OUT(2))
#else
#define ALL_OUT (OVER_AND_OUT(0) && OVER_AND_OUT(1))
#endif
/* Nobody wants it: then it is free, unless its holder died, lingers or gave up insisting, or
 * a late copy got it while nobody is there to say that he wants it. */
#define IS_LEFT (!held && !fat || ghost || giveups < GIVEUPS || \
  (held && (st[lc] == DEAD || st[lc] == LINGERING)))
ltl fin { <> (ALL_OUT && NOTHING_LATE && !outside && IS_LEFT) }
