#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where two options meet: each pair that could contradict itself works together, or is refused
with 64 and both names. Walked against the real command on a real server. The pairs that exclude
each other are in src/cli/option_pairs.c; an option that takes a value needs one in WORDS, and one
that `dibs run` does not have needs a subcommand in COMMANDS."""
import os
import re

from harness import *  # noqa
import harness

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')

# How each option is written where it takes a value, and a subcommand that has it: 'run' unless
# said.
WORDS = {
    'url': '--url URL', 'config': '--config /dev/null', 'user': '--user u',
    'pass-file': '--pass-file /dev/null', 'wait': '--wait 5s',
    'conflict-exit-code': '--conflict-exit-code 9', 'permits': '--permits 2', 'take': '--take 1',
    'multi': '--multi a,b',
    'replicas': '--replicas 1', 'ttl': '--ttl 5s', 'max-hold': '--max-hold 60s',
    'for-pid': '--for-pid 1', 'status-file': '--status-file /dev/null',
    'status-fd': '--status-fd 3', 'kind': '--kind lock', 'sort': '--sort name',
    'record': '--record /dev/null', 'replay': '--replay /dev/null',
}
COMMANDS = {'free': 'wait', 'held': 'wait', 'zero': 'wait', 'leader': 'wait',
            'for-pid': 'acquire', 'no-renew': 'acquire', 'sh': 'acquire', 'dot': 'status',
            'graph': 'status',
            'functions': 'acl', 'sentinel': 'acl', 'replay': 'top', 'record': 'top'}


def _pairs_of_the_source():
    with open(os.path.join(ROOT, 'src/cli/option_pairs.c')) as f:
        return re.findall(r'^  \{ "([\w-]+)", "([\w-]+)", "', f.read(), re.M)


def _words(option):
    return WORDS.get(option, '--' + option)


def _line(command, options):
    words = [w.replace('URL', harness.server.url) for w in options.split()]
    names = [] if '--multi' in words else ['pair']
    if command == 'run':
        return [command, *words, *names, '--', 'true']
    return [command, *words, *([] if command in ('status', 'acl', 'local') else names)]


def pairs_that_exclude_each_other_are_refused_with_both_names():
    pairs = _pairs_of_the_source()
    assert len(pairs) > 40, pairs
    for one, other in pairs:
        command = COMMANDS.get(one, COMMANDS.get(other, 'run'))
        for a, b in ((one, other), (other, one)):
            done = dibs(*_line(command, _words(a) + ' ' + _words(b)), env={'DIBS_URL': None})
            out = '(exit 64)\n' if 'sh' in (a, b) else ''         # which a script evaluates
            equal((done.code, done.out), (64, out), (command, a, b, done))
            for option in (a, b):
                contains(done.err, '--%s ' % option)


# What is refused by values, by the subcommand or by the library: with these words.
REFUSED = [
    ('run', '--ttl 9s --max-hold 5s', 64, ['--ttl', '--max-hold']),
    ('run', '--max-hold 5s --min-hold 9s', 64, ['--min-hold', '--max-hold']),
    ('run', '--permits 2 --take 3', 64, ['--permits', '--take']),
    ('run', '--fsync', 64, ['--fsync', '--replicas']),
    ('run', '--replicas 0', 64, ['--replicas', '1 to 100']),
    ('run', '--replicas most', 64, ['--replicas', '"most"']),
    ('run', '--plain-permits', 64, ['--plain-permits', '--permits']),
    ('acquire', '--plain-permits --permits 2', 64, ['--plain-permits', 'dibs run']),
    ('acquire', '--max-hold 60s', 64, ['--max-hold', '--for-pid']),
    ('acquire', '--skip-ok', 64, ['--skip-ok', 'without the lock']),
    ('acquire', '--no-renew -n -E 0', 64, ['-E 0', 'without the lock']),
    ('run', '--dialect spring', 78, ['spring', 'registry']),
    ('run', '--registry r', 64, ['registry', 'spring']),
    ('run', '--cacert /nowhere', 78, ['cacert', 'TLS']),
    ('run', '--dialect plain --shared', 81, ['plain']),
    ('run', '--dialect plain --permits 2', 81, ['plain']),
    ('run', '--dialect spring --registry r --shared', 81, ['spring']),
    ('run', '--dialect spring --registry r --permits 2', 81, ['spring']),
    ('run', '--spin', 81, ['--spin']),
    ('elect', 'observe --loop', 64, ['observe', '--loop']),
    ('elect', 'run --yes', 64, ['--yes', 'break']),
    ('release', '--yes', 64, ['--yes', 'dibs break']),
    ('latch', 'set --wait 5s', 64, ['dibs latch set ', '--wait', 'dibs latch wait']),
    ('latch', 'down --wait 5s', 64, ['dibs latch down ', '--wait', 'dibs latch wait']),
    ('latch', 'wait --once a', 64, ['dibs latch wait ', '--once', 'dibs latch down']),
    ('barrier', 'show --parties 2', 64, ['dibs barrier show ', '--parties', 'dibs barrier wait']),
    ('barrier', 'reset --wait 5s', 64, ['dibs barrier reset ', '--wait', 'dibs barrier wait']),
    ('rate', 'set -n', 64, ['dibs rate set ', '--nonblock', 'dibs rate take']),
    ('rate', 'take --per-client', 64, ['dibs rate take ', '--per-client', 'dibs rate set']),
    ('elect', 'break -n', 64, ['dibs elect break ', '--nonblock', 'dibs elect run']),
    ('elect', 'observe --ttl 5s', 64, ['dibs elect observe ', '--ttl', 'dibs elect run']),
    ('local', 'stop --aof', 64, ['dibs local stop ', '--aof', 'dibs local start']),
    ('local', 'status --force', 64, ['dibs local status ', '--force', 'dibs local stop']),
]

TOGETHER = [
    ('run', '-n --wait 0', 0), ('run', '--wait 0 --wait 5s', 0), ('wait', '--wait 0 --wait 5s', 0),
    ('run', '-n --skip-ok', 0), ('run', '--wait 5s --skip-ok', 0),
    ('run', '--skip-ok --permits 2 --ttl 5s', 0), ('run', '--fair --shared', 0),
    ('run', '--fenced', 0),
    ('run', '--fair --permits 2', 0), ('run', '--fair --multi a,b', 0),
    ('run', '--permits 2 --take 2', 0), ('run', '--ttl 5s --max-hold 5s', 0),
    ('run', '--max-hold 20s', 0), ('run', '--max-hold 40s --min-hold 0', 0),
    ('run', '--json --progress plain', 0), ('run', '--quiet --json', 0),
    ('run', '--on-lost ignore --kill-after 1s', 0), ('run', '--no-local --url URL', 0),
    ('run', '--url URL --db 3', 0), ('run', '--dialect redisson --spin', 0),
    ('run', '--dialect redisson --fenced', 0), ('run', '--dialect redisson --fair', 0),
    ('run', '--dialect redisson --shared', 0), ('run', '--dialect redisson --permits 2', 0),
    ('run', '--dialect redisson --permits 2 --plain-permits', 0),
    ('run', '--dialect plain --ttl 5s', 0), ('run', '--dialect plain --multi a,b', 0),
    ('run', '--dialect spring --registry r', 0),
    ('acquire', '--no-renew --ttl 700ms --sh', 0), ('acquire', '--no-renew --ttl 700ms --json', 0),
    ('status', '--held --waiting', 0), ('status', '--exit-code --held --kind barrier --json', 1),
    ('wait', '--free --wait 5s', 0), ('wait', '--held --wait 0', 75),
    ('status', '--graph --json', 0), ('status', '--exit-code --graph --dot', 1),
]


def contradictions_of_values_and_subcommands_are_refused():
    for number, (command, options, code, words) in enumerate(REFUSED):
        line = _line(command, options)
        line = [w if w != 'pair' else 'refused-%d' % number for w in line]
        done = dibs(*line)
        equal((done.code, done.out), (code, ''), (line, done))
        for word in words:
            contains(done.err, word)


def pairs_that_have_a_meaning_work_together():
    for number, (command, options, code) in enumerate(TOGETHER):
        line = _line(command, options)
        line = [w if w != 'pair' else 'together-%d' % number for w in line]
        done = dibs(*line)
        equal(done.code, code, (line, done))


tests(dict(globals()))
