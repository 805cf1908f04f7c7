# SPDX-License-Identifier: MIT
"""test_mutants.py - the tests find what is broken on purpose in a copy of the package."""
import os
import re
import shutil
import subprocess
import sys

import pytest

import dibs

HERE = os.path.dirname(os.path.abspath(__file__))
MUTANTS = [
    ('wait is ignored', 'options.py', r"to_ms\(given\.get\('wait'\), int\(lib\.DIBS_FOREVER\), 'wait'\)",
     'int(lib.DIBS_FOREVER)', 'test_lock.py::test_a_wait_that_is_over_is_timed_out'),
    ('Ctrl-C cancels nothing', 'call.py', r'    _cancel\(request\[0\], is_over, turn\)', '    pass',
     'test_process.py::test_sigint_ends_each_wait_and_leaves_no_queue_entry'),
    ('a cancelled task cancels nothing', 'aio/request.py',
     r'lib\.dibs_request_cancel\(handle\[0\]\)', 'pass',
     'test_aio.py::test_a_cancelled_task_leaves_no_queue_entry'),
    ('leaving is silent about a loss', 'hold.py', r'status = lib\.dibs_release\(self\._handle\)',
     'status = 0 * lib.dibs_release(self._handle)',
     'test_lock.py::test_a_loss_is_reported_and_leaving_raises_lost')]


@pytest.mark.parametrize('what, file, pattern, instead, test', MUTANTS,
                         ids=[mutant[0].replace(' ', '_') for mutant in MUTANTS])
def test_a_mutant_is_found(what, file, pattern, instead, test, tmp_path):
    package = tmp_path / 'dibs'
    shutil.copytree(os.path.dirname(dibs.__file__), package, symlinks=True)
    text, count = re.subn(pattern, instead, (package / file).read_text())
    assert count == 1, 'the mutant %r does not fit' % what
    (package / file).write_text(text)
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-x', '-p', 'no:cacheprovider',
         os.path.join(HERE, test)], timeout=28, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, PYTHONPATH=str(tmp_path), DIBS_TEST_LIMIT='2'))
    assert done.returncode == 1 and ' failed' in done.stdout, done.stdout
