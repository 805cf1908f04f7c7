#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The installed package serves an outside project: pkg-config and CMake, both links.

    installed.py ROOT BUILD PREFIX LIBDIR

Installs BUILD under a DESTDIR in a temporary folder, builds test/abi/outside against
that alone, and runs it. Speaks TAP.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


# With a folder, or of a kind that is never installed without one.
NAMED_FILE = re.compile(r'(?<![\w/.:-])(?:[\w*-]+(?:/[\w*-]+)+\.(?:md|lua|c|py|hp?p?)'
                        r'|[\w*-]+\.(?:md|lua|py))\b')


class Installed:
    """Where the pieces are after the installation."""

    def __init__(self, root, build, prefix, libdir, place):
        self.outside = os.path.join(root, 'test/abi/outside')
        self.place = place
        self.prefix = os.path.join(place, 'dest', prefix.lstrip('/'))
        self.libdir = os.path.join(self.prefix, libdir)
        with open(os.path.join(root, 'include/dibs/version.h'), encoding='utf-8') as header:
            self.version = re.search(r'DIBS_VERSION "(.*)"', header.read()).group(1)
        self.compiler = shlex.split(os.environ.get('CC', 'cc'))
        run(['meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir',
             os.path.join(place, 'dest')])

    def environment(self):
        return dict(os.environ, LD_LIBRARY_PATH=self.libdir,
                    PKG_CONFIG_PATH=os.path.join(self.libdir, 'pkgconfig'))


class Failed(Exception):
    pass


def run(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Failed(f'{shlex.join(words)}: exit {done.returncode}\n'
                     f'{done.stdout[-2000:]}{done.stderr[-2000:]}')
    return done.stdout


def runs(program, installed, library):
    """Starts a program of the outside project and looks at what it says and loads: of the
    shared libraries of the package those in `library` alone, or none ('')."""
    environment = installed.environment()
    loaded = run(['ldd', program], env=environment)
    libraries = ('libdibs', 'libdibs-data', 'libdibs-sim')
    if [name for name in libraries if f'{name}.so' in loaded] != library.split():
        raise Failed(f'{program} loads:\n{loaded}')
    if not library:
        environment.pop('LD_LIBRARY_PATH')
    said = run([program], env=environment).split()
    if said[-1:] != ['DIBS_OK']:
        raise Failed(f'{program} said {said}')


def with_pkg_config(installed, is_static, package='dibs', source='program.c', library='libdibs'):
    options = ['--static'] if is_static else []
    flags = shlex.split(run(
        ['pkg-config', f'--define-variable=prefix={installed.prefix}', '--cflags', '--libs',
         *options, package], env=installed.environment()))
    if is_static:
        flags = [os.path.join(installed.libdir, f'lib{flag[2:]}.a')
                 if flag in ('-ldibs', '-ldibs-data') else flag for flag in flags]
    program = os.path.join(installed.place, f'pkg-{is_static}')
    run([*installed.compiler, '-Wall', '-Werror', '-o', program,
         os.path.join(installed.outside, source), *flags])
    runs(program, installed, '' if is_static else library)
    return program


def pkg_config_shared(installed):
    with_pkg_config(installed, False)


def pkg_config_static(installed):
    with_pkg_config(installed, True)


def data_shared(installed):
    with_pkg_config(installed, False, 'dibs-data', 'data.c', 'libdibs libdibs-data')


def data_static(installed):
    with_pkg_config(installed, True, 'dibs-data', 'data.c')


def two_versions_are_refused(installed):
    """A libdibs of another version of the same soname: the loader says so, nothing runs."""
    program = with_pkg_config(installed, False, 'dibs-data', 'data.c', 'libdibs libdibs-data')
    names = re.findall(r'(dibs_\w+)@(DIBS_\w+)', run(
        ['nm', '-D', program, os.path.join(installed.libdir, 'libdibs-data.so')]))
    with open(os.path.join(installed.outside, '../symbols.txt'), encoding='utf-8') as listed:
        public = listed.read().split()
    other = os.path.join(installed.place, 'other')
    os.makedirs(other)
    with open(os.path.join(other, 'libdibs.c'), 'w', encoding='utf-8') as source:
        source.write(''.join(f'void {name}(void);\nvoid {name}(void) {{}}\n' for name in
                             sorted({name for name, _ in names} | set(public))))
    with open(os.path.join(other, 'libdibs.map'), 'w', encoding='utf-8') as nodes:
        nodes.write('DIBS_0 { global: dibs_[!p]*; dibs_p[!r]*; dibs_pr[!i]*; };\n'
                    'DIBS_PRIVATE_0.0.0 { global: dibs_private_*; };\n')
    soname = 'libdibs.so.' + '.'.join(installed.version.split('.')[:2])
    run([*installed.compiler, '-shared', '-fPIC', '-o', os.path.join(other, soname),
         os.path.join(other, 'libdibs.c'), f'-Wl,-soname,{soname}',
         '-Wl,--version-script=' + os.path.join(other, 'libdibs.map')])
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=dict(
        installed.environment(), LD_LIBRARY_PATH=f'{other}:{installed.libdir}'))
    if done.returncode == 0 or 'DIBS_PRIVATE_' + installed.version not in done.stderr:
        raise Failed(f'exit {done.returncode}: {done.stdout}{done.stderr}')


