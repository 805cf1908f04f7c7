#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of dibs web in Chromium, where that is installed.

With SCREENSHOTS=DIRECTORY it also writes its pictures there (tools/screenshots)."""
import browser
import harness
from dashboard import Web
from harness import *  # noqa

MARKUP = '<script>document.title="taken"</script>'
BYTES = b'bin:\xff\n"&'
LONG = 'w' * 512


def _hex(name):
    return name.encode().hex()


def _picture(browser, name, width=1100, height=760):
    place = os.environ.get('SCREENSHOTS')
    if place:
        browser.size(width, height)
        time.sleep(0.02)
        browser.picture(os.path.join(place, name + '.png'))


class _Page:
    """The page in a browser; text() is what a person reads."""

    def __init__(self, browser, web):
        self.browser, self.web = browser, web
        browser.open(web.address + '/')

    def text(self, selector='main'):
        return self.browser.run('(document.querySelector(%s) || { innerText: "" }).innerText'
                                % json.dumps(selector))

    def go(self, path, *parts):
        self.browser.run('void (location.hash = %s)' % json.dumps('#' + path))
        self.sees(*parts)

    def sees(self, *parts, selector='main', seconds=PATIENCE):
        try:
            until(lambda: all(part in self.text(selector) for part in parts), repr(parts), seconds)
        except AssertionError as never:
            raise AssertionError('%s; seen:\n%s' % (never, self.text(selector)))

    def types(self, text):
        self.browser.run("""(s => { s.value = %s; s.dispatchEvent(new Event('input')); })
            (document.getElementById('search'))""" % json.dumps(text))


def _has_chromium():
    if browser.program() is None:
        print('# skipped: chromium is not installed')
    return browser.program() is not None


def the_page_in_chromium():
    if not _has_chromium():
        return
    dibs('acquire', '--no-renew', '-t', '10m', MARKUP)
    dibs('acquire', '--no-renew', '-t', '10m', '  two  blanks')
    subprocess.run([DIBS, 'acquire', '--no-renew', '-t', '10m', BYTES], env=environment(),
                   check=True, stdout=subprocess.DEVNULL)
    held = [holder(name) for name in ('orders:42', 'render', 'report:daily')]
    queue = [start('run', 'orders:42', '--', 'true') for _ in range(3)]
    until_waiting('orders:42', 3)
    with Web() as web, browser.Browser() as chromium:
        page = _Page(chromium, web)
        _look(page, held)
        _phone(page)
        equal([e for e in chromium.errors() if 'name?id=zz' not in e[1]], [])
    del queue


def totals_that_cannot_be_read_are_not_known():
    if not _has_chromium():
        return
    server = Server()
    server.ask('ACL', 'SETUSER', 'bob', 'on', 'nopass', '~*', '&*', '+@all', '-zrange')
    with Web('-u', server.url, '--user', 'bob') as web, browser.Browser() as chromium:
        page = _Page(chromium, web)
        page.sees('Clients\nnot known', 'began\nnot known', selector='#cards')
        page.sees('The totals cannot be read', selector='#classes')
        equal(chromium.errors(), [])


def _look(page, held):
    page.sees('orders:42')
    page.sees('live', selector='#live')
    page.sees('6', selector='#cards')
    _picture(page.browser, 'web-overview')
    equal(page.browser.run('typeof Chart') in ('function', 'undefined'), True)
    late = holder('arrived:later')
    began = time.monotonic()
    page.sees('arrived:later', selector='#top', seconds=10)
    print('# a new hold was on the page %.1f s after its grant' % (time.monotonic() - began))
    page.browser.key('2')
    page.sees(MARKUP, 'bin:\\xff\\x0a"&', '  two  blanks', 'orders:42')
    equal(page.browser.run('document.title'), 'dibs')
    _picture(page.browser, 'web-names')
    # Many names went away, and the page that was shown with them.
    page.browser.run("void (query.page = 7, document.getElementById('rows').replaceChildren())")
    page.sees('orders:42', 'page 1 of 1')
    page.types('no such name')
    page.sees('No name is held')
    page.types('')
    page.sees('orders:42')
    page.go('/name/' + _hex('orders:42'), 'Queue', str(held[0].pid))
    _picture(page.browser, 'web-name')
    page.browser.key('3')
    page.sees('waits for', 'orders:42')
    _picture(page.browser, 'web-waits')
    page.browser.key('4')
    page.sees('persistence')
    _picture(page.browser, 'web-servers')
    # Half a minute later.
    page.browser.run('void (main.replaceChildren(), examined -= 30001)')
    page.sees('persistence')
    end_holder(late)


def _phone(page):
    """360 px wide, and a name as long as names can be, which has no place to break."""
    dibs('acquire', '--no-renew', '-t', '10m', LONG)
    page.browser.size(360, 760)
    for path, part in (('/', 'Last hour'), ('/names', LONG), ('/name/' + _hex(LONG), 'Holders'),
                       ('/waits', 'waits for'), ('/servers', 'persistence'),
                       ('/name/zz', 'Nothing to show: id: "zz" is not a name')):
        page.go(path, part)
        equal(page.browser.run('document.documentElement.scrollWidth <= innerWidth'), True, path)
    # What is looked for on the way is in sight: the longest wait.
    page.go('/names', LONG)
    equal(page.browser.run("""(w => w.scrollWidth <= w.clientWidth)
        (document.querySelector('#rows .wide'))"""), True)
    page.go('/waits', 'waits for')
    equal(page.browser.run("""(t => t.getBoundingClientRect().height >= 10)
        (document.querySelector('svg text'))"""), True)


def the_page_says_what_is_gone_and_comes_back():
    if not _has_chromium():
        return
    held = holder('gone:1')
    with browser.Browser() as chromium:
        with Web() as web:
            page = _Page(chromium, web)
            page.sees('gone:1')
            harness.server.pause()
            page.sees('gone', selector='#live', seconds=30)
            page.sees('do not answer', selector='#gone', seconds=30)
            harness.server.resume()
            page.sees('live', selector='#live', seconds=30)
            page.go('/names', 'gone:1')
            address = web.address.split('//')[1]
        page.sees('dibs web does not answer', selector='#gone')
        page.types('gone')
        page.types('g')
        page.sees('gone', selector='#live')
        with Web('--listen', address):
            page.sees('live', selector='#live', seconds=30)
            page.sees('gone:1')
        # Chromium says itself which requests failed; the page's own script has no fault.
        equal([e for e in chromium.errors() if 'ERR_CONNECTION_REFUSED' not in e[0] and
               'ERR_INCOMPLETE' not in e[0] and '503' not in e[0]], [])
    end_holder(held)


tests(dict(globals()))
