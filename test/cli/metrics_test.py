#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs metrics: over real locks of several processes; scraped by a real Prometheus."""
import contextlib
import glob
import json
import stat
import threading
import urllib.error
import urllib.parse
import urllib.request

import harness
from harness import *  # noqa

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NASTY = 'q"\\<script>\n\x1b'


def _values(text):
    return dict(line.rsplit(' ', 1) for line in text.splitlines() if not line.startswith('#'))


class _Exporter:
    def __init__(self, *words):
        self.process = start('metrics', '--listen', '127.0.0.1:0', *words)
        said = self.process.stderr.readline()
        self.address = re.search(r'http://\S+:\d+', said).group(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.code = self.process.wait(PATIENCE)
        self.process.stderr.close()

    def get(self, path='/metrics', **headers):
        asked = urllib.request.Request(self.address + path, headers=headers)
        return urllib.request.urlopen(asked, timeout=PATIENCE).read().decode()


def _waiters(name, count):
    all_of_them = [start('run', name, '--', 'true') for _ in range(count)]
    until_waiting(name, count)
    return all_of_them


def _end(processes):
    for process in processes:
        process.terminate()
        process.wait(PATIENCE)


def holders_and_waiters_are_counted():
    processes = [holder('orders:42')] + _waiters('orders:42', 3)
    try:
        seen = _values(dibs('metrics', '--once').out)
    finally:
        _end(reversed(processes))
    equal(seen['dibs_up'], '1')
    equal(seen['dibs_lock_waiters{name="orders:42"}'], '3')
    equal(seen['dibs_names_held'], '1')
    equal(float(seen['dibs_lock_held_seconds{name="orders:42"}']) > 0, True, seen)
    equal(0 < float(seen['dibs_lock_lease_left_seconds{name="orders:42"}']) <= 31, True, seen)


def connections_without_a_request_do_not_keep_others_out():
    with _Exporter() as exporter:
        where = urllib.parse.urlsplit(exporter.address)
        silent = []
        for _ in range(64):
            silent.append(socket.create_connection((where.hostname, where.port), PATIENCE))
            silent[-1].sendall(b'GET /metrics HTTP/1.1\r\n')

        def answers():
            try:
                return exporter.get()
            except OSError:
                return None
        until(answers, 'another one is answered')
        for one in silent:
            one.close()


# Each byte is in time, the head of the request is not.
def connections_that_send_a_request_slowly_do_not_either():
    with _Exporter() as exporter:
        where = urllib.parse.urlsplit(exporter.address)
        slow, is_over = [], threading.Event()
        for _ in range(64):
            slow.append(socket.create_connection((where.hostname, where.port), PATIENCE))
            slow[-1].sendall(b'GET /metrics HTTP/1.1\r\n')

        def send():
            while not is_over.wait(1):
                for one in slow:
                    with contextlib.suppress(OSError):      # it may be closed
                        one.send(b'x')

        def answers():
            try:
                return exporter.get()
            except OSError:
                return None
        sender = threading.Thread(target=send)
        sender.start()
        try:
            until(answers, 'another one is answered', 2 * PATIENCE)
        finally:
            is_over.set()
            sender.join()
        for one in slow:
            one.close()


def patterns_say_which_names_are_one_class():
    url = harness.server.url + '?classes=pat:eu:*,*:lock'
    for name in ('pat:eu:1', 'pat:eu:2', 'pat:us:1', 'job:7:lock'):
        equal(dibs('run', '-u', url, name, '--', 'true').code, 0)
    seen = _values(dibs('metrics', '--once').out)
    equal([seen.get('dibs_acquire_wait_seconds_count{class="%s",kind="lock",outcome="ok"}' % one)
           for one in ('pat:eu:*', '*:lock', 'pat', 'job')], ['2', '1', '1', None])
    held = holder('pat:eu:3')
    try:
        with_them, without = (json.loads(dibs('top', '--json', *words).out)
                              for words in (['-u', url], []))
    finally:
        end_holder(held)
    equal((with_them['locks'][0]['class'], with_them['class_patterns']),
          ('pat:eu:*', 'pat:eu:*,*:lock'))
    equal((without['locks'][0]['class'], 'class_patterns' in without), ('pat', False))


def a_wrong_pattern_of_a_class_is_named():
    for url in ('?classes=a*,b%20c', '?classes=a*,%3F'):
        done = dibs('run', '-u', harness.server.url + url, 'x', '--', 'true')
        equal(done.code, 78)
        contains(done.err, 'classes: pattern 2, "')
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'c')
        with open(path, 'w') as f:
            f.write('url = %s\nclasses = orders:*, , user:*\n' % harness.server.url)
        done = dibs('run', '--config', path, 'x', '--', 'true')
    equal(done.code, 78)
    contains(done.err, 'classes: pattern 2 is empty')


