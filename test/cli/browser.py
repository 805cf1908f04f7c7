# SPDX-License-Identifier: MIT
"""A Chromium without a window, by the pipe of its DevTools: needs no other program.

    with Browser() as browser:
        browser.open('http://127.0.0.1:8090/')
        browser.run('document.title')
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile

PATIENCE = 60.0


def program():
    """The path of Chromium; None: it is not installed."""
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self):
        self.place = tempfile.mkdtemp(prefix='dibs-cli-test-')
        its_in, self._out = os.pipe()
        self._in, its_out = os.pipe()
        self._bytes, self._number, self._session, self._news = b'', 0, None, []

        def give_pipes():
            # First out of the way: either may have the number that the other gets.
            os.dup2(its_in, 30)
            os.dup2(its_out, 31)
            os.dup2(30, 3)
            os.dup2(31, 4)

        self.process = subprocess.Popen(
            [program(), '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
             '--no-first-run', '--disable-background-networking', '--disable-component-update',
             '--disable-sync', '--disable-dev-shm-usage', '--remote-debugging-pipe',
             '--user-data-dir=' + self.place, 'about:blank'],
            close_fds=False, preexec_fn=give_pipes, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its_in)
        os.close(its_out)
        page = next(t for t in self._ask('Target.getTargets')['targetInfos']
                    if t['type'] == 'page')
        self._session = self._ask('Target.attachToTarget', targetId=page['targetId'],
                                  flatten=True)['sessionId']
        for part in ('Page', 'Runtime', 'Log'):
            self._ask(part + '.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self.place, ignore_errors=True)

    def _next(self):
        while b'\0' not in self._bytes:
            if not select.select([self._in], [], [], PATIENCE)[0]:
                raise AssertionError('Chromium does not answer')
            more = os.read(self._in, 1 << 20)
            if not more:
                raise AssertionError('Chromium has ended')
            self._bytes += more
        message, self._bytes = self._bytes.split(b'\0', 1)
        return json.loads(message)

    def _ask(self, method, **values):
        self._number += 1
        question = {'id': self._number, 'method': method, 'params': values}
        if self._session is not None:
            question['sessionId'] = self._session
        os.write(self._out, json.dumps(question).encode() + b'\0')
        while True:
            message = self._next()
            if message.get('id') != self._number:
                self._news.append(message)
                continue
            if 'error' in message:
                raise AssertionError('%s: %s' % (method, message['error']))
            return message['result']

    def open(self, url):
        self._ask('Page.navigate', url=url)

    def run(self, script):
        """The value of an expression in the page; arguments are written by json.dumps()."""
        done = self._ask('Runtime.evaluate', expression=script, returnByValue=True,
                         awaitPromise=True)
        if 'exceptionDetails' in done:
            raise AssertionError('%s: %s' % (script, done['exceptionDetails']))
        return done['result'].get('value')

    def key(self, key):
        for kind in ('keyDown', 'keyUp'):
            self._ask('Input.dispatchKeyEvent', type=kind, key=key, text=key)

    def size(self, width, height):
        self._ask('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self._ask('Page.captureScreenshot')['data']))

    def errors(self):
        """What the console has of errors since the last call: (text, url)."""
        self.run('0')
        found = []
        for news in self._news:
            of = news.get('params', {})
            if news['method'] == 'Runtime.exceptionThrown':
                details = of['exceptionDetails']
                found.append((details.get('exception', {}).get('description', details['text']),
                              details.get('url', '')))
            elif news['method'] == 'Log.entryAdded' and of['entry']['level'] == 'error':
                found.append((of['entry']['text'], of['entry'].get('url', '')))
        self._news = []
        return found
