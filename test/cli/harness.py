# SPDX-License-Identifier: MIT
"""Shared by the tests of the command: a server of one's own, the command, a terminal, TAP.

A test is a function whose name states a fact; tests() finds and runs those of its caller.
Nothing here waits without an end: until() polls for a condition and fails loudly."""
import contextlib
import itertools
import ctypes
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unicodedata

DIBS = os.environ.get('DIBS', 'dibs')
PATIENCE = 20.0
PROMISE_BROKEN_EXIT = 86            # test/lib/promise.h

# A test run in the background inherits these as ignored, and its commands would too.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def command_apart():
    """A copy of the command and its libraries in a new directory that all users may read: the build
    may be in a directory of one user. The caller removes it."""
    build, place = os.path.dirname(DIBS), tempfile.mkdtemp(prefix='dibs-cli-test-')
    os.chmod(place, 0o755)
    for name in os.listdir(build):
        path = os.path.join(build, name)
        if name == 'dibs' or re.match(r'libdibs(-tls)?\.so', name) and os.path.isfile(path):
            shutil.copy2(path, place)
    return os.path.join(place, 'dibs')


def server_program():
    """The path of a server program and the name to call it by."""
    named = os.environ.get('DIBS_SERVER')
    if named:
        return named, 'redis-server'
    for name in ('valkey-server', 'redis-server'):
        found = shutil.which(name)
        if found:
            return found, name
    for checker, name in (('valkey-check-rdb', 'valkey-server'),
                          ('redis-check-rdb', 'redis-server')):
        found = shutil.which(checker)
        if found:
            return found, name
    raise SystemExit('Bail out! no server program')


