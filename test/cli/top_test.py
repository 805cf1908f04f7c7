#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs top: one table and JSON of real locks, what is refused, and what it says of no server."""
import json

from harness import *  # noqa
import harness

NASTY = 'bad:\x1b[2J\n\x07"\u202e'


def _lines(done):
    return done.out.splitlines()


def _reading(*words):
    return json.loads(dibs('top', '--json', *words).out)


def names_with_waiters_come_first():
    held = [holder('top:old'), holder('top:asked', '--note', 'r')]
    waiters = [start('run', 'top:asked', '--', 'true') for _ in range(2)]
    until_waiting('top:asked', 2)
    lines = _lines(dibs('top'))
    assert re.match(r'2 held   2 waiting   oldest [\d.]+m?s   \d\d:\d\d:\d\d$', lines[0]), lines
    equal(lines[1].split(), ['NAME', 'KIND', 'HELD', 'BY', 'SINCE', 'LEASE', 'WAIT', 'OLDEST'])
    assert re.match(r'top:asked  lock  \S+ \(%d "cat"\) .* 2 +[\d.]+m?s$' % held[1].pid,
                    lines[2]), lines
    assert lines[3].startswith('top:old  '), lines
    lines = _lines(dibs('top', '--sort', 'held'))
    assert lines[2].startswith('top:old  '), lines
    equal(len(_lines(dibs('top', 'top:a*'))), 3)
    seen = _reading()
    equal((seen['up'], seen['held'], seen['waiting'], seen['names']), (True, 2, 2, 2))
    first = seen['locks'][0]
    equal((first['name'], first['class'], first['kind'], first['state'], first['waiter_count']),
          ('top:asked', 'top', 'lock', 'held', 2))
    equal((first['holder']['pid'], first['holder_count']), (held[1].pid, 1))
    assert 0 < first['remaining_ms'] <= first['ttl_ms'] and first['fence'] > 0, first
    for process in waiters:
        process.terminate()
        finish(process)
    for process in held:
        end_holder(process)


def permits_and_readers_are_counted():
    equal(dibs('sem', 'set', 'top:sem', '4').code, 0)
    tokens = [dibs('acquire', '--take', '1', '--no-renew', 'top:sem').out.strip() for _ in range(2)]
    readers = [holder('top:rw', '-s')]
    readers.append(start('run', '-s', 'top:rw', '--', 'cat', stdin=subprocess.PIPE))
    until(lambda: len(who('top:rw')['holders']) == 2, 'two read')
    text = dibs('top', 'top:*').out
    contains(text, '2 of 4  2 holders')
    contains(text, '2 readers')
    end_holder(readers.pop())
    contains(dibs('top', 'top:rw').out, 'r ')
    end_holder(readers.pop())
    for token in tokens:
        dibs('release', token)


def no_byte_of_a_name_reaches_the_terminal():
    token = dibs('acquire', '--no-renew', NASTY).out.strip()
    out = dibs('top', 'bad:*').out
    for byte in ('\x1b', '\x07', '\u202e'):
        lacks(out, byte)
    contains(out, 'bad:\\x1b[2J\\x0a\\x07"\\xe2\\x80\\xae')
    equal(_reading('bad:*')['locks'][0]['name'], NASTY)
    dibs('release', token)


def wide_characters_stand_in_their_columns():
    tokens = [dibs('acquire', '--no-renew', name).out.strip() for name in (WIDE_NAME, 'wide:no')]
    lines = _lines(dibs('top'))[1:]
    places = [cells(line[:re.search('KIND|lock ', line).start()]) for line in lines]
    equal(places, [cells(WIDE_NAME) + 2] * 3, lines)
    for token in tokens:
        dibs('release', token)


def a_limit_says_how_many_are_not_shown():
    tokens = [dibs('acquire', '--no-renew', 'many:%d' % i).out.strip() for i in range(5)]
    done = dibs('top', '--limit', '2', 'many:*')
    equal((len(_lines(done)), done.code), (4, 0))
    contains(done.err, '3 more names')
    equal(len(_reading('--limit', '2', 'many:*')['locks']), 2)
    equal(_reading('--limit', '2', 'many:*')['held'], 5)
    for token in tokens:
        dibs('release', token)
    equal(dibs('top', 'many:*').code, 0)
    equal(dibs('top', '--exit-code', 'many:*').code, 1)
    equal(dibs('top', '--exit-code', '-a', 'many:*').code, 0)


