#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Help, completions and mistakes: usage errors give 64 and name the value."""
import glob
import itertools
import os
import re
import shutil
import subprocess
import tempfile

from harness import *  # noqa
import harness

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
with open(os.path.join(ROOT, 'src/cli/commands.h')) as table:
    COMMANDS = re.findall(r'^  ROW\((\w+)\)', table.read(), re.M)


def _options(command):
    text = dibs(command, '--help').out
    return re.findall(r'^  (?:-(\w), |    )--([a-z-]+)', text, re.M)


def _mistake(*words, says):
    done = dibs(*words)
    equal((done.code, done.out), (64, ''), done)
    for part in says if isinstance(says, (list, tuple)) else [says]:
        contains(done.err, part)


def help_lists_every_command_and_needs_no_server():
    done = dibs('--help')
    equal((done.code, done.err), (0, ''))
    assert len(COMMANDS) > 15, COMMANDS
    for command in COMMANDS:
        assert re.search(r'^  %s ' % command, done.out, re.M), command


def every_command_has_help_with_examples():
    for command in COMMANDS:
        done = dibs(command, '--help')
        equal((done.code, done.err), (0, ''), done)
        contains(done.out, 'usage: dibs ' + command)
        examples = done.out.split('Examples:\n')[1].strip().splitlines()
        assert len(examples) in (3, 4), (command, examples)
        equal(dibs('help', command).out, done.out)
        equal(dibs(command, '-h').out, done.out)


def help_lists_no_option_that_the_command_refuses():
    contains(dibs('run', '--help').out, '--plain-permits')
    lacks(dibs('acquire', '--help').out, '--plain-permits')


def help_fits_a_terminal():
    for command in COMMANDS:
        for line in dibs(command, '--help').out.splitlines():
            assert len(line) <= 100, (len(line), line)


def no_arguments_give_64_and_the_help():
    done = dibs()
    equal((done.code, done.out), (64, ''))
    contains(done.err, 'usage: dibs')


def version_tells_command_and_library():
    done = dibs('--version')
    assert re.fullmatch(r'dibs \d+\.\d+\.\d+ \(libdibs \d+\.\d+\.\d+\)\n', done.out), done


def mistakes_give_64_and_a_suggestion():
    _mistake('rnu', 'x', says='did you mean "dibs run"?')
    _mistake('elcet', 'x', says='did you mean "dibs elect"?')
    _mistake('help', 'elcet', says='did you mean "dibs elect"?')
    _mistake('run', '--tll', '5', 'x', 'true', says='did you mean --ttl?')
    _mistake('run', '-Z', 'x', 'true', says='no option -Z')
    _mistake('run', says='dibs run NAME')
    _mistake('run', 'x', says='no command to run')
    _mistake('run', 'x', '--', says='no command to run')
    _mistake('who', 'a', 'b', says='"b"')
    _mistake('-n', 'run', says='-n comes after the command: dibs run -n')
    _mistake('--max-hold', '1m', 'run', says='--max-hold comes after the command')
    _mistake('-v', says='no command: dibs ... run')
    _mistake('completion', 'fish', says='"fish" is not bash or zsh')
    _mistake('local', 'strat', says='did you mean "dibs local start"?')
    _mistake('run', '-w', says='-w wants a value')


def an_option_after_the_name_is_refused_before_the_lock_is_waited_for():
    other = holder('late')
    for words in (['-w', '600s', '--', 'true'], ['-n', 'true'], ['--ttl=5s', 'true'], ['-'],
                  ['--command=true'], ['--foo']):
        _mistake('run', 'late', *words, says=(
            '%s stands after NAME' % words[0], 'options come before NAME', './' + words[0]))
    end_holder(other)


def a_command_whose_name_begins_with_a_dash_comes_after_dashes():
    with tempfile.TemporaryDirectory() as place:
        program = os.path.join(place, '-x')
        with open(program, 'w') as file:
            file.write('#!/bin/sh\nexit 3\n')
        os.chmod(program, 0o755)
        path = {'PATH': place + ':' + os.environ['PATH']}
        for words in (['dash', '--', '-x'], ['--', 'dash', '-x'], ['--', 'dash', '--', '-x'],
                      ['--multi', 'a,b', '--', '-x'], ['-m', '--', 'dash', '--', '-x'],
                      ['dash', program], ['-n', '--', 'dash', 'sh', '-c', 'exit 3'],
                      ['--', 'dash', '-c', 'exit 3']):
            equal(dibs('run', *words, env=path).code, 3, words)
        _mistake('run', '-m', '--', 'dash', '-x', says='-x stands after NAME')