class Server:
    """A real server on a unix socket in a directory of its own. `limit`: the line of `dibs acl`
    for its clients, None: none."""

    def __init__(self, *more, limit=os.environ.get('DIBS_TEST_ACL')):
        self.directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
        self.socket = os.path.join(self.directory, 's')
        self.url = 'unix://' + self.socket
        self._start(*more)
        until(self._answers, 'the server answers')
        if '--requirepass' not in more:
            self._limit(limit)

    def restart(self, *more):
        """With what it saved; it may be loading still when this returns."""
        self.process.kill()
        self.process.wait()
        self._start(*more)
        until(self._listens, 'the server listens')

    def _start(self, *more):
        program, name = server_program()
        self.process = subprocess.Popen(
            [name, '--port', '0', '--unixsocket', self.socket, '--save', '',
             '--appendonly', 'no', '--dir', self.directory, *more],
            executable=program, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=_die_with_parent)
        self.pid = self.process.pid
        self.is_limited = False

    def _listens(self):
        try:
            return self.ask('PING') != ''
        except OSError:
            return False

    def _answers(self):
        try:
            return self.ask('PING').startswith(('+', '-NOAUTH'))
        except OSError:
            return False

    def _limit(self, line):
        """Clients may do just what a line of `dibs acl` says; ask() is somebody else."""
        if not line:
            return
        self.ask('ACL', 'SETUSER', 'tester', 'reset', 'on', '>tester', '~*', '&*', '+@all')
        self.is_limited = True
        words = ['nopass' if w.startswith('>') else w for w in line.split()]
        answer = self.ask(*words)
        if not answer.endswith('+OK\r\n'):
            raise SystemExit('Bail out! DIBS_TEST_ACL: ' + answer)

    def ask(self, *words):
        """One command; the raw answer."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(self.socket)
            if self.is_limited:
                s.sendall(b'*3\r\n$4\r\nAUTH\r\n$6\r\ntester\r\n$6\r\ntester\r\n')
                s.recv(1 << 16)
            parts = ['*%d\r\n' % len(words)]
            parts += ['$%d\r\n%s\r\n' % (len(w.encode()), w) for w in words]
            s.sendall(''.join(parts).encode())
            return s.recv(1 << 16).decode(errors='replace')

    def pause(self):
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: process_state(self.pid) == 'T', 'the server is stopped')

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def paused(self):
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Member(Server):
    """A server of a sandbox; it does not restart."""

    def __init__(self, row, limit):
        self.url, self.socket, self.pid = row['url'], row['socket'], row['pid']
        self.role, self.port, self.log = row['role'], row['port'], row['log']
        self.is_limited = False
        self._limit(limit)

    def stop(self):
        os.kill(self.pid, signal.SIGKILL)
        until(lambda: not is_alive(self.pid), 'the server is gone')


class Sandbox:
    """What `dibs sandbox OPTION...` starts. It ends with stop(), or with this program: the command
    in the sandbox reads from it."""

    def __init__(self, *options, env=None, limit=os.environ.get('DIBS_TEST_ACL')):
        self.process = subprocess.Popen(
            [DIBS, 'sandbox', *options, '--', 'sh', '-c', 'cat "$DIBS_SANDBOX"; exec cat'],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment(**(env or {})))
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit('Bail out! dibs sandbox does not start')
        box = json.loads(line)
        self.url, self.directory = box['url'], box['directory']
        self.servers = [Member(row, limit) for row in box['servers']]

    def stop(self):
        self.process.communicate()


PROXY_NUMBERS = itertools.count()


class Proxy:
    """A second way to a server, whose replies take `delay` seconds more, and which can turn
    into a black hole: bytes go in, none come out, and no connection ends."""

    def __init__(self, behind, delay=0):
        self.behind, self.delay, self.is_hole, self.sockets = behind, delay, False, []
        self.path = os.path.join(behind.directory, 'p%d' % next(PROXY_NUMBERS))
        self.url = 'unix://' + self.path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(near)
            if self.is_hole:
                continue
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.behind.socket)
            self.sockets.append(far)
            for a, b, delay in ((near, far, 0), (far, near, self.delay)):
                threading.Thread(target=self._pump, args=(a, b, delay), daemon=True).start()

    def _pump(self, a, b, delay):
        try:
            while True:
                data = a.recv(65536)
                if self.is_hole:
                    return          # and leaves both ends open
                if not data:
                    b.shutdown(socket.SHUT_WR)
                    return
                time.sleep(delay)
                b.sendall(data)
        except OSError:
            pass

    def hole(self):
        self.is_hole = True

    def stop(self):
        self.listener.close()
        for s in self.sockets:
            s.close()


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __repr__(self):
        return 'code %s after %.2f s\n--- stdout\n%s\n--- stderr\n%s' % (
            self.code, self.seconds, self.out, self.err)


server = None


def environment(**more):
    clean = {k: v for k, v in os.environ.items()
             if k == 'DIBS_SERVER' or not k.startswith('DIBS_')
             and k not in ('VALKEY_URL', 'REDIS_URL', 'REDISCLI_AUTH', 'NOTIFY_SOCKET')}
    if server is not None:
        clean['DIBS_URL'] = server.url
    clean['LC_ALL'] = 'C.UTF-8'
    clean['DIBS'] = DIBS
    clean.update(more)
    return {k: v for k, v in clean.items() if v is not None}


def no_leak_check():
    """Where LeakSanitizer cannot work: it needs a process and a descriptor at the end."""
    return {'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'}


def dibs(*words, program=DIBS, stdin=None, env=None, timeout=PATIENCE, **more):
    """Runs the command to its end."""
    started = time.monotonic()
    done = subprocess.run([program, *words], input=stdin, capture_output=True, text=True,
                          env=environment(**(env or {})), timeout=timeout, **more)
    _note_exit(done.returncode, done.stderr)
    return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - started)


def dibs_with_limit(*words):
    """dibs() with `-w 1s`, and with more while a busy machine answers too late for that: the
    command says 69 then, as it must, whatever the name is."""
    for limit in ('1s', '4s', '16s'):
        done = dibs(*(limit if word == '1s' else word for word in words))
        if done.code != 69:
            break
    return done


_started = []


def start(*words, env=None, **more):
    """Starts the command; killed at the end of the test at the latest."""
    more.setdefault('stdout', subprocess.PIPE)
    more.setdefault('stderr', subprocess.PIPE)
    more.setdefault('stdin', subprocess.DEVNULL)
    process = subprocess.Popen([DIBS, *words], text=True,
                               env=environment(**(env or {})), **more)
    _started.append(process)
    return process


def finish(process, timeout=PATIENCE):
    out, err = process.communicate(timeout=timeout)
    _note_exit(process.returncode, err)
    return Result(process.returncode, out, err, 0.0)


def until(condition, what, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError('never happened: ' + what)
        time.sleep(0.01)


def process_state(pid):
    """'S', 'T', 'Z' ...; None when there is no such process."""
    try:
        with open('/proc/%d/stat' % pid) as f:
            return f.read().rsplit(')', 1)[1].split()[0]
    except OSError:
        return None


def is_alive(pid):
    return process_state(pid) not in (None, 'Z', 'X')


def who(name, **env):
    return json.loads(dibs('who', '--json', name, env=env).out)


def is_held(name):
    return who(name)['state'] == 'held'


def until_held(name):
    until(lambda: is_held(name), name + ' is held')


def until_waiting(name, count=1):
    until(lambda: who(name)['waiter_count'] == count, '%d wait for %s' % (count, name))


def holder(name, *more):
    """Somebody who has the lock until end_holder()."""
    process = start('run', *more, name, '--', 'cat', stdin=subprocess.PIPE)
    until_held(name)
    return process


def end_holder(process):
    process.stdin.close()
    process.stdin = None
    return finish(process)


def guardians(wrapper):
    """The second one of `dibs run`, and the first, which is its child and the command's parent.
    The command may run before both have closed all they need not and wait: the first one reports
    the command before that."""
    pid, found = wrapper, []
    for _ in range(2):
        pid = int(read('/proc/%d/task/%d/children' % (pid, pid)).split()[0])
        found.append(pid)
    until(lambda: all(os.readlink('/proc/%d/cwd' % pid) == '/' and process_state(pid) == 'S'
                      for pid in found),
          'the guardians are ready')
    return found


_directory = None                  # of the files of temporary_file(); tests() removes it


@contextlib.contextmanager
def systemd():
    """Yields the socket that gets what systemd would, and the environment that names it."""
    directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
    path = os.path.join(directory, 'notify')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.settimeout(PATIENCE)
        yield s, {'NOTIFY_SOCKET': path}
    shutil.rmtree(directory)


def temporary_file():
    global _directory
    if _directory is None:
        _directory = tempfile.mkdtemp(prefix='dibs-cli-test-')
    handle, path = tempfile.mkstemp(dir=_directory)
    os.close(handle)
    return path


def preloading(library, **more):
    """The environment of a command that loads a library first, also where ASan wants to be that."""
    return {'LD_PRELOAD': library, **more,
            'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'}


def read(path):
    with open(path) as f:
        return f.read()


def until_text(path, pattern=''):
    return until(lambda: (lambda t: t if t and pattern in t else None)(read(path)),
                 'text in ' + path)


_terminals = []


def fill_pipe(writing):
    """What is written to it from now on blocks."""
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b'x' * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writing, True)


class Terminal:
    """A command with a real terminal of its own, as its session leader."""

    def __init__(self, *words, env=None):
        self.seen = ''
        _terminals.append(self)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            _die_with_parent()
            os.execvpe(words[0], words,
                       environment(**{'TERM': 'xterm', 'PS1': '$ ', **(env or {})}))

    def read_some(self, seconds=0.05):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            self.seen += os.read(self.fd, 65536).decode(errors='replace')
            return True
        except OSError:
            return False

    def expect(self, text, seconds=PATIENCE):
        """Waits for `text`, and forgets everything up to its end."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            if time.monotonic() > deadline:
                raise AssertionError('%r never came; seen: %r' % (text, self.seen))
            self.read_some()
        before, self.seen = self.seen.split(text, 1)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """Waits for its end; returns what subprocess would call its returncode."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.read_some(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                while self.read_some(0):
                    pass
                self.pid = 0
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        raise AssertionError('does not end; seen: %r' % self.seen)

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)
            self.pid = 0


WIDE_NAME = '\u652f\u6255\u3044\u51e6\u7406:\u6771\u4eac\u652f\u5e97:\u591c\u9593\u30d0\u30c3\u30c1'


def cells(text):
    """The columns of a terminal that `text` takes."""
    return sum(2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in text)


def promise_kept(is_kept, *words):
    """What no busy machine is an excuse for, as two holders: the program ends, and does not run
    again (test/lib/promise.h)."""
    if is_kept:
        return
    print('# BROKEN PROMISE: ' + ' '.join(map(str, words)).replace('\n', '\n# '), flush=True)
    if threading.current_thread() is threading.main_thread():
        sys.exit(PROMISE_BROKEN_EXIT)
    os._exit(PROMISE_BROKEN_EXIT)


def _note_exit(code, words):
    """The command ends so if a sanitizer finds something in it."""
    promise_kept(code != PROMISE_BROKEN_EXIT, 'seen by the command:', words)


def refused(got, wanted, about=''):
    """A name that is taken: a code that is not 0, or a tuple that begins with one. Not for
    what only a short lease keeps out."""
    promise_kept((got[0] if isinstance(got, tuple) else got) != 0, 'two have it:', about or got)
    equal(got, wanted, about)


def equal(got, wanted, about=''):
    if got != wanted:
        raise AssertionError('%s\n  got    %r\n  wanted %r' % (about, got, wanted))


def contains(text, part):
    if part not in text:
        raise AssertionError('%r is not in %r' % (part, text))


def messages(done):
    """The lines of stderr, each a JSON object with a version, a kind, a text and a time."""
    rows = [json.loads(line) for line in done.err.splitlines()]
    for row in rows:
        equal(row['v'], 1, row)
        assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', row['time']), row
    return rows


def fault(done):
    """The one error of a command that was called with --json and failed."""
    errors = [row for row in messages(done) if row['event'] == 'error']
    equal(len(errors), 1, done)
    assert errors[0]['text'], done
    return errors[0]


def lacks(text, part):
    if part in text:
        raise AssertionError('%r is in %r' % (part, text))


def _clean_up():
    for terminal in _terminals:
        terminal.kill()
    _terminals.clear()
    for process in _started:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
    codes = [process.returncode for process in _started]
    _started.clear()
    for code in codes:
        _note_exit(code, 'it ran beside')


def tests(names, needs_server=True, server_arguments=()):
    """Runs every function of `names` (globals of the caller) that is written in it."""
    global server
    caller = sys.modules['__main__'].__file__
    chosen = [f for n, f in names.items()
              if callable(f) and getattr(f, '__code__', None)
              and f.__code__.co_filename == caller and not n.startswith('_')]
    if len(sys.argv) > 1:
        chosen = [f for f in chosen if f.__name__ in sys.argv[1:]]
    if needs_server:
        server = Server(*server_arguments)
    try:
        failed = _run(chosen)
    finally:
        if server is not None:
            server.stop()
        if _directory is not None:
            shutil.rmtree(_directory, ignore_errors=True)
    sys.exit(1 if failed else 0)


def _run(chosen):
    failed = 0
    print('1..%d' % len(chosen))
    for number, test in enumerate(chosen, 1):
        try:
            test()
            print('ok %d - %s' % (number, test.__name__), flush=True)
        except Exception:
            failed += 1
            print('not ok %d - %s' % (number, test.__name__))
            for line in traceback.format_exc().splitlines():
                print('# ' + line, flush=True)
        finally:
            _clean_up()
    return failed
