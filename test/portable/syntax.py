#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every source file of the library and of the command compiles against musl's headers.

    musl.py ROOT GENERATED...

GENERATED: folders of generated headers. musl-gcc (Debian: musl-tools) checks the syntax, and
refuses a function that musl does not declare. Headers of other libraries come from the system,
after musl's own. Speaks TAP.
"""
import glob
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def system_headers():
    """Where the compiler of this machine looks, last."""
    said = subprocess.run(['cc', '-print-multiarch'], capture_output=True, text=True, check=False)
    folders = ['/usr/include', os.path.join('/usr/include', said.stdout.strip())]
    return [word for folder in folders for word in ('-idirafter', folder)]


def main():
    root, generated = sys.argv[1], sys.argv[2:]
    if shutil.which('musl-gcc') is None:
        print('1..0 # SKIP musl-gcc is not installed (Debian: musl-tools)')
        return 0
    words = ['musl-gcc', '-std=c11', '-D_GNU_SOURCE', '-fsyntax-only', '-Wall', '-Werror']
    for folder in [os.path.join(root, 'include'), os.path.join(root, 'src'), *generated]:
        words += ['-I', folder]
    words += system_headers()
    sources = sorted(glob.glob(os.path.join(root, 'src/*/**/*.c'), recursive=True))

    def complaints(source):
        done = subprocess.run([*words, source], capture_output=True, text=True, check=False)
        return done.stderr or 'failed without a word' if done.returncode != 0 else ''

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(complaints, sources))
    print(f'1..{len(sources)}')
    for number, (source, said) in enumerate(zip(sources, results), 1):
        print(f"{'not ok' if said else 'ok'} {number} - {os.path.relpath(source, root)} with musl")
        for line in said.splitlines():
            print(f'# {line}')
    return 1 if any(results) or not sources else 0


if __name__ == '__main__':
    sys.exit(main())
