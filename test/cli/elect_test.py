#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs elect: one leads, the others stand by, everybody can see who."""
import json
import os
import re
import shlex
import signal
import subprocess
import time

from harness import *  # noqa
import harness


def _leader(name):
    return json.loads(dibs('elect', 'observe', name, '-n', '--json').out)


def _until_leads(process, name):
    until(lambda: (_leader(name)['holder'] or {}).get('pid') == process.pid,
          'pid %d leads %s' % (process.pid, name))


def _beating(name, *options, env=None):
    """A candidate whose command writes a line each 10 ms while it lives, and ignores TERM."""
    path = temporary_file()
    script = 'trap "" TERM; while :; do date +%%s%%N >>%s; sleep 0.01; done' % path
    return start('elect', 'run', name, *options, '--', 'sh', '-c', script, env=env), path


# ---- leading ----

def max_hold_without_a_command_is_named_as_the_reason():
    done = dibs('elect', 'run', 'limited', '-t', '1s', '--max-hold', '1500ms', '-k', '200ms')
    equal(done.code, 79, done)
    contains(done.err, 'limited: --max-hold reached: 1.5s; this client stops leading')
    lacks(done.err, 'renewed')


def the_command_runs_while_we_lead_and_its_code_comes_through():
    done = dibs('elect', 'run', 'simple', '--value', 'here', '--', 'sh', '-c',
                'echo $DIBS_NAME; "$DIBS" elect observe simple -n; exit 9')
    equal(done.code, 9, done)
    name, line = done.out.splitlines()
    epoch, value, place = line.split()
    equal((name, value), ('simple', 'here'))
    assert int(epoch) > 0 and place.startswith(os.uname().nodename + ':')
    equal(dibs('elect', 'observe', 'simple', '-n').code, 1)


def options_may_follow_the_name_and_those_of_the_command_are_never_eaten():
    equal(dibs('elect', 'run', 'words', '--value', 'v', '--', 'echo', '--loop', '--', '-n').out,
          '--loop -- -n\n')
    equal(dibs('elect', 'run', '-t', '20s', 'words', '-c', 'echo $DIBS_TTL_MS',
               env={'SHELL': '/bin/sh'}).out, '20000\n')


def candidates_lead_in_order_and_epochs_grow():
    first = start('elect', 'run', 'queue', '--', 'cat', stdin=-1)
    _until_leads(first, 'queue')
    out = temporary_file()
    waiters = []
    for n in range(3):
        waiters.append(start('elect', 'run', 'queue', '--', 'sh', '-c',
                             'echo %d $DIBS_FENCE >>%s' % (n, out)))
        until_waiting('queue', n + 1)
    epoch = _leader('queue')['epoch']
    end_holder(first)
    for waiter in waiters:
        equal(finish(waiter).code, 0)
    rows = [line.split() for line in read(out).splitlines()]
    equal([row[0] for row in rows], ['0', '1', '2'])
    epochs = [epoch] + [int(row[1]) for row in rows]
    equal(epochs, sorted(set(epochs)))
    os.unlink(out)


def n_does_not_stand_by():
    first = start('elect', 'run', 'taken', '--', 'cat', stdin=-1)
    _until_leads(first, 'taken')
    done = dibs('elect', 'run', '-n', 'taken', '--', 'echo', 'no')
    refused((done.code, done.out), (75, ''), done)
    contains(done.err, 'taken is busy: held by')
    refused(dibs_with_limit('elect', 'run', '-w', '1s', 'taken', '--', 'echo', 'no').code, 75)
    end_holder(first)
    equal(dibs('elect', 'run', '-n', 'taken', '--', 'echo', 'yes').out, 'yes\n')


# ---- what happens to leaders ----

def kill_9_of_the_leader_and_the_next_takes_over_within_a_lease():
    first, beats = _beating('failover', '-t', '1s')
    until_text(beats)
    second = start('elect', 'run', 'failover', '-t', '1s', '--', 'date', '+%s%N')
    until_waiting('failover')
    first.kill()
    killed = time.time()
    done = finish(second)
    equal(done.code, 0, done)
    # The lease, and the second that clocks may differ.
    assert int(done.out) / 1e9 - killed < 2.5, int(done.out) / 1e9 - killed
    # The kernel killed the command.
    promise_kept(int(read(beats).split()[-1]) < int(done.out), 'two lead', done)
    os.unlink(beats)


