# SPDX-License-Identifier: MIT
"""A running dibs web."""
import urllib.request

from harness import *  # noqa


class Web:
    """A dibs web; `address` is where it listens."""

    def __init__(self, *words):
        listen = [] if '--listen' in words else ['--listen', '127.0.0.1:0']
        self.process = start('web', *listen, *words)
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
