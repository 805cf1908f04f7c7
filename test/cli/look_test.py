#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs status, who, wait and ping."""
import json
import os
import re
import signal
import threading
import time
from datetime import datetime

from harness import *  # noqa
import harness


def who_names_holder_lease_fence_and_queue():
    first = holder('orders:nightly', '-t', '20s', '-m', 'month end')
    second = start('run', 'orders:nightly', '--', 'true')
    until_waiting('orders:nightly')
    done = dibs('who', 'orders:nightly')
    equal(done.code, 0, done)
    contains(done.out, 'orders:nightly  held')
    contains(done.out, 'pid %d "cat"' % first.pid)
    contains(done.out, 'note     month end')
    contains(done.out, 'of 20.0s')
    contains(done.out, '1 waiting')
    contains(done.out, 'pid %d "true"' % second.pid)
    end_holder(first)
    finish(second)
    done = dibs('who', 'orders:nightly')
    equal(done.code, 1)
    contains(done.out, 'free')


def an_answer_that_cannot_be_written_is_no_answer():
    with open('/dev/full', 'w') as full:
        equal(finish(start('who', 'nothing:has:this', stdout=full)).code, 70)


def held_and_waiting_names_are_not_all_locks():
    contains(dibs('status', '--held', '--waiting').err, 'nothing matches')


def a_list_of_nothing_is_no_failure_unless_it_is_asked_by_the_exit_code():
    other = holder('listed:one')
    for words in (['status'], ['status', '--json'], ['status', '--graph'], ['status', '--dot'],
                  ['history'], ['history', '--json'], ['top'], ['top', '--json']):
        for more, code in (([], 0), (['--exit-code'], 1)):
            equal(dibs(*words, *more, 'idle:*').code, code, (words, more))
    for words in (['status'], ['top']):
        equal(dibs(*words, '--exit-code', 'listed:*').code, 0, words)
    for words in (['sem', 'ls', 'idle:*'], ['latch', 'ls'], ['barrier', 'ls']):
        equal(dibs(*words).code, 0, words)
    equal(dibs('status', '--connect-timeout', '300ms', '-u', 'unix:///nowhere').code, 69)
    end_holder(other)


def a_process_that_is_not_known_has_no_number():
    other = holder('unnamed')
    registered = 'dibs:client:' + who('unnamed')['holder']['id']
    until(lambda: ':1' in harness.server.ask('DEL', registered), 'it was registered')
    for command in ('who', 'status'):
        party = json.loads(dibs(command, '--json', 'unnamed').out)['holder']
        equal((party['host'], party['pid']), ('', None))
    top = json.loads(dibs('top', '--json', 'unnamed').out)
    equal([row['holder']['pid'] for row in top['locks']], [None])
    end_holder(other)


def who_json_has_the_promised_shape():
    first = holder('shape', '-m', 'why')
    waiter = start('run', 'shape', '--', 'true')
    until_waiting('shape')
    got = who('shape')
    equal(sorted(got), sorted(['v', 'time', 'name', 'kind', 'state', 'holder', 'since', 'held_ms',
                               'remaining_ms', 'lease_ms', 'ttl_ms', 'renewals', 'fence',
                               'fence_text',
                               'holders', 'waiter_count', 'waiting', 'queue']))
    equal((got['v'], got['name'], got['kind'], got['state']), (1, 'shape', 'lock', 'held'))
    equal(sorted(got['holder']), ['cmd', 'host', 'id', 'note', 'pid', 'program', 'reason'])
    equal((got['holder']['pid'], got['holder']['program'], got['holder']['note']),
          (first.pid, 'cat', 'why'))
    equal(got['holder']['host'], os.uname().nodename)
    equal([(w['pos'], w['pid']) for w in got['queue']], [(1, waiter.pid)])
    assert got['queue'][0]['waited_ms'] >= 0
    assert 0 < got['remaining_ms'] <= 30000
    assert got['since'].endswith('Z')
    end_holder(first)
    finish(waiter)
    free = who('shape')
    equal((free['state'], free['holder'], free['since'], free['queue']),
          ('free', None, None, []))


