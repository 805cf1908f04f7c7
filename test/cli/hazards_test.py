#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each option of `dibs run` meets, and must not spoil: commands inside (they lock the same
names), another client that has the name (75), a server that cannot decide (69), messages without
a reader, and a wrapper that is killed; and a signal at any moment of the grant. A new option has
to stand in OPTIONS, or in ELSEWHERE with the test that has it. Pairs of options are in
pairs_test.py, what is handed on in identity_test.py, the states of a server in
undecided_test.py."""
import os
import re
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from harness import *  # noqa
import harness

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
TABLES = {'options.c': ['common'], 'connection.c': ['connection'],
          'taking.c': ['kind', 'plain', 'taking'], 'run_options.c': ['run']}
PASSWORD = 'geheim-17'
directory = tempfile.mkdtemp(prefix='dibs-cli-test-')


class Row:
    """`words`: the option. `place`: what else says which lock a name is, as another client writes
    it. `kind`: what a command inside has to write; `holds`: the wrapper, where that is not the
    same. `none`: the words of one who does not wait; `busy`: its exit code. `same`: that of the
    same name inside, which would wait for itself."""

    def __init__(self, words='', place='', kind='', none='-n', busy=75, same='80', holds=None):
        self.words, self.place, self.kind, self.none = words, place, kind, none
        self.busy, self.same = busy, same
        self.holds = kind if holds is None else holds


OPTIONS = {
    'json': Row('--json'), 'quiet': Row('-q'), 'verbose': Row('-v'),
    # The deployment.
    'url': Row(place='-u URL'), 'db': Row(place='--db 3'), 'prefix': Row(place='--prefix p'),
    'user': Row(place='--user bob --pass-file PASS'),
    'pass-file': Row(place='--user bob --pass-file PASS'),
    'dialect': Row(place='--dialect redisson'),
    'registry': Row(place='--dialect spring --registry r'),
    'connect-timeout': Row('--connect-timeout 9s'), 'degrade': Row('--degrade wait', none='-w 0'),
    'config': Row(place='--config CONFIG'), 'no-local': Row('--no-local'),
    # What is locked.
    'shared': Row(kind='--write', holds='-s'), 'write': Row(kind='--write'),
    'permits': Row(kind='-j 2 --take 2'), 'take': Row(kind='-j 2 --take 2'),
    # This format stores no holders, so that there is nothing to compare with.
    'plain-permits': Row(place='--dialect redisson', kind='-j 1 --plain-permits', same='75'),
    'multi': Row(kind='--multi NAME,NAME-2'),
    'fair': Row(kind='--fair'), 'fenced': Row(place='--dialect redisson', kind='--fenced'),
    'spin': Row(place='--dialect redisson', kind='--spin'),
    # How it is waited for and kept.
    'nonblock': Row('--nonblock', none=''), 'wait': Row('--wait 60s', none='--wait 0'),
    'conflict-exit-code': Row('--conflict-exit-code 9', busy=9),
    'skip-ok': Row('--skip-ok', busy=0), 'ttl': Row('--ttl 40s'), 'max-hold': Row('--max-hold 5m'),
    'note': Row('--note because'), 'progress': Row('--progress json'),
    # The command.
    'min-hold': Row('--min-hold 1ms'), 'on-lost': Row('--on-lost ignore'),
    'kill-after': Row('--kill-after 1s'), 'foreground': Row('--foreground'),
    'quiet-on-success': Row('--quiet-on-success'), 'status-file': Row('--status-file FILE'),
    'notify': Row('--notify'),
}

ELSEWHERE = {
    'replicas': 'needs replicas (servers_test.py)', 'fsync': 'servers_test.py',
    'status-fd': 'an open descriptor (pairs_test.py)', 'help': 'takes nothing',
    'command': 'the command in another spelling (run_test.py)',
    'askpass': 'a terminal (identity_test.py)', 'local': 'local_test.py',
    'cacert': 'identity_test.py', 'cert': 'identity_test.py', 'key': 'identity_test.py',
    'sni': 'identity_test.py',
}

# Whether a command inside may take the same name, whether another client may, and something that
# the killed wrapper must not leave behind.
SCRIPT = '''
say() { echo "$@" >>"$0"; }
"$DIBS" run -q -n $KIND -- true; say same $?
env -u DIBS_HELD "$DIBS" run -q -n $KIND -- true; say busy $?
sleep 600 & say pid $!
wait
'''


def _options_of_the_source():
    found = []
    for file, tables in TABLES.items():
        with open(os.path.join(ROOT, 'src/cli', file)) as f:
            text = f.read()
        for table in tables:
            rows = text.split('options_%s[] = {' % table, 1)[1].split('\n};', 1)[0]
            for row in re.findall(r'^  (\{ "[\w-]+",.*?)(?=^  \{|\Z)', rows, re.M | re.S):
                if not re.search(r'\b(REFUSED|SPELLING|IGNORED)\b', row):
                    found.append(re.match(r'\{ "([\w-]+)"', row).group(1))
    return found


def every_option_of_run_has_a_row_or_a_test_elsewhere():
    names = _options_of_the_source()
    assert len(names) > 35, names
    for name in names:
        equal((name in OPTIONS) + (name in ELSEWHERE), 1, 'say in hazards_test.py what --%s meets'
              % name)
    for name in list(OPTIONS) + list(ELSEWHERE):
        assert name in names, (name, 'is no option any more')


def _config(server):
    return os.path.join(directory, 'config-' + os.path.basename(server.directory))


def _prepare(server):
    for path, text in ((_config(server), 'url = %s\nprefix = of-file\n' % server.url),
                       (os.path.join(directory, 'pass'), PASSWORD + '\n')):
        with open(path, 'w') as f:
            f.write(text)
    server.ask('ACL', 'SETUSER', 'bob', 'on', '>' + PASSWORD, '~*', '&*', '+@all')


class _Words:
    """The words of a row for one server and one name."""

    def __init__(self, option, server):
        self.row, self.name = OPTIONS[option], 'meets-' + option
        self.values = {
            'URL': server.url, 'NAME': self.name, 'PASS': os.path.join(directory, 'pass'),
            'FILE': os.path.join(directory, 'status'), 'CONFIG': _config(server)}
        without_url = {'-u', '--config'} & set(self.row.place.split())
        self.env = {'DIBS_URL': None if without_url else server.url}

    def of(self, *texts):
        words = [w for text in texts for w in text.split()]
        for key, value in self.values.items():
            words = [re.sub(r'\b%s\b' % key, value, w) for w in words]
        return words if '--multi' in words else words + [self.name]

    def holds(self):
        return self.of(self.row.words, self.row.place, self.row.holds)

    def kind(self):
        return ' '.join(self.of(self.row.kind))

    def tries(self, *more):
        return self.of(self.row.words, self.row.place, self.row.kind, self.row.none, *more)


def _no_reader():
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def _inside(path):
    """What the command inside found, once it has started what it leaves behind."""
    text = until_text(path, 'pid ')
    return dict(line.split() for line in text.splitlines())


def _meets_all(option):
    words, path, ran = _Words(option, harness.server), temporary_file(), temporary_file()
    pipe = _no_reader()
    wrapper = start('run', *words.holds(), '--', 'sh', '-c', SCRIPT, path, stderr=pipe,
                    stdout=subprocess.DEVNULL, env=dict(words.env, KIND=words.kind()))
    os.close(pipe)
    found = _inside(path)
    equal(found['same'], words.row.same, option)
    promise_kept(found['busy'] != '0', option, 'two have it: the command inside, too')
    equal(found['busy'], '75', option)
    done = dibs('run', *words.tries(), '--', 'sh', '-c', 'echo ran >"$0"', ran, env=words.env)
    promise_kept(read(ran) == '', option, 'two have it:', done)
    equal(done.code, words.row.busy, (option, done))
    wrapper.kill()
    wrapper.wait()
    until(lambda: not is_alive(int(found['pid'])), option + ': what it started is dead')


def _undecided(option, server):
    words, ran = _Words(option, server), temporary_file()
    more = [] if option == 'conflict-exit-code' else ['--skip-ok']
    done = dibs('run', *words.tries('--connect-timeout 300ms', *more), '--', 'sh', '-c',
                'echo ran >"$0"', ran, env=words.env)
    promise_kept(read(ran) == '', option, 'ran without its lock:', done)
    equal(done.code, 69, (option, done))


def _each(what, *more):
    """For all options, some at a time: most of the time they wait."""
    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(what, option, *more) for option in OPTIONS]:
            done.result()


def no_option_spoils_nesting_exclusion_an_unread_message_or_the_guardian():
    _prepare(harness.server)
    _each(_meets_all)


def no_option_takes_a_server_that_cannot_decide_for_a_busy_name():
    server = Server('--min-replicas-to-write', '1')
    try:
        _prepare(server)
        _each(_undecided, server)
    finally:
        server.stop()


# ---- a signal at the moment of the grant ----

def _signalled(number):
    """Sends TERM to the waiter `number` ms after the holder was asked to release."""
    name, path = 'signalled-%d' % number, temporary_file()
    first = holder(name)
    waiter = start('run', '--ttl', '5m', name, '--', 'sh', '-c', 'echo $$ >"$0"; exec sleep 600',
                   path)
    until_waiting(name)
    first.stdin.close()
    first.stdin = None
    time.sleep(number / 1000)
    waiter.terminate()
    equal(finish(waiter).code, 143, number)
    equal(finish(first).code, 0, number)
    pid = read(path)
    if pid:
        until(lambda: not is_alive(int(pid)), 'the command is dead')
    until(lambda: not is_held(name), 'the name is free')


def a_signal_at_the_moment_of_the_grant_leaves_no_command_and_no_lock():
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(_signalled, range(0, 24, 2)))


if __name__ == '__main__':
    try:
        tests(dict(globals()))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
