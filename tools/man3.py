#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the manual pages of section 3 from the comments of the public headers.

    man3.py --list HEADER...                      the names of all pages
    man3.py --out DIRECTORY --version V HEADER... writes the pages

A comment and the declarations below it, up to the next comment, are one page; so is a type. In
the headers of adapters, functions are `static inline`, those without a comment are none of the
user's, and the comment at the head is the page of the type.
Further names of a page are pages that point to it. A function without a comment and a comment
without a first sentence end the run: the header and the line are named.
"""
import argparse
import os
import re
import sys

COMMENT = re.compile(r'/\*(.*?)\*/', re.S)
FUNCTION = re.compile(r'DIBS_API\s+(.*?);', re.S)
INLINE = re.compile(r'static inline\s+([^;{]*\))\s*\{.*?\n\}', re.S)
FUNCTION_NAME = re.compile(r'\b(dibs_\w+)\s*\(')
TYPE_NAME = re.compile(r'\b(dibs_\w+);\s*$')
CALLBACK_NAME = re.compile(r'\(\*(dibs_\w+)\)')
# In the head comment of a header; without it a program links -ldibs.
LINKED = re.compile(r'Link with ((?:-ldibs[\w-]* ?)*-ldibs(?:-[a-z]+)?)')
LABEL = re.compile(r'(Returns|Thread|Fork|Source|Since)\b:?\s+')
PARAMETERS = re.compile(r'((?:`\w+`(?:, )?)+):? +')
WIDE_PARAMETERS = re.compile(r'((?:`\w+`(?:, )?)+)(?:  +|: )')
OUTCOME = re.compile(r'(DIBS_[A-Z_]+) +(?!\()')
TABLE = re.compile(r'(DIBS_[A-Z_]+)(?:  +|$)')
SENTENCE = re.compile(
    r'(?<=[.;:)]) (?=(?:Returns (?!within)|Thread:|Source:|Since \d|Property ))')
# What a sentence or a label of a comment becomes, in the order of the page.
SECTIONS = (('Returns', 'RETURN VALUE'), ('Thread', 'THREADS'), ('Fork', 'FORK'),
            ('Since', 'SINCE'), ('Source', 'NOTES'))


class Fault(Exception):
    pass


class Page:
    """`lines`: the comment; `code`: the declarations; `names`: the first is the page's own."""

    libraries = '-ldibs'

    def __init__(self, header, line, lines, code, name, is_type):
        self.header, self.line, self.lines = header, line, lines
        self.code, self.names, self.is_type = [code], [name], is_type


def comment_lines(text):
    lines = [line.strip() for line in text.strip().split('\n')]
    return [re.sub(r'^\*( |$)', '', line).rstrip() for line in lines]


def end_of_type(text, at):
    depth = 0
    while text[at] != ';' or depth > 0:
        comment = COMMENT.match(text, at)
        depth += {'{': 1, '}': -1}.get(text[at], 0) if comment is None else 0
        at = comment.end() if comment else at + 1
    return at + 1