def a_noun_after_1_has_no_plural():
    token = dibs('acquire', '--no-renew', '-t', '60s', 'plural').out.strip()
    contains(dibs('who', 'plural').out, 'renewed 0 times\n')
    for ending in ('1 time\n', '2 times\n'):
        equal(dibs('renew', '-t', '60s', token).code, 0)
        contains(dibs('who', 'plural').out, 'renewed ' + ending)
    equal(dibs('release', token).code, 0)
    equal(dibs('sem', 'set', 'plural:sem', '1').code, 0)
    contains(dibs('run', '-j', '2', 'plural:sem', 'true').err, 'has 1 permit, not 2')
    contains(dibs('run', '-j', '2', 'plural:sem', '--', 'true').err, 'has 1 permit, not 2')
    contains(dibs('acquire', '--take', '2', 'plural:sem').err, 'has 1 permit: 2')


def wait_0_has_the_usual_time_for_its_one_question():
    process = holder('slow')
    harness.server.pause()
    resumed = threading.Timer(0.3, harness.server.resume)
    resumed.start()
    done = dibs('wait', '-w', '0', 'slow')
    resumed.join()
    equal(done.code, 75, done)
    end_holder(process)


def json_answers_carry_their_time():
    process = holder('timed')
    before = time.time()
    for words in (('who', 'timed'), ('status', 'timed'), ('ping', '--count', '1')):
        for line in dibs(words[0], '--json', *words[1:]).out.splitlines():
            told = datetime.fromisoformat(json.loads(line)['time'].replace('Z', '+00:00'))
            assert before - 0.001 <= told.timestamp() <= time.time(), line
    end_holder(process)


def a_name_that_is_not_utf_8_is_given_in_hex():
    name = b'caf\xe9'
    process = start('run', name, '--', 'cat', stdin=__import__('subprocess').PIPE)
    until(lambda: json.loads(dibs('who', '--json', name).out)['state'] == 'held', 'held')
    got = json.loads(dibs('who', '--json', name).out)
    equal((got['name'], got['name_hex']), ('caf\\xe9', name.hex()))
    end_holder(process)


def and_in_what_run_and_elect_write():
    name = b'caf\xe9-told'
    process = start('run', name, '--', 'cat', stdin=__import__('subprocess').PIPE)
    until(lambda: json.loads(dibs('who', '--json', name).out)['state'] == 'held', 'held')
    waiter = start('run', '--json', name, '--', 'true')
    lines = [waiter.stderr.readline()]
    end_holder(process)
    told = [json.loads(line) for line in lines + finish(waiter).err.splitlines()]
    told = [e for e in told if e['event'] in ('waiting', 'acquired', 'ended')]
    assert {e['event'] for e in told} == {'waiting', 'acquired', 'ended'}, told
    told.append(json.loads(dibs('elect', 'observe', '-n', '--json', name + b'-led').out))
    for e in told:
        contains(bytes.fromhex(e['name_hex']), name)


def status_is_a_table():
    first = holder('table:one')
    second = holder('table:two')
    waiter = start('run', 'table:two', '--', 'true')
    until_waiting('table:two')
    lines = dibs('status', 'table:*').out.splitlines()
    equal(lines[0].split(), ['NAME', 'KIND', 'STATE', 'HOLDER', 'HELD', 'LEASE', 'FENCE',
                             'WAIT'])
    equal([line.split()[:3] for line in lines[1:]],
          [['table:one', 'lock', 'held'], ['table:two', 'lock', 'held']])
    contains(lines[1], ':%d cat' % first.pid)
    equal(lines[2].split()[-1], '1')
    equal(dibs('ls', '--waiting', 'table:*').out.splitlines()[1].split()[0], 'table:two')
    equal([line.split()[0] for line in
           dibs('status', '--sort', 'wait', 'table:*').out.splitlines()[1:]],
          ['table:two', 'table:one'])
    end_holder(first)
    end_holder(second)
    finish(waiter)


