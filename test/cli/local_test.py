#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs local and dibs sandbox, and the private server without any URL."""
import json
import os
import shutil
import signal
import tempfile

from harness import *  # noqa

PRIVATE = 'using a private server for this user on this machine only'
directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
HOME = {'DIBS_URL': None, 'XDG_RUNTIME_DIR': directory, 'HOME': directory,
        'XDG_CONFIG_HOME': directory, 'KUBERNETES_SERVICE_HOST': None}


def without_a_url_a_private_server_is_started_and_said():
    done = dibs('run', 'alone', '--', 'sh', '-c', 'echo $DIBS_URL', env=HOME)
    equal(done.code, 0, done)
    contains(done.err, PRIVATE)
    assert done.out.startswith('unix://'), done
    equal(dibs('run', '-q', 'alone', '--', 'true', env=HOME).err, '')
    lacks(dibs('run', '--local', 'alone', '--', 'true', env=HOME).err, PRIVATE)


def json_tells_that_the_scope_is_private():
    equal(json.loads(dibs('who', '-q', '--json', 'alone', env=HOME).out)['scope'], 'private')


def no_local_refuses_it():
    done = dibs('run', '--no-local', 'alone', '--', 'true', env=HOME)
    equal(done.code, 78, done)
    equal(dibs('run', 'alone', '--', 'true', env=dict(HOME, DIBS_NO_LOCAL='1')).code, 78)


def local_goes_up_and_down():
    url = dibs('local', 'start', env=HOME)
    equal(url.code, 0, url)
    assert url.out.startswith('unix://'), url
    equal(dibs('local', 'url', env=HOME).out, url.out)
    done = dibs('local', 'status', env=HOME)
    equal(done.code, 0)
    contains(done.out, 'running    pid ')
    pid = json.loads(dibs('local', 'status', '--json', env=HOME).out)['pid']
    assert is_alive(pid)
    equal(dibs('ping', '-c', '1', '-u', url.out.strip(), env=HOME).code, 0)
    equal(dibs('local', 'stop', env=HOME).code, 0)
    until(lambda: not is_alive(pid), 'the server ended')
    equal(dibs('local', 'status', env=HOME).code, 69)
    equal(dibs('local', 'url', env=HOME).code, 69)
    equal(dibs('local', 'stop', env=HOME).code, 0)


def no_server_program_gives_69_and_names_the_package():
    bare = dict(HOME, PATH=directory, XDG_RUNTIME_DIR=tempfile.mkdtemp(dir=directory))
    bare.pop('DIBS_SERVER', None)
    done = dibs('local', 'start', env=dict(bare, DIBS_SERVER='/nowhere/redis-server'))
    assert done.code in (69, 78), done


def sandbox_gives_a_server_and_the_codes_of_the_command():
    done = dibs('sandbox', '--', 'sh', '-c', 'echo $DIBS_URL; "$DIBS" run a -- "$DIBS" who a; '
                'exit 7', env=HOME)
    equal(done.code, 7, done)
    contains(done.out, 'a  held')
    lacks(done.err, PRIVATE)
    path = done.out.splitlines()[0].replace('unix://', '')
    assert not os.path.exists(path)
    equal(dibs('sandbox', 'sh', '-c', 'kill -9 $$', env=HOME).code, 137)
    equal(dibs('sandbox', 'no-such-program-here', env=HOME).code, 127)
    equal(dibs('sandbox', '/etc/passwd', env=HOME).code, 126)


def a_killed_sandbox_leaves_no_server():
    out = temporary_file()
    process = start('sandbox', '--', 'sh', '-c', '"$DIBS" ping -c 1 >%s; exec sleep 60' % out,
                    env=HOME)
    until_text(out, 'answered')
    socket_path = read(out).splitlines()[0].replace('PING unix://', '')
    assert os.path.exists(socket_path)
    process.kill()
    process.wait()
    env = dict(HOME, DIBS_URL='unix://' + socket_path)
    until(lambda: dibs('ping', '-q', '-c', '1', '--connect-timeout', '50ms',
                       env=env).code == 69, 'the server is gone')
    os.unlink(out)


def term_to_the_sandbox_reaches_the_command():
    out = temporary_file()
    process = start('sandbox', '--', 'sh', '-c',
                    'trap "echo got >%s; exit 3" TERM; echo up >%s; '
                    'while :; do sleep 0.02; done' % (out, out), env=HOME)
    until_text(out, 'up')
    process.send_signal(signal.SIGTERM)
    equal(finish(process).code, 3)
    equal(read(out), 'got\n')
    os.unlink(out)


try:
    tests(dict(globals()), needs_server=False)
finally:
    dibs('local', 'stop', env=HOME)
    shutil.rmtree(directory, ignore_errors=True)