def the_command_of_a_cut_off_leader_is_dead_before_the_next_leads():
    cut = harness.Proxy(harness.server)
    first, beats = _beating('cut', '-t', '2s', '-k', '500ms', env={'DIBS_URL': cut.url})
    until_text(beats)
    second = start('elect', 'run', 'cut', '--', 'date', '+%s%N')
    until_waiting('cut')
    cut.hole()
    done = finish(second)
    equal(done.code, 0, done)
    equal(finish(first).code, 79)
    cut.stop()
    promise_kept(int(read(beats).split()[-1]) < int(done.out), 'two lead', done)
    os.unlink(beats)


def loop_stands_again_after_a_loss():
    first, beats = _beating('again', '-t', '1s', '--loop', '-v')
    _until_leads(first, 'again')
    epoch = _leader('again')['epoch']
    equal(dibs('elect', 'break', 'again', '--yes').code, 0)
    until(lambda: _leader('again')['state'] == 'led' and _leader('again')['epoch'] > epoch,
          'it leads again', 10)
    _until_leads(first, 'again')
    first.send_signal(signal.SIGKILL)
    os.unlink(beats)


def loop_ends_with_the_command_and_by_a_signal():
    equal(dibs('elect', 'run', 'ends', '--loop', '--', 'sh', '-c', 'exit 5').code, 5)
    process = start('elect', 'run', 'ends', '--loop', '--', 'sleep', '60')
    _until_leads(process, 'ends')
    process.send_signal(signal.SIGTERM)
    equal(finish(process, 5).code, 143)


def the_report_of_a_loop_is_of_its_last_turn():
    report = temporary_file()
    process = start('elect', 'run', 'turns', '--loop', '--status-file', report, '--', 'sleep', '60')
    _until_leads(process, 'turns')
    other = start('run', 'turns', '--', 'cat', stdin=subprocess.PIPE)
    until(lambda: who('turns')['waiter_count'] == 1, 'another client waits')
    equal(dibs('elect', 'break', '--yes', 'turns').code, 0)
    until(lambda: who('turns')['waiter_count'] == 1 and
          who('turns')['holder']['pid'] == other.pid, 'it stands again')
    process.terminate()
    equal(finish(process).code, 143)
    other.stdin.close()
    other.wait()
    with open(report) as file:
        told = json.load(file)
    equal((told['acquired'], told['lost'], told['held_ms'], told['child'], told['code'],
           'fence' in told), (False, False, 0, None, 143, False), told)


def loop_ends_with_a_command_that_has_a_code_of_dibs():
    for code in (69, 79):
        for words in (['--', 'sh', '-c'], ['--on-elected']):
            runs = temporary_file()
            done = dibs('elect', 'run', 'codes', '--loop', *words,
                        'echo >>%s; exit %d' % (runs, code))
            equal((done.code, read(runs)), (code, '\n'), (words, done))
            os.unlink(runs)


def loop_ends_with_a_command_that_outlived_the_signal_and_was_renewed_again():
    # One that ends within --kill-after may do so because of the signal.
    for outlives, code, out in ((False, 5, 'up\nup\n'), (True, 79, 'up\n')):
        up, signalled = temporary_file(), temporary_file()
        process = start('elect', 'run', '--loop', '-t', '6s', '-k', '2s', 'outlives', '--', 'sh',
                        '-c', 'trap "echo >%s" TERM; echo up; echo >%s; while ! test -s %s; do '
                        'sleep 0.02; done; read line; exit 5' % (signalled, up, signalled),
                        stdin=subprocess.PIPE)
        until_text(up)
        with harness.server.paused():
            until_text(signalled)
        while outlives and 'renewed again' not in process.stderr.readline():
            assert process.poll() is None
        if outlives:
            time.sleep(2)
        process.stdin.write('\n')
        done = end_holder(process)
        equal((done.code, done.out), (code, out), done)


def loop_does_not_stand_again_after_it_was_told_to_end():
    process, beats = _beating('told', '--loop')
    _until_leads(process, 'told')
    until_text(beats)
    process.send_signal(signal.SIGTERM)      # which the command ignores
    equal(dibs('elect', 'break', 'told', '--yes').code, 0)
    equal(finish(process, 5).code, 79)
    os.unlink(beats)


