#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where long has 32 bits and time_t 64, a blocked call sleeps as long as it is to: futex_timeout.c,
as a 32-bit program.

    futex_timeout.py ROOT GENERATED

Speaks TAP. Needs no 32-bit compiler, only the libraries (Debian: libc6-dev-i386, lib32gcc-s1).
"""
import os
import subprocess
import sys
import tempfile

import syntax

LIBRARIES = '/usr/lib32'


def main():
    root, generated = sys.argv[1:]
    of_it = [os.path.join(LIBRARIES, name)
             for name in ('crt1.o', 'crti.o', 'libgcc_s.so.1', 'crtn.o')]
    words, missing = syntax.compiler_of('32_bit')
    lost = [path for path in of_it if not os.path.exists(path)]
    if missing or lost:
        reason = missing or f'no {lost[0]} (Debian: libc6-dev-i386, lib32gcc-s1)'
        print(f'1..0 # SKIP {reason}')
        return 0
    print('1..2')
    failures = 0
    folders = [word for folder in ('src', 'include') for word in ('-I', os.path.join(root, folder))]
    with tempfile.TemporaryDirectory(prefix='dibs-futex-') as place:
        program = os.path.join(place, 'program')
        for number, bits in enumerate((32, 64), 1):
            made = subprocess.run(
                [*words, '-std=c11', '-D_GNU_SOURCE', '-D_FILE_OFFSET_BITS=64',
                 f'-D_TIME_BITS={bits}', '-fno-pie', '-no-pie', '-fno-stack-protector', *folders,
                 '-I', generated, '-nostdlib', of_it[0], of_it[1], '-o', program,
                 os.path.join(root, 'test/portable/futex_timeout.c'), '-L', LIBRARIES, '-lc',
                 *of_it[2:], '-Wl,--unresolved-symbols=ignore-all'],
                capture_output=True, text=True, check=False)
            done = made
            if made.returncode == 0:
                done = subprocess.run([program], capture_output=True, text=True, check=False)
            failures += done.returncode != 0
            print(f"{'not ok' if done.returncode else 'ok'} {number} - time_t of {bits} bits")
            for line in (done.stdout + done.stderr).splitlines():
                print(f'# {line}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
