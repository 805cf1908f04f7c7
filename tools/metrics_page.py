#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of doc/guide/metrics.md from the one table of all metrics, src/base/metrics.h.

    metrics_page.py ROOT            prints the page as it should be
    metrics_page.py ROOT --write    writes it

tools/tidy.py, a test, refuses a page that differs.
"""
import os
import re
import sys

TABLE = 'src/base/metrics.h'
PAGE = 'doc/guide/metrics.md'
MARKED = re.compile(r'(<!-- (METRICS_\w+): [^\n]*-->\n)(.*?)(<!-- end of \2 -->)', re.S)
ROW = re.compile(r'ROW\((\w+),((?:[^()"]|"(?:\\.|[^"\\])*")*)\)', re.S)
# A text, or the comma between two columns.
TOKEN = re.compile(r'"((?:\\.|[^"\\])*)"|(,)')


def columns_of(text):
    columns = ['']
    for words, comma in TOKEN.findall(text):
        if comma:
            columns.append('')
        else:
            columns[-1] += words.replace('\\\\', '\\')
    return columns


def rows(root):
    """{macro: [(name, [texts])]}; texts that follow each other without a comma are one."""
    with open(os.path.join(root, TABLE), encoding='utf-8') as file:
        text = file.read().replace('\\\n', '\n')
    result = {}
    for part in re.split(r'^#define ', text, flags=re.M)[1:]:
        macro = re.match(r'\w+', part).group(0)
        result[macro] = [(name, columns_of(columns)) for name, columns in ROW.findall(part)]
        for name, columns in result[macro]:
            if not columns[-1].strip():
                raise ValueError(f'{TABLE}: {name} has no meaning')
    return result


def code(words):
    return ', '.join(f'`{word}`' for word in words.split(', ') if word) or '–'


def table_of(macro, found):
    if macro == 'METRICS_LABELS':
        lines = ['| label | says |', '| --- | --- |']
        lines += [f'| `{name}` | {texts[0]} |' for name, texts in found]
    else:
        lines = ['| metric | type | unit | labels | meaning |', '| --- | --- | --- | --- | --- |']
        lines += [f'| `{name}` | {kind} | {unit or "–"} | {code(labels)} | {meaning} |'
                  for name, (kind, unit, labels, meaning) in found]
    return '\n'.join(lines) + '\n'


def drawn(root):
    """(the page as it is, the page as it should be)"""
    with open(os.path.join(root, PAGE), encoding='utf-8') as page:
        text = page.read()
    found = rows(root)
    missing = {macro for macro in found if found[macro]} - {m[1] for m in MARKED.findall(text)}
    if missing:
        raise ValueError(f'{PAGE} has no marks of {", ".join(sorted(missing))}')
    return text, MARKED.sub(
        lambda m: m.group(1) + table_of(m.group(2), found[m.group(2)]) + m.group(4), text)


def main():
    root = sys.argv[1]
    text = drawn(root)[1]
    if sys.argv[2:] == ['--write']:
        with open(os.path.join(root, PAGE), 'w', encoding='utf-8') as page:
            page.write(text)
    else:
        print(text, end='')


if __name__ == '__main__':
    main()
