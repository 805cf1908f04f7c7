#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs acquire, renew, release: locks for scripts."""
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time

from harness import *  # noqa
import harness


def a_token_never_looks_like_an_option():
    assert dibs('acquire', '--no-renew', 'way').out.startswith('lease:')
    dibs('break', 'way', '--yes')


def a_token_goes_its_way():
    got = dibs('acquire', 'way')
    equal(got.code, 0, got)
    token = got.out.rstrip('\n')
    assert token and '\n' not in token and ' ' not in token
    assert is_held('way')
    refused(dibs('run', '-n', 'way', 'true').code, 75)
    equal(dibs('renew', token).code, 0)
    equal(dibs('release', token).code, 0)
    assert not is_held('way')


def _said(done):
    """Lines about the lease. A warning, as of a server that is slow, is no part of the answer."""
    return [line for line in done.err.splitlines() if not line.startswith('dibs: warning: ')]


def a_lease_that_nobody_renews_says_so_and_ends():
    got = dibs('acquire', '-t', '700ms', 'short')
    contains(got.err, 'it ends in 700ms')
    until(lambda: not is_held('short'), 'the lease ended', 3)
    equal(dibs('run', '-w', '9s', 'short', '--', 'true').code, 0)
    equal(dibs('renew', got.out.strip()).code, 79)
    equal(dibs('release', got.out.strip()).code, 79)


def a_lease_that_ran_out_is_still_given_back_when_nobody_had_the_lock_since():
    token = dibs('acquire', '-t', '500ms', '--no-renew', 'late').out.strip()
    until(lambda: not is_held('late'), 'the lease ended', 3)
    equal(dibs('release', token).code, 0)


class _LosesAReply(harness.Proxy):
    """The first script is executed; its reply is lost, and the connection ends."""
    victim = None

    def _pump(self, a, b, delay):
        try:
            while data := a.recv(65536):
                if a is self.victim:
                    a.shutdown(socket.SHUT_RDWR)
                    b.shutdown(socket.SHUT_RDWR)
                    return
                if self.victim is None and b'EVALSHA' in data:
                    self.victim = b
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def a_release_whose_reply_was_lost_says_nothing_of_a_loss():
    equal(dibs('release', dibs('acquire', '--no-renew', 'known').out.strip()).code, 0)
    token = dibs('acquire', '--no-renew', 'handed-over').out.strip()
    waiter = start('run', 'handed-over', '--', 'cat', stdin=subprocess.PIPE)
    until(lambda: 'handed-over' in dibs('status', '--waiting').out, 'it waits')
    proxy = _LosesAReply(harness.server)
    done = dibs('release', token, env={'DIBS_URL': proxy.url})
    equal(done.code, 69, done)
    contains(done.err, 'the first one released it, or it had ended before')
    equal(finish(waiter).code, 0)
    proxy.stop()


def a_lease_that_another_followed_is_gone_though_the_lock_is_free():
    token = dibs('acquire', '-t', '500ms', '--no-renew', 'followed').out.strip()
    equal(dibs('run', '-w', '9s', 'followed', '--', 'true').code, 0)
    for verb in ('renew', 'release'):
        got = dibs(verb, token)
        equal(got.code, 79)
        contains(got.err, 'another client may have had it')


def no_renew_is_the_same_without_the_hint():
    got = dibs('acquire', '-t', '700ms', '--no-renew', 'shorter')
    equal((got.code, _said(got)), (0, []), got)
    until(lambda: not is_held('shorter'), 'the lease ended', 3)


def renew_makes_it_last_and_v_tells_how_long():
    token = dibs('acquire', '--no-renew', '-t', '2s', 'longer').out.strip()
    done = dibs('renew', '-v', '-t', '60s', token)
    assert 55000 < int(done.out) <= 60000, done
    assert who('longer')['remaining_ms'] > 50000
    equal(dibs('renew', '-t', '5s', token).out, '')
    dibs('release', token)


def a_repeated_release_succeeds_until_another_client_has_had_the_lock():
    token = dibs('acquire', '--no-renew', 'twice').out.strip()
    equal([dibs('release', token).code for _ in range(2)], [0, 0])
    equal(dibs('run', 'twice', '--', 'true').code, 0)
    equal(dibs('release', token).code, 79)


