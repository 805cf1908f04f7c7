#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs run when the lock is lost: the command is dead before the lease can end on the
server. The arithmetic alone is run_schedule_test.c."""
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import *  # noqa
import harness

STUBBORN = ('trap "" TERM HUP INT; echo $$ >%s; while :; do sleep 0.02 & wait; '
            'echo alive >>%s; done')


def _stubborn(name, *options, script=STUBBORN):
    """A command that ignores every polite signal; returns the wrapper, its pid, files."""
    pid_file, beat_file = temporary_file(), temporary_file()
    process = start('run', *options, name, '--', 'sh', '-c', script % (pid_file, beat_file))
    pid = int(until_text(pid_file, '\n'))
    os.unlink(pid_file)
    return process, pid, beat_file


def _dead_at(pid, seconds=PATIENCE):
    until(lambda: not is_alive(pid), 'the command is dead', seconds)
    return time.monotonic()


def a_command_that_ignores_term_is_dead_before_the_lease_ends_on_a_black_hole():
    # Stopped before the lease is read, the server cannot renew it any more: what is left
    # then is the most the lease can still last on its clock.
    process, pid, beats = _stubborn('hole', '-t', '3s', '-k', '800ms')
    before = time.monotonic()
    left = who('hole')['remaining_ms'] / 1000
    with harness.server.paused():
        died = _dead_at(pid)
    # A renewal can have slipped in between looking and stopping: then there is up to a
    # whole lease from the stop on. Either way the child must be gone.
    assert died < before + max(left, 3.0), (died - before, left)
    done = finish(process)
    equal(done.code, 79, done)
    contains(done.err, 'sent TERM')
    contains(done.err, 'the command was killed')
    os.unlink(beats)


def nobody_else_has_the_lock_while_the_command_of_a_cut_off_wrapper_lives():
    # Only the first wrapper is cut off; the second waits at the server itself. Both
    # commands write the same clock: the last beat of the one, the first of the other.
    cut = harness.Proxy(harness.server)
    old, new = temporary_file(), temporary_file()
    first = start('run', '-t', '2s', '-k', '500ms', 'order', '--', 'sh', '-c',
                  'trap "" TERM; while :; do date +%%s%%N >>%s; done' % old,
                  env={'DIBS_URL': cut.url})
    until_text(old)
    second = start('run', 'order', '--', 'sh', '-c', 'date +%%s%%N >%s' % new)
    until_waiting('order')
    cut.hole()
    equal(finish(second).code, 0)
    equal(finish(first).code, 79)
    cut.stop()
    last, began = int(read(old).split()[-1]), int(read(new))
    promise_kept(last < began, 'two commands run:', (began - last) / 1e9)
    for path in (old, new):
        os.unlink(path)


def a_cooperative_command_gets_the_time_to_clean_up():
    out, up = temporary_file(), temporary_file()
    process = start('run', '-t', '3s', '-k', '900ms', 'clean', '--', 'sh', '-c',
                    'trap "sleep 0.3; echo cleaned >%s; exit 0" TERM; echo >%s; '
                    'while :; do sleep 0.02; done' % (out, up))
    until_text(up)
    with harness.server.paused():
        done = finish(process)
    equal(done.code, 79, done)
    equal(read(out), 'cleaned\n')
    lacks(done.err, 'was killed')
    os.unlink(out)
    os.unlink(up)


def on_lost_chooses_the_signal():
    up = temporary_file()
    process = start('run', '-t', '2s', '--on-lost', 'USR1', 'choose', '--', 'sh', '-c',
                    'trap "echo usr1; exit 0" USR1; echo >%s; '
                    'while :; do sleep 0.02; done' % up)
    until_text(up)
    with harness.server.paused():
        done = finish(process)
    equal((done.code, done.out), (79, 'usr1\n'), done)
    os.unlink(up)


def on_lost_ignore_lets_the_command_end_and_still_tells():
    up = temporary_file()
    process = start('run', '-t', '1s', '--on-lost', 'ignore', 'ignore', '--', 'sh', '-c',
                    'echo >%s; sleep 1.5; echo done' % up)
    until_text(up)
    with harness.server.paused():
        until(lambda: process.stderr.readline().find('continues without the lock') >= 0,
              'a word about the loss')
    done = finish(process)
    equal((done.code, done.out), (79, 'done\n'), done)
    os.unlink(up)


def systemd_is_not_left_with_the_state_before_a_loss():
    with systemd() as (s, env):
        def said():
            return s.recv(1000).decode()

        def begin(*words):
            process = start(*words, env=env)
            while 'READY=1' not in said():
                pass
            return process

        process = begin('run', '-t', '1s', '--on-lost', 'ignore', '--notify', 'ignore',
                        '--', 'sleep', '600')
        with harness.server.paused():
            contains(said(), 'STATUS=lost ignore, ')
        process.send_signal(signal.SIGTERM)
        finish(process)
        equal(said(), 'STATUS=lost ignore')

        process = begin('run', '--notify', 'broken', '--', 'sleep', '600')
        equal(dibs('break', 'broken', '--yes').code, 0)
        equal(said(), 'STATUS=lost broken, the command was killed')
        equal(finish(process).code, 79)

        process = begin('elect', 'run', '--notify', 'alone')
        equal(dibs('elect', 'break', 'alone', '--yes').code, 0)
        equal(said(), 'STATUS=lost alone')
        equal(finish(process).code, 79)

        process = begin('elect', 'run', '-t', '1s', '--max-hold', '1500ms', '-k', '200ms',
                        '--notify', 'limited')
        equal(said(), 'STATUS=losing limited, this client stops leading')
        equal(finish(process).code, 79)


def a_renewal_in_time_cancels_everything():
    up = temporary_file()
    process = start('run', '-t', '3s', '-k', '100ms', 'short', '--', 'sh', '-c',
                    'echo >%s; sleep 4; echo done' % up)
    until_text(up)
    harness.server.pause()
    time.sleep(1.2)     # longer than the first renewal may take, shorter than the lease
    harness.server.resume()
    done = finish(process)
    equal((done.code, done.out), (0, 'done\n'), done)
    os.unlink(up)


def a_command_that_was_sent_the_signal_counts_as_stopped_though_the_lease_is_renewed():
    up, told, report = temporary_file(), temporary_file(), temporary_file()
    process = start('run', '-t', '9s', '-k', '3s', '--status-file', report, 'cancelled', '--',
                    'sh', '-c', 'trap "echo >%s" TERM; echo >%s; '
                    'while ! test -s %s; do sleep 0.02; done; read line' % (told, up, told),
                    stdin=subprocess.PIPE)
    until_text(up)
    with harness.server.paused():
        until_text(told)
    said = ''
    while 'renewed again' not in said:
        said = process.stderr.readline()
    contains(said, 'the command will not be killed; as TERM may have cut it short')
    process.stdin.write('\n')
    done = end_holder(process)
    equal(done.code, 79, done)
    found = json.loads(read(report))
    equal((found['lost'], found['code'], found['child']), (True, 79, {'exit': 0}))


def messages_have_the_words_of_the_server_that_did_not_renew():
    ignores = ('lost words (', 'before the command ended (')
    for options, said in ((('-k', '800ms'), ('could not be renewed (',)),
                          (('--on-lost', 'ignore'), ignores)):
        process, _, beats = _stubborn('words', '-t', '2s', *options,
                                      script='echo $$ >%s; sleep 3; echo done >%s')
        harness.server.ask('CONFIG', 'SET', 'min-replicas-to-write', '3')
        try:
            done = finish(process)
        finally:
            harness.server.ask('CONFIG', 'SET', 'min-replicas-to-write', '0')
        equal(done.code, 79, done)
        for part in said:
            contains(done.err, part)
        contains(done.err, '%s: NOREPLICAS ' % harness.server.url)
        os.unlink(beats)


def a_stopped_command_is_killed_too():
    process, pid, beats = _stubborn('frozen', '-t', '2s', '-k', '300ms')
    os.kill(pid, signal.SIGSTOP)
    until(lambda: process_state(pid) == 'T', 'the command is stopped')
    with harness.server.paused():
        _dead_at(pid)
    equal(finish(process).code, 79)
    os.unlink(beats)


def the_whole_group_is_dead_when_the_lock_is_lost():
    up = temporary_file()
    process = start('run', '-t', '2s', '-k', '300ms', 'family', '--', 'sh', '-c',
                    '(trap "" TERM; echo $(exec sh -c "echo \\$PPID") >%s; '
                    'while :; do sleep 0.05; done) >/dev/null 2>&1 & wait' % up)
    inner = int(until_text(up, '\n'))
    assert is_alive(inner)
    with harness.server.paused():
        finish(process)
        assert not is_alive(inner)
    os.unlink(up)


def a_command_of_another_user_is_not_said_to_be_killed():
    if os.geteuid() != 0:
        return                          # it becomes root, as by sudo
    user, command, up = 100000000 + os.getpid(), command_apart(), temporary_file()
    root = os.path.join(os.path.dirname(command), 'as-root')
    shutil.copy(shutil.which('setpriv'), root)
    os.chmod(root, 0o4755)
    os.chmod(harness.server.directory, 0o755)
    os.chmod(harness.server.socket, 0o777)
    with open(up, 'w') as said:
        process = start('run', '-t', '2s', '-k', '300ms', 'sudo', '--', root, '--reuid', '0',
                        'sh', '-c', 'echo "pid $$" >&2; exec sleep 600', executable=command,
                        user=user, group=user, extra_groups=[], cwd='/', stderr=said)
    try:
        text = until(lambda: open(up).read() if 'pid ' in open(up).read() else None, 'it runs')
        harness.server.pause()
        until(lambda: 'could not be killed' in open(up).read(), 'it is lost')
    finally:
        harness.server.resume()
    os.kill(int(re.search('pid ([0-9]+)', text).group(1)), signal.SIGKILL)
    equal(finish(process).code, 79, open(up).read())
    contains(open(up).read(), 'the command runs as another user, and could not be sent TERM\n')
    contains(open(up).read(), 'the command runs as another user, could not be killed, and '
                              'continues without the lock')
    lacks(open(up).read(), 'was killed')
    shutil.rmtree(os.path.dirname(command))


def a_broken_lock_kills_the_command_and_gives_79():
    path = temporary_file()
    process, pid, beats = _stubborn('broken', '-t', '30s', '--status-file', path)
    equal(dibs('break', 'broken', '--yes', '-m', 'test').code, 0)
    _dead_at(pid, 12)
    done = finish(process)
    equal(done.code, 79, done)
    contains(done.err, 'lost broken')
    report = json.loads(read(path))
    equal((report['lost'], report['child']), (True, {'signal': 9}))
    os.unlink(path)
    os.unlink(beats)


def _ends_with_79_in_json(done):
    equal(done.code, 79, done)
    errors = [m for m in messages(done) if m['event'] == 'error']
    equal([m.get('code') for m in errors][-1:], [79], done)


def the_error_of_a_loss_has_the_exit_status_in_json():
    breaks = '"$DIBS" break --yes -q coded 2>&-'
    for options, script in (((), breaks + '; sleep 60'), (('--on-lost', 'ignore'), breaks),
                            (('-t', '2s', '--max-hold', '2s'), 'sleep 60')):
        _ends_with_79_in_json(dibs('run', '--json', *options, 'coded', '--', 'sh', '-c', script))


def that_the_lease_ended_while_the_wrapper_was_stopped_is_an_error_in_json():
    process, inner, _ = _tree('coded:stopped', '--json', '-t', '3s', '-k', '500ms')
    process.send_signal(signal.SIGSTOP)
    _dead_at(inner)
    until(lambda: not is_held('coded:stopped'), 'the lease has ended')
    process.send_signal(signal.SIGCONT)
    _ends_with_79_in_json(finish(process))


def a_killed_wrapper_takes_the_command_along():
    process, pid, beats = _stubborn('orphan', '-t', '30s')
    process.kill()
    _dead_at(pid, 2)
    finish(process)
    os.unlink(beats)


def a_wrapper_that_was_stopped_too_long_kills_first_of_all():
    process, pid, beats = _stubborn('asleep', '-t', '1s', '-k', '100ms')
    process.send_signal(signal.SIGSTOP)
    until(lambda: not is_held('asleep'), 'the lease has ended')
    process.send_signal(signal.SIGCONT)
    _dead_at(pid, 1)
    equal(finish(process).code, 79)
    os.unlink(beats)


def a_stderr_that_takes_nothing_does_not_delay_the_kill():
    reader, writer = os.pipe()
    fill_pipe(writer)
    pid_file = temporary_file()
    process = start('run', '-t', '2s', '-k', '300ms', 'stuck', '--', 'sh', '-c',
                    'exec 2>&-; trap "" TERM; echo $$ >%s; while :; do sleep 0.02; done'
                    % pid_file, stderr=writer)
    pid = int(until_text(pid_file, '\n'))
    paused = time.monotonic()
    with harness.server.paused():
        # Seen from outside, on a busy machine; held up by the pipe it would be for ever.
        assert _dead_at(pid) < paused + 2.5
    process.wait(PATIENCE)
    equal(process.returncode, 79)
    os.close(reader)
    os.close(writer)
    os.unlink(pid_file)


# It ignores TERM in a process of its own, floods stderr if FLOOD is set, and beats.
BEATS = ('test -z "$FLOOD" || yes >&2 & (trap "" TERM; while :; do date +%s%N >>"$OUT"; '
         'sleep 0.05; done) & wait')
COUNT = 'wc -l <"$OUT"; sleep 1; wc -l <"$OUT"'


def _no_beat_beside_the_next_holder(name, stderr, flood=''):
    """The server stands still for 4 s while `name` is held; its next holder counts the beats of
    the first one."""
    out = temporary_file()
    env = {'OUT': out, 'FLOOD': flood}
    first = start('run', '-t', '3s', name, '--', 'bash', '-c', BEATS, stdout=stderr, stderr=stderr,
                  env=env)
    until_text(out)
    second = start('run', name, '--', 'sh', '-c', COUNT, env=env)
    until_waiting(name)
    with harness.server.paused():
        time.sleep(4)
    done = finish(second)
    equal(done.code, 0, done)
    before, after = done.out.split()
    promise_kept(before == after, 'two commands run under', name, done)
    first.wait(PATIENCE)
    equal(first.returncode, 79)
    os.unlink(out)


def no_command_runs_beside_the_next_holder_when_the_messages_have_no_reader():
    reader, writer = os.pipe()
    os.close(reader)
    _no_beat_beside_the_next_holder('stderr:gone', writer)
    os.close(writer)


def no_command_runs_beside_the_next_holder_when_the_messages_are_read():
    with tempfile.TemporaryFile() as file:
        _no_beat_beside_the_next_holder('stderr:open', file)


def no_command_runs_beside_the_next_holder_when_the_messages_are_blocked():
    for name, flood in (('stderr:full', ''), ('stderr:flooded', 'yes')):
        reader, writer = os.pipe()
        fill_pipe(writer)
        _no_beat_beside_the_next_holder(name, writer, flood)
        os.close(reader)
        os.close(writer)


def a_wrapper_that_is_stopped_by_the_signal_of_a_loss_leaves_nothing_running():
    # The command ends by TERM and stops the wrapper first, which is still busy with its message:
    # what the command has started must not be taken for what it left at its own end.
    reader, writer = os.pipe()
    fill_pipe(writer)
    out = temporary_file()
    first = start('run', '-t', '3s', '-k', '1s', 'halted', '--', 'bash', '-c',
                  'trap "kill -STOP ${DIBS_HOLDER##*:}; exit" TERM; (trap "" TERM; while :; do '
                  'date >>"$OUT"; sleep 0.05; done) & wait', stdout=writer, stderr=writer,
                  env={'OUT': out})
    until_text(out)
    second = start('run', 'halted', '--', 'sh', '-c', COUNT, env={'OUT': out})
    until_waiting('halted')
    with harness.server.paused():
        until(lambda: process_state(first.pid) == 'T', 'the wrapper is stopped')
        time.sleep(4)
    done = finish(second)
    before, after = done.out.split()
    promise_kept(before == after, 'two commands run:', done)
    first.send_signal(signal.SIGCONT)
    first.wait(PATIENCE)
    equal(first.returncode, 79)
    os.close(reader)
    os.close(writer)
    os.unlink(out)


# ---- the guardian: this process is dead or stopped, and its command must end ----

# A script that starts a program, as people write them: TERM to the script alone leaves it.
TREE = ('trap "" TERM; sh -c \'trap "" TERM; echo $$ >"$OUT/inner"; '
        'while :; do sleep 0.05; done\'; true')
SESSION = ('trap "" TERM; setsid sh -c \'trap "" TERM; echo $$ >"$OUT/inner"; '
           'while :; do sleep 0.05; done\' & sleep 60; true')


def _tree(name, *options, script=TREE):
    """The wrapper, the pid of a process two below its command, and that of the guardian."""
    out = tempfile.mkdtemp(prefix='dibs-cli-test-')
    process = start('run', *options, name, '--', 'sh', '-c', script, env={'OUT': out})
    until(lambda: os.path.exists(out + '/inner') and read(out + '/inner').endswith('\n'),
          'the command runs')
    inner = int(read(out + '/inner'))
    shutil.rmtree(out)
    return process, inner, guardians(process.pid)[1]


def _children(pid):
    return [int(n) for n in read('/proc/%d/task/%d/children' % (pid, pid)).split()]


def _all_below(pid):
    return [p for child in _children(pid) for p in [child, *_all_below(child)]]


def _gone(pid, what, seconds=PATIENCE):
    until(lambda: process_state(pid) is None, what, seconds)


def what_the_command_started_is_dead_when_the_wrapper_was_killed():
    for script in (TREE, SESSION):
        for options in ((), ('--foreground',), ('-j', '2'), ('--on-lost', 'ignore')):
            name = 'tree:%s' % (options[-1] if options else '')
            process, inner, guardian = _tree(name, '-t', '30s', *options, script=script)
            process.kill()
            _dead_at(inner, 2)
            process.wait()
            _gone(guardian, 'the guardian ends')
            dibs('break', name, '--yes')


# Each process forks the next one and ends. The pipe is at its end when none is left.
CHAIN = '''
import os, sys, time
if os.fork():
    time.sleep(40)
os.write(int(sys.argv[1]), b'.')
end = time.monotonic() + 40
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
'''


def processes_that_fork_and_end_at_once_are_dead_when_the_wrapper_was_killed():
    for name in ('chain:%d' % turn for turn in range(6)):
        reader, writer = os.pipe()
        process = start('run', '-t', '30s', name, '--', sys.executable, '-c', CHAIN, str(writer),
                        pass_fds=(writer,))
        os.close(writer)
        equal(os.read(reader, 1), b'.')
        process.kill()
        readable, _, _ = select.select([reader], [], [], PATIENCE)
        assert readable and os.read(reader, 1) == b'', 'none of them is left'
        os.close(reader)
        dibs('break', name, '--yes')


def what_several_names_and_elections_started_is_dead_when_the_wrapper_was_killed():
    for words in (['run', '--multi', 'm:1,m:2'], ['elect', 'run', 'm:chief']):
        out = temporary_file()
        process = start(*words, '--', 'sh', '-c',
                        'sh -c "echo \\$\\$ >%s; sleep 60; true"; true' % out)
        inner = int(until_text(out, '\n'))
        process.kill()
        _dead_at(inner, 2)
        os.unlink(out)


def what_the_command_started_is_dead_before_the_lease_of_a_stopped_wrapper_ends():
    for script in (TREE, SESSION):
        process, inner, _ = _tree('stopped', '-t', '3s', '-k', '500ms', script=script)
        process.send_signal(signal.SIGSTOP)
        # The next holder comes when the lease ends, and finds the others dead.
        done = dibs('run', 'stopped', '--', 'cat', '/proc/%d/stat' % inner)
        assert done.code != 0 or done.out.rsplit(')', 1)[1].split()[0] == 'Z', done
        process.send_signal(signal.SIGCONT)
        done = finish(process)
        equal(done.code, 79, done)
        contains(done.err, 'stopped')


def a_loss_after_the_command_has_ended_beside_a_stopped_wrapper_is_reported_as_such():
    process = start('run', '-t', '4s', 'ended', '--', 'cat', stdin=subprocess.PIPE)
    until_held('ended')
    process.send_signal(signal.SIGSTOP)
    until(lambda: process_state(process.pid) == 'T', 'the wrapper is stopped')
    process.stdin.close()               # it ends long before the guardian would end it
    process.stdin = None
    until(lambda: not is_held('ended'), 'the lease has ended')
    process.send_signal(signal.SIGCONT)
    done = finish(process)
    equal(done.code, 79, done)
    contains(done.err, 'ended was lost while dibs was stopped, after the command had ended')
    lacks(done.err, 'before the command ended')


def a_stopped_wrapper_lets_its_command_clean_up():
    out, up = temporary_file(), temporary_file()
    process = start('run', '-t', '3s', '-k', '900ms', 'tidy', '--', 'sh', '-c',
                    'trap "echo cleaned >>%s; exit 0" TERM; echo >%s; '
                    'while :; do sleep 0.02; done' % (out, up))
    until_text(up)
    process.send_signal(signal.SIGSTOP)
    until_text(out, 'cleaned')
    process.send_signal(signal.SIGCONT)
    equal(finish(process).code, 79)
    equal(read(out), 'cleaned\n')       # once: the guardian and the wrapper do not both say it
    os.unlink(out)
    os.unlink(up)


def a_renewed_lease_is_no_reason_for_the_guardian():
    process, inner, guardian = _tree('long', '-t', '700ms')
    time.sleep(2.5)
    assert is_alive(inner) and is_alive(guardian)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    assert is_alive(inner)              # it ignores TERM, and the lease is renewed
    process.kill()
    _dead_at(inner, 2)


def a_killed_guardian_takes_the_command_along_and_the_lock_is_free():
    process, inner, guardian = _tree('alone', '-t', '30s')
    os.kill(guardian, signal.SIGKILL)
    done = finish(process)
    equal(done.code, 137, done)
    contains(done.err, 'guardian')
    _dead_at(inner, 2)
    assert not is_held('alone')


def _is_guardian(pid):
    try:
        return read('/proc/%d/comm' % pid) == 'lease-guardian\n'
    except OSError:
        return False


def a_guardian_killed_before_the_command_runs_is_reported_as_killed():
    path = temporary_file() + '.never'
    env = preloading(os.environ['SLOW_TERMINAL'], EXEC_WAITS_FOR=path)
    for words in (['run', 'early', '--'], ['sandbox', '--']):
        process = start(*words, 'true', env=env)
        # A sandbox has had another child, which started its servers and has ended.
        second = until(lambda: [pid for pid in _children(process.pid) if _is_guardian(pid)],
                       'the second guardian has started the first')[0]
        guardian = until(lambda: _children(second), 'the first guardian is there')[0]
        until(lambda: _children(guardian), 'the command is there')
        os.kill(guardian, signal.SIGKILL)
        done = finish(process)
        equal(done.code, 137, done)
        if words[0] == 'run':
            contains(done.err, 'the guardian of the command under early was killed')
    assert not is_held('early')


def a_command_that_cannot_be_forked_is_reported_with_the_reason():
    if os.geteuid() != 0:
        return                          # as a user without other processes
    user, codes = 100000000 + os.getpid(), []
    command = command_apart()
    os.chmod(harness.server.directory, 0o755)
    os.chmod(harness.server.socket, 0o777)
    for most in range(1, 9):
        done = dibs('run', 'forks', '--', 'true', program=command, user=user, group=user,
                    extra_groups=[], cwd='/', env=no_leak_check(),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)))
        codes.append(done.code)
        if 'cannot start true' in done.err:
            contains(done.err, 'cannot start true: Resource temporarily unavailable')
            equal(done.code, 70, done)
        lacks(done.err, 'guardian')
    assert 70 in codes and codes[-1] == 0, codes
    shutil.rmtree(os.path.dirname(command))


# A daemon: in a session of its own, and the process that started it has ended.
DAEMON = ('trap "" TERM; (setsid sh -c \'trap "" TERM; echo $$ >"$OUT/inner"; '
          'while :; do sleep 0.05; done\' </dev/null >/dev/null 2>&1 &); sleep 60; true')


def _second_stopped(second, guardian, process):
    os.kill(second, signal.SIGSTOP)
    os.kill(guardian, signal.SIGKILL)


def _with_wrapper(second, guardian, process):
    os.kill(guardian, signal.SIGKILL)
    process.kill()


KILLS = {
    'guardian': (lambda second, guardian, process: os.kill(guardian, signal.SIGKILL), 137),
    'guardian, the second one stopped': (_second_stopped, 137),
    'guardian and wrapper': (_with_wrapper, -9),
    'wrapper': (lambda second, guardian, process: process.kill(), -9),
}


def _no_daemon_beside_the_next_holder(what, script, *options):
    process, inner, guardian = _tree('daemon', '-t', '3s', *options, script=script)
    second = guardians(process.pid)[0]
    following = start('run', 'daemon', '--', 'cat', '/proc/%d/stat' % inner)
    until_waiting('daemon')
    kill, code = KILLS[what]
    kill(second, guardian, process)
    done = finish(following)
    promise_kept(done.code != 0 or done.out.rsplit(')', 1)[1].split()[0] in 'ZX',
                 what, options, 'a daemon runs beside the next holder:', done)
    equal(finish(process).code, code, what)
    for pid in (second, guardian, inner):
        _gone(pid, what + ': nothing is left')


def a_daemon_of_the_command_is_dead_before_the_next_holder_when_a_guardian_was_killed():
    for script in (SESSION, DAEMON):
        _no_daemon_beside_the_next_holder('guardian', script)
        _no_daemon_beside_the_next_holder('guardian, the second one stopped', script)
    _no_daemon_beside_the_next_holder('guardian', DAEMON, '--foreground')
    _no_daemon_beside_the_next_holder('guardian', DAEMON, '--on-lost', 'ignore')
    _no_daemon_beside_the_next_holder('guardian and wrapper', DAEMON)
    _no_daemon_beside_the_next_holder('wrapper', DAEMON)


def a_killed_second_guardian_changes_nothing():
    process, inner, guardian = _tree('single', '-t', '900ms')
    second = guardians(process.pid)[0]
    os.kill(second, signal.SIGKILL)
    until(lambda: process_state(second) == 'Z', 'it is dead')
    time.sleep(1.5)
    assert is_alive(inner) and is_alive(guardian) and is_held('single')
    process.kill()
    _dead_at(inner, 2)
    process.wait()
    out = temporary_file()
    process = start('run', 'single', '--', 'sh', '-c', 'echo >%s; cat; exit 5' % out,
                    stdin=subprocess.PIPE)
    until_text(out)
    os.kill(guardians(process.pid)[0], signal.SIGKILL)
    process.stdin.close()
    process.wait(PATIENCE)
    equal(process.returncode, 5)
    os.unlink(out)


def a_stopped_guardian_is_continued():
    process, inner, guardian = _tree('asleep', '-t', '900ms')
    for pid in (guardian, guardians(process.pid)[0]):
        os.kill(pid, signal.SIGSTOP)
        # Runnable, it has not stopped yet; it sleeps in its next wait when it was continued.
        until(lambda: process_state(pid) == 'S', 'the guardian goes on')
    process.kill()
    _dead_at(inner, 2)


def guardians_whose_stop_is_not_delivered_when_the_wrapper_is_killed_go_on():
    # As on a busy machine: both have to wait for a processor that another process uses.
    process, inner, guardian = _tree('late', '-t', '30s')
    pids = (guardians(process.pid)[0], guardian)
    cpu = min(os.sched_getaffinity(0))
    busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    try:
        os.sched_setaffinity(busy.pid, {cpu})
        for pid in pids:
            os.sched_setaffinity(pid, {cpu})
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        process.kill()
        process.wait()
    finally:
        busy.kill()
        busy.wait()
    _dead_at(inner)
    for pid in pids:
        _gone(pid, 'process %d ends' % pid)


def a_guardian_that_is_stopped_with_the_wrapper_is_continued():
    process, inner, guardian = _tree('halt', '-t', '2s', '-k', '100ms')
    for pid in (process.pid, guardian):
        os.kill(pid, signal.SIGSTOP)
    _dead_at(inner)                     # at its time, before the lease ends
    process.kill()


def guardians_that_are_all_stopped_are_continued_when_the_wrapper_is_killed():
    process, inner, guardian = _tree('halt', '-t', '30s')
    for pid in (process.pid, guardians(process.pid)[0], guardian):
        os.kill(pid, signal.SIGSTOP)
        until(lambda: process_state(pid) == 'T', 'it is stopped')
    process.kill()
    _dead_at(inner, 2)


def a_group_kill_of_the_wrapper_leaves_the_guardian_to_its_work():
    process = start('run', '-t', '30s', 'group', '--', 'sh', '-c', 'sleep 61 & wait; true',
                    start_new_session=True)
    until(lambda: len(_all_below(process.pid)) >= 4, 'the command runs')
    below = _all_below(process.pid)
    os.killpg(process.pid, signal.SIGKILL)
    for pid in below:
        _gone(pid, 'process %d ends' % pid)


def the_guardian_is_not_found_by_the_name_of_the_command():
    process, inner, guardian = _tree('hidden', '-t', '30s')
    lacks(read('/proc/%d/comm' % guardian), 'dibs')
    lacks(read('/proc/%d/cmdline' % guardian), 'dibs')
    lacks(read('/proc/%d/cmdline' % guardian), 'hidden')
    process.kill()
    _dead_at(inner, 2)


def the_guardian_gets_no_order_before_something_is_new():
    """It was started with its first one. When it is woken it reads, which the kernel counts."""
    process = holder('woken', '-t', '10m')
    guardian = guardians(process.pid)[1]
    contains(read('/proc/%d/io' % guardian), 'syscr: 0\n')
    end_holder(process)


def the_guardian_keeps_nothing_open():
    # A reader of the wrapper's output gets its end when the command has closed it.
    process, inner, guardian = _tree('open', '-t', '30s', script=TREE.replace(
        'trap', 'exec >&- 2>&-; trap', 1))
    names = {int(fd): os.readlink('/proc/%d/fd/%s' % (guardian, fd))
             for fd in os.listdir('/proc/%d/fd' % guardian)}
    # 0 to 2 are filled, so that nothing else gets them, with what cannot be read or written: its
    # working directory, by name only (O_PATH).
    for fd in (0, 1, 2):
        equal(names.pop(fd), '/')
        flags = re.search(r'flags:\s*(\d+)', read('/proc/%d/fdinfo/%d' % (guardian, fd)))
        assert int(flags.group(1), 8) & os.O_PATH, flags.group()
    equal([n for n in names.values() if not n.startswith(('socket:', 'anon_inode:'))], [])
    equal(len([n for n in names.values() if n.startswith('socket:')]), 1)
    process.kill()
    _dead_at(inner, 2)


def a_process_that_only_has_the_name_of_a_supervisor_dies_with_the_command():
    # local_test.py: the supervisor of a private server lives on.
    place = tempfile.mkdtemp(prefix='dibs-cli-test-')
    paths = [os.path.join(place, name) for name in ('dibs-private', 'dibs-supervisor')]
    for path in paths:
        with open(path, 'w') as file:
            file.write('#!/bin/sh\nwhile :; do sleep 0.1; done\n')
        os.chmod(path, 0o755)
    script = ''.join('%s%s >&- 2>&- & echo $!; ' % (before, path)
                     for path in paths for before in ('', 'setsid '))
    process = start('run', '-t', '30s', 'named', '--', 'sh', '-c', script + 'exec sleep 60')
    named = [int(process.stdout.readline()) for _ in range(4)]
    until(lambda: all(read('/proc/%d/comm' % pid).strip() in ('dibs-private', 'dibs-supervisor')
                      for pid in named), 'all have their names')
    process.kill()
    try:
        for pid in named:
            _dead_at(pid, 5)
    finally:
        for pid in filter(is_alive, named):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(place)


def no_guardian_and_no_zombie_is_left_after_the_end():
    done = dibs('run', 'clean', '--', 'sh', '-c', 'setsid true; (true &); echo $PPID; exit 5')
    equal(done.code, 5, done)
    equal(process_state(int(done.out)), None)


def the_lock_is_released_while_the_guardians_end():
    # A server that does not answer keeps the wrapper at the release: it has not waited for them.
    process = start('run', 'parting', '--', 'cat', stdin=subprocess.PIPE,
                    env={'DIBS_URL': harness.server.url + '?command_timeout=60s'})
    until_held('parting')
    second = guardians(process.pid)[0]
    with harness.server.paused():
        process.stdin.close()
        process.stdin = None
        until(lambda: process_state(second) in ('Z', None), 'the guardians have ended')
        state = process_state(second)
    equal((state, finish(process).code), ('Z', 0))
    equal(process_state(second), None)


def processes_that_are_left_alone_do_not_belong_to_the_guardian_any_more():
    out = temporary_file()
    done = dibs('run', 'left', '--', 'sh', '-c', '(sleep 3; echo ran >%s) >&- 2>&- & echo $!' % out)
    equal(done.code, 0, done)
    assert is_alive(int(done.out))
    assert not is_held('left')
    os.kill(int(done.out), signal.SIGKILL)
    os.unlink(out)


def a_wrapper_without_memory_takes_the_command_along():
    # As the kernel's OOM killer does it, to the process with most memory: the wrapper.
    process, inner, guardian = _tree('memory', '-t', '30s')
    resident = lambda pid: int(read('/proc/%d/statm' % pid).split()[1])
    assert resident(guardian) <= resident(process.pid), 'the guardian is the smaller one'
    os.kill(process.pid, signal.SIGKILL)
    _dead_at(inner, 2)


# ---- passwords that rotate ----

def _bob(password):
    """A server, and a file with the password of its user bob."""
    locked = harness.Server()
    locked.ask('ACL', 'SETUSER', 'bob', 'on', '>' + password, '~*', '&*', '+@all')
    path = os.path.join(locked.directory, 'password')
    with open(path, 'w') as f:
        f.write(password + '\n')
    return locked, path


def _rotate(locked, password):
    locked.ask('ACL', 'SETUSER', 'bob', 'resetpass', '>' + password)
    for kind in ('normal', 'pubsub'):
        locked.ask('CLIENT', 'KILL', 'TYPE', kind)


def _clients(locked):
    return set(re.findall(r' name=(dibs:\S+) ', locked.ask('CLIENT', 'LIST')))


def a_password_file_is_read_again_also_by_a_command_inside():
    locked, path = _bob('first')
    over = os.path.join(locked.directory, 'over')
    try:
        process = start('run', '-u', locked.url, '--user', 'bob', '--pass-file', path, 'outer',
                        '--', DIBS, 'run', 'inner', '--', 'sh', '-c',
                        'until [ -e %s ]; do sleep 0.1; done' % over)
        until(lambda: ':1' in locked.ask('EXISTS', 'dibs:m:{inner}'), 'both are held')
        with open(path, 'w') as f:
            f.write('second\n')
        _rotate(locked, 'second')
        until(lambda: len(_clients(locked)) == 2, 'both are connected again')
        with open(over, 'w'):
            pass
        done = finish(process)
        equal(done.code, 0, done)
    finally:
        locked.stop()


def a_lease_that_is_lost_for_want_of_a_password_names_its_file():
    locked, path = _bob('first')
    try:
        process = start('run', '-u', locked.url, '--user', 'bob', '--pass-file', path, '-t', '5s',
                        'name', '--', 'sleep', '60')
        until(lambda: ':1' in locked.ask('EXISTS', 'dibs:m:{name}'), 'it is held')
        _rotate(locked, 'second')
        done = finish(process)
        equal(done.code, 79, done)
        contains(done.err, 'WRONGPASS')
        contains(done.err, '(password from "%s")' % path)
    finally:
        locked.stop()


tests(dict(globals()))
