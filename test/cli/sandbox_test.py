#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs sandbox with deployments: real clusters, sentinels and quorums, gone with the command."""
import glob
import itertools
import json
import os
import re
import shutil
import signal
import socket
import tempfile

from harness import *  # noqa

PROGRAMS = itertools.count()
directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
HOME = {'DIBS_URL': None, 'DIBS_LOCAL_DIR': directory + '/local', 'HOME': directory,
        'XDG_CONFIG_HOME': directory}


def _ports_of(url):
    return [int(port) for port in re.findall(r'127\.0\.0\.1:(\d+)', url)]


def _ask(port, command):
    """The raw answer to an inline command, or None where no server listens."""
    try:
        with socket.create_connection(('127.0.0.1', port), timeout=5) as line:
            line.sendall(command.encode() + b'\r\n')
            return line.recv(65536).decode()
    except OSError:
        return None


def _directory_of(port):
    return re.search(r'(/tmp/dibs-sandbox-[^/\r]+)', _ask(port, 'CONFIG GET dir')).group(1)


class Box(Sandbox):
    def __init__(self, *options):
        super().__init__(*options, env=HOME, limit=None)
        self.ports = _ports_of(self.url)
        self.env = dict(HOME, DIBS_URL=self.url)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.stop()
        for port in self.ports:
            until(lambda: _ask(port, 'PING') is None, 'port %d is closed' % port)


def a_cluster_serves_names_of_all_its_servers():
    box = Box('--cluster', '3')
    assert box.url.startswith('redis+cluster://'), box.url
    equal(len(box.ports), 3)
    contains(_ask(box.ports[0], 'CLUSTER INFO'), 'cluster_state:ok')
    for name in 'abcdefgh':
        equal(dibs('run', '-n', name, '--', 'true', env=box.env).code, 0)
    for port in box.ports:
        lacks(_ask(port, 'DBSIZE'), ':0\r')
    box.end()
    until(lambda: not os.path.exists(box.directory), 'the directory is gone')


def sentinels_fail_over_when_the_primary_ends():
    box = Box('--sentinel')
    assert box.url.startswith('redis+sentinel://'), box.url

    def primary():
        said = _ask(box.ports[0], 'SENTINEL get-master-addr-by-name service')
        return int(re.search(r'\$\d+\r\n127\.0\.0\.1\r\n\$\d+\r\n(\d+)', said).group(1))
    equal(dibs('run', 'x', '--', 'true', env=box.env).code, 0)
    first = primary()
    _ask(first, 'SHUTDOWN NOSAVE')
    until(lambda: primary() != first, 'another primary')
    equal(dibs('run', '-w', '30s', 'x', '--', 'true', env=box.env).code, 0)
    box.end()


def a_quorum_locks_with_a_minority_dead():
    box = Box('--quorum', '5')
    equal(len(box.ports), 5)
    equal(dibs('run', 'x', '--', 'true', env=box.env).code, 0)
    for port in box.ports[:2]:
        _ask(port, 'SHUTDOWN NOSAVE')
        until(lambda: _ask(port, 'PING') is None, 'port %d is closed' % port)
    equal(dibs('run', '-w', '30s', 'x', '--', 'true', env=box.env).code, 0)
    box.end()


def a_killed_wrapper_leaves_no_server_and_no_directory():
    box = Box('--cluster', '3')
    box.end(signal.SIGKILL)
    until(lambda: not os.path.exists(box.directory), 'the directory is gone')


def a_kept_sandbox_stays_until_it_is_stopped_as_it_says():
    done = dibs('sandbox', '--quorum', '3', '--keep', env=HOME)
    equal(done.code, 0, done)
    env = dict(HOME, DIBS_URL=done.out.strip())
    place = _directory_of(_ports_of(done.out)[0])
    equal(dibs('run', 'x', '--', 'true', env=env).code, 0)
    os.kill(int(re.search(r'kill (\d+)', done.err).group(1)), signal.SIGTERM)
    for port in _ports_of(done.out):
        until(lambda: _ask(port, 'PING') is None, 'port %d is closed' % port)
    until(lambda: not os.path.exists(place), 'the directory is gone')


