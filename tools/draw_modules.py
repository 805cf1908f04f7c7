#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the modules of src/ and sim/ from their includes, in doc/design/architecture.md.

    draw_modules.py ROOT            prints the picture
    draw_modules.py ROOT --write    writes it into the page, between its two marks

A line leads from a module down to one that it includes. Includes that follow from other lines
have none: drive also includes topo, which engine includes. A module of src/ with a main.c is a
program: it uses the public headers, so it has a line to admin, the uppermost module of the library.
The rows follow from the includes, the columns are chosen here. tidy.py compares the page with the
picture.
"""
import itertools
import os
import re
import sys

PAGE = 'doc/design/architecture.md'
MARKED = re.compile(r'(<!-- modules: [^\n]*-->\n)(.*?)(<!-- end of modules -->)', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/[^"]+"', re.M)
PROGRAMS_USE = 'admin'
COLUMNS = {'cli': 15, 'watch': 33, 'sim/explore': 38, 'sim/deployed': 54, 'sim/world': 46,
           'api': 25, 'admin': 15, 'data': 25,
           'sim/server': 57, 'drive': 17, 'local': 37, 'engine': 17, 'link': 11, 'quorum': 23,
           'lock': 23, 'fleet': 33, 'sync': 43, 'tls': 3, 'topo': 17, 'hold': 29, 'dialect': 29,
           'request': 23, 'script': 23,
           'resp': 23, 'base': 23}
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
LINES = {UP | DOWN: '│', LEFT | RIGHT: '─', UP | LEFT: '┘', UP | RIGHT: '└', DOWN | LEFT: '┐',
         DOWN | RIGHT: '┌', UP | DOWN | LEFT: '┤', UP | DOWN | RIGHT: '├',
         LEFT | RIGHT | UP: '┴', LEFT | RIGHT | DOWN: '┬', 15: '┼', 0: ' '}


def includes(root):
    """{module: the modules that its files include}"""
    result = {}
    for place in ('src', 'sim'):
        for directory, folders, names in os.walk(os.path.join(root, place)):
            folders.sort()
            parts = os.path.relpath(directory, root).split(os.sep)
            for name in sorted(names) if len(parts) > 1 else ():
                if not name.endswith(('.c', '.h')):
                    continue
                module = parts[1] if place == 'src' else f'sim/{parts[1]}'
                found = result.setdefault(module, set())
                with open(os.path.join(directory, name), encoding='utf-8') as source:
                    for target in INCLUDE.findall(source.read()):
                        in_sim = os.path.isdir(os.path.join(root, 'sim', target))
                        found.add(f'sim/{target}' if place == 'sim' and in_sim else target)
                if name == 'main.c' and place == 'src':
                    found.add(PROGRAMS_USE)
    return {module: {t for t in found if t in result and t != module}
            for module, found in result.items()}


def below(edges, module):
    """All modules that lines lead down to."""
    return set().union(*({t} | below(edges, t) for t in edges[module]), set())


def without_implied(edges):
    return {module: {t for t in targets
                     if not any(t in below(edges, other) for other in targets - {t})}
            for module, targets in edges.items()}


def rows_of(edges):
    """{module: its row}, base in row 0; each as high as what includes it allows."""
    row = {}

    def lowest(module):
        if module not in row:
            row[module] = max((lowest(t) + 1 for t in edges[module]), default=0)
        return row[module]

    for module in edges:
        lowest(module)
    for module in sorted(edges, key=lambda m: -row[m]):
        users = [row[m] for m in edges if module in edges[m]]
        if users:
            row[module] = min(users) - 1
    return row


def tracks_of(groups):
    """The order of the groups of lines from one row to the next in which none crosses another."""
    for order in itertools.permutations(sorted(groups, key=lambda g: -len(g[1]))):
        lines = []
        for sources, targets in order:
            lines.append((min(sources | targets), max(sources | targets)))
        crossed = any(
            first < x < last and not (n > m and x in order[m][1])
            for m, (first, last) in enumerate(lines) for n, (sources, targets) in enumerate(order)
            for x in (sources if n > m else targets if n < m else ()))
        if not crossed:
            return order
    raise ValueError('lines cross; change COLUMNS')


def gap(groups, lanes):
    """The lines of text between two rows."""
    order = tracks_of(groups)
    text = [{x: UP | DOWN for x in lanes} for _ in range(max(len(order), 1))]
    for track, (sources, targets) in enumerate(order):
        ends = sources | targets
        for x in sources:
            for line in text[:track]:
                line[x] = line.get(x, 0) | UP | DOWN
        for x in targets:
            for line in text[track + 1:]:
                line[x] = line.get(x, 0) | UP | DOWN
        for x in range(min(ends), max(ends) + 1):
            text[track][x] = text[track].get(x, 0) | (x in sources) * UP | \
                (x in targets) * DOWN | (x > min(ends)) * LEFT | (x < max(ends)) * RIGHT
    return [''.join(LINES[line.get(x, 0)] for x in range(max(line) + 1)) for line in text if line]


def picture(root):
    edges = without_implied(includes(root))
    missing = sorted(set(edges) - set(COLUMNS))
    if missing:
        raise ValueError(f'COLUMNS has no {", ".join(missing)}')
    row = rows_of(edges)
    text = []
    for height in range(max(row.values()), -1, -1):
        line = {COLUMNS[m]: '│' for m in edges if row[m] > height
                and any(row[t] < height for t in edges[m])}
        for module in (m for m in edges if row[m] == height):
            start = COLUMNS[module] - len(module) // 2
            if any(start - 1 <= x <= start + len(module) for x in line):
                raise ValueError(f'no room for {module}; change COLUMNS')
            line.update({start + i: letter for i, letter in enumerate(module)})
        text.append(''.join(line.get(x, ' ') for x in range(max(line) + 1)))
        lines = {}                       # {targets in the next row: columns above it}
        lanes = set()
        for module in (m for m in edges if row[m] >= height):
            here = frozenset(COLUMNS[t] for t in edges[module] if row[t] == height - 1)
            if here:
                lines.setdefault(here, set()).add(COLUMNS[module])
            if any(row[t] < height - 1 for t in edges[module]):
                lanes.add(COLUMNS[module])
        text += gap([(frozenset(s), t) for t, s in lines.items()], lanes) if height > 0 else []
    return '```text\n' + '\n'.join(text) + '\n```\n'


def drawn(root):
    """(the page as it is, the page as it should be)"""
    with open(os.path.join(root, PAGE), encoding='utf-8') as page:
        text = page.read()
    return text, MARKED.sub(lambda m: m.group(1) + picture(root) + m.group(3), text)


def main():
    root = sys.argv[1]
    if sys.argv[2:] == ['--write']:
        text = drawn(root)[1]
        with open(os.path.join(root, PAGE), 'w', encoding='utf-8') as page:
            page.write(text)
    else:
        print(picture(root), end='')


if __name__ == '__main__':
    main()
