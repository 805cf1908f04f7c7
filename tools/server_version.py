#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints which server program the tests use, by the search of src/local/server_program.c:
its name, its version and its path; "none" where there is none, with exit status 1."""
import os
import re
import shutil
import subprocess
import sys

NAMES = ('valkey-server', 'redis-server', 'redict-server', 'keydb-server', 'valkey-check-rdb',
         'redis-check-rdb')


def find():
    """Path, and the name to call it by; (None, None): there is none."""
    chosen = os.environ.get('DIBS_SERVER')
    for name in (chosen,) if chosen else NAMES:
        path = shutil.which(name)
        if path:
            return path, os.path.basename(path).replace('-check-rdb', '-server')
    return None, None


def version(path, name):
    """ "Redis server 7.0.15" """
    done = subprocess.run([name, '--version'], executable=path, capture_output=True, text=True,
                          check=False)
    found = re.match(r'(.*?) v=([0-9][^ ]*)', done.stdout)
    return f'{found.group(1)} {found.group(2)}' if found else f'{name} of unknown version'


def main():
    path, name = find()
    if path is None:
        print('none')
        return 1
    print(f'{version(path, name)}, {path}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