def a_loss_has_the_exit_status_in_json_unless_the_candidate_stands_again():
    script = '"$DIBS" elect break coded 2>&-; sleep 60'
    done = dibs('elect', 'run', '--json', 'coded', '--', 'sh', '-c', script)
    equal(done.code, 79, done)
    equal([m.get('code') for m in messages(done) if m['event'] == 'error'], [79], done)
    flag = temporary_file()
    done = dibs('elect', 'run', '--json', '--loop', 'coded', '--', 'sh', '-c',
                'test -s %s && exit; echo >%s; %s' % (flag, flag, script))
    equal(done.code, 0, done)
    lost = [m for m in messages(done) if m['event'] == 'error']
    contains(lost[0]['text'], 'lost coded')
    lacks(lost[0], 'code')
    os.unlink(flag)


def a_leader_without_a_command_has_the_exit_status_in_json():
    cut = harness.Proxy(harness.server)
    leader = start('elect', 'run', '--json', '-t', '2s', '-k', '300ms', 'coded:alone',
                   env={'DIBS_URL': cut.url})
    _until_leads(leader, 'coded:alone')
    cut.hole()
    done = finish(leader)
    cut.stop()
    equal(done.code, 79, done)
    ends = [m for m in messages(done) if 'stops leading' in m.get('text', '')]
    equal([(m['event'], m.get('code')) for m in ends], [('error', 79)], done)


def loop_goes_on_without_a_server():
    path = os.path.join(harness.server.directory, 'later')
    process = start('elect', 'run', 'later', '--loop', '--', 'echo', 'led',
                    env={'DIBS_URL': 'unix://' + path + '?connect_timeout=200ms'})
    contains(process.stderr.readline(), path)
    os.link(harness.server.socket, path)
    done = finish(process)
    equal((done.code, done.out), (0, 'led\n'), done)


def loop_goes_on_while_the_view_of_the_wait_asks_a_server_that_is_not_there():
    path = os.path.join(harness.server.directory, 'viewed')
    process = start('elect', 'run', 'viewed', '--loop', '-v', '--', 'echo', 'led',
                    env={'DIBS_URL': 'unix://' + path + '?connect_timeout=500ms'})
    lines = iter(process.stderr.readline, '')
    assert any('campaigning for viewed again' in line for line in lines), process.wait()
    os.link(harness.server.socket, path)
    done = finish(process)
    equal((done.code, done.out), (0, 'led\n'), done)


def resign_of_somebody_else_wants_yes_and_kills_the_command():
    process = start('elect', 'run', 'away', '--', 'sleep', '60')
    _until_leads(process, 'away')
    done = dibs('elect', 'break', 'away')
    equal(done.code, 64, done)
    contains(done.err, '--yes')
    equal(dibs('elect', 'break', 'away', '--yes', '-m', 'maintenance').code, 0)
    equal(finish(process, 5).code, 79)
    equal(dibs('elect', 'break', 'away').code, 0)     # nobody leads: done already


def resign_inside_ones_own_command_needs_no_yes():
    done = dibs('elect', 'run', 'own', '--', 'sh', '-c', '"$DIBS" elect break own; sleep 60')
    equal(done.code, 79, done)


# ---- without a command ----

def hooks_run_when_elected_and_before_others_lead():
    out = temporary_file()
    first = start('elect', 'run', 'vip', '--on-elected', 'echo first up >>' + out,
                  '--on-deposed', 'sleep 0.3; echo first down >>' + out)
    until_text(out, 'first up')
    second = start('elect', 'run', 'vip', '--on-elected', 'echo second up >>' + out,
                   '--on-deposed', 'echo second down >>' + out)
    until_waiting('vip')
    first.send_signal(signal.SIGTERM)
    equal(finish(first).code, 0)
    until_text(out, 'second up')
    second.send_signal(signal.SIGINT)
    equal(finish(second).code, 0)
    equal(read(out).splitlines(), ['first up', 'first down', 'second up', 'second down'])
    os.unlink(out)


def hooks_run_before_the_lease_ends_when_it_cannot_be_renewed():
    out = temporary_file()
    cut = harness.Proxy(harness.server)
    first = start('elect', 'run', 'losing', '-t', '3s', '-k', '900ms', '--on-elected',
                  'echo up >>' + out, '--on-deposed', 'date +%s%N >>' + out,
                  env={'DIBS_URL': cut.url})
    until_text(out, 'up')
    second = start('elect', 'run', 'losing', '--', 'date', '+%s%N')
    until_waiting('losing')
    cut.hole()
    ends = time.time() + who('losing')['remaining_ms'] / 1000
    done = finish(second)
    equal(finish(first).code, 79)
    deposed = int(read(out).split()[1])
    assert deposed < int(done.out)
    assert deposed / 1e9 < ends - 0.6, ends - deposed / 1e9
    cut.stop()
    os.unlink(out)


