#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each subcommand with every set of closed standard descriptors: it ends, as with all of them open,
or, where it has output and stdout is closed, with an error; and what it holds, it gives back. A new
subcommand has to stand in WORDS."""
import itertools
import os
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from harness import *  # noqa
import harness

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
with open(os.path.join(ROOT, 'src/cli/commands.h')) as table:
    COMMANDS = re.findall(r'^  ROW\((\w+)\)', table.read(), re.M)
CLOSED = [c for count in (1, 2, 3) for c in itertools.combinations((0, 1, 2), count)]

# Calls that end by themselves. TOKEN: of a lock that is held; NAME: of the call's own.
WORDS = {
    'run': ['run NAME -- true', 'run -v -n NAME -- true',
            'run --json --quiet-on-success NAME -- true'],
    'flock': ['flock NAME true', 'flock -v -n NAME -c true'],
    'acquire': ['acquire -n -t 5m --no-renew NAME'],
    'renew': ['renew TOKEN', 'renew -v TOKEN'],
    'release': ['release TOKEN'],
    'break': ['break --yes NAME'],
    'sem': ['sem set NAME 2', 'sem set --json NAME 2'],
    'rate': ['rate set NAME 10 1s', 'rate show NAME'],
    'latch': ['latch set NAME 2', 'latch down NAME'],
    'barrier': ['barrier wait --parties 1 NAME', 'barrier show NAME'],
    'elect': ['elect observe -n NAME', 'elect run -n NAME -- true'],
    'status': ['status', 'status --json', 'status --graph'],
    'who': ['who NAME', 'who --json NAME'],
    'history': ['history', 'history --json'],
    'metrics': ['metrics --once', 'metrics --textfile FILE'],
    'top': ['top', 'top --json'],
    'web': ['web --listen nonsense'],
    'wait': ['wait NAME', 'wait -w 0 --held NAME'],
    'ping': ['ping --count 1'],
    'doctor': ['doctor'],
    'acl': ['acl', 'acl --json'],
    'local': ['local status', 'local stop'],
    'sandbox': ['sandbox -- true'],
    'completion': ['completion bash'],
    'help': ['help', 'help run'],
}
# Those that serve until a signal ends them.
SERVE = {'metrics': '/metrics', 'web': '/'}
directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
numbers = itertools.count()


def every_subcommand_has_words():
    equal(sorted(WORDS), sorted(COMMANDS), 'say in closed_descriptors_test.py how it is called')


def _words_of(line):
    """Fresh: the same call twice may end differently."""
    name = 'closed-%d' % next(numbers)
    words = [{'NAME': name, 'FILE': os.path.join(directory, name)}.get(w, w) for w in line.split()]
    if 'TOKEN' in words:
        token = dibs('acquire', '-t', '5m', '--no-renew', name).out.strip()
        assert token, line
        words = [token if w == 'TOKEN' else w for w in words]
    return words, name


def _start(words, closed, **more):
    """Without a shell's own idea of what it prints where."""
    script = 'exec "$DIBS" "$@" ' + ' '.join('%d>&-' % number for number in closed)
    process = subprocess.Popen(
        ['sh', '-c', script, 'sh', *words], text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(DIBS_LOCAL_DIR=os.path.join(directory, 'local'), **more))
    harness._started.append(process)
    return process


def _end_of(line, closed):
    words, name = _words_of(line)
    done = finish(_start(words, closed))
    return done, name


def _ends_as_when_all_are_open(line):
    first, _ = _end_of(line, ())
    assert 0 <= first.code < 82, (line, first)
    for closed in CLOSED:
        done, name = _end_of(line, closed)
        where = (line, closed, done)
        if 1 in closed and first.out != '':
            assert 0 < done.code < 82, where
        elif line != 'doctor':           # which measures time
            equal(done.code, first.code, where)
        if 1 not in closed:
            equal(done.out == '', first.out == '', where)
        if line.startswith(('run', 'elect', 'acquire')) and done.code != 0:
            assert not is_held(name), where


def every_subcommand_ends_with_every_set_of_closed_descriptors():
    lines = [line for lines in WORDS.values() for line in lines]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(_ends_as_when_all_are_open, line) for line in lines]:
            done.result()


def _port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def _answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as page:
            return page.read()
    except OSError:
        return None


def what_serves_goes_on_with_every_set_of_closed_descriptors():
    for command, path in SERVE.items():
        if 'built without' in dibs(command, '--listen', 'nonsense').err:
            continue
        for closed in CLOSED:
            port = _port()
            process = _start([command, '--listen', '127.0.0.1:%d' % port], closed)
            until(lambda: _answers('http://127.0.0.1:%d%s' % (port, path)),
                  '%s answers without %s' % (command, closed))
            process.terminate()
            assert finish(process).code in (0, 143, -15), (command, closed)


try:
    tests(dict(globals()))
finally:
    shutil.rmtree(directory, ignore_errors=True)