def what_the_server_counts_itself_is_there():
    server = Server()
    try:
        equal(dibs('run', '-u', server.url, 'counted', '--', 'true').code, 0)
        seen = _values(dibs('metrics', '--once', '-u', server.url).out)
        found = [json.loads(line) for line in
                 dibs('doctor', '--json', '-u', server.url).out.splitlines()]
    finally:
        server.stop()
    own = {name.split('{')[0]: float(value) for name, value in seen.items()
           if name.startswith('dibs_server_') and '{node="%s"}' % server.url in name}
    equal(sorted(own), ['dibs_server_' + name for name in (
        'evicted_keys_total', 'expired_keys_total', 'memory_bytes', 'memory_max_bytes',
        'replica_lag_bytes', 'replicas', 'script_seconds_total', 'scripts_total')])
    equal(own['dibs_server_memory_bytes'] > 100000, True, own)
    equal(own['dibs_server_scripts_total'] >= 2, True, own)
    equal(0 < own['dibs_server_script_seconds_total'] < 60, True, own)
    equal(own['dibs_server_evicted_keys_total'], 0)
    numbers = [f['numbers'] for f in found if 'numbers' in f]
    equal([n['evicted_keys'] for n in numbers], [0])
    equal(numbers[0]['script_calls'] > own['dibs_server_scripts_total'], True, numbers)


def names_of_any_text_make_one_valid_line():
    token = dibs('acquire', '--no-renew', NASTY).out.strip()
    text = dibs('metrics', '--once').out
    dibs('release', token)
    contains(text, 'name="q\\"\\\\<script>\\\\x0a\\\\x1b"')
    if shutil.which('promtool'):
        done = subprocess.run(['promtool', 'check', 'metrics'], input=text, text=True,
                              capture_output=True)
        equal((done.returncode, done.stdout, done.stderr), (0, '', ''))


def a_class_of_another_program_that_looks_like_ours_has_no_series():
    server = Server()
    try:
        for name in ('orders', 'orders\0x', 'o\x01', 'o\\x01'):
            key = 'dibs:t:{%s}' % name.split('\0')[0]
            server.ask('ZADD', 'dibs:{fleet}:classes', str(10**15), name)
            server.ask('HSET', key, 'since', '5', 'mw0', 's:1 0:1', 'mh0', 's:1 0:1')
        lines = [line for line in dibs('metrics', '--once', '-u', server.url).out.splitlines()
                 if line.startswith('dibs_acquire_wait_seconds_count{')]
    finally:
        server.stop()
    equal(lines, ['dibs_acquire_wait_seconds_count{class="orders",kind="lock",outcome="ok"} 1'])


def only_the_first_k_names_have_series():
    tokens = [dibs('acquire', '--no-renew', 'many:%d' % i).out.strip() for i in range(6)]
    seen = _values(dibs('metrics', '--once', '--names', '2').out)
    for token in tokens:
        dibs('release', token)
    equal(len([k for k in seen if k.startswith('dibs_lock_held_seconds')]), 2)
    equal(seen['dibs_names_not_shown'], '4')


def a_textfile_is_replaced_as_a_whole():
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'dibs.prom')
        equal(dibs('metrics', '--textfile', path).code, 0)
        contains(open(path).read(), 'dibs_up 1\n')
        equal(os.listdir(place), ['dibs.prom'])
        done = dibs('metrics', '--textfile', os.path.join(place, 'none', 'x'))
        equal(done.code, 74, done)
        contains(done.err, 'No such file')
        pipe = os.path.join(place, 'pipe')
        os.mkfifo(pipe)
        for path in (pipe, place):
            done = dibs('metrics', '--textfile', path)
            equal(done.code, 74, done)
            contains(done.err, path + ' is no regular file')
        assert stat.S_ISFIFO(os.stat(pipe).st_mode)