def _leader_in_its_hook(name, *options, env=None):
    """A leader whose --on-elected ignores TERM, and whose descendant in another session writes a
    line each 10 ms while it lives."""
    path = temporary_file()
    script = 'while :; do date +%%s%%N >>%s; sleep 0.01; done' % path
    process = start('elect', 'run', name, *options, '--on-elected',
                    'trap "" TERM; setsid sh -c %s & while :; do wait; done' % shlex.quote(script),
                    '--', 'sh', '-c', 'echo the command >>' + path, env=env)
    until_text(path)
    return process, path


def _no_hook_beside(name, path, second):
    done = finish(second)
    equal(done.code, 0, done)
    lacks(read(path), 'command')
    promise_kept(int(read(path).split()[-1]) < int(done.out), 'two lead', done)
    os.unlink(path)


def on_elected_of_a_cut_off_leader_is_dead_before_the_next_leads():
    cut = harness.Proxy(harness.server)
    first, beats = _leader_in_its_hook('cuthook', '-t', '2s', '-k', '500ms',
                                       env={'DIBS_URL': cut.url})
    second = start('elect', 'run', 'cuthook', '--', 'sh', '-c', 'date +%s%N; sleep 0.3')
    until_waiting('cuthook')
    cut.hole()
    _no_hook_beside('cuthook', beats, second)
    done = finish(first)
    cut.stop()
    equal(done.code, 79, done)
    contains(done.err, '--on-elected was sent TERM')
    contains(done.err, '--on-elected was killed')
    lacks(done.err, 'exited with')


def on_elected_of_a_stopped_leader_is_dead_before_the_next_leads():
    first, beats = _leader_in_its_hook('stophook', '-t', '2s', '-k', '500ms')
    second = start('elect', 'run', 'stophook', '--', 'sh', '-c', 'date +%s%N; sleep 0.3')
    until_waiting('stophook')
    first.send_signal(signal.SIGSTOP)
    _no_hook_beside('stophook', beats, second)
    first.send_signal(signal.SIGCONT)
    done = finish(first)
    equal(done.code, 79, done)
    contains(done.err, '--on-elected was ended')


def on_elected_dies_with_a_killed_leader():
    first, beats = _leader_in_its_hook('killhook', '-t', '1s')
    second = start('elect', 'run', 'killhook', '--', 'sh', '-c', 'date +%s%N; sleep 0.3')
    until_waiting('killhook')
    first.kill()
    _no_hook_beside('killhook', beats, second)


def on_elected_is_killed_when_another_deposes_the_leader():
    first, beats = _leader_in_its_hook('deposed', '--on-deposed', 'echo "down $DIBS_VALID_MS"')
    equal(dibs('elect', 'break', 'deposed', '--yes').code, 0)
    done = finish(first)
    equal((done.code, done.out), (79, 'down 0\n'), done)
    contains(done.err, 'lost deposed: --on-elected was killed')
    lacks(read(beats), 'command')
    os.unlink(beats)


def on_elected_that_takes_several_leases_leads_meanwhile():
    out = temporary_file()
    first = start('elect', 'run', 'slowup', '-t', '1s', '--on-elected',
                  'echo up >>%s; sleep 2.5; echo upped >>%s' % (out, out),
                  '--', 'sh', '-c', 'echo first >>' + out)
    until_text(out)
    second = start('elect', 'run', 'slowup', '--', 'sh', '-c', 'echo second >>' + out)
    equal(finish(second).code, 0)
    equal(finish(first).code, 0)
    equal(read(out).split(), ['up', 'upped', 'first', 'second'])
    os.unlink(out)


def on_deposed_that_takes_several_leases_keeps_others_out():
    out = temporary_file()
    first = start('elect', 'run', 'slowdown', '-t', '1s', '--on-elected', 'echo up >>' + out,
                  '--on-deposed', 'sleep 2.5; echo "down $DIBS_VALID_MS" >>' + out)
    until_text(out)
    second = start('elect', 'run', 'slowdown', '--', 'sh', '-c', 'echo second >>' + out)
    until_waiting('slowdown')
    first.send_signal(signal.SIGTERM)
    equal(finish(second).code, 0)
    equal(finish(first).code, 0)
    words = read(out).split()
    equal(words[:2] + words[3:], ['up', 'down', 'second'])
    assert 0 < int(words[2]) <= 1000, words
    os.unlink(out)