def a_user_without_the_totals_sees_the_names():
    harness.server.ask('ACL', 'SETUSER', 'few', 'reset', 'on', '>few', '~*', '&*', '+@all',
                       '-zrange')
    token = dibs('acquire', '--no-renew', 'few:1').out.strip()
    url = 'unix://few:few@' + harness.server.socket
    seen = json.loads(dibs('top', '--json', env={'DIBS_URL': url}).out)
    equal((seen['clients'], seen['classes'], seen['held']), (None, [], 1))
    dibs('release', token)


def a_user_without_rights_and_a_server_that_is_gone_are_named():
    harness.server.ask('ACL', 'SETUSER', 'none', 'reset', 'on', '>none', '+ping', '+auth',
                       '+client')
    done = dibs('top', env={'DIBS_URL': 'unix://none:none@' + harness.server.socket})
    equal((done.code, done.out), (77, ''), done)
    done = dibs('top', '-u', 'unix:///nowhere', '--connect-timeout', '500ms')
    equal((done.code, done.out), (69, ''), done)


# ---- recordings ----

def _record(path, *words, **more):
    return start('top', '--record', path, '-i', '100ms', *words, **more)


def _until_lines(path, count):
    until(lambda: os.path.exists(path) and len(read(path).splitlines()) >= count,
          '%d readings' % count)


def a_recording_without_a_screen_goes_on_until_a_signal():
    held = holder('rec:one')
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'r')
        recorder = _record(path)
        _until_lines(path, 2)
        end_holder(held)
        late = holder('rec:two')
        until(lambda: 'rec:two' in read(path), 'recorded')
        recorder.terminate()
        done = finish(recorder)
        equal((done.code, done.out, done.err), (128 + 15, '', ''))
        rows = [json.loads(line) for line in read(path).splitlines()]
        equal([lock['name'] for lock in rows[0]['locks']], ['rec:one'])
        equal([lock['name'] for lock in rows[-1]['locks']], ['rec:two'])
        shown = dibs('top', '--replay', path, env={'DIBS_URL': None})
        equal(shown.code, 0, shown)
        contains(shown.out, 'rec:two  lock')
        when = re.search(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d', shown.out)[0]
        contains(dibs('top', '--replay', path, '--at', when).out, when)
        end_holder(late)


def _at(path, time):
    return dibs('top', '--replay', path, '--at', time, env={'TZ': 'UTC0'})


def a_recording_is_shown_from_a_time_on():
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'r')
        dibs('top', '--once', '--record', path)
        reading = json.loads(read(path))
        with open(path, 'w') as f:
            for time in ('29T18:00:00', '30T03:12:00', '30T03:12:30', '30T04:00:00'):
                f.write(json.dumps(dict(reading, time='2026-11-%s.000Z' % time)) + '\n')
        for time, first in (('03:12', '30 03:12:00'), ('3:12', '30 03:12:00'),
                            ('3:12:01', '30 03:12:30'), ('03:13', '30 04:00:00'),
                            ('2026-11-30', '30 03:12:00'), ('2020-02-29', '29 18:00:00'),
                            ('2026-11-30 3:12', '30 03:12:00'), ('2026-11-30T03:12', '30 03:12:00'),
                            ('2026-11-30T3:12:30', '30 03:12:30')):
            done = _at(path, time)
            equal((done.code, done.err), (0, ''), (time, done))
            assert done.out.splitlines()[0].endswith('  2026-11-' + first), (time, done)
        for time in ('9:00', '04:00:01', '2026-12-01', '2026-11-30T23:59'):
            done = _at(path, time)
            equal((done.code, done.err), (0, 'dibs: the recording ends before %s: this is its last '
                                             'reading\n' % time), done)
            contains(done.out, '2026-11-30 04:00:00')


def what_is_no_time_is_refused():
    for time in ('', 'noon', '25:00', '24:00', '12:60', '12:00:60', '3:1', '003:12', '3', '3:12 ',
                 ' 3:12', '-3:12', '3:12:', '03.12', '2026-02-30', '2026-13-01', '2026-00-10',
                 '2026-11-00', '26-11-30 3:12', '2026-11-30 ', '2026-11-30T', '2026-11-30  3:12',
                 '2026-11-30 25:00', '2026-1-1', '2026-11-30 03:12Z', 'no\nn'):
        done = _at('/nowhere', time)
        equal((done.code, done.out), (64, ''), (time, done))
        contains(done.err, 'dibs: --at: "%s" is not HH:MM, HH:MM:SS or YYYY-MM-DD HH:MM\n'
                 % time.replace('\n', '\\x0a'))


