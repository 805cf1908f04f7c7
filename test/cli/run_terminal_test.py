#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs run on a real terminal: job control, the waiting lines, Ctrl-C and Ctrl-Z."""
import itertools
import os
import signal
import subprocess
import termios

from harness import *  # noqa
import harness


def _shell():
    terminal = Terminal('bash', '--norc', '--noprofile', '--noediting', '-i',
                        env={'HISTFILE': None})
    terminal.expect('$ ')
    terminal.type('stty -echo; echo rea\\dy\n')
    terminal.expect('ready\r\n')
    return terminal


def the_command_gets_the_terminal_and_the_shell_gets_it_back():
    terminal = _shell()
    terminal.type('"$DIBS" run tty -- sh -c \'read line; echo "got $line"\'\n')
    until_held('tty')
    terminal.type('hello\n')
    terminal.expect('got hello')
    terminal.type('echo still $((40 + 2))\n')
    terminal.expect('still 42')
    terminal.type('exit\n')
    terminal.end()


def the_command_leads_the_foreground_group():
    terminal = Terminal(DIBS, 'run', 'tty', '--', 'sh', '-c',
                        'test "$(ps -o tpgid= -p $$)" -eq $$ && echo leads')
    terminal.expect('leads')
    equal(terminal.end(), 0)


def ctrl_c_reaches_the_command_and_ends_a_loop_of_the_shell():
    terminal = _shell()
    terminal.type('for i in 1 2 3; do echo "round $i"; "$DIBS" run tty -- sleep 60; done; '
                  'echo "code $?"\n')
    terminal.expect('round 1')
    until_held('tty')
    terminal.type('\x03')
    until(lambda: not is_held('tty'), 'the lock is free')
    terminal.type('echo after\n')
    lacks(terminal.expect('after'), 'round 2')
    terminal.type('exit\n')
    terminal.end()


SCRIPTS = itertools.count()


def _script(shell, *steps):
    """A shell that runs a file of `steps`, on a terminal of its own."""
    path = os.path.join(harness.server.directory, 'script%d' % next(SCRIPTS))
    with open(path, 'w') as f:
        f.write('\n'.join(steps) + '\n')
    return Terminal(shell, path)


