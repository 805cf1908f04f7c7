#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every public header compiles alone, without a warning, in each language people use.
Programs of 0.5 (test/header/old_examples) compile by dibs/compat-0.5.h, which says once that it is
in use.

    headers.py ROOT [--more]

Compiles each header by itself and test/header/every_macro.c with gcc; with --more instead with
clang, and the adapters, which need libraries of others, with both. Speaks TAP.
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

LANGUAGES = [
    ('c', ['gcc', 'clang'], ['c99', 'c11', 'c17']),
    ('c++', ['g++', 'clang++'], ['c++11', 'c++17', 'c++20']),
]
# Which headers a standard can read: those of C++ want C++17.
KINDS = {'c99': '.h', 'c11': '.h', 'c17': '.h', 'c++11': '.h', 'c++17': ('.h', '.hpp'),
         'c++20': ('.h', '.hpp')}
# What a header in dibs/adapters needs: a module of pkg-config, or a header.
ADAPTERS = {'glib.h': 'glib-2.0', 'libev.h': 'ev.h', 'libevent.h': 'libevent', 'libuv.h': 'libuv',
            'sd-event.h': 'libsystemd', 'boost_asio.hpp': 'boost/asio.hpp'}
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Wundef',
            '-Werror']


def library_flags(library):
    """How a compiler finds a library; None: it is not here."""
    if library.endswith(('.h', '.hpp')):
        return [] if os.path.exists(f'/usr/include/{library}') else None
    if shutil.which('pkg-config') is None:
        return None
    result = subprocess.run(['pkg-config', '--cflags', library], capture_output=True, text=True)
    return result.stdout.replace('-I', '-isystem ').split() if result.returncode == 0 else None


def compile_text(compiler, language, standard, include, text, flags=()):
    """Returns the complaints, '' for none."""
    result = subprocess.run(
        [compiler, '-x', language, f'-std={standard}', *WARNINGS, '-fsyntax-only',
         '-I', include, *flags, '-'], input=text, capture_output=True, text=True)
    return '' if result.returncode == 0 else result.stderr or 'failed without a word'


def macros_defined(include):
    """The names of all macros the headers define, but for their guards."""
    for name in sorted(os.listdir(os.path.join(include, 'dibs'))):
        if not name.endswith('.h') or name == 'compat-0.5.h':
            continue
        with open(os.path.join(include, 'dibs', name), encoding='utf-8') as header:
            for macro in re.findall(r'^#define (\w+)', header.read(), re.M):
                if macro != 'DIBS_' + re.sub(r'\W', '_', name[:-2]).upper() + '_H':
                    yield macro


def cases(root, is_more):
    include = os.path.join(root, 'include')
    names = sorted(os.listdir(os.path.join(include, 'dibs')))
    with open(os.path.join(root, 'test/header/every_macro.c'), encoding='utf-8') as source:
        every_macro = source.read()
    for language, compilers, standards in LANGUAGES:
        for compiler in compilers if is_more else compilers[:1]:
            if shutil.which(compiler) is None:
                yield f'{compiler} # SKIP not installed', None
                continue
            is_plain = compiler.startswith('clang') == is_more
            for standard in standards:
                how = (compiler, language, standard, include)
                for header in names if is_plain else []:
                    if not header.endswith(KINDS[standard]):
                        continue
                    text = f'#include <dibs/{header}>\n#include <dibs/{header}>\n'
                    text += 'extern int not_empty;\n'
                    yield f'{header} alone with {compiler} -std={standard}', (*how, text)
                adapters = os.listdir(os.path.join(include, 'dibs/adapters')) if is_more else []
                for adapter in sorted(adapters):
                    if not adapter.endswith(KINDS[standard]):
                        continue
                    flags = library_flags(ADAPTERS[adapter])
                    name = f'adapters/{adapter} alone with {compiler} -std={standard}'
                    if flags is None:
                        yield f'{name} # SKIP {ADAPTERS[adapter]} is not installed', None
                        continue
                    text = f'#include <dibs/adapters/{adapter}>\nextern int not_empty;\n'
                    yield name, (*how, text, ['-D_POSIX_C_SOURCE=200809L', *flags])
                if is_plain:
                    yield f'every macro with {compiler} -std={standard}', (*how, every_macro)


def old_programs(root):
    """(name, what is wrong with it) for each."""
    folder = os.path.join(root, 'test/header/old_examples')
    for program in sorted(os.listdir(folder)):
        for standard in ('c99', 'c17'):
            done = subprocess.run(
                ['gcc', f'-std={standard}', *WARNINGS, '-fsyntax-only', '-I',
                 os.path.join(root, 'include'), '-D_POSIX_C_SOURCE=200809L', '-include',
                 'dibs/compat-0.5.h', os.path.join(folder, program)],
                capture_output=True, text=True)
            notes = done.stderr.count('note: ')
            yield (f'{program} of 0.5 with gcc -std={standard}',
                   done.stderr if done.returncode != 0 else
                   '' if notes == 1 else f'{notes} notes: {done.stderr}')


def main():
    root = sys.argv[1]
    todo = list(cases(root, '--more' in sys.argv[2:]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda c: compile_text(*c[1]) if c[1] else '', todo))
    with open(os.path.join(root, 'test/header/every_macro.c'), encoding='utf-8') as source:
        every_macro = source.read()
    unused = [m for m in macros_defined(os.path.join(root, 'include'))
              if not re.search(rf'\b{m}\b', every_macro)]
    todo.append(('every_macro.c names every macro of the headers', None))
    results.append(f'not named: {unused}' if unused else '')
    for name, complaint in [] if '--more' in sys.argv[2:] else old_programs(root):
        todo.append((name, None))
        results.append(complaint)
    print(f'1..{len(todo)}')
    for number, ((name, _), complaint) in enumerate(zip(todo, results), 1):
        mark = '' if '# SKIP' in name else '- '
        print(f"{'not ok' if complaint else 'ok'} {number} {mark}{name}")
        for line in complaint.splitlines():
            print(f'# {line}')
    return 1 if any(results) else 0


if __name__ == '__main__':
    sys.exit(main())
