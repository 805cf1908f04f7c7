#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command lines of contrib/ do what the recipes say. As systemd, cron and Kubernetes read them:
test/portable/recipes.py."""
import configparser
import os
import re
import shlex
import shutil
import signal
import socket
import tempfile

from harness import *  # noqa
import harness

CONTRIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../contrib')
JOBS = r'/usr/local/bin/nightly-report|/bin/true\b|/bin/sleep infinity'


def _text(path):
    with open(os.path.join(CONTRIB, path), encoding='utf-8') as file:
        return file.read()


def _words(line, job):
    """Those after `dibs`, with `job` in place of the program of the recipe."""
    words = shlex.split(re.sub(JOBS, job, line))
    equal(os.path.basename(words[0]), 'dibs')
    return words[1:]


def _line(path, pattern):
    return re.search(pattern, _text(path), re.M).group(1)


def _in_pod(path):
    """The command of a container: a list in JSON's form, whose lines YAML folds."""
    listed = re.search(r'command: \[(.*?)\]$', _text(path), re.S | re.M).group(1)
    return re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r'\n\s*', ' ', listed))


# ---- a job, once in the fleet ----

def a_nightly_job_runs_on_one_machine_and_the_others_end_with_success():
    kinds = (_line('cron/dibs', r'^[\d* ]+ root (dibs .*)'),
             _line('systemd/nightly.service', r'^ExecStart=(.*)'),
             shlex.join(_in_pod('kubernetes/cronjob.yaml')))
    for number, line in enumerate(kinds):
        path, name = temporary_file(), 'nightly-%d' % number
        words = _words(line.replace('nightly-report --', name + ' --'),
                       "sh -c 'echo begun >>%s; sleep 0.3; echo ended >>%s'" % (path, path))
        first = start(*words)
        for state in ('begun', 'ended'):         # --min-hold: the clock of another may be behind
            until_text(path, state)
            late = dibs(*words)
            equal((late.code, late.out), (0, ''), late)
        equal(read(path), 'begun\nended\n')
        first.send_signal(signal.SIGTERM)
        finish(first)


def a_machine_that_was_off_does_not_run_the_job_again_when_it_boots():
    timer = configparser.RawConfigParser()
    timer.read_string(_text('systemd/nightly.timer'))
    equal(timer['Timer'].get('Persistent', 'no'), 'no')


# ---- a leader ----

def the_unit_of_the_leader_is_started_when_it_leads():
    words = _words(_line('systemd/leader.service', r'^ExecStart=(.*)').replace('%H', 'host-2'),
                   'sleep 600')
    leader = start('elect', 'scheduler', '--', 'sleep', '600')
    until_held('scheduler')
    with systemd() as (s, env):
        unit = start(*words, env=env)
        said = s.recv(1000).decode()
        until_waiting('scheduler')
        s.settimeout(0.2)
        while True:
            try:
                said += s.recv(1000).decode()
            except socket.timeout:
                break
        lacks(said, 'READY=1')
        s.settimeout(PATIENCE)
        leader.send_signal(signal.SIGTERM)
        while 'READY=1' not in said:
            said += s.recv(1000).decode()
        contains(dibs('elect', 'scheduler', '--observe', '-n').out, ' host-2 ')
        unit.send_signal(signal.SIGTERM)
        finish(unit)
    finish(leader)


def _sidecar(name, pod):
    """It, and the path of its file."""
    directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
    words = [word.replace('\\"', '"').replace('scheduler', name).replace('$(POD)', pod)
             .replace('/leader/', directory + '/')
             for word in _in_pod('kubernetes/leader.yaml')[1:]]
    return start(*words), os.path.join(directory, 'is-leader')


def _until_leads(path):
    return int(until(lambda: os.path.exists(path) and read(path).strip(), path + ' is there'))


def the_sidecar_has_its_file_while_its_pod_leads():
    first, first_file = _sidecar('sidecar', 'pod-1')
    fence = _until_leads(first_file)
    second, second_file = _sidecar('sidecar', 'pod-2')
    until_waiting('sidecar')
    assert fence > 0 and not os.path.exists(second_file)
    written = os.stat(first_file).st_mtime_ns
    until(lambda: os.stat(first_file).st_mtime_ns > written, 'it shows that the pod still leads')
    first.send_signal(signal.SIGTERM)
    promise_kept(_until_leads(second_file) > fence, first_file, second_file)
    assert not os.path.exists(first_file)
    finish(first)
    second.send_signal(signal.SIGTERM)
    finish(second)
    for path in (first_file, second_file):
        os.rmdir(os.path.dirname(path))


def the_file_of_a_sidecar_goes_when_another_deposes_its_pod():
    first, first_file = _sidecar('deposed', 'pod-1')
    _until_leads(first_file)
    second, second_file = _sidecar('deposed', 'pod-2')
    until_waiting('deposed')
    equal(dibs('elect', 'break', 'deposed', '--yes').code, 0)
    _until_leads(second_file)
    until(lambda: not os.path.exists(first_file), 'the file of pod-1 is gone')
    for pod, path in ((first, first_file), (second, second_file)):
        pod.send_signal(signal.SIGTERM)
        finish(pod)
        os.rmdir(os.path.dirname(path))


tests(dict(globals()))