def the_shortest_lease_comes_first():
    tokens = [dibs('acquire', '--no-renew', '-t', ttl, 'lease:' + ttl).out.strip()
              for ttl in ('20m', '5m', '10m')]
    for command in ('status', 'top'):
        lines = dibs(command, '--sort', 'lease', 'lease:*').out.splitlines()
        equal([line.split()[0] for line in lines if line.startswith('lease:')],
              ['lease:5m', 'lease:10m', 'lease:20m'], command)
    for token in tokens:
        dibs('release', token)


def free_locks_are_counted_and_shown_by_all():
    for n in range(3):
        dibs('run', 'spare:%d' % n, '--', 'true')
    first = holder('spare:held')
    done = dibs('status', 'spare:*')
    equal([line.split()[0] for line in done.out.splitlines()[1:]], ['spare:held'])
    contains(done.err, '3 free')
    equal(len(dibs('status', '--json', 'spare:*').out.splitlines()), 1)
    for option in ('-a', '--all'):
        done = dibs('status', option, 'spare:*')
        equal((len(done.out.splitlines()), done.err), (5, ''))
    end_holder(first)
    equal(dibs('status', 'spare:*').code, 0)


def a_name_is_found_as_it_is_written():
    for name, other in (('{braces}', 'braces'), ('glob[b]*', None), ('back\\slash', None)):
        first = holder(name)
        for words in (['status', name], ['top', '--once', name]):
            done = dibs(*words)
            equal(len([line for line in done.out.splitlines() if (other or name) in line]), 1,
                  (words, done))
        end_holder(first)
    first = holder('brace:x')
    for pattern, count in (('{brace:*}', 1), ('{brace:y}', 0), ('{brace:x', 0), ('[{]brace:x}', 0)):
        equal(len(dibs('status', '--json', pattern).out.splitlines()), count, pattern)
    end_holder(first)


def long_names_are_cut_on_a_terminal_only():
    name = 'l' * 512
    first = holder(name)
    contains(dibs('status').out, name)
    terminal = Terminal('sh', '-c', 'stty cols 110; "$DIBS" status "lll*"; echo do\\ne')
    lines = terminal.expect('done').splitlines()
    terminal.end()
    row = [line for line in lines if line.startswith('lll')][0]
    assert len(row) <= 110 and '...' in row and ':%d' % first.pid in row, row
    end_holder(first)


def wide_characters_stand_in_their_columns():
    names = [WIDE_NAME, WIDE_NAME[0] * 80, 'narrow']
    held = [holder(name) for name in names]
    lines = dibs('status').out.splitlines()
    terminal = Terminal('sh', '-c', 'stty cols 110; "$DIBS" status; echo do\\ne')
    cut = terminal.expect('done').splitlines()
    terminal.end()
    for table in (lines, cut):
        found = [re.search('  (KIND|lock)  ', line) for line in table]
        places = [cells(line[:at.start()]) for line, at in zip(table, found) if at]
        equal((set(places), len(places)), ({places[0]}, 4), table)
    equal(len([line for line in cut if WIDE_NAME[0] + '...' in line]), 1, cut)
    assert max(map(cells, cut)) <= 110, cut
    for process in held:
        end_holder(process)


def status_json_is_one_object_a_line():
    held = [holder('many:%d' % n) for n in range(3)]
    rows = [json.loads(line) for line in
            dibs('status', '--json', '--held', 'many:*').out.splitlines()]
    equal(sorted(row['name'] for row in rows), ['many:0', 'many:1', 'many:2'])
    for process in held:
        end_holder(process)


