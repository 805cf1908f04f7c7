# SPDX-License-Identifier: MIT
"""test_lock.py - locks of the blocking client, on a real server."""
import signal
import subprocess
import sys
import threading

import pytest

import dibs
import harness

QUIET = ('-W', 'ignore::DeprecationWarning')    # of fork() beside threads, since 3.12
PROGRAM = 'import dibs, os, sys, signal, threading\nclient = dibs.Client(sys.argv[1])\n'


def run(server, text):
    """The exit status and the output of another Python program."""
    return subprocess.run([sys.executable, *QUIET, '-c', PROGRAM + text, server.url], timeout=20,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_block_holds_and_releases(client, other, name):
    with client.lock(name, wait=5, ttl=30) as hold:
        assert hold.is_held and 0 < hold.valid_for <= 30 and hold.names == [name.encode()]
        assert hold.why == ''
        with pytest.raises(dibs.Busy):
            other.lock(name).try_acquire()
    assert not hold.is_held
    other.lock(name).try_acquire().release()


def test_the_fence_increases(client, other, name):
    with client.lock(name) as first:
        pass
    with other.lock(name) as second:
        assert second.fence > first.fence > 0


def test_a_wait_that_is_over_is_timed_out(client, other, name):
    other.ping()                                # or a short wait may end without a connection
    with client.lock(name):
        for attempt in (lambda: other.lock(name, wait=1).acquire(),
                        lambda: other.lock(name, wait=0).acquire()):
            with pytest.raises(dibs.TimedOut) as raised:
                attempt()
            assert isinstance(raised.value, TimeoutError) and raised.value.is_retriable


def test_a_waiter_of_a_thread_gets_the_lock(client, other, name):
    fences = []

    def work():
        with other.lock(name, wait=10) as hold:
            fences.append(hold.fence)

    with client.lock(name) as hold:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        harness.until(lambda: other.stats()['waiting'] == 4, 'four threads wait')
        assert not fences
    for thread in threads:
        thread.join(10)
    assert len(fences) == 4 and fences == sorted(fences) and fences[0] > hold.fence


def test_a_waiter_of_the_main_thread_gets_the_lock(client, other, name):
    hold = other.lock(name).acquire()

    def release():
        harness.until(lambda: client.stats()['waiting'] == 1, 'the main thread waits')
        hold.release()

    thread = threading.Thread(target=release)
    thread.start()
    for _ in range(2):                       # the second call finds it free
        with client.lock(name, wait=15) as mine:
            assert mine.fence > hold.fence
    thread.join(10)


def test_a_signal_between_grant_and_hold_releases(client, other, name, monkeypatch):
    def interrupted(handle, watch):
        raise KeyboardInterrupt

    monkeypatch.setattr('dibs.lock.Lock._kind', staticmethod(interrupted))
    for acquire in (client.lock(name).acquire, client.lock(name).try_acquire):
        with pytest.raises(KeyboardInterrupt):
            acquire()
    monkeypatch.undo()
    other.lock(name).try_acquire().release()


def test_a_thread_may_enter_again_and_another_may_not(client, name):
    lock = client.lock(name, wait=0)
    refused = []

    def enter():
        try:
            lock.acquire()
        except dibs.TimedOut as error:
            refused.append(error)

    with lock as outer, lock as inner:
        assert inner.fence == outer.fence and outer.depth == 2
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join(10)
    assert len(refused) == 1


def in_thread(call):
    """What it returns, in a thread of its own."""
    got = []
    thread = threading.Thread(target=lambda: got.append(call()))
    thread.start()
    thread.join(10)
    return got[0]


def test_a_generator_that_ends_in_another_thread_releases(client, other, name):
    """As a dependency of FastAPI does. A thread leaves its own block first, of the same object."""
    client.semaphore(name).set(3)
    permits = client.semaphore(name).permits()

    def entered():
        with permits as hold:
            yield hold

    generators = [entered(), entered()]
    first = in_thread(lambda: next(generators[0]))
    with permits as mine:
        second = in_thread(lambda: next(generators[1]))
    assert [hold.is_held for hold in (first, mine, second)] == [True, False, True]
    in_thread(generators[0].close)
    assert [hold.is_held for hold in (first, second)] == [False, True]
    generators[1].close()
    other.semaphore(name).permits(3).try_acquire().release()
    with pytest.raises(RuntimeError, match='not entered'):
        permits.__exit__(None, None, None)


def test_calls_of_one_lock_have_options_of_their_own(client, other, name):
    """Also threads that wait at the same time. A call that has returned leaves its copy to the next."""
    lock, holds = client.lock(name, wait=20), []

    def work():
        with lock as hold:
            holds.append((hold._watch.number, hold.depth))

    with other.lock(name):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        harness.until(lambda: client.stats()['waiting'] == 4, 'all wait')
        assert not lock._options._unused
    for thread in threads:
        thread.join(20)
    assert len(set(holds)) == 4 and {depth for _, depth in holds} == {1}
    assert len(lock._options._unused) == 4
    first = lock.acquire()
    with first, lock as second:
        assert second.depth == 2
    third = lock.acquire()
    other.break_lock(name, other.inspect(name).holders[0].lease)
    assert third.lost.wait(20) and not first.lost.is_set() and not second.lost.is_set()
    assert len(lock._options._unused) == 4


def test_a_loss_is_reported_and_leaving_raises_lost(own_server, name):
    losses = []
    with dibs.Client(own_server.url) as client, dibs.Client(own_server.url) as breaker:
        with pytest.raises(dibs.Lost):
            with client.lock(name, ttl=0.4, on_lost=losses.append) as hold:
                breaker.ping()
                own_server.ask('FLUSHALL')
                assert hold.lost.wait(10)
        assert [loss.name for loss in losses] == [name.encode()] and losses[0].reason
        assert not hold.is_held


def test_the_end_of_a_lease_is_reported_before(client, name):
    changes = []
    hold = client.lock(name, ttl=0.6, fixed=True, warn=0.4, on_change=changes.append).acquire()
    assert hold.lost.wait(10)
    with pytest.raises(dibs.Lost):
        hold.release()
    assert [change.why for change in changes][-1] == 'lost' and changes[-1].valid_for == 0
    assert len(changes) == 1 or (changes[0].why == 'ends_soon' and changes[0].valid_for <= 0.4)


def test_an_exception_of_the_block_is_not_replaced(own_server, name):
    with dibs.Client(own_server.url) as client:
        with pytest.raises(KeyError):
            with client.lock(name, ttl=0.4) as hold:
                own_server.ask('FLUSHALL')
                assert hold.lost.wait(10)
                raise KeyError(name)


def test_no_server_is_unreachable_and_names_it(tmp_path):
    with dibs.Client('unix://%s/none' % tmp_path, connect_timeout=0.1) as client:
        with pytest.raises(dibs.Unreachable) as raised:
            client.lock('x', wait=5).acquire()
        assert isinstance(raised.value, ConnectionError)
        assert 'none' in raised.value.server + raised.value.text


def test_a_wait_out_of_range_is_refused_also_where_the_lock_is_free(client, name):
    assert client.ping() > 0                    # connected: the first request would not wait
    for wait in (-1, -0.5):
        with pytest.raises(dibs.ArgumentError, match='wait_ms'):
            client.lock(name, wait=wait).acquire()
    with pytest.raises(dibs.ArgumentError, match='wait is 1000000000.0 s; allowed'):
        client.lock(name, wait=1e9)
    for wait in (float('inf'), float('nan')):
        with pytest.raises(dibs.ArgumentError, match='is not a number of seconds'):
            client.lock(name, wait=wait)


@pytest.mark.limit(20)
def test_a_wait_ends_in_time_though_the_server_stands_still(own_server, name):
    with dibs.Client(own_server.url, connect_timeout=25) as client:
        client.ping()
        own_server.pause()
        try:
            with pytest.raises((dibs.Unknown, dibs.Unreachable)):
                client.lock(name, wait=0.2).acquire()
        finally:
            own_server.resume()


def test_wrong_values_have_exceptions(client, name):
    with pytest.raises(dibs.ConfigError):
        dibs.Client('nonsense://x')
    with pytest.raises(dibs.ArgumentError):
        client.lock(name, ttl=-1).acquire()
    with pytest.raises(dibs.ArgumentError, match='a.*zero byte'):
        client.lock('a\0b')
    with pytest.raises(TypeError, match='colour'):
        dibs.Client(client.url, colour='red')
    with pytest.raises(ValueError, match='dialect'):
        dibs.Client(client.url, dialect='latin')


def test_a_released_hold_and_a_closed_client_are_stale(server, name):
    with dibs.Client(server.url) as client:
        hold = client.lock(name).acquire()
        hold.release()
        with pytest.raises(dibs.Stale):
            hold.release()
    with pytest.raises(dibs.Stale):
        client.lock(name).try_acquire()
    assert 'closed' in repr(client)
    client.close()


def test_close_ends_the_waits_of_other_threads(server, client, name):
    ended = []
    other = dibs.Client(server.url)

    def wait():
        try:
            other.lock(name).acquire()
        except dibs.Error as error:
            ended.append(error)

    with client.lock(name):
        thread = threading.Thread(target=wait)
        thread.start()
        harness.until(lambda: other.stats()['waiting'] == 1, 'the thread waits')
        other.close()
        thread.join(10)
    assert [type(error) for error in ended] == [dibs.Closed]


def test_sigint_ends_a_wait_and_leaves_no_queue_entry(client, name, server):
    with client.lock(name):
        waiter = subprocess.Popen(
            [sys.executable, '-c', PROGRAM + '''
signal.signal(signal.SIGINT, signal.default_int_handler)
def report():
    while client.stats()['waiting'] == 0:
        threading.Event().wait(0.005)
    print('waits', flush=True)
threading.Thread(target=report, daemon=True).start()
try:
    client.lock(%r).acquire()
except KeyboardInterrupt:
    print('interrupted', client.stats()['waiting'])
''' % name, server.url], stdout=subprocess.PIPE, text=True)
        assert waiter.stdout.readline() == 'waits\n'
        waiter.send_signal(signal.SIGINT)
        assert waiter.communicate(timeout=10)[0] == 'interrupted 0\n'
    client.lock(name).try_acquire().release()


def test_a_forked_child_gets_an_error_and_the_parent_keeps_its_hold(server, name):
    done = run(server, '''
hold = client.lock(%r).acquire()
child = os.fork()
if child == 0:
    for call in (hold.release, client.ping, lambda: client.lock('y').acquire()):
        try:
            call()
            os._exit(1)
        except dibs.Forked:
            pass
    client.close()
    with dibs.Client(sys.argv[1]) as own:
        try:
            own.lock(%r).try_acquire()
            os._exit(2)
        except dibs.Busy:
            os._exit(0)
print(os.waitpid(child, 0)[1], hold.is_held)
hold.release()
''' % (name, name))
    assert (done.returncode, done.stdout) == (0, '0 True\n')


def test_the_end_of_the_interpreter_releases(client, server, name):
    done = run(server, 'hold = client.lock(%r, ttl=60).acquire()\nprint(hold.fence > 0)' % name)
    assert (done.returncode, done.stdout) == (0, 'True\n')
    client.lock(name).try_acquire().release()


def test_readers_share_and_a_writer_does_not(client, other, server, name):
    with dibs.Client(server.url) as third:
        with client.read_lock(name), other.read_lock(name):
            with pytest.raises(dibs.Busy):
                third.write_lock(name).try_acquire()
        with third.write_lock(name):
            with pytest.raises(dibs.Busy):
                client.read_lock(name).try_acquire()


def test_many_are_held_together(client, other, name):
    names = [name + '.b', name + '.a']
    with client.lock_many(names) as hold:
        assert hold.names == sorted(n.encode() for n in names)
        with pytest.raises(dibs.Busy):
            other.lock(names[0]).try_acquire()


def test_a_semaphore_has_as_many_holders_as_permits(client, other, name):
    mine, theirs = client.semaphore(name), other.semaphore(name)
    with pytest.raises(dibs.NotSet):
        mine.permits().acquire()
    mine.set(3)
    assert theirs.set_if_absent(7) == 3
    with mine.permits(2) as two, theirs.permits() as one:
        assert (two.units, one.units) == (2, 1)
        with pytest.raises(dibs.Busy):
            theirs.permits().try_acquire()
        with pytest.raises(dibs.Busy):
            mine.delete()
        with pytest.raises(dibs.TimedOut):
            theirs.permits(2, wait=0.2).acquire()
    theirs.permits(3).try_acquire().release()
    for count in (0, -1, 4):
        with pytest.raises(dibs.ArgumentError):
            mine.permits(count).try_acquire()
    mine.delete()
    with pytest.raises(dibs.NotSet):
        theirs.permits().try_acquire()


def test_a_dialect_is_an_option(server, name):
    with dibs.Client(server.url, dialect='plain') as client:
        with client.lock(name, ttl=30):
            assert server.ask('EXISTS', name).startswith(':1')


def test_many_cycles_leave_nothing(client, name):
    from dibs import callbacks
    before = len(callbacks._receivers)
    for _ in range(500):
        with client.lock(name):
            pass
    assert len(callbacks._receivers) == before and client.stats()['holds'] == 0
