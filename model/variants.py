# SPDX-License-Identifier: MIT
"""The variants of the models: budgets of faults for what must hold, and planted bugs.

A planted bug gets just the faults it needs to be found, so that it is found fast.
"""
from collections import namedtuple

Variant = namedtuple('Variant', 'model name flags expected claim nightly is_large idea')
VARIANTS = []


def holds(model, name, flags='', claim='', nightly=False, large=False, idea=''):
    VARIANTS.append(Variant(model, name, flags, 'pass', claim, nightly, large, idea))


def planted(model, bug, breaks, flags='', claim='', idea=''):
    VARIANTS.append(Variant(model, bug.lower(), f'{bug} {flags}', breaks, claim, False, False,
                            idea))


# ---- mutex.pml ----
M = 'mutex'
holds(M, 'connection and cancel')
holds(M, 'one asks again', 'BREAKS=0 EXTRA=1')
holds(M, 'crash', 'BREAKS=0 CRASHES=1')
holds(M, 'leases end unseen', 'N=2 EXPIRIES=1 SLOWS=1')
holds(M, 'inbox breaks', 'BREAKS=0 DEAFS=1')
holds(M, 'renewals come late', 'N=2 CANCELS=0 RENEWALS=1')
holds(M, 'detached', 'N=2 DETACHES=1 EXTRA=1')
holds(M, 'broken by an administrator', 'N=2 ADMINS=2')
holds(M, 'forged messages', 'N=2 FORGES=1')
holds(M, 'twice is once', 'N=2 TWICE EXTRA=1')
holds(M, 'lingering', 'N=2 LINGERS=1 EXTRA=1')
holds(M, 'gives up leaving', 'N=2 GIVEUPS=1 EXTRA=1')
holds(M, 'clock makes waiters look dead', 'JUMPS=1 BREAKS=0')
holds(M, 'answers and wants take their time', 'N=2 SLOW_ANSWERS=1 ALL_WANTS=1')
holds(M, 'release by IFEQ', 'N=2 IFEQ EXTRA=1')
holds(M, 'release by IFEQ, renewals come late', 'N=2 IFEQ CANCELS=0 RENEWALS=1 EXTRA=1')
holds(M, 'release by IFEQ, leases end unseen', 'N=2 IFEQ EXPIRIES=1 SLOWS=1')
holds(M, 'release by IFEQ, broken by an administrator', 'N=2 IFEQ ADMINS=2')
holds(M, 'progress: messages lost, cancel', 'LOSSES=1 BREAKS=0', claim='fin')
holds(M, 'progress: connection', 'N=2 LOSSES=1', claim='fin')
holds(M, 'progress: release by IFEQ', 'N=2 IFEQ LOSSES=1', claim='fin')
holds(M, 'progress: crash', 'LOSSES=1 CANCELS=0 BREAKS=0 CRASHES=1', claim='fin')
holds(M, 'progress: inbox', 'N=2 LOSSES=1 DEAFS=1', claim='fin')
holds(M, 'progress: leases end unseen', 'N=2 LOSSES=0 BREAKS=0 EXPIRIES=1 SLOWS=1',
      claim='fin')
holds(M, 'progress: lingering yields', 'N=2 LOSSES=1 LINGERS=1', claim='fin')
holds(M, 'progress: waiters look dead', 'LOSSES=0 BREAKS=0 JUMPS=1', claim='fin')


def night(*args, **words):
    holds(*args, nightly=True, large=True, **words)


night(M, 'night: one asks again', 'EXTRA=1')
night(M, 'night: two connections', 'CANCELS=0 BREAKS=2')
night(M, 'night: crash', 'CRASHES=1')
night(M, 'night: leases end unseen', 'N=2 EXPIRIES=1 SLOWS=1 EXTRA=1 BREAKS=2')
night(M, 'night: three, a lease ends unseen', 'EXPIRIES=1 SLOWS=1')
night(M, 'night: inbox breaks', 'DEAFS=1')
night(M, 'night: renewals come late', 'N=2 RENEWALS=1 EXTRA=1 BREAKS=2')
night(M, 'night: broken by an administrator', 'ADMINS=2 CANCELS=0')
night(M, 'night: release by IFEQ', 'IFEQ RENEWALS=1')
night(M, 'night: release by IFEQ, two connections',
      'N=2 IFEQ RENEWALS=1 EXTRA=1 BREAKS=2')
