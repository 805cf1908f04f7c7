#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a machine has decides what is built, and the build commands in the pages work.

    configured.py ROOT

Configures the tree several times, without building it. Speaks TAP.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


class Failed(Exception):
    pass


def run(words, **options):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, stdin=subprocess.DEVNULL, **options)


def configured(root, build, options, environment=None):
    done = run(['meson', 'setup', build, root, *options], env=environment)
    if done.returncode != 0:
        raise Failed(f'meson setup {options}: exit {done.returncode}\n{done.stdout[-2000:]}')
    return targets(build)


def introspected(build, what):
    done = run(['meson', 'introspect', '--' + what, build])
    if done.returncode != 0:
        raise Failed(f'meson introspect --{what}: {done.stdout[-2000:]}')
    return json.loads(done.stdout)


def targets(build):
    return {target['name'] for target in introspected(build, 'targets')}


def want(names, here, not_here):
    missing = [name for name in here if name not in names]
    too_many = sorted(name for name in names if re.fullmatch(not_here, name))
    if missing or too_many:
        raise Failed(f'not built: {missing}; built: {too_many}')


def packages(place, folder, is_there):
    """An environment in which Meson finds these packages only."""
    folder = os.path.join(place, folder)
    os.makedirs(folder, exist_ok=True)
    path = run(['pkg-config', '--variable', 'pc_path', 'pkg-config']).stdout.strip()
    path = os.environ.get('PKG_CONFIG_PATH', '') + ':' + path
    for directory in filter(os.path.isdir, path.split(':')):
        for name in os.listdir(directory):
            link = os.path.join(folder, name)
            if is_there(name) and not os.path.lexists(link):
                os.symlink(os.path.join(directory, name), link)
    return dict(os.environ, PKG_CONFIG_LIBDIR=folder, PKG_CONFIG_PATH='', CMAKE='/nonexistent')


def without_cmocka(place):
    return packages(place, 'packages', lambda name: name != 'cmocka.pc')


def needed_alone(place):
    needed = ['hiredis', 'jansson', 'libcrypto', 'libssl', 'openssl']
    return packages(place, 'needed', lambda name: name.removesuffix('.pc') in needed)


def tests_are_left_out_without_cmocka(root, place):
    names = configured(root, os.path.join(place, 'plain'), [], without_cmocka(place))
    want(names, ['dibs', 'flash_sale'], r'.*_test|dibs-explore.*|bench_.*')


def tests_that_are_asked_for_need_cmocka(root, place):
    done = run(['meson', 'setup', os.path.join(place, 'asked'), root, '-Dtests=enabled'],
               env=without_cmocka(place))
    if done.returncode == 0 or 'cmocka' not in done.stdout:
        raise Failed(f'exit {done.returncode}: {done.stdout[-1000:]}')


def the_demo_builds_neither_simulator_nor_explorers(root, place):
    with open(os.path.join(root, 'demo'), encoding='utf-8') as script:
        options = re.search(r'meson setup \$build (.*?)[;}]', script.read()).group(1).split()
    names = configured(root, os.path.join(place, 'demo'), options)
    want(names, ['dibs', 'flash_sale', 'two_shells'],
         r'.*_test|dibs-sim|dibs_sim.*|dibs-explore.*|bench_.*')


def what_the_library_needs_is_enough(root, place):
    """The command is there without dibs web, the screen of dibs top and the simulator."""
    names = configured(root, os.path.join(place, 'bare'), [], needed_alone(place))
    want(names, ['dibs', 'example_worker'],
         r'.*_test|dibs-sim|dibs_sim.*|dibs-explore.*|flash_http|example_in_(libuv|glib|libevent)')


def has_header(name, compiler, language):
    """Whether the compiler of this machine finds a header without being told where."""
    return run([compiler, '-x', language, '-fsyntax-only', '-include', name, '/dev/null']
               ).returncode == 0


def what_is_installed_is_found_in_a_fresh_build(root, place):
    """A library that is here and not found is a test that never runs."""
    names = configured(root, os.path.join(place, 'all'), ['-Dtests=enabled'],
                       dict(os.environ, CC='gcc', CXX='g++'))
    wanted = {'example_in_libuv': ('uv.h', 'gcc', 'c'),
              'example_in_libev': ('ev.h', 'gcc', 'c'),
              'example_in_libevent': ('event2/event.h', 'gcc', 'c'),
              'example_in_sd_event': ('systemd/sd-event.h', 'gcc', 'c'),
              'example_in_asio': ('boost/asio.hpp', 'g++', 'c++'),
              'cpp20_asio_test': ('boost/asio.hpp', 'g++', 'c++')}
    want(names, [name for name, header in wanted.items() if has_header(*header)], '')


