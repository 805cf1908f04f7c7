#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs local and dibs sandbox, and the private server without any URL."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from harness import *  # noqa

PRIVATE = 'using a private server for this user on this machine only'
directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
HOME = {'DIBS_URL': None, 'DIBS_LOCAL_DIR': directory + '/local', 'HOME': directory,
        'XDG_CONFIG_HOME': directory, 'KUBERNETES_SERVICE_HOST': None}


def without_a_url_a_private_server_is_started_and_said():
    done = dibs('run', 'alone', '--', 'sh', '-c', 'echo $DIBS_URL', env=HOME)
    equal(done.code, 0, done)
    contains(done.err, PRIVATE)
    assert done.out.startswith('unix://'), done
    equal(dibs('run', '-q', 'alone', '--', 'true', env=HOME).err, '')
    lacks(dibs('run', '--local', 'alone', '--', 'true', env=HOME).err, PRIVATE)


def a_local_url_of_any_source_is_no_missing_url():
    path = directory + '/local-url'
    with open(path, 'w') as file:
        file.write('url = local:\n')
    for words, env in ((['-u', 'local:'], {}), (['--config', path], {}),
                       ([], {'DIBS_CONFIG': path}), ([], {'DIBS_URL': 'local:'}),
                       ([], {'VALKEY_URL': 'local:'}), ([], {'REDIS_URL': 'local:'})):
        done = dibs('run', *words, 'alone', '--', 'true', env=dict(HOME, **env))
        equal((done.code, done.err), (0, ''), (words, env, done))


def json_tells_that_the_scope_is_private():
    equal(json.loads(dibs('who', '-q', '--json', 'alone', env=HOME).out)['scope'], 'private')


def no_local_refuses_it():
    done = dibs('run', '--no-local', 'alone', '--', 'true', env=HOME)
    equal(done.code, 78, done)
    equal(dibs('run', 'alone', '--', 'true', env=dict(HOME, DIBS_NO_LOCAL='1')).code, 78)
    path = directory + '/names-local'
    with open(path, 'w') as file:
        file.write('url = local:\n')
    for words, env in ((['-u', 'local:'], {}), ([], {'DIBS_URL': 'local:'}),
                       (['--config', path], {}), ([], {'DIBS_CONFIG': path})):
        for no in ({'option': ['--no-local']}, {'env': {'DIBS_NO_LOCAL': '1'}}):
            done = dibs('run', *no.get('option', []), *words, 'alone', '--', 'true',
                        env=dict(HOME, **env, **no.get('env', {})))
            equal(done.code, 78, (words, env, no, done))
            contains(done.err, 'forbids the private server')
            lacks(done.err, 'no URL')


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
    equal(dibs('ping', '--count', '1', '-u', url.out.strip(), env=HOME).code, 0)
    equal(dibs('local', 'stop', env=HOME).code, 0)
    until(lambda: not is_alive(pid), 'the server ended')
    equal(dibs('local', 'status', env=HOME).code, 69)
    equal(json.loads(dibs('local', 'status', '--json', env=HOME).out)['pid'], None)
    equal(dibs('local', 'url', env=HOME).code, 69)
    equal(dibs('local', 'stop', env=HOME).code, 0)


def its_directory_may_have_any_characters():
    odd = dict(HOME, DIBS_LOCAL_DIR=directory + '/50% of a?b#c \u00e4+&')
    try:
        done = dibs('run', 'odd', '--', 'sh', '-c', '"$DIBS" who --json -q odd; echo "$DIBS_URL"',
                    env=odd)
        equal(done.code, 0, done)
        url = done.out.splitlines()[-1]
        equal(dibs('local', 'url', env=odd).out.strip(), url)
        equal(dibs('ping', '--count', '1', '-u', url).code, 0, url)
        equal(dibs('local', 'socket', env=odd).out.strip(), odd['DIBS_LOCAL_DIR'] + '/server.sock')
    finally:
        dibs('local', 'stop', '--force', env=odd)


def redis_cli_reaches_it_as_the_help_says():
    if shutil.which('redis-cli') is None:
        return
    equal(dibs('local', 'start', env=HOME).code, 0)
    path = dibs('local', 'socket', env=HOME).out.strip()
    done = subprocess.run(['redis-cli', '-s', path, 'PING'], capture_output=True, text=True)
    equal(done.stdout, 'PONG\n')
    contains(dibs('help', 'local').out, 'redis-cli -s "$(dibs local socket)"')


