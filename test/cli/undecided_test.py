#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers that answer and cannot decide: what each subcommand says and exits with, in which time.
75 means that another client has it; a server that cannot be asked is 69, with its words."""
from harness import *  # noqa

ROWS = (
    ('run', 'b', '--', 'true'), ('run', '-n', 'b', '--', 'true'),
    ('run', '-w', '1', '--skip-ok', 'b', '--', 'true'),
    ('run', '-w', '1', '--json', 'b', '--', 'true'),
    ('run', '-s', '-w', '1', 'b', '--', 'true'), ('run', '-j', '2', 'b', '--', 'true'),
    ('run', '--multi', '{b}1,{b}2', '--', 'true'),
    ('acquire', '--no-renew', 'b'), ('acquire', '--no-renew', '-n', 'b'),
    ('who', 'b'), ('wait', 'b'), ('wait', '-w', '1', 'b'),
    ('status',), ('status', '--json'), ('sem', 'set', 'b', '2'), ('sem', 'ls', 'b'),
    ('latch', 'set', 'b', '1'), ('latch', 'down', 'b'), ('latch', 'wait', '-w', '1', 'b'),
    ('barrier', 'wait', '--parties', '2', 'b'), ('barrier', 'show', 'b'), ('rate', 'take', 'b'),
    ('elect', 'run', 'b', '--', 'true'), ('break', '--yes', 'b'),
    ('run', '-n', '--skip-ok', 'b', '--', 'true'), ('who', '--json', 'b'),
    ('acquire', '--no-renew', '-n', '-E', '9', '--json', 'b'), ('wait', '--json', '-w', '1', 'b'),
    ('elect', 'run', '-n', '--skip-ok', 'b', '--', 'true'),
)

# Without need of a write: a server out of memory answers these.
READS = ('who', 'wait', 'status', 'sem ls', 'latch down', 'latch wait', 'barrier show',
         'rate take', 'break')


def _port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        port = s.getsockname()[1]
    return port if port < 50000 else port - 20000        # its bus is 10000 higher


def _all(url, word, rows=ROWS, env=None):
    """All at the same time: each gives up after the connect timeout."""
    found = {}

    def run(row):
        began = time.monotonic()
        done = dibs(row[0], '-u', url, '--connect-timeout', '1s', *row[1:], env=env)
        found[row] = (done, time.monotonic() - began)

    threads = [threading.Thread(target=run, args=(row,)) for row in rows]
    for number in range(0, len(threads), 8):
        for thread in threads[number:number + 8]:
            thread.start()
        for thread in threads[number:number + 8]:
            thread.join()
    for row in rows:
        done, took = found[row]
        equal(done.code, 69, (row, done))
        if word not in done.err:             # the limit ended it before the server's answer
            run(row)
            done, took = found[row]
            equal(done.code, 69, (row, done))
        if 'no reply in time' not in done.err:   # its last question was under way
            contains(done.err, word)
        if took > 6:
            raise AssertionError('%s took %.1f s' % (row, took))


def _writes():
    return [r for r in ROWS if ' '.join(r[:2]) not in READS and r[0] not in READS]


class _Cluster(Server):
    def __init__(self):
        port = _port()
        super().__init__('--port', str(port), '--cluster-enabled', 'yes')
        self.tcp = '127.0.0.1:%d' % port


def a_cluster_that_is_down_is_69_in_every_subcommand():
    server = _Cluster()
    try:
        server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '8000')
        _all('redis+cluster://' + server.tcp, 'CLUSTERDOWN')
    finally:
        server.stop()


def a_slot_that_no_node_serves_is_69_in_every_subcommand():
    server = _Cluster()
    try:
        server.ask('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
        server.ask('CLUSTER', 'ADDSLOTSRANGE', '4000', '16383')      # not that of b
        until(lambda: 'cluster_state:ok' in server.ask('CLUSTER', 'INFO'), 'it serves the others')
        _all('redis+cluster://' + server.tcp, 'no node of the ')
    finally:
        server.stop()


def a_list_without_some_slots_shows_what_the_others_have():
    server = _Cluster()
    url = 'redis+cluster://' + server.tcp
    try:
        server.ask('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
        server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
        until(lambda: 'cluster_state:ok' in server.ask('CLUSTER', 'INFO'), 'it serves all')
        for words in (('acquire', '--no-renew', '-t', '10m', 'a'),
                      ('acquire', '--no-renew', '-t', '10m', '{a}2'),
                      ('acquire', '--no-renew', '-t', '10m', '{a}3'), ('sem', 'set', 'c', '2'),
                      ('latch', 'set', '{a}gate', '3'),
                      ('latch', 'down', '--once', 'i', '{a}gate')):
            done = dibs(*words, '-u', url)
            equal(done.code, 0, done)
        # The slots of a and c stay: neither that of b nor those in which the holders registered.
        server.ask('CLUSTER', 'DELSLOTSRANGE', '0', '7364', '7366', '15494', '15496', '16383')
        for words in (['status'], ['status', '--json']):
            done = dibs(*words, '-u', url)
            equal(done.code, 69, done)
            for part in ('lock', 'held', '{a}2', '{a}3', 'semaphore', 'latch', '{a}gate'):
                contains(done.out, part)
            contains(done.err, 'not all names are shown')
            contains(done.err, 'no node of the Cluster serves 16382 of its 16384 slots')
        # A name is not missed where its slot is served.
        for name, words in (('a', 'held'), ('{a}', 'held'), ('c', 'semaphore'),
                            ('{a}gate', 'latch')):
            done = dibs('status', name, '-u', url)
            equal((done.code, done.err), (0, ''), done)
            contains(done.out, words)
        equal(dibs('sem', 'ls', 'c', '-u', url).code, 0)
        contains(dibs('top', '--once', '{a}*', '-u', url).err, 'no node of the')
        contains(dibs('top', '--once', 'a', '-u', url).out, '1 held')
        for pattern in ('b', '{b}', 'a*', '[a]', 'a}b'):
            done = dibs('status', pattern, '-u', url)
            equal(done.code, 69, done)
    finally:
        server.stop()


def what_the_user_may_not_do_is_77_in_every_subcommand():
    server = Server()
    try:
        server.ask('ACL', 'SETUSER', 'nop', 'on', '>geheim', '~nothing', '&*', '+@all', '-info',
                   '-scan')
        url, env = server.url.replace('unix://', 'unix://nop@'), {'DIBS_PASSWORD': 'geheim'}
        for row in ROWS:
            done = dibs(row[0], '-u', url, *row[1:], env=env)
            equal(done.code, 77, (row, done))
            contains(done.err, 'NOPERM')
    finally:
        server.stop()


def a_plain_url_of_a_cluster_node_or_a_database_that_is_not_there_is_78():
    server = _Cluster()
    try:
        server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '8000')
        server.ask('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
        done = dibs('run', '-u', 'redis://%s/3' % server.tcp, 'b', '--', 'true')
        equal(done.code, 78, done)
        contains(done.err, 'SELECT')
        # SCAN alone would list what this node has.
        for words in (['status'], ['status', '--json'], ['sem', 'ls'], ['barrier', 'ls']):
            done = dibs(*words, '-u', 'redis://' + server.tcp)
            equal((done.code, done.out), (78, ''), done)
            contains(done.err, 'redis+cluster://')
    finally:
        server.stop()
    server = Server()
    try:
        done = dibs('run', '-u', server.url, '--db', '99', 'b', '--', 'true')
        equal(done.code, 78, done)
        contains(done.err, 'DB index')
    finally:
        server.stop()


def a_replica_is_69_for_all_that_write():
    server = Server('--replicaof', '127.0.0.1 1')
    try:
        _all(server.url, 'READONLY', _writes())
    finally:
        server.stop()


def a_replica_without_its_primary_and_without_stale_data_is_69():
    server = Server()
    try:
        server.ask('CONFIG', 'SET', 'replica-serve-stale-data', 'no')
        server.ask('REPLICAOF', '127.0.0.1', '1')
        _all(server.url, 'MASTERDOWN')
    finally:
        server.stop()


def too_few_replicas_are_69_for_all_that_write():
    server = Server('--min-replicas-to-write', '1')
    try:
        _all(server.url, 'NOREPLICAS', _writes())
    finally:
        server.stop()


def a_full_server_is_69_for_all_that_write():
    server = Server('--maxmemory-policy', 'noeviction')
    try:
        server.ask('CONFIG', 'SET', 'maxmemory', '1')
        # The first write of latch_set allocates nothing, and the server lets the others pass.
        _all(server.url, 'OOM', [r for r in _writes() if r[:2] != ('latch', 'set')])
    finally:
        server.stop()


def a_server_that_cannot_save_is_69_for_all_that_write():
    server = Server('--dir', '/proc', '--save', '3600 1')    # no file can be made there
    try:
        server.ask('SET', 'x', '1')
        server.ask('BGSAVE')
        until(lambda: 'rdb_last_bgsave_status:err' in server.ask('INFO', 'persistence'),
              'the server has failed to save')
        _all(server.url, 'MISCONF', _writes())
    finally:
        server.stop()


def a_quorum_without_a_majority_is_69():
    box = Sandbox('--quorum', '3')
    try:
        for server in box.servers[1:]:
            server.stop()
        rows = [r for r in ROWS if r[0] in ('run', 'acquire', 'who', 'wait', 'status')
                and not {'-s', '-j', '--multi'} & set(r)]
        _all(box.url, 'redis:', rows)
        done = dibs('run', '-n', '-u', box.url, 'given-up', '--', 'true')
        equal(done.code, 69, done)
        contains(done.err, 'no server could be asked')
        lacks(done.err, 'asked again')      # it gave up; one of three answers
    finally:
        box.stop()


def a_server_that_runs_a_script_for_long_is_69():
    server = Server('--lua-time-limit', '50')

    def script():
        try:
            server.ask('EVAL', 'while true do end', '0')
        except OSError:
            pass                     # it never answers

    busy = threading.Thread(target=script, daemon=True)
    try:
        busy.start()
        until(lambda: server.ask('PING').startswith('-BUSY'), 'the script runs')
        _all(server.url, 'BUSY')
    finally:
        server.stop()


def a_server_that_loads_its_data_is_69_in_every_subcommand():
    server = Server()
    try:
        # It answers once in a kilobyte, about 100 keys: every 15 ms, for at least half a minute.
        for first in range(0, 300000, 30000):
            server.ask('EVAL', "for i = 1, 30000 do redis.call('SET', 'k' .. ARGV[1] + i, i) end",
                       '0', str(first))
        server.ask('SAVE')
        server.restart('--key-load-delay', '100',
                       '--loading-process-events-interval-bytes', '1024')
        until(lambda: server.ask('PING').startswith('-LOADING'), 'the server loads')
        _all(server.url, 'LOADING')
        contains(server.ask('PING'), 'LOADING')
    finally:
        server.stop()


def a_waiting_command_warns_after_two_seconds_and_says_when_it_can_ask_again():
    server = Server('--min-replicas-to-write', '1')
    try:
        waiting = start('run', '-u', server.url, '--degrade', 'wait', 'b', '--', 'echo', 'ran')
        time.sleep(3)
        server.ask('CONFIG', 'SET', 'min-replicas-to-write', '0')
        out, err = waiting.communicate(timeout=PATIENCE)
        equal((waiting.returncode, out), (0, 'ran\n'), err)
        contains(err, 'NOREPLICAS')
        contains(err, 'asked again')
    finally:
        server.stop()


def a_waiting_run_names_what_keeps_a_free_name_from_it():
    server = Server('--min-replicas-to-write', '1')
    try:
        for url, word in ((server.url, 'NOREPLICAS'),
                          (server.url + '?quarantine=4s', 'quarantine')):
            done = start('run', '-v', '-u', url, '--degrade', 'wait', 'b', '--', 'echo', 'ran')
            time.sleep(2.5)
            if word == 'quarantine':
                done_who = dibs('who', '-u', url, 'b')
                contains(done_who.out, 'quarantine')
            server.ask('CONFIG', 'SET', 'min-replicas-to-write', '0')
            out, err = done.communicate(timeout=PATIENCE)
            equal((done.returncode, out), (0, 'ran\n'), err)
            lacks(err, 'to be handed over')
            contains('\n'.join(line for line in err.splitlines() if 'waiting for' in line), word)
    finally:
        server.stop()


def a_server_without_evalsha_is_a_fault_of_its_settings():
    # Without a limit: the line of `dibs acl` has +evalsha, which this server does not know.
    server = Server('--rename-command', 'EVALSHA', '', limit=None)
    try:
        for words in ('run', 'e', '--', 'true'), ('acquire', 'e'), ('who', 'e'):
            done = dibs(words[0], '-u', server.url, *words[1:])
            equal(done.code, 81, done)
            contains(done.err, "unknown command 'EVALSHA'")
            contains(done.err, 'functions=yes')
    finally:
        server.stop()


def a_try_in_quarantine_says_so():
    server = Server()
    try:
        url = server.url + '?quarantine=30s'
        for words in ('-n',), ('-w', '100ms'):
            done = dibs('run', *words, '-u', url, 'q', '--', 'true')
            equal(done.code, 75, done)
            contains(done.err, 'q: quarantine')
            lacks(done.err, 'busy')
    finally:
        server.stop()


def a_release_that_the_server_refuses_is_one_line_of_run():
    server = Server()
    try:
        server.ask('ACL', 'SETUSER', 'u', 'on', '>pw', '~*', '&*', '+@all')
        run = start('run', '--ttl', '5m', 'b', '--', 'cat', stdin=subprocess.PIPE,
                    env={'DIBS_URL': server.url.replace('unix://', 'unix://u:pw@') + '?report=off'})
        until(lambda: dibs('who', '-u', server.url, 'b').code == 0, 'it is held')
        server.ask('ACL', 'SETUSER', 'u', '-evalsha', '-eval', '-fcall')
        done = end_holder(run)
        equal((done.code, done.out), (0, ''), done)
        equal(len(done.err.splitlines()), 1, done)
        contains(done.err, 'b: the release is not confirmed: NOPERM')
        contains(done.err, 'the lease ends by itself')
        equal(dibs('run', '-n', '-u', server.url, 'b', '--', 'true').code, 75)
    finally:
        server.stop()


def real_contention_is_75_and_skipped_with_skip_ok():
    server = Server()
    try:
        held = start('run', '-u', server.url, 'b', '--', 'sleep', '30')
        until(lambda: dibs('who', '-u', server.url, 'b').code == 0, 'it is held')
        refused(dibs('run', '-u', server.url, '-w', '0.3', 'b', '--', 'true').code, 75)
        equal(dibs('run', '-u', server.url, '-w', '0.3', '--skip-ok', 'b', '--', 'true').code, 0)
        held.terminate()
        held.wait()
    finally:
        server.stop()


tests(dict(globals()))