def cpp_of_two_standards(installed):
    """One program, its parts compiled as C++17 and as C++20, by each compiler here."""
    compilers = [c for c in ('g++', 'clang++') if shutil.which(c)]
    if not compilers:
        return 'SKIP no C++ compiler is installed'
    flags = shlex.split(run(
        ['pkg-config', f'--define-variable=prefix={installed.prefix}', '--cflags', '--libs',
         'dibs'], env=installed.environment()))
    for compiler in compilers:
        objects = []
        for part, standard in (('program', 'c++17'), ('part', 'c++20')):
            objects.append(os.path.join(installed.place, f'{part}.o'))
            run([compiler, f'-std={standard}', '-Wall', '-Wextra', '-Wconversion', '-Werror',
                 '-c', '-o', objects[-1], os.path.join(installed.outside, f'{part}.cpp'),
                 *[flag for flag in flags if flag.startswith('-I')]])
        program = os.path.join(installed.place, 'cpp-program')
        run([compiler, '-pthread', '-o', program, *objects, *flags])
        runs(program, installed, 'libdibs')
    return ''


def cmake_both(installed):
    if shutil.which('cmake') is None:
        return 'SKIP cmake is not installed'
    build = os.path.join(installed.place, 'cmake')
    generator = ['-G', 'Ninja'] if shutil.which('ninja') else []
    run(['cmake', '-S', installed.outside, '-B', build, *generator,
         f'-DCMAKE_PREFIX_PATH={installed.prefix}'], env=installed.environment())
    run(['cmake', '--build', build])
    runs(os.path.join(build, 'with_shared'), installed, 'libdibs')
    runs(os.path.join(build, 'with_static'), installed, '')
    runs(os.path.join(build, 'with_data'), installed, 'libdibs libdibs-data')
    runs(os.path.join(build, 'with_data_static'), installed, '')
    if os.path.exists(os.path.join(build, 'with_cpp')):
        runs(os.path.join(build, 'with_cpp'), installed, 'libdibs')
    if os.path.exists(os.path.join(build, 'with_sim')) != has_sim(installed):
        raise Failed(f'COMPONENTS sim was found: {not has_sim(installed)}')
    if has_sim(installed):
        runs(os.path.join(build, 'with_sim'), installed, 'libdibs-sim')
    return ''


def has_sim(installed):
    return os.path.exists(os.path.join(installed.libdir, 'pkgconfig/dibs-sim.pc'))