def _have_in_environment(mark):
    found = []
    for path in glob.glob('/proc/[0-9]*/environ'):
        try:
            with open(path, 'rb') as f:
                found += [path] if mark.encode() in f.read() else []
        except OSError:
            pass                                   # it has ended meanwhile
    return found


def a_sandbox_whose_url_cannot_be_written_is_not_kept():
    for more in ([], ['--json']):
        mark = 'UNWRITTEN_%d_%d' % (os.getpid(), len(more))
        with open('/dev/full', 'w') as full:
            done = finish(start('sandbox', '--keep', *more, stdout=full, env={**HOME, mark: '1'}))
        equal(done.code, 70, done)
        contains(done.err, 'the sandbox is stopped: cannot write to standard output: '
                           'No space left on device')
        lacks(done.err, 'is kept')
        until(lambda: not _have_in_environment(mark), 'its processes have ended')


def a_file_describes_the_servers():
    roles = {('--quorum', '3'): ['server'] * 3, ('--cluster', '2'): ['primary'] * 2, (): ['server'],
             ('--sentinel',): ['primary'] + ['replica'] * 2 + ['sentinel'] * 3}
    for options, wanted in roles.items():
        done = dibs('sandbox', *options, '--', 'sh', '-c', 'cat "$DIBS_SANDBOX"; '
                    'stat -c %a "${DIBS_SANDBOX%/*}"; echo "$DIBS_URL"; echo "$DIBS_SANDBOX"',
                    env=HOME)
        equal(done.code, 0, done)
        text, mode, url, path = done.out.splitlines()
        box = json.loads(text)
        equal((box['v'], box['url'], mode), (1, url, '700'), done)
        equal(box['kind'], options[0][2:] if options else 'server')
        equal(path, box['directory'] + '/sandbox.json')
        equal([server['role'] for server in box['servers']], wanted)
        for server in box['servers']:
            assert server['directory'].startswith(box['directory']), box
            equal(server['socket'], server['directory'] + '/server.sock')
            equal(server['url'], 'redis://127.0.0.1:%d' % server['port'] if server['port']
                  else 'unix://' + server['socket'])
            until(lambda: not is_alive(server['pid']), 'the server is gone')
        assert not os.path.exists(box['directory']), box


def a_process_of_the_description_is_the_server():
    box = Box('--quorum', '3')
    for server in box.servers:
        contains(_ask(server.port, 'INFO server'), 'process_id:%d\r' % server.pid)
        contains(read(server.log), str(server.pid))
    box.servers[1].stop()
    equal(dibs('run', '-w', '30s', 'x', '--', 'true', env=box.env).code, 0)
    box.end()


def a_kept_sandbox_without_a_command_is_described_on_standard_output():
    done = dibs('sandbox', '--quorum', '3', '--keep', '--json', env=HOME)
    equal(done.code, 0, done)
    box = json.loads(done.out)
    try:
        equal([is_alive(server['pid']) for server in box['servers']], [True] * 3)
        kept = json.loads(read(box['directory'] + '/sandbox.json'))
        equal(kept, {**box, 'time': kept['time']})
    finally:
        os.kill(box['pid'], signal.SIGTERM)
    until(lambda: not os.path.exists(box['directory']), 'the directory is gone')


def the_code_is_that_of_the_command():
    equal(dibs('sandbox', '--quorum', '1', '--', 'sh', '-c', 'exit 7', env=HOME).code, 7)


def _server_program(text):
    """A server program: a script that does `text` first, with $port and the number $which."""
    program, name = server_program()
    path = os.path.join(directory, 'server%d' % next(PROGRAMS))
    with open(path, 'w') as script:
        script.write('#!/bin/bash\n'
                     'port=$(sed -n "s/.* --port \\([1-9][0-9]*\\).*/\\1/p" <<<"$*")\n'
                     'which=$(sed -n "s,.* --dir [^ ]*/\\([0-9]\\) .*,\\1,p" <<<"$*")\n'
                     '%s\nexec -a %s %s "$@"\n' % (text, name, program))
    os.chmod(path, 0o755)
    return dict(HOME, DIBS_SERVER=path)


