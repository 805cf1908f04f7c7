# SPDX-License-Identifier: MIT
"""test_languages.py - C, Java and Python add to one number under one lock, without other protection.
The others are the peers of test/peers: DIBS_PEER is that of C, DIBS_PEERS the folder of the others."""
import asyncio
import os
import socket
import struct
import subprocess
import threading
import time

import pytest

import dibs
import dibs.aio
import harness

TURNS = int(os.environ.get('DIBS_TEST_TURNS', 100))
JAVA = os.path.join(os.environ.get('DIBS_PEERS', ''), 'redisson4/run')


@pytest.fixture
def address():
    with socket.socket() as free:                # Java has no unix sockets
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    server = harness.Server('--port', str(port), '--bind', '127.0.0.1')
    yield 'redis://127.0.0.1:%d' % port
    server.stop()


class Peer:
    """A process of another language: test/peers/PROTOCOL.md."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        assert self.process.stdout.readline().startswith('ready '), command

    def ask(self, line):
        self.process.stdin.write('1 %s\n' % line)
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().split()[2:]

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


def add(counter, records):
    """What is done under the lock."""
    enter = time.monotonic_ns()
    number = struct.unpack('<q', os.pread(counter, 8, 0))[0]
    os.pwrite(counter, struct.pack('<q', number + 1), 0)
    records.append((enter, time.monotonic_ns()))


@pytest.mark.limit(400)
def test_c_java_and_python_are_never_inside_together(address, name, tmp_path, capfd):
    if not os.environ.get('DIBS_PEER') or not os.path.exists(JAVA):
        pytest.skip('the peer of Java is not built: ./check --peers')
    files = {who: str(tmp_path / who) for who in ('counter', 'c', 'java')}
    with open(files['counter'], 'wb') as file:
        file.write(bytes(8))
    counter, records = os.open(files['counter'], os.O_RDWR), []
    are_done = threading.Event()
    peers = {'c': Peer(os.environ['DIBS_PEER'], address, 'query=dialect=redisson', 'kinds=lock'),
             'java': Peer(JAVA, address)}

    def work():
        with dibs.Client(address, dialect='redisson') as client:
            while not are_done.is_set():
                with client.lock(name):
                    add(counter, records)

    async def tasks():
        async with dibs.aio.Client(address, dialect='redisson') as client:
            while not are_done.is_set():
                async with client.lock(name):
                    add(counter, records)

    threads = [threading.Thread(target=work),
               threading.Thread(target=lambda: asyncio.run(tasks()))]
    for thread in threads:
        thread.start()
    for who, peer in peers.items():              # these have both at work beside them
        peer.ask('cycles lock %s %d - %s %s' % (name, TURNS, files['counter'], files[who]))
    answers = {who: peer.answer() for who, peer in peers.items()}
    are_done.set()
    for thread in threads:
        thread.join()
    assert answers == {who: ['ok', str(TURNS), '0'] for who in peers}
    for who, peer in peers.items():
        with open(files[who], encoding='ascii') as lines:
            records += [tuple(map(int, line.split())) for line in lines]
        peer.end()
    records.sort()
    number = struct.unpack('<q', os.pread(counter, 8, 0))[0]
    overlaps = [pair for pair in zip(records, records[1:]) if pair[0][1] > pair[1][0]]
    if overlaps or number != len(records):
        with capfd.disabled():
            print('# BROKEN PROMISE: %d of %d, inside together: %s'
                  % (number, len(records), overlaps[:9]), flush=True)
            os._exit(harness.PROMISE_BROKEN_EXIT)
    assert len(records) > 2 * TURNS