def an_outage_is_recorded():
    token = dibs('acquire', '--no-renew', '-t', '10m', 'rec:outage').out.strip()
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'r')
        recorder = _record(path)
        _until_lines(path, 1)
        with harness.server.paused():
            until(lambda: '"up":false' in read(path), 'recorded')
        until(lambda: '"up":true' in read(path).splitlines()[-1], 'up again')
        recorder.terminate()
        finish(recorder)
        lines = read(path).splitlines(True)
        gone = next(line for line in lines if '"up":false' in line)
        assert json.loads(gone)['error'], gone
        with open(path, 'w') as f:
            f.write(gone)
        shown = dibs('top', '--replay', path).out
        assert shown.startswith('NO READING: '), shown
        contains(shown, 'rec:outage  lock')
    dibs('release', token)


def a_reading_is_the_same_after_its_replay():
    tokens = [dibs('acquire', '--no-renew', name).out.strip() for name in ('same:1', NASTY)]
    subprocess.run([DIBS, 'acquire', '--no-renew', b'same:\xff\xfe'], env=environment(), check=True,
                   stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'r')
        now = _lines(dibs('top', '--once', '--record', path))
        then = _lines(dibs('top', '--replay', path))
        equal(now[1:], then[1:])
        contains('\n'.join(now), 'same:\\xff\\xfe')
        equal(len(read(path).splitlines()), 1)
        equal(_lines(dibs('top', '--replay', path, '--limit', '1'))[2:], now[2:3])
    for token in tokens:
        dibs('release', token)
    harness.server.ask('FLUSHALL')


def a_damaged_recording_is_named_with_its_line():
    token = dibs('acquire', '--no-renew', 'damage').out.strip()
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'r')
        dibs('top', '--once', '--record', path)
        line = read(path)
        whole = json.loads(line)
        locks = [dict(whole['locks'][0], name='x' * 513)]
        for text in (json.dumps(dict(whole, locks=locks)), '', '\0', '[' * 100000):
            with open(path, 'w') as f:
                f.write(line + text + '\n')
            done = dibs('top', '--replay', path)
            equal((done.code, done.out), (74, ''), (text[:200], done))
            contains(done.err, path + ': line 2 is damaged: ')
        with open(path, 'w') as f:            # a recorder that was killed, and the next one
            f.write(line + line[:100])
        equal(dibs('top', '--replay', path).code, 0)
        dibs('top', '--once', '--record', path)
        equal(len(read(path).splitlines()), 3)
        equal(dibs('top', '--replay', path).code, 0)
    dibs('release', token)


def what_is_no_recording_is_refused():
    with tempfile.TemporaryDirectory() as place:
        empty, pipe = os.path.join(place, 'empty'), os.path.join(place, 'pipe')
        open(empty, 'w').close()
        os.mkfifo(pipe)
        for path, says in ((empty, 'it has no readings'), (pipe, 'it is no file'),
                           (place, 'it is no file'), (place + '/none', 'No such file')):
            done = dibs('top', '--replay', path)
            equal(done.code, 74, done)
            contains(done.err, 'cannot replay %s: %s' % (path, says))
        for words in (('--replay', empty, 'x*'), ('--at', '10:00')):
            equal(dibs('top', *words).code, 64, words)
        done = dibs('top', '--record', place + '/none/r')
        equal(done.code, 74, done)
        contains(done.err, 'cannot write')


def a_recording_ends_when_it_cannot_be_written():
    token = dibs('acquire', '--no-renew', 'full').out.strip()
    done = dibs('top', '--record', '/dev/full', '-i', '100ms')
    equal((done.code, done.out), (74, ''), done)
    contains(done.err, 'the recording ends: cannot write /dev/full: No space left')
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'r')
        dibs('top', '--once', '--record', path)
        done = subprocess.run(['bash', '-c', 'ulimit -f 4; exec "$DIBS" top --record "$0" -i 100ms',
                               path], env=environment(), capture_output=True, text=True,
                              timeout=PATIENCE)
        equal(done.returncode, 74, done)
        contains(done.stderr, 'File too large')
        assert len([json.loads(line) for line in read(path).splitlines()]) > 1
        assert read(path).endswith('\n'), read(path)
        pipe = os.path.join(place, 'pipe')
        os.mkfifo(pipe)
        recorder = _record(pipe)
        with open(pipe) as f:
            json.loads(f.readline())
        done = finish(recorder)
        equal(done.code, 74, done)
        contains(done.err, 'Broken pipe')
    dibs('release', token)


def options_out_of_range_are_refused():
    for words in (('--sort', 'size'), ('--limit', '0'), ('a', 'b'), ('-i', '50ms')):
        equal(dibs('top', *words).code, 64, words)


tests(dict(globals()))
