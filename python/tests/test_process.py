# SPDX-License-Identifier: MIT
"""test_process.py - signals, fork, multiprocessing, the end of the interpreter, growth, and the
command beside Python."""
import asyncio
import itertools
import os
import re
import shutil
import signal
import socketserver
import subprocess
import sys
import threading

import pytest

import dibs
import dibs.aio
import harness

CYCLES = int(os.environ.get('DIBS_TEST_CYCLES', 3000))


def test_sigint_ends_each_wait_and_leaves_no_queue_entry(client, name, start):
    """One interpreter, one wait after the other."""
    client.semaphore(name + '.s').set(1)
    client.latch(name + '.l').set(1)
    client.rate_limiter(name + '.r').set(1, 3600)
    client.rate_limiter(name + '.r').acquire()
    holds = [client.lock(name).acquire(), client.write_lock(name + '.w').acquire(),
             client.semaphore(name + '.s').permits().acquire()]
    waiter = start('''
signal.signal(signal.SIGINT, signal.default_int_handler)
client = dibs.Client(URL)
barrier, limiter = client.barrier(NAME + '.b', 2), client.rate_limiter(NAME + '.r')
waits = [client.lock(NAME).acquire, client.read_lock(NAME + '.w').acquire,
         client.lock_many([NAME, NAME + '.x']).acquire, client.election(NAME).campaign().acquire,
         client.semaphore(NAME + '.s').permits().acquire, client.latch(NAME + '.l').wait,
         barrier.wait, limiter.acquire, client.list(NAME + '.q').take]
for wait in waits:
    asked = client.stats()['commands']
    def report():
        while client.stats()['commands'] == asked:
            threading.Event().wait(0.002)
        print('waits', flush=True)
    try:        # the command that is counted may be the cancel of the wait before
        threading.Thread(target=report).start()
        print('ended', wait())
    except KeyboardInterrupt:
        print('interrupted', client.stats()['waiting'], flush=True)
''')

    def queued(kind):
        return lambda: client.inspect(kind).waiter_count == 1

    def arrived():
        try:
            return client.barrier(name + '.b', 2).get().arrived == 1
        except dibs.NotSet:
            return False

    asks = [lambda: True] * 9
    asks[0], asks[1], asks[4], asks[6] = queued(name), queued(name + '.w'), queued(name + '.s'), arrived
    for is_there in asks:
        assert waiter.stdout.readline() == 'waits\n'
        harness.until(is_there, 'the request is on the server')
        waiter.send_signal(signal.SIGINT)
        assert waiter.stdout.readline() == 'interrupted 0\n'
    assert waiter.wait(10) == 0
    for kind in (name, name + '.w', name + '.s'):
        harness.until(lambda: client.inspect(kind).waiter_count == 0, 'the queue is empty')
    assert client.barrier(name + '.b', 2).get().is_broken
    for hold in holds:
        hold.release()


def interrupted_at(number, body, without, *files):
    """Ctrl-C where CPython looks for signals in this package, or these `files`, for the `number`th
    time: at the entry of a function, and after one of C. Whether there is such a place; False
    `without` it."""
    package, seen, places = (os.path.dirname(dibs.__file__), *files), itertools.count(1), []

    def profile(frame, event, arg):
        if (event in ('call', 'c_return') and frame.f_code.co_filename.startswith(package)
                and next(seen) == number):
            places.append(event == 'call' and frame.f_code.co_name)
            if places[0] not in without:
                raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        body()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return bool(places)


def test_an_interruption_at_any_place_of_a_wait_ends_it(client, other, name):
    """The thread that brings the result does not wait for a lock of the thread that waited."""
    waiting, number = client.lock(name, wait=0.02), 1
    with other.lock(name):
        while interrupted_at(number, lambda: ended_by(waiting.acquire), [], threading.__file__):
            number += 1
    assert number > 20
    waiting.acquire().release()


def ended_by(acquire):
    with pytest.raises(dibs.TimedOut):
        acquire()


@pytest.mark.parametrize('kind', ['of the block', 'as', 'kept', 'hold'])
def test_an_interruption_at_any_place_of_a_block_leaves_no_lock(client, other, name, kind):
    """At the first instruction of __exit__() no code of ours has begun: the block has the only
    reference to the lock object, and its end releases, though `as` keeps the hold."""
    kept, holds = client.lock(name), [None]
    client.ping()

    def block():
        with client.lock(name) if kind == 'of the block' else kept:
            pass

    def named():
        with client.lock(name) as holds[0]:
            pass

    def hold():
        with kept.acquire():
            pass

    without = {'of the block': [], 'as': [], 'kept': ['__exit__'],
               'hold': ['__enter__', '_begin_block']}
    body, number = {'as': named, 'hold': hold}.get(kind, block), 1
    while interrupted_at(number, body, without[kind]):
        harness.until(lambda: not client.names(), 'it is released')
        number += 1
    assert number > 20
    other.lock(name).try_acquire().release()


