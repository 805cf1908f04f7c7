#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes under contrib/ and packaging/ are accepted by the programs that read them.

    recipes.py ROOT DIBS

systemd-analyze verify, a YAML parser, rpmspec and cmake, as far as they are installed; each command
line of dibs in a recipe is one that DIBS accepts. Speaks TAP.
"""
import configparser
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT, DIBS = sys.argv[1], os.path.abspath(sys.argv[2])
WORDS = {'VERSION': '0.6.0', 'URL': 'file:///dibs.tar.gz', 'SHA256': '0' * 64, 'SHA512': '0' * 128}


# Functions that vcpkg itself has not: the ports that bring them.
FROM_PORTS = {'vcpkg_cmake_config_fixup': 'vcpkg-cmake-config',
              'vcpkg_configure_meson': 'vcpkg-tool-meson',
              'vcpkg_install_meson': 'vcpkg-tool-meson'}


class Failed(Exception):
    pass


def text_of(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def filled(path):
    return re.sub(r'@([A-Z0-9]+)@', lambda found: WORDS[found.group(1)], text_of(path))


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0 or done.stderr.strip():
        raise Failed('%s: exit %d\n%s%s' % (shlex.join(words), done.returncode, done.stdout,
                                            done.stderr))
    return done.stdout


def accepted(words):
    """dibs takes the words, and then finds no server; --loop would look for it for ever."""
    server = 'unix:///nonexistent/dibs-server'
    once = [word for word in words[2:] if word != '--loop']
    done = subprocess.run([DIBS, words[1], '--connect-timeout', '10ms', *once],
                          capture_output=True, text=True, check=False, timeout=30,
                          env={'PATH': os.environ['PATH'], 'DIBS_NO_LOCAL': '1',
                               'DIBS_URL': server})
    if done.returncode != 69 or server[7:] not in done.stderr:
        raise Failed('%s: exit %d\n%s' % (shlex.join(words), done.returncode, done.stderr))


def units_are_accepted_by_systemd():
    if shutil.which('systemd-analyze') is None:
        return 'SKIP systemd-analyze is not installed'
    with tempfile.TemporaryDirectory(prefix='dibs-units-') as place:
        units = []
        for path in glob.glob(os.path.join(ROOT, 'contrib/systemd/*.*')):
            units.append(os.path.join(place, os.path.basename(path)))
            with open(units[-1], 'w', encoding='utf-8') as unit:
                # Of all that they name, only dibs is not here.
                unit.write(text_of(path).replace('/usr/bin/dibs', DIBS))
        run('systemd-analyze', 'verify', *units)
    return ''


def words_of_systemd_and_others():
    commands = []
    for path in glob.glob(os.path.join(ROOT, 'contrib/systemd/*.service')):
        commands += re.findall(r'^ExecStart=(.*)', text_of(path), re.M)
    commands += re.findall(r'^[\d* ]+ root (dibs .*)', text_of('contrib/cron/dibs'), re.M)
    supervisor = configparser.RawConfigParser()
    supervisor.read_string(text_of('contrib/supervisord/dibs.conf'))
    commands += [supervisor[section]['command'] for section in supervisor.sections()]
    if len(commands) != 4:
        raise Failed(f'commands: {commands}')
    for command in commands:
        words = shlex.split(command)
        # systemd and supervisord call the program started; without systemd there is none to call.
        accepted([word for word in words if word != '--notify'])
    return ''


def kubernetes_is_yaml():
    try:
        import yaml
    except ImportError:
        return 'SKIP python3-yaml is not installed'
    kinds = {}
    for path in sorted(glob.glob(os.path.join(ROOT, 'contrib/kubernetes/*.yaml'))):
        made = yaml.safe_load(text_of(path))
        spec = made['spec']
        if made['kind'] == 'CronJob':
            spec = spec['jobTemplate']['spec']
        kinds[made['kind']] = spec['template']['spec']
    if sorted(kinds) != ['CronJob', 'Deployment']:
        raise Failed(f'kinds: {sorted(kinds)}')
    commands = [container['command'] for pod in kinds.values() for container in pod['containers']
                if 'command' in container]
    if len(commands) != 2:
        raise Failed(f'commands: {commands}')
    for command in commands:
        accepted(command)
    run('sh', '-n', '-c', commands[1][-1])
    return ''


def recipes_of_package_managers_parse():
    made = json.loads(filled('packaging/vcpkg/vcpkg.json'))
    if made['name'] != 'dibs' or 'hiredis' not in made['dependencies']:
        raise Failed(f'vcpkg.json: {made}')
    compile(filled('packaging/conan/conanfile.py'), 'conanfile.py', 'exec')
    wrap = configparser.ConfigParser()
    wrap.read_string(filled('packaging/meson/dibs.wrap'))
    if wrap['provide']['dependency_names'] != 'dibs, dibs-data':
        raise Failed('dibs.wrap provides no dependency dibs')
    return ''


def the_port_of_vcpkg_is_cmake():
    """Each function of vcpkg that the port calls stands for itself: what is not one fails."""
    if shutil.which('cmake') is None:
        return 'SKIP cmake is not installed'
    port = filled('packaging/vcpkg/portfile.cmake')
    names = sorted(set(re.findall(r'^(vcpkg_\w+)\(', port, re.M)))
    depends = [of['name'] for of in json.loads(filled('packaging/vcpkg/vcpkg.json'))['dependencies']
               if isinstance(of, dict) and of['host']]
    missing = [name for name in names if name in FROM_PORTS and FROM_PORTS[name] not in depends]
    if missing:
        raise Failed(f'vcpkg.json names no port that has {missing}')
    with tempfile.TemporaryDirectory(prefix='dibs-port-') as place:
        open(os.path.join(place, 'usage'), 'w', encoding='utf-8').close()
        script = os.path.join(place, 'portfile.cmake')
        with open(script, 'w', encoding='utf-8') as file:
            file.write('set(CURRENT_PACKAGES_DIR %s/packages)\nset(PORT dibs)\n' % place)
            file.writelines('function(%s)\nendfunction()\n' % name for name in names)
            file.write(port)
        done = subprocess.run(['cmake', '-P', script], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(done.stderr)
    return ''


def vcpkg_finds_the_prefix_in_the_package_of_cmake():
    """It moves the file from lib/cmake/dibs to share/dibs and corrects a line of this form."""
    line = re.compile(r'^get_filename_component\(PACKAGE_PREFIX_DIR '
                      r'"\$\{CMAKE_CURRENT_LIST_DIR\}/@BACK@" ABSOLUTE\)$', re.M)
    text = text_of('src/api/dibsConfig.cmake.in')
    if len(line.findall(text)) != 1 or text.count('CMAKE_CURRENT_LIST_DIR') != 1:
        raise Failed('dibsConfig.cmake.in')


def the_spec_of_rpm_parses():
    if shutil.which('rpmspec') is None:
        return 'SKIP rpmspec is not installed'
    with tempfile.NamedTemporaryFile('w', suffix='.spec') as spec:
        spec.write(filled('packaging/rpm/dibs.spec'))
        spec.flush()
        names = run('rpmspec', '-q', '--qf', '%{name}\n', spec.name).split()
    if names != ['dibs', 'dibs-libs', 'dibs-devel', 'dibs-doc']:
        raise Failed(f'packages: {names}')
    return ''


CASES = [units_are_accepted_by_systemd, words_of_systemd_and_others, kubernetes_is_yaml,
         recipes_of_package_managers_parse, the_port_of_vcpkg_is_cmake,
         vcpkg_finds_the_prefix_in_the_package_of_cmake, the_spec_of_rpm_parses]


def main():
    print(f'1..{len(CASES)}')
    failures = 0
    for number, case in enumerate(CASES, 1):
        try:
            note = case() or ''
            print(f'ok {number} - {case.__name__}' + (f' # {note}' if note else ''))
        except (Failed, subprocess.TimeoutExpired, KeyError, ValueError) as failure:
            failures += 1
            print(f'not ok {number} - {case.__name__}')
            for line in str(failure).splitlines():
                print(f'# {line}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