def status_shows_all_kinds_in_one_table():
    reader = [start('run', '-s', 'all:rw', '--', 'cat', stdin=-1) for _ in range(2)]
    until(lambda: len(who('all:rw')['holders']) == 2, 'two read')
    writer = start('run', '--write', 'all:rw', '--', 'true')
    until_waiting('all:rw')
    job = start('run', '-j', '4', '--take', '3', 'all:sem', '--', 'cat', stdin=-1)
    until_held('all:sem')
    leader = start('elect', 'run', 'all:elect', '--', 'cat', stdin=-1)
    until_held('all:elect')
    dibs('latch', 'set', 'all:latch', '3')
    dibs('latch', 'down', '--once', 'x', 'all:latch')
    party = start('barrier', 'wait', '--parties', '2', 'all:barrier')
    until(lambda: dibs('barrier', 'show', 'all:barrier').code == 0, 'one is there')
    other = holder('all:lock')

    def rows():
        lines = dibs('status', 'all:*').out.splitlines()
        return {line.split()[0]: line for line in lines[1:]}
    until(lambda: len(rows()) == 6, 'six rows')
    for name, parts in (('all:rw', ['rw ', 'read x2 ', '1 writer']),
                        ('all:sem', ['semaphore ', '3/4 used ']),
                        ('all:elect', ['election ', 'held ', ':%d cat' % leader.pid]),
                        ('all:latch', ['latch ', '2 left ']),
                        ('all:barrier', ['barrier ', 'whole ', '1 of 2']),
                        ('all:lock', ['lock ', 'held ', ':%d cat' % other.pid])):
        for part in parts:
            contains(rows()[name], part)
    contains(rows()['all:rw'], ':%d' % reader[0].pid)
    contains(rows()['all:rw'], ':%d' % reader[1].pid)
    for kind in ('lock', 'rw', 'sem', 'latch', 'barrier', 'elect'):
        word = {'sem': 'semaphore', 'elect': 'election'}.get(kind, kind)
        objects = [json.loads(line) for line in
                   dibs('status', '--json', '--kind', word, 'all:*').out.splitlines()]
        equal([(o['v'], o['name'], o['kind']) for o in objects], [(1, 'all:' + kind, word)])
    equal(dibs('latch', 'ls').out.splitlines()[1].split()[:4],
          ['all:latch', 'latch', '2', 'left'])
    equal([line.split()[0] for line in
           dibs('status', '--waiting', 'all:*').out.splitlines()[1:]],
          ['all:barrier', 'all:rw'])
    party.kill()
    for process in reader + [job, leader, other]:
        end_holder(process)
    finish(writer)


def who_shows_every_holder_and_how_it_waits():
    first = start('run', '-j', '3', '--take', '2', 'w:sem', '--', 'cat', stdin=-1)
    until_held('w:sem')
    second = start('run', '-j', '3', 'w:sem', '--', 'cat', stdin=-1)
    until(lambda: len(who('w:sem')['holders']) == 2, 'two hold')
    waiter = start('run', '-j', '3', '--take', '3', 'w:sem', '--', 'true')
    until_waiting('w:sem')
    done = dibs('who', 'w:sem')
    contains(done.out, 'w:sem  semaphore, 3/3 used')
    contains(done.out, 'pid %d "cat"), 2 permits' % first.pid)
    contains(done.out, 'pid %d "cat"), 1 permit\n' % second.pid)
    contains(done.out, 'pid %d "true"), 3 permits, for' % waiter.pid)
    got = who('w:sem')
    equal((got['limit'], got['used'], got['queue'][0]['units']), (3, 3, 3))
    equal([h['fence_text'] for h in got['holders']],
          [str(h['fence']) for h in got['holders']])
    end_holder(first)
    end_holder(second)
    finish(waiter)


def who_knows_barriers_and_latches():
    dibs('latch', 'set', 'w:latch', '3')
    done = dibs('who', 'w:latch')
    equal((done.code, done.out), (0, 'w:latch  latch, 3 left\n'))
    equal(who('w:latch')['kind'], 'latch')
    party = start('barrier', 'wait', '--parties', '2', 'w:barrier')
    until(lambda: dibs('who', 'w:barrier').code == 0, 'one is there')
    equal(dibs('who', 'w:barrier').out,
          'w:barrier  barrier, whole, 1 of 2 arrived, generation 0\n')
    equal(who('w:barrier')['arrived'], 1)
    party.kill()