night(M, 'night: lingering', 'CANCELS=0 LINGERS=1 EXTRA=1')
night(M, 'night: answers and wants take their time', 'SLOW_ANSWERS=1 ALL_WANTS=1')
night(M, 'night: answers take their time, leases end unseen',
      'N=2 SLOW_ANSWERS=1 ALL_WANTS=1 EXPIRIES=1 SLOWS=1')
night(M, 'night: progress', 'LOSSES=1', claim='fin')
night(M, 'night: progress, crash', 'LOSSES=1 CANCELS=0 CRASHES=1', claim='fin')

planted(M, 'NO_POLL', 'fin', 'N=2 LOSSES=1 BREAKS=0 CANCELS=0', 'fin',
        idea="A's release grants B; the message is lost; B sleeps for ever")
planted(M, 'RELEASE_WITHOUT_TOKEN', 'S1', 'N=2 EXTRA=1 ONLY_S1',
        idea="A's release is held up, A sends it again, asks anew and holds; the old one arrives")
planted(M, 'RELEASE_WITHOUT_ASK', 'S1', 'N=2 EXTRA=1 ONLY_S1',
        idea='the same, the token looked at but as "at least"')
planted(M, 'CANCEL_WITHOUT_ASK', 'S1', 'N=2 EXTRA=1 ONLY_S1',
        idea="A's cancel is held up, sent again; A asks anew and holds; the old cancel arrives (F1)")
planted(M, 'NO_NONCE', 'S1', 'N=2 BREAKS=0 CANCELS=0 FORGES=1 ONLY_S1',
        idea='A holds, B is queued; somebody publishes a grant to B')
planted(M, 'CANCEL_FORGETS_HANDOFF', 'fin', 'N=2 BREAKS=0 LOSSES=0', 'fin',
        idea="B is granted by A's release and cancels before it reads so")
planted(M, 'NO_TOMBSTONE', 'S8', 'N=2',
        idea="B's poll is held up, B cancels, the poll queues B again")
planted(M, 'NO_UNTIL', 'S10', 'N=2',
        idea='a request is held up past its until, and is served')
planted(M, 'NO_MEMORY', 'S8', 'N=2',
        idea='A is granted and releases; a copy of its acquire is granted once more (F13)')
planted(M, 'TOKEN_FORGOTTEN', 'S2', 'N=2',
        idea='A holds and releases; B is granted the same token')
planted(M, 'ASK_NOT_COMPARED', 'S1', 'N=2 EXTRA=1 GIVEUPS=1 ONLY_S1',
        idea="A's release of T is held up; A asks anew and is told it has T; the release arrives (F2)")
planted(M, 'GRANT_WITHOUT_ASK', 'S1', 'N=2 EXTRA=2 BREAKS=0 ONLY_S1',
        idea="B's grant waits in its inbox; B cancels, A holds; B asks anew and reads the old grant (F3)")
planted(M, 'HEAL_WITHOUT_TOKEN', 'S1', 'N=2 EXTRA=1 ONLY_S1',
        idea='B learns of its grant by an answer, reads the message, gives back what it holds (F4)')
planted(M, 'NO_NEWEST', 'S1', 'N=2 EXTRA=1 BREAKS=0 CANCELS=0 EXPIRIES=1 ONLY_S1',
        idea="B's grant is unread until it is over and A has the lock; B polls, is queued, and reads it")
planted(M, 'CANCEL_RELEASES', 'fin', 'N=2 BREAKS=0 LOSSES=0 EXPIRIES=1 SLOWS=1', 'fin',
        idea="B's grant is over unread; its poll is granted anew; B reads the first, cancels: "
        'the second is nobody\'s (this was a flaw of src/lock)')
planted(M, 'ENTRY_TWICE', 'I5', 'N=2 BREAKS=0',
        idea='B polls')
planted(M, 'RENEW_CREATES', 'S9', 'N=2 RENEWALS=1',
        idea="A's renewal is held up, A releases, the renewal arrives")
planted(M, 'BREAK_ANYBODY', 'I3', 'N=2 BREAKS=0 CANCELS=0 ADMINS=2',
        idea='an administrator sees A, A releases, B holds, the break arrives (F8)')
planted(M, 'BREAK_KEEPS_TOKEN', 'TOLD', 'N=2 BREAKS=0 CANCELS=0 ADMINS=1',
        idea="A's lease is broken; its release is told that all was well")
planted(M, 'LEASE_LOST_ON_RELEASE', 'I8', 'N=2 BREAKS=0',
        idea='A releases while B is queued')