def release_of_a_lock_that_somebody_else_has_now_gives_79_and_leaves_it():
    token = dibs('acquire', '--no-renew', '-t', '500ms', 'passed').out.strip()
    other = start('run', 'passed', '--', 'cat', stdin=subprocess.PIPE)
    until(lambda: (who('passed')['holder'] or {}).get('pid') == other.pid, 'it is passed on')
    equal(dibs('release', token).code, 79)
    assert is_held('passed')
    end_holder(other)


def something_that_is_no_token_gives_64():
    equal(dibs('release', 'nonsense').code, 64)
    equal(dibs('renew', 'nonsense').code, 64)


def a_busy_lock_prints_no_token():
    other = holder('taken')
    done = dibs('acquire', '-n', 'taken')
    refused((done.code, done.out), (75, ''))
    end_holder(other)


def sh_prints_lines_for_eval():
    script = ('eval "$("$DIBS" acquire --sh --no-renew lines)"; '
              '[ "$DIBS_FENCE" -gt 0 ] && "$DIBS" release "$DIBS_TOKEN" && env')
    done = subprocess.run(['sh', '-c', script], env=environment(), capture_output=True,
                          text=True)
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, 'DIBS_TOKEN=')
    line = dibs('acquire', '--sh', '--no-renew', "it's").out
    equal(shlex.split(line)[0], 'export')
    equal(len(shlex.split(line)), 3)


def _ends_by_eval(words, code):
    for script in ('eval "$("$DIBS" %s)" || exit; echo went on',
                   'set -e; eval "$("$DIBS" %s)"; echo went on'):
        done = subprocess.run(['sh', '-c', script % words], env=environment(),
                              capture_output=True, text=True)
        equal((done.returncode, done.stdout), (code, ''), (words, done))


def eval_of_a_failed_acquire_ends_the_script_with_its_code():
    other = holder('evaluated')
    for words, code in (('-n evaluated', 75), ('-n --for-pid $$ evaluated', 75),
                        ('-u unix:///nowhere --connect-timeout 200ms evaluated', 69),
                        ('-w soon evaluated', 64), ('--permits 2 --take 3 evaluated', 64)):
        _ends_by_eval('acquire --sh ' + words, code)
    _ends_by_eval('acquire -n --note -- --sh evaluated', 75)
    end_holder(other)


def eval_of_an_acquire_whose_words_are_wrong_before_sh_ends_the_script():
    for words in ('acquire -w "$EMPTY" --sh --for-pid $$ wrong', 'acquire --bogus --sh wrong',
                  'acquire -E 300 --sh wrong', 'acquire -w $EMPTY --sh wrong',
                  'acquire --bogus --sh=1 wrong', 'aquire --sh wrong',
                  '--bogus acquire --sh wrong', '--sh', 'sem --bogus --sh acquire wrong'):
        _ends_by_eval(words, 64)
    lacks(dibs('acquire', '--bogus', '--', '--sh').out, 'exit')


def eval_of_an_acquire_that_ctrl_c_ends_ends_a_script_that_traps_it():
    other = holder('trapped')
    for words in ('--sh trapped', '--sh --for-pid $$ trapped'):
        terminal = Terminal('bash', '-c', 'trap "echo caught" INT; eval "$("$DIBS" acquire %s)" || '
                            '{ echo "code $?"; exit 5; }; echo went on' % words)
        until_waiting('trapped')
        terminal.type('\x03')
        terminal.expect('code 130')
        equal(terminal.end(), 5)
        until_waiting('trapped', 0)
    end_holder(other)


def the_example_of_the_page_needs_no_word_of_dibs_to_end_the_script():
    page = read(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             '../../doc/man/dibs-acquire.1.scd'))
    example = re.search(r'^lock=.*\n.*$', page, re.M).group()
    for program, code in ((DIBS, 0), ('/nowhere/dibs', 127)):
        script = 'dibs() { "%s" "$@"; }; %s\necho "${DIBS_FENCE:+held}"' % (program, example)
        done = subprocess.run(['sh', '-c', script], env=environment(), capture_output=True,
                              text=True)
        equal((done.returncode, done.stdout), (code, 'held\n' if code == 0 else ''), done)


