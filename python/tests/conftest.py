# SPDX-License-Identifier: MIT
"""conftest.py - a private server on a unix socket, and clients of it."""
import itertools
import os
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../test/cli'))
import harness  # noqa: E402

import dibs  # noqa: E402

NUMBERS = itertools.count()
LIMIT_S = int(os.environ.get('DIBS_TEST_LIMIT', 30))


def too_long(number, frame):
    raise AssertionError('the test did not end within its limit')


@pytest.fixture(autouse=True)
def limit(request):
    marker = request.node.get_closest_marker('limit')
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(marker.args[0] if marker else LIMIT_S)
    yield
    signal.alarm(0)


def pytest_configure(config):
    config.addinivalue_line('markers', 'limit(seconds): how long the test may take')


@pytest.fixture(scope='session')
def server():
    made = harness.Server()
    yield made
    made.stop()


@pytest.fixture
def own_server():
    made = harness.Server()
    yield made
    made.stop()


@pytest.fixture
def client(server):
    with dibs.Client(server.url) as made:
        yield made


@pytest.fixture
def other(server):
    with dibs.Client(server.url) as made:
        yield made


@pytest.fixture
def name():
    return 'name-%d' % next(NUMBERS)


PROGRAM = ('import asyncio, os, signal, sys, threading, time\nimport dibs, dibs.aio\n'
           'URL, NAME = sys.argv[1:3]\n')


@pytest.fixture
def run(server, name):
    """run(text): another Python program, which has URL and NAME; its status and output."""

    def run_program(text, *options, timeout=25):
        return subprocess.run(
            [sys.executable, '-W', 'ignore::DeprecationWarning', *options, '-c', PROGRAM + text,
             server.url, name],
            timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    return run_program


@pytest.fixture
def start(server, name):
    """start(text): the same without waiting for its end; killed after the test."""
    started = []

    def start_program(text):
        started.append(subprocess.Popen(
            [sys.executable, '-c', PROGRAM + text, server.url, name], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        return started[-1]

    yield start_program
    for process in started:
        process.kill()
        process.communicate()