def who_tells_in_whose_command_somebody_waits():
    done = dibs('run', 'w:out', '--', DIBS, 'run', '-m', 'why', 'w:in', '--', DIBS, 'who',
                '--json', 'w:in')
    reason = json.loads(done.out)['holder']['note']
    assert reason.startswith('why (in %s:' % os.uname().nodename), reason
    done = dibs('run', 'w:out', '--', DIBS, 'run', '-m', 'x' * 250, 'w:in', '--', DIBS, 'who',
                '--json', 'w:in')
    equal(json.loads(done.out)['holder']['note'], 'x' * 250)


# ---- who waits for whom ----

def _crossed(a, b):
    """Two wrappers whose commands each want what the other one has."""
    def pair(outer, inner):
        return start('run', outer, '--', 'sh', '-c',
                     '"$DIBS" wait --held %s; exec "$DIBS" run -w 15s -m why %s -- true'
                     % (inner, inner))
    both = [pair(a, b), pair(b, a)]
    until_waiting(a)
    until_waiting(b)
    return both


def graph_marks_wrappers_that_wait_for_each_other():
    both = _crossed('x:a', 'x:b')
    other = holder('x:calm')
    waiter = start('run', 'x:calm', '--', 'true')
    until_waiting('x:calm')
    done = dibs('status', '--graph', 'x:*')
    equal(done.code, 0, done)
    lines = done.out.splitlines()
    calm = [line for line in lines if 'x:calm' in line]
    equal(len(calm), 1)
    contains(calm[0], ':%d true  waits 0:0' % waiter.pid)
    contains(calm[0], ' for x:calm, held by ')
    assert calm[0].endswith(':%d cat' % other.pid), calm
    for name in ('x:a', 'x:b'):
        line = [line for line in lines if ' for %s, held by' % name in line][0]
        assert line.endswith('(cycle)'), line
    equal(len([line for line in lines if line.startswith('possible deadlock: ')]), 1)
    for process in both:
        contains(lines[-1], ':%d sh' % process.pid)
    for process in both:
        process.kill()
    end_holder(other)
    finish(waiter)


def graph_json_tells_edges_and_cycles():
    both = _crossed('y:a', 'y:b')
    rows = [json.loads(line) for line in
            dibs('status', '--graph', '--json', 'y:*').out.splitlines()]
    waits = [row for row in rows if row['type'] == 'wait']
    equal(sorted(row['name'] for row in waits), ['y:a', 'y:b'])
    for row in waits:
        equal(sorted(row), sorted(['v', 'time', 'type', 'waiter', 'holder', 'name', 'kind', 'mode',
                                   'units', 'waited_ms', 'fence', 'fence_text', 'cycle']))
        equal((row['v'], row['cycle'], str(row['fence'])), (1, True, row['fence_text']))
    cycles = [row for row in rows if row['type'] == 'cycle']
    equal(len(cycles), 1)
    equal((cycles[0]['certain'], sorted(n for n in cycles[0]['names'] if n)),
          (False, ['y:a', 'y:b']))
    equal(len(cycles[0]['parties']), 4)
    for process in both:
        process.kill()


def dot_is_a_graph():
    both = _crossed('z:a', 'z:b')
    done = dibs('status', '--dot', 'z:*')
    assert done.out.startswith('digraph dibs {\n') and done.out.endswith('}\n')
    contains(done.out, 'label="z:a", color=red')
    contains(done.out, 'label="held by"')
    contains(done.out, 'label="its command"')
    for process in both:
        process.kill()


def graph_of_nothing_gives_0_and_with_exit_code_1():
    done = dibs('status', '--graph', 'nobody:*')
    equal((done.code, done.out), (0, ''))
    equal(dibs('status', '--exit-code', '--graph', 'nobody:*').code, 1)


def status_without_a_match_gives_0_and_with_exit_code_1():
    done = dibs('status', 'nothing-like-this')
    equal((done.code, done.out), (0, ''))
    equal(dibs('status', '--exit-code', 'nothing-like-this').code, 1)


