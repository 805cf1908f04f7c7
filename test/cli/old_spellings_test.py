#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What 0.5 wrote otherwise: each row of the table in src/cli/old_spellings.c works as it did, with
one note on stderr that names the new spelling; dibs(1) has the same table. A new row has to stand
in CALLS."""
import glob
import json
import os
import re

from harness import *  # noqa

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


def _read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


TABLE = _read('src/cli/old_spellings.c')
ROWS = re.findall(r'^  \{ "([^"]*)", "([^"]+)",\s+"([^"]+)" \},', TABLE, re.M)

# (where, old): calls, and what the last of them has to print. They exit with 0, or as in CODES.
CALLS = {
    ('', 'exec'): (['exec NAME echo a'], 'a\n'),
    ('*', '--jobs'): (['run --jobs 2 NAME echo a'], 'a\n'),
    ('*', '--timeout'): (['run --timeout 60s NAME echo a'], 'a\n'),
    ('*', '--nb'): (['run --nb NAME echo a'], 'a\n'),
    ('release', '--force'): (['acquire -t 5m --no-renew NAME', 'release --force --yes -m r NAME',
                              'run -n NAME echo a', 'release --force --yes NAME'], ''),
    ('elect', 'NAME'): (['elect NAME -- echo a'], 'a\n'),
    ('elect', '--observe'): (['elect --observe -n NAME'], '0 - -\n'),
    ('elect', '--resign'): (['elect --resign --yes NAME'], ''),
    ('sem', 'init'): (['sem init NAME 2'], '2\n'),
    ('sem', 'resize'): (['sem set NAME 2', 'sem resize NAME 3'], '3\n'),
    ('sem', 'acquire'): (['sem set NAME 2', 'sem acquire --take 2 --no-renew NAME'], None),
    ('sem', 'drain'): (['sem set NAME 2', 'sem drain --no-renew NAME'], None),
    ('sem', 'release'): (['sem set NAME 2', 'acquire --take 1 --no-renew NAME',
                          'sem release TOKEN'], ''),
    ('sem', 'renew'): (['sem set NAME 2', 'acquire --take 1 --no-renew NAME', 'sem renew TOKEN'],
                       ''),
    ('sem', 'wait'): (['sem set NAME 2', 'sem wait NAME'], ''),
    ('latch', 'init'): (['latch init NAME 2'], '2\n'),
    ('latch', 'ls NAME'): (['latch ls NAME'], None),
    ('barrier', 'ls NAME'): (['barrier wait --parties 1 NAME', 'barrier ls NAME'], None),
    ('*', '--fg'): (['run --fg NAME echo a'], 'a\n'),
    ('*', '--reason'): (['run --reason r NAME echo a'], 'a\n'),
    ('barrier', '-n'): (['barrier wait -v -n 1 NAME'], '0\n'),
    ('ping', '-c'): (['ping -q -c 1', 'ping -c 1'], None),
    ('latch', '--id'): (['latch set NAME 2', 'latch down --id x NAME', 'latch down --id x NAME'],
                        '1\n'),
}
CODES = {('elect', '--observe'): 1}          # no leader


def _written(where, old):
    return {'': 'dibs ' + old, '*': old}.get(where, 'dibs %s %s' % (where, old))


def _calls(row, *options):
    """The last call of the row, in a name of its own."""
    calls, out = CALLS[row[:2]]
    name = 'old-%d%s' % (ROWS.index(row), ''.join(options))
    done = None
    for line in calls:
        token = done.out.strip() if done else ''
        words = [{'NAME': name, 'TOKEN': token}.get(word, word) for word in line.split()]
        more = () if words[0] == 'acquire' else options
        done = dibs(words[0], *more, *words[1:])
        equal(done.code, CODES.get(row[:2], 0), (line, done))
    if out is not None and '--json' not in options:
        equal(done.out, out, (calls, done))
    return done


def every_old_spelling_has_a_call():
    assert len(ROWS) >= 9, ROWS
    equal(len(ROWS), TABLE.count('  { "'))
    equal(sorted(CALLS), sorted(row[:2] for row in ROWS))


def every_old_spelling_works_with_one_note():
    for row in ROWS:
        notes = [line for line in _calls(row).err.splitlines() if 'old spelling' in line]
        equal(len(notes), 1, (row, notes))
        contains(notes[0], row[1])
        assert notes[0].endswith('write ' + row[2]), (row, notes)


def quiet_hides_the_note():
    for row in ROWS:
        lacks(_calls(row, '-q').err, 'old spelling')


def with_json_the_note_is_a_notice():
    for row in ROWS:
        notices = [m['text'] for m in messages(_calls(row, '--json')) if m['event'] == 'notice']
        assert any(text.endswith('write ' + row[2]) for text in notices), (row, notices)


def no_new_spelling_has_a_note():
    for line in ('run --permits 2 new:a true', 'run --wait 5s -m why new:b true',
                 'ping --count 1', 'barrier wait --parties 1 new:c', 'run --nonblock new:d true',
                 'flock --timeout 5 new:e true', 'flock --nb new:e true', 'flock -n new:e true'):
        done = dibs(*line.split())
        equal((done.code, done.err), (0, ''), (line, done))


def no_help_and_no_completion_has_an_old_option():
    bash, zsh = dibs('completion', 'bash').out, dibs('completion', 'zsh').out
    flock = dibs('flock', '--help').out
    for where, old, _ in ROWS:
        if old.startswith('--') and where == '*':
            assert not re.search(r'[ \']%s[ \'\[]' % old, bash + zsh), old
            assert not re.search(r'%s\b' % old, dibs('run', '--help').out + flock), old


def options_that_only_an_old_verb_takes_are_not_shown():
    lacks(dibs('sem', '--help').out, '--permits')
    lacks(re.search(r'^  1:sem\).*$', dibs('completion', 'bash').out, re.M).group(0), '--for-pid')


def json_has_the_old_key_beside_the_new_one():
    """Of all that writes one; the last values of 0.5 are in dibs(1)."""
    renamed = set()
    for path in glob.glob(os.path.join(ROOT, 'src/cli/*.c')):
        renamed |= set(re.findall(r'json_set_renamed\(\w+, "(\w+)", "(\w+)"', _read(path)))
    equal(renamed, {('program', 'cmd'), ('note', 'reason'), ('remaining_ms', 'lease_ms'),
                    ('ttl_ms', 'lease_ms'), ('waiter_count', 'waiting')})
    page = _read('doc/man/dibs.1.scd').split('# OLD SPELLINGS')[1].split('\n# ')[0]
    for now, old in renamed:
        contains(page, '*%s*' % now)
        contains(page, '*%s*' % old)
    other = holder('old:json', '-m', 'why')
    for got in (who('old:json'), who('old:json')['holders'][0],
                json.loads(dibs('top', '--json', 'old:json').out)['locks'][0]):
        equal(got['lease_ms'], got['remaining_ms'])
        assert 0 < got['remaining_ms'] <= got['ttl_ms'], got
        party = got.get('holder', got)
        equal((party['cmd'], party['program']), ('cat', 'cat'))
        if 'queue' in got:
            equal((got['waiting'], got['waiter_count'], party['reason'], party['note']),
                  (0, 0, 'why', 'why'))
    end_holder(other)


def the_command_has_its_name_in_both_variables():
    equal(dibs('run', 'old:env', '--', 'sh', '-c', 'echo $DIBS_NAME $DIBS_LOCK').out,
          'old:env old:env\n')


def the_manual_has_the_same_table():
    page = _read('doc/man/dibs.1.scd').split('# OLD SPELLINGS')[1].split('\n# ')[0]
    table = re.findall(r'^\|  (.*)\n:  (.*)$', page.replace('*', '').replace('\\', ''), re.M)
    plain = lambda text: text.replace('_', '')
    equal(sorted((plain(old), plain(now)) for old, now in table),
          sorted((_written(where, old), now) for where, old, now in ROWS))


tests(dict(globals()))
