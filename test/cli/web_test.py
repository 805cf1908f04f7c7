#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs web over real locks: what it answers, and the page in Chromium where that is installed.

With SCREENSHOTS=DIRECTORY the browser's test also writes its pictures there (tools/screenshots)."""
import urllib.error
import urllib.request

import harness
from harness import *  # noqa

MARKUP = '<script>document.title="taken"</script>'
BYTES = b'bin:\xff\n"&'
LONG = 'w' * 512


class _Web:
    def __init__(self, *words):
        self.process = start('web', '--listen', '127.0.0.1:0', *words)
        self.address = re.search(r'http://[^/]+', self.process.stderr.readline()).group(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.code = finish(self.process).code

    def open(self, path, **headers):
        return urllib.request.urlopen(
            urllib.request.Request(self.address + path, headers=headers), timeout=PATIENCE)

    def get(self, path):
        return json.load(self.open('/api/' + path))

    def names(self, query=''):
        return {row['name']: row for row in self.get('names' + query)['rows']}


def _refusal(ask):
    try:
        ask()
    except urllib.error.HTTPError as refused:
        return refused.code
    return None


def _hex(name):
    return name.encode().hex()


def it_shows_what_real_processes_do():
    held = holder('orders:42', '--note', 'nightly')
    waiter = start('run', 'orders:42', '--', 'true')
    until_waiting('orders:42')
    with _Web() as web:
        until(lambda: 'orders:42' in web.names(), 'listed')
        row = web.names()['orders:42']
        equal((row['held'], row['waiters'], row['kind']), (True, 1, 'lock'))
        contains(row['by'], str(held.pid))
        one = web.get('name?id=' + _hex('orders:42'))
        equal((one['holders'][0]['pid'], one['queue'][0]['pid']), (held.pid, waiter.pid))
        equal(one['holders'][0]['note'].startswith('nightly'), True, one)
        waits = web.get('waits')
        equal([(w['name'], w['queue'][0]['pid']) for w in waits], [('orders:42', waiter.pid)])
        equal('server' in [f['check'] for f in web.get('servers')], True)
        end_holder(held)
        finish(waiter)
        until(lambda: 'orders:42' not in web.names(), 'released')
    equal(web.code, 0)


def _refused_argument(web, request):
    try:
        web.open('/api/' + request)
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read())['error']
    raise AssertionError('accepted: ' + request)


def a_wrong_argument_is_named_with_its_value():
    with _Web() as web:
        for request, *says in (('name?id=zz', 'id: "zz"', 'hex digits'), ('name', 'id is missing'),
                               ('name?id=' + 'ab' * 513, 'id: "abab'), ('name?id=6', 'id: "6"'),
                               ('names?sort=size', 'sort: "size"', 'name, held, wait or lease'),
                               ('names?page=-1', 'page: "-1"'), ('names?page=', 'page: ""'),
                               ('name?id=%22%3Cb%3E%0A', 'id: "')):
            code, error = _refused_argument(web, request)
            equal(code, 400, request)
            for part in says:
                contains(error, part)
        equal(len(web.get('names?sort=held&page=0')) > 0, True)


def requests_are_judged_before_they_are_answered():
    with _Web() as web:
        page = web.open('/')
        policy = page.headers['Content-Security-Policy']
        contains(policy, "default-src 'none'; script-src 'self'")
        equal(_refusal(lambda: web.open('/', Host='evil.example')), 403)
        equal(_refusal(lambda: web.open('/none')), 404)
        equal(_refusal(lambda: urllib.request.urlopen(web.address + '/', data=b'x')), 405)
    with _Web('--token', 'correct-horse') as web:
        equal(_refusal(lambda: web.open('/')), 401)
        equal(_refusal(lambda: web.open('/?token=correct-hors')), 401)
        contains(web.open('/?token=correct-horse').headers['Set-Cookie'], 'HttpOnly')
        equal(web.open('/', Authorization='Bearer correct-horse').status, 200)
    done = dibs('web', '--listen', '0.0.0.0:0')
    equal(done.code, 64, done)
    contains(done.err, 'give --token or --tls-cert')
    contains(dibs('web', '--token', 'a b').err, '8 to 128 letters')
    with tempfile.NamedTemporaryFile() as empty:
        done = dibs('web', '--tls-cert', empty.name)
        equal(done.code, 64, done)
        contains(done.err, '--tls-cert needs --tls-key')
        done = dibs('web', '--listen', '127.0.0.1:0', '--tls-key', empty.name)
        equal(done.code, 64, done)
        contains(done.err, '--tls-key needs --tls-cert')
        done = dibs('web', '--tls-cert', empty.name, '--tls-key', empty.name)
        equal(done.code, 74, done)
        contains(done.err, 'it is empty')


def the_address_that_is_printed_can_be_opened():
    for given, printed in (('127.0.0.1:0', r'http://127\.0\.0\.1:[1-9]\d*/'),
                           ('[::1]:0', r'http://\[::1\]:[1-9]\d*/'),
                           ('::1:0', r'http://\[::1\]:[1-9]\d*/')):
        if ':1' in given and not os.path.exists('/proc/net/if_inet6'):
            continue
        process = start('web', '--listen', given)
        said = process.stderr.readline()
        process.terminate()
        equal(finish(process).code, 0, said)
        assert re.search(printed, said), said
    done = dibs('web', '--listen', '127.0.0.1:')
    equal(done.code, 64, done)
    contains(done.err, 'ADDRESS:PORT is wanted')