def what_cmake_accepts(installed):
    """Before 1.0: the same minor version only, as the soname says; and ranges around it."""
    if shutil.which('cmake') is None:
        return 'SKIP cmake is not installed'
    major, minor, _ = (int(part) for part in installed.version.split('.'))
    wanted = {f'{major}.{minor}': True, installed.version: True,
              f'{installed.version} EXACT': True, f'{major}.{minor + 1}': False,
              f'{major}.{minor}.99': False, f'{major + 1}.0': False,
              f'{major}.{minor}...{major + 1}.0': True,
              f'{major}.{minor - 1}...<{major}.{minor}': False,
              f'{major}.{minor} COMPONENTS sim': has_sim(installed),
              f'{major}.{minor} COMPONENTS data': True,
              f'{major}.{minor} COMPONENTS nonsense': False}
    if major == 0:
        wanted[f'{major}.{minor - 1}'] = False
    said = run(['cmake', '-S', os.path.join(installed.outside, 'versions'), '-B',
                    os.path.join(installed.place, 'versions'),
                    f'-DCMAKE_PREFIX_PATH={installed.prefix}',
                    '-DREQUESTS=' + ';'.join(wanted)], env=installed.environment())
    found = {request: answer in ('1', 'TRUE') for request, answer
             in re.findall(r'^-- request (.*): (\w*)$', said, re.M)}
    if found != wanted:
        raise Failed(f'find_package: {found}\nwanted: {wanted}\n{said[-2000:]}')
    return ''


def a_simulated_program(installed):
    if not has_sim(installed):
        return 'SKIP libdibs-sim was not built'
    flags = shlex.split(run(
        ['pkg-config', f'--define-variable=prefix={installed.prefix}', '--cflags', '--libs',
         'dibs-sim'], env=installed.environment()))
    program = os.path.join(installed.place, 'simulated')
    run([*installed.compiler, '-std=c99', '-Wall', '-Wextra', '-Werror', '-o', program,
         os.path.join(installed.outside, 'simulated.c'), *flags])
    said = run([program], env=installed.environment()).split()
    if said[-1:] != ['DIBS_OK']:
        raise Failed(f'{program} said {said}')
    return ''


def what_the_headers_name_is_installed(installed):
    """Pages by their path in share/doc/dibs, headers by theirs; nothing else has a path."""
    pages = os.path.join(installed.prefix, 'share/doc/dibs')
    include = os.path.join(installed.prefix, 'include')
    missing = []
    headers = [os.path.relpath(os.path.join(folder, name), os.path.join(include, 'dibs'))
               for folder, _, names in os.walk(os.path.join(include, 'dibs')) for name in names]
    for name in sorted(headers):
        with open(os.path.join(include, 'dibs', name), encoding='utf-8') as header:
            text = re.sub(r'^#include.*', '', header.read(), flags=re.M)
        for path in set(NAMED_FILE.findall(text)):
            here = (os.path.join(pages, path[4:]) if path.startswith('doc/')
                    else os.path.join(include, path))
            if not os.path.exists(here):
                missing.append(f'{name}: {path}')
    if missing:
        raise Failed('\n'.join(missing))


def the_command_runs(installed):
    command = os.path.join(installed.prefix, 'bin/dibs')
    said = run([command, '--version'], env=installed.environment())
    if installed.version not in said:
        raise Failed(f'dibs --version said {said!r}')


def no_file_outside(installed):
    allowed = ('bin/', 'include/dibs/', os.path.relpath(installed.libdir, installed.prefix),
               'share/')
    for directory, _, names in os.walk(os.path.join(installed.place, 'dest')):
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), installed.prefix)
            if not path.startswith(allowed) or path.endswith('_parts.h'):
                raise Failed(f'{path} does not belong into an installation')


CASES = [pkg_config_shared, pkg_config_static, data_shared, data_static, two_versions_are_refused,
         cpp_of_two_standards, cmake_both,
         what_cmake_accepts, a_simulated_program,
         what_the_headers_name_is_installed, the_command_runs, no_file_outside]


def main():
    print(f'1..{len(CASES)}')
    failures = 0
    with tempfile.TemporaryDirectory(prefix='dibs-installed-') as place:
        try:
            installed, broken = Installed(*sys.argv[1:5], place), None
        except Failed as failure:
            installed, broken = None, failure
        for number, case in enumerate(CASES, 1):
            try:
                if broken:
                    raise broken
                note = case(installed) or ''
                print(f'ok {number} - {case.__name__}' + (f' # {note}' if note else ''))
            except Failed as failure:
                failures += 1
                print(f'not ok {number} - {case.__name__}')
                for line in str(failure).splitlines():
                    print(f'# {line}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