def on_deposed_goes_on_after_the_lease_and_it_is_said():
    out = temporary_file()
    cut = harness.Proxy(harness.server)
    first = start('elect', 'run', 'late', '-t', '2s', '-k', '500ms',
                  '--on-elected', 'echo up >>' + out,
                  '--on-deposed',
                  'echo "$DIBS_VALID_MS" >>%s; sleep 2; echo down >>%s' % (out, out),
                  env={'DIBS_URL': cut.url})
    until_text(out, 'up')
    cut.hole()
    done = finish(first)
    cut.stop()
    equal(done.code, 79, done)
    words = read(out).split()
    equal((words[0], words[2]), ('up', 'down'))
    assert 0 < int(words[1]) <= 1000, words
    contains(done.err, '--on-deposed continues')
    os.unlink(out)


def a_command_does_not_start_after_a_loss_during_on_elected():
    out = temporary_file()
    first = start('elect', 'run', 'toolate', '--on-lost', 'ignore', '--on-elected',
                  'echo up >>%s; cat' % out, '--', 'sh', '-c', 'echo ran >>' + out, stdin=-1)
    until_text(out)
    equal(dibs('elect', 'break', 'toolate', '--yes').code, 0)
    until(lambda: 'continues' in first.stderr.readline(), 'it learns of the loss')
    equal(end_holder(first).code, 79)
    equal(read(out), 'up\n')
    os.unlink(out)


def a_hook_that_fails_gives_leading_up():
    done = dibs('elect', 'run', 'hook', '--on-elected', 'exit 3', '--', 'echo', 'no')
    equal((done.code, done.out), (3, ''), done)
    contains(done.err, '--on-elected exited with 3')
    equal(dibs('elect', 'observe', 'hook', '-n').code, 1)
    done = dibs('elect', 'run', 'hook', '--on-deposed', 'exit 5', '--', 'echo', 'led')
    equal((done.code, done.out), (0, 'led\n'), done)
    contains(done.err, 'hook: --on-deposed exited with 5')


def told_to_end_while_the_hook_runs_it_ends():
    out = temporary_file()
    process = start('elect', 'run', 'early', '--on-elected',
                    'trap "" TERM; echo up >>%s; sleep 0.5' % out,
                    '--on-deposed', 'echo down >>' + out)
    until_text(out, 'up')
    process.send_signal(signal.SIGTERM)
    equal(finish(process).code, 0)
    equal(read(out).splitlines(), ['up', 'down'])
    os.unlink(out)


# ---- observing ----

def observers_see_each_change():
    watcher = start('elect', 'observe', 'seen')
    equal(watcher.stdout.readline(), '0 - -\n')
    first = start('elect', 'run', 'seen', '--value', 'a b', '--', 'cat', stdin=-1)
    line = watcher.stdout.readline()
    contains(line, ' a b ')
    assert line.endswith(':%d\n' % first.pid), line
    epoch = int(line.split()[0])
    second = start('elect', 'run', 'seen', '--', 'cat', stdin=-1)
    until_waiting('seen')
    first.stdin.close()
    first.stdin = None
    while not line.endswith(':%d\n' % second.pid):
        line = watcher.stdout.readline()
    assert int(line.split()[0]) > epoch
    second.stdin.close()
    second.stdin = None
    while not line.endswith(' -\n'):
        line = watcher.stdout.readline()
    watcher.kill()


def _shell(text, **more):
    return subprocess.Popen(['sh', '-c', text.replace('dibs ', '"$DIBS" ')], text=True,
                            stdout=subprocess.PIPE, env=environment(), **more)


