#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages point at pages, sections and files that exist, and name functions, options and tests
that exist. Pages of doc/design also name functions and files of the sources.

    links.py ROOT

Speaks TAP.
"""
import fnmatch
import glob
import os
import re
import sys

LINK = re.compile(r'\]\(([^)#]+)(#[^)]*)?\)')
SECTION = re.compile(r'\]\(([^)#:]*)#([^)]+)\)')
HEADING = re.compile(r'^#+ +(.*?)$', re.M)
FUNCTION = re.compile(r'\bdibs_[a-z_]+(?=\()')
CONSTANT = re.compile(r'\bDIBS_[A-Z_]*[A-Z]\b')
FILE = re.compile(
    r'`((?:src|lua|sim|model|test|doc|include|examples|bench|tools)/[a-z0-9_./*-]+)`')
SPAN = re.compile(r'`([^`\n]+)`')
# `lock/claim.c: claim_begin() → claim_end()`: functions of one file of src/.
IN_FILE = re.compile(r'^([a-z]+/[a-z_]+\.[ch]): ')
INTERNAL = re.compile(r'(?<![\w.:])[a-z_]\w+(?=\(\))')
PART_OF_PATH = re.compile(r'^[a-z0-9_*./]+\.(?:c|h|lua)$')
TEST = re.compile(r'`((?:unit|trace|script|live)/[a-z0-9_]+)(?:\.([^`]+))?`')
OPTION = re.compile(r'`(?:dibs [^`]*)?(--[a-z-]+)')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def pages(root):
    names = glob.glob(os.path.join(root, '*.md')) + glob.glob(
        os.path.join(root, 'doc/**/*.md'), recursive=True)
    names += glob.glob(os.path.join(root, 'bench/*.md')) + glob.glob(
        os.path.join(root, 'examples/*.md'))
    return {os.path.relpath(name, root): read(name)
            for name in sorted(names) if '/reference/' not in name}


def tree_text(root, folders, ending):
    return '\n'.join(read(name) for folder in folders for name in glob.glob(
        os.path.join(root, folder, '**/*' + ending), recursive=True))


def dead_links(root, all_pages):
    for page, text in all_pages.items():
        for target, _ in LINK.findall(text):
            if '://' not in target and not os.path.exists(
                    os.path.join(root, os.path.dirname(page), target)):
                yield f'{page}: {target}'


def sections(text):
    """The names that a forge gives to headings."""
    for heading in HEADING.findall(text):
        yield re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-')


def dead_sections(root, all_pages):
    for page, text in all_pages.items():
        for target, section in SECTION.findall(text):
            path = os.path.join(os.path.dirname(page), target) if target else page
            aim = all_pages.get(os.path.normpath(path))
            if aim is not None and section not in set(sections(aim)):
                yield f'{page}: {target}#{section}'


def dead_files(root, all_pages):
    for page, text in all_pages.items():
        for name in sorted(set(FILE.findall(text))):
            if not glob.glob(os.path.join(root, name)) and '/reference' not in name:
                yield f'{page}: {name}'


def unknown_tests(root, all_pages):
    """Which tests hold an invariant: `room/name`, or `room/name.case`, with ... for a part."""
    for room_name, case in TEST.findall(all_pages['doc/design/invariants.md']):
        room, name = room_name.split('/')
        text = '\n'.join(read(file) for file in glob.glob(os.path.join(
            root, 'test', room, f'**/{name}*_test.c'), recursive=True))
        words = r'\w*'.join(re.escape(part) for part in case.split('…'))
        if not (re.search(rf'^TEST(?:_WITH)?\({words}[,)]', text, re.M) if case else text):
            yield f'{room_name}.{case}'


def unknown_functions(root, all_pages):
    header = tree_text(root, ['include'], '.h')
    for page, text in all_pages.items():
        for name in sorted(set(FUNCTION.findall(text))):
            if not re.search(rf'\b{name}\b', header):
                yield f'{page}: {name}()'


def unknown_internals(root, all_pages):
    """Functions of the sources that pages of doc/design name, and files with a part of their
    path."""
    sources = {os.path.relpath(name, root): read(name)
               for folder in ('src', 'include', 'lua', 'sim', 'test', 'bench', 'examples')
               for name in glob.glob(os.path.join(root, folder, '**/*'), recursive=True)
               if name.endswith(('.c', '.h', '.hpp', '.lua', '.py'))}
    paths = ['/' + name for name in sources]
    functions = set(re.findall(r'\b\w+(?=\()', '\n'.join(sources.values())))
    for page, text in all_pages.items():
        for span in SPAN.findall(text) if page.startswith('doc/design') else ():
            place = IN_FILE.match(span)
            here = sources.get('src/' + place.group(1), '') if place else ''
            for name in INTERNAL.findall(span):
                is_here = not place or re.search(rf'^\w[^\n;]*\b{name}\(', here, re.M)
                if name not in functions or not is_here:
                    yield f'{page}: {name}()' + (f' in {place.group(1)}' if place else '')
            if PART_OF_PATH.match(span) and not fnmatch.filter(paths, '*/' + span):
                yield f'{page}: {span}'


def unknown_constants(root, all_pages):
    known = tree_text(root, ['include', 'src'], '.h') + tree_text(root, ['src'], '.c')
    known += read(os.path.join(root, 'tools/needs.sh')) + read(os.path.join(root, 'check'))
    for page, text in all_pages.items():
        for name in sorted(set(CONSTANT.findall(text))):
            if not re.search(rf'\b{name}\b', known) and not name.endswith('_'):
                if f'{name}_' not in known and f'{name}*' not in text:
                    yield f'{page}: {name}'


def unknown_options(root, all_pages):
    table = tree_text(root, ['src/cli'], '.c') + read(os.path.join(root, 'check'))
    table += read(os.path.join(root, 'Makefile')) + '"cflags" "libs"'
    table += read(os.path.join(root, 'bench/run')) + read(os.path.join(root, 'bench/flash_sale'))
    for page, text in all_pages.items():
        for option in sorted(set(OPTION.findall(text))):
            word = option[2:]
            if f'"{word}"' not in table and option not in table:
                yield f'{page}: {option}'


def main():
    root = sys.argv[1]
    all_pages = pages(root)
    checks = [dead_links, dead_sections, dead_files, unknown_tests, unknown_functions,
              unknown_internals, unknown_constants, unknown_options]
    print(f'1..{len(checks)}')
    failures = 0
    for number, check in enumerate(checks, 1):
        found = list(check(root, all_pages))
        failures += bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - no {check.__name__} in the pages")
        for line in found:
            print(f'# {line}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
