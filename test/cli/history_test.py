#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs history: what short-lived commands report, how entries are shown, and what is refused."""
import json
import os
import subprocess

from harness import *  # noqa
import harness


def _url(**options):
    return harness.server.url + '?' + '&'.join(f'{k}={v}' for k, v in options.items())


def _history(*words):
    return [json.loads(line) for line in dibs('history', '--json', *words).out.splitlines()]


def fifty_short_commands_are_all_there():
    env = {'DIBS_URL': _url(history='all')}
    runs = [start('run', 'short:%d' % (i % 5), '--', 'true', env=env) for i in range(50)]
    equal([finish(r).code for r in runs], [0] * 50)
    seen = _history('short:*')
    equal(len(seen), 50)
    equal({e['pid'] for e in seen}, {r.pid for r in runs} & {e['pid'] for e in seen})
    equal({(e['class'], e['kind'], e['end']) for e in seen}, {('short', 'lock', 'released')})
    assert all(0 <= e['ago_us'] < 60000000 and e['fence'] > 0 for e in seen)
    assert all(e['fence_text'] == str(e['fence']) for e in seen)


def by_default_only_what_is_notable():
    first = holder('notable:1')
    refused(dibs('run', '-w', '100ms', 'notable:1', '--', 'true').code, 75)
    end_holder(first)
    equal(dibs('run', 'notable:2', '--', 'true').code, 0)
    equal({(e['name'], e['end']) for e in _history('notable:*')} & {
        ('notable:1', 'timeout'), ('notable:2', 'released')}, {('notable:1', 'timeout')})


def the_readme_finds_something():
    readme = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../README.md')
    script = read(readme).split('```sh\ndibs run nightly', 1)[1].split('```', 1)[0]
    done = subprocess.run(['sh', '-c', 'dibs() { "$DIBS" "$@"; }\ndibs run nightly' + script],
                          env=environment(), text=True, capture_output=True, timeout=PATIENCE)
    contains(done.stdout, 'released')
    lacks(done.stderr, 'nothing found')


def a_lock_that_was_broken_is_lost():
    other = holder('broken:1')
    equal(dibs('break', '--yes', 'broken:1').code, 0)
    equal(finish(other).code, 79)
    equal([e['end'] for e in _history('broken:1')], ['lost'])


def _is_released_by_its_token(name, after, waits):
    sleeper = subprocess.Popen(['sleep', '60'])
    harness._started.append(sleeper)
    token = dibs('acquire', '--for-pid', str(sleeper.pid), name,
                 env={'DIBS_URL': _url(history='all')}).out.strip()
    keeper = who(name)['holder']['pid']
    waiter = start('run', '-w', '50s', name, '--', 'true') if waits else None
    if waits:
        until_waiting(name)
    time.sleep(after)
    equal(dibs('release', token).code, 0)
    until(lambda: not is_alive(keeper), 'the keeper ends', 30)
    if waits:
        equal(finish(waiter).code, 0)
    equal([e['end'] for e in _history(name) if e['pid'] == keeper], ['released'])
    counts = [line for line in dibs('metrics', '--once').out.splitlines()
              if line.startswith('dibs_lost_total{class="%s",' % name.split(':')[0])]
    equal([line.split()[-1] for line in counts], ['0', '0'], counts)


def a_lock_that_listens_for_its_end_is_released_by_its_token():
    _is_released_by_its_token('deployed:1', 1.5, waits=False)


def a_lock_that_another_waits_for_is_released_by_its_token():
    _is_released_by_its_token('handed:1', 1.5, waits=True)


def a_lock_that_was_released_by_its_token_at_once_is_released():
    _is_released_by_its_token('deployedsoon:1', 0, waits=False)


def a_command_that_is_not_recorded_leaves_nothing():
    equal(dibs('run', 'silent:1', '--', 'true', env={'DIBS_URL': _url(report='off',
                                                                     history='all')}).code, 0)
    done = dibs('history', 'silent:*')
    equal((done.code, done.out), (0, ''))
    contains(done.err, 'nothing found')


def what_people_see_has_no_control_character():
    name = 'odd:\n\x1b[31m"x"'
    equal(dibs('run', '-m', 'a\nb', name, '--', 'true', env={'DIBS_URL': _url(history='all')}).code,
          0)
    done = dibs('history', 'odd:*')
    equal(done.code, 0, done)
    lacks(done.out, '\x1b')
    equal(len(done.out.splitlines()), 2, done)
    contains(done.out, 'odd:\\x0a\\x1b[31m"x"')
    contains(done.out, 'a\\x0ab')
    equal([e['name'] for e in _history('odd:*')], [name])


def a_name_with_braces_is_the_lock_without():
    equal(dibs('run', '{curly}', '--', 'true', env={'DIBS_URL': _url(history='all')}).code, 0)
    equal([e['name'] for e in _history('{curly}')], ['curly'])


def no_field_of_another_program_has_a_control_character():
    odd = '\x1b]0;x\x07'
    harness.server.ask('XADD', 'dibs:{fleet}:history', '*', *(word for pair in {
        'name': 'forged', 'end': odd, 'class': odd, 'kind': odd, 'mode': odd, 'host': odd,
        'program': odd, 'note': odd, 'client': odd, 'pid': odd}.items() for word in pair))
    done = dibs('history', 'forged')
    contains(done.out, 'forged')
    contains(done.out, '\\x1b]0;x\\x07')
    lacks(done.out, '\x1b')
    equal([e['end'] for e in _history('forged')], [odd])


def no_byte_of_a_name_is_lost():
    subprocess.run([DIBS, 'run', b'bytes:\xff', '--', 'true'],
                   env=environment(DIBS_URL=_url(history='all')), check=True)
    subprocess.run([DIBS, 'run', b'bytes:\xfe', '--', 'true'],
                   env=environment(DIBS_URL=_url(history='all')), check=True)
    out = dibs('history', 'bytes:*').out
    contains(out, 'bytes:\\xff')
    contains(out, 'bytes:\\xfe')
    equal([e['name_hex'] for e in _history('bytes:*')], [b'bytes:\xff'.hex(), b'bytes:\xfe'.hex()])


def options_out_of_range_are_refused():
    equal(dibs('history', '--limit', '0').code, 64)
    equal(dibs('history', '--limit', '10001').code, 64)
    equal(dibs('history', '--since', 'yesterday').code, 64)
    for option in ('report=5ms', 'report=often', 'history=some', 'history_max=0', 'history_over=x'):
        done = dibs('history', env={'DIBS_URL': harness.server.url + '?' + option})
        equal(done.code, 78, done)
        contains(done.err, option.split('=')[0])


tests(dict(globals()))
