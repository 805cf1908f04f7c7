#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ACLs in SECURITY.md are what `dibs acl` prints, enough for the command, and not more.

    acl.py ROOT DIBS            starts itself again inside `dibs sandbox`
    acl.py ROOT DIBS --write    writes the lines of the page again

Speaks TAP.
"""
import os
import re
import shlex
import socket
import subprocess
import sys
import textwrap


def blocks(root):
    """Of the page: each command `dibs acl ...`, and the words of the line below it."""
    with open(os.path.join(root, 'SECURITY.md'), encoding='utf-8') as page:
        found = re.findall(r'^```text\n\$ (dibs acl .*)\n(ACL SETUSER (?:.|\n)*?)^```', page.read(),
                           re.M)
    assert len(found) >= 7, found
    return [(command, line.split()) for command, line in found]


def acl_words(root, command='dibs acl worker'):
    return dict(blocks(root))[command]


def ask(path, *words):
    """Sends one command; answers the first line of the reply."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        text = f'*{len(words)}\r\n' + ''.join(f'${len(w)}\r\n{w}\r\n' for w in words)
        link.sendall(text.encode())
        return link.makefile('rb').readline().decode().strip()


def run(dibs, url, *words, code=0):
    environment = dict(os.environ, DIBS_URL=url)
    done = subprocess.run([dibs, *words], env=environment, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    if done.returncode != code or 'permission' in done.stderr.lower():
        raise AssertionError(f'{words}: exit {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout.strip()


def every_subcommand(dibs, url):
    run(dibs, url, 'ping', '--count', '1')
    run(dibs, url, 'run', 'acl', '--', 'true')
    holder = subprocess.Popen([dibs, 'run', 'acl', '--', 'sleep', '1'],
                              env=dict(os.environ, DIBS_URL=url))
    try:
        run(dibs, url, 'wait', '--held', '-w', '10', 'acl')
        run(dibs, url, 'who', 'acl')
        run(dibs, url, 'status')
        run(dibs, url, 'top')
        run(dibs, url, 'run', '-n', 'acl', '--', 'true', code=75)
        run(dibs, url, 'run', 'acl', '--', 'true')
    finally:
        holder.wait()
    token = run(dibs, url, 'acquire', '--no-renew', 'acl')
    run(dibs, url, 'renew', token)
    run(dibs, url, 'release', token)
    run(dibs, url, 'acquire', '--no-renew', 'acl')
    run(dibs, url, 'break', 'acl', '--yes')
    shared_resources(dibs, url)
    meetings(dibs, url)


def shared_resources(dibs, url):
    run(dibs, url, 'run', '-s', 'acl-rw', '--', 'true')
    run(dibs, url, 'run', '--write', 'acl-rw', '--', 'true')
    run(dibs, url, 'run', '--multi', 'acl-1,acl-2', '--', 'true')
    run(dibs, url, 'sem', 'set', 'acl-sem', '1')
    token = run(dibs, url, 'acquire', '--take', '1', '--ttl', '500ms', '--no-renew', 'acl-sem')
    run(dibs, url, 'renew', '--ttl', '500ms', token)
    run(dibs, url, 'run', '--take', '1', 'acl-sem', '--', 'true')    # when that is over
    run(dibs, url, 'sem', 'set', 'acl-sem', '2')
    run(dibs, url, 'who', 'acl-sem', code=1)
    run(dibs, url, 'status', '--graph')
    run(dibs, url, 'sem', 'rm', 'acl-sem')


def meetings(dibs, url):
    waiter = subprocess.Popen([dibs, 'barrier', 'wait', '--parties', '2', '-w', '20', 'acl-bar'],
                              env=dict(os.environ, DIBS_URL=url))
    run(dibs, url, 'barrier', 'wait', '--parties', '2', '-w', '20', 'acl-bar')
    assert waiter.wait() == 0, 'the other party'
    run(dibs, url, 'barrier', 'reset', 'acl-bar')
    run(dibs, url, 'barrier', 'ls')
    run(dibs, url, 'elect', 'run', 'acl-leader', '--value', 'here', '--', dibs, 'elect',
        'observe', 'acl-leader', '-n')
    run(dibs, url, 'elect', 'observe', 'acl-leader', '-n', code=1)


def inside(root, dibs):
    path = os.environ['DIBS_URL'].split('://', 1)[1].split('?')[0]
    words = acl_words(root)
    user, password = words[2], next(w for w in words if w.startswith('>'))[1:]
    results = []

    def case(name, function):
        try:
            function()
            results.append((name, ''))
        except (AssertionError, subprocess.TimeoutExpired) as fault:
            results.append((name, str(fault)))

    def accepts():
        assert ask(path, *words) == '+OK', ask(path, *words)

    def works():
        every_subcommand(dibs, f'unix://{user}:{password}@{path}')

    def is_what_the_command_prints():
        for command, expected in blocks(root):
            printed = run(dibs, '', *shlex.split(command)[1:]).split()
            assert printed == expected, f'{command}:\n' + ' '.join(printed)
            if not command.endswith('--sentinel watcher'):
                assert ask(path, *printed) == '+OK', ask(path, *printed)

    def latches_work():
        more = acl_words(root, "dibs acl --latches 'release-*' --guarded 'stock:*' worker")
        assert ask(path, *more) == '+OK', more
        url = f'unix://{user}:{password}@{path}'
        run(dibs, url, 'latch', 'set', 'release-1', '2')
        waiter = subprocess.Popen([dibs, 'latch', 'wait', '-w', '20', 'release-1'],
                                  env=dict(os.environ, DIBS_URL=url))
        run(dibs, url, 'latch', 'down', '--once', 'a', 'release-1')
        run(dibs, url, 'latch', 'down', '--once', 'a', 'release-1')
        run(dibs, url, 'latch', 'down', 'release-1')
        assert waiter.wait() == 0, 'who waits'
        run(dibs, url, 'latch', 'set', 'release-1', '1')
        run(dibs, url, 'latch', 'show', 'release-1')
        run(dibs, url, 'latch', 'rm', 'release-1')

    def limiters_are_named():
        more = acl_words(root, "dibs acl --limiters 'api-*' worker")
        assert ask(path, *more) == '+OK', more
        for allowed, command in ((True, ['ZADD', '{api-1}:permits', '1', 'x']),
                                 (True, ['SET', '{api-1}:value:u', '1']),
                                 (True, ['HSET', 'api-1', 'rate', '1']),
                                 (False, ['SET', '{other}:value', '1']),
                                 (False, ['ZADD', 'x', '1', 'x'])):
            said = ask(path, 'ACL', 'DRYRUN', user, *command)
            assert (said == '+OK') == allowed, f'{command}: {said}'

    def data_commands_are_all_allowed():
        more = acl_words(root, "dibs acl --data 'shop:*' worker")
        assert ask(path, *more) == '+OK', more
        for command in (['HSETNX', 'shop:a', 'f', 'v'], ['RPUSH', 'shop:a', 'v'],
                        ['LINSERT', 'shop:a', 'BEFORE', 'v', 'w'], ['LREM', 'shop:a', '1', 'v'],
                        ['SADD', 'shop:a', 'm'], ['SSCAN', 'shop:a', '0'], ['UNLINK', 'shop:a']):
            said = ask(path, 'ACL', 'DRYRUN', user, *command)
            assert said == '+OK', f'{command}: {said}'
            said = ask(path, 'ACL', 'DRYRUN', user, command[0], 'other', *command[2:])
            assert said != '+OK', f'{command} on another key is allowed'

    def hears():
        """Without its channels all would work too, by asking: so that this must be looked at."""
        for channel in ('dibs:inbox:x', 'dibs:barrier:{x}', 'dibs:elect:{x}'):
            for command in ('SUBSCRIBE', 'UNSUBSCRIBE'):
                said = ask(path, 'ACL', 'DRYRUN', user, command, channel)
                assert said == '+OK', f'{command} {channel}: {said}'

    def refuses():
        for command in (['FLUSHALL'], ['SET', 'other', '1'], ['CONFIG', 'GET', '*'],
                        ['KEYS', '*'], ['PUBLISH', 'other', 'x'], ['DEBUG', 'SLEEP', '0']):
            said = ask(path, 'ACL', 'DRYRUN', user, *command)
            assert said.startswith('$') or said.startswith('-'), f'{command}: {said}'

    case('the_server_accepts_the_acl_of_the_page', accepts)
    case('every_subcommand_works_with_it', works)
    case('every_channel_may_be_heard', hears)
    case('the_rest_is_refused', refuses)
    case('each_line_of_the_page_is_what_the_command_prints', is_what_the_command_prints)
    case('data_commands_are_allowed_on_their_keys', data_commands_are_all_allowed)
    case('latches_work_with_what_is_said_of_them', latches_work)
    case('limiters_may_be_used_and_nothing_else', limiters_are_named)
    print(f'1..{len(results)}')
    for number, (name, fault) in enumerate(results, 1):
        print(f"{'not ok' if fault else 'ok'} {number} - {name}")
        for line in fault.splitlines():
            print(f'# {line}')
    return 1 if any(fault for _, fault in results) else 0


def write(root, dibs):
    path = os.path.join(root, 'SECURITY.md')
    with open(path, encoding='utf-8') as page:
        text = page.read()
    for command, words in blocks(root):
        done = subprocess.run([dibs, *shlex.split(command)[1:]], text=True, check=True,
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        line = textwrap.fill(done.stdout.strip(), 86, subsequent_indent='    ',
                             break_long_words=False, break_on_hyphens=False)
        text = re.sub('^\\$ ' + re.escape(command) + r'\nACL SETUSER (?:.|\n)*?^```',
                      lambda _: f'$ {command}\n{line}\n```', text, flags=re.M)
    with open(path, 'w', encoding='utf-8') as page:
        page.write(text)
    return 0


def main():
    if '--inside' in sys.argv:
        return inside(*sys.argv[1:3])
    root, dibs = sys.argv[1:3]
    dibs = os.path.abspath(dibs)
    if '--write' in sys.argv:
        return write(root, dibs)
    return subprocess.run([dibs, 'sandbox', '--', sys.executable, os.path.abspath(__file__),
                           root, dibs, '--inside'], stdin=subprocess.DEVNULL).returncode


if __name__ == '__main__':
    sys.exit(main())
