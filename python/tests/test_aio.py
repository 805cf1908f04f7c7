# SPDX-License-Identifier: MIT
"""test_aio.py - the asyncio client, in asyncio's own loop and in uvloop, on a real server."""
import asyncio
import functools
import os
import time

import pytest

import dibs
import dibs.aio
import harness

LOOPS = ['asyncio', 'uvloop']


@pytest.fixture(params=LOOPS)
def play(request):
    """play(main): runs a coroutine in a loop of the kind."""
    if request.param == 'uvloop':
        uvloop = pytest.importorskip('uvloop', reason='uvloop is not installed')
        new_loop = uvloop.new_event_loop
    else:
        new_loop = asyncio.new_event_loop

    def run(main):
        loop = new_loop()
        try:
            return loop.run_until_complete(asyncio.wait_for(main, 25))
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    return run


def with_client(test):
    """A test whose coroutine gets a client of the running loop."""

    @functools.wraps(test)
    def run(play, server, client, name):
        async def main():
            async with dibs.aio.Client(server.url) as own:
                await test(own, client, name)

        play(main())

    del run.__wrapped__
    return run


async def until(condition, what):
    end = time.monotonic() + harness.PATIENCE
    while not condition():
        assert time.monotonic() < end, 'never happened: ' + what
        await asyncio.sleep(0.005)


@with_client
async def test_a_block_holds_and_releases(own, client, name):
    async with own.lock(name, wait=5, ttl=30) as hold:
        assert hold.is_held and hold.fence > 0 and not hold.lost.is_set()
        with pytest.raises(dibs.Busy):
            client.lock(name).try_acquire()
        with pytest.raises(dibs.Busy):
            await own.lock(name).try_acquire()
        with pytest.raises(dibs.TimedOut):
            await own.lock(name, wait=0.05).acquire()
    client.lock(name).try_acquire().release()


@with_client
async def test_tasks_take_turns(own, client, name):
    inside, fences = [], []
    lock = own.lock(name, wait=20)

    async def work():
        async with lock as hold:
            inside.append(hold)
            assert len(inside) == 1
            fences.append(hold.fence)
            await asyncio.sleep(0)
            inside.pop()

    await asyncio.gather(*[work() for _ in range(64)])
    assert len(set(fences)) == 64 and fences == sorted(fences)


@with_client
async def test_a_generator_that_is_not_finished_releases(own, client, name):
    """The loop ends it in another task."""

    async def numbers():
        async with own.lock(name):
            for number in range(3):
                yield number

    async for _ in numbers():
        break
    await (await own.lock(name, wait=10).acquire()).release()


@with_client
async def test_a_cancelled_task_leaves_no_queue_entry(own, client, name):
    with client.lock(name):
        task = asyncio.ensure_future(own.lock(name).acquire())
        await until(lambda: own.stats()['waiting'] == 1, 'the task waits')
        await until(lambda: client.inspect(name).waiter_count == 1, 'it is in the queue')
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: client.inspect(name).waiter_count == 0, 'it has left the queue')
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(own.lock(name).acquire(), 0.05)
        await until(lambda: client.inspect(name).waiter_count == 0, 'that one, too')
    client.lock(name).try_acquire().release()


@with_client
async def test_a_grant_that_a_cancelled_task_does_not_get_is_released(own, client, name):
    task = asyncio.ensure_future(own.lock(name).acquire())
    await asyncio.sleep(0)
    harness.until(lambda: own._ready(own._loop, own._descriptor) or own.stats()['holds'] == 1,
                  'the lock is granted')         # and the task has not run since
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not client.inspect(name).is_held, 'it is released')


@with_client
async def test_a_loss_sets_the_event_and_leaving_raises(own, client, name):
    losses = []
    with pytest.raises(dibs.Lost):
        async with own.lock(name, ttl=2, on_lost=losses.append) as hold:
            client.break_lock(name, client.inspect(name).holders[0].lease)
            await asyncio.wait_for(hold.lost.wait(), 20)
            assert not hold.is_held
    assert [loss.name for loss in losses] == [name.encode()]
    with pytest.raises(KeyError):
        async with own.lock(name, ttl=0.2, fixed=True) as hold:
            await asyncio.wait_for(hold.lost.wait(), 20)
            raise KeyError(name)


