#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs doctor and dibs acl as people and scripts see them; checks: test/live/doctor_test.c."""
import json
import os
import re

import harness

from harness import *  # noqa


def _config(**settings):
    for name, value in settings.items():
        contains(harness.server.ask('CONFIG', 'SET', name.replace('_', '-'), value), '+OK')


def _findings(*more):
    done = dibs('doctor', '--json', *more)
    return done.code, [json.loads(line) for line in done.out.splitlines()]


def a_server_without_a_failure_exits_0_with_columns_and_a_sum():
    done = dibs('doctor')
    equal((done.code, done.err), (0, ''), done)
    lines = done.out.splitlines()
    equal(lines[0], harness.server.url, done)
    assert re.match(r'PASS  server        (redis|valkey) ', lines[1]), done
    warned = [i for i, line in enumerate(lines) if line.startswith('WARN  persistence   ')]
    equal(len(warned), 1, done)
    assert lines[warned[0] + 1].startswith(' ' * 20 + '-> set appendonly yes'), done
    assert re.fullmatch(r'\d+ warnings?, 0 failures(, \d+ not known)?', lines[-1]), done


def a_fault_that_the_package_may_have_fixed_is_no_warning():
    findings = [json.loads(line) for line in dibs('doctor', '--json').out.splitlines()]
    grades = [f['grade'] for f in findings if f['check'] == 'security']
    assert grades and set(grades) <= {'pass', 'unknown'}, findings


def strict_makes_warnings_fail():
    equal(dibs('doctor', '--strict').code, 1)


def a_failure_exits_1_and_quiet_shows_no_pass():
    _config(maxmemory='100mb', maxmemory_policy='allkeys-lru')
    try:
        done = dibs('doctor', '-q')
    finally:
        _config(maxmemory='0', maxmemory_policy='noeviction')
    equal(done.code, 1, done)
    contains(done.out, 'FAIL  eviction      maxmemory-policy=allkeys-lru')
    contains(done.out, '1 failure')
    lacks(done.out, 'PASS')


def json_has_one_object_for_each_finding():
    code, found = _findings()
    equal(code, 0)
    checks = {f['check']: f for f in found}
    equal(checks['eviction']['grade'], 'pass')
    equal(checks['persistence']['grade'], 'warn')
    for f in found:
        keys = ['advice', 'check', 'grade', 'node', 'text', 'time', 'v']
        equal(sorted(f), sorted(keys + (['numbers'] if f['check'] == 'activity' else [])))
        equal((f['v'], f['node']), (1, harness.server.url))


def no_server_exits_2():
    done = dibs('doctor', '-u', 'unix:///nowhere', '--connect-timeout', '200ms')
    equal(done.code, 69, done)
    contains(done.out, 'FAIL  connection')


def mistakes_exit_64():
    equal(dibs('doctor', 'extra').code, 64)
    done = dibs('acl', '--mode', 'lock,clutser')
    equal((done.code, done.out), (64, ''), done)
    contains(done.err, '"clutser" is not one of lock')
    equal(dibs('acl', 'a b').code, 64)


def acl_takes_user_and_password_from_options_and_asks_no_server():
    secret = temporary_file()
    with open(secret, 'w') as f:
        f.write('abc\n')
    env = {'DIBS_URL': 'redis://nowhere.example?prefix=shop'}
    try:
        done = dibs('acl', '--pass-file', secret, 'bob', env=env)
    finally:
        os.unlink(secret)
    equal((done.code, done.err), (0, ''), done)
    assert done.out.startswith(
        'ACL SETUSER bob on #ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad '
        'resetkeys ~shop:* resetchannels &shop:inbox:* '), done
    equal(done.out.count('\n'), 1)


def acl_functions_prints_a_library_that_loads():
    library = dibs('acl', '--functions').out
    contains(library, '#!lua name=dibs_')
    if int(re.search(r'_version:(\d+)', harness.server.ask('INFO', 'server')).group(1)) >= 7:
        contains(harness.server.ask('FUNCTION', 'LOAD', 'REPLACE', library), 'dibs_')


tests(globals())