def the_loop_of_the_page_reads_values_with_blanks():
    page = read(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             '../../doc/man/dibs-elect.1.scd'))
    loop, once = re.search(r'^(dibs elect observe billing \| while .*)\n(leader=.*)$', page,
                           re.M).groups()
    loop = loop.replace('...', 'echo "$epoch,$value,$place"')
    for value in ('a b  c', 'one'):
        leader = start('elect', 'run', 'billing', '--value', value, '--', 'cat', stdin=-1)
        until(lambda: _leader('billing')['published'], 'a value is published')
        reader = _shell(loop, start_new_session=True)
        line = reader.stdout.readline()
        os.killpg(reader.pid, signal.SIGKILL)
        reader.communicate()
        equal(line.split(',')[1:], [value, '%s:%d\n' % (os.uname().nodename, leader.pid)])
        equal(_shell(once + '; echo "$leader"').communicate()[0], value + '\n')
        equal(end_holder(leader).code, 0)


def observers_learn_of_a_crash_within_a_lease():
    first, beats = _beating('crash', '-t', '1s')
    until_text(beats)
    watcher = start('elect', 'observe', 'crash')
    contains(watcher.stdout.readline(), ':%d\n' % first.pid)
    first.kill()
    killed = time.monotonic()
    assert watcher.stdout.readline().endswith(' -\n')
    assert time.monotonic() - killed < 2.0
    watcher.kill()
    os.unlink(beats)


def _without_time(line):
    return line.split(',"time"')[0]


def an_observer_says_once_that_it_cannot_see_the_server():
    own = harness.Server()
    for words in ([], ['--json']):
        watcher = start('elect', 'observe', 'unseen', '-q', *words,
                        env={'DIBS_URL': own.url + '?connect_timeout=300ms'})
        first = watcher.stdout.readline()
        own.process.kill()
        own.process.wait()
        line = watcher.stderr.readline()
        contains(line, 'unseen: cannot see the server: ')
        if words:
            event = json.loads(line)
            equal((event['event'], event['status'], event['name'], event.get('code')),
                  ('error', 'DIBS_ERR_UNREACHABLE', 'unseen', None))
            equal(json.loads(first)['published'], False)
        own.restart()
        equal(_without_time(watcher.stdout.readline()), _without_time(first))
        watcher.kill()
        lacks(watcher.communicate()[1], 'cannot see')
    own.stop()


def an_observation_that_ends_by_a_fault_ends_the_command():
    dibs('sem', 'set', 'seats', '1')
    process = start('run', '--permits', '1', 'seats', '--', 'cat', stdin=-1)
    until_held('seats')
    done = dibs_with_limit('elect', 'observe', 'seats')
    refused_code = dibs('elect', 'observe', 'seats', '-n').code
    equal(done.code, refused_code, done)
    assert done.code not in (0, 1), done
    end_holder(process)


def observe_without_a_server_gives_69():
    done = dibs('elect', 'observe', 'x', '-u', 'unix:///nowhere/socket',
                '--connect-timeout', '200ms')
    equal(done.code, 69, done)


def observe_ends_after_w():
    done = dibs_with_limit('elect', 'observe', 'brief', '-w', '1s')
    equal((done.code, done.out), (0, '0 - -\n'), done)


def wait_leader_ends_when_somebody_leads():
    waiter = start('wait', '--leader', 'awaited')
    equal(dibs('wait', '--leader', '-w', '0', 'awaited').code, 75)
    process = start('elect', 'run', 'awaited', '--', 'cat', stdin=-1)
    equal(finish(waiter, 5).code, 0)
    end_holder(process)


def who_tells_the_value():
    process = start('elect', 'run', 'published', '--value', '10.0.0.7:80', '--', 'cat', stdin=-1)
    _until_leads(process, 'published')
    until(lambda: 'leads    10.0.0.7:80' in dibs('who', 'published').out, 'who tells it')
    end_holder(process)


# ---- mistakes ----

def mistakes_give_64():
    for words, part in ((['run', 'x', 'daemon'], 'after --'),
                        (['observ', 'x'], 'did you mean "dibs elect observe"?'),
                        (['x', '--observe', '--resign'], 'choose one'),
                        (['break', 'x', '--observe'], 'observe is a verb'),
                        (['observe', 'x', '--', 'true'], 'does not stand for election'),
                        (['break', 'x', '--loop'], 'dibs elect break has no --loop'),
                        (['run', 'x', '--yes', '--', 'true'], '--yes belongs to break'),
                        (['run', 'x', '--'], 'no command after --'),
                        (['run', 'x', '--value', 'v' * 1025, '--', 'true'], '1024'),
                        (['run'], 'missing NAME'), ([], 'missing')):
        done = dibs('elect', *words)
        equal((done.code, done.out), (64, ''), (words, done))
        contains(done.err, part)


tests(dict(globals()))
