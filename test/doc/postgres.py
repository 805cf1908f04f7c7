#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The SQL of doc/guide/fencing.md on a real PostgreSQL, where one is installed.

    postgres.py ROOT

Two sessions, one behind the other's uncommitted write: the older fence is refused whoever
comes first. The server listens on a unix socket in a directory of its own only. Speaks TAP.
"""
import ctypes
import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def program(name):
    found = sorted(glob.glob(f'/usr/lib/postgresql/*/bin/{name}'))
    return shutil.which(name) or (found[-1] if found else None)


def die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGQUIT)


class Server:
    """It refuses to run as root; then it runs as the package's user."""

    def __init__(self):
        self.place = tempfile.mkdtemp(prefix='dibs-pg-')
        self.user = 'postgres' if os.getuid() == 0 else None
        if self.user:
            entry = pwd.getpwnam(self.user)
            os.chown(self.place, entry.pw_uid, entry.pw_gid)
        self.data = os.path.join(self.place, 'data')
        self.run([program('initdb'), '-D', self.data, '-A', 'trust', '-U', 'dibs', '-N'])
        self.process = subprocess.Popen(
            [program('postgres'), '-D', self.data, '-k', self.place, '-F',
             '-c', 'listen_addresses='],
            user=self.user, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=self.place, preexec_fn=die_with_parent)
        end = time.monotonic() + 30
        while self.ask('SELECT 1') != '1':
            assert self.process.poll() is None and time.monotonic() < end, 'no server'
            time.sleep(0.02)

    def run(self, words):
        subprocess.run(words, user=self.user, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, cwd=self.place)

    def psql(self):
        return ['psql', '-X', '-q', '-A', '-t', '-h', self.place, '-U', 'dibs', 'postgres']

    def ask(self, query):
        return subprocess.run([*self.psql(), '-c', query], text=True, cwd='/',
                              capture_output=True, stdin=subprocess.DEVNULL).stdout.strip()

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.place, ignore_errors=True)


class Session:
    """One connection; commands are sent, and answered when the server is ready."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [word for word in server.psql() if word != '-q'], text=True, bufsize=1, cwd='/',
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def send(self, command):
        self.process.stdin.write(command + ';\n\\echo ----\n')
        self.process.stdin.flush()

    def answer(self):
        """The last line the server said: UPDATE 1, INSERT 0 0, COMMIT, ..."""
        last = ''
        for line in self.process.stdout:
            if line.strip() == '----':
                return last
            last = line.strip() or last
        raise AssertionError('the session ended')

    def do(self, command):
        self.send(command)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def statements(root):
    """The SQL of the page's section by its first word; the first that begins so."""
    with open(os.path.join(root, 'doc/guide/fencing.md'), encoding='utf-8') as file:
        section = file.read().split('## PostgreSQL', 1)[1]
    blocks = re.findall(r'^```sql\n(.*?)^```$', section, re.M | re.S)
    text = re.sub(r'--.*', '', '\n'.join(blocks))
    found = {}
    for words in (' '.join(part.split()) for part in text.split(';')):
        if words:
            found.setdefault(words.split()[0], words)
    return found


def waits(server):
    """Until some session waits for another's lock."""
    end = time.monotonic() + 30
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    while server.ask(query) != '1':
        assert time.monotonic() < end, 'nobody waits'
        time.sleep(0.01)


def filled(statement, fence):
    return statement.replace('$1', str(fence)).replace('$2', str(fence)).replace('$3', '17')


OLD, NEW = 1843200000000000000, 1843200000000000001


def overtaken(server, statement, first, second):
    """`second` comes while `first` is not committed; what each was answered."""
    one, two = Session(server), Session(server)
    try:
        one.do('BEGIN')
        told = one.do(filled(statement, first))
        two.send(filled(statement, second))
        waits(server)
        one.do('COMMIT')
        return told, two.answer()
    finally:
        one.close()
        two.close()


def cases(server, sql):
    server.ask('CREATE TABLE account (id int PRIMARY KEY, balance bigint)')
    server.ask('INSERT INTO account VALUES (17, 1)')
    server.ask(sql['ALTER'])
    server.ask(sql['CREATE'])

    def check(name, got, wanted):
        return name, '' if got == wanted else f'got {got}, wanted {wanted}'

    def clear():
        server.ask('UPDATE account SET fence = 0')
        server.ask('DELETE FROM lock_fence')

    session = Session(server)
    for word, yes, no in (('UPDATE', 'UPDATE 1', 'UPDATE 0'),
                          ('INSERT', 'INSERT 0 1', 'INSERT 0 0')):
        clear()
        told = [session.do(filled(sql[word], fence)) for fence in (OLD, OLD, NEW, OLD)]
        yield check(f'{word}_refuses_an_older_fence_only', told, [yes, yes, yes, no])
        clear()
        session.do(filled(sql[word], 1))
        yield check(f'{word}_refuses_the_old_behind_an_uncommitted_new',
                    overtaken(server, sql[word], NEW, OLD), (yes, no))
        clear()
        session.do(filled(sql[word], 1))
        yield check(f'{word}_lets_the_new_in_behind_an_uncommitted_old',
                    overtaken(server, sql[word], OLD, NEW), (yes, yes))
    session.do(filled(sql['UPDATE'].replace('<=', '<'), NEW))
    told = session.do(filled(sql['UPDATE'].replace('<=', '<'), NEW))
    yield check('with_less_alone_a_repetition_is_refused', told, 'UPDATE 0')
    session.close()


def main():
    if not (program('postgres') and program('initdb') and shutil.which('psql')):
        print('1..0 # SKIP no PostgreSQL here')
        return 0
    server = Server()
    try:
        results = list(cases(server, statements(sys.argv[1])))
    finally:
        server.close()
    print(f'1..{len(results)}')
    for number, (name, fault) in enumerate(results, 1):
        print(f"{'not ok' if fault else 'ok'} {number} - {name}")
        if fault:
            print(f'# {fault}')
    return 1 if any(fault for _, fault in results) else 0


if __name__ == '__main__':
    sys.exit(main())