def json_has_the_token_and_the_fence():
    got = json.loads(dibs('acquire', '--json', '--no-renew', 'object').out)
    equal((got['v'], got['name'], got['ttl_ms'], got['renewed']), (1, 'object', 30000, False))
    equal(str(got['fence']), got['fence_text'])
    assert 'name_hex' not in got
    equal(dibs('release', got['token']).code, 0)


def json_has_a_name_that_is_not_utf_8_in_hex():
    name = b'caf\xe9'
    got = json.loads(dibs('acquire', '--json', '--no-renew', name).out)
    equal((got['name'], got['name_hex']), ('caf\\xe9', name.hex()))
    equal(dibs('release', got['token']).code, 0)


def a_token_that_cannot_be_printed_is_given_back():
    with open('/dev/full', 'w') as full:
        for more in ([], ['--json'], ['--sh'], ['--for-pid', str(os.getpid())]):
            process = start('acquire', *more, 'unprinted', stdout=full)
            done = finish(process)
            equal(done.code, 70)
            said = [line for line in done.err.splitlines() if 'standard output' in line]
            equal(len(said), 1, done)
            contains(said[0], 'unprinted is given back: cannot write to standard output: '
                              'No space left on device')
            assert not is_held('unprinted')


# ---- kept for a process ----

def _sleeper():
    process = subprocess.Popen(['sleep', '60'])
    harness._started.append(process)
    # The kernel closes the pipe that Popen waits for before it sets the name.
    until(lambda: read('/proc/%d/comm' % process.pid) == 'sleep\n', 'its name is sleep')
    return process