planted(M, 'NO_GIVE_BACK', 'fin', 'LOSSES=0 CANCELS=0', 'fin',
        idea="a late copy of A's acquire is granted when A has long gone; B waits behind it")
planted(M, 'DISOWNS_DETACHED', 'S1', 'N=2 BREAKS=0 DETACHES=1 EXTRA=1 ONLY_S1',
        idea='A detaches its hold and asks anew')
planted(M, 'OVER_TOO_EARLY', 'S1', 'N=2 BREAKS=0 ONLY_S1',
        idea='B asks while A holds')
planted(M, 'NO_WANT', 'fin', 'N=2 BREAKS=0 LOSSES=0 LINGERS=1', 'fin',
        idea='A lingers; B waits')
planted(M, 'WANT_ONCE', 'fin', 'N=2 BREAKS=0 LOSSES=1 LINGERS=1', 'fin',
        idea="A lingers; B's only want is lost")
planted(M, 'DELIFEQ', 'S8', 'N=2 IFEQ',
        idea='A is granted and releases by DELIFEQ; a copy of its acquire is granted once more')
planted(M, 'IFEQ_READS_FAT', 'I8', 'N=2 IFEQ BREAKS=0',
        idea='A holds, B is queued; what A compares says nothing of the queue')
planted(M, 'IFEQ_WITHOUT_TOKEN', 'S1', 'N=2 IFEQ EXTRA=1 ONLY_S1',
        idea="A's release is held up, A sends the script, asks anew and holds; the old one arrives")
planted(M, 'NOTHING_IS_DONE', 'fin', 'N=2 IFEQ BREAKS=0 LOSSES=0', 'fin',
        idea='A holds, B is queued; A takes the missing answer for a release')

# ---- share.pml ----
S = 'share'
for kind, word in (('', 'readers and writers'), (' SEM', 'permits')):
    holds(S, word + ': connection and cancel', 'N=2' + kind)
    holds(S, word + ': cancel', 'BREAKS=0' + kind)
    holds(S, word + ': crash', 'BREAKS=0 CANCELS=0 CRASHES=1' + kind)
    holds(S, word + ': leases end unseen', 'N=2 CANCELS=0 EXPIRIES=1' + kind)
    night(S, 'night: ' + word + ', leases end unseen', 'N=2 EXPIRIES=1 SLOWS=1' + kind)
    holds(S, word + ': progress', 'N=2 LOSSES=1' + kind, claim='fin')
    night(S, 'night: ' + word + ', progress of three', 'LOSSES=1 BREAKS=0' + kind, claim='fin')
    night(S, 'night: ' + word + ', connection', 'CANCELS=0' + kind)
    night(S, 'night: ' + word + ', connection and cancel', kind.strip())
    night(S, 'night: ' + word + ', cancel', 'BREAKS=0 EXTRA=1' + kind)
    night(S, 'night: ' + word + ' twice', 'N=2 EXTRA=2 BREAKS=2' + kind)
    night(S, 'night: ' + word + ', inbox breaks', 'DEAFS=1 CANCELS=0' + kind)
    night(S, 'night: ' + word + ', crash', 'CRASHES=1 CANCELS=0' + kind)
    night(S, 'night: ' + word + ', progress', 'LOSSES=1' + kind, claim='fin')
holds(S, 'a writer goes on as a reader', 'DOWNGRADES=1 BREAKS=0')
holds(S, 'progress: three readers and writers', 'LOSSES=1 BREAKS=0 CANCELS=0', claim='fin')
holds(S, 'progress: a downgrade', 'N=2 LOSSES=1 BREAKS=0 DOWNGRADES=1', claim='fin')
night(S, 'night: progress, a downgrade', 'N=2 LOSSES=1 DOWNGRADES=1', claim='fin')
night(S, 'night: a writer goes on as a reader', 'DOWNGRADES=1 CANCELS=0')
holds(S, 'inbox breaks', 'N=2 DEAFS=1')
holds(S, 'progress: crash', 'N=2 LOSSES=1 CRASHES=1 CANCELS=0', claim='fin')

planted(S, 'NO_POLL', 'fin', 'N=2 LOSSES=1 BREAKS=0 CANCELS=0', 'fin',
        idea='the message share is lost')
planted(S, 'NO_UNTIL', 'S10', 'N=2',
        idea='a request is held up past its until, and is served')
planted(S, 'NO_TOMBSTONE', 'S8', 'N=2',
        idea="A's acquire is held up, A cancels, the copy is granted")
