# SPDX-License-Identifier: MIT
"""test_kinds.py - every synchronizer of the blocking client, on a real server."""
import logging
import pickle
import threading

import pytest

import dibs
import dibs.errors
import harness


def test_a_latch_at_zero_ends_every_wait(client, other, name):
    latch, theirs, passed = client.latch(name), other.latch(name), []
    latch.set(2)
    with pytest.raises(dibs.Busy):
        latch.set(3)
    with pytest.raises(dibs.TimedOut):
        latch.wait(0.05)
    with pytest.raises(dibs.TimedOut):
        latch.wait(0)

    def wait():
        theirs.wait(10)
        passed.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    assert latch.down(id='a') == 1 and latch.down(id='a') == 1 and latch.count == 1
    assert not passed
    assert theirs.down() == 0
    latch.wait(10)
    thread.join(10)
    assert passed == [True]
    with pytest.raises(dibs.NotSet):
        latch.down()
    latch.set(1)
    latch.delete()
    latch.wait(1)


def test_parties_of_a_barrier_continue_together(client, other, name):
    rounds = []
    thread = threading.Thread(target=lambda: rounds.append(other.barrier(name, 2).wait(10)))
    thread.start()
    rounds.append(client.barrier(name, 2).wait(10))
    thread.join(10)
    assert {r.index for r in rounds} == {0, 1} and {r.generation for r in rounds} == {0}
    assert client.barrier(name, 2).get().generation == 1


def test_a_party_that_gives_up_breaks_the_barrier(client, other, name):
    barrier = client.barrier(name, 2)
    client.ping()

    def gives_up():                              # before or after it has arrived there
        with pytest.raises((dibs.TimedOut, dibs.Unknown)):
            barrier.wait(0.3)
        try:
            return barrier.get().is_broken
        except dibs.NotSet:
            return False

    harness.until(gives_up, 'it arrives in time, and then gives up')
    with pytest.raises(dibs.Broken) as raised:
        other.barrier(name, 2).wait(5)
    assert 'reset' in raised.value.hint
    assert barrier.get().is_broken
    barrier.reset()
    assert not barrier.get().is_broken


def test_a_rate_is_not_exceeded(client, other, name):
    limiter = client.rate_limiter(name)
    with pytest.raises(dibs.NotSet):
        limiter.acquire()
    limiter.set(2, 60, keepalive=120)
    with pytest.raises(dibs.Busy):
        limiter.set(3, 60)
    assert limiter.rate == dibs.Rate(2, 60, 120, False)
    assert limiter.try_acquire(2) == 0.0
    assert 0 < other.rate_limiter(name).try_acquire() <= 60
    with pytest.raises(dibs.TimedOut):
        other.rate_limiter(name).acquire(wait=0.05)
    assert limiter.release(1) == 1 and limiter.available == 1
    limiter.set(4, 0.1, how='reset')
    for _ in range(2):
        limiter.acquire(4, wait=10)
    with pytest.raises(ValueError, match='if_absent'):
        limiter.set(1, 1, how='always')
    limiter.delete()
    with pytest.raises(dibs.NotSet):
        limiter.rate


def test_one_candidate_leads_and_observers_see_it(client, other, name):
    seen, election, theirs = [], client.election(name), other.election(name)
    assert not election.leader().is_led
    with theirs.observe(seen.append):
        with election.campaign('here', wait=5, ttl=30) as lead:
            with pytest.raises(dibs.Busy):
                theirs.campaign('there').try_acquire()
            with pytest.raises(dibs.TimedOut):
                theirs.campaign('there', wait=0.5).acquire()
            lead.publish('moved')
            leader = theirs.leader()
            assert (leader.is_led, leader.value, leader.epoch) == (True, 'moved', lead.fence)
            assert leader.party.client == client.id
            harness.until(lambda: seen and seen[-1].value == 'moved', 'the observer sees it')
        harness.until(lambda: not seen[-1].is_led, 'the observer sees the end')
    with theirs.campaign('there') as lead:
        assert lead.fence > leader.epoch


def test_an_observation_of_another_kind_ends_with_its_error(client, name):
    ended = []
    client.semaphore(name).set(1)
    with client.semaphore(name).permits():
        with client.election(name).observe(lambda leader: None, ended.append):
            harness.until(lambda: ended, 'the observation ends')
    assert isinstance(ended[0], dibs.WrongType)


