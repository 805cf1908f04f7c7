# SPDX-License-Identifier: MIT
"""test_guide.py - the programs of the README and of doc/guide/python.md run unchanged; the names
are complete; the types are right."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest

import dibs
import dibs.aio
from dibs import errors
from dibs._dibs import ffi, lib

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')


def programs(page):
    with open(os.path.join(ROOT, page), encoding='utf-8') as text:
        return re.findall(r'^```python\n(.*?)^```', text.read(), flags=re.S | re.M)


PROGRAMS = {'%s-%d' % (os.path.basename(page), number): program
            for page in ('README.md', 'doc/guide/python.md')
            for number, program in enumerate(programs(page))}
FASTAPI = next(program for program in PROGRAMS.values() if 'fastapi' in program)
RQ = next(program for program in PROGRAMS.values() if 'rebuild_report' in program)


def play(program, server, *path):
    done = subprocess.run(
        [sys.executable, '-W', 'error', '-c', program], timeout=100, text=True,
        env=dict(os.environ, DIBS_URL=server.url, PYTHONPATH=os.pathsep.join(
            [*path, os.environ.get('PYTHONPATH', '')])),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and 'Traceback' not in done.stdout, done.stdout
    return done.stdout


def needs(*modules):
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip('%s is not installed' % module)


@pytest.mark.limit(110)
@pytest.mark.parametrize('name', PROGRAMS)
def test_a_program_of_the_pages_runs(server, name):
    program = PROGRAMS[name]
    for module in ('fastapi', 'redis'):
        if re.search(r'^(import|from) %s\b' % module, program, re.M):
            needs(module)
    assert play(program, server) or 'fastapi' in program


@pytest.mark.limit(110)
def test_an_application_of_fastapi_sells_the_last_lamp_once(server):
    needs('fastapi', 'httpx')
    program = FASTAPI + '''
import asyncio, httpx
async def main():
    async with lifespan(app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url='http://app') as http:
            replies = await asyncio.gather(*[http.post('/buy/lamp') for _ in range(20)])
    print(sorted({reply.status_code for reply in replies}), stock,
          sum('fence' in reply.json() for reply in replies))
asyncio.run(main())
'''
    assert play(program, server) == "[200, 409] {'lamp': 0} 1\n"


@pytest.mark.limit(110)
def test_workers_of_rq_run_a_job_once_at_a_time(server, client, tmp_path):
    needs('rq', 'redis')
    (tmp_path / 'jobs.py').write_text(RQ)
    program = '''
import os, redis, rq, jobs
there = redis.Redis.from_url(os.environ["DIBS_URL"])
queue = rq.Queue(connection=there)
made = [queue.enqueue(jobs.rebuild_report, month) for month in ('10', '11')]
rq.Worker([queue], connection=there).work(burst=True, logging_level='ERROR')
print([job.return_value().split(',')[0] for job in made])
'''
    with client.lock('report:10'):
        out = play(program.replace('import os', 'import warnings; warnings.simplefilter("ignore"); '
                                   'import os', 1), server, str(tmp_path))
    assert out.splitlines()[-1] == "['another worker rebuilds 10', 'rebuilt 11']"


def test_each_status_has_an_exception():
    values = {getattr(lib, name) for name in dir(lib)
              if name.startswith('DIBS_ERR_') and isinstance(getattr(lib, name), int)}
    values |= set(range(lib.DIBS_BUSY, lib.DIBS_FENCED + 1))
    assert values == set(errors.BY_STATUS)
    assert {kind.__name__ for kind in errors.BY_STATUS.values()} <= set(dibs.__all__)


# Public functions that the package does not call, by the reason.
NOT_NEEDED = {
    'a wait is cancelled by Ctrl-C, or with its task, through its request':
        re.compile('dibs_cancel|dibs_canceller_(new|free)'),
    'the same call under another name':
        re.compile('dibs_list_names|dibs_(try_)?lock|dibs_lock_async'),
    'descriptors of one hold or observer: on_lost, hold.lost and callbacks are there instead':
        re.compile('dibs_hold_fd|dibs_observer_(fd|next)'),
    'the private server and deployments for tests: dibs local, dibs sandbox':
        re.compile('dibs_local_.*|dibs_sandbox_.*'),
    'for administrators: dibs acl, dibs doctor': re.compile(
        'dibs_acl_line|dibs_examine|dibs_function_library'),
    'totals of all clients: dibs metrics, dibs top, dibs history':
        re.compile('dibs_fleet_(read|free|change)|dibs_history_.*'),
    'what was set, and what exceptions have already':
        re.compile('dibs_client_call_timeout|dibs_full_url|dibs_status_(name|is_lost)')}


def package_text():
    folder = os.path.dirname(dibs.__file__)
    found = [os.path.join(place, file) for place, _, files in os.walk(folder) for file in files
             if file.endswith('.py')]
    return ''.join(open(path, encoding='utf-8').read() for path in found)


def test_each_public_function_is_called_or_has_a_reason():
    public = set()
    for name in ('symbols.txt', 'symbols-data.txt'):
        with open(os.path.join(ROOT, 'test/abi', name), encoding='utf-8') as listed:
            public |= set(re.findall(r'^dibs_\w+', listed.read(), re.M))
    called = set(re.findall(r'\b_?lib\.(dibs_\w+)', package_text())) & public
    without = {name: [why for why, names in NOT_NEEDED.items() if names.fullmatch(name)]
               for name in public - called}
    assert len(public) > 130 and [n for n, why in without.items() if len(why) != 1] == []
    for why, names in NOT_NEEDED.items():
        assert any(names.fullmatch(name) for name in without), why


def fields(struct, *without):
    return {re.sub('_ms$', '', name) for name, _ in ffi.typeof(struct).fields} - {
        'size', 'flags', *without}


def test_each_option_of_the_library_can_be_set():
    assert fields('dibs_options', 'allocator', 'on_event_data', 'on_event_free') == \
        set(dibs.ClientOptions.__annotations__)
    assert fields('dibs_lock_options', 'owner', 'owner_size', 'cancel', 'on_lost_data',
                  'on_lost_free', 'on_change_data', 'on_change_free', 'reserved') <= set(dibs.LockOptions.__annotations__)


def test_the_asyncio_client_has_the_calls_of_the_blocking_one():
    for plain, looped in ((dibs.Client, dibs.aio.Client), (dibs.Lock, dibs.aio.Lock),
                          (dibs.Hold, dibs.aio.Hold), (dibs.Semaphore, dibs.aio.Semaphore),
                          (dibs.Latch, dibs.aio.Latch), (dibs.Barrier, dibs.aio.Barrier),
                          (dibs.RateLimiter, dibs.aio.RateLimiter), (dibs.Set, dibs.aio.Set),
                          (dibs.Election, dibs.aio.Election), (dibs.Guarded, dibs.aio.Guarded),
                          (dibs.Leadership, dibs.aio.Leadership), (dibs.List, dibs.aio.List)):
        missing = {name for name in dir(plain) if not name.startswith('_')} - set(dir(looped))
        assert missing <= {'each_lock', 'detects_deadlock'}, (plain, missing)


def test_each_public_name_has_a_docstring():
    for module in (dibs, dibs.aio):
        for name in module.__all__:
            kind = getattr(module, name)
            assert kind.__doc__, name
            for part, value in vars(kind).items():
                if not part.startswith('_') and callable(value) and 'dibs' in value.__module__:
                    assert value.__doc__, '%s.%s' % (name, part)


@pytest.mark.limit(400)
@pytest.mark.parametrize('checker', ['mypy', 'pyright'])
def test_the_types_are_right(checker, tmp_path):
    needs(checker)
    use = tmp_path / 'use.py'
    use.write_text('import dibs\nimport dibs.aio\n\nclient = dibs.Client(note="x")\n'
                   'with client.lock("a", wait=5.0) as hold:\n    fence: int = hold.fence\n\n\n'
                   'async def main(own: dibs.aio.Client) -> int:\n'
                   '    async with own.semaphore("s", 2) as two:\n        return two.units\n')
    package = os.path.dirname(dibs.__file__)
    if checker == 'mypy':
        words = ['mypy', '--strict', '--cache-dir', str(tmp_path / 'cache'), package, str(use)]
    else:
        # It ignores paths that are not below its configuration. Private names are of the package.
        shutil.copytree(package, tmp_path / 'dibs')
        (tmp_path / 'pyrightconfig.json').write_text(
            '{"typeCheckingMode": "strict", "include": ["dibs", "use.py"], '
            '"reportMissingModuleSource": false, "reportPrivateUsage": false}')
        words = ['pyright', '-p', str(tmp_path), '--pythonpath', sys.executable, '--stats']
    done = subprocess.run([sys.executable, '-m', *words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=dict(os.environ, MYPYPATH=os.path.dirname(
                              package)))
    if 'nodeenv' in done.stdout and done.returncode != 0:
        pytest.skip('pyright cannot have its node')
    assert done.returncode == 0, done.stdout
    files = re.search(r'(?:checked: *|issues found in )(\d+)', done.stdout)
    assert files and int(files.group(1)) > 30, done.stdout
