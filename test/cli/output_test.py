#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command writes, and where it cannot write."""
import json
import os
import re
import resource
import signal
import subprocess
import tempfile

from harness import *  # noqa

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


# ---- a limit of the file size ----

def _under_limit(line):
    """Runs `line` in a directory of its own in which no file may have a byte."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(['sh', '-c', 'ulimit -f 0; ' + line], env=environment(),
                              cwd=directory, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def a_report_beyond_the_limit_of_the_file_size_is_an_error_and_not_the_end():
    code, out, err = _under_limit('exec "$DIBS" run --status-file f limit -- echo ran')
    equal((code, out), (0, 'ran\n'), err)
    contains(err, 'cannot write the status to f: File too large')


def output_and_messages_beyond_that_limit_are_no_end_either():
    for line, wanted in (('status -a', 70), ('acquire --no-renew limit:a', 70),
                         ('metrics --once', 70), ('metrics --textfile f', 74)):
        code, _, err = _under_limit('exec "$DIBS" %s >out' % line)
        equal(code, wanted, (line, err))
        contains(err, 'cannot write f: File too large' if '--textfile' in line
                 else 'cannot write to standard output')
    assert not is_held('limit:a')
    contains(_under_limit('exec "$DIBS" status -a >out')[2], 'standard output: File too large')
    equal(_under_limit('exec "$DIBS" run -v limit -- echo ran 2>err')[:2], (0, 'ran\n'))
    equal(_under_limit('exec "$DIBS" sandbox -- echo ran')[:2], (0, 'ran\n'))


def a_command_under_a_lock_has_that_limit_as_its_caller():
    code, _, err = _under_limit('exec "$DIBS" run limit -- dd if=/dev/zero of=f bs=1 count=1')
    equal(code, 128 + 25, err)              # SIGXFSZ


# ---- --json ----

# Each subcommand that has --json, each of its verbs, as they succeed and as they fail. In this
# order. TOKEN: of the last that was taken; NOWHERE: no server is there.
LINES = """
run j -- true
run -v j -- true
run j -- sh -c 'exit 3'
run -v --ttl 1s --max-hold 1s j -- sleep 20
run j -- /no/such/program
run j
run --status-file /no/such/dir/f j -- true
run --status-file /dev/full j -- true
run -j 2 --take 3 j -- true
run --multi j:a,j:b -- true
run --progress json --no-such-option j -- true
exec j -- true
flock j:f true
flock j:f -c 'exit 3'
flock j:f
acquire -v --no-renew j:a
renew TOKEN
renew -v TOKEN
run -n j:a -- true
run -w 500ms j:a -- true
run -w 500ms --progress plain j:a -- true
run -n --skip-ok j:a -- true
acquire -n j:a
acquire -n -E 9 j:a
who j:a
wait -w 0 j:a
wait --held j:a
status
status -a
ls j:*
status --held
status --graph
status --graph --dot
break j:a
release TOKEN
release TOKEN
renew TOKEN
renew no-token
renew ''
acquire --no-renew j:b
break --yes --fence 1 j:b
break --yes -m why j:b
break --yes j:b
release --yes j:b
who j:none
wait j:b
wait --zero j:none
sem set j:sem 2
sem show j:sem
sem show j:none
sem set j:sem 4
acquire --take 1 --no-renew j:sem
renew -v TOKEN
wait -w 0 j:sem
sem rm j:sem
sem ls
release TOKEN
release TOKEN
acquire --take all --no-renew j:sem
release TOKEN
sem rm j:sem
sem set j -1
sem nonsense j
rate set j:rate 1 1h
rate take -n j:rate
rate take -n j:rate
rate take -w 500ms j:rate
rate show j:rate
rate show j:none
rate rm j:rate
rate set j:rate 1 never
latch set j:latch 2
latch set j:latch 3
latch count j:latch
latch down j:latch
latch wait -w 0 j:latch
latch show j:latch
latch ls
who j:latch
latch down j:latch
latch wait j:latch
latch rm j:latch
latch count j:none
barrier wait --parties 2 -w 500ms j:barrier
barrier wait --parties 1 j:barrier
barrier reset j:barrier
barrier show j:barrier
barrier ls
who j:barrier
elect run -v --value here j:lead -- true
elect run --on-elected 'exit 4' --on-deposed 'exit 5' j:lead -- true
elect observe -n j:lead
elect break --yes j:lead
elect observe --loop j:lead
history
history nothing:*
top
top nothing:*
doctor
metrics --once
metrics --textfile /dev/null/f
metrics --listen nowhere
web --listen nowhere
web --token short
ping --count 2 -i 10ms
ping --count 2 -i 10ms NOWHERE
acl worker
acl --functions
acl --mode nonsense
acl --registry x
acl --dialect spring worker
local url
local start
local start --aof
local status
local url
local socket
local stop
local status
local nonsense
sandbox -v -- true
sandbox -- /no/such/program
sandbox
sandbox --cluster 1 --quorum 3 -- true
"""


def _commands():
    """Of the table: name, verbs."""
    with open(os.path.join(ROOT, 'src/cli/commands.h')) as table:
        names = re.findall(r'^  ROW\((\w+)\)', table.read(), re.M)
    for name in names:
        shown = dibs(name, '--help').out
        verbs = re.findall(r'^  (\w+) .*  ', shown.split('\nExamples')[0], re.M)
        usage = shown.splitlines()[0].split('] ', 1)[-1].split(' | ')
        words = verbs if 'VERB' in usage[0] else usage if len(usage) > 1 else ['']
        yield name, [w for w in words if w.islower()] or [''], '--json' in shown


def _objects(text):
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        equal(row['v'], 1, row)
        assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', row['time']), row
    return rows


def _only_json(line, done):
    try:
        messages(done)
        return _objects(done.out)
    except (ValueError, KeyError, TypeError) as e:
        raise AssertionError('%s: %s\n%r' % (line, e, done))


def _words(line, token):
    words = re.findall(r"'[^']*'|\S+", line)
    words = [w.strip("'").replace('TOKEN', token) for w in words]
    nowhere = ['-u', 'unix:///nowhere', '--connect-timeout', '500ms']
    end = words.index('NOWHERE') if 'NOWHERE' in words else len(words)
    return [words[0], '--json', *words[1:end], *(nowhere if end < len(words) else [])]


def each_subcommand_with_json_writes_nothing_else():
    token = ''
    with tempfile.TemporaryDirectory() as home:
        try:
            for line in LINES.strip().splitlines():
                done = dibs(*_words(line, token), env={'DIBS_LOCAL_DIR': home})
                for row in _only_json(line, done):
                    token = row.get('token', token)
        finally:
            dibs('local', 'stop', '--force', env={'DIBS_LOCAL_DIR': home})


def each_subcommand_and_verb_is_in_that_list():
    lines = LINES.strip().splitlines()
    for name, verbs, has_json in _commands():
        if not has_json:
            equal(dibs(name, '--json').code, 64)
            continue
        for verb in verbs:
            start_of = (name + ' ' + verb).rstrip() + ' '
            assert any((line + ' ').startswith(start_of) for line in lines), start_of


def each_subcommand_with_json_says_so_of_mistakes_and_of_no_server():
    for name, verbs, has_json in _commands():
        if not has_json:
            continue
        fault(dibs(name, '--no-such-option', '--json'))
        fault(dibs(name, '--json', '--no-such-option'))
    for line in ('run j -- true', 'status', 'who j', 'history', 'top', 'acquire j', 'sem set j 2',
                 'latch set j 2', 'elect run j -- true', 'elect observe -n j', 'wait j',
                 'rate show j', 'barrier ls', 'metrics --textfile /dev/null/f', 'doctor'):
        words = _words(line, '')
        done = dibs(*words[:2], '-u', 'unix:///nowhere', '--connect-timeout', '500ms', *words[2:])
        assert done.code not in (0, 64), (line, done)
        _only_json(line, done)
    for words in (['rnu', '--json'], ['--json', 'run'], ['-x', '--json', 'run']):
        fault(dibs(*words))


def messages_are_json_while_it_waits_for_another_and_while_it_serves():
    other = holder('j:long')
    waiter = start('run', '-v', '--json', 'j:long', '--', 'true')
    until_waiting('j:long')
    lines = [waiter.stderr.readline()]
    while '"waiting"' not in lines[-1]:
        lines.append(waiter.stderr.readline())
        assert lines[-1], lines
    end_holder(other)
    done = finish(waiter)
    equal(done.code, 0, done)
    equal(_objects(''.join(lines) + done.err)[-1]['event'], 'ended')
    for name in ('metrics', 'web'):
        process = start(name, '--json', '--listen', '127.0.0.1:0')
        said = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        done = finish(process)
        equal((done.code, done.out), (0, ''), done)
        _objects(said + done.err)


def a_sandbox_that_is_kept_says_its_url_and_pid():
    done = dibs('sandbox', '--json', '--keep')
    pid = int(re.search(r'kill (\d+)', done.err)[1])
    os.kill(pid, signal.SIGTERM)
    kept = _only_json('sandbox --keep', done)[0]
    equal(kept['pid'], pid)
    assert kept['url'].startswith(('redis://', 'unix://')), kept


def nothing_is_asked_on_a_terminal_with_json():
    other = holder('j:asked')
    terminal = Terminal(DIBS, 'break', '--json', 'j:asked')
    equal(terminal.end(), 64)
    rows = _objects(terminal.seen.replace('\r', ''))
    contains(rows[0]['text'], '--yes')
    equal(end_holder(other).code, 0)


def a_break_that_is_not_wanted_says_so_and_exits_with_1():
    other = holder('j:kept')
    for answer in ('n\n', '\n', '\x04'):
        terminal = Terminal(DIBS, 'break', 'j:kept')
        terminal.expect('Break it? [y/N] ')
        terminal.type(answer)
        equal(terminal.end(), 1)
        contains(terminal.seen, 'dibs: j:kept was not broken')
    equal(end_holder(other).code, 0)


def json_of_acl_and_of_a_renewed_token_has_what_the_text_has():
    line = json.loads(dibs('acl', '--json', 'worker').out)['line']
    equal(line + '\n', dibs('acl', 'worker').out)
    equal(json.loads(dibs('acl', '--json', '--functions').out)['library'],
          dibs('acl', '--functions').out)
    token = json.loads(dibs('acquire', '--json', '--no-renew', 'j:left').out)['token']
    left = json.loads(dibs('renew', '--json', '-t', '1h', token).out)['remaining_ms']
    assert 3000000 < left <= 3600000, left
    equal(dibs('release', token).code, 0)


# ---- a limit of the descriptors ----

def json_does_not_control_a_terminal():
    name = 'n\x7f\x9b2J\x85'
    for words in (['run', '--json', '--note', name, name, '--', DIBS, 'status', '--json'],
                  ['run', '--status-file', '/dev/stdout', name, '--', 'true'],
                  ['sem', 'set', '--json', name + '2', '2']):
        done = dibs(*words)
        equal(done.code, 0, done)
        contains(done.out, '\\u007F\\u009B2J\\u0085')
        assert not re.search('[\x7f-\x9f]', done.out + done.err), done


def _dibs_with_descriptors(number, *words):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))
    return dibs(*words, preexec_fn=limit, env=no_leak_check())


def without_descriptors_the_reason_is_an_error_event_that_names_it():
    """Each number of descriptors fails at another place, up to the one that suffices."""
    for words in (['run', 'few', '--', 'true'], ['acquire', '--no-renew', '-t', '1s', 'few'],
                  ['acquire', '--for-pid', str(os.getpid()), 'few']):
        codes = []
        for number in range(5, 40):
            for limit in ('300ms', '20s'):       # the longer one on a busy machine
                done = _dibs_with_descriptors(number, words[0], '--json', '--connect-timeout',
                                              limit, *words[1:])
                if done.code != 69 or 'Too many open files: ' in done.err:
                    break
            if done.code == 0:
                break
            codes.append(done.code)
            assert done.code in (69, 70), done
            error = fault(done)
            equal(error['code'], done.code, done)
            contains(error['text'], 'Too many open files: ')
            contains(error['text'], '(ulimit -n)')
        assert 70 in codes and done.code == 0, (words, codes, done)


tests(globals())