def test_an_observer_is_told_that_the_server_cannot_be_seen(own_server, name):
    seen, faults = [], []
    with dibs.Client(own_server.url + '?connect_timeout=300ms') as client:
        with client.election(name).observe(
                seen.append, on_unseen=lambda error, last: faults.append((error, last))):
            harness.until(lambda: seen, 'the first state')
            own_server.process.kill()
            own_server.process.wait()
            harness.until(lambda: faults, 'the server is not seen')
            count = len(seen)
            own_server.restart()
            harness.until(lambda: len(seen) > count, 'the server is seen again')
    error, last = faults[-1]
    assert isinstance(error, dibs.Unreachable)
    assert (last.is_known, last.is_led, seen[-1].is_led) == (True, False, False)


def test_an_old_fence_writes_nothing(client, server, name):
    guarded = client.guarded(name)
    guarded.set(7, 'new', ttl=100)
    with pytest.raises(dibs.Fenced):
        guarded.set(6, 'old')
    assert guarded.get() == (b'new', 7)
    guarded.delete(8)
    assert guarded.get() == (None, 8)
    guarded.hset(9, {'a': b'1\0', 'b': '2'})
    assert guarded.hget('a') == (b'1\0', 9)
    guarded.hdel(9, ['a'])
    assert guarded.hget('a') == (None, 9)
    with pytest.raises(dibs.WrongType):
        guarded.get()
    assert server.ask('HGETALL', name).split() == ['*2', '$1', 'b', '$1', '2']
    assert client.guarded(name + '.n').incr(1, 5) == 5
    with pytest.raises(TypeError, match='list'):
        guarded.hdel(9, 'a')
    assert dibs.fence_admits(3, 3) and not dibs.fence_admits(4, 3)


def test_what_is_neither_text_nor_bytes_is_not_written(client, name):
    for value in (3, [1, 2], None):
        for write in (lambda value: client.guarded(name).set(1, value),
                      lambda value: client.map(name + '.m').put('k', value),
                      lambda value: client.list(name + '.l').add(value), client.lock):
            with pytest.raises(TypeError):
                write(value)
    assert client.guarded(name).get() == (None, 0)
    client.guarded(name).set(1, bytearray(b'a\0'))
    client.guarded(name).set(1, memoryview(b'b\0'))
    assert client.guarded(name).get() == (b'b\0', 1)


def test_an_inspection_names_holder_and_waiters(client, other, name):
    assert not client.inspect(name).is_held
    with client.lock(name, note='the first', ttl=30) as hold:
        thread = threading.Thread(target=lambda: other.lock(name, wait=10).acquire().release())
        thread.start()
        found = harness.until(
            lambda: (lambda i: i if i.waiter_count else None)(client.inspect(name)), 'one waits')
        assert found.is_held and found.kind == 'mutex' and found.fence == hold.fence
        assert [h.party.note for h in found.holders] == ['the first']
        assert [w.client for w in found.waiters] == [other.id]
        assert 0 < found.holders[0].remaining <= 30
        assert [i.name for i in client.locks(name + '*')] == [name.encode()]
    thread.join(10)


def test_a_walk_ends_early_and_with_the_exception_of_its_visitor(client, name):
    holds = [client.lock('%s.%d' % (name, i)).acquire() for i in range(3)]
    seen = []
    client.each_lock(lambda found: seen.append(found.name) or False, name + '.*')
    assert len(seen) == 1
    with pytest.raises(ZeroDivisionError):
        client.each_lock(lambda found: 1 / 0, name + '.*')
    for hold in holds:
        hold.release()


def test_a_lease_is_broken_once(client, other, name):
    hold = client.lock(name, ttl=2).acquire()
    lease = client.inspect(name).holders[0].lease
    other.break_lock(name, lease)
    with pytest.raises(dibs.Lost):
        other.break_lock(name, lease)
    assert hold.lost.wait(15)
    with pytest.raises(dibs.Lost):
        hold.release()


def test_a_token_continues_a_lease(client, other, name):
    hold = client.lock(name, ttl=30).acquire()
    token = hold.token()
    hold.detach()
    assert 30 < other.renew(token, 60) <= 60
    other.release(token)
    client.lock(name).try_acquire().release()
    with pytest.raises(dibs.ArgumentError):
        other.release('nonsense')