planted(S, 'ENTRY_TWICE', 'I5', 'N=2 BREAKS=0',
        idea='B polls')
planted(S, 'READER_PASSES_WRITER', 'L4', 'BREAKS=0 CANCELS=0',
        idea='A reads, B waits to write, C comes to read')
planted(S, 'PUMP_ONE', 'I8', 'BREAKS=0 CANCELS=0',
        idea='A writes, B and C wait to read, A releases')
planted(S, 'NO_PUMP_ON_CANCEL', 'I8', 'BREAKS=0',
        idea='A reads, B waits to write, C behind it to read; B cancels')
planted(S, 'USED_FORGOTTEN', 'USED', 'N=2 BREAKS=0',
        idea='a writer releases')
planted(S, 'WRITES_FORGOTTEN', 'S4', 'N=2 BREAKS=0',
        idea='a writer releases')
planted(S, 'NO_NEWEST', 'S4', 'N=2 EXTRA=1 BREAKS=0 CANCELS=0 EXPIRIES=1 ONLY_BELIEF',
        idea="B's share is unread until it is over and A writes; B polls, is queued, and reads it")
planted(S, 'DOWNGRADE_AFTER_ANSWER', 'S4', 'N=2 BREAKS=0 DOWNGRADES=1 ONLY_BELIEF',
        idea='a reader is let in between the script and its answer')

# ---- quorum.pml ----
Q = 'quorum'
holds(Q, 'a late grant', 'ROUNDS=1')
holds(Q, 'a token is proposed', 'ROUNDS=1 PROPOSES=1')
holds(Q, 'a server restarts empty', 'ROUNDS=1 RESTARTS=1 LATES=0')
night(Q, 'night: two rounds', 'LATES=0')
night(Q, 'night: two rounds, a late grant')
night(Q, 'night: two rounds, a restart', 'RESTARTS=1')
night(Q, 'night: two rounds, a token is proposed', 'PROPOSES=1')
night(Q, 'night: three clients', 'CLIENTS=3 ROUNDS=1')
night(Q, 'night: three clients, a restart', 'CLIENTS=3 ROUNDS=1 RESTARTS=1')
night(Q, 'night: five servers', 'S=5 ROUNDS=1')
planted(Q, 'NO_RAISE', 'S2', 'LATES=0',
        idea='A holds {1, 2} by a token that only 2 gave; B takes {1, 3} and gets the same again')
planted(Q, 'TOKEN_BY_MIN', 'S2', 'LATES=0',
        idea='the lowest of the tokens, which a majority has without any raise')
planted(Q, 'HALF', 'S1', 'ROUNDS=1 LATES=0 ONLY_S1', idea='A and B have one of three each')
planted(Q, 'LATE_KEPT', 'LEFT', 'ROUNDS=1', idea='a grant arrives when its round is over')
planted(Q, 'NO_QUARANTINE', 'S1', 'ROUNDS=1 RESTARTS=1 LATES=0 ONLY_S1',
        idea='A holds {1, 2}; 2 comes back empty; B takes {2, 3}')
planted(Q, 'NO_CLOCK', 'S2', 'ROUNDS=1 RESTARTS=1 LATES=0',
        idea='A holds {1, 2} and leaves; 2 comes back, late enough, but with its tokens lost')

# ---- era.pml ----
E = 'era'
holds(E, 'a failover', 'TTL=2 LAG=2 DOWN=2')
night(E, 'night: longer leases', 'TTL=3 LAG=3 DOWN=3 CUT=2')
night(E, 'night: clocks apart', 'TTL=2 LAG=2 DOWN=2 SKEW=1')
planted(E, 'NO_GUARD', 'S1', 'TTL=2 LAG=2 DOWN=2',
        idea='A is granted, the copy does not have it; B is granted at the new primary')
planted(E, 'NO_MIN_REPLICAS', 'S1', 'TTL=2 LAG=2 DOWN=2',
        idea='the old primary grants A after the quarantine of the new one is over')
planted(E, 'LAG=4', 'S1', 'TTL=2 DOWN=2 Q=8',
        idea='A survives and renews at the new primary; its lease at the old one runs out there, '
             'and B has it: whatever Q is')
planted(E, 'Q=0', 'S1', 'TTL=2 LAG=2 DOWN=2', idea='a quarantine shorter than the lease')
planted(E, 'HANDOVER_UNGUARDED', 'S1', 'TTL=2 LAG=2 DOWN=2',
        idea='A released at the old one, B has it there; the release comes to the new one, too')
