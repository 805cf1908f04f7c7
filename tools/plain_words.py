# SPDX-License-Identifier: MIT
"""Counts phrases that plain technical English replaces by the component, the condition, the
amount or the direction: a part of tidy.py.

plain_words.txt has one line for each module of the code and for each file or folder of pages:
how many phrases it may have. A commit lowers a number and never raises it.
"""
import glob
import os
import re

PHRASES = re.compile(r'''\b(?:
    (?:no|some|any|every)body | who(?:ever|m)? | he | his | him | tell(?:s|ing)? | told | words |
    behind | in\s+front | hear(?:s|d|ing)? | speak(?:s|er|ing)? | deaf | mute |
    so\s+(?:many|long|often|much) | anew | once\s+more | again\s+and\s+again |
    to\s+be\s+had | for\s+want\s+of | of\s+no\s+use | by\s+(?:then|now) | till | likewise |
    of\s+no\s+known\s+form )\b''', re.I | re.X)

# A name is not prose: what stands in backquotes, the target of a link, the subcommand
# `dibs who`, bold text on one line of a manual page, a string without a blank.
NAME = re.compile(r'`[^`]*`|\]\([^)\s]*\)|\bdibs who\b')
MANUAL_NAME = re.compile(r'\*[^*\n]+\*')
FENCED = re.compile(r'^([ \t]*)```.*?^\1```', re.M | re.S)
COMMENT_OR_STRING = {
    'c': re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S),
    'lua': re.compile(r'(?:--[^\n]*\n?[ \t]*)+|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''),
}
SOURCES = {'.c': 'c', '.h': 'c', '.hpp': 'c', '.lua': 'lua'}
PAGES = ('.md', '.scd')
ALLOWED = 'tools/plain_words.txt'
ALLOWED_LINE = re.compile(r'^(\S+) +(\d+)$', re.M)


def blank(match):
    return re.sub(r'[^\n]', ' ', match.group(0))


def prose_in(path, text):
    """Yields (line, prose): comments and strings of a source, a page without its code."""
    ending = os.path.splitext(path)[1]
    if ending in PAGES:
        text = FENCED.sub(blank, text)
        yield 1, MANUAL_NAME.sub(blank, text) if ending == '.scd' else text
        return
    for match in COMMENT_OR_STRING[SOURCES[ending]].finditer(text):
        piece = match.group(0)
        if ' ' in piece:
            yield (text.count('\n', 0, match.start()) + 1,
                   re.sub(r'\n[ \t]*(?:\*|--)?[ \t]*', '\n', piece))


def phrases_in(path, text):
    """Yields (line, phrase)."""
    for line, prose in prose_in(path, text):
        prose = NAME.sub(blank, prose)
        for match in PHRASES.finditer(prose):
            yield line + prose.count('\n', 0, match.start()), ' '.join(match.group(0).split())


def files_of(root):
    """Yields (module, path) of every source and page that is counted."""
    def found(pattern):
        return sorted(os.path.relpath(path, root) for path in
                      glob.glob(os.path.join(root, pattern), recursive=True))
    for path in found('src/**/*') + found('lua/**/*') + found('include/**/*'):
        if path.endswith(tuple(SOURCES)):
            yield os.path.dirname(path) if path.startswith('include') else \
                '/'.join(path.split('/')[:2]), path
    for path in found('*.md') + found('doc/**/*'):
        if path.endswith(PAGES):
            yield '/'.join(path.split('/')[:-1]) or path, path


def all_phrases(root):
    """Yields (module, path, line, phrase)."""
    for module, path in files_of(root):
        with open(os.path.join(root, path), encoding='utf-8') as file:
            for line, phrase in phrases_in(path, file.read()):
                yield module, path, line, phrase


def counts(root):
    result = {}
    for module, _, _, _ in all_phrases(root):
        result[module] = result.get(module, 0) + 1
    return result


def allowed(root):
    """The smallest number of each module: both sides of a merge may have lowered it."""
    result = {}
    if os.path.exists(os.path.join(root, ALLOWED)):
        with open(os.path.join(root, ALLOWED), encoding='utf-8') as file:
            for module, number in ALLOWED_LINE.findall(file.read()):
                result[module] = min(int(number), result.get(module, int(number)))
    return result


def plain_words(root):
    """A rule of tidy.py."""
    limits = allowed(root)
    for module, number in sorted(counts(root).items()):
        limit = limits.get(module, 0)
        if number > limit:
            yield (f'{module}: {number} phrases of house English, {limit} are allowed: '
                   f'tools/tidy.py . --words {module}')


def lower(root):
    """Writes today's counts. Code that moves to another module takes its phrases with it, so
    the sum counts; returns what is wrong, or ''."""
    today, before = counts(root), allowed(root)
    if sum(today.values()) > sum(before.values()):
        return f'{sum(today.values())} phrases, {sum(before.values())} are allowed'
    with open(os.path.join(root, ALLOWED), 'w', encoding='utf-8') as file:
        file.write('# The highest number of phrases that tools/plain_words.py may count.\n'
                   '# After a change, or a conflict in this file: tools/tidy.py . --lower\n')
        for module, number in sorted(today.items()):
            file.write(f'{module} {number}\n')
    return ''