def test_permits_are_drained(client, other, name):
    client.semaphore(name).set(3)
    with client.semaphore(name).permits():
        with other.semaphore(name).drain() as rest:
            assert rest.units == 2
            with pytest.raises(dibs.Busy):
                client.semaphore(name).drain()


def test_a_map_keeps_bytes(client, name):
    it = client.map(name)
    assert it.get('a') is None and it.put('a', b'\0\xff') is None
    assert it.get('a') == b'\0\xff' and it.contains('a') and not it.contains('b')
    assert not it.put_if_absent('a', 'x') and it.put_if_absent('b', '')
    assert it.replace('a', 'y') and not it.replace('c', 'y')
    assert not it.replace('a', 'z', expected='x') and it.replace('a', 'z', expected='y')
    assert it.items() == {b'a': b'z', b'b': b''} and it.size() == 2
    assert not it.remove_if('a', 'x') and it.remove_if('a', 'z') and it.remove('b') == b''
    with pytest.raises(KeyError):
        it.ttl()
    it.put('a', 'b')
    assert it.ttl() is None and it.expire(100) and 0 < it.ttl() <= 100 and it.persist()
    assert it.delete() and not it.delete()
    with pytest.raises(dibs.ArgumentError):
        it.put('a', 'x' * (1 << 20) + 'x')


def test_a_list_keeps_its_order(client, other, name):
    it = client.list(name)
    assert [it.add('b'), it.add('c'), it.add_first('a')] == [1, 2, 3]
    assert it.range() == [b'a', b'b', b'c'] and it.range(1, 1) == [b'b'] and it.get(-1) == b'c'
    assert it.set(1, 'B') and not it.set(9, 'x') and it.insert(1, 'ab') and it.size() == 4
    assert it.remove('B') == 1 and it.remove_at(0) and it.range() == [b'ab', b'c']
    assert it.pop_last() == b'c' and it.pop_first() == b'ab' and it.pop_first() is None
    with pytest.raises(dibs.TimedOut):
        it.take(0.05)
    threading.Timer(0.1, lambda: other.list(name).add('late')).start()
    assert it.take(10) == b'late'


def test_a_wait_for_an_element_outlasts_a_restart(own_server, name):
    """A process that a thread has started ends with it: so the server is restarted here."""
    taken = []
    with dibs.Client(own_server.url + '?connect_timeout=3s&command_timeout=2s') as client:
        it = client.list(name)

        def take():
            try:
                taken.append(it.take(20))
            except dibs.Error as error:
                taken.append(error)

        def stop_and_take():
            own_server.process.kill()
            own_server.process.wait()
            harness.until(lambda: client._info().servers_down, 'the end is seen')
            waiter = threading.Thread(target=take)
            waiter.start()
            return waiter

        it.pop_first()
        waiter = stop_and_take()
        waiter.join(1.2)
        assert not taken
        own_server.restart()
        it.add('late')
        waiter.join()
        stop_and_take().join()
    assert taken[0] == b'late' and isinstance(taken[1], dibs.Unreachable)


def test_a_set_has_each_member_once(client, name):
    it = client.set(name)
    assert it.add('a') and not it.add('a') and it.add('b') and it.members() == {b'a', b'b'}
    assert it.contains('a') and it.remove('a') and not it.remove('a') and it.size() == 1
    assert it.pop() == b'b' and it.pop() is None
    assert it.lock_name('k').startswith('{%s}:' % name) and it.lock_name('k').endswith(':lock')
    with pytest.raises(ValueError, match='latch'):
        it.lock_name('k', 'none')


def test_a_stripe_is_the_same_everywhere():
    assert dibs.stripe('hot', b'key', 16) == dibs.stripe('hot', 'key', 16)
    assert dibs.stripe('hot', 'key', 16).startswith('hot#')


def test_options_that_do_not_exist_are_named(client, name):
    with pytest.raises(TypeError, match='colour.*ttl'):
        client.lock(name, colour='red')
    with pytest.raises(ValueError, match="'auto'"):
        client.lock(name, linger='long')
    with pytest.raises(dibs.ArgumentError, match='linger is -0.001 s'):
        client.lock(name, linger=-0.001)        # -1 ms: automatic
    with pytest.raises(dibs.ArgumentError, match='report is -0.001 s'):
        dibs.Client('local:', report=-0.001)    # off
    with pytest.raises(ValueError, match="'majority'"):
        client.lock(name, min_replicas='all')
    with pytest.raises(TypeError, match='list'):
        client.lock_many(name)
    with pytest.raises(dibs.ArgumentError, match='zero byte'):
        client.lock(name, note='a\0b')


