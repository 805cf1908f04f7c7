#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libdibs.so with a libdibs-tls.so that cannot be loaded, or does not fit. An empty file stands for
none, so that the loader does not find the one of an installed dibs.

    tls_loaded.py NM COMPILER... COMMAND LIBDIBS LIBDIBS-TLS

Speaks TAP.
"""
import os
import shutil
import subprocess
import sys
import tempfile

# Nothing listens there, so that a client ends with "Connection refused" once it has TLS.
NOWHERE = '127.0.0.1:1'
# As functions.h begins.
OTHER = 'const char *const dibs_tls_functions[20] = { "0.5.9" };\n'
INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../include')
# As after chroot(): the library cannot be loaded any more, from before dibs_open() or after it on.
SHUT = """
#include <dibs/dibs.h>
#include <stdio.h>

int main(int count, char **words)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  if (count != 3 || rename(words[1], words[2]) != 0)
    return 2;
  if (dibs_open("rediss://%s", NULL, &client, &error) != DIBS_OK)
    return fprintf(stderr, "%%s", error.text) < 0 ? 3 : 1;
  client = dibs_close(client);
  return 0;
}
""" % NOWHERE
SHUT_LATER = """
#include <dibs/dibs.h>
#include <stdio.h>

int main(int count, char **words)
{
  static const char url[] = "unix:///nowhere?degrade=local&connect_timeout=100ms";
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  if (dibs_open(url, NULL, &client, &error) != DIBS_OK || count != 3 ||
      rename(words[1], words[2]) != 0)
    return 2;
  if (dibs_lock(client, "x", NULL, &hold) != DIBS_OK) {
    dibs_client_error(client, 0, &error);
    return fprintf(stderr, "%s", error.text) < 0 ? 3 : 1;
  }
  (void)dibs_release(hold);
  client = dibs_close(client);
  return 0;
}
"""


class Failed(Exception):
    pass


def soname(library):
    """Before 1.0 a soname ends in two numbers of the version."""
    return os.path.basename(library).rsplit('.', 1)[0]


class Place:
    """A directory with libdibs.so alone."""

    def __init__(self, path, words):
        self.nm, *self.compiler, self.command, self.libdibs, self.libdibs_tls = words
        self.path = path
        self.name = soname(self.libdibs_tls)
        shutil.copy(self.libdibs, os.path.join(path, soname(self.libdibs)))

    def compile(self, source, name, *options):
        text = os.path.join(self.path, 'made.c')
        with open(text, 'w', encoding='utf-8') as out:
            out.write(source)
        subprocess.run([*self.compiler, '-o', os.path.join(self.path, name), text, *options],
                       check=True)

    def empty(self, name):
        path = os.path.join(self.path, name)
        with open(path, 'wb'):
            return path

    def make(self, source, name, *options):
        self.compile(source, name, '-shared', '-fPIC', *options)

    def says(self, exit_code, text, *words, path='@', given=None):
        """`path`: where the loader looks; '@' is this one."""
        done = subprocess.run(
            [self.command, *words], input=given, capture_output=True, text=True, timeout=60,
            check=False,
            env=dict(os.environ, LD_LIBRARY_PATH=path.replace('@', self.path)))
        if done.returncode != exit_code or text not in done.stderr + done.stdout:
            raise Failed(f'{words}: exit {done.returncode}, not {exit_code} with {text!r}:\n'
                         f'{done.stdout}{done.stderr}')


def ping(scheme):
    return 'ping', '--count', '1', '--url', f'{scheme}://{NOWHERE}'


def it_exports_its_functions_alone(place):
    names = subprocess.run([place.nm, '-D', '--defined-only', place.libdibs_tls],
                           capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in names.splitlines()]
    if [name for name in names if not name.startswith('DIBS_TLS')] != [
            'dibs_tls_functions@@DIBS_TLS_0']:
        raise Failed(f'exported: {names}')


def without_it_all_but_tls_works(place):
    place.empty(place.name)
    place.says(69, 'Connection refused', *ping('redis'))
    place.says(78, f'{place.name}: file too short', *ping('rediss'))


def a_digest_without_it_has_a_reason(place):
    place.empty(place.name)
    place.says(0, ' >PASSWORD ', 'acl', 'worker')
    place.says(70, f'{place.name}: file too short', 'acl', 'worker',
               '--pass-file', '/dev/stdin', given='secret\n')


def locks_of_this_machine_need_it_from_the_start(place):
    place.empty(place.name)
    for words in ('run', '--degrade', 'local'), ('run', '-n', '--degrade', 'local'):
        place.says(70, f'{place.name}: file too short', *words, '-u', f'redis://{NOWHERE}', 'x',
                   '--', 'true')


def another_version_is_refused(place):
    place.make(OTHER, place.name)
    place.says(78, f'{place.name} is of version 0.5.9, and libdibs of ', *ping('rediss'))


def another_library_is_refused(place):
    place.make('int nothing;\n', place.name)
    place.says(78, 'undefined symbol: dibs_tls_functions', *ping('rediss'))


def a_missing_openssl_is_named(place):
    place.make('int missing;\n', 'libmissing.so')
    place.make(OTHER, place.name, '-Wl,--no-as-needed', '-L' + place.path, '-lmissing')
    os.remove(os.path.join(place.path, 'libmissing.so'))
    place.says(78, 'libmissing.so: cannot open shared object file', *ping('rediss'))


def it_is_found_by_its_name_too(place):
    more = os.path.join(place.path, 'more')
    os.makedirs(more)
    shutil.copy(place.libdibs_tls, os.path.join(more, place.name))
    place.says(69, 'Connection refused', *ping('rediss'), path='@:@/more')


def the_one_beside_libdibs_comes_first(place):
    other = os.path.join(place.path, 'other')
    os.makedirs(other)
    place.make(OTHER, os.path.join('other', place.name))
    shutil.copy(place.libdibs_tls, os.path.join(place.path, place.name))
    place.says(69, 'Connection refused', *ping('rediss'), path='@/other:@')


def shut(place, source, exit_code, *options):
    """Runs a program during which an empty file takes the place of the library."""
    beside = os.path.join(place.path, place.name)
    shutil.copy(place.libdibs_tls, beside)
    place.compile(source, 'shut', '-I' + INCLUDE, os.path.join(place.path, soname(place.libdibs)),
                  *options)
    done = subprocess.run([os.path.join(place.path, 'shut'), place.empty('none'), beside],
                          capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, LD_LIBRARY_PATH=place.path,
                                   DIBS_LOCAL_DIR=os.path.join(place.path, 'local')))
    if done.returncode != exit_code or (exit_code == 1 and place.name not in done.stderr):
        raise Failed(f'{options}: exit {done.returncode}, not {exit_code}: {done.stderr}')


def a_program_can_have_it_from_its_start(place):
    shut(place, SHUT, 1)
    shut(place, SHUT, 0, '-Wl,--no-as-needed', os.path.join(place.path, place.name))


def a_client_has_what_locks_of_this_machine_need_once_it_is_open(place):
    shut(place, SHUT_LATER, 0)


CASES = [it_exports_its_functions_alone, without_it_all_but_tls_works,
         a_digest_without_it_has_a_reason, locks_of_this_machine_need_it_from_the_start,
         another_version_is_refused, another_library_is_refused,
         a_missing_openssl_is_named, it_is_found_by_its_name_too,
         the_one_beside_libdibs_comes_first, a_program_can_have_it_from_its_start,
         a_client_has_what_locks_of_this_machine_need_once_it_is_open]


def main():
    failed = 0
    print(f'1..{len(CASES)}')
    for number, case in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as path:
            try:
                case(Place(path, sys.argv[1:]))
                print(f'ok {number} - {case.__name__}')
            except (Failed, OSError, subprocess.SubprocessError) as error:
                failed += 1
                print(f'not ok {number} - {case.__name__}')
                for line in str(error).splitlines():
                    print('#', line)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