def a_lease_without_a_program_outlives_the_idle_time():
    env = dict(HOME, DIBS_LOCAL_DIR=directory + '/idle')
    equal(dibs('local', 'start', '--idle', '1s', env=env).code, 0)
    equal(dibs('acquire', '-q', '-n', '-t', '5m', '--no-renew', 'cool', env=env).code, 0)
    time.sleep(3)       # nothing happening is the fact
    refused(dibs('acquire', '-q', '-n', '-t', '5m', '--no-renew', 'cool', env=env).code, 75)
    done = dibs('local', 'stop', env=env)
    equal(done.code, 75, done)
    contains(done.err, 'cool')
    equal(dibs('local', 'status', env=env).code, 0)
    equal(dibs('local', 'stop', '--force', env=env).code, 0)
    equal(dibs('local', 'status', env=env).code, 69)


def it_is_not_stopped_while_a_process_uses_it_or_its_locks_are_not_known():
    env = dict(HOME, DIBS_LOCAL_DIR=directory + '/used')
    for words in (['--prefix', 'other'], ['--dialect', 'redisson']):
        used = start('run', '-q', *words, 'x', '--', 'sh', '-c', 'echo; cat', env=env,
                     stdin=subprocess.PIPE)
        equal(used.stdout.readline(), '\n')
        done = dibs('local', 'stop', env=env)
        equal(done.code, 75, (words, done))
        contains(done.err, '1 process uses it; --force')
        equal(end_holder(used).code, 0)
    pid = json.loads(dibs('local', 'status', '--json', env=env).out)['pid']
    os.kill(pid, signal.SIGSTOP)
    try:
        done = dibs('local', 'stop', env=env)
        equal(done.code, 69, done)
        contains(done.err, 'not known which locks are held')
    finally:
        os.kill(pid, signal.SIGCONT)
    equal(dibs('local', 'status', env=env).code, 0)
    equal(dibs('local', 'stop', env=env).code, 0)


def what_aof_kept_is_there_at_the_next_automatic_start():
    env = dict(HOME, DIBS_LOCAL_DIR=directory + '/kept')
    equal(dibs('local', 'start', '--aof', env=env).code, 0)
    equal(dibs('acquire', '-q', '-n', '-t', '5m', '--no-renew', 'cool', env=env).code, 0)
    equal(dibs('local', 'stop', '--force', env=env).code, 0)
    refused(dibs('acquire', '-q', '-n', 'cool', env=env).code, 75)
    equal(dibs('local', 'stop', '--force', '--forget', env=env).code, 0)
    equal(dibs('run', '-q', '-n', 'cool', '--', 'true', env=env).code, 0)
    equal(dibs('local', 'stop', env=env).code, 0)


STARTS_IT = '"$DIBS" run -q --local inner -- true; echo up; exec sleep 60'


def it_outlives_the_command_that_started_it_and_was_killed():
    outer = Server()
    for victim in ('wrapper', 'guardian'):
        env = dict(HOME, DIBS_LOCAL_DIR='%s/%s' % (directory, victim))
        process = start('run', '-u', outer.url, 'outer', '--', 'sh', '-c', STARTS_IT, env=env)
        equal(process.stdout.readline(), 'up\n')
        below = guardians(process.pid)
        pid = json.loads(dibs('local', 'status', '--json', env=env).out)['pid']
        equal(dibs('acquire', '-q', '-t', '5m', '--no-renew', 'unrelated', env=env).code, 0)
        os.kill(process.pid if victim == 'wrapper' else below[1], signal.SIGKILL)
        until(lambda: not any(is_alive(one) for one in below), 'the guardians have ended')
        assert is_alive(pid), victim
        refused(dibs('acquire', '-q', '-n', 'unrelated', env=env).code, 75)
        equal(dibs('local', 'stop', '--force', env=env).code, 0)
    outer.stop()


def cron_and_a_login_share_one_server():
    # As a user without an account, for whom there is no private server yet.
    if os.geteuid() != 0:
        return
    user = 100000000 + os.getpid()
    command = command_apart()
    place = '/tmp/dibs-%d' % user
    cron = {'HOME': '/', 'PATH': os.environ['PATH']}
    login = {'HOME': directory, 'PATH': os.environ['PATH'], 'XDG_RUNTIME_DIR': '/tmp/x',
             'TMPDIR': directory, 'XDG_CONFIG_HOME': '/nowhere'}
    words = ['-n', '-q', '-t', '1m', '--no-renew', 'nightly']
    try:
        first = subprocess.run([command, 'acquire', *words], env=cron, user=user, group=user,
                               extra_groups=[], cwd='/', start_new_session=True,
                               capture_output=True, text=True)
        equal(first.returncode, 0, first)
        second = subprocess.run([command, 'acquire', *words], env=login, user=user, group=user,
                                extra_groups=[], cwd='/', capture_output=True, text=True)
        refused(second.returncode, 75, second)
    finally:
        subprocess.run([command, 'local', 'stop', '--force'], env=cron, user=user, group=user,
                       extra_groups=[], cwd='/')
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(os.path.dirname(command), ignore_errors=True)


