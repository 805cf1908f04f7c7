#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every source file of the library and of the command compiles as on another kind of machine.

    syntax.py KIND ROOT GENERATED...

KIND  musl           another C library: musl-gcc (Debian: musl-tools) refuses a function that musl
                     does not declare
      unsigned_char  char has no sign, as on ARM
      32_bit         pointers and long have 32 bits (Debian: libc6-dev-i386)

GENERATED: folders of generated files. The compiler checks the syntax and the project's warnings.
Headers of other libraries come from the system. Speaks TAP.
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


WARNINGS = ['-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Wcast-qual']


def compiler_of(kind):
    """The words of the compiler, and why it cannot be used."""
    if kind == 'musl':
        return (['musl-gcc', '-Wall', *system_headers()],
                '' if shutil.which('musl-gcc') else 'no musl-gcc (Debian: musl-tools)')
    if shutil.which('gcc') is None:
        return [], 'gcc is not installed'
    # GCC notes on i386 what its versions before 11 aligned otherwise.
    words = ['gcc', '-m32' if kind == '32_bit' else '-funsigned-char', '-Wno-psabi', *WARNINGS,
             *system_headers()]
    tried = subprocess.run([*words, '-fsyntax-only', '-x', 'c', '-'], input='#include <stdlib.h>',
                           capture_output=True, text=True, check=False)
    return words, (f'gcc {words[1]} has no headers (Debian: libc6-dev-i386)'
                   if tried.returncode != 0 else '')


def main():
    kind, root, generated = sys.argv[1], sys.argv[2], sys.argv[3:]
    words, missing = compiler_of(kind)
    if missing:
        print(f'1..0 # SKIP {missing}')
        return 0
    words += ['-std=c11', '-D_GNU_SOURCE', '-DTLS_LIBRARY=""', '-fsyntax-only', '-Werror']
    for folder in [os.path.join(root, 'include'), os.path.join(root, 'src'), *generated]:
        words += ['-I', folder]
    sources = sorted(path for folder in [os.path.join(root, 'src'), *generated]
                     for path in glob.glob(os.path.join(folder, '*/**/*.c'), recursive=True))

    def complaints(source):
        done = subprocess.run([*words, source], capture_output=True, text=True, check=False)
        return done.stderr or 'failed without a word' if done.returncode != 0 else ''

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(complaints, sources))
    print(f'1..{len(sources)}')
    for number, (source, said) in enumerate(zip(sources, results), 1):
        print(f"{'not ok' if said else 'ok'} {number} - {os.path.relpath(source, root)}, {kind}")
        for line in said.splitlines():
            print(f'# {line}')
    return 1 if any(results) or not sources else 0


if __name__ == '__main__':
    sys.exit(main())
