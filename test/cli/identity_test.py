#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command hands to the commands inside it: the whole identity of its deployment, so that
the same name is the same lock there; and every option of a client is part of that, or a list says
why not."""
import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile

from harness import *  # noqa
import harness

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
INNER = os.environ['INNER_CLIENT']
PASSWORD = 'geheim-%40-17'        # needs escaping in a URL
ESCAPED = 'geheim-%2540-17'
directory = tempfile.mkdtemp(prefix='dibs-cli-test-')


def _write(name, text):
    path = os.path.join(directory, name)
    with open(path, 'w') as f:
        f.write(text)
    return path


_write('p', 'of-file\n')                # a password


# ---- every option of a client ----
#
# Where an option can be given: fields of dibs_options, options of a URL, keys of the configuration
# file, options of the command. Each row: what is given, and what is then in the URL that is handed
# on. A new option has to stand here, or below with the reason.

HANDED_ON = {
    'field': {
        'database': (['database=3'], '/3'),
        'prefix': (['prefix=shop'], 'prefix=shop'),
        'user': (['user=bob'], 'user=bob'),
        'password': (['password=' + PASSWORD], 'password=' + ESCAPED),
        'password_file': (['password_file=' + os.path.join(directory, 'p')],
                          'password=of-file&password_file=%2F'),
        'ca_file': (['ca_file=ca.pem'], 'cacert=' + os.path.join(directory, 'ca.pem').replace(
            '/', '%2F')),
        'cert_file': (['cert_file=/c', 'key_file=/k'], 'cert=%2Fc'),
        'key_file': (['cert_file=/c', 'key_file=/k'], 'key=%2Fk'),
        'server_name': (['server_name=locks'], 'sni=locks'),
        'connect_timeout_ms': (['connect_timeout_ms=77'], 'connect_timeout=77ms'),
        'command_timeout_ms': (['command_timeout_ms=78'], 'command_timeout=78ms'),
        'clock_rate_error_ppm': (['clock_rate_error_ppm=9'], 'clock_rate_error_ppm=9'),
        'quarantine_ms': (['quarantine_ms=31000'], 'quarantine=31000ms'),
        'degrade': (['degrade=2'], 'degrade=wait'),
        'dialect': (['dialect=2'], 'dialect=redisson'),
        'registry': (['dialect=3', 'registry=shop'], 'registry=shop'),
        'sentinel_user': (['sentinel_user=watch'], 'sentinel_user=watch'),
        'sentinel_password': (['sentinel_password=pw'], 'sentinel_password=pw'),
        'report_ms': (['report_ms=-1'], 'report=off'),
        'history': (['history=2'], 'history=all'),
        'history_max': (['history_max=99'], 'history_max=99'),
        'history_over_ms': (['history_over_ms=81'], 'history_over=81ms'),
        'classes': (['classes=a:*, b'], 'classes=a%3A%2A%2C%20b'),
        'config_file': (['config_file=' + os.path.join(directory, 'c')], 'prefix=of-file'),
    },
    'url': {
        'db': ('db=3', '/3'), 'prefix': ('prefix=shop', 'prefix=shop'),
        'user': ('user=bob', 'user=bob'), 'password': ('password=' + ESCAPED,
                                                       'password=' + ESCAPED),
        'password_file': ('password_file=' + os.path.join(directory, 'p'),
                          'password=of-file&password_file=%2F'),
        'connect_timeout': ('connect_timeout=77ms', 'connect_timeout=77ms'),
        'command_timeout': ('command_timeout=78ms', 'command_timeout=78ms'),
        'close_timeout': ('close_timeout=79ms', 'close_timeout=79ms'),
        'clock_rate_error_ppm': ('clock_rate_error_ppm=9', 'clock_rate_error_ppm=9'),
        'cacert': ('cacert=/ca', 'cacert=%2Fca'), 'cert': ('cert=/c&key=/k', 'cert=%2Fc'),
        'key': ('cert=/c&key=/k', 'key=%2Fk'), 'sni': ('sni=locks', 'sni=locks'),
        'quarantine': ('quarantine=31s', 'quarantine=31000ms'),
        'degrade': ('degrade=local', 'degrade=local'),
        'dialect': ('dialect=plain', 'dialect=plain'),
        'registry': ('dialect=spring&registry=r', 'registry=r'),
        'pubsub': ('pubsub=no', 'pubsub=no'), 'functions': ('functions=yes', 'functions=yes'),
        'report': ('report=20s', 'report=20000ms'), 'history': ('history=off', 'history=off'),
        'history_max': ('history_max=99', 'history_max=99'),
        'history_over': ('history_over=81ms', 'history_over=81ms'),
        'classes': ('classes=a:*,b', 'classes=a%3A%2A%2Cb'),
        'sharded': ('sharded=no', 'sharded=no'), 'map': ('map=a>b', 'map=a%3Eb'),
        'sentinel_user': ('sentinel_user=watch', 'sentinel_user=watch'),
        'sentinel_password': ('sentinel_password=pw', 'sentinel_password=pw'),
        'sentinel_tls': ('sentinel_tls=yes', 'sentinel_tls=yes'),
    },
    'key': {
        'url': ('', 'redis+sentinel://h:26379/main'), 'prefix': ('prefix = shop', 'prefix=shop'),
        'user': ('user = bob', 'user=bob'), 'password': ('password = pw', 'password=pw'),
        'password_file': ('password_file = ' + os.path.join(directory, 'p'),
                          'password=of-file&password_file=%2F'),
        'cacert': ('cacert = /ca', 'cacert=%2Fca'), 'cert': ('cert = /c\nkey = /k', 'cert=%2Fc'),
        'key': ('cert = /c\nkey = /k', 'key=%2Fk'), 'sni': ('sni = locks', 'sni=locks'),
        'connect_timeout': ('connect_timeout = 77ms', 'connect_timeout=77ms'),
        'command_timeout': ('command_timeout = 78ms', 'command_timeout=78ms'),
        'close_timeout': ('close_timeout = 79ms', 'close_timeout=79ms'),
        'clock_rate_error_ppm': ('clock_rate_error_ppm = 9', 'clock_rate_error_ppm=9'),
        'quarantine': ('quarantine = 31s', 'quarantine=31000ms'),
        'degrade': ('degrade = local', 'degrade=local'),
        'dialect': ('dialect = plain', 'dialect=plain'),
        'registry': ('dialect = spring\nregistry = r', 'registry=r'),
        'pubsub': ('pubsub = no', 'pubsub=no'), 'functions': ('functions = yes', 'functions=yes'),
        'report': ('report = off', 'report=off'), 'history': ('history = all', 'history=all'),
        'history_max': ('history_max = 99', 'history_max=99'),
        'history_over': ('history_over = 81ms', 'history_over=81ms'),
        'classes': ('classes = a:*, b', 'classes=a%3A%2A%2C%20b'),
        'sharded': ('sharded = no', 'sharded=no'),
        'sentinel_user': ('sentinel_user = watch', 'sentinel_user=watch'),
        'sentinel_password': ('sentinel_password = pw', 'sentinel_password=pw'),
    },
    # Given to `dibs run`, which needs a server: the tests below do it.
    'option': ['url', 'db', 'user', 'pass-file', 'cacert', 'cert', 'key', 'sni', 'prefix',
               'dialect', 'registry', 'connect-timeout', 'degrade', 'config', 'local'],
}

NEED_NOT = {
    'field': {
        'size': 'no setting', 'flags': 'how this process works: threads, callbacks, whether a '
        'private server will do; a command inside has a URL',
        'close_timeout_ms': 'how long the end of this process may take; that of a URL or file is '
        'handed on',
        'renew_every_ms': 'how often this process renews its own leases',
        'local_handovers_max': 'turns inside this process', 'local_handover_ms': 'as before',
        'names_max': 'memory of this process', 'note': 'each program has a note of its own',
        'allocator': 'code of this process', 'on_event': 'as before', 'on_event_data': 'as before',
        'on_event_free': 'as before',
    },
    'url': {'note': 'each program has a note of its own'},
    'key': {'note': 'each program has a note of its own'},
    'option': {
        'askpass': 'asks: what is typed is handed on as a password of a file is',
        'no-local': 'a command inside has a URL, so that no private server can be meant',
        'tls': 'refused', 'insecure': 'refused', 'cacertdir': 'refused', 'pass': 'refused',
    },
}


def _source(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def _between(text, start, end):
    return text.split(start, 1)[1].split(end, 1)[0]


def _identities():
    """The column of that name: whether another value of an option of a URL is another lock."""
    return dict(re.findall(r'^  ROW\("(\w+)", (\w+),', _source('src/topo/url_options.h'), re.M))


def _options_of_the_source():
    struct = _between(_source('include/dibs/client.h'), 'typedef struct dibs_options {',
                      '} dibs_options;')
    struct = re.sub(r'/\*.*?\*/', '', struct, flags=re.S)
    return {
        'field': re.findall(r'(\w+)\s*;', struct),
        'url': list(_identities()),
        'key': re.findall(r'^  \{ "(\w+)",', _between(_source('src/api/config.c'),
                                                     'static const key keys[] = {', '};'), re.M),
        'option': re.findall(r'^  \{ "([\w-]+)",', _between(
            _source('src/cli/connection.c'), 'options_connection[] = {', '};'), re.M),
    }


def every_option_of_a_client_is_handed_on_or_has_a_reason_why_not():
    for kind, names in _options_of_the_source().items():
        assert len(names) > 10, (kind, names)
        for name in names:
            known = (name in HANDED_ON[kind]) + (name in NEED_NOT[kind])
            equal(known, 1, '%s %s: say in identity_test.py whether it is handed on' % (kind, name))
        for name in list(HANDED_ON[kind]) + list(NEED_NOT[kind]):
            assert name in names, (kind, name, 'is no option any more')


def _url_of(url, *fields, config=None):
    """The URL that a client hands on which is opened so."""
    done = subprocess.run([INNER, 'url', *fields], capture_output=True, text=True, cwd=directory,
                          env=environment(DIBS_URL=url, DIBS_CONFIG=config))
    equal((done.returncode, done.stderr), (0, ''), (url, fields, config))
    return done.stdout


def _base_for(option):
    """A deployment where the option means something."""
    if option.startswith('sentinel'):
        return 'redis+sentinel://h/main'
    if option in ('sharded', 'map'):
        return 'redis+cluster://h'
    return 'rediss://h' if option in ('cacert', 'cert', 'key', 'sni', 'ca_file', 'cert_file',
                                      'key_file', 'server_name') else 'redis://h'


def _cut_tls(kind, name):
    """Files that are not there are refused by dibs_open(): real ones in their place."""
    return name in ('cacert', 'cert', 'key', 'ca_file', 'cert_file', 'key_file')


def what_is_handed_on_by_a_client_has_every_option_of_a_url():
    for name, (given, wanted) in HANDED_ON['url'].items():
        if _cut_tls('url', name):
            continue
        contains(_url_of(_base_for(name) + '?' + given), wanted)


def what_is_handed_on_by_a_client_has_every_key_of_the_file():
    for name, (given, wanted) in HANDED_ON['key'].items():
        if _cut_tls('key', name):
            continue
        base = 'redis+sentinel://h/main' if name == 'url' else _base_for(name)
        path = _write('k', 'url = %s\n%s\n' % (base, given))
        contains(_url_of(None, config=path), wanted)


def what_is_handed_on_by_a_client_has_every_field_of_its_options():
    _write('c', 'url = redis://h\nprefix = of-file\n')
    for name, (given, wanted) in HANDED_ON['field'].items():
        if _cut_tls('field', name):
            continue
        contains(_url_of(_base_for(name), *given), wanted)


def what_a_process_keeps_for_itself_is_not_handed_on():
    plain = _url_of('redis://h')
    for word in ('renew_every_ms=100', 'close_timeout_ms=5', 'names_max=9', 'local_handovers_max=1',
                 'local_handover_ms=3', 'note=hello', 'flags=2'):
        equal(_url_of('redis://h', word), plain, word)
    equal(_url_of('redis://h?note=hello'), plain)


# ---- the same locks inside ----

SCRIPT = '''
cd /
"$DIBS" renew "$DIBS_TOKEN" >/dev/null; echo renew $?
"$DIBS" run -q -n outer -- true; echo same $?
env -u DIBS_HELD "$DIBS" run -q -n outer -- true; echo busy $?
"$INNER_CLIENT" try outer
"$DIBS" run -n other -- "$DIBS" who -q other >/dev/null; echo deeper $?
token=$("$DIBS" acquire --no-renew loose) && "$DIBS" release "$token"; echo token $?
'''
ALL = 'renew 0\nsame 80\nbusy 75\nDIBS_BUSY\ndeeper 0\ntoken 0\n'
ELECT = '"$DIBS" elect run -n vote -- "$DIBS" elect observe vote -n; echo elect $?'


def _without_servers(**env):
    base = {'DIBS_URL': None, 'HOME': directory, 'INNER_CLIENT': INNER,
            'XDG_RUNTIME_DIR': os.path.join(directory, 'run')}
    return dict(base, **env)


def _the_same_inside(*words, wanted=ALL, script=SCRIPT, cwd=directory, **env):
    done = dibs('run', *words, 'outer', '--', 'sh', '-c', script, env=_without_servers(**env),
                cwd=cwd, timeout=60)
    equal((done.code, done.out), (0, wanted), (words, env, done))
    lacks(done.out + done.err, 'geheim')
    return done


def _user(server, name='bob'):
    server.ask('ACL', 'SETUSER', name, 'on', '>' + PASSWORD, '~*', '&*', '+@all')
    server.ask('ACL', 'SETUSER', 'default', 'off')


def _locked_server():
    locked = Server()
    _user(locked)
    return locked


def a_configuration_file_holds_inside():
    text = 'url = %s\nprefix = nightly\n' % harness.server.url
    path = _write('c', text)
    _the_same_inside(DIBS_CONFIG=path)
    contains(harness.server.ask('KEYS', '*'), 'nightly:')
    os.makedirs(os.path.join(directory, '.config', 'dibs'), exist_ok=True)
    _write('.config/dibs/config', text.replace('nightly', 'daily'))
    try:
        _the_same_inside()
        contains(harness.server.ask('KEYS', '*'), 'daily:')
    finally:
        os.remove(os.path.join(directory, '.config', 'dibs', 'config'))


def what_is_wrong_in_a_configuration_file_names_it():
    url = 'url = %s\n' % harness.server.url
    for text, says in (('url = redis://h:0\n', 'the port must be'),
                       (url + 'prefix = a b\n', 'prefix "a b": '),
                       (url + 'classes = a{b}\n', 'classes: pattern 1, "a{b}"'),
                       (url + 'note = %s\n' % ('n' * 257), 'note is longer'),
                       (url.strip() + '?prefix=a%20b\n', 'prefix "a b": ')):
        path = _write('wrong', text)
        for words, env in ((['--config', path], {}), ([], {'DIBS_CONFIG': path})):
            done = dibs('who', *words, 'x', env=_without_servers(**env))
            equal(done.code, 78, done)
            contains(done.err, 'dibs: %s: %s' % (path, says))
    path = _write('right', url + 'prefix = a\n')
    done = dibs('who', '--config', path, '--prefix', 'a b', 'x', env=_without_servers())
    lacks(done.err, path)


def the_option_config_holds_inside():
    _write('c', 'url = %s\nprefix = weekly\npubsub = no\n' % harness.server.url)
    _the_same_inside('--config', 'c')                 # also a name that is relative
    contains(harness.server.ask('KEYS', '*'), 'weekly:')


def what_a_file_says_of_the_server_does_not_matter_inside():
    """A file that is there inside, and another one: what was handed on wins."""
    path = _write('other', 'url = redis://127.0.0.1:1\nprefix = wrong\n')
    _the_same_inside('-u', harness.server.url, '--prefix', 'right', DIBS_CONFIG=path)


def the_query_of_a_url_holds_inside():
    url = harness.server.url + '?prefix=query&db=3&pubsub=no&clock_rate_error_ppm=5000'
    _the_same_inside('-u', url)
    _the_same_inside(DIBS_URL=url)
    _the_same_inside('-u', harness.server.url, '--db', '4', '--connect-timeout', '9s')
    contains(harness.server.ask('INFO', 'keyspace'), 'db4:')


def a_password_holds_inside_wherever_it_came_from():
    locked = _locked_server()
    escaped = ESCAPED
    pass_file = _write('pw', PASSWORD + '\n')
    plain = 'unix://bob@' + locked.socket
    try:
        for words, env in (
                ([], {'DIBS_URL': 'unix://bob:%s@%s' % (escaped, locked.socket)}),
                ([], {'DIBS_URL': 'unix://%s?user=bob&password=%s' % (locked.socket, escaped)}),
                ([], {'DIBS_URL': plain, 'DIBS_PASSWORD': PASSWORD}),
                (['-u', plain, '--pass-file', 'pw'], {}),
                (['-u', locked.url, '--user', 'bob', '--pass-file', pass_file], {}),
                (['--config', _write('c1', 'url = %s\nuser = bob\npassword = %s\n' % (
                    locked.url, PASSWORD))], {}),
                ([], {'DIBS_CONFIG': _write('c2', 'url = %s\nuser = bob\npassword_file = %s\n' % (
                    locked.url, pass_file))})):
            _the_same_inside(*words, **env)
    finally:
        locked.stop()


def a_value_of_the_file_is_never_cut():
    password = 'semi ;colon #hash' + 'x' * 300
    locked = Server('--requirepass', password)
    try:
        path = _write('long', 'url = %s\n  password = %s\nclasses = %s\n' % (
            locked.url, password, ','.join('c%02d:*' % i for i in range(64))))
        done = dibs('run', '--config', path, 'x', '--', 'true')
        equal((done.code, done.err), (0, ''), done)
    finally:
        locked.stop()


def two_passwords_in_a_file_are_refused_with_its_name():
    path = _write('two', 'user = bob\npassword = a\npassword_file = %s\n' % _write('p', 'b\n'))
    done = dibs('run', '--config', path, 'x', '--', 'true')
    equal(done.code, 78, done)
    contains(done.err, path + ': password and password_file are both given')


def a_password_file_that_is_missing_is_named_with_the_file_that_names_it():
    for file, more in (('no/secret', ', seen from the working directory: write the whole path'),
                       ('/no/secret', '')):
        path = _write('missing', 'password_file = %s\n' % file)
        done = dibs('run', '--config', path, 'x', '--', 'true')
        equal(done.code, 78, done)
        contains(done.err, '%s: password_file: %s: No such file or directory%s'
                 % (path, file, more))
        equal('working directory' in done.err, more != '', done)


def _users(server):
    return re.findall(r' name=dibs:\S* .* user=(\S+)', server.ask('CLIENT', 'LIST'))


def a_user_without_a_password_is_that_user_wherever_it_was_named():
    free = Server()
    try:
        free.ask('ACL', 'SETUSER', 'ghost', 'on', 'nopass', '~*', '&*', '+@all')
        file = _write('c', 'url = %s\nuser = ghost\n' % free.url)
        for how in (['-u', 'unix://ghost@' + free.socket], ['-u', free.url + '?user=ghost'],
                    ['-u', free.url, '--user', 'ghost'], ['--config', file]):
            process = start('run', *how, 'outer', '--', DIBS, 'run', 'inner', '--', 'cat',
                            stdin=subprocess.PIPE, env=_without_servers())
            until(lambda: len(set(re.findall(r' name=(dibs:\S+)',
                                             free.ask('CLIENT', 'LIST')))) == 2, 'both ask')
            equal(set(_users(free)), {'ghost'}, how)
            equal(end_holder(process).code, 0)
        done = dibs('run', '--user', 'nobody', '-u', free.url, 'x', '--', 'true',
                    env=_without_servers())
        equal(done.code, 77, done)
    finally:
        free.stop()


def a_user_of_a_file_without_a_password_is_not_for_the_private_server():
    env = _without_servers(DIBS_LOCAL_DIR=os.path.join(directory, 'private'))
    file = _write('c', 'user = ghost\n')
    try:
        done = dibs('run', '--local', 'x', '--', 'true', env=dict(env, DIBS_CONFIG=file))
        equal(done.code, 0, done)
        done = dibs('run', '-u', 'local:?user=ghost', 'x', '--', 'true', env=env)
        assert done.code != 0, done
    finally:
        dibs('local', 'stop', '--force', env=env)


def each_dialect_holds_inside():
    for words in (['--dialect', 'redisson'], ['--dialect', 'spring', '--registry', 'reg'],
                  ['--dialect', 'plain']):
        _the_same_inside('-u', harness.server.url, *words)
        path = _write('d', 'url = %s\n%s\n' % (harness.server.url, '\n'.join(
            '%s = %s' % (words[i][2:], words[i + 1]) for i in range(0, len(words), 2))))
        _the_same_inside(DIBS_CONFIG=path)


def an_election_holds_inside_and_hands_on():
    path = _write('c', 'url = %s\nprefix = votes\n' % harness.server.url)
    done = dibs('run', 'outer', '--', 'sh', '-c', ELECT, env=_without_servers(DIBS_CONFIG=path))
    equal(done.code, 0, done)
    assert re.match(r'\d+ .*\nelect 0\n', done.out), done
    contains(harness.server.ask('KEYS', '*'), 'votes:')
    done = dibs('elect', 'run', 'outer', '--on-elected', '"$DIBS" renew "$DIBS_TOKEN"',
                '--', 'sh', '-c',
                SCRIPT, env=_without_servers(DIBS_CONFIG=path))
    equal(done.code, 0, done)
    contains(done.out, 'renew 0\n')
    contains(done.out, 'deeper 0\n')


# ---- deployments ----

def _free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class _Process:
    """A server that listens on a TCP port; asked by its unix socket where it has one."""

    def __init__(self, port, *words):
        program, name = server_program()
        self.port = port
        self.process = subprocess.Popen(
            [name, *words], executable=program, cwd=directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=harness._die_with_parent)
        until(self._listens, 'the server listens')

    def _listens(self):
        try:
            socket.create_connection(('127.0.0.1', self.port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()


def _tcp_server(*more):
    port = _free_port()
    return _Process(port, '--port', str(port), '--bind', '127.0.0.1', '--save', '', *more)


def a_cluster_holds_inside():
    box = Sandbox('--cluster', '1')
    try:
        _user(box.servers[0])
        url = box.url.replace('//', '//bob@')
        _the_same_inside('-u', url + '?prefix=cl&sharded=no', DIBS_PASSWORD=PASSWORD)
        _the_same_inside('-u', url + '?map=10.9.9.9>127.0.0.1', DIBS_PASSWORD=PASSWORD)
    finally:
        box.stop()


def sentinels_hold_inside():
    server = _tcp_server('--requirepass', PASSWORD)
    port = _free_port()
    config = _write('sentinel.conf', 'port %d\nbind 127.0.0.1\ndir %s\nrequirepass watch-%s\n'
                    'sentinel monitor main 127.0.0.1 %d 1\nsentinel auth-pass main %s\n' % (
                        port, directory, PASSWORD, server.port, PASSWORD))
    sentinel = _Process(port, config, '--sentinel')
    try:
        text = ('url = redis+sentinel://127.0.0.1:%d/main/2\npassword = %s\n'
                'sentinel_password = watch-%s\nprefix = se\n' % (port, PASSWORD, PASSWORD))
        _the_same_inside(DIBS_CONFIG=_write('c', text))
        url = 'redis+sentinel://:%s@127.0.0.1:%d/main?sentinel_password=watch-%s' % (
            ESCAPED, port, ESCAPED)
        _the_same_inside(DIBS_URL=url)
    finally:
        sentinel.stop()
        server.stop()


def a_quorum_holds_inside_and_a_token_is_refused_in_clear_words():
    servers = [_locked_server() for _ in range(3)]
    try:
        urls = ' '.join('unix://bob:%s@%s' % (ESCAPED, s.socket) for s in servers)
        wanted = ALL.replace('renew 0', 'renew 81').replace('token 0', 'token 81')
        done = _the_same_inside('--prefix', 'qu', DIBS_URL=urls, wanted=wanted)
        contains(done.err, 'quorum')
        path = _write('c', ''.join('url = unix://%s\n' % s.socket for s in servers) +
                      'user = bob\npassword = %s\n' % PASSWORD)
        _the_same_inside(DIBS_CONFIG=path, wanted=wanted)
    finally:
        for s in servers:
            s.stop()


def _openssl(*words):
    subprocess.run(['openssl', *words], cwd=directory, check=True, capture_output=True)


def _certificates():
    key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    _openssl('req', '-x509', *key, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj',
             '/CN=test authority')
    _openssl('req', '-x509', *key, '-keyout', 'server.key', '-out', 'server.pem', '-days', '2',
             '-subj', '/CN=locks.test', '-addext', 'subjectAltName=DNS:locks.test', '-addext',
             'basicConstraints=critical,CA:FALSE', '-CA', 'ca.pem', '-CAkey', 'ca.key')


def tls_holds_inside():
    _certificates()
    port = _free_port()
    server = _Process(port, '--port', '0', '--tls-port', str(port), '--bind', '127.0.0.1',
                      '--save', '', '--tls-cert-file', 'server.pem', '--tls-key-file',
                      'server.key', '--tls-ca-cert-file', 'ca.pem')
    url = 'rediss://127.0.0.1:%d' % port
    try:
        # File names that are relative, and a command inside that works in another directory.
        _the_same_inside('-u', url, '--cacert', 'ca.pem', '--sni', 'locks.test', '--cert',
                         'server.pem', '--key', 'server.key')
        _the_same_inside(DIBS_CONFIG=_write('c', 'url = %s\ncacert = ca.pem\nsni = locks.test\n'
                                            'cert = server.pem\nkey = server.key\n' % url))
    finally:
        server.stop()


# ---- what wins ----

def an_explicit_option_inside_wins():
    other = Server()
    try:
        script = ('"$DIBS" run -u %s -n outer -- echo url; "$DIBS" run --prefix q --dialect native '
                  '-n outer -- echo prefix; "$DIBS" run --config %s -n outer -- echo config; '
                  '"$DIBS" run --dialect native --db 7 -n outer -- echo native' % (
                      other.url, _write('c', 'url = %s\n' % other.url)))
        wanted = 'url\nprefix\nconfig\nnative\n'
        _the_same_inside('-u', harness.server.url, '--prefix', 'p', script=script, wanted=wanted)
        _the_same_inside('-u', harness.server.url, '--dialect', 'spring', '--registry', 'r',
                         script=script, wanted=wanted)
    finally:
        other.stop()


def another_dibs_url_inside_is_a_choice_of_its_own():
    other = Server()
    try:
        script = ('DIBS_URL=%s "$DIBS" run -n outer -- sh -c "echo \\$DIBS_URL"; '
                  'DIBS_URL=%s "$DIBS" run -n outer -- echo plain' % (
                      other.url, harness.server.url))
        _the_same_inside('-u', harness.server.url, '--prefix', 'p', script=script,
                         wanted=other.url + '\nplain\n')
    finally:
        other.stop()


def a_file_named_by_an_option_wins_over_variables():
    other = Server()
    try:
        path = _write('c', 'url = %s\nprefix = file\n' % other.url)
        equal(dibs('run', '--config', path, 'x', '--', 'true').code, 0)
        contains(other.ask('KEYS', '*'), 'file:')
        done = dibs('run', '--config', _write('c', 'prefix = file\n'), 'x', '--', 'true')
        equal(done.code, 78, done)
        contains(done.err, 'url')
    finally:
        other.stop()


def a_sandbox_inside_is_a_server_of_its_own():
    _the_same_inside('-u', harness.server.url, '--prefix', 'p',
                     script='"$DIBS" sandbox -- "$DIBS" run -n outer -- echo sandbox',
                     wanted='sandbox\n')


# ---- whether it is the same lock, while no server can say ----

PLACES = {'redis://h': 'redis://127.0.0.1:1', 'rediss://h': 'rediss://127.0.0.1:1',
          'redis+cluster://h': 'redis+cluster://127.0.0.1:1',
          'redis+sentinel://h/main': 'redis+sentinel://127.0.0.1:1/main'}


def _other_value(option):
    given = HANDED_ON['url'][option][0] if option in HANDED_ON['url'] else option + '=hello'
    for file, real in ('=/ca', 'ca.pem'), ('=/c', 'server.pem'), ('=/k', 'server.key'):
        given = re.sub(file + '(?=&|$)', '=' + os.path.join(directory, real), given)
    return 'degrade=wait' if option == 'degrade' else given


def _codes_inside(base, options):
    """By option: the code of a run of the same name inside, with another value of that option."""
    script = ''.join(
        "{ DIBS_URL='%s?%s' \"$DIBS\" run -n --connect-timeout 200ms %s nest -- true; "
        'echo %s $?; } & ' % (base, _other_value(o), '' if o == 'degrade' else '--degrade local', o)
        for o in options)
    done = dibs('run', '--degrade', 'local', '--connect-timeout', '200ms', 'nest', '--', 'sh',
                '-c', script + 'wait', timeout=60, env=_without_servers(
                    DIBS_URL=base, DIBS_LOCAL_DIR=os.path.join(directory, 'locks')))
    equal(done.code, 0, done)
    return {o: int(code) for o, code in re.findall(r'(\w+) (\d+)\n', done.out)}


def another_value_of_an_option_is_another_lock_where_the_table_says_so():
    _certificates()
    identities = _identities()
    codes = {}
    for base, place in PLACES.items():
        codes.update(_codes_inside(place, [o for o in identities if _base_for(o) == base]))
    for option, identity in identities.items():
        assert identity in ('SAME_LOCK', 'OTHER_LOCK'), (option, identity)
        equal(codes[option] == 80, identity == 'SAME_LOCK', (option, codes))


# ---- secrets ----

def passwords_are_in_no_argument_and_in_no_output():
    locked = _locked_server()
    try:
        url = 'unix://bob:%s@%s' % (ESCAPED, locked.socket)
        script = ('echo "$DIBS_URL"; tr "\\0" " " </proc/$PPID/cmdline; '
                  '"$DIBS" status; "$DIBS" who outer; "$DIBS" doctor; "$DIBS" ping --count 1; '
                  '"$DIBS" run --connect-timeout 300ms --db 99 z -- true')
        done = dibs('run', '-v', 'outer', '--', 'sh', '-c', script,
                    env=_without_servers(DIBS_URL=url))
        contains(done.out, 'unix://%s?user=bob' % locked.socket)
        lacks(done.out + done.err, 'geheim')
    finally:
        locked.stop()


def inherited_settings_of_another_version_are_ignored():
    other = harness.Server()
    try:
        for inherited in ('unix:///x?option_of_a_later_version=1', 'later-version://x', 'x', '?'):
            for url in (harness.server.url, other.url):
                done = dibs('run', 'outer', '--', 'sh', '-c',
                            'DIBS_INHERITED_URL=%s; export DIBS_INHERITED_URL; DIBS_URL=%s; '
                            '"$DIBS" run inner -- sh -c \'echo "$DIBS_URL"\'' %
                            (shlex.quote(inherited), shlex.quote(url)))
                equal((done.code, done.out), (0, url + '\n'), (inherited, done))
        done = dibs('who', 'x', env={'DIBS_URL': 'x', 'DIBS_INHERITED_URL': 'y'})
        equal(done.code, 78, done)
        contains(done.err, 'DIBS_URL: the URL must begin')
    finally:
        other.stop()


def a_command_can_be_kept_from_the_password():
    locked = _locked_server()
    try:
        url = 'unix://bob:%s@%s' % (ESCAPED, locked.socket)
        done = dibs('run', 'outer', '--', 'env', '-u', 'DIBS_INHERITED_URL', 'sh', '-c',
                    'env | grep -c geheim; "$DIBS" renew "$DIBS_TOKEN"',
                    env=_without_servers(DIBS_CONFIG=_write('c', 'url = %s\n' % url)))
        equal((done.code, done.out), (77, '0\n'), done)
    finally:
        locked.stop()


def a_password_on_the_command_line_is_refused_with_the_other_ways():
    for url in ('redis://:geheim@h', 'redis://u:geheim@h/1', 'unix://:geheim@/s',
                'redis://h?password=geheim', 'redis+sentinel://h/s?sentinel_password=geheim',
                'redis://a redis://:geheim@b redis://c'):
        for command in (['run', '-u', url, 'x', '--', 'true'], ['who', '--url', url, 'x'],
                        ['ping', '--url=' + url]):
            done = dibs(*command)
            equal((done.code, done.out), (64, ''), done)
            lacks(done.err, 'geheim')
            for way in ('--url', 'DIBS_URL', 'DIBS_PASSWORD', '--pass-file', 'configuration file'):
                contains(done.err, way)


# ---- files that are none ----

def what_is_no_regular_file_is_refused_and_does_not_block():
    fifo = os.path.join(directory, 'fifo')
    os.mkfifo(fifo)
    base = 'url = %s\n' % harness.server.url
    for path in (fifo, directory, '/dev/zero'):
        for words, env in ((['--config', path], {}), ([], {'DIBS_CONFIG': path}),
                           ([], {'DIBS_CONFIG': _write('c', base + 'password_file = %s' % path)}),
                           (['-u', 'rediss://h', '--cacert', path], {}),
                           (['-u', 'rediss://h', '--cert', path, '--key', path], {}),
                           ([], {'DIBS_CONFIG': _write(
                               'd', 'url = rediss://h\ncacert = %s' % path)})):
            done = dibs('who', *words, 'x', env=_without_servers(**env), timeout=10)
            equal(done.code, 78, (words, env, done))
            contains(done.err, path)
            contains(done.err, 'regular file')


def dev_null_is_no_configuration():
    home = os.path.join(directory, 'home')
    os.makedirs(os.path.join(home, 'dibs'))
    _write('home/dibs/config', 'url = %s\n' % harness.server.url)
    env = {'XDG_CONFIG_HOME': home, 'DIBS_NO_LOCAL': '1'}
    equal(dibs('who', 'x', env=_without_servers(**env)).code, 1)
    env['DIBS_CONFIG'] = '/dev/null'
    done = dibs('who', 'x', env=_without_servers(**env))
    equal(done.code, 78, done)
    contains(done.err, 'DIBS_NO_LOCAL forbids')
    equal(dibs('who', 'x', env={'DIBS_CONFIG': '/dev/null'}).code, 1)


def a_password_may_come_through_a_pipe_that_is_written_to():
    locked = _locked_server()
    try:
        words = [DIBS, 'who', '-u', locked.url, '--user', 'bob', 'x', '--pass-file']
        quoted = ' '.join("'%s'" % w for w in words)
        for text in ('%s <(sleep 0.3; echo "%s")' % (quoted, PASSWORD),
                     'echo "%s" | %s /dev/stdin' % (PASSWORD, quoted)):
            done = subprocess.run(['bash', '-c', text], capture_output=True, text=True,
                                  env=environment(), timeout=PATIENCE)
            equal(done.returncode, 1, done)      # free
        fifo = os.path.join(directory, 'nobody-writes')
        os.mkfifo(fifo)
        for path in (fifo, directory, '/dev/null', '/dev/tty', _write('empty', '\n')):
            done = dibs('who', '-u', locked.url, '--pass-file', path, 'x', timeout=10)
            equal(done.code, 78, done)
            contains(done.err, path)
    finally:
        locked.stop()


def a_password_file_whose_first_line_is_no_password_is_refused():
    locked = Server('--requirepass', 'secret')
    try:
        for text, reason in (('secret\0more\n', 'zero byte'), ('\ufeffsecret\n', 'byte order'),
                             ('\n', 'empty')):
            path = _write('no-password', text)
            config = _write('config', 'url = %s\npassword_file = %s\n' % (locked.url, path))
            for words in (['-u', locked.url, '--pass-file', path], ['--config', config]):
                done = dibs('who', *words, 'x')
                equal(done.code, 78, (text, words, done))
                contains(done.err, path)
                contains(done.err, reason)
        done = dibs('who', '-u', locked.url, '--pass-file', _write('long', 'x' * 5000), 'x')
        equal(done.code, 78, done)
        contains(done.err, 'longer than 4094 bytes')
        path = _write('password', 'secret\r\n\0')      # what follows the line is not read
        equal(dibs('who', '-u', locked.url, '--pass-file', path, 'x').code, 1)
    finally:
        locked.stop()


try:
    tests(dict(globals()))
finally:
    shutil.rmtree(directory, ignore_errors=True)
