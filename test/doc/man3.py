#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every public function has a manual page, which says all that the header says.

    man3.py ROOT ONE_PAGE        ONE_PAGE: a page that the build made, beside all others

Speaks TAP.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, PLACE = sys.argv[1], os.path.dirname(sys.argv[2])
TOOL = os.path.join(ROOT, 'tools/man3.py')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def page(name):
    """The text of a page, or of the one that it points to."""
    text = read(os.path.join(PLACE, name + '.3'))
    target = re.match(r'\.so man3/(\w+)\.3$', text)
    return page(target.group(1)) if target else text


def make(header):
    """What the tool makes of a header's text: (exit code, stderr, {name: page})."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'some.h')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('/* Some. */\n#ifndef X\n#define X\n' + header)
        done = subprocess.run([sys.executable, TOOL, '--out', place, path], text=True,
                              stderr=subprocess.PIPE)
        pages = {os.path.basename(p)[:-2]: read(p) for p in glob.glob(place + '/*.3')}
    return done.returncode, done.stderr, pages


def every_exported_function_has_a_page_that_names_it():
    lists = [read(os.path.join(ROOT, 'test/abi', name))
             for name in ('symbols.txt', 'symbols-data.txt')]
    exported = re.findall(r'^dibs_\w+', '\n'.join(lists), re.M)
    for name in exported:
        names = re.search(r'\.SH NAME\n(.*?) \\-', page(name)).group(1).split(', ')
        if name not in names:
            yield f'{name} is not in NAME of its page: {names}'
    if len(exported) < 100:
        yield f'only {len(exported)} functions in symbols.txt'


def the_name_line_of_a_function_names_what_it_works_on():
    for path in sorted(glob.glob(PLACE + '/*.3')):
        line = re.search(r'\.SH NAME\n(.*)', page(os.path.basename(path)[:-2])).group(1)
        said = line.split(' \\- ')[1]
        if re.search(r'\b(reads|ends|frees|deletes|stops|sets|removes|disarms) its?\b', said):
            yield line
        if said.count('(') != said.count(')') or len(said) > 160:
            yield line


def words(text):
    text = re.sub(r'\\f[BIPR]|\\&', '', text).replace('\\-', '-').replace('\\e', '\\')
    text = re.sub(r'\bDIBS_ERR_', '', re.sub(r'(?<!\w)_(?=[A-Z])', '', text))
    return re.findall(r'\w+', text)


def a_page_has_every_word_of_its_comment():
    for path in sorted(glob.glob(os.path.join(ROOT, 'include/dibs/*.h'))):
        for comment, name in re.findall(
                r'\n/\*((?:[^*]|\*(?!/))*)\*/\nDIBS_API[^;]*?(dibs_\w+)\(', read(path)):
            if not os.path.exists(os.path.join(PLACE, name + '.3')):
                continue                              # a header of what is not built here
            labels = ('Returns', 'Thread', 'Fork', 'Source', 'Since')
            wanted = collections.Counter(w.lower() for w in words(comment) if w not in labels)
            text = page(name)
            missing = wanted - collections.Counter(w.lower() for w in words(text))
            if missing:
                yield f'{name}: {sorted(missing)}'


def adapters_have_pages_of_their_functions_and_types():
    for path in sorted(glob.glob(os.path.join(ROOT, 'include/dibs/adapters/*.h'))):
        adapter = 'dibs_' + os.path.basename(path)[:-2].replace('-', '_')
        head = re.findall(r'/\*.*?\*/', read(path), re.S)[1].split(' - ', 1)[1]
        missing = set(words(head)) - set(words(page(adapter)))
        include = '#include <dibs/adapters/%s>' % os.path.basename(path)
        if missing - {words(head)[0]} or include not in page(adapter):
            yield f'{adapter}: {sorted(missing)}'
        for name in (adapter + '_attach', adapter + '_detach'):
            if f'.SH NAME\n{name} ' not in page(name):
                yield name


def pages_render_without_a_warning():
    for path in sorted(glob.glob(PLACE + '/*.3')):
        if read(path).startswith('.so '):
            continue
        done = subprocess.run(['groff', '-ww', '-man', '-Tutf8', '-z', path], text=True,
                              stderr=subprocess.PIPE)
        if done.returncode != 0 or done.stderr:
            yield done.stderr.strip()


def outcomes_stand_in_rows_of_their_own():
    text = page('dibs_lock')
    for outcome in ('DIBS_OK', 'DIBS_TIMED_OUT', 'DIBS_UNKNOWN', 'DIBS_ERR_UNREACHABLE'):
        if f'.TP\n\\fB{outcome}\\fP\n' not in text:
            yield outcome


def a_function_without_a_comment_is_named_with_its_line():
    code, err, pages = make('\n/* Makes one. */\ntypedef struct dibs_x dibs_x;\n\n'
                            'DIBS_API int dibs_make(void);\n')
    if code == 0 or 'some.h:8: dibs_make() has no comment' not in err or pages:
        yield f'{code} {err} {sorted(pages)}'


def namesakes_share_the_page_of_the_comment_above_them():
    code, err, pages = make('\n/* Makes one. Since 0.1 */\nDIBS_API int dibs_make(\n  void);\n\n'
                            '/* The same later. */\nDIBS_API int dibs_make_async(void);\n\n'
                            '/* Ends one. */\nDIBS_API int dibs_end(void);\n\n'
                            'DIBS_API int dibs_make_bytes(int size);\n')
    if code != 0:
        yield err
        return
    for name in ('dibs_make_async', 'dibs_make_bytes'):
        if pages[name] != '.so man3/dibs_make.3\n':
            yield pages[name]
    if 'dibs_make, dibs_make_async, dibs_make_bytes \\- makes one\n' not in pages['dibs_make']:
        yield pages['dibs_make']


def main():
    tests = (every_exported_function_has_a_page_that_names_it,
             the_name_line_of_a_function_names_what_it_works_on,
             a_page_has_every_word_of_its_comment,
             adapters_have_pages_of_their_functions_and_types, pages_render_without_a_warning,
             outcomes_stand_in_rows_of_their_own,
             a_function_without_a_comment_is_named_with_its_line,
             namesakes_share_the_page_of_the_comment_above_them)
    failed = False
    print('1..%d' % len(tests))
    for number, test in enumerate(tests, 1):
        if test is pages_render_without_a_warning and shutil.which('groff') is None:
            print(f'ok {number} - {test.__name__} # SKIP no groff')
            continue
        faults = list(test())
        failed = failed or bool(faults)
        print(('not ok' if faults else 'ok') + f' {number} - {test.__name__}')
        for fault in faults:
            print('# ' + fault.replace('\n', '\n# '))
    sys.exit(failed)


main()