def test_options_reach_the_library(client, other, name):
    hold = client.lock(name, ttl=0.5, fixed=True).acquire()
    assert 0 < hold.valid_for <= 0.5 and hold.durability.kind == 'primary'
    with pytest.raises(dibs.WouldDeadlock):
        client.lock(name, reentrant=False).try_acquire()
    with pytest.raises(dibs.Busy):
        client.lock(name, owned=False).try_acquire()
    assert hold.lost.wait(10) and not hold.is_held
    with pytest.raises(dibs.Lost, match='fixed'):
        hold.release()


def test_events_of_a_client_are_named(server):
    seen = []
    with dibs.Client(server.url, on_event=seen.append, note='n', connect_timeout=3) as client:
        client.ping()
        harness.until(lambda: seen, 'an event comes')
    assert seen[0].kind == 'connected' and seen[0].text


def test_lines_of_a_client_go_to_a_logger(server, name, caplog):
    logger = logging.getLogger('dibs.test')
    with dibs.Client(server.url) as client:
        caplog.set_level(logging.DEBUG, logger='dibs.test')
        client.set_log(logger)
        with client.lock(name):
            pass
        caplog.set_level(logging.ERROR, logger='dibs.test')
        client.set_log(logger)
        with client.lock(name):
            pass
    granted = [record for record in caplog.records if record.dibs_event == 'granted']
    assert len(granted) == 1 and granted[0].levelno == logging.DEBUG
    assert granted[0].dibs_fields['name'] == name and int(granted[0].dibs_fields['fence']) > 0
    assert 'event=granted name=%s ' % name in granted[0].getMessage()


def test_a_client_counts_what_it_did(server, name):
    with dibs.Client(server.url) as client, dibs.Client(server.url) as other:
        assert client.metrics().classes == [] and client.metrics().lease_slack is None
        with client.lock('counted:' + name):
            with pytest.raises(dibs.Busy):
                other.lock('counted:' + name).try_acquire()
            held = client.metrics().classes[0]
            assert (held.class_name, held.kind, held.holding) == ('counted', 'mutex', 1)
        found = client.metrics()
        waits, holds = found.classes[0].waits, found.classes[0].holds
        assert (waits['granted'].number, waits['busy'].number, holds['released'].number) == (1, 0, 1)
        assert sum(count for _, count in holds['released'].at_most) == 1
        assert holds['released'].seconds > 0 and holds['released'].at_most[-1][0] == float('inf')
        assert found.commands > 1 and found.round_trips.number > 1 and found.reconnects == 0
        assert other.metrics().classes[0].waits['busy'].number == 1
        text = client.metrics_text()
        assert 'class="counted"' in text and text.endswith('# EOF\n')
        assert not client.metrics_text(end=False).endswith('# EOF\n')
        assert '# EOF' not in client.metrics_text(openmetrics=False)


def test_a_client_lists_its_names_and_lets_lingering_ones_go(client, other, server, name):
    with dibs.Client(server.url) as own:
        assert own.names() == []
        # Only what listens lingers, and the server confirms that after the first grant.
        def lingers():
            own.lock(name, linger=60).acquire().release()
            return [found.state for found in own.names()] == ['lingering']
        harness.until(lingers, 'the client listens, and its released lock lingers')
        with own.lock(name, linger=60) as hold:
            found, = own.names()
            assert (found.name, found.kind, found.state) == (name.encode(), 'mutex', 'held')
            assert found.fence == hold.fence and found.valid_for > 0
        assert [found.state for found in own.names()] == ['lingering']
        assert own.expire_lingering(3600) == 0 and own.expire_lingering() == 1
        harness.until(lambda: own.names() == [], 'the server has confirmed it')


def test_a_writer_becomes_a_reader(client, other, name):
    with client.write_lock(name) as hold:
        with pytest.raises(dibs.Busy):
            other.read_lock(name).try_acquire()
        hold.downgrade()
        other.read_lock(name, wait=10).acquire().release()
        with pytest.raises(dibs.Busy):
            other.write_lock(name).try_acquire()
    with client.lock(name + '.l') as hold:
        with pytest.raises(dibs.ArgumentError):
            hold.downgrade()