def pages_of(path):
    """The pages of one header, in the order of its declarations."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    folder, name = os.path.split(path)
    is_adapter = os.path.basename(folder) == 'adapters'
    header = ('dibs/adapters/' if is_adapter else 'dibs/') + name
    pages, lines, at = [], None, text.index('\n', text.index('#define')) + 1
    head = comment_lines(COMMENT.findall(text[:at])[-1].split(' - ', 1)[-1]) if is_adapter else []
    while at < len(text):
        comment = COMMENT.match(text, at)
        function = FUNCTION.match(text, at) or INLINE.match(text, at)
        line = text.count('\n', 0, at) + 1
        if comment:
            lines = comment_lines(comment.group(1))
            at = comment.end()
        elif function and is_adapter and lines is None:
            at = function.end()
        elif function:
            code = re.sub(r'\bDIBS_MUST_CHECK\s+', '', function.group(1)) + ';'
            name = FUNCTION_NAME.search(code).group(1)
            base = name.replace('_bytes', '')
            calls = ([page for page in pages if base in page.names and base != name]
                     or [page for page in pages if not page.is_type])
            if lines is not None and not lines[0].startswith('The same'):
                pages.append(Page(header, line, lines, code, name, False))
            elif calls and (lines is not None or base != name or pages[-1] is calls[-1]):
                calls[-1].lines += [''] + lines if lines else []
                calls[-1].code.append(code)
                calls[-1].names.append(name)
            else:
                raise Fault(f'{path}:{line}: {name}() has no comment')
            lines, at = None, function.end()
        elif text.startswith('typedef', at):
            end = end_of_type(text, at)
            code = text[at:end]
            name = (CALLBACK_NAME if '(*' in code and '{' not in code else TYPE_NAME).search(code)
            if lines is not None or '{' in code:
                pages.append(Page(header, line, lines or head, code, name.group(1), True))
            lines, at = None, end
        else:
            after = text.find('\n', at)
            rest = text[at:after]
            if rest.startswith('#define'):
                while text[after - 1] == '\\':
                    after = text.index('\n', after + 1)
            elif rest.strip() == '' and lines is not None and at > 0 and text[at - 1] == '\n':
                lines = None                  # a comment of several declarations
            at = after + 1
    linked = LINKED.search(text[:text.index('#define')])
    for page in pages:
        page.libraries = linked.group(1).strip() if linked else '-ldibs'
    return pages


# ---- comments ----

def items_of(page):
    """Splits a comment into [label, text]: '' for prose, `parameters`, an outcome of a table
    below "Returns", or a label of SECTIONS."""
    items = [['', '']]
    was_blank, table_column = True, None
    for line in page.lines:
        bare = line.strip()
        column = len(line) - len(bare)
        is_list = was_blank or items[-1][0].startswith('`')
        parameters = (PARAMETERS if is_list else WIDE_PARAMETERS).match(line)
        label = LABEL.match(line)
        outcome = OUTCOME.match(bare)
        was_blank = bare == ''
        if bare == '':
            items.append(['', ''])
        elif label:
            rest, table_column = line[label.end():], None
            outcome = TABLE.match(rest)
            items.append([label.group(1), '' if outcome else rest])
            if outcome:
                table_column = label.end()
                items.append([outcome.group(1), rest[outcome.end():]])
        elif table_column == column and outcome:
            items.append([outcome.group(1), bare[outcome.end():]])
        elif table_column == column:
            items.append(['Returns', bare])
        elif parameters:
            items.append([parameters.group(1), line[parameters.end():]])
        elif column == 0 and items[-1][0].startswith('`'):
            items.append(['', bare])
        else:
            items[-1][1] = (items[-1][1] + ' ' + bare).strip()
    return items


def parts_of(page):
    """{'': [paragraph or (parameter, text)], a label of SECTIONS: [text or (outcome, text)]}."""
    parts = {label: [] for label in [''] + [label for label, _ in SECTIONS]}
    for label, text in items_of(page):
        first, *others = SENTENCE.split(text)
        if label.startswith('`'):
            parts[''].append((label.replace('`', ''), first))
        elif label.startswith('DIBS_'):
            parts['Returns'].append((label, first))
        else:
            parts[label].append(first)
        for sentence in others:
            word = re.match(r'\w+', sentence).group()
            word = 'Source' if word == 'Property' else word
            parts[word].append(re.sub(r'^(Thread|Source|Since):? ', '', sentence))
    return {label: [item for item in items if item] for label, items in parts.items()}


# ---- roff ----

def roff(text):
    text = re.sub(r'(?<![\w`])_([A-Z][A-Z_]{3,})\b', r'DIBS_ERR_\1', text)
    text = text.replace('\\', '\\e').replace('-', '\\-')
    text = re.sub(r'`([^`]+)`', r'\\fI\1\\fP', text)
    text = re.sub(r'\bdibs_(\w+)\(\)', r'\\fBdibs_\1\\fP(3)', text)
    text = re.sub(r'(?<![\w<])(DIBS_[A-Z_]+)\b', r'\\fB\1\\fP', text)
    return '\\&' + text if text[:1] in ('.', "'") else text


def verbatim(text):
    lines = text.replace('\\', '\\e').replace('-', '\\-').split('\n')
    return '\n'.join('\\&' + line if line[:1] in ('.', "'") else line for line in lines)


def summary(page):
    """The first sentence, as the line of NAME."""
    text = ' '.join(page.lines).strip()
    ends = [end.start() for end in re.finditer(r'(?<=[^.])[.;:](?: |$)|(?<!,) (?=Returns )', text)
            if text.count('(', 0, end.start()) == text.count(')', 0, end.start())]
    first = text[:ends[0]].strip() if ends else text
    if first == '' and page.is_type:
        first = 'type of <%s>' % page.header
    if first == '':
        raise Fault(f'{page.header}:{page.line}: {page.names[0]} has no first sentence')
    first = first.replace('`', '')
    return first[0].lower() + first[1:] if not first[:2].isupper() else first


def section(out, title, items):
    out.append('.SH ' + title)
    is_first = True
    for item in items:
        if isinstance(item, tuple):
            out += ['.TP', roff(item[0]), roff(item[1])]
        else:
            word = item.split()[0]
            start = item[0] if '/' in word else item[0].upper()
            out += ([] if is_first else ['.PP']) + [roff(start + item[1:])]
        is_first = False


def see_also(page, known):
    text = ' '.join(page.code + page.lines)
    found = {name for name in re.findall(r'\bdibs_\w+', text) if name in known}
    return sorted(found - set(page.names))


def page_text(page, known, version):
    out = ['.\\" Made by tools/man3.py from <%s>.' % page.header,
           '.TH %s 3 "" "dibs %s" "Library calls of dibs"' % (page.names[0], version),
           '.SH NAME', ', '.join(page.names) + ' \\- ' + roff(summary(page)),
           '.SH LIBRARY', roff('Link with %s.' % page.libraries),
           '.SH SYNOPSIS', '.nf', '.B #include <%s>' % page.header, '.sp',
           verbatim('\n\n'.join(page.code)), '.fi']
    parts = parts_of(page)
    for label, title in (('', 'DESCRIPTION'),) + SECTIONS:
        if parts[label]:
            section(out, title, parts[label])
    others = ['\\fB%s\\fP(3)' % name for name in see_also(page, known)]
    section(out, 'SEE ALSO', [])
    out.append(',\n'.join(others + ['\\fBdibs\\fP(1)', '\\fBdibs\\-guarantees\\fP(7)']))
    return '\n'.join(out) + '\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--out')
    parser.add_argument('--version', default='')
    parser.add_argument('headers', nargs='+')
    arguments = parser.parse_args()
    try:
        pages = [page for path in arguments.headers for page in pages_of(path)]
        known = {name for page in pages for name in page.names}
        texts = {page.names[0]: page_text(page, known, arguments.version) for page in pages}
    except Fault as fault:
        sys.exit('man3.py: %s' % fault)
    for page in pages:
        for name in page.names[1:]:
            texts[name] = '.so man3/%s.3\n' % page.names[0]
    if arguments.list:
        print('\n'.join(sorted(texts)))
        return
    for name, text in texts.items():
        with open(os.path.join(arguments.out, name + '.3'), 'w', encoding='utf-8') as file:
            file.write(text)


if __name__ == '__main__':
    main()