def a_name_after_dashes_is_a_name_also_where_another_verb_has_a_command_there():
    done = dibs('elect', 'observe', '-n', '--json', '--', '-x')
    equal((done.code, done.err), (1, ''), done)
    contains(done.out, '"name":"-x"')
    contains(dibs('elect', 'break', '--yes', '--', '-x').err, '-x is free already')
    _mistake('elect', 'observe', '--', 'a', 'b', says='unexpected argument "b"')
    _mistake('doctor', 'b', says='usage: dibs doctor\n')
    _mistake('elect', 'observe', 'a', '--', 'true', says='leave out the command')
    _mistake('elect', 'run', '--', 'true', says='missing NAME')


def options_of_the_connection_may_come_before_the_command():
    url = harness.server.url
    for words in (['-u', url], ['-u' + url], ['--url=' + url], ['--url', url, '-vq'],
                  ['--db', '0', '--json', '--prefix', 'dibs']):
        env = {} if '--db' in words else {'DIBS_URL': 'redis://127.0.0.1:1'}
        done = dibs(*words, 'run', '-n', 'early', '--', 'echo', '-v', env=env)
        equal((done.code, done.out), (0, '-v\n'), done)
    done = dibs('--json', '-u', url, 'rnu')
    equal((done.code, fault(done)['code']), (64, 64), done)


def options_between_operands_are_options_also_with_posixly_correct():
    for more in ({}, {'POSIXLY_CORRECT': '1'}):
        done = dibs('acquire', '--connect-timeout', '30s', '-w', '1s', 'between', '-j', '2',
                    '--no-renew', env=more)
        equal(done.code, 0, done)
        contains(done.out, 'between')
        equal(dibs('release', done.out.strip()).code, 0)
        contains(dibs('who', 'between', '--json', env=more).out, '"name":"between"')
        contains(dibs('sem', 'set', '-1', 'between', env=more).err, 'sem set: invalid count -1')
        contains(dibs('who', 'a', '-q', 'b', env=more).err, 'unexpected argument "b"')
        contains(dibs('who', '--json', '--', '-q', env=more).out, '"name":"-q"')
        contains(dibs('who', 'a', '--', '-q', env=more).err, 'unexpected argument "-q"')
        equal(dibs('run', '-w', '9s', '--quiet', 'between:lock', 'echo', '-w', 'a', env=more).out,
              '-w a\n')
        equal(dibs('sandbox', '--quiet', '--', 'echo', '-w', 'a', env=more).out, '-w a\n')