def an_old_hiredis_is_refused(root, place):
    folder = os.path.join(place, 'old')
    os.makedirs(folder)
    with open(os.path.join(folder, 'hiredis.pc'), 'w', encoding='utf-8') as file:
        file.write('Name: hiredis\nDescription: old\nVersion: 0.13.3\nLibs: -lhiredis\n')
    done = run(['meson', 'setup', os.path.join(place, 'old-build'), root],
               env=dict(os.environ, PKG_CONFIG_PATH=folder, CMAKE='/nonexistent'))
    if done.returncode == 0 or 'hiredis' not in done.stdout.split('ERROR', 1)[-1]:
        raise Failed(f'exit {done.returncode}: {done.stdout[-1000:]}')


def a_hiredis_in_its_own_prefix_has_its_own_headers(root, place):
    """Not those in /usr/include: the structures of another version differ."""
    prefix = os.path.join(place, 'hiredis')
    ours = run(['pkg-config', '--variable=includedir', 'hiredis']).stdout.strip()
    ours = os.path.join(ours.removesuffix('/hiredis'), 'hiredis')
    shutil.copytree(ours, os.path.join(prefix, 'include/hiredis'))
    header = os.path.join(prefix, 'include/hiredis/hiredis.h')
    with open(header, encoding='utf-8') as file:
        text = re.sub(r'(define HIREDIS_MINOR) .*', r'\1 97', file.read())
    with open(header, 'w', encoding='utf-8') as file:
        file.write(text)
    major = re.search(r'define HIREDIS_MAJOR (\d+)', text).group(1)
    with open(os.path.join(prefix, 'hiredis.pc'), 'w', encoding='utf-8') as file:
        file.write(f'prefix={prefix}\nincludedir=${{prefix}}/include\n'
                   f'Name: hiredis\nDescription: own\nVersion: {major}.97.0\nLibs: -lhiredis\n'
                   'Cflags: -I${includedir}/hiredis\n')
    build = os.path.join(place, 'own')
    configured(root, build, ['-Dtests=disabled', '-Dexamples=disabled'],
               dict(os.environ, PKG_CONFIG_PATH=prefix, CMAKE='/nonexistent'))
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        command = next(entry['command'] for entry in json.load(file)
                       if entry['file'].endswith('resp_reader.c'))
    done = run(['sh', '-c', command + ' -M -MF /dev/stdout'], cwd=build)
    if header not in done.stdout:
        raise Failed(f'{header} is not read:\n{done.stdout[-2000:]}')


CROSS = """[binaries]
c = 'gcc'
ar = 'gcc-ar'
pkgconfig = 'pkg-config'
[properties]
needs_exe_wrapper = true
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""


def a_cross_build_runs_nothing_of_the_other_machine(root, place):
    """Meson ends a configuration whose build would run a program that it cannot run."""
    cross = os.path.join(place, 'cross.txt')
    with open(cross, 'w', encoding='utf-8') as file:
        file.write(CROSS)
    names = configured(root, os.path.join(place, 'cross'),
                       ['--cross-file', cross, '-Dtests=disabled', '-Dexamples=disabled'])
    want(names, ['dibs', 'man3'], r'completion_.*')


def make_installs_below_its_prefix(root, place):
    build = os.path.join(place, 'make')
    for words, expected in (['PREFIX=/opt/one'], '/opt/one'), (['PREFIX=/opt/two'], '/opt/two'), (
            [], '/opt/two'):
        done = run(['make', '-C', root, 'configure', f'BUILD={build}', *words])
        if done.returncode != 0:
            raise Failed(f'make configure {words}: {done.stdout[-2000:]}')
        options = {option['name']: option['value']
                   for option in introspected(build, 'buildoptions')}
        if options['prefix'] != expected:
            raise Failed(f"make configure {words}: prefix {options['prefix']}")
    want(targets(build), ['dibs'], r'.*_test|flash_sale|dibs-explore.*')


CASES = [tests_are_left_out_without_cmocka, tests_that_are_asked_for_need_cmocka,
         the_demo_builds_neither_simulator_nor_explorers,
         what_the_library_needs_is_enough, what_is_installed_is_found_in_a_fresh_build,
         make_installs_below_its_prefix,
         a_cross_build_runs_nothing_of_the_other_machine, an_old_hiredis_is_refused,
         a_hiredis_in_its_own_prefix_has_its_own_headers]


def main():
    root = os.path.abspath(sys.argv[1])
    print(f'1..{len(CASES)}')
    failures = 0
    with tempfile.TemporaryDirectory(prefix='dibs-configured-') as place:
        for number, case in enumerate(CASES, 1):
            try:
                case(root, place)
                print(f'ok {number} - {case.__name__}')
            except Failed as failure:
                failures += 1
                print(f'not ok {number} - {case.__name__}')
                for line in str(failure).splitlines():
                    print(f'# {line}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
