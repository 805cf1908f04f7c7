# SPDX-License-Identifier: MIT
"""test_aio_ends.py - calls of the asyncio client whose task is cancelled, or ends with its loop."""
import asyncio
import threading

import pytest

import dibs
import dibs.aio
import harness
from test_aio import play, until  # noqa: F401


class Taking:
    """A take() whose element is removed, and comes when `answer` is set."""

    def __init__(self, own, client, name):
        self.there, self.answer = client.list(name), threading.Event()
        self.there.add('only')
        taken_from, pop = own.list(name), self.there.pop_first
        taken_from._plain.pop_first = lambda: (pop(), self.answer.wait(20))[0]
        self.task = asyncio.ensure_future(taken_from.take())

    async def is_removed(self):
        await until(lambda: self.there.size() == 0, 'it is removed')


@pytest.mark.parametrize('times', [1, 2])
def test_a_cancelled_take_loses_no_element(play, server, client, name, times):  # noqa: F811
    async def main():
        async with dibs.aio.Client(server.url) as own:
            take = Taking(own, client, name)
            await take.is_removed()
            for _ in range(times):
                take.task.cancel()
                await asyncio.sleep(0)
            take.answer.set()
            with pytest.raises(asyncio.CancelledError):
                await take.task
            assert times == 2 or take.there.range() == [b'only']
            await until(lambda: take.there.range() == [b'only'], 'it is prepended again')

    play(main())


def test_the_end_of_a_loop_loses_no_element(server, client, name):
    own = dibs.aio.Client(server.url)

    async def main():
        async def answer():
            try:
                await asyncio.Event().wait()
            finally:
                take.answer.set()                # the loop has cancelled all tasks

        take = Taking(own, client, name)
        await take.is_removed()
        last = asyncio.ensure_future(answer())
        await asyncio.sleep(0)
        return last

    asyncio.run(main())
    assert client.list(name).range() == [b'only']
    asyncio.run(own.close())


@pytest.mark.parametrize('is_answered', [False, True])
def test_permits_that_a_cancelled_task_does_not_get_return(  # noqa: F811
        play, server, client, name, is_answered, monkeypatch):
    limiter, settle = client.rate_limiter(name), dibs.aio.request.settle
    limiter.set(1, 3600)

    async def main():
        async with dibs.aio.Client(server.url) as own:
            await own.rate_limiter(name).rate()
            task = asyncio.ensure_future(own.rate_limiter(name).acquire())
            if is_answered:                      # and the task has not run since
                monkeypatch.setattr(dibs.aio.request, 'settle',
                                    lambda *answer: (settle(*answer), task.cancel()))
            else:
                await asyncio.sleep(0)
                harness.until(lambda: own._ready(own._loop, own._descriptor)
                              or limiter.available == 0, 'they are taken')
                task.cancel()
                own._ready(own._loop, own._descriptor)
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: limiter.available == 1, 'they return')

    play(main())


class Counting:
    """The library; counts what is freed."""

    def __init__(self, there):
        self.there, self.freed = there, []

    def __getattr__(self, function):
        if function.endswith('_free'):
            self.freed.append(function)
        return getattr(self.there, function)


def test_a_cancelled_read_frees_its_value(server, name, monkeypatch):
    lib = Counting(dibs.call.lib)
    monkeypatch.setattr(dibs.call, 'lib', lib)
    monkeypatch.setattr(dibs.election, 'lib', lib)

    async def main():
        async with dibs.aio.Client(server.url) as own:
            guarded, fields = own.guarded(name), own.guarded(name + '.h')
            await guarded.set(1, 'value')
            await fields.hset(1, {'field': 'value'})

            async def cancelled(function):
                function()                       # the executor's call ends, and the task before
                raise asyncio.CancelledError

            monkeypatch.setattr(own, 'in_thread', cancelled)
            for read in (guarded.get, lambda: fields.hget('field'), own.election(name).leader):
                with pytest.raises(asyncio.CancelledError):
                    await read()

    asyncio.run(main())
    assert lib.freed == ['dibs_value_free', 'dibs_value_free', 'dibs_leader_free']
