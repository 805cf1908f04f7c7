#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`dibs run --degrade local`: a lock of this machine while no server answers, and leases that were
granted before."""
from harness import *  # noqa

LOCAL = ('--degrade', 'local', '--connect-timeout', '300ms')


class _Outage:
    """Servers that have gone, and a directory for the locks of this machine."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix='dibs-cli-degrade-')
        self.server = Server()
        self.env = {'DIBS_URL': self.server.url, 'DIBS_LOCAL_DIR': self.directory}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, *words):
        return dibs('run', *LOCAL, *words, env=self.env)


def a_nested_run_gives_80_without_a_server_too():
    with _Outage() as outage:
        outage.server.process.kill()
        for outer, inner in (('nest', 'nest'), ('nest', '{nest}')):
            done = outage.run(outer, '--', DIBS, 'run', '-w', '10', inner, '--', 'echo', 'no')
            equal((done.code, done.out), (80, ''), done)
            contains(done.err, 'wait for itself')
        for same in ('--connect-timeout', '200ms'), ('-u', outage.server.url, *LOCAL[:2]):
            done = outage.run('nest', '--', DIBS, 'run', '-w', '10', *same, 'nest', '--',
                              'echo', 'no')
            equal((done.code, done.out), (80, ''), done)
        for more in ('--prefix', 'other'), ('--db', '1'):
            done = outage.run('nest', '--', DIBS, 'run', '-w', '10', *more, 'nest', '--',
                              'echo', 'yes')
            equal((done.code, done.out), (0, 'yes\n'), done)
        done = outage.run('nest', '--', DIBS, 'run', '-w', '10', 'egg', '--', 'echo', 'yes')
        equal((done.code, done.out), (0, 'yes\n'), done)


def it_does_so_inside_the_lease_of_a_server_that_has_gone():
    with _Outage() as outage:
        done = outage.run('-t', '60s', 'nest', '--', 'sh', '-c',
                          'kill -9 %d; exec "$DIBS" run -w 10 nest -- echo no' % outage.server.pid)
        equal((done.code, done.out), (80, ''), done)
        contains(done.err, 'wait for itself')


def a_directory_that_cannot_have_lock_files_is_named_without_a_word_of_other_servers():
    with _Outage() as outage:
        outage.server.process.kill()
        os.chmod(outage.directory, 0o755)
        for path in '/proc/dibs', outage.directory:
            outage.env['DIBS_LOCAL_DIR'] = path
            err = outage.run('x', '--', 'true').err
            contains(err, 'degrade=local needs lock files: the directory %s ' % path)
            contains(err, 'Set DIBS_LOCAL_DIR to')
            assert 'private server' not in err and 'DIBS_URL' not in err, err


def the_command_ends_when_its_lock_file_is_removed():
    with _Outage() as outage:
        outage.server.process.kill()
        process = start('run', *LOCAL, 'x', '--', 'sh', '-c', 'echo ready; sleep 60',
                        env=outage.env)
        equal(process.stdout.readline(), 'ready\n')
        shutil.rmtree(os.path.join(outage.directory, 'locks'))
        out, err = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 79, err)
        contains(err, 'its lock file was removed')


def _path(pid, number):
    try:
        return os.readlink('/proc/%d/fd/%s' % (pid, number))
    except FileNotFoundError:
        return ''                       # closed since


def _lock_files(pid):
    paths = [_path(pid, number) for number in os.listdir('/proc/%d/fd' % pid)]
    return {os.path.basename(path) for path in paths if '/locks/' in path}


def _lets_go_with_the_tree(outage, *words):
    process = start('run', *LOCAL, *words, '--', 'sh', '-c', 'echo ready; sleep 60 & wait',
                    env=outage.env)
    equal(process.stdout.readline(), 'ready\n')
    files = _lock_files(process.pid)
    assert files, 'the wrapper has no lock file'
    pair = guardians(process.pid)
    for guardian in pair:
        until(lambda: _lock_files(guardian) == files, 'a guardian has them')
    process.kill()
    process.communicate()
    for guardian in pair:
        until(lambda: not is_alive(guardian), 'the guardians end')


def the_lock_outlives_a_killed_wrapper_until_its_command_is_dead():
    with _Outage() as outage:
        _lets_go_with_the_tree(outage, 'x')
        _lets_go_with_the_tree(outage, '--multi', 'y,z')
        outage.server.process.kill()
        _lets_go_with_the_tree(outage, 'x')
        done = outage.run('-n', 'x', '--', 'echo', 'free')
        equal((done.code, done.out), (0, 'free\n'), done)


tests(dict(globals()))
