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
    directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
    path = os.path.join(directory, 'notify')
    leader = start('elect', 'scheduler', '--', 'sleep', '600')
    until_held('scheduler')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(path)
        systemd.settimeout(PATIENCE)
        unit = start(*words, env={'NOTIFY_SOCKET': path})
        said = systemd.recv(1000).decode()
        until_waiting('scheduler')
        systemd.settimeout(0.2)
        while True:
            try:
                said += systemd.recv(1000).decode()
            except socket.timeout:
                break
        lacks(said, 'READY=1')
        systemd.settimeout(PATIENCE)
        leader.send_signal(signal.SIGTERM)
        while 'READY=1' not in said:
            said += systemd.recv(1000).decode()
        contains(dibs('elect', 'scheduler', '--observe', '-n').out, ' host-2 ')
        unit.send_signal(signal.SIGTERM)
        finish(unit)
    finish(leader)
    shutil.rmtree(directory)


def the_sidecar_has_its_file_while_its_pod_leads():
    """A `sleep` that begins beside the signal is ended by the container: here it is short."""
    words = [word.replace('\\"', '"').replace('scheduler', 'sidecar').replace('3600', '2')
             for word in _in_pod('kubernetes/leader.yaml')[1:]]
    pods, files = [], []
    for pod in ('pod-1', 'pod-2'):
        directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
        files.append(os.path.join(directory, 'is-leader'))
        mine = '\0'.join(words).replace('$(POD)', pod).replace('/leader/', directory + '/')
        pods.append(start(*mine.split('\0')))
        if pod == 'pod-1':
            until(lambda: os.path.exists(files[0]) and read(files[0]).strip(), 'pod-1 leads')
        else:
            until_waiting('sidecar')
    first = int(read(files[0]))
    assert first > 0 and not os.path.exists(files[1])
    pods[0].send_signal(signal.SIGTERM)
    until(lambda: os.path.exists(files[1]) and read(files[1]).strip(), 'pod-2 leads')
    promise_kept(int(read(files[1])) > first, files)
    assert not os.path.exists(files[0])
    finish(pods[0])
    pods[1].send_signal(signal.SIGTERM)
    finish(pods[1])
    assert not os.path.exists(files[1])
    for path in files:
        os.rmdir(os.path.dirname(path))


tests(dict(globals()))
