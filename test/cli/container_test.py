#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs as pid 1, as in a container: `unshare -pf`, with and without a /proc of its own; and a file
system of its own that is full."""
import os
import signal
import subprocess
import tempfile

from harness import *  # noqa

WAYS = (['unshare', '-pf', '--mount-proc'], ['unshare', '-pf'])
if os.geteuid() != 0:
    WAYS = tuple(['unshare', '-Ur', *way[1:]] for way in WAYS)

# STOPSIGNALs of images, what `docker kill` may send, and what the kernel drops for pid 1.
NUMBERS = [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGWINCH,
           signal.SIGPWR, signal.SIGRTMIN + 3, signal.SIGUSR1, signal.SIGALRM, signal.SIGABRT]
if 'ASAN_OPTIONS' not in os.environ:     # which has a handler of its own
    NUMBERS.append(signal.SIGSEGV)


def _children(pid):
    try:
        return [int(n) for n in read('/proc/%d/task/%d/children' % (pid, pid)).split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _below(pid):
    return [p for child in _children(pid) for p in [child, *_below(child)]]


class Container:
    """`dibs WORDS` as pid 1; `init` is its pid here."""

    def __init__(self, way, *words, **more):
        self.process = subprocess.Popen([*way, '--kill-child', DIBS, *words], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(), **more)
        self.init = None
        until(lambda: self._serves() or self.process.poll() is not None, 'pid 1 serves')

    def _serves(self):
        """Before it has its child, the kernel drops signals to it."""
        children = _children(self.process.pid)
        self.init = children[0] if children else self.init
        return self.init is not None and _children(self.init)

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        return Result(self.process.returncode, out, err, 0.0)


def the_end_of_a_container_ends_its_command_and_all_it_started():
    for way in WAYS:
        for number in NUMBERS if '--mount-proc' in way else NUMBERS[4:7]:
            # Not bash, which ignores QUIT.
            box = Container(way, 'run', 'c:stop', '--', 'sh', '-c',
                            'ulimit -c 0; trap "exit 7" WINCH USR1; setsid sleep 611 & echo up; '
                            'while :; do sleep 0.02; done')
            equal(box.process.stdout.readline(), 'up\n', number)
            below = _below(box.init)
            os.kill(box.init, number)
            code = box.end().code
            equal(code, 7 if number in (signal.SIGWINCH, signal.SIGUSR1) else 128 + number,
                  (way, number))
            assert not any(is_alive(pid) for pid in below), (way, number)
            dibs('break', 'c:stop', '--yes')


def a_waiting_container_ends_by_its_stop_signal_and_leaves_no_entry():
    other = holder('c:wait')
    for way in WAYS:
        for number in (signal.SIGTERM, signal.SIGWINCH, signal.SIGPWR, signal.SIGRTMIN + 3):
            box = Container(way, 'run', 'c:wait', '--', 'true')
            until_waiting('c:wait')
            os.kill(box.init, number)
            equal(box.end().code, 128 + number)
            equal(who('c:wait')['waiter_count'], 0)
        box = Container(way, 'wait', 'c:wait')
        os.kill(box.init, signal.SIGTERM)
        equal(box.end().code, 128 + signal.SIGTERM)
    end_holder(other)


def adopted_processes_are_reaped():
    for way in WAYS:
        box = Container(way, 'run', 'c:reap', '--', 'sh', '-c', 'echo up; exec sleep 611')
        equal(box.process.stdout.readline(), 'up\n')
        # As `docker exec`: from outside; its orphan is pid 1's.
        done = subprocess.run(['nsenter', '-t', str(box.init), '-p', 'sh', '-c',
                               'sleep 0.1 >/dev/null & :'], timeout=PATIENCE)
        equal(done.returncode, 0)
        until(lambda: len(_children(box.init)) == 1, 'what ended is reaped')
        os.kill(box.init, signal.SIGTERM)
        equal(box.end().code, 143)


def the_code_of_the_command_is_the_code_of_the_container():
    for way in WAYS:
        for script, code in (('exit 0', 0), ('exit 5', 5), ('kill -TERM $$', 143)):
            equal(Container(way, 'run', 'c:code', '--', 'sh', '-c', script).end().code, code)


def what_the_command_started_is_dead_when_the_wrapper_was_killed():
    # The guardian finds it also by a /proc whose numbers are those of another namespace.
    for way in WAYS:
        box = Container(way, 'run', 'c:tree', '--', 'sh', '-c',
                        'setsid sh -c "echo up; sleep 611; true" & wait')
        equal(box.process.stdout.readline(), 'up\n')
        below = _below(box.init)
        wrapper, guardian = below[:2]
        assert 'guardian' in read('/proc/%d/comm' % guardian)
        # pid 1 ends with the wrapper, and then the kernel ends all. So it is stopped first.
        os.kill(box.init, signal.SIGSTOP)
        os.kill(wrapper, signal.SIGKILL)
        until(lambda: not any(is_alive(pid) for pid in below), 'all are dead')
        os.kill(box.init, signal.SIGCONT)
        equal(box.end().code, 137)
        dibs('break', 'c:tree', '--yes')


def output_is_not_lost_where_tmpdir_is_full():
    place = tempfile.mkdtemp(prefix='dibs-cli-test-')
    inside = ('mount -t tmpfs -o size=%s none "$TMPDIR" && { %s; "$DIBS" run --quiet-on-success '
              'cron -- sh -c "echo out; echo err >&2; %s; exit 3"; }')
    for size, before, writes, code, wanted in (
            ('64k', 'head -c 100000 /dev/zero >"$TMPDIR/x" 2>&1', ':', 3, 'err\n'),
            ('3m', ':', 'head -c 9000000 /dev/zero 2>&1 | cat', 3, 'may be incomplete')):
        done = subprocess.run(
            ['unshare', '-m' if os.getuid() == 0 else '-Urm', 'sh', '-c',
             inside % (size, before, writes)],
            env=environment(TMPDIR=place), capture_output=True, text=True, timeout=PATIENCE)
        equal((done.returncode, done.stdout[:4]), (code, 'out\n'), done.stderr)
        contains(done.stderr, wanted)
    os.rmdir(place)


tests(dict(globals()))