def bad_values_are_named_with_what_is_allowed():
    _mistake('run', '-w', 'soon', 'x', 'true', says=['--wait', '"soon"', '500ms, 10s'])
    _mistake('run', '-w', '-5', 'x', 'true', says='"-5"')
    _mistake('run', '-t', '25d', 'x', 'true', says=['"25d"', '24d'])
    _mistake('run', '-t', '100ms', 'x', 'true', says=['"100ms"', '500ms'])
    _mistake('run', '-t', '0', 'x', 'true', says='"0"')
    _mistake('run', '-t', '10x', 'x', 'true', says='"10x"')
    _mistake('run', '-E', '256', 'x', 'true', says=['"256"', '0 to 255'])
    _mistake('run', '-E', '-1', 'x', 'true', says='"-1"')
    _mistake('run', '--on-lost', 'WINCH', 'x', 'true', says=['"WINCH"', 'TERM HUP'])
    _mistake('run', '--progress', 'bar', 'x', 'true', says=['"bar"', 'auto plain json none'])
    _mistake('run', '-t', '10s', '--max-hold', '5s', 'x', 'true',
             says='--max-hold 5.0s must not be shorter than --ttl 10.0s')
    done = dibs('run', '--status-file', '/no/such/dir/f', 'x', 'true')
    equal((done.code, done.out), (74, ''), done)
    contains(done.err, 'cannot write /no/such/dir/f: No such file')
    _mistake('run', '--status-fd', '77', 'x', 'true', says=['77', 'Bad file descriptor'])
    for command, own in itertools.product((['run', 'x'], ['elect', 'run', 'x', '--']), '012'):
        _mistake(command[0], '--status-fd', own, *command[1:], 'true',
                 says=['--status-fd', '"%s"' % own, '3 to 1000000'])
    done = subprocess.run(['sh', '-c', '"$DIBS" run --status-fd 0 x true <&-'],
                          env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    equal(done.returncode, 64, done)
    contains(done.stderr, '"0"')
    # "-" is standard output elsewhere; here it was a file of that name.
    for command, option, *others in (('run', '--status-file', 'x', 'true'),
                                     ('elect', '--status-file', 'x', '--', 'true'),
                                     ('top', '--record', '--once'), ('metrics', '--textfile')):
        _mistake(command, option, '-', *others, says=[option, '"-"', './-'])
    _mistake('run', '-m', 'x' * 257, 'x', 'true', says='256')
    _mistake('run', '--db', '-1', 'x', 'true', says='"-1"')
    _mistake('acquire', '--for-pid', '0', 'x', says='"0"')
    _mistake('ping', '--count', 'many', says='"many"')
    _mistake('status', '--sort', 'size', says=['"size"', 'name held wait lease'])
    _mistake('release', '--yes', 'token', says='dibs break NAME')


def names_out_of_range_give_64():
    for name in ('', 'x' * 513, '}x'):
        done = dibs('run', name, '--', 'true')
        equal(done.code, 64, done)


def options_of_later_versions_are_refused_with_a_reason():
    for words, part in ((['--scope'], 'systemd'), (['--bg'], 'put & after it'),
                        (['--id', 'x'], 'dibs run -j 4 NAME'),
                        (['-F'], 'renew the lock'), (['--tls'], 'rediss://'),
                        (['--insecure'], '--cacert'), (['--cacertdir', '/x'], '--cacert'),
                        (['--pass', 'geheim'], '--askpass')):
        _mistake('run', *words, 'x', 'true', says=[part])
        lacks(dibs('run', *words, 'x', 'true').err, 'geheim')


def a_missing_operand_is_named():
    for words, missing in ((['who'], 'NAME'), (['release'], 'TOKEN'), (['sem', 'set'], 'NAME'),
                           (['sem', 'set', 'x'], 'N'), (['rate', 'set', 'x', '1'], 'TIME')):
        _mistake(*words, says=['missing %s;' % missing, 'usage: dibs ' + words[0]])


def a_wrong_count_is_named_with_its_command():
    for words in (['sem', 'set'], ['latch', 'set'], ['latch', 'down'],
                  ['rate', 'take']):
        for count in ('-1', '-12', 'some'):
            _mistake(*words, 'x', count, says=[' '.join(words) + ':', count])
    _mistake('sem', '--prefix', 'p', 'set', 'x', '-1', says='sem set:')


def a_negative_number_is_named():
    _mistake('sem', 'set', 'x', '-1', says='-1')
    _mistake('latch', 'set', 'x', '-3', says='-3')


def fair_is_accepted_as_it_is_always_so():
    equal(dibs('run', '--fair', 'fair', '--', 'true').code, 0)


def kinds_of_locks_exclude_each_other_on_the_command_line():
    _mistake('run', '-s', '-j', '4', 'x', 'true', says='choose one')
    _mistake('run', '--write', '--take', '2', 'x', 'true', says='choose one')
    _mistake('run', '--multi', 'a,b', '-s', '--', 'true', says='--multi takes exclusive locks')
    _mistake('run', '--multi', 'a,b', '-j', '2', '--', 'true', says='--multi takes exclusive')
    _mistake('run', '--multi', 'a,,b', '--', 'true', says=['"a,,b"', 'a,b,c', 'dibs run --help'])
    _mistake('run', '--multi', '', '--', 'true', says=['""', 'a,b,c'])
    _mistake('acquire', '--multi', 'a,b,', says=['"a,b,"', 'a,b,c', 'dibs acquire --help'])
    _mistake('run', '--multi', ','.join('n%d' % n for n in range(101)), '--', 'true',
             says=['100', 'dibs run --help'])
    _mistake('run', '--multi', 'a,b', 'name', '--', 'true', says='has all names')
    _mistake('run', '--multi', 'a,b', says='no command to run')
    _mistake('acquire', '--multi', 'a,b', 'name', says='--multi has all names')
    _mistake('run', '-j', '0', 'x', 'true', says=['--permits', '"0"', '1 to 1000000000'])
    _mistake('run', '-j', '+1', 'x', 'true', says='"+1"')
    _mistake('run', '-j', '2', '--take', '3', 'x', 'true', says=['--take 3', '--permits 2'])


# An empty variable of a script; with another server, no name to check, or no user it would go on.
def an_option_of_the_connection_is_never_empty():
    for option in ('user', 'pass-file', 'cacert', 'cert', 'key', 'sni', 'prefix', 'registry',
                   'config'):
        for words in (['--' + option, ''], ['--%s=' % option]):
            _mistake('run', *words, 'x', '--', 'true',
                     says=['--%s is empty: leave it out, or give it a value' % option,
                           'dibs run --help'])


def durations_are_understood():
    for words in ('700ms', '2', '1.5', '1.5s', '1m', '1h30m', '24d', '0.5h'):
        done = dibs('run', '-t', '500ms', '-w', words, 'durations', '--', 'true')
        equal(done.code, 0, done)


def completions_list_every_command_and_option():
    for shell in ('bash', 'zsh'):
        script = dibs('completion', shell).out
        for command in COMMANDS + ['ls']:
            assert re.search(r'[ (|\':]%s[ )|:]' % command, script), (shell, command)
        for command in COMMANDS:
            part = re.search(r'^ +[(1]:?%s(?:\|[1:\w]+)?\)(.*?);;\n' % command, script,
                             re.S | re.M).group(1)
            options = _options(command)
            assert options, command
            for letter, name in options:
                contains(part, '--' + name)
                if letter:
                    contains(part, '-' + letter)


def both_shells_complete_the_same_words_and_files_as_values():
    bash, zsh = dibs('completion', 'bash').out, dibs('completion', 'zsh').out
    words = dict(re.findall(r"'--([a-z-]+)\[.*\]:[^:]+:\(([^)]+)\)'", zsh))
    assert len(words) >= 4, words
    for option, values in words.items():
        pattern = r"--%s\)\s+COMPREPLY=\(\$\(compgen -W '%s'" % (option, values)
        assert re.search(pattern, bash), option
    files = set(re.findall(r"'--([a-z-]+)\[.*\]:[^:]+:_files'", zsh))
    listed = re.search(r'^  (--\S+)\)\n    _dibs_files ', bash, re.M).group(1)
    equal({'--' + option for option in files}, set(listed.split('|')))


def every_option_is_in_a_man_page():
    pages = ''
    for path in glob.glob(os.path.join(ROOT, 'doc/man/*.1.scd')):
        with open(path) as f:
            pages += f.read().replace('\\', '')
    for command in COMMANDS:
        for letter, name in _options(command):
            pattern = r'--%s\b' % name + (r'|\*-%s\*' % letter if letter else '')
            assert re.search(pattern, pages), (command, name)


def bash_completes():
    script = dibs('completion', 'bash').out
    asks = {'dibs ru': 'run', 'dibs run --on-l': '--on-lost', 'dibs run --on-lost TE': 'TERM',
            'dibs local sto': 'stop', 'dibs run x -- ech': 'echo', 'dibs ls --wai': '--waiting',
            'dibs sem se': 'set', 'dibs latch do': 'down', 'dibs barrier re': 'reset',
            'dibs status --kind se': 'semaphore', 'dibs run --mul': '--multi',
            'dibs elect run x -- ech': 'echo', 'dibs elect obs': 'observe',
            'dibs elect --on-dep': '--on-deposed', 'dibs --dia': '--dialect',
            'dibs -q -u redis : //h : 1 ru': 'run', 'dibs --url status ru': 'run',
            'dibs --user = run sta': 'status', 'dibs -q local sto': 'stop',
            'dibs --db 1 run x -- ech': 'echo'}
    def completed(line):
        words = line.split()
        done = subprocess.run(
            ['bash', '-c', script + '\nCOMP_WORDS=(%s); COMP_CWORD=%d; _dibs; '
             'printf "%%s\\n" "${COMPREPLY[@]}"' % (line, len(words) - 1)],
            capture_output=True, text=True)
        equal(done.stderr, '', line)
        return done.stdout.split()

    for line, wanted in asks.items():
        assert wanted in completed(line), line
    for line in ('dibs elect run re', 'dibs sem show s', 'dibs barrier wait re'):
        equal(completed(line), [], line)               # a verb is one word


def zsh_completes_the_command_after_a_name():
    if not shutil.which('zsh'):
        return
    with tempfile.TemporaryDirectory() as place:
        with open(place + '/_dibs', 'w') as f:
            f.write(dibs('completion', 'zsh').out)
        with open(place + '/zz-of-dibs-probe', 'w') as f:
            os.fchmod(f.fileno(), 0o755)
        shell = Terminal('zsh', '-f', '-i', env={
            'HOME': place, 'PATH': place + ':' + os.environ['PATH'], 'TERM': 'dumb', 'PS1': 'Z> '})
        shell.expect('Z> ')
        shell.type('fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; '
                   'echo rea""dy\n' % place)
        shell.expect('ready')
        shell.expect('Z> ')
        for words in ('sandbox', 'sandbox --', 'run x', 'run x --', 'run -n x --',
                      'elect run x --'):
            shell.type('dibs %s zz-of-dibs-pr\t' % words)
            shell.expect('obe')
            shell.type('\x15')                  # another line
        shell.kill()


def bash_completes_names_of_files_with_blanks_and_of_directories():
    with tempfile.TemporaryDirectory() as place:
        os.makedirs(place + '/my own/deep')
        with open(place + '/rc', 'w') as f:
            f.write(dibs('completion', 'bash').out)
        shell = Terminal('bash', '--norc', '-i', env={'HOME': place, 'TERM': 'dumb', 'PS1': 'B> '})
        shell.expect('B> ')
        shell.type('bind "set enable-bracketed-paste off"; cd %s; . ./rc; echo rea""dy\n' % place)
        shell.expect('ready')
        shell.expect('B> ')
        for words in ('run --config', 'run x -- true'):
            shell.type('dibs %s my\t' % words)
            shell.expect('\\ own/')
            shell.type('de\t')
            shell.expect('ep/')
            shell.type('\x15')                  # another line
        shell.kill()


def zsh_accepts_its_completion():
    if not shutil.which('zsh'):
        return
    with tempfile.NamedTemporaryFile('w', suffix='_dibs') as f:
        f.write(dibs('completion', 'zsh').out)
        f.flush()
        done = subprocess.run(['zsh', '-n', f.name], capture_output=True, text=True)
        equal((done.returncode, done.stderr), (0, ''))


def a_full_disk_is_no_success():
    with open('/dev/full', 'w') as full:
        equal(finish(start('completion', 'bash', stdout=full)).code, 70)
        equal(finish(start('completion', 'none-of-them', stdout=full)).code, 64)


def _loads(program):
    """Names of the libraries that the loader maps before the program begins."""
    shown = subprocess.run([program], env=dict(os.environ, LD_TRACE_LOADED_OBJECTS='1'),
                           stdout=subprocess.PIPE, universal_newlines=True)
    return re.findall(r'^\s*(lib[a-z0-9_+-]+)\.so', shown.stdout, re.M)


def what_listens_has_a_screen_or_tls_alone_loads_libraries_for_it():
    # Each library more is time that every `dibs run` takes.
    loaded = _loads(DIBS)
    assert 'libdibs' in loaded and 'libjansson' in loaded, loaded
    for library in ('libmicrohttpd', 'libgnutls', 'libncursesw', 'libtinfo', 'libssl', 'libcrypto'):
        assert library not in loaded, loaded
    assert len([name for name in loaded if not name.endswith('san')]) <= 8, loaded


def only_a_screen_reads_the_files_of_the_locale():
    # They are twelve system calls and several pages of every `dibs run`.
    done = dibs('run', 'locale', '--', 'sh', '-c', 'cat /proc/${DIBS_HOLDER##*:}/maps',
                env={'LC_ALL': 'C.UTF-8'})
    equal(done.code, 0, done)
    contains(done.out, 'libdibs')
    for part in ('/locale/', 'LC_CTYPE', 'gconv'):
        lacks(done.out, part)


def what_runs_a_command_has_no_thread_for_callbacks():
    # It is a stack, three wake-ups and an end of every `dibs run`.
    for words in (['run', 'thread'], ['flock', 'thread:shared'], ['elect', 'run', 'thread:led']):
        done = dibs(*words, '--', 'sh', '-c', 'cat /proc/${DIBS_HOLDER##*:}/task/*/comm')
        equal(done.code, 0, done)
        contains(done.out, 'dibs-io')
        lacks(done.out, 'dibs-callback')


def without_dibs_view_the_rest_works():
    alone = command_apart()
    try:
        done = dibs('run', 'alone', '--', alone, 'top', '--json', program=alone)
        equal(done.code, 0, done)
        contains(done.out, '"alone"')
        for verb in ('web', 'metrics'):
            done = dibs(verb, '--listen', '127.0.0.1:0', program=alone)
            equal((done.code, done.out), (81, ''), done)
            contains(done.err, 'dibs-view')
    finally:
        shutil.rmtree(os.path.dirname(alone))


def without_proc_it_says_that_dibs_view_is_not_found_for_that_reason():
    if 'detect_leaks=1' in os.environ.get('ASAN_OPTIONS', ''):
        return                          # LeakSanitizer fails there, and reads its options in /proc
    way = ['unshare', '-m' if os.getuid() == 0 else '-Urm', 'sh', '-c',
           'mount -t tmpfs none /proc && exec "$DIBS" "$@"', 'sh']
    env = environment(LD_LIBRARY_PATH=os.path.dirname(DIBS))     # $ORIGIN needs /proc, too
    for words, code in ((['top'], 0), (['web', '--listen', '127.0.0.1:0'], 81)):
        done = subprocess.run([*way, *words], env=env, capture_output=True, text=True,
                              timeout=PATIENCE)
        equal(done.returncode, code, done)
        contains(done.stderr, '/proc/self/exe cannot be read')
        lacks(done.stderr, 'not installed')


def help_is_that_of_the_subcommand():
    for words in (['renew', ''], ['release', ''], ['who', '--askpass', 'x']):
        done = dibs(*words, start_new_session=True)
        equal(done.code, 64, done)
        contains(done.err, 'dibs: try: dibs %s --help' % words[0])


def with_json_a_mistake_is_an_object():
    for words in (('run', '--json', '-w', 'soon', 'x', 'true'),
                  ('run', '-w', 'soon', '--json', 'x'),
                  ('who', '--json'), ('who', 'a', 'b', '--json'),
                  ('sem', '--json', 'set', 'x', 'y')):
        done = dibs(*words)
        got = fault(done)
        equal((done.code, got['code'], got['status']), (64, 64, 'DIBS_ERR_ARGUMENT'), done)
        contains(got['help'], 'dibs %s --help' % words[0])
    # The option of another command is not ours.
    done = dibs('run', '-n', 'x', '--', '/no/such/program', '--json')
    lacks(done.err, '{')


def with_json_errors_name_status_code_lock_and_server():
    other = holder('busy-one')
    done = dibs('run', '--json', '-n', 'busy-one', '--', 'true')
    got = fault(done)
    equal((done.code, got['code'], got['status'], got['name']),
          (75, 75, 'DIBS_BUSY', 'busy-one'), done)
    equal([row['event'] for row in messages(done)], ['error', 'ended'])
    end_holder(other)

    gone = 'unix:///no/such/socket'
    done = dibs('who', '--json', 'x', '--connect-timeout', '500ms', env={'DIBS_URL': gone})
    got = fault(done)
    equal((done.code, got['code'], got['status']), (69, 69, 'DIBS_ERR_UNREACHABLE'), done)
    contains(got.get('server', '') + got['text'], '/no/such/socket')
    done = dibs('status', '--json', '--connect-timeout', '500ms', env={'DIBS_URL': gone})
    got = fault(done)
    equal((done.code, got['code'], 'name' in got), (69, 69, False), done)

    done = dibs('latch', 'wait', '--json', 'unarmed')
    if done.code != 0:
        equal(fault(done)['name'], 'unarmed')
    done = dibs('latch', 'down', '--json', 'unarmed')
    got = fault(done)
    equal((done.code, got['code'], got['status'], got['name']),
          (66, 66, 'DIBS_ERR_NOT_SET', 'unarmed'), done)

    token = dibs('acquire', '--no-renew', '-q', 'lost-one').out.strip()
    equal(dibs('release', token).code, 0)
    done = dibs('renew', '--json', token)
    equal((done.code, fault(done)['code']), (79, 79), done)


def with_json_notices_are_objects():
    done = dibs('acquire', '--json', 'noticed')
    equal([row['event'] for row in messages(done)], ['notice'], done)
    contains(messages(done)[0]['text'], 'dibs renew')


def q_says_only_what_went_wrong():
    equal(dibs('acquire', '-q', 'quiet').err, '')
    equal(dibs('run', '-q', '-n', 'quiet', 'true').err, '')


tests(dict(globals()))