def ten_thousand_names_are_paged_at_a_small_cost():
    dibs('acquire', '--no-renew', 'many:sample')
    done = harness.server.ask('EVAL', """
for _, key in ipairs(redis.call('KEYS', 'dibs:m:*many:sample*')) do
  local dump, left = redis.call('DUMP', key), redis.call('PTTL', key)
  for i = 1, 10000 do
    redis.call('RESTORE', (key:gsub('many:sample', 'many:' .. i)), left > 0 and left or 0, dump)
  end
end
return redis.call('DBSIZE')""", '0')
    equal(int(done[1:]) > 10000, True, done)
    with _Web() as web:
        until(lambda: web.get('names?all=1')['count'] > 10000, 'walked')
        page = web.get('names?all=1&page=200&sort=name')
        equal((page['pages'], len(page['rows'])), (201, page['count'] - 10000))
        equal(len(web.get('names?all=1&q=many:9999')['rows']), 1)
    harness.server.ask('FLUSHALL')


def _chromium(place):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for word in ('headless', 'no-sandbox', 'disable-gpu', 'disable-quic', 'no-first-run',
                 'disable-background-networking', 'disable-component-update', 'disable-sync',
                 'user-data-dir=' + place):
        options.add_argument('--' + word)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    return webdriver.Chrome(service=Service(shutil.which('chromedriver')), options=options)


def _picture(browser, name, width=1100, height=760):
    place = os.environ.get('SCREENSHOTS')
    if place:
        browser.set_window_size(width, height)
        time.sleep(0.02)
        browser.save_screenshot(os.path.join(place, name + '.png'))


def the_page_in_chromium():
    sys.path.append('/usr/lib/python3/dist-packages')   # Debian's, for another python3
    try:
        import selenium  # noqa
    except ImportError:
        selenium = None
    if selenium is None or not shutil.which('chromedriver'):
        print('# skipped: chromium-driver and python3-selenium are not installed')
        return
    dibs('acquire', '--no-renew', MARKUP)
    subprocess.run([DIBS, 'acquire', '--no-renew', BYTES], env=environment(), check=True,
                   stdout=subprocess.DEVNULL)
    held = [holder(name) for name in ('orders:42', 'render', 'report:daily')]
    queue = [start('run', 'orders:42', '--', 'true') for _ in range(3)]
    until_waiting('orders:42', 3)
    with tempfile.TemporaryDirectory() as place, _Web() as web:
        browser = _chromium(place)
        try:
            _look(browser, web, held)
        finally:
            browser.quit()
    del queue


def _phone(browser, text):
    """360 px wide, and a name as long as names can be, which has no place to break."""
    dibs('acquire', '--no-renew', LONG)
    browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
        'width': 360, 'height': 760, 'deviceScaleFactor': 1, 'mobile': False})
    for path, part in (('/', 'Last hour'), ('/names', LONG), ('/name/' + _hex(LONG), 'Holders'),
                       ('/waits', 'waits for'), ('/servers', 'persistence'),
                       ('/name/zz', 'Nothing to show: id: the bytes of a name')):
        browser.execute_script('location.hash = arguments[0]', '#' + path)
        until(lambda: part in text(), path)
        equal(browser.execute_script('return document.documentElement.scrollWidth <= innerWidth'),
              True, path)
    browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})


def _look(browser, web, held):
    def text(selector='main'):
        return browser.execute_script(
            'const e = document.querySelector(arguments[0]); return e ? e.innerText : ""', selector)

    browser.get(web.address + '/')
    until(lambda: 'orders:42' in text() and text('#live') == 'live', 'drawn')
    contains(text('#cards'), '5')
    _picture(browser, 'web-overview')
    equal(browser.execute_script('return typeof Chart') in ('function', 'undefined'), True)
    late = holder('arrived:later')
    began = time.monotonic()
    until(lambda: 'arrived:later' in text('#top'), 'live', 10)
    print('# a new hold was on the page %.1f s after its grant' %
          (time.monotonic() - began))
    browser.execute_script('location.hash = "#/names"')
    until(lambda: MARKUP in text('#rows'), 'names')
    contains(text('#rows'), 'bin:\\xff\\x0a"&')
    equal(browser.title, 'dibs')
    _picture(browser, 'web-names')
    browser.execute_script('location.hash = "#/name/%s"' % _hex('orders:42'))
    until(lambda: 'Queue' in text() and str(held[0].pid) in text(), 'one name')
    _picture(browser, 'web-name')
    browser.execute_script('location.hash = "#/waits"')
    until(lambda: 'waits for' in text() and text().count('orders:42') >= 3, 'waits')
    _picture(browser, 'web-waits')
    browser.execute_script('location.hash = "#/servers"')
    until(lambda: 'persistence' in text(), 'servers')
    _picture(browser, 'web-servers')
    _phone(browser, text)
    browser.execute_script('location.hash = "#/"')
    errors = [e for e in browser.get_log('browser')
              if e['level'] == 'SEVERE' and 'name?id=zz' not in e['message']]
    equal(errors, [])
    end_holder(late)
    harness.server.pause()
    until(lambda: text('#live') == 'gone' and 'do not answer' in text('#gone'), 'gone', 30)
    _picture(browser, 'web-gone')
    harness.server.resume()
    until(lambda: text('#live') == 'live', 'back', 30)


tests(dict(globals()))