def _runs(terminal, words):
    """Whether a process of the terminal is what `words` begin; not the shell that starts it."""
    lines = subprocess.run(['ps', '-o', 'args=', '-s', str(terminal.pid)], stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    return any(line.startswith(words) for line in lines)


def _ends_by(shell, key, way, is_ready):
    """Types `key` into a script when its first step is ready: how it ends, before its second."""
    terminal = _script(shell, way, 'echo sec\\ond')
    until(lambda: is_ready(terminal), 'the first step runs: ' + way)
    terminal.type(key)
    until(lambda: terminal.read_some() or not is_alive(terminal.pid), 'it ends: ' + way)
    code = terminal.end()
    lacks(terminal.seen, 'second')
    return code


def _sleeps(terminal):
    return _runs(terminal, 'sleep 611')


def _holds_on(terminal):
    terminal.read_some()
    return 'up' in terminal.seen and os.tcgetpgrp(terminal.fd) == terminal.pid


WAYS = ('run tty -- sleep 611', 'run --foreground tty -- sleep 611', 'run tty -c "exec sleep 611"',
        'elect run tty -- sleep 611', 'elect run --foreground tty -- sleep 611',
        'sandbox -- sleep 611',
        'elect run tty --on-elected "exec sleep 611" -- true',
        'elect run tty --on-elected "exec sleep 611" --on-deposed "echo down" -- true',
        'run outer -- "$DIBS" run tty -- sleep 611', 'sandbox -- "$DIBS" run tty -- sleep 611',
        "run outer -- sh -c '\"$DIBS\" run tty -- sleep 611; echo sec\\ond'",
        'run tty -- sleep 611 </dev/null 2>/dev/null', 'run tty -- sleep 611 | cat')


def ctrl_c_ends_a_script():
    equal(dibs('latch', 'set', 'tty:latch', '1').code, 0)
    waits = 'latch wait tty:latch </dev/null 2>/dev/null'
    for shell in ('bash', 'dash'):
        for way in WAYS:
            equal(_ends_by(shell, '\x03', '"$DIBS" ' + way, _sleeps), -signal.SIGINT, (shell, way))
        equal(_ends_by(shell, '\x03', '"$DIBS" ' + waits, lambda t: _runs(t, DIBS)),
              -signal.SIGINT, shell)
        equal(_ends_by(shell, '\x03', '"$DIBS" run --min-hold 1m tty -- echo up', _holds_on),
              -signal.SIGINT, shell)
    until(lambda: not is_held('tty') and not is_held('outer'), 'the locks are free')


def ctrl_backslash_ends_a_script_of_a_shell_that_does_not_ignore_it():
    for way in WAYS[:2]:
        equal(_ends_by('dash', '\x1c', '"$DIBS" ' + way, _sleeps), -signal.SIGQUIT, way)


def ctrl_c_ends_a_script_also_after_a_lease_was_renewed_again():
    terminal = _script('bash', '"$DIBS" run -t 6s -k 2s --on-lost USR1 tty:again -- sh -c '
                       '\'trap "echo told" USR1; echo up; while :; do sleep 0.02; done\'',
                       'echo sec\\ond')
    terminal.expect('up')
    with harness.server.paused():
        terminal.expect('told')
    terminal.expect('renewed again')
    terminal.type('\x03')
    equal(terminal.end(), -signal.SIGINT)
    lacks(terminal.seen, 'second')


def ctrl_c_that_the_command_handles_lets_a_script_go_on():
    for code in (0, 130):
        terminal = _script('bash', '"$DIBS" run tty -- sh -c \'trap "echo caught; exit %d" INT; '
                           'echo up; while :; do sleep 0.02; done\'' % code, 'echo "code $?"')
        terminal.expect('up')
        terminal.type('\x03')
        terminal.expect('caught')
        terminal.expect('code %d' % code)
        equal(terminal.end(), 0)


def an_interrupt_of_dibs_alone_ends_the_command_and_not_the_script():
    for option in ('', '--foreground'):
        terminal = _script('bash', '"$DIBS" run %s tty -- sh -c \'echo "pid ${DIBS_HOLDER##*:}"; '
                           'exec sleep 611\'' % option, 'echo "code $?"')
        terminal.expect('pid ')
        pid = int(terminal.expect('\r\n'))
        until(lambda: _sleeps(terminal), 'the command runs')
        os.kill(pid, signal.SIGINT)
        terminal.expect('code 130')
        equal(terminal.end(), 0)


def a_command_that_handles_ctrl_c_decides_itself():
    terminal = Terminal(DIBS, 'run', 'tty', '--', 'sh', '-c',
                        'trap "echo caught; exit 5" INT; echo up; '
                        'while :; do sleep 0.02; done')
    terminal.expect('up')
    terminal.type('\x03')
    terminal.expect('caught')
    equal(terminal.end(), 5)


def ctrl_z_stops_the_job_and_fg_continues_it():
    # A command that starts nothing: a shell cannot be stopped in the middle of vfork().
    terminal = _shell()
    terminal.type('"$DIBS" run tty -- sh -c \'echo up; read line; echo "got $line"\'\n')
    terminal.expect('up')
    terminal.type('\x1a')
    terminal.expect('dibs: stopped; the lease of tty ends in')
    terminal.expect('Stopped')
    terminal.type('echo prompt; fg\n')
    terminal.expect('prompt')
    terminal.type('word\n')
    terminal.expect('got word')
    terminal.type('exit\n')
    terminal.end()
    assert not is_held('tty')


# A shell that has not seen it does not continue the job at `fg` or `kill`.
def _shell_says_stopped(terminal):
    terminal.type('\n')
    terminal.read_some()
    return 'Stopped' in terminal.seen


def a_command_whose_output_bash_takes_may_read_the_terminal():
    """Bash ignores SIGTTIN there, with which a read from the background fails."""
    terminal = _shell()
    terminal.type('text=$("$DIBS" run tty -- sh -c \'read line </dev/tty; echo "got $line"\'); '
                  'echo "<$text>"\n')
    until_held('tty')
    terminal.type('hello\n')
    terminal.expect('<got hello>')
    terminal.type('exit\n')
    terminal.end()


def a_command_in_the_background_gets_the_terminal_only_after_fg():
    terminal = _shell()
    terminal.type('"$DIBS" run tty -- sh -c \'read line; echo "got $line"\' &\n')
    until_held('tty')
    until(lambda: _shell_says_stopped(terminal), 'the shell has seen that the job is stopped')
    terminal.expect('Stopped')
    terminal.expect('read line')
    terminal.type('fg\n')
    terminal.expect('read line')
    terminal.type('word\n')
    terminal.expect('got word')
    terminal.type('exit\n')
    terminal.end()


def _is_stopped(words):
    lines = subprocess.run(['ps', '-eo', 'stat=,args='], stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    return any(line.startswith('T') and words in line for line in lines)


# Whoever asks who has the terminal hears here what was so 100 ms ago.
def an_fg_that_comes_while_it_looks_who_has_the_terminal_is_not_missed():
    terminal, words = _shell(), 'read late; echo "got $late" %d' % os.getpid()
    terminal.type('ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" '
                  'LD_PRELOAD="$SLOW_TERMINAL" "$DIBS" run tty -- sh -c \'%s\' &\n' % words)
    until(lambda: _is_stopped(words), 'the command asks for the terminal')
    terminal.type('fg\n')
    terminal.expect('read late')
    terminal.type('word\n')
    terminal.expect('got word')
    terminal.type('exit\n')
    terminal.end()


# Its shell has ended at once, and so nobody can ever say `fg`.
def who_asks_for_the_terminal_and_has_no_shell_is_hung_up():
    terminal, path = _shell(), os.path.join(harness.server.directory, 'began')
    terminal.type('("$DIBS" run orphan -- sh -c \'echo began >"%s"; read line\' </dev/tty &)\n'
                  % path)
    until(lambda: os.path.exists(path), 'the command begins')
    until(lambda: not is_held('orphan'), 'the lock is free')
    terminal.type('exit\n')
    terminal.end()


def _kill_a_job_that_wants_the_terminal(preload):
    terminal = _shell()
    terminal.type('%s"$DIBS" run tty -- cat &\n' % preload)
    until_held('tty')
    until(lambda: _shell_says_stopped(terminal), 'the shell has seen that the job is stopped')
    terminal.type('kill %1\n')
    until(lambda: not is_held('tty'), 'the lock is free')
    # The shell may not have seen yet that the job goes on: it would not wait for a stopped one.
    until(lambda: not _is_stopped('run tty -- cat'), 'the job has ended')
    terminal.type('wait $!; echo "code $?"\n')
    terminal.expect('code 143')
    terminal.type('exit\n')
    terminal.end()


def a_job_that_is_stopped_for_the_terminal_ends_by_kill():
    _kill_a_job_that_wants_the_terminal('')


# Continued, cat asks for the terminal again, and is stopped, before the signal is passed on. The
# report of that stop is read after cat has ended by the signal.
def it_ends_by_kill_also_if_it_asks_for_the_terminal_once_more():
    _kill_a_job_that_wants_the_terminal('ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" '
                                        'LD_PRELOAD="$SLOW_TERMINAL" ')


def _stop_only(words, until_ready):
    """A script that runs dibs, and dibs stopped by kill -TSTP: the script goes on."""
    out = temporary_file()
    script = '"$DIBS" %s & echo $! >%s; while :; do sleep 0.02; done' % (words, out)
    terminal = _shell()
    terminal.type("sh -c '%s; : marked'\n" % script)
    pid = int(until_text(out, '\n'))
    until_ready()
    os.kill(pid, signal.SIGTSTP)
    until(lambda: process_state(pid) == 'T', 'dibs is stopped')
    assert not _is_stopped(': marked'), 'the script is stopped, too'
    os.kill(pid, signal.SIGCONT)
    until(lambda: process_state(pid) != 'T', 'dibs goes on')
    os.kill(pid, signal.SIGTERM)
    until(lambda: not is_alive(pid), 'dibs ends')
    terminal.kill()
    os.unlink(out)


def a_stop_of_a_waiting_dibs_stops_nothing_else():
    other = holder('busy')
    _stop_only('run busy -- true', lambda: until_waiting('busy'))
    end_holder(other)


def a_stop_of_a_running_dibs_stops_its_command_and_nothing_else():
    _stop_only('run free -- sleep 60', lambda: until_held('free'))


def a_pipeline_keeps_the_terminal_for_its_reader():
    terminal = _shell()
    terminal.type('"$DIBS" run tty -- echo one | sh -c \'read a; read b </dev/tty; '
                  'echo "$a $b"\'\n')
    terminal.type('two\n')
    terminal.expect('one two')
    terminal.type('exit\n')
    terminal.end()


def foreground_leaves_the_group_alone():
    terminal = Terminal(DIBS, 'run', '--foreground', 'tty', '--', 'sh', '-c',
                        'trap "echo caught; exit 4" INT; '
                        'test "$(ps -o pgid= -p $$)" -eq "$(ps -o pgid= -p '
                        '${DIBS_HOLDER##*:})" && echo same; while :; do sleep 0.02; done')
    terminal.expect('same')
    terminal.type('\x03')
    terminal.expect('caught')
    equal(terminal.end(), 4)


def a_hang_up_that_comes_to_dibs_alone_ends_a_command_in_its_group():
    # As of ssh -t: the leader of the session gets it, and the group only when that has ended.
    for words in (('run', 'hung'), ('run', '--foreground', 'hung'),
                  ('elect', 'run', '--foreground', 'hung:lead'), ('sandbox',)):
        terminal = Terminal(DIBS, *words, '--', 'sh', '-c', 'echo pid $$.; exec sleep 60')
        terminal.expect('pid ')
        command = int(terminal.expect('.'))
        reader, writer = os.pipe()
        os.dup2(reader, terminal.fd)                  # closes the terminal
        equal(terminal.end(), 128 + signal.SIGHUP, words)
        assert not is_alive(command), words
        os.close(reader)
        os.close(writer)
    equal(who('hung')['state'], 'free')


def two_shells_and_the_waiting_line():
    first, second = _shell(), _shell()
    first.type('"$DIBS" run orders:nightly -- sh -c "read line; echo first done"\n')
    until_held('orders:nightly')
    second.type('"$DIBS" run orders:nightly -- echo second runs\n')
    second.expect('dibs: waiting for orders:nightly  0:0')
    second.expect('held by ')
    second.expect('"sh")')
    second.expect('you are 1st of 1 (Ctrl-C gives up), held for 0:0')
    first.type('go\n')
    first.expect('first done')
    second.expect('acquired orders:nightly after ')
    second.expect('second runs')
    for shell in (first, second):
        shell.type('exit\n')
        shell.end()


def the_waiting_line_of_wide_characters_does_not_wrap():
    held = holder(WIDE_NAME)
    terminal = Terminal('sh', '-c', 'stty cols 50; exec "$DIBS" run "$0" -- true', WIDE_NAME)
    seen = ''.join(terminal.expect('gives up') + 'gives up' for _ in range(3))
    lines = re.split(r'[\r\n]+|\x1b\[\d*[AJ]', seen)
    equal(len([line for line in lines if line.startswith('dibs: waiting for ' + WIDE_NAME)]), 3)
    equal([line for line in lines if cells(line) > 49], [])
    terminal.type('\003')
    equal(terminal.end(), -2)
    end_holder(held)


def a_terminal_that_cannot_erase_gets_plain_lines():
    held = holder('line:dumb')
    for kind in ('dumb', ''):
        terminal = Terminal(DIBS, 'run', 'line:dumb', '--', 'true', env={'TERM': kind})
        terminal.expect('waiting for line:dumb')
        terminal.type('\003')
        equal(terminal.end(), -2)
        equal('\x1b' in terminal.seen, False)
    end_holder(held)


def the_waiting_line_tells_of_all_kinds():
    job = start('run', '-j', '2', '--take', '2', 'line:sem', '--', 'cat', stdin=-1)
    reader = start('run', '-s', 'line:rw', '--', 'cat', stdin=-1)
    other = holder('line:b')
    until_held('line:sem')
    until_held('line:rw')
    for words, first, second in (
            (['-j', '2', 'line:sem'], '2 of 2 permits held by ', 'held for 0:0'),
            (['--write', 'line:rw'], 'read by ', 'held for 0:0'),
            (['--multi', 'line:a,line:b'], 'line:b is held by ', 'held for 0:0')):
        terminal = Terminal(DIBS, 'run', *words, '--', 'echo', 'runs')
        terminal.expect('dibs: waiting for %s  0:0' % words[-1])
        terminal.expect(first)
        terminal.expect('"cat")')
        terminal.expect('you are 1st of 1 (Ctrl-C gives up), ' + second)
        terminal.type('\003')
        equal(terminal.end(), -2)
    for process in (job, reader, other):
        end_holder(process)


def the_waiting_lines_are_gone_once_acquired():
    other = holder('tidy')
    terminal = Terminal(DIBS, 'run', 'tidy', '--', 'echo', 'ran')
    terminal.expect('Ctrl-C gives up')
    end_holder(other)
    before = terminal.expect('dibs: acquired tidy')
    contains(before, '\x1b[J')
    terminal.expect('ran')
    equal(terminal.end(), 0)


def ctrl_c_gives_up_waiting_and_leaves_no_entry():
    other = holder('give-up')
    terminal = Terminal(DIBS, 'run', 'give-up', '--', 'echo', 'ran')
    terminal.expect('Ctrl-C gives up')
    terminal.type('\x03')
    equal(terminal.end(), -signal.SIGINT)
    lacks(terminal.seen, 'ran')
    equal(who('give-up')['waiter_count'], 0)
    end_holder(other)


def names_cannot_send_control_characters_to_the_terminal():
    name = 'evil\x1b]0;title\x07'
    other = holder(name)
    terminal = Terminal(DIBS, 'run', name, '--', 'true')
    before = terminal.expect('Ctrl-C gives up')
    contains(before, 'evil\\x1b]0;title\\x07')
    terminal.kill()
    end_holder(other)


def break_asks_on_a_terminal():
    other = holder('asked')
    terminal = Terminal(DIBS, 'break', 'asked')
    terminal.expect('Break it? [y/N]')
    terminal.type('n\n')
    terminal.expect('asked was not broken')
    equal(terminal.end(), 1)
    assert is_held('asked')
    end_holder(other)


def askpass_does_not_show_what_is_typed():
    locked = harness.Server('--requirepass', 'geheim')
    terminal = Terminal(DIBS, 'who', '-u', locked.url, '--askpass', 'x')
    terminal.expect('Password: ')
    terminal.type('geheim\n')
    equal(terminal.end(), 1)
    lacks(terminal.seen, 'geheim')
    locked.stop()


def _shows_typing(terminal):
    return bool(termios.tcgetattr(terminal.fd)[3] & termios.ECHO)


def _until_silent(terminal):
    terminal.expect('Password: ')
    until(lambda: not _shows_typing(terminal), 'the terminal shows nothing')


def askpass_ends_by_a_signal_and_leaves_the_terminal_as_it_was():
    keys = {signal.SIGINT: '\x03', signal.SIGQUIT: '\x1c'}
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM,
                   signal.SIGUSR1):
        terminal = Terminal(DIBS, 'who', '--askpass', 'x')
        _until_silent(terminal)
        terminal.type('gehe' + keys.get(number, ''))
        if number not in keys:
            os.kill(terminal.pid, number)
        until(lambda: process_state(terminal.pid) == 'Z', 'it ends by signal %d' % number)
        assert _shows_typing(terminal), 'no echo after signal %d' % number
        equal(terminal.end(), -number)
        lacks(terminal.seen, 'gehe')


def askpass_stops_with_echo_and_goes_on_without():
    locked = harness.Server('--requirepass', 'geheim')
    terminal = Terminal('bash', '--norc', '--noprofile', '--noediting', '-i',
                        env={'HISTFILE': None})
    terminal.expect('$ ')
    terminal.type('"$DIBS" who -u %s --askpass x\n' % locked.url)
    _until_silent(terminal)
    terminal.type('\x1a')
    terminal.expect('Stopped')
    assert _shows_typing(terminal), 'no echo while it is stopped'
    terminal.type('bg\n')
    until(lambda: _shell_says_stopped(terminal), 'in the background it asks nothing')
    assert _shows_typing(terminal), 'no echo while it is in the background'
    terminal.type('fg\n')
    _until_silent(terminal)
    terminal.type('geheim\n')
    terminal.expect('x  free')
    lacks(terminal.seen, 'geheim')
    terminal.kill()
    locked.stop()


tests(dict(globals()))
