#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""build_dibs.py - the extension module dibs._dibs: cffi in API mode, stable ABI.

Its declarations are read from the public headers, so that there is no second list of them.
setup.py runs it through cffi; the tests of the tree run it as a program:
  build_dibs.py --include DIRECTORY --library DIRECTORY [--depfile FILE] OUTPUT
"""
import argparse
import os
import re
import subprocess
import sys
import sysconfig

import cffi

# In the order of their includes; the package uses no others.
HEADERS = ('status', 'version', 'client', 'lock', 'inspect', 'async', 'acquire', 'rwlock',
           'semaphore', 'many', 'latch', 'barrier', 'rate', 'election', 'value', 'data',
           'guard', 'map', 'list', 'set', 'log', 'fleet', 'metrics', 'names')

# All of them find their receiver by the number in the last argument: dibs/callbacks.py.
CALLBACKS = """
extern "Python" void dibs_py_event(const dibs_event *, void *);
extern "Python" void dibs_py_line(const dibs_log_line *, void *);
extern "Python" void dibs_py_done(void *);
extern "Python" void dibs_py_lost(dibs_hold *, const dibs_loss *, void *);
extern "Python" void dibs_py_changed(dibs_hold *, const dibs_hold_info *, dibs_change, void *);
extern "Python" void dibs_py_locked(const dibs_error *, dibs_hold *, void *);
extern "Python" void dibs_py_over(const dibs_error *, void *);
extern "Python" void dibs_py_number(const dibs_error *, int64_t, void *);
extern "Python" void dibs_py_passed(const dibs_error *, const dibs_barrier_info *, void *);
extern "Python" void dibs_py_leader(const dibs_error *, const dibs_leader *, void *);
extern "Python" bool dibs_py_inspected(const dibs_inspection *, void *);
extern "Python" bool dibs_py_entry(dibs_bytes, dibs_bytes, void *);
extern "Python" bool dibs_py_element(uint64_t, dibs_bytes, void *);
extern "Python" bool dibs_py_member(dibs_bytes, void *);
extern "Python" bool dibs_py_text(const char *, size_t, void *);
"""

# What ffi.gc() calls, without Python code in which a signal could be raised, and lost.
ENDED = """
static void dibs_py_ended(dibs_hold *hold) { (void)dibs_release_async(hold, NULL, NULL); }
"""

# A Python without a GIL has no stable ABI (yet): there the extension is for that version alone.
STABLE_ABI = not sysconfig.get_config_var('Py_GIL_DISABLED')


def without_comments(text):
    return re.sub(r'/\*.*?\*/', '', text, flags=re.S)


def constants(text):
    """#define NAME NUMBER of a header; the compiler computes the value."""
    return re.findall(r'^#define (DIBS_\w+) +(?:\(?-?(?:0x)?[0-9a-fA-F]+u?\)?|U?INT32_MAX)[ \t]*$',
                      text, flags=re.M)


def declarations(header):
    """What cffi can parse of the text of a header."""
    text = without_comments(header)
    lines = ['#define %s ...' % name for name in constants(text)]
    text = re.sub(r'^#ifdef __cplusplus\n.*?^#endif\n', '', text, flags=re.S | re.M)
    text = re.sub(r'^#(?:.*\\\n)*.*\n', '', text, flags=re.M)
    text = re.sub(r'^static inline [^{]*\{.*?^\}\n', '', text, flags=re.S | re.M)
    text = re.sub(r'\bDIBS_(?:API|MUST_CHECK)\b', '', text)
    text = re.sub(r'\[(?:\w+ \+ 1|DIBS_\w+)\]', '[...]', text)
    return '\n'.join(lines) + '\n' + re.sub(r'\n\s*\n+', '\n', text)


def header_paths(include):
    return [os.path.join(include, 'dibs', name + '.h') for name in HEADERS]


def cdef(include):
    parts = []
    for path in header_paths(include):
        with open(path, encoding='utf-8') as header:
            parts.append(declarations(header.read()))
    return ''.join(parts) + CALLBACKS + 'void dibs_py_ended(dibs_hold *);\n'


def flags(include, library):
    """Where headers and library are: as given, else as pkg-config says. A library outside
    the system's directories is found at run time, too."""
    if include and library:
        return include, {'library_dirs': [library], 'runtime_library_dirs': [library]}
    try:
        found = [subprocess.check_output(['pkg-config', '--variable=' + v, 'dibs-data'], text=True,
                                         stderr=subprocess.DEVNULL).strip()
                 for v in ('includedir', 'libdir')]
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit('dibs: the C library is needed: pkg-config finds no dibs-data.pc. Install '
                         'libdibs, or set PKG_CONFIG_PATH to the directory of its dibs-data.pc.')
    where = {'library_dirs': [found[1]]}
    if found[1] not in ('/usr/lib', '/lib'):
        where['runtime_library_dirs'] = [found[1]]
    return found[0], where


def builder(include=None, library=None):
    include, where = flags(include, library)
    ffi = cffi.FFI()
    ffi.cdef(cdef(include))
    includes = ''.join('#include <dibs/%s.h>\n' % h for h in HEADERS)
    ffi.set_source('dibs._dibs', includes + ENDED, libraries=['dibs-data', 'dibs'],
                   include_dirs=[include], py_limited_api=STABLE_ABI,
                   define_macros=[('Py_LIMITED_API', '0x03090000')] if STABLE_ABI else [], **where)
    return ffi


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--include', required=True)
    parser.add_argument('--library', required=True)
    parser.add_argument('--depfile', help='written for ninja: the headers that were read')
    parser.add_argument('output')
    given = parser.parse_args()
    made = builder(os.path.abspath(given.include), os.path.abspath(given.library)).compile(
        tmpdir=os.path.dirname(os.path.abspath(given.output)), target='dibs/_dibs.abi3.so')
    if os.path.abspath(made) != os.path.abspath(given.output):
        os.replace(made, given.output)
    if given.depfile:
        with open(given.depfile, 'w', encoding='utf-8') as file:
            file.write('%s: %s\n' % (given.output, ' '.join(header_paths(given.include))))


if __name__ == '__main__':
    sys.exit(main())
