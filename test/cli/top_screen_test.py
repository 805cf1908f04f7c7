#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The screen of dibs top on a real terminal: tmux runs it and says what is there.

With SCREENSHOTS=DIRECTORY the shop's screens are also written there (tools/screenshots)."""
import json
import os
import shutil
import subprocess

from harness import *  # noqa
import harness


class _Screen:
    """A bash in tmux; text() is what a person sees."""

    def __init__(self, lines=24, columns=110, **env):
        self.directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
        self.socket = os.path.join(self.directory, 't')
        self.env = environment(HISTFILE='/dev/null', **env)
        self.env.pop('TMUX', None)
        self._tmux('-f', '/dev/null', 'new-session', '-d', '-x', str(columns), '-y', str(lines),
                   'exec env PS1="$ " bash --norc --noprofile')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # What runs ends before its terminal does: the SIGCONT of that hang-up can make
        # LeakSanitizer wait for ever at the end of any program.
        try:
            self.type('C-c')
            until(lambda: self._tmux('display', '-p', '#{pane_current_command}') == 'bash\n',
                  'the end of what ran')
        finally:
            self._tmux('kill-server')
            shutil.rmtree(self.directory, ignore_errors=True)

    def _tmux(self, *words):
        done = subprocess.run(['tmux', '-S', self.socket, *words], env=self.env, text=True,
                              capture_output=True, timeout=PATIENCE)
        equal(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def text(self, *more):
        return self._tmux('capture-pane', '-p', *more)

    def sees(self, *parts):
        try:
            return until(lambda: (lambda t: all(p in t for p in parts) and t)(self.text()),
                         repr(parts))
        except AssertionError as never:
            raise AssertionError('%s; seen:\n%s' % (never, self.text()))

    def type(self, *keys):
        self._tmux('send-keys', *keys)

    def run(self, *words):
        self.type(' '.join(['"$DIBS"', 'top', *words]), 'Enter')

    def size(self, lines, columns):
        self._tmux('resize-window', '-x', str(columns), '-y', str(lines))


def _has_screen():
    terminal = Terminal(DIBS, 'top', '-u', 'unix:///nowhere', '--connect-timeout', '100ms',
                        env={'TERM': 'dumb'})
    terminal.end()
    return shutil.which('tmux') and 'without ncurses' not in terminal.seen


def it_shows_what_is_held_and_leaves_the_terminal_as_it_was():
    held = holder('top:held')
    with _Screen() as screen:
        screen.type('stty -a >before', 'Enter')
        screen.run('-i', '200ms')
        screen.sees('dibs top  1 server ok', '1 held  0 waiting', 'top:held  lock',
                    '(%d "cat")' % held.pid)
        waiter = start('run', 'top:held', '--', 'true')
        screen.sees('1 held  1 waiting')
        late = holder('top:late')
        screen.sees('2 held', 'top:late')
        end_holder(late)
        screen.sees('1 held')
        lacks(screen.text(), 'top:late')
        waiter.terminate()
        finish(waiter)
        screen.type('q')
        screen.type('stty -a | cmp - before && echo as it w"as"; rm before', 'Enter')
        lacks(screen.sees('as it was'), 'q quit')
    end_holder(held)


def one_name_has_its_queue_and_what_its_holder_waits_for():
    outer = holder('top:outer')
    inner = start('run', 'top:inner', '--', DIBS, 'run', 'top:outer', '--', 'true')
    until_waiting('top:outer')
    waiter = start('run', 'top:inner', '--', 'true')
    until_waiting('top:inner')
    with _Screen(columns=150) as screen:
        screen.run('-i', '200ms', '--sort', 'name')
        screen.sees('top:inner  lock')
        screen.type('Enter')
        screen.sees('held by', '(pid %d' % inner.pid, '1. ', '(pid %d' % waiter.pid,
                    'its command', 'waits for top:outer')
        screen.type('q')
        screen.sees('q quit', 'top:inner  lock')
        screen.type('/', 'outer', 'Enter', 'Enter')          # as fast as they are typed ahead
        screen.sees('top:outer', 'held by', '(pid %d' % outer.pid)
        screen.type('q')
        screen.sees('1 name with "outer"')
        lacks(screen.text(), 'top:inner')
        screen.type('Escape')
        screen.sees('top:inner')
        screen.type('?')
        screen.sees('Yellow')
        screen.type('q', 'q')
    end_holder(outer)
    finish(inner)
    finish(waiter)


def a_name_shows_how_often_its_lease_was_renewed():
    token = dibs('acquire', '--no-renew', '-t', '60s', 'top:renewed').out.strip()
    equal(dibs('renew', '-t', '60s', token).code, 0)
    with _Screen(columns=150) as screen:
        screen.run('-i', '200ms')
        screen.sees('top:renewed  lock')
        screen.type('Enter')
        screen.sees('renewed 1 time, fence')
        screen.type('q', 'q')
    equal(dibs('release', token).code, 0)


def a_lock_is_broken_after_yes():
    held = holder('top:break')
    with _Screen() as screen:
        screen.run('-i', '200ms')
        screen.sees('top:break  lock')
        screen.type('b', 'y', 'Enter')
        screen.sees('nothing was broken')
        assert is_held('top:break')
        screen.type('b')
        screen.sees('type yes to break top:break')
        screen.type('yes', 'Enter')
        screen.sees('broke top:break (fence')
        until(lambda: not is_held('top:break'), 'free')
        screen.type('q')
    held.stdin.close()
    held.stdin = None
    equal(finish(held).code, 79)


def _picture(screen, name):
    place = os.environ.get('SCREENSHOTS')
    if place:
        until(lambda: re.search(r'(cat"\) +|for )[3-9]\.\ds', screen.text()), 'held for seconds')
        with open(os.path.join(place, name + '.terminal'), 'w', encoding='utf-8') as file:
            file.write(screen.text('-e'))


def a_shop_at_work():
    """Several kinds on one screen, and the queue of one name."""
    held = [holder('orders:42'), holder('render', '-j', '4', '--take', '4'),
            holder('stock:7', '--write'), holder('report:daily', '-t', '1h')]
    waiting = [start('run', *words, '--', 'true') for words in (
        ['orders:42'], ['orders:42'], ['orders:42'], ['-s', 'stock:7'], ['-j', '4', 'render'])]
    for name, count in (('orders:42', 3), ('stock:7', 1), ('render', 1)):
        until_waiting(name, count)
    with _Screen(lines=10, columns=112) as screen:
        screen.run('-i', '200ms')
        screen.sees('4 held  5 waiting', 'orders:42', 'render', 'stock:7', 'report:daily', 'q quit')
        _picture(screen, 'top')
        screen.type('/', 'orders', 'Enter', 'Enter')
        screen.sees('held by', '1. ', '2. ', '3. ')
        _picture(screen, 'top-name')
        screen.type('q', 'q')
    for process in held:
        end_holder(process)
    for process in waiting:
        finish(process)


def sizes_and_stops():
    held = holder('top:sized')
    with _Screen() as screen:
        screen.run('-i', '200ms')
        screen.sees('top:sized  lock')
        screen.size(6, 20)
        text = screen.sees('top:sized')
        equal(max(len(line) for line in text.splitlines()) <= 20, True, text)
        for lines, columns in ((1, 1), (2, 5), (3, 300), (24, 100)):
            screen.size(lines, columns)
        screen.sees('top:sized  lock', 'q quit')
        screen.type('C-z')
        screen.sees('Stopped')
        screen.type('echo the sh"ell"; fg', 'Enter')
        screen.sees('1 held', 'q quit')
        screen.type('C-c')
        screen.type('echo code $?', 'Enter')
        screen.sees('code 130')
        screen.run('& sleep 0.2; jobs; fg')
        screen.sees('1 held', 'q quit')
        screen.type('q')
    end_holder(held)


def a_recording_is_played_and_stepped_through():
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'r')
        held = holder('rec:one')
        with _Screen() as screen:
            screen.run('-i', '200ms', '--record', path)
            until(lambda: os.path.exists(path) and 'rec:one' in read(path), 'recorded')
            end_holder(held)
            screen.sees('0 held')
            held = holder('rec:two')
            screen.sees('rec:two')
            screen.type('q')
            until(lambda: '$ ' in screen.text(), 'the shell')
            end_holder(held)
            screen.run('-i', '200ms', '--replay', path)
            screen.sees('rec:two', 'paused')                    # at its end
            screen.type('b')
            screen.sees('this is a recording')
            screen.type('[')
            screen.sees('reading 1 of', 'rec:one')
            screen.type('Right')
            screen.sees('reading 2 of')
            screen.type('[', 'g', 'noon', 'Enter')
            screen.sees('"noon" is not HH:MM, HH:MM:SS or YYYY-MM-DD HH:MM', 'rec:one')
            screen.type('g', '23:59', 'Enter')
            screen.sees('rec:two', 'the recording ends before 23:59: this is its last reading')
            screen.type('q')
            until(lambda: '$ ' in screen.text(), 'the shell')
            screen.run('--replay', path, '--at', '23:59')
            screen.sees('rec:two', 'the recording ends before 23:59: this is its last reading')
            screen.type('q')
        with open(path, 'a') as f:
            f.write('{"v":1\n')
        with _Screen() as screen:
            screen.run('-i', '200ms', '--replay', path)
            screen.sees('is damaged')
            screen.type('q')


