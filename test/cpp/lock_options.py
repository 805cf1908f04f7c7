#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs::lock_options has every field of dibs_lock_options.

    lock_options.py ROOT

Speaks TAP.
"""
import os
import re
import sys

# Arguments of the calls in C++, and what carries on_lost and on_change (loss.hpp).
ELSEWHERE = {'size', 'wait_ms', 'on_lost', 'on_lost_data', 'on_lost_free', 'on_change',
             'on_change_data', 'on_change_free', 'reserved'}


def read(root, name):
    with open(os.path.join(root, 'include/dibs', name), encoding='utf-8') as file:
        return re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S)


def main():
    header, classes = read(sys.argv[1], 'lock.h'), read(sys.argv[1], 'hold.hpp')
    body = re.search(r'typedef struct dibs_lock_options \{(.*?)\}', header, re.S).group(1)
    fields = set(re.findall(r'(\w+);', body))
    maker = re.search(r'dibs_lock_options c_options\(.*?\n\}', classes, re.S).group(0)
    missing = sorted(fields - ELSEWHERE - set(re.findall(r'\bc\.(\w+) =', maker)))
    print('1..1')
    for field in missing:
        print(f'# {field}: dibs::lock_options does not have it, or c_options() leaves it out')
    is_fine = not missing and len(fields) > 12
    print(f"{'' if is_fine else 'not '}ok 1 - lock_options has every field of dibs_lock_options")
    return 0 if is_fine else 1


if __name__ == '__main__':
    sys.exit(main())
