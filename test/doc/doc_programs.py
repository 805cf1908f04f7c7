#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs in the pages compile as they stand and run.

    doc_programs.py ROOT DIBS LIBDIR CC...

Takes each ```c or ```cpp block with a main() and each ```sh block out of README.md and
doc/guide/*.md. A C program is compiled without any addition, with warnings as errors, as
C99 and as C11, a C++ one as C++17 and as C++20, and must end with 0; a shell block must
end with 0 under `sh -eu`. All run in a sandbox of their own, but those over <dibs/sim.h>,
which are linked with libdibs-sim where it was built, and need no server. Speaks TAP.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BLOCK = re.compile(r'^```(c|cpp|sh)\n(.*?)^```$', re.M | re.S)
FLAGS = ['-D_POSIX_C_SOURCE=200809L', '-Wall', '-Wextra', '-Wpedantic', '-Wshadow',
         '-Werror']


def blocks(root):
    """Yields (name, language, text) of every block that is to be run."""
    pages = [os.path.join(root, 'README.md')]
    pages += sorted(glob.glob(os.path.join(root, 'doc/guide/*.md')))
    for page in pages:
        with open(page, encoding='utf-8') as file:
            text = file.read()
        for match in BLOCK.finditer(text):
            language, code = match.groups()
            if language == 'sh' or re.search(r'\bint main\(', code):
                line = text.count('\n', 0, match.start()) + 1
                yield f'{os.path.relpath(page, root)}:{line}', language, code


def run(words, environment):
    done = subprocess.run(words, env=environment, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    if done.returncode == 0:
        return ''
    return f'exit {done.returncode}: {words}\n{done.stdout}{done.stderr}'


class Runner:
    def __init__(self, root, dibs, libdir, compiler, place):
        self.root, self.dibs, self.libdir = root, dibs, libdir
        self.compiler, self.place = compiler, place
        self.simdir = os.path.join(libdir, 'sim/world')
        self.environment = dict(os.environ, LD_LIBRARY_PATH=libdir + ':' + self.simdir)
        self.environment['PATH'] = os.path.dirname(dibs) + ':' + os.environ['PATH']
        for name in ('DIBS_URL', 'VALKEY_URL', 'REDIS_URL', 'DIBS_HELD'):
            self.environment.pop(name, None)

    def in_sandbox(self, words):
        return run([self.dibs, 'sandbox', '--', *words], self.environment)

    def c(self, code):
        source = os.path.join(self.place, 'program.c')
        program = os.path.join(self.place, 'program')
        is_sim = '<dibs/sim.h>' in code
        library = ['-L', self.libdir, '-ldibs-data', '-ldibs']
        if is_sim:
            library = ['-L', self.simdir, '-ldibs-sim']
            if not glob.glob(os.path.join(self.simdir, 'libdibs-sim.*')):
                return ''
        with open(source, 'w', encoding='utf-8') as file:
            file.write(code)
        for standard in ('c99', 'c11'):
            complaint = run([*self.compiler, f'-std={standard}', *FLAGS, '-I',
                             os.path.join(self.root, 'include'), '-o', program, source,
                             *library], self.environment)
            if complaint:
                return complaint
        return run([program], self.environment) if is_sim else self.in_sandbox([program])

    def cpp(self, code):
        compiler = os.environ.get('CXX') or shutil.which('c++') or shutil.which('g++')
        if compiler is None:
            return ''
        source = os.path.join(self.place, 'program.cpp')
        program = os.path.join(self.place, 'program')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(code)
        for standard in ('c++17', 'c++20'):
            complaint = run([compiler, f'-std={standard}', *FLAGS, '-I',
                             os.path.join(self.root, 'include'), '-o', program, source,
                             '-L', self.libdir, '-ldibs-data', '-ldibs', '-pthread'],
                            self.environment)
            complaint = complaint or self.in_sandbox([program])
            if complaint:
                return complaint
        return ''

    def sh(self, code):
        return self.in_sandbox(['sh', '-euc', code])


def main():
    root, dibs, libdir = sys.argv[1:4]
    todo = list(blocks(root))
    failures = 0
    print(f'1..{len(todo) + 1}')
    with tempfile.TemporaryDirectory(prefix='dibs-doc-') as place:
        def complaint_of(number):
            folder = os.path.join(place, str(number))
            os.mkdir(folder)
            runner = Runner(root, os.path.abspath(dibs), os.path.abspath(libdir), sys.argv[4:],
                            folder)
            return getattr(runner, todo[number][1])(todo[number][2])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            complaints = list(pool.map(complaint_of, range(len(todo))))
        for number, (name, language, _) in enumerate(todo, 1):
            complaint = complaints[number - 1]
            failures += bool(complaint)
            print(f"{'not ok' if complaint else 'ok'} {number} - {name} ({language})")
            for line in complaint.splitlines():
                print(f'# {line}')
    is_whole = {'c', 'sh'} <= {language for name, language, _ in todo if 'README' in name}
    print(f"{'ok' if is_whole else 'not ok'} {len(todo) + 1} - the README has both")
    return 0 if is_whole and not failures else 1


if __name__ == '__main__':
    sys.exit(main())