@with_client
async def test_readers_many_and_permits(own, client, name):
    async with own.read_lock(name + '.rw'), own.read_lock(name + '.rw'):
        with pytest.raises(dibs.Busy):
            await own.write_lock(name + '.rw').try_acquire()
    async with own.lock_many([name + '.b', name + '.a']) as hold:
        assert hold.names == [n.encode() for n in (name + '.a', name + '.b')]
    semaphore = own.semaphore(name + '.s', 2, wait=5)
    with pytest.raises(dibs.NotSet):
        async with semaphore:
            pass
    await semaphore.set(3)
    async with semaphore as two:
        async with await own.semaphore(name + '.s').drain() as one:
            assert (two.units, one.units) == (2, 1)
            with pytest.raises(dibs.Busy):
                await semaphore.permits().try_acquire()
    await semaphore.delete()


@with_client
async def test_a_coroutine_that_is_closed_leaves_no_queue_entry(own, client, name):
    hold = client.lock(name).acquire()
    coroutine = own.lock(name).acquire()
    coroutine.send(None)
    await until(lambda: client.inspect(name).waiter_count == 1, 'it waits')
    coroutine.close()
    await until(lambda: client.inspect(name).waiter_count == 0, 'it does not wait any more')
    hold.release()
    client.lock(name, wait=0).acquire().release()


@with_client
async def test_waits_of_other_kinds_end_and_are_cancelled(own, client, name):
    latch, barrier = own.latch(name + '.l'), own.barrier(name + '.b', 2)
    limiter = own.rate_limiter(name + '.r')
    await latch.set(1)
    await limiter.set(1, 0.2)
    await limiter.acquire()
    wait = asyncio.ensure_future(latch.wait())
    await until(lambda: own.stats()['commands'] > 3, 'it asks')
    assert not wait.done()
    wait.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait
    _, left, rounds, _ = await asyncio.gather(
        latch.wait(10), latch.down(), asyncio.gather(barrier.wait(10), barrier.wait(10)),
        limiter.acquire(wait=10))
    assert left == 0 and {r.index for r in rounds} == {0, 1}
    assert await limiter.try_acquire() > 0 and (await limiter.rate()).permits == 1
    party = asyncio.ensure_future(barrier.wait())
    await until(lambda: client.barrier(name + '.b', 2).get().arrived == 1, 'it has arrived')
    party.cancel()
    with pytest.raises(asyncio.CancelledError):
        await party
    await until(lambda: client.barrier(name + '.b', 2).get().is_broken, 'it is broken')
    await barrier.reset()


@with_client
async def test_an_election_is_observed_in_the_loop(own, client, name):
    seen, election = [], own.election(name)
    with election.observe(seen.append):
        async with election.campaign('here', wait=5) as lead:
            with pytest.raises(dibs.Busy):
                await election.campaign('there').try_acquire()
            await lead.publish('moved')
            assert (await election.leader()).value == 'moved'
            await until(lambda: seen and seen[-1].value == 'moved', 'the observer sees it')
        await until(lambda: not seen[-1].is_led, 'the observer sees the end')


@with_client
async def test_questions_and_data_are_answered(own, client, name):
    assert await own.ping() > 0 and not (await own.inspect(name)).is_held
    guarded = own.guarded(name + '.g')
    assert await guarded.incr(5, 2) == 2
    with pytest.raises(dibs.Fenced):
        await guarded.incr(4)
    assert await guarded.get() == (b'2', 5)
    await guarded.delete(6)
    await guarded.hset(6, {'f': 'v'})
    assert await guarded.hget('f') == (b'v', 6)
    it = own.map(name + '.m')
    await it.put('a', 'b')
    assert await it.items() == {b'a': b'b'} and await it.ttl() is None and await it.delete()
    assert await own.set(name + '.s').add('x')
    elements = own.list(name + '.q')
    with pytest.raises(dibs.TimedOut):
        await elements.take(0.03)
    taken, _ = await asyncio.gather(elements.take(10), elements.add('x'))
    assert taken == b'x'
    async with own.lock(name) as hold:
        assert await own.renew(hold.token(), 60) > 30