def test_every_option_of_a_client_reaches_the_library(server, client, name):
    with dibs.Client(server.url, report='off', history='all', history_max=100, history_over=0.5,
                     clock_rate_error_ppm=20000, local_handover=0.01, local_handovers_max=-1,
                     classes='a*, %s*' % name[:20]) as own:
        with own.lock(name):
            pass
        assert [c.class_name for c in own.metrics().classes] == [name[:20] + '*']
    with pytest.raises(dibs.ArgumentError, match='pattern 2'):
        dibs.Client(server.url, classes='a*, b c')
    for option, value in (('report', 'never'), ('history', 'some')):
        with pytest.raises(ValueError, match="off"):
            dibs.Client(server.url, **{option: value})
    for option, value in (('report', 0.5), ('history_max', -1), ('clock_rate_error_ppm', -1)):
        with pytest.raises(dibs.ArgumentError):
            dibs.Client(server.url, **{option: value})


def test_exceptions_of_all_kinds_can_be_pickled():
    for kind in dibs.errors.BY_STATUS.values():
        error = kind('text', 7, 'server')
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.text, copy.status, copy.server) == (
            kind, 'text (server)', 'text', 7, 'server')


def test_an_error_has_text_server_and_hint(tmp_path):
    with dibs.Client('unix://%s/none' % tmp_path, connect_timeout=0.1) as client:
        with pytest.raises(dibs.Unreachable) as raised:
            client.ping()
    error = raised.value
    assert error.text and 'none' in error.server + error.text and error.is_retriable and error.hint


def test_a_cycle_of_owners_is_named(server, name):
    found, both = [], threading.Barrier(2)
    with dibs.Client(server.url, detect_deadlock=True) as client:
        def take(first, second):
            with client.lock(name + first):
                both.wait(10)
                try:
                    with client.lock(name + second, wait=20):
                        pass
                except dibs.WouldDeadlock as error:
                    found.append(error)

        threads = [threading.Thread(target=take, args=pair) for pair in ('ab', 'ba')]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert len(found) == 1 and name in found[0].text


def test_a_number_out_of_range_is_refused_with_the_value_and_what_is_allowed(client, name):
    permits, limiter, latch = client.semaphore(name), client.rate_limiter(name), client.latch(name)
    for call, text in (
            (lambda: client.lock(name, ttl=1e12), 'ttl is 1000000000000.0 s; allowed are at most 2073600 s'),
            (lambda: client.lock(name, wait=1e30), 'wait is 1e[+]30 s; allowed are at most 2073600 s'),
            (lambda: client.lock(name, wait=10 ** 400), 'allowed are at most 2073600 s'),
            (lambda: client.lock(name, min_replicas=-1), "min_replicas is -1; allowed are 0 to .*, or 'majority'"),
            (lambda: client.lock(name, min_replicas=1 << 40), '1099511627776; allowed are 0 to'),
            (lambda: dibs.Client(client.url, database=-1), 'database is -1; allowed are 0 to 1000000'),
            (lambda: dibs.Client(client.url, names_max=1 << 31), 'names_max is 2147483648; allowed'),
            (lambda: dibs.Client(client.url, connect_timeout=1e12), 'connect_timeout is 1000000000000.0 s'),
            (lambda: client.set_call_timeout(1e12), 'seconds is 1000000000000.0 s; allowed'),
            (lambda: permits.permits(0), 'permits are 0; allowed are 1 to 1000000000'),
            (lambda: permits.permits(-1), 'permits are -1; allowed are 1 to 1000000000'),
            (lambda: permits.permits(1 << 32), 'permits are 4294967296; allowed are 1 to 1000000000'),
            (lambda: permits.set(-1), 'a number is -1; allowed are 0 to 4294967295'),
            (lambda: latch.set(1 << 64), 'a number is 18446744073709551616; allowed are'),
            (lambda: latch.wait(1e30), 'wait is 1e[+]30 s; allowed'),
            (lambda: limiter.acquire(-1), 'a number is -1; allowed are 0 to 4294967295'),
            (lambda: limiter.try_acquire(-1), 'a number is -1; allowed are 0 to 4294967295'),
            (lambda: client.barrier(name, -1).wait(1), 'a number is -1; allowed are'),
            (lambda: limiter.set(1, 1e30), 'milliseconds of interval are 1000'),
            (lambda: client.guarded(name).set(-1, 'x'), 'a number is -1; allowed are 0 to')):
        with pytest.raises(dibs.ArgumentError, match=text):
            call()
