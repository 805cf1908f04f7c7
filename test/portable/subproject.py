#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Another project builds dibs as a part of itself: Meson by a wrap, CMake by FetchContent.

    subproject.py ROOT

Both take the files of the work tree that git knows. Speaks TAP.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
PROGRAMS = [os.path.join(ROOT, 'test/abi/outside', name) for name in ('program.c', 'data.c')]
MESON = """project('outside', 'c')
executable('program', 'program.c', dependencies: dependency('dibs'))
executable('data', 'data.c', dependencies: dependency('dibs-data'))
"""
WRAP = """[wrap-file]
directory = dibs

[provide]
dependency_names = dibs, dibs-data
"""
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(outside C)
include(FetchContent)
FetchContent_Declare(dibs SOURCE_DIR "${CMAKE_SOURCE_DIR}/dibs")
FetchContent_MakeAvailable(dibs)
add_executable(program program.c)
target_link_libraries(program PRIVATE dibs::dibs)
add_executable(data data.c)
target_link_libraries(data PRIVATE dibs::data)
"""


class Failed(Exception):
    pass


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise Failed(f'{words}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}')
    return done.stdout


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def copy_tree(to):
    names = run('git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
    for name in names.rstrip('\0').split('\0'):
        if os.path.isfile(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(to, name))


def says_ok(program, place):
    said = run(program, env=dict(os.environ, XDG_RUNTIME_DIR=place)).split()
    if said[-1:] != ['DIBS_OK']:
        raise Failed(f'{program} said {said}')


def by_a_meson_wrap(place):
    write(os.path.join(place, 'meson.build'), MESON)
    write(os.path.join(place, 'subprojects/dibs.wrap'), WRAP)
    copy_tree(os.path.join(place, 'subprojects/dibs'))
    build = os.path.join(place, 'build')
    run('meson', 'setup', build, place, '--force-fallback-for=dibs')
    made = run('ninja', '-C', build, '-t', 'targets', 'all')
    unwanted = [line for line in made.splitlines() if '_test.p/' in line or 'dibs-sim.so' in line]
    if unwanted:
        raise Failed('a part of another project builds more than it needs: ' + unwanted[0])
    run('ninja', '-C', build, 'program', 'data')
    says_ok(os.path.join(build, 'program'), place)
    says_ok(os.path.join(build, 'data'), place)


def by_cmake_fetch_content(place):
    write(os.path.join(place, 'CMakeLists.txt'), CMAKE)
    copy_tree(os.path.join(place, 'dibs'))
    build = os.path.join(place, 'build')
    run('cmake', '-S', place, '-B', build, '-G', 'Ninja')
    run('cmake', '--build', build)
    says_ok(os.path.join(build, 'program'), place)
    says_ok(os.path.join(build, 'data'), place)


def main():
    # Objects of the run before: the folder differs each time, the paths within it do not.
    if shutil.which('ccache') is not None:
        os.environ.update(CC='ccache ' + os.environ.get('CC', 'cc').split()[-1],
                          CCACHE_NOHASHDIR='1')
    cases = [('meson', by_a_meson_wrap), ('cmake', by_cmake_fetch_content)]
    print(f'1..{len(cases)}')
    failures = 0
    for number, (needs, case) in enumerate(cases, 1):
        if shutil.which(needs) is None or shutil.which('git') is None:
            print(f'ok {number} - {case.__name__} # SKIP {needs} or git is not installed')
            continue
        with tempfile.TemporaryDirectory(prefix='dibs-outside-') as place:
            for program in PROGRAMS:
                shutil.copy(program, place)
            try:
                case(place)
                print(f'ok {number} - {case.__name__}')
            except Failed as failure:
                failures += 1
                print(f'not ok {number} - {case.__name__}')
                for line in str(failure).splitlines():
                    print(f'# {line}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