def looking_changes_nothing():
    before = harness.server.ask('DBSIZE')
    dibs('who', 'never-seen')
    dibs('status')
    dibs('wait', 'never-seen')
    equal(harness.server.ask('DBSIZE'), before)


def wait_free_ends_when_it_is_free():
    other = holder('wanted')
    waiter = start('wait', 'wanted')
    done = dibs_with_limit('wait', '-w', '1s', 'wanted')
    equal(done.code, 75)
    contains(done.err, 'wanted is still held after ')
    done = dibs('wait', '-w', '0', 'wanted')                 # only asks
    equal((done.code, done.err), (75, ''))
    assert waiter.poll() is None
    end_holder(other)
    equal(finish(waiter, 3).code, 0)
    equal(dibs('wait', 'wanted').code, 0)


def wait_free_inside_the_holder_would_wait_for_itself():
    for around, name in ((('run', 'own:lock'), 'own:lock'), (('run', 'own:{lock}'), 'own:{lock}'),
                         (('run', '-s', 'own:rw'), 'own:rw'),
                         (('run', '-j', '2', 'own:sem'), 'own:sem'),
                         (('run', '--multi', 'own:a,own:b'), 'own:b'),
                         (('elect', 'run', 'own:lead'), 'own:lead')):
        for words in ((), ('-w', '10s')):
            done = dibs(*around, '--', harness.DIBS, 'wait', *words, name)
            equal(done.code, 80, done)
            contains(done.err, name + ' is held by the dibs run around this command')
        done = dibs(*around, '--', harness.DIBS, 'wait', '-w', '0', name)  # only asks
        equal((done.code, done.err), (75, ''), done)
        equal(dibs(*around, '--', harness.DIBS, 'wait', '--held', name).code, 0)
        equal(dibs(*around, '--', harness.DIBS, 'wait', 'own:other').code, 0)
    other = holder('own:late')                    # the name is around, its holder is another one
    env = {'DIBS_HELD': 'own:late=5:another-client'}
    equal(dibs('wait', '-w', '1s', 'own:late', env=env).code, 75)
    end_holder(other)


def wait_held_ends_when_somebody_has_it():
    waiter = start('wait', '--held', 'leader')
    done = dibs_with_limit('wait', '--held', '--json', '-w', '1s', 'leader')
    equal((done.code, fault(done)['status'], fault(done)['code']), (75, 'DIBS_TIMED_OUT', 75))
    contains(fault(done)['text'], 'leader is still free after ')
    other = holder('leader')
    equal(finish(waiter, 3).code, 0)
    end_holder(other)


def wait_heeds_degrade_of_the_url():
    own = harness.Server()
    for degrade in ('fail', 'wait'):
        other = start('run', '-u', own.url, 'degraded', '--', 'cat', stdin=subprocess.PIPE)
        until(lambda: dibs('who', '-u', own.url, 'degraded').code == 0, 'it is held')
        waiter = start('wait', 'degraded', '-v', '-u',
                       own.url + '?connect_timeout=2s&degrade=' + degrade)
        contains(waiter.stderr.readline(), 'connected')
        own.process.kill()
        own.process.wait()
        if degrade == 'fail':
            equal(finish(waiter).code, 69)
        own.restart()
        if degrade == 'wait':
            equal(finish(waiter).code, 0)
        other.kill()
        other.wait()
    own.stop()


def wait_takes_no_place_in_the_queue():
    other = holder('polite')
    waiter = start('wait', 'polite')
    equal(dibs_with_limit('wait', '-w', '1s', 'polite').code, 75)
    equal(who('polite')['waiter_count'], 0)
    waiter.kill()
    end_holder(other)


def ping_counts_and_measures():
    done = dibs('ping', '--count', '3', '-i', '10ms')
    equal(done.code, 0, done)
    lines = done.out.splitlines()
    equal(lines[0], 'PING ' + harness.server.url)
    for n in (1, 2, 3):
        contains(lines[n], 'seq=%d time=' % n)
    equal(lines[5], '3 sent, 3 answered')
    contains(lines[6], 'min/avg/max')