def a_umask_that_takes_rights_from_the_owner_breaks_nothing():
    # Root may do everything in any case.
    is_root = os.geteuid() == 0
    user = 100000000 + os.getpid()
    command = command_apart() if is_root else DIBS
    degraded = ['run', '-u', 'unix:///nowhere', '--connect-timeout', '200ms', '--degrade', 'local']
    for umask in (0o177, 0o277, 0o777):
        home = tempfile.mkdtemp(prefix='dibs-cli-test-')
        env = dict(HOME, DIBS_LOCAL_DIR=home + '/local', HOME=home, XDG_CONFIG_HOME=home,
                   DIBS=command)
        other = {'user': user, 'group': user, 'extra_groups': []} if is_root else {}
        if is_root:
            os.chown(home, user, user)
        try:
            for words in (['run', '-n', 'x', '--', 'true'], ['run', '-n', 'x', '--', 'true'],
                          ['local', 'status'], ['local', 'stop'], ['sandbox', 'true'],
                          ['sandbox', '--sentinel', 'true'],
                          [*degraded, 'x', 'true'], [*degraded, 'x', 'true']):
                done = dibs(*words, program=command, env=env, umask=umask, cwd='/', **other)
                equal(done.code, 0, (oct(umask), words, done))
        finally:
            dibs('local', 'stop', '--force', program=command, env=env, cwd='/', **other)
            shutil.rmtree(home)
    if is_root:
        shutil.rmtree(os.path.dirname(command))


def no_server_program_gives_69_and_names_the_package():
    bare = dict(HOME, PATH=directory, DIBS_LOCAL_DIR=tempfile.mkdtemp(dir=directory))
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
    process = start('sandbox', '--', 'sh', '-c', '"$DIBS" ping --count 1 >%s; exec sleep 60' % out,
                    env=HOME)
    until_text(out, 'answered')
    socket_path = read(out).splitlines()[0].replace('PING unix://', '')
    assert os.path.exists(socket_path)
    process.kill()
    process.wait()
    env = dict(HOME, DIBS_URL='unix://' + socket_path)
    until(lambda: dibs('ping', '-q', '--count', '1', '--connect-timeout', '50ms',
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


# ---- programs that name no server ----

NO_LOCAL, LOCAL = 0x2, 0x10


def _program(*words, **env):
    done = subprocess.run([os.environ['INNER_CLIENT'], *words], capture_output=True, text=True,
                          env=environment(**dict(HOME, **env)), timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def a_program_that_named_no_server_says_so_once_on_standard_error():
    code, out, err = _program('open')
    equal((code, out, err.count('\n')), (0, '', 1), err)
    contains(err, 'this machine')
    contains(err, 'DIBS_URL')


def a_program_with_an_event_callback_gets_a_warning_and_prints_nothing():
    code, out, err = _program('events')
    equal((code, err), (0, ''))
    contains(out, 'warning: no server is named')


def a_program_that_means_the_private_server_is_silent():
    for words, env in ((['open', 'flags=%d' % LOCAL], {}), (['events', 'flags=%d' % LOCAL], {}),
                       (['open'], {'DIBS_URL': 'local:'}), (['events'], {'DIBS_URL': 'local:'})):
        equal(_program(*words, **env), (0, '', ''), (words, env))


def flags_that_contradict_each_other_or_forbid_it_are_refused():
    code, _, err = _program('open', 'flags=%d' % (LOCAL | NO_LOCAL))
    equal(code, 1)
    contains(err, 'DIBS_CLIENT_NO_LOCAL')
    equal(_program('open', 'flags=%d' % NO_LOCAL)[0], 1)
    equal(_program('open', 'flags=%d' % NO_LOCAL, DIBS_URL='local:')[0], 1)
    equal(_program('open', 'flags=%d' % LOCAL, DIBS_NO_LOCAL='1')[0], 1)


def doctor_says_that_it_examines_a_private_server():
    done = dibs('doctor', '--json', env=HOME)
    scope = [f for f in map(json.loads, done.out.splitlines()) if f['check'] == 'scope']
    equal([f['grade'] for f in scope], ['warn'], done)
    equal(dibs('who', '-u', 'local:', 'x', env=HOME).err, '')


try:
    tests(dict(globals()), needs_server=False)
finally:
    dibs('local', 'stop', '--force', env=HOME)
    shutil.rmtree(directory, ignore_errors=True)
