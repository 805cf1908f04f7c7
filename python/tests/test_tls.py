# SPDX-License-Identifier: MIT
"""test_tls.py - which certificate authorities a client believes, on a server with TLS."""
import os
import shutil
import socket
import subprocess
import sys

import pytest

import harness

PROGRAM = '''
import dibs, sys
try:
    with dibs.Client(sys.argv[1], connect_timeout=5) as client:
        print('answered', client.ping(5) > 0)
except dibs.TLSError as error:
    print(error.text)
'''


@pytest.fixture(scope='module')
def secure(tmp_path_factory):
    """(URL, certificate) of a server whose authority is its own certificate."""
    if shutil.which('openssl') is None:
        pytest.skip('openssl is not installed')
    room = tmp_path_factory.mktemp('tls')
    cert, key = str(room / 'cert.pem'), str(room / 'key.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key,
                    '-out', cert, '-days', '2', '-subj', '/CN=localhost', '-addext',
                    'subjectAltName=DNS:localhost,IP:127.0.0.1'], check=True,
                   stderr=subprocess.DEVNULL)
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    try:
        made = harness.Server('--tls-port', str(port), '--tls-cert-file', cert, '--tls-key-file',
                              key, '--tls-auth-clients', 'no', '--tls-ca-cert-file', cert)
    except AssertionError:
        pytest.skip('this server has no TLS')
    yield 'rediss://127.0.0.1:%d' % port, cert
    made.stop()


def ask(url, **places):
    return subprocess.run([sys.executable, '-c', PROGRAM, url], text=True, timeout=20,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, **places)).stdout


def test_the_store_of_the_machine_is_believed(secure):
    url, cert = secure
    assert ask(url, SSL_CERT_FILE=cert) == 'answered True\n'
    assert 'unknown issuer' in ask(url)
    assert ask(url + '?cacert=' + cert, SSL_CERT_FILE='/none', SSL_CERT_DIR='/none') == \
        'answered True\n'


def test_a_machine_without_authorities_is_said_to_have_none(secure, tmp_path):
    url, _ = secure
    for directory in ('/none', str(tmp_path)):
        text = ask(url, SSL_CERT_FILE='/none', SSL_CERT_DIR=directory)
        assert 'this machine knows none: install ca-certificates' in text
        assert 'looked in "%s' % directory[:20] in text