def ping_json_has_a_line_for_each_and_a_sum():
    rows = [json.loads(line) for line in
            dibs('ping', '--json', '--count', '2', '-i', '10ms').out.splitlines()]
    equal([row.get('seq') for row in rows], [1, 2, None])
    equal((rows[2]['sent'], rows[2]['answered']), (2, 2))


def ping_of_nobody_gives_69():
    done = dibs('ping', '--count', '1', '-u', 'unix:///nowhere/socket', '--connect-timeout',
                '200ms')
    equal(done.code, 69, done)


def _is_said_once(lines):
    return all(line != after for line, after in zip(lines, lines[1:]))


def ping_says_once_why_there_is_no_answer_and_how_to_stop():
    nowhere = ('-u', 'unix:///nowhere/socket', '--connect-timeout', '1s', '-i', '10ms')
    done = dibs('ping', '--count', '3', *nowhere)
    contains(done.out, '3 sent, 0 answered')
    assert _is_said_once(done.err.splitlines()), done
    lacks(done.err, 'Ctrl-C')
    process = start('ping', *nowhere)
    lines = [process.stderr.readline()]
    while 'Ctrl-C stops it' not in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    process.send_signal(signal.SIGINT)
    done = finish(process)
    equal(done.code, 69, done)
    contains(lines[0], '/nowhere/socket')
    contains(done.out, ' sent, 0 answered')


def _next_seq(process):
    return int(re.search(r'seq=(\d+) ', process.stdout.readline())[1])


def ping_shows_answers_again_after_an_outage():
    lost = harness.Server()
    try:
        process = start('ping', '-i', '10ms', '--connect-timeout', '1s', '-u', lost.url)
        process.stdout.readline()
        last = _next_seq(process)
        lost.process.kill()
        lines = [process.stderr.readline()]
        lost.restart()
        seq = _next_seq(process)
        while seq == last + 1:              # answered before the end of the server
            last, seq = seq, _next_seq(process)
        process.send_signal(signal.SIGINT)
        done = finish(process)
        equal(done.code, 0, done)
        contains(lines[0], 'dibs: ping: ')
        assert _is_said_once(lines + done.err.splitlines(True)), (lines, done)
    finally:
        lost.stop()


def ping_shows_its_figures_when_interrupted():
    process = start('ping', '-i', '20ms')
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    done = finish(process)
    equal(done.code, 0)
    contains(done.out, 'answered')


def wrong_password_gives_77_and_the_right_one_from_everywhere_works():
    locked = harness.Server('--requirepass', 'geheim')
    try:
        equal(dibs('who', '-u', locked.url, 'x').code, 77)
        done = dibs('who', '-u', locked.url, 'x', env={'DIBS_PASSWORD': 'falsch'})
        equal(done.code, 77, done)
        lacks(done.err, 'falsch')
        equal(dibs('who', '-u', locked.url, 'x', env={'DIBS_PASSWORD': 'geheim'}).code, 1)
        equal(dibs('who', '-u', locked.url, 'x', env={'REDISCLI_AUTH': 'geheim'}).code, 1)
        with open(os.path.join(locked.directory, 'word'), 'w') as f:
            f.write('geheim\n')
        equal(dibs('who', '-u', locked.url, '--pass-file', f.name, 'x').code, 1)
        with_password = locked.url.replace('unix://', 'unix://:geheim@')
        done = dibs('run', 'x', '--', 'sh', '-c', 'echo $DIBS_URL; "$DIBS" who y',
                    env={'DIBS_URL': with_password})
        equal(done.code, 1, done)
        lacks(done.out + done.err, 'geheim')
    finally:
        locked.stop()


def an_acl_that_forbids_gives_77_and_names_what():
    harness.server.ask('ACL', 'SETUSER', 'weak', 'on', '>pw', '~other:*', '+@all', '&*')
    done = dibs('run', '--user', 'weak', 'x', '--', 'true', env={'DIBS_PASSWORD': 'pw'})
    equal(done.code, 77, done)


tests(dict(globals()))
