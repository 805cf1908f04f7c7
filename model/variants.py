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
holds(M, 'twice is once', 'N=2 TWICE EXTRA=1')
holds(M, 'lingering', 'N=2 LINGERS=1 EXTRA=1')
holds(M, 'gives up leaving', 'N=2 GIVEUPS=1 EXTRA=1')
holds(M, 'clock makes waiters look dead', 'JUMPS=1 BREAKS=0')
holds(M, 'answers and wants take their time', 'N=2 SLOW_ANSWERS=1 ALL_WANTS=1')
holds(M, 'progress: messages lost, cancel', 'LOSSES=1 BREAKS=0', claim='fin')
holds(M, 'progress: connection', 'N=2 LOSSES=1', claim='fin')
holds(M, 'progress: crash', 'LOSSES=1 CANCELS=0 BREAKS=0 CRASHES=1', claim='fin')
holds(M, 'progress: inbox', 'N=2 LOSSES=1 DEAFS=1', claim='fin')
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
night(M, 'night: lingering', 'CANCELS=0 LINGERS=1 EXTRA=1')
night(M, 'night: answers and wants take their time', 'SLOW_ANSWERS=1 ALL_WANTS=1')
night(M, 'night: answers take their time, leases end unseen',
      'N=2 SLOW_ANSWERS=1 ALL_WANTS=1 EXPIRIES=1 SLOWS=1')
night(M, 'night: progress', 'LOSSES=1', claim='fin')
night(M, 'night: progress, crash', 'LOSSES=1 CANCELS=0 CRASHES=1', claim='fin')

planted(M, 'NO_POLL', 'fin', 'N=2 LOSSES=1 BREAKS=0 CANCELS=0', 'fin')
planted(M, 'RELEASE_WITHOUT_TOKEN', 'S1', 'N=2 EXTRA=1 NO_I2')
planted(M, 'RELEASE_WITHOUT_ASK', 'S1', 'N=2 EXTRA=1 NO_I2')
planted(M, 'CANCEL_WITHOUT_ASK', 'S1', 'N=2 EXTRA=1 NO_I2')
planted(M, 'CANCEL_FORGETS_HANDOFF', 'fin', 'N=2 BREAKS=0 LOSSES=0', 'fin')
planted(M, 'NO_TOMBSTONE', 'S8', 'N=2')
planted(M, 'NO_UNTIL', 'S10', 'N=2')
planted(M, 'NO_MEMORY', 'S8', 'N=2')
planted(M, 'TOKEN_FORGOTTEN', 'S2', 'N=2')
planted(M, 'ASK_NOT_COMPARED', 'S1', 'N=2 EXTRA=1 GIVEUPS=1 NO_I2')
planted(M, 'GRANT_WITHOUT_ASK', 'S1', 'N=2 EXTRA=1 NO_I2')
planted(M, 'HEAL_WITHOUT_TOKEN', 'S1', 'N=2 EXTRA=1 NO_I2')
planted(M, 'NO_NEWEST', 'S1', 'N=2 EXPIRIES=1 NO_I2')
planted(M, 'ENTRY_TWICE', 'I5', 'N=2 BREAKS=0')
planted(M, 'RENEW_CREATES', 'S9', 'N=2 RENEWALS=1')
planted(M, 'BREAK_ANYBODY', 'I3', 'N=2 BREAKS=0 CANCELS=0 ADMINS=2')
planted(M, 'BREAK_KEEPS_TOKEN', 'TOLD', 'N=2 BREAKS=0 CANCELS=0 ADMINS=1')
planted(M, 'LEASE_LOST_ON_RELEASE', 'I8', 'N=2 BREAKS=0')
planted(M, 'NO_GIVE_BACK', 'fin', 'LOSSES=0 CANCELS=0', 'fin')
planted(M, 'DISOWNS_DETACHED', 'S1', 'N=2 BREAKS=0 DETACHES=1 EXTRA=1 NO_I2')
planted(M, 'OVER_TOO_EARLY', 'S1', 'N=2 BREAKS=0 NO_I2')
planted(M, 'NO_WANT', 'fin', 'N=2 BREAKS=0 LOSSES=0 LINGERS=1', 'fin')
planted(M, 'WANT_ONCE', 'fin', 'N=2 BREAKS=0 LOSSES=1 LINGERS=1', 'fin')