PROCESSES = """
import multiprocessing, sys
import dibs
def work(url, name, count):
    with dibs.Client(url) as client:
        for _ in range(20):
            with client.lock(name):
                count.value += 1
if __name__ == '__main__':
    method, url, name = sys.argv[1:]
    context = multiprocessing.get_context(method)
    parent = dibs.Client(url)
    hold = parent.lock(name).acquire()
    count = context.Value('i', 0, lock=False)
    processes = [context.Process(target=work, args=(url, name, count)) for _ in range(3)]
    for process in processes: process.start()
    hold.release()
    for process in processes: process.join(20)
    print([process.exitcode for process in processes], count.value)
"""


@pytest.mark.parametrize('method', ['fork', 'spawn', 'forkserver'])
def test_processes_of_multiprocessing_take_turns(server, name, tmp_path, method):
    program = tmp_path / 'program.py'
    program.write_text(PROCESSES)
    done = subprocess.run(
        [sys.executable, '-W', 'ignore::DeprecationWarning', str(program), method, server.url,
         name], timeout=25, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (done.returncode, done.stdout) == (0, '[0, 0, 0] 60\n')


def test_a_client_cannot_be_pickled(client):
    import pickle
    with pytest.raises(TypeError, match='belongs to its process'):
        pickle.dumps(client)


def test_a_fork_while_threads_wait_harms_neither(run):
    done = run('''
client = dibs.Client(URL)
hold = client.lock(NAME).acquire()
ends = []
def wait():
    with client.lock(NAME):
        ends.append(1)
threads = [threading.Thread(target=wait) for _ in range(4)]
for thread in threads: thread.start()
while client.stats()['waiting'] < 4: time.sleep(0.005)
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        try:
            hold.release()
        except dibs.Forked as error:
            with dibs.Client(URL) as own:
                try:
                    own.lock(NAME).try_acquire()
                except dibs.Busy:
                    os._exit(7 if error.hint else 1)
        os._exit(2)
    children.append(child)
print({os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children})
hold.release()
for thread in threads: thread.join(10)
print(len(ends))
''')
    assert (done.returncode, done.stdout) == (0, '{7}\n4\n')


@pytest.mark.parametrize('end', ['pass', 'sys.exit(0)', 'raise SystemExit'])
def test_the_end_of_the_interpreter_releases_everything(run, client, name, end):
    done = run('''
client = dibs.Client(URL)
client.semaphore(NAME + '.s').set(1)
holds = [client.lock(NAME, on_lost=print).acquire(),
         client.semaphore(NAME + '.s').permits().acquire()]
thread = threading.Thread(target=client.lock(NAME, owned=False).acquire, daemon=True)
thread.start()
while client.stats()['waiting'] == 0: time.sleep(0.005)
observer = client.election(NAME + '.e').observe(lambda leader: None)
''' + end, '-X', 'dev')
    assert done.returncode == 0 and 'Fatal' not in done.stdout and 'ResourceW' not in done.stdout
    client.lock(name, wait=10).acquire().release()
    client.semaphore(name + '.s').permits(wait=10).acquire().release()
    assert client.inspect(name).waiter_count == 0


GROWTH = '''
import gc
from dibs import callbacks
def resident():
    gc.collect()
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
def plain(count):
    for _ in range(count):
        with client.lock(NAME) as hold:
            hold.fence
async def looped(count):
    async with dibs.aio.Client(URL) as own:
        for _ in range(count):
            async with own.lock(NAME) as hold:
                hold.fence
client = dibs.Client(URL)
plain(500), asyncio.run(looped(500))
before, receivers = resident(), len(callbacks._receivers)
plain(%d), asyncio.run(looped(%d))
print((resident() - before) // 1024, len(callbacks._receivers) - receivers)
'''


@pytest.mark.limit(max(110, CYCLES // 25))
def test_cycles_leave_no_memory(run):
    """3000 of each kind; 100000 in ./check --all, by DIBS_TEST_CYCLES."""
    done = run(GROWTH % (CYCLES, CYCLES), timeout=max(100, CYCLES // 28))
    assert done.returncode == 0, done.stdout
    grown, receivers = map(int, done.stdout.split())
    assert receivers == 0 and grown < 1024, '%d KiB more after %d cycles' % (grown, CYCLES)


def test_a_machine_without_openssl_gets_a_message(tmp_path):
    """The extension of the wheel is not loaded there: a stand-in says what the loader says."""
    package = tmp_path / 'dibs'
    package.mkdir()
    shutil.copy(dibs.__file__, package)
    (package / '_dibs.py').write_text('raise ImportError("libssl.so.3: cannot open shared object '
                                      'file: No such file or directory")')
    done = subprocess.run([sys.executable, '-c', 'import dibs'], text=True, stderr=subprocess.PIPE,
                          env=dict(os.environ, PYTHONPATH=str(tmp_path)), timeout=25)
    assert done.returncode == 1 and 'libssl.so.3' in done.stderr and 'install it' in done.stderr


class Refuses(socketserver.BaseRequestHandler):
    """A server of another decade: it knows no command that dibs needs."""

    def handle(self):
        while True:
            data = self.request.recv(1 << 16)
            if not data:
                return
            commands = re.findall(rb'^\*[0-9]+\r$', data, re.M)
            self.request.sendall(b'-ERR unknown command\r\n' * len(commands))


@pytest.mark.parametrize('kind', ['plain', 'looped'])
def test_an_old_server_is_an_error_with_its_answer(kind):
    with socketserver.ThreadingTCPServer(('127.0.0.1', 0), Refuses) as old:
        old.daemon_threads = True
        threading.Thread(target=old.serve_forever, daemon=True).start()
        url = 'redis://127.0.0.1:%d' % old.server_address[1]

        async def main():
            async with dibs.aio.Client(url, connect_timeout=2) as client:
                async with client.lock('x', wait=10):
                    pass

        with pytest.raises(dibs.Unsupported, match='refuses .*unknown command') as raised:
            if kind == 'looped':
                asyncio.run(main())
            else:
                with dibs.Client(url, connect_timeout=2) as client:
                    client.lock('x', wait=10).acquire()
        old.shutdown()
    assert url in raised.value.server and not raised.value.is_retriable


@pytest.mark.limit(110)
def test_a_notebook_uses_both_clients(run):
    """Cells of IPython: one loop for all of them; an interrupt is one of the kernel."""
    pytest.importorskip('IPython', reason='IPython is not installed')
    done = run("""
signal.signal(signal.SIGINT, signal.default_int_handler)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def cell(text):
    done = shell.run_cell(text)
    return done.error_before_exec or done.error_in_exec
shell.push({'URL': URL, 'NAME': NAME})
for text in ('import dibs, dibs.aio, threading, signal, os',
             'client = dibs.Client(URL); own = dibs.aio.Client(URL)',
             'hold = await own.lock(NAME, wait=5).acquire()',
             'blocked = client.lock(NAME); blocked',
             'await hold.release()',
             'with client.lock(NAME) as plain: pass',
             'async with own.lock(NAME) as looped: assert looped.fence > plain.fence',
             'client = dibs.Client(URL)',        # run again
             'held = client.lock(NAME).acquire(); other = dibs.Client(URL)'):
    assert cell(text) is None, text
def interrupt():
    while shell.user_ns['other'].stats()['waiting'] == 0: time.sleep(0.005)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
print(type(cell('other.lock(NAME).acquire()')).__name__, type(cell('1 / 0')).__name__)
assert cell('held.release(); other.lock(NAME).try_acquire().release(); await own.close()') is None
""", timeout=100)
    assert done.returncode == 0 and done.stdout.endswith('KeyboardInterrupt ZeroDivisionError\n'), \
        done.stdout


def test_the_command_and_python_take_turns(client, server, name, tmp_path):
    """Ten of each add to one file without a lock of its own."""
    counter = tmp_path / 'count'
    counter.write_text('0')
    script = 'n=$(cat %s); sleep 0.005; echo $((n + 1)) >%s' % (counter, counter)
    if shutil.which(harness.DIBS) is None:
        pytest.skip('the command is not there: DIBS')
    command = subprocess.Popen(
        ['sh', '-c', 'for i in 0 1 2 3 4 5 6 7 8 9; do $DIBS run "$0" -- sh -c "$1" || exit; done',
         name, script], env=dict(os.environ, DIBS=harness.DIBS, DIBS_URL=server.url))
    fences = []
    for _ in range(10):
        with client.lock(name, wait=20) as hold:
            fences.append(hold.fence)
            subprocess.run(['sh', '-c', script], check=True)
    assert command.wait(25) == 0
    assert counter.read_text() == '20\n' and fences == sorted(set(fences))


def test_the_library_of_the_tests_is_that_of_the_tree():
    from dibs import _dibs
    assert os.path.dirname(_dibs.__file__) == os.path.dirname(dibs.__file__)
    assert dibs.__version__ == '0.6.0' and sys.version_info >= (3, 9)