def for_pid_keeps_the_lock_while_the_process_lives():
    sleeper = _sleeper()
    got = dibs('acquire', '-t', '1500ms', '--for-pid', str(sleeper.pid), 'kept')
    equal((got.code, _said(got)), (0, []), got)
    first = who('kept')
    until(lambda: who('kept')['renewals'] > first['renewals'] + 2, 'it is renewed')
    equal(who('kept')['fence_text'], first['fence_text'])
    contains(first['holder']['note'], 'for pid %d sleep' % sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    until(lambda: not is_held('kept'), 'it is released')


def for_pid_releases_when_the_process_ends_and_not_by_the_end_of_the_lease():
    sleeper = _sleeper()
    equal(dibs('acquire', '-t', '1h', '--for-pid', str(sleeper.pid), 'kept').code, 0)
    sleeper.kill()
    sleeper.wait()
    until(lambda: not is_held('kept'), 'it is released')


def for_pid_releases_by_token_too_and_the_keeper_ends():
    sleeper = _sleeper()
    token = dibs('acquire', '-t', '1s', '--for-pid', str(sleeper.pid), 'kept').out.strip()
    keeper = who('kept')['holder']['pid']
    assert is_alive(keeper)
    equal(dibs('release', token).code, 0)
    assert not is_held('kept')
    until(lambda: not is_alive(keeper), 'the keeper ends', 5)


def for_pid_of_the_shell_in_a_substitution_does_not_hang():
    script = ('token=$("$DIBS" acquire -w 10s --for-pid $$ shell) || exit; '
              '"$DIBS" who shell >/dev/null || exit 3; "$DIBS" release "$token"')
    began = time.monotonic()
    done = subprocess.run(['sh', '-c', script], env=environment(), timeout=PATIENCE)
    equal(done.returncode, 0)
    assert time.monotonic() - began < 5


def for_pid_frees_when_the_shell_is_killed():
    out = temporary_file()
    shell = subprocess.Popen(['sh', '-c', '"$DIBS" acquire --for-pid $$ gone >%s; '
                              'exec sleep 60' % out], env=environment())
    harness._started.append(shell)
    until_text(out)
    assert is_held('gone')
    shell.kill()
    shell.wait()
    until(lambda: not is_held('gone'), 'it is free', 3)
    os.unlink(out)


def for_pid_prints_nothing_while_it_waits_and_can_be_interrupted():
    other = holder('later')
    sleeper = _sleeper()
    process = start('acquire', '--for-pid', str(sleeper.pid), 'later')
    until_waiting('later')
    process.send_signal(signal.SIGTERM)
    done = finish(process, 3)
    equal((done.code, done.out), (143, ''))
    until(lambda: who('later')['waiter_count'] == 0, 'the queue is empty', 3)
    refused(dibs('acquire', '-n', '--for-pid', str(sleeper.pid), 'later').code, 75)
    end_holder(other)


def for_pid_waits_no_longer_than_the_process_lives():
    other = holder('later')
    sleeper = subprocess.Popen(['sleep', '60'])
    process = start('acquire', '--for-pid', str(sleeper.pid), 'later')
    until_waiting('later')
    sleeper.kill()          # not waited for: a zombie has ended, too
    done = finish(process)
    equal((done.code, done.out), (64, ''), done)
    contains(done.err, 'later was not taken: --for-pid %d: the process has ended' % sleeper.pid)
    until_waiting('later', 0)
    end_holder(other)
    done = dibs('acquire', '-n', '--for-pid', str(sleeper.pid), 'later')
    equal((done.code, done.out), (64, ''), done)
    contains(done.err, 'the process has ended')
    assert not is_held('later')
    sleeper.wait()


def for_pid_leaves_the_queue_when_its_starter_is_killed():
    other = holder('later')
    sleeper = _sleeper()
    process = start('acquire', '--for-pid', str(sleeper.pid), 'later')
    until_waiting('later')
    process.kill()
    until(lambda: who('later')['waiter_count'] == 0, 'the queue is empty', 3)
    end_holder(other)


def _granted_while_its_starter_is_stopped():
    """The process that acquires, which leads a group of its own and is stopped, and its keeper,
    which has the lock and waits for a word of the other."""
    other, sleeper = holder('later'), _sleeper()
    process = start('acquire', '-t', '1500ms', '--for-pid', str(sleeper.pid), 'later',
                    preexec_fn=os.setpgrp)
    until_waiting('later')
    process.send_signal(signal.SIGSTOP)
    until(lambda: process_state(process.pid) == 'T', 'it is stopped')
    end_holder(other)
    until_held('later')
    keeper = who('later')['holder']['pid']
    until(lambda: 'poll' not in read('/proc/%d/wchan' % keeper), 'the keeper has sent the grant')
    return process, keeper


def for_pid_prints_no_token_after_a_signal():
    for is_group in (False, True):
        process, _ = _granted_while_its_starter_is_stopped()
        (os.killpg if is_group else os.kill)(process.pid, signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        done = finish(process)
        equal((done.code, done.out), (143, ''), done)
        until(lambda: not is_held('later'), 'it is released')


def for_pid_keeps_a_lock_whose_token_is_printed_whatever_came_before():
    process, keeper = _granted_while_its_starter_is_stopped()
    os.kill(keeper, signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    done = finish(process)
    equal(done.code, 0, done)
    first = who('later')
    until(lambda: who('later')['renewals'] > first['renewals'] + 2, 'it is renewed')
    equal(dibs('release', done.out.strip()).code, 0)


def _for_pid_without(closed, name):
    """With the standard descriptors of `closed` closed."""
    sleeper = _sleeper()
    script = 'exec "$DIBS" acquire -n -t 1500ms --for-pid %d %s %s' % (
        sleeper.pid, name, ' '.join('%d>&-' % number for number in closed))
    out = temporary_file()
    with open(out, 'w') as file:         # a pipe would be open in a keeper that hangs
        process = subprocess.Popen(['sh', '-c', script], env=environment(), stdout=file)
    harness._started.append(process)
    code = process.wait(PATIENCE)
    os.unlink(out)
    return sleeper, code


def for_pid_keeps_the_lock_with_closed_descriptors():
    for closed in ((0,), (2,), (0, 2)):
        sleeper, code = _for_pid_without(closed, 'bare')
        equal(code, 0, closed)
        first = who('bare')
        until(lambda: who('bare')['renewals'] > first['renewals'] + 2, 'it is renewed')
        sleeper.kill()
        sleeper.wait()
        until(lambda: not is_held('bare'), 'it is released %s' % (closed,))


def for_pid_gives_back_a_lock_whose_token_cannot_be_printed():
    for closed in ((1,), (0, 1), (1, 2), (0, 1, 2)):
        sleeper, code = _for_pid_without(closed, 'bare')
        assert code != 0, closed
        until(lambda: not is_held('bare'), 'it is released %s' % (closed,))
        sleeper.kill()
        sleeper.wait()


def for_pid_of_nobody_gives_64():
    sleeper = _sleeper()
    sleeper.kill()
    sleeper.wait()
    done = dibs('acquire', '--for-pid', str(sleeper.pid), 'nobody')
    equal(done.code, 64, done)
    contains(done.err, 'No such process')


# ---- by force ----

def force_breaks_a_lock_and_the_next_gets_it():
    token = dibs('acquire', '--no-renew', '-t', '60s', 'stuck').out.strip()
    waiter = start('run', 'stuck', '--', 'echo', 'mine')
    until_waiting('stuck')
    done = dibs('break', 'stuck', '--yes', '-m', 'web-3 is gone')
    equal(done.code, 0, done)
    contains(done.err, 'web-3 is gone')
    equal(finish(waiter).out, 'mine\n')
    equal(dibs('release', token).code, 79)


def force_wants_yes_without_a_terminal():
    token = dibs('acquire', '--no-renew', 'stuck').out.strip()
    done = dibs('break', 'stuck')
    equal(done.code, 64, done)
    contains(done.err, '--yes')
    assert is_held('stuck')
    dibs('release', token)


def force_with_a_fence_spares_a_later_holder():
    token = dibs('acquire', '--no-renew', 'spared').out.strip()
    fence = int(who('spared')['fence_text'])
    equal(dibs('break', 'spared', '--yes', '--fence', str(fence - 5)).code, 79)
    assert is_held('spared')
    equal(dibs('break', 'spared', '--yes', '--fence', str(fence)).code, 0)
    assert not is_held('spared')
    equal(dibs('release', token).code, 79)


def a_lease_without_a_fence_is_not_said_to_have_the_fence_0():
    place = ['--dialect', 'plain']
    process = start('run', *place, 'plain:one', '--', 'cat', stdin=subprocess.PIPE)
    until(lambda: dibs('who', *place, 'plain:one').code == 0, 'it is held')
    lacks(dibs('who', *place, 'plain:one').out, 'fence')
    done = dibs('break', *place, 'plain:one', '--yes', '--fence', '3')
    equal(done.code, 79, done)
    contains(done.err, 'plain:one is held without a fence, not with 3; nothing was done')
    done = dibs('break', *place, 'plain:one', '--yes')
    equal(done.code, 0, done)
    contains(done.err, 'broke plain:one (held by ')
    lacks(done.err, 'fence')
    finish(process)


def force_of_a_free_lock_is_done_already():
    equal(dibs('break', 'nobody-has-it', '--yes').code, 0)


def _registration_ms(client):
    return int(harness.server.ask('PTTL', 'dibs:client:' + client).lstrip(':'))


def people_see_who_acquired_a_lease_as_long_as_it_lasts():
    for options in ([], ['-s'], ['-j', '2'], ['--multi']):
        name = 'seen' + ''.join(options)
        words = ['--multi', name + ',seen:2'] if options == ['--multi'] else [*options, name]
        got = dibs('acquire', '--no-renew', '-t', '5m', '-m', 'deploy by bob', *words)
        equal(got.code, 0, got)
        holder = who(name)['holders'][0]
        equal(holder['note'], 'deploy by bob')
        equal(holder['host'], os.uname().nodename)
        assert holder['pid'] > 0
        registered_ms = _registration_ms(holder['id'])
        assert registered_ms >= who(name)['holders'][0]['remaining_ms'], (registered_ms, holder)


def people_see_who_acquired_a_lease_that_is_renewed():
    token = dibs('acquire', '--no-renew', '-t', '2s', 'renewed').out.strip()
    client = who('renewed')['holders'][0]['id']
    equal(dibs('renew', '-t', '10m', token).code, 0)
    registered_ms = _registration_ms(client)
    assert registered_ms >= who('renewed')['holders'][0]['remaining_ms']
    # A short renewal does not shorten what a living client keeps alive.
    equal(dibs('renew', '-t', '5s', token).code, 0)
    assert _registration_ms(client) > 60000


def a_client_without_leases_leaves_no_registration():
    before = harness.server.ask('KEYS', 'dibs:client:*')
    equal(dibs('run', 'gone', '--', 'true').code, 0)
    token = dibs('acquire', '--no-renew', '-t', '500ms', 'gone').out.strip()
    dibs('release', token)
    until(lambda: len(harness.server.ask('KEYS', 'dibs:client:*')) <= len(before),
          'the registrations end with the leases')


tests(dict(globals()))