def mistakes_are_named():
    for words, code, says in (
            (('--listen', 'nowhere'), 64, '--listen nowhere: ADDRESS:PORT is wanted'),
            (('--listen', '127.0.0.1:99999'), 64, 'ADDRESS:PORT is wanted'),
            (('--once', '--json'), 64, '--json and --once exclude each other'),
            (('--once', '--textfile', 'x'), 64, 'exclude each other')):
        done = dibs('metrics', *words)
        equal(done.code, code, done)
        contains(done.err, says)
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        done = dibs('metrics', '--listen', '127.0.0.1:%d' % taken.getsockname()[1])
    equal(done.code, 74, done)
    contains(done.err, 'Address already in use; choose another port')


def only_local_pages_may_read_and_a_scrape_is_cached():
    with _Exporter() as exporter:
        first = exporter.get()
        equal(exporter.get(), first)
        contains(first, 'dibs_names ')
        try:
            exporter.get(Host='evil.example:80')
            raise AssertionError('served')
        except urllib.error.HTTPError as refused:
            equal(refused.code, 403)
    equal(exporter.code, 0)


def a_server_that_stops_leaves_no_old_numbers():
    token = dibs('acquire', '--no-renew', 'gone:1').out.strip()
    with _Exporter() as exporter:
        contains(exporter.get(), 'dibs_names_held 1\n')
        with harness.server.paused():
            seen = until(lambda: (lambda t: t if 'dibs_up 0\n' in t else None)(exporter.get()),
                         'down')
    dibs('release', token)
    equal(set(_values(seen)), {'dibs_up', 'dibs_sample_duration_seconds'})


def prometheus_scrapes_it_and_its_rules_hold():
    if not shutil.which('prometheus') or not shutil.which('promtool'):
        print('# skipped: prometheus and promtool are not installed')
        return
    rules = os.path.join(TREE, 'contrib', 'prometheus')
    done = subprocess.run(['promtool', 'test', 'rules', 'alerts_test.yml'], cwd=rules, text=True,
                          capture_output=True)
    equal(done.returncode, 0, done.stdout + done.stderr)
    processes = [holder('paid:%d' % i) for i in range(4)] + _waiters('paid:0', 2)
    try:
        with tempfile.TemporaryDirectory() as place, _Exporter() as exporter:
            _prometheus_sees(exporter, place)
    finally:
        _end(reversed(processes))


def _prometheus_sees(exporter, place):
    with open(os.path.join(place, 'p.yml'), 'w') as config:
        config.write('global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: dibs\n'
                     '  static_configs: [{targets: ["%s"]}]\n' % exporter.address[7:])
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    prometheus = subprocess.Popen(
        ['prometheus', '--config.file=p.yml', '--storage.tsdb.path=data',
         '--web.listen-address=127.0.0.1:%d' % port], cwd=place, stderr=subprocess.DEVNULL)

    def ask(expression):
        try:
            return json.load(urllib.request.urlopen(
                'http://127.0.0.1:%d/api/v1/query?%s' %
                (port, urllib.parse.urlencode({'query': expression})), timeout=PATIENCE)
            )['data']['result']
        except (OSError, ValueError):
            return []
    try:
        until(lambda: ask('dibs_lock_waiters{name="paid:0"}'), 'scraped')
        equal(ask('dibs_lock_waiters{name="paid:0"}')[0]['value'][1], '2')
        equal(ask('count(dibs_lock_held_seconds{name=~"paid:.*"})')[0]['value'][1], '4')
    finally:
        prometheus.terminate()
        prometheus.wait(PATIENCE)


def every_metric_of_the_files_is_in_the_source():
    table = open(os.path.join(TREE, 'src', 'base', 'metrics.h')).read()
    known = set(re.findall(r'ROW\((dibs_\w+),', table))
    for path in glob.glob(os.path.join(TREE, 'contrib', '*', '*.*')):
        for name in re.findall(r'\bdibs_[a-z_]+\b(?!\()', open(path).read()):
            equal(re.sub('_(bucket|sum|count)$', '', name) in known, True, (path, name))


tests(dict(globals()))