def names_are_harmless_in_any_locale():
    names = ['evil:\x1b]0;title\x07\x1b[2J', 'gr\u00fc\u00dfe', '\u65e5\u672c\u8a9e']
    tokens = [dibs('acquire', '--no-renew', name).out.strip() for name in names]
    with _Screen() as screen:
        screen.run()
        screen.sees('evil:\\x1b]0;title\\x07\\x1b[2J  lock', *names[1:], 'dibs top  1 server ok')
        screen.type('q')
    with _Screen(LC_ALL='C') as screen:
        screen.run()
        screen.sees('gr??e ', '??? ', '\\x1b[2J')
        screen.type('q')
    for token in tokens:
        dibs('release', token)


def a_server_that_stops_and_comes_back():
    token = dibs('acquire', '--no-renew', 'top:outage').out.strip()
    with _Screen() as screen:
        screen.run('-i', '200ms')
        screen.sees('top:outage  lock')
        harness.server.pause()
        screen.sees('NO READING', 'no reading for', 'top:outage')
        harness.server.resume()
        screen.sees('dibs top  1 server ok')
        harness.server.restart()
        until(harness.server._answers, 'answers')
        screen.sees('0 held')
        screen.type('q')
    del token


def a_server_of_a_quorum_that_is_down_is_named():
    servers = [Server() for _ in range(3)]
    url = ' '.join(server.url for server in servers)
    try:
        with _Screen(columns=160, DIBS_URL=url) as screen:
            screen.run('-i', '200ms')
            screen.sees('dibs top  3 servers ok  0 held')
            servers[1].process.kill()
            seen = screen.sees('2 of 3 servers ok, not ')
            contains(seen, 'not ' + servers[1].url)
            servers[1].restart()
            screen.sees('dibs top  3 servers ok')
            screen.type('q')
        done = dibs('top', '--json', '-u', url)
        equal([json.loads(done.out)[key] for key in ('servers', 'servers_down', 'server_down')],
              [3, 0, None])
    finally:
        for server in servers:
            server.stop()