def a_port_that_another_program_takes_in_between_is_given_up():
    wanted, taken = temporary_file(), os.path.join(directory, 'taken')
    env = _server_program('if mkdir %s.once; then echo $port >%s; until [ -e %s ]; do sleep 0.02; '
                          'done; fi 2>/dev/null' % (wanted, wanted, taken))
    process = start('sandbox', '--quorum', '3', '--', 'sh', '-c', 'echo "$DIBS_URL"', env=env)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port = int(until_text(wanted, '\n'))
        other.bind(('127.0.0.1', port))
        other.listen()
        open(taken, 'w').close()
        done = finish(process)
    equal(done.code, 0, done)
    os.unlink(wanted)
    equal(len(_ports_of(done.out)), 3)
    assert port not in _ports_of(done.out), done


def a_server_that_ends_is_named_with_its_own_log():
    mark = os.path.join(directory, 'ended')
    env = _server_program('case $which in 0) until [ -e %s ]; do sleep 0.02; done; sleep 0.2;; '
                          '1) touch %s; echo "out of luck"; exit 3;; esac' % (mark, mark))
    done = dibs('sandbox', '--quorum', '3', '--', 'true', env=env)
    equal(done.code, 69, done)
    contains(done.err, 'server 2 of 3, 127.0.0.1:')
    contains(done.err, 'out of luck')


def a_server_that_ends_while_the_cluster_forms_is_named_at_once():
    env = _server_program('nodes=$(sed "s,.* --dir \\([^ ]*\\) .*,\\1/nodes.conf," <<<"$*"); '
                          '[ $which != 1 ] || { until grep -qs "myself.* 8192-16383" $nodes; do '
                          'sleep 0.01; done; kill -9 $$; } &')
    done = dibs('sandbox', '--cluster', '2', '--', 'true', env=env)     # of its 40 s
    equal(done.code, 69, done)
    contains(done.err, 'server 2 of 2, 127.0.0.1:')


def a_kept_sandbox_keeps_its_directory_when_one_of_its_servers_ends():
    done = dibs('sandbox', '--quorum', '3', '--keep', env=HOME)
    ports = _ports_of(done.out)
    place = _directory_of(ports[0])
    try:
        _ask(ports[0], 'SHUTDOWN NOSAVE')
        until(lambda: _ask(ports[0], 'PING') is None, 'port %d is closed' % ports[0])
        equal(dibs('sandbox', '--', 'true', env=HOME).code, 0)      # removes what is left over
        assert os.path.exists(place)
    finally:
        os.kill(int(re.search(r'kill (\d+)', done.err).group(1)), signal.SIGTERM)
    until(lambda: not os.path.exists(place), 'the directory is gone')


def a_signal_ends_a_sandbox_that_is_still_starting():
    mark = temporary_file()
    env = _server_program('[ $which != 0 ] || echo "$$ $*" >%s; exec sleep 600' % mark)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        process = start('sandbox', '--quorum', '3', '--', 'echo', 'ran', env=env)
        words = until_text(mark, '\n').split()
        open(mark, 'w').close()
        process.send_signal(number)
        done = finish(process)          # its limit of time is half of that of the start
        equal((done.code, done.out), (-number, ''), done)
        until(lambda: not is_alive(int(words[0])), 'the server is gone')
        place = re.search('(/tmp/dibs-sandbox-[^/]+)', ' '.join(words)).group(1)
        until(lambda: not os.path.exists(place), 'the directory is gone')
    os.unlink(mark)


def wrong_numbers_and_pairs_are_usage():
    for words in (['--cluster', '0'], ['--cluster', '9'], ['--quorum', '10'], ['--quorum', '4'],
                  ['--cluster', '3', '--quorum', '5'], ['--sentinel', '--quorum', '5']):
        equal(dibs('sandbox', *words, '--', 'true', env=HOME).code, 64, words)
    equal(dibs('sandbox', env=HOME).code, 64)


try:
    tests(dict(globals()), needs_server=False)
finally:
    shutil.rmtree(directory, ignore_errors=True)
