#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py EXTENSION [TEST FILE | OPTION OF PYTEST]... - the tests of the package in the source tree,
with that extension; TAP.
run.py --more DIRECTORY EXTENSION - those that want more than Debian has, in a virtual environment
with it: DIRECTORY is made once, and again when the list of packages changes."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


MORE = ('cffi', 'fastapi', 'httpx', 'ipython', 'mypy', 'packaging', 'pyright', 'pytest', 'pytest-asyncio',
        'redis', 'rq', 'types-cffi', 'typing_extensions', 'uvloop')
MORE_TESTS = ('test_aio.py', 'test_aio_ends.py', 'test_guide.py',
              'test_process.py::test_a_notebook_uses_both_clients', 'test_redis_py.py',
              'test_redis_py_ends.py', 'test_redis_py_unanswered.py')


def environment(directory):
    """The Python of an environment that has MORE; None, and a line of TAP, without it."""
    python, stamp = os.path.join(directory, 'bin/python'), os.path.join(directory, 'packages')
    if os.path.exists(stamp):
        with open(stamp, encoding='utf-8') as file:
            if file.read() == ' '.join(MORE):
                return python
    shutil.rmtree(directory, ignore_errors=True)
    install = [python, '-m', 'pip', '-q', '--retries', '1', '--timeout', '10', 'install', *MORE]
    for words in ([sys.executable, '-m', 'venv', directory], install):
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            lines = done.stdout.strip().splitlines() or ['?']
            print('1..0 # SKIP uvloop, redis-py, mypy, pyright, FastAPI, RQ are not there: %s: %s'
                  % (' '.join(words[1:3]), lines[-1]))
            return None
    fetch_tests_of_redis_py(directory, python)
    with open(stamp, 'w', encoding='utf-8') as file:
        file.write(' '.join(MORE))
    return python


def redis_py(directory):
    return os.path.join(directory, 'redis-py')


def fetch_tests_of_redis_py(directory, python):
    """Its sdist, of the version that is installed, has its tests; without it they are skipped."""
    with tempfile.TemporaryDirectory() as room:
        for command in ('"$0" -m pip -q --retries 1 --timeout 10 download --no-deps --no-binary '
                        ':all: -d "$1" "redis==$("$0" -c "import redis; print(redis.__version__)")"',
                        'mkdir "$2" && tar -xzf "$1"/*.tar.gz -C "$2" --strip-components 1'):
            done = subprocess.run(['sh', '-c', command, python, room, redis_py(directory)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                print('# the tests of redis-py cannot be had: ' + ' '.join(done.stdout.split()))
                return


class Tap:
    """Writes one line for each test, and the failures as comments."""

    def __init__(self):
        self.count = 0

    def pytest_addoption(self, parser):
        parser.addoption('--verbose', type=int, default=0)      # the terminal's, for assertions

    def pytest_runtest_logreport(self, report):
        if report.when != 'call' and report.passed:
            return
        self.count += 1
        name = report.nodeid.split('::')[-1]
        if report.failed:
            print('\n'.join('# ' + line for line in report.longreprtext.splitlines()))
        why = ' # SKIP ' + report.longrepr[2].replace('Skipped: ', '') if report.skipped else ''
        if report.duration > 1:
            print('# %.1f s: %s' % (report.duration, name))
        print('%s %d - %s%s' % ('not ok' if report.failed else 'ok', self.count, name, why),
              flush=True)


def more(directory, extension):
    directory = os.path.abspath(directory)
    python = environment(directory)
    if python is None:
        return 0
    given = dict(os.environ, DIBS_TEST_MORE='1')
    if os.path.isdir(redis_py(directory)):
        given['DIBS_TEST_REDIS_PY'] = redis_py(directory)
    return subprocess.run([python, os.path.abspath(__file__), extension, *MORE_TESTS],
                          env=given).returncode


def main():
    if sys.argv[1] == '--more':
        return more(*sys.argv[2:])
    import pytest
    room = tempfile.mkdtemp(prefix='dibs-python-test-')
    try:
        package = os.path.join(room, 'dibs')
        shutil.copytree(os.path.join(HERE, '../dibs'), package,
                        ignore=shutil.ignore_patterns('*.so', '__pycache__'))
        os.symlink(os.path.abspath(sys.argv[1]), os.path.join(package, '_dibs.abi3.so'))
        sys.path.insert(0, room)
        sys.dont_write_bytecode = True
        os.environ['PYTHONPATH'] = room
        tap = Tap()
        chosen = [os.path.join(HERE, word) if word.startswith('test_') else word
                  for word in sys.argv[2:]]
        if not any(word.startswith(HERE) for word in chosen):
            chosen.append(HERE)
        status = pytest.main(['-p', 'no:cacheprovider', '-p', 'no:terminal', *chosen],
                             plugins=[tap])
        print('1..%d' % tap.count)
        return 0 if status in (0, 1) and tap.count else 1
    finally:
        shutil.rmtree(room, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