def test_a_client_belongs_to_one_loop(play, server, name):
    own = dibs.aio.Client(server.url)

    async def use():
        async with own.lock(name):
            pass

    play(use())
    with pytest.raises(RuntimeError, match='another event loop, which is closed'):
        play(use())
    play(own.close())
    with pytest.raises(dibs.Stale):
        play(stale(own, name))


async def stale(own, name):
    own._loop = None
    await own.lock(name).acquire()


def test_no_server_is_unreachable(play, tmp_path):
    async def main():
        async with dibs.aio.Client('unix://%s/none' % tmp_path, connect_timeout=0.1) as own:
            with pytest.raises(dibs.Unreachable):
                await own.lock('x', wait=5).acquire()
            with pytest.raises(dibs.Unreachable):
                await own.ping()

    play(main())


def test_a_restart_of_the_server_ends_no_wait(play, own_server, name):
    async def main():
        async with dibs.aio.Client(own_server.url, degrade='wait') as own:
            await own.ping()
            first = await own.lock(name).acquire()
            task = asyncio.ensure_future(own.lock(name).acquire())
            await until(lambda: own.stats()['waiting'] == 1, 'it waits')
            await asyncio.get_running_loop().run_in_executor(None, own_server.restart)
            with pytest.raises((dibs.Lost, dibs.Unknown)):
                await asyncio.wait_for(first.lost.wait(), 20)
                await first.release()
            await (await task).release()

    play(main())


def test_the_loop_is_the_only_thread_and_idles(run):
    done = run('''
async def main():
    asyncio.get_running_loop().slow_callback_duration = 60      # the machine may be slow
    async with dibs.aio.Client(URL) as client:
        async with client.lock(NAME):
            wait = asyncio.ensure_future(client.lock(NAME).acquire())
            await asyncio.sleep(0.1)
            used = time.process_time()
            await asyncio.sleep(0.5)
            print(len(os.listdir('/proc/self/task')), time.process_time() - used < 0.1)
            wait.cancel()
asyncio.run(main())
''', '-X', 'dev', '-W', 'error')
    assert (done.returncode, done.stdout) == (0, '1 True\n')


@pytest.mark.parametrize('kind', LOOPS)
def test_a_loop_may_end_with_requests_under_way(run, client, name, kind):
    if kind == 'uvloop':
        pytest.importorskip('uvloop', reason='uvloop is not installed')
    client.semaphore(name + '.s').set(0)
    client.latch(name + '.l').set(1)
    done = run('''
if %r == 'uvloop':
    import uvloop
    uvloop.install()
async def main():
    global own
    own = dibs.aio.Client(URL)
    hold = await own.lock(NAME).acquire()
    tasks = [asyncio.ensure_future(wait()) for wait in (
        own.lock(NAME).acquire, own.semaphore(NAME + '.s').permits().acquire,
        own.barrier(NAME + '.b', 2).wait, hold.release, own.latch(NAME + '.l').wait)]
    await asyncio.sleep(0)
    print(own.stats()['waiting'] > 0)
asyncio.run(main())
''' % kind)
    assert (done.returncode, done.stdout) == (0, 'True\n')
    harness.until(lambda: not client.inspect(name).is_held, 'nothing is held')
    assert client.inspect(name).waiter_count == 0


def test_a_forked_child_of_a_loop_gets_an_error(run):
    done = run('''
async def main():
    async with dibs.aio.Client(URL) as client:
        async with client.lock(NAME) as hold:
            child = os.fork()
            if child == 0:
                try:
                    await hold.release()
                except dibs.Forked:
                    await client.close()
                    os._exit(0)
                os._exit(1)
            print(os.waitpid(child, 0)[1])
            await client.ping()
asyncio.run(main())
''')
    assert (done.returncode, done.stdout) == (0, '0\n')


def test_uvloop_is_tested_where_it_is_required():
    if os.environ.get('DIBS_TEST_MORE') == '1':
        import uvloop  # noqa: F401
