#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what is on a terminal: tmux capture-pane -p -e | tools/terminal_svg.py >PICTURE.svg

Reads lines of text with the SGR sequences that tmux prints (colours, bold, dim, reverse).
"""
import html
import re
import sys

WIDTH, HEIGHT, EDGE = 8.4, 17, 10          # of one cell, and around all of them
PAPER, INK = '#16181d', '#d5d8de'
COLOURS = ['#16181d', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d5d8de']


def _style(style, numbers):
    """The style after the numbers of one SGR sequence."""
    style = dict(style)
    for number in numbers:
        if number == 0:
            style = {}
        elif number in (1, 2, 7):
            style[number] = True
        elif 30 <= number <= 37 or 90 <= number <= 97:
            style['ink'] = COLOURS[number % 10]
        elif number == 39:
            style.pop('ink', None)
    return style


def runs_of(line):
    """[(column, text, style)] of one line."""
    style, column, runs = {}, 0, []
    for text, codes in re.findall(r'([^\x1b]+)|\x1b\[([\d;]*)m', line.replace('\x0f', '')):
        if text:
            runs.append((column, text, style))
            column += len(text)
        else:
            style = _style(style, [int(n or 0) for n in codes.split(';')])
    return runs


def _draw(column, row, text, style):
    ink = style.get('ink', INK)
    x, y, width = EDGE + column * WIDTH, EDGE + row * HEIGHT, len(text) * WIDTH
    shape = ''
    if style.get(7):
        shape = f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}" fill="{ink}"/>\n'
        ink = PAPER
    if not text.strip():
        return shape
    more = ' font-weight="bold"' if style.get(1) else ''
    more += ' opacity="0.6"' if style.get(2) else ''
    return (f'{shape}<text x="{x:.1f}" y="{y + 13}" fill="{ink}" textLength="{width:.1f}"{more}>'
            f'{html.escape(text)}</text>\n')


def picture(lines):
    rows = [runs_of(line) for line in lines]
    columns = max((run[0] + len(run[1]) for row in rows for run in row), default=1)
    width, height = 2 * EDGE + columns * WIDTH, 2 * EDGE + len(rows) * HEIGHT
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
            f'width="{width:.0f}" height="{height}" xml:space="preserve" font-size="14" '
            f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">\n'
            f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>\n'
            + ''.join(_draw(column, row, text, style)
                      for row, runs in enumerate(rows) for column, text, style in runs)
            + '</svg>\n')


if __name__ == '__main__':
    sys.stdout.write(picture(sys.stdin.read().splitlines()))