def a_node_of_a_cluster_that_is_down_is_named():
    cluster = Sandbox('--cluster', '3')
    try:
        with _Screen(columns=160, DIBS_URL=cluster.url) as screen:
            screen.run('-i', '200ms')
            screen.sees('dibs top  3 servers ok  0 held')
            cluster.servers[2].stop()
            # As long as the others wait for it, and when they have left it out.
            screen.sees('NO READING', '2 of 3 servers ok, not ' + cluster.servers[2].url)
            screen.sees('NO READING', 'no node of the Cluster serves',
                        '2 of 3 servers ok, not ' + cluster.servers[2].url)
            screen.type('q')
    finally:
        cluster.stop()


def a_user_without_rights_sees_why():
    harness.server.ask('ACL', 'SETUSER', 'none', 'reset', 'on', '>none', '+ping', '+auth',
                       '+client')
    with _Screen(DIBS_URL='unix://none:none@' + harness.server.socket) as screen:
        screen.run()
        screen.sees('NO READING', 'no reading: ', 'permission')
        screen.type('q')


def colours_say_what_is_late_unless_they_are_off():
    for env in ({}, {'NO_COLOR': '1'}):
        token = dibs('acquire', '--no-renew', '-t', '9s', 'top:colour').out.strip()
        with _Screen(**env) as screen:
            screen.run('-i', '100ms')
            until(lambda: re.search(r' 2\.\ds +0 +-', screen.text()), 'little is left of the lease')
            equal(bool(re.search(r'\x1b\[[\d;]*33m', screen.text('-e'))), not env, env)
            screen.type('q')
        dibs('release', token)


def without_a_screen_it_is_one_table():
    token = dibs('acquire', '--no-renew', 'top:plain').out.strip()
    for words, env in (((), {'TERM': 'dumb'}), ((), {'TERM': 'none'}), (('--once',), {})):
        terminal = Terminal(DIBS, 'top', *words, env=env)
        equal(terminal.end(), 0)
        contains(terminal.seen, '1 held   0 waiting')
        equal('has no screen' in terminal.seen, not words, terminal.seen)
        lacks(terminal.seen, '\x1b')
    dibs('release', token)


if _has_screen():
    tests(dict(globals()))
else:
    print('1..0 # SKIP tmux and a dibs with ncurses are needed')
