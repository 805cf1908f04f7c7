#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the house rules that no compiler knows. Speaks TAP.

    tidy.py ROOT                          layers, banned functions, guards, heads, lines,
                                          plain words
    tidy.py ROOT --words [PREFIX]         shows the phrases that plain_words.py counts
    tidy.py ROOT --lower                  lowers the numbers of plain_words.txt to today's
    tidy.py ROOT --purity NM LIBRARY...   what the pure rooms need from outside
    tidy.py --self-test                   plants one violation of each rule and finds it
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import draw_modules
import metrics_page
import plain_words

# What a room, or one file of it, may include besides itself and <dibs/...>. All points down.
LAYERS = {
    'base': [],
    'resp': ['base'],
    'script': ['base', 'resp'],
    'request': ['base', 'resp', 'script'],
    'link': ['base', 'resp', 'request'],
    'topo': ['base', 'resp', 'request', 'link'],
    'dialect': ['base', 'resp', 'script', 'request'],
    'sync': ['base', 'resp', 'script', 'request', 'dialect'],
    'fleet': ['base', 'resp', 'script', 'request', 'dialect'],
    'hold': ['base', 'dialect'],
    'lock': ['base', 'resp', 'request', 'link', 'topo', 'script', 'dialect', 'hold'],
    'quorum': ['base', 'resp', 'link', 'topo', 'script', 'dialect', 'hold', 'lock'],
    'engine': ['base', 'resp', 'request', 'link', 'topo', 'script', 'dialect', 'fleet', 'sync',
               'hold', 'lock', 'quorum'],
    'tls': ['base'],
    'drive': ['base', 'tls', 'resp', 'link', 'topo', 'script', 'dialect', 'lock', 'engine'],
    'local': ['base'],
    'api': ['base', 'resp', 'request', 'link', 'topo', 'script', 'dialect', 'sync', 'hold', 'lock',
            'engine', 'tls', 'drive', 'local'],
    'admin': ['base', 'tls', 'topo', 'script', 'dialect', 'api'],
    # libdibs-data: of api only what libdibs exports for it.
    'data': ['api/private.h'],
    # Of base only what has no state and allocates nothing.
    'watch': ['fleet/metrics_text.h'],
    'cli': ['base/dialects.h', 'base/errno_text.h', 'base/fence.h', 'base/first_line.h',
            'base/hash_tag.h', 'base/hex.h', 'base/nearest.h', 'base/plural.h', 'fleet/class.h',
            'local/others.h', 'topo/url_options.h', 'watch'],
}
# The rooms of sim/, beside those of src/.
SIM_LAYERS = {
    'server': ['base', 'resp'],
    'world': ['base', 'resp', 'topo', 'script', 'engine', 'drive', 'api', 'server'],
    'explore': ['base', 'resp', 'script', 'server', 'world', 'oracle'],
    'deployed': ['base', 'resp', 'topo', 'server', 'world', 'oracle'],
}

# What the pure rooms may take from outside, each with its reason.
PURE = {
    'memcmp': 'bytes', 'memcpy': 'bytes', 'memmove': 'bytes', 'qsort': 'bytes', 'memset': 'bytes',
    'memchr': 'bytes', 'memrchr': 'bytes', 'bcmp': 'memcmp as compilers spell it',
    'strlen': 'bytes', 'strcmp': 'bytes', 'strncmp': 'bytes', 'strchr': 'bytes', 'strstr': 'bytes',
    'strrchr': 'bytes', 'strspn': 'bytes', 'strcspn': 'bytes',
    '__assert_fail': 'states that cannot be; prints and ends, only when there is a bug',
    '__stack_chk_fail': 'the compiler guards the stack',
    '_GLOBAL_OFFSET_TABLE_': 'the linker: position-independent code',
    'redisReaderCreateWithFunctions': 'the RESP reader: bytes in, replies out, no socket',
    'redisReaderFeed': 'as above', 'redisReaderGetReply': 'as above',
    'redisReaderFree': 'as above',
    'redisFormatCommandArgv': 'the RESP writer: words in, bytes out',
    'redisFreeCommand': 'as above',
    'hi_malloc': 'the RESP reader of hiredis 1.x allocates its own task stack',
}
# What the simulated server takes besides: it ends the program when memory runs out.
PURE_OF_SIM = ('abort', 'malloc', 'calloc', 'realloc', 'free', 'strtod', 'snprintf',
               'EVP_Digest', 'EVP_sha1')
# Added by the compiler for sanitizers, coverage and fuzzing; never in a plain build.
INSTRUMENTED = re.compile(r'^(__asan_|__ubsan_|__tsan_|__msan_|__sanitizer_|__gcov|__sancov_'
                          r'|__llvm_|mangled)')
FORTIFIED = re.compile(r'^__(\w+)_chk$')

# Banned in everything that others run or copy, and the word to use instead. Tests and
# benchmarks may: a sanitizer watches them, and their inputs are their own.
BANNED = {
    'strcpy': 'memcpy or text_add', 'strcat': 'text_add', 'sprintf': 'snprintf',
    'vsprintf': 'vsnprintf', 'strtok': 'memchr', 'atoi': 'text_to_uint', 'atol': 'text_to_uint',
    'gets': 'fgets',
    'rand': 'random of base', 'srand': 'random of base', 'time': 'clock_gettime',
    'gettimeofday': 'clock_gettime', 'alloca': 'memory',
    'tmpnam': 'mkdtemp', 'mktemp': 'mkdtemp',
}
# Banned in src/ too: they skip blanks, take signs and hide overflow; or answer by the locale, which
# is another one in the next process.
BANNED_IN_SOURCE = {'strtol': 'text_to_uint', 'strtoul': 'text_to_uint'} | {
    name: 'strchr or ranges of ASCII' for name in (
        'isalnum', 'isalpha', 'isblank', 'iscntrl', 'isdigit', 'isgraph', 'islower', 'isprint',
        'ispunct', 'isspace', 'isupper', 'isxdigit', 'tolower', 'toupper',
        'strcoll')}
# A library writes nothing to the terminal, and takes memory from its client's allocator.
STDIO = ['printf', 'vprintf', 'fprintf', 'puts', 'fputs', 'putchar', 'perror']
HEAP = ['malloc', 'calloc', 'realloc', 'free', 'strdup', 'strndup']
STDIO_ROOMS = ['cli']
# cli and local have no client and no allocator of a caller's.
HEAP_ROOMS = ['cli', 'local', 'watch']
# They give the lowest free descriptor, which of a daemon can be 0, 1 or 2; it puts /dev/null there
# later. The command fills the free ones when it begins.
OPENERS = ['open', 'openat', 'socket', 'eventfd', 'timerfd_create', 'epoll_create1', 'signalfd',
           'memfd_create', 'inotify_init1', 'accept4', 'pipe2', 'socketpair', 'opendir', 'fopen']
OPENER_ROOMS = ['tls', 'drive', 'local', 'api', 'admin', 'data']
# Where something belongs to no client.
HEAP_FILES = {
    'src/base/plain_memory.h': 'the default of dibs_allocator, and of what may outlive its client',
    'src/api/handle.c': 'one table for the whole process, of no client',
    'src/drive/canceller.c': 'a canceller belongs to no client',
}
# A test waits for an event, never for a while; a short nap in the loop that looks for the
# event is fine.
SLEEP = re.compile(r'(?<![\w.>])(sleep|usleep)\s*\(\s*(\w+)')
NAP_US_MAX = 20000

# Lines aim at 90 columns (.clang-format); past the second number they are a fault.
LINE_AIM, LINE_MAX = 90, 100
PLACES = ['include', 'src', 'lua', 'test', 'tools', 'bench', 'examples', 'sim']
SOURCE = ('.c', '.h', '.cpp', '.hpp')
HEADED = {'.c': '/*', '.h': '/*', '.cpp': '/*', '.hpp': '/*', '.lua': '--', '.py': '#', '.sh': '#'}
HEAD = 'SPDX-License-Identifier: MIT'

COMMENT_OR_TEXT = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def code_of(text):
    """The text with comments and literals blanked out, line numbers kept."""
    return COMMENT_OR_TEXT.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)


def line_of(text, position):
    return text.count('\n', 0, position) + 1


def files_of(root, endings):
    """Yields (path in the tree, text) of every file that ends so."""
    for place in PLACES:
        for directory, folders, names in os.walk(os.path.join(root, place)):
            folders[:] = sorted(f for f in folders if not f.startswith(('.', '__'))
                                and f not in ('corpus', 'build'))
            for name in sorted(names):
                if name.endswith(endings):
                    path = os.path.join(directory, name)
                    with open(path, encoding='utf-8') as source:
                        yield os.path.relpath(path, root), source.read()


def room_of(path):
    parts = path.split(os.sep)
    return parts[1] if parts[0] == 'src' and len(parts) > 2 else None


def sim_layers_point_down(root):
    """A file of its own folder may be named without its room."""
    for path, text in files_of(root, SOURCE):
        parts = path.split(os.sep)
        if parts[0] != 'sim' or len(parts) < 3:
            continue
        room = parts[1]
        for match in INCLUDE.finditer(text):
            kind, target = match.groups()
            first = target.split('/')[0]
            where = f'{path}:{line_of(text, match.start())}'
            if room not in SIM_LAYERS:
                yield f'{path}:1: the room sim/{room} has no place in the layers'
                break
            if kind == '"' and '/' in target and first != room and \
                    first not in SIM_LAYERS[room]:
                yield f'{where}: sim/{room} may not include {target}'


def layers_point_down(root):
    for path, text in files_of(root, SOURCE):
        room = room_of(path)
        for match in INCLUDE.finditer(text):
            kind, target = match.groups()
            where = f'{path}:{line_of(text, match.start())}'
            first = target.split('/')[0]
            if path.startswith('include'):
                if kind == '"' or first in LAYERS:
                    yield f'{where}: a public header includes only <dibs/...>, not {target}'
                continue
            if room is None:
                if path.startswith('examples') and '/' in target and first in LAYERS:
                    yield f'{where}: examples use only <dibs/...>, not {target}'
                continue
            if room not in LAYERS:
                yield f'{path}:1: the room {room} has no place in the layers'
                break
            if kind == '<':
                if first in LAYERS and '/' in target:
                    yield f'{where}: a room is included with quotes: {target}'
                continue
            if '/' not in target:
                yield f'{where}: name the room: {room}/{target}'
            elif first != room and first not in LAYERS[room] and target not in LAYERS[room]:
                yield f'{where}: {room} may not include {target}'


def calls_in(text, names):
    code = code_of(text)
    pattern = re.compile(r'(?<![\w.>])(' + '|'.join(names) + r')\s*\(')
    for match in pattern.finditer(code):
        yield match.group(1), line_of(code, match.start())


def banned_functions(root):
    for path, text in files_of(root, SOURCE):
        room = room_of(path)
        own_use = path.startswith(('test', 'bench'))
        for name, line in calls_in(text, BANNED) if not own_use else ():
            yield f'{path}:{line}: {name}() is banned, use {BANNED[name]}'
        if path.startswith('test'):
            code = code_of(text)
            for match in SLEEP.finditer(code):
                name, length = match.groups()
                if not (name == 'usleep' and length.isdigit() and int(length) <= NAP_US_MAX):
                    yield (f'{path}:{line_of(code, match.start())}: {name}({length}) in a '
                           'test: wait for an event')
        if room is None:
            continue
        for name, line in calls_in(text, BANNED_IN_SOURCE):
            yield f'{path}:{line}: {name}() is banned, use {BANNED_IN_SOURCE[name]}'
        if room not in STDIO_ROOMS:
            for name, line in calls_in(text, STDIO):
                yield f'{path}:{line}: {name}(): only the command writes to a terminal'
        if room in OPENER_ROOMS:
            moved = re.sub(r'(above_stdio(_pair\(\w+,|\()|descriptor_keep\()\s*\w+',
                           lambda found: '\n' * found.group().count('\n'), text)
            for name, line in calls_in(moved, OPENERS):
                yield f'{path}:{line}: {name}(): above_stdio() keeps it off 0, 1 and 2'
        if room not in HEAP_ROOMS and path not in HEAP_FILES:
            for name, line in calls_in(text, HEAP):
                yield f'{path}:{line}: {name}(): memory comes through `memory`'


def include_guards(root):
    for path, text in files_of(root, ('.h', '.hpp')):
        code = [line.strip() for line in code_of(text).splitlines() if line.strip()]
        stem = re.sub(r'\W', '_', os.path.basename(path)).upper()
        guard = code[0].split() if code else []
        if len(code) < 3 or len(guard) != 2 or guard[0] != '#ifndef':
            yield f'{path}:1: the first line of code is not an include guard'
        elif code[1] != f'#define {guard[1]}':
            yield f'{path}:1: #define {guard[1]} does not follow its #ifndef'
        elif not guard[1].endswith(stem):
            yield f'{path}:1: the guard {guard[1]} does not end in {stem}'
        elif code[-1] != '#endif':
            yield f'{path}:{text.count(chr(10))}: the guard is not closed by the last line'


def file_heads(root):
    for path, text in files_of(root, tuple(HEADED)):
        mark = HEADED[os.path.splitext(path)[1]]
        lines = [line for line in text.splitlines() if not line.startswith('#!')]
        if not lines or not lines[0].startswith(mark) or HEAD not in lines[0]:
            yield f'{path}:1: the first line is not "{mark} {HEAD}"'
            continue
        if path.endswith(SOURCE):
            next_code = next((line for line in lines[1:] if line.strip()), '')
            if not next_code.startswith('/*'):
                yield f'{path}:2: a head comment says what the file is'


def long_lines(root):
    for path, text in files_of(root, tuple(HEADED)):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > LINE_MAX:
                yield f'{path}:{number}: {len(line)} columns, aim at {LINE_AIM}'
            if line != line.rstrip() or '\t' in line:
                yield f'{path}:{number}: a tab or blanks at the end'


def symbols(nm, library, option):
    output = subprocess.run([nm, option, library], capture_output=True, text=True, check=True)
    for line in output.stdout.splitlines():
        words = line.split()
        if len(words) >= 2 and len(words[-2]) == 1:
            yield words[-1]


def impure_symbols(nm, libraries):
    """Yields what the libraries together need from outside and may not."""
    defined = set()
    for library in libraries:
        defined.update(symbols(nm, library, '--defined-only'))
    for library in libraries:
        for name in sorted(set(symbols(nm, library, '-u')) - defined):
            fortified = FORTIFIED.match(name)
            plain = fortified.group(1) if fortified else name
            if os.path.basename(library).startswith('libdibs_sim_') and \
                    (plain in PURE_OF_SIM or plain.startswith(('lua_', 'luaL_', 'luaopen_'))):
                continue
            if plain not in PURE and not INSTRUMENTED.match(plain):
                yield f'{os.path.basename(library)}: {name} is not on the list of pure rooms'


def shell_scripts(root):
    """POSIX sh by shellcheck's word and dash's; nothing to say where neither is here."""
    scripts = ['check', 'demo', 'tools/needs.sh', 'tools/legs.sh', '.ci/run']
    for program, options in (('shellcheck', ['-x']), ('dash', ['-n'])):
        if shutil.which(program) is None:
            continue
        for script in scripts:
            if not os.path.exists(os.path.join(root, script)):
                continue
            if program == 'dash' and script == '.ci/run':
                continue
            done = subprocess.run([program, *options, script], cwd=root, text=True,
                                  capture_output=True)
            if done.returncode != 0:
                yield from (f'{script}: {line}'
                            for line in (done.stdout + done.stderr).splitlines())


def scripts_are_listed(root):
    """Each lua/<dialect>/<verb>.lua has one row in lua/scripts.list, and each row its file."""
    table = 'lua/scripts.list'
    rows = {}
    if os.path.exists(os.path.join(root, table)):
        with open(os.path.join(root, table), encoding='ascii') as file:
            for number, line in enumerate(file, 1):
                row = line.split('#')[0].strip()
                if row in rows:
                    yield f'{table}:{number}: {row} has a row already'
                elif row:
                    rows[row] = number
    scripts = {path for path, _ in files_of(root, ('.lua',))
               if path.startswith('lua' + os.sep) and 'shared' not in path.split(os.sep)}
    for row, number in rows.items():
        if f'lua/{row}.lua' not in scripts:
            yield f'{table}:{number}: there is no lua/{row}.lua'
    for path in sorted(scripts - {f'lua/{row}.lua' for row in rows}):
        yield f'{path}:1: not in {table}, so it is not embedded'


def modules_are_drawn(root):
    """The page that begins with the modules has the picture that their includes make, and a row
    for each: `src/MODULE/`, a sentence, what it may include, its head comment."""
    page = draw_modules.PAGE
    if not os.path.exists(os.path.join(root, page)):
        return
    try:
        text, wanted = draw_modules.drawn(root)
    except ValueError as fault:
        yield f'tools/draw_modules.py:1: {fault}'
        return
    if draw_modules.MARKED.search(text) is None:
        yield f'{page}:1: has no marks of a picture'
    elif text != wanted:
        yield (f'{page}:1: the picture is not what the includes say: '
               'tools/draw_modules.py . --write')
    for place, layers in (('src', LAYERS), ('sim', SIM_LAYERS)):
        for module in sorted(layers):
            if not os.path.isdir(os.path.join(root, place, module)):
                continue
            row = re.search(rf'^\| `{place}/{module}/` \|[^|\n]*\|([^|\n]*)\|', text, re.M)
            if row is None:
                yield f'{page}:1: has no row for {place}/{module}/'
            elif row.group(1).split() != (layers[module] or ['–']):
                yield (f'{page}:{line_of(text, row.start())}: {place}/{module} may include '
                       f'{" ".join(layers[module]) or "–"}')


def metrics_are_listed(root):
    """The page of all metrics has the tables that src/base/metrics.h makes."""
    if not os.path.exists(os.path.join(root, metrics_page.PAGE)):
        return
    try:
        text, wanted = metrics_page.drawn(root)
    except ValueError as fault:
        yield f'{metrics_page.TABLE}:1: {fault}'
        return
    if text != wanted:
        yield f'{metrics_page.PAGE}:1: is not what {metrics_page.TABLE} says: ' \
              'tools/metrics_page.py . --write'


RULES = {
    'layers_point_down': layers_point_down,
    'sim_layers_point_down': sim_layers_point_down,
    'banned_functions_are_absent': banned_functions,
    'include_guards_are_whole': include_guards,
    'files_have_a_head': file_heads,
    'lines_are_short': long_lines,
    'scripts_are_listed': scripts_are_listed,
    'shell_scripts_are_clean': shell_scripts,
    'modules_are_drawn': modules_are_drawn,
    'metrics_are_listed': metrics_are_listed,
    'words_are_plain': plain_words.plain_words,
}


def report(results):
    """results: (name, list of violations). Returns the exit code."""
    results = list(results)
    print(f'1..{len(results)}')
    for number, (name, found) in enumerate(results, 1):
        print(f"{'not ok' if found else 'ok'} {number} - {name}")
        for line in found:
            print(f'# {line}')
    return 1 if any(found for _, found in results) else 0


HEAD_LINE = f'/* {HEAD} */\n'
PLANTED = [
    ('layers_point_down', 'src/base/up.c',
     HEAD_LINE + '/* up */\n#include "lock/lock.h"\n', 'src/base/up.c:3'),
    ('layers_point_down', 'src/lock/side.c',
     HEAD_LINE + '/* side */\n#include "local/local.h"\n', 'src/lock/side.c:3'),
    ('layers_point_down', 'src/cli/deep.c',
     HEAD_LINE + '/* deep */\n#include "base/base.h"\n', 'src/cli/deep.c:3'),
    ('layers_point_down', 'src/api/bare.c',
     HEAD_LINE + '/* bare */\n#include "api.h"\n', 'src/api/bare.c:3'),
    ('layers_point_down', 'src/attic/old.c', HEAD_LINE + '/* old */\n#include <a.h>\n',
     'src/attic/old.c:1'),
    ('layers_point_down', 'examples/peeks.c',
     HEAD_LINE + '/* peeks */\n#include "engine/engine.h"\n', 'examples/peeks.c:3'),
    ('layers_point_down', 'include/dibs/leaks.h',
     HEAD_LINE + '/* leaks */\n#include "base/base.h"\n', 'include/dibs/leaks.h:3'),
    ('sim_layers_point_down', 'sim/server/up.c',
     HEAD_LINE + '/* up */\n#include "engine/engine.h"\n', 'sim/server/up.c:3'),
    ('banned_functions_are_absent', 'src/cli/copies.c',
     HEAD_LINE + '/* c */\nvoid f(char *a) { strcpy (a, "b"); }\n', 'src/cli/copies.c:3'),
    ('banned_functions_are_absent', 'src/cli/letters.c',
     HEAD_LINE + '/* l */\nint f(char a) { return isalnum((unsigned char)a); }\n',
     'src/cli/letters.c:3'),
    ('banned_functions_are_absent', 'src/engine/grabs.c',
     HEAD_LINE + '/* g */\nvoid *f(void) { return malloc(1); }\n', 'src/engine/grabs.c:3'),
    ('banned_functions_are_absent', 'src/drive/talks.c',
     HEAD_LINE + '/* t */\nvoid f(void) { printf("x"); }\n', 'src/drive/talks.c:3'),
    ('banned_functions_are_absent', 'test/live/naps.c',
     HEAD_LINE + '/* n */\nvoid f(void) { usleep(50000); }\n', 'test/live/naps.c:3'),
    ('banned_functions_are_absent', 'src/drive/opens.c',
     HEAD_LINE + '/* o */\nint f(void) { return above_stdio(eventfd(0, 0)); }\n'
     'int g(void) { return eventfd(0, 0); }\n', 'src/drive/opens.c:4'),
    ('include_guards_are_whole', 'src/base/early.h',
     HEAD_LINE + '/* e */\n#ifndef EARLY_H\n#define EARLY_H\n#endif\nint x;\n',
     'src/base/early.h:6'),
    ('include_guards_are_whole', 'src/base/other.h',
     HEAD_LINE + '/* o */\n#ifndef SAME_H\n#define SAME_H\n#endif\n', 'src/base/other.h:1'),
    ('files_have_a_head', 'src/base/bald.c', 'int x;\n', 'src/base/bald.c:1'),
    ('files_have_a_head', 'lua/native/bald.lua', 'return 1\n', 'lua/native/bald.lua:1'),
    ('files_have_a_head', 'src/base/mute.c', HEAD_LINE + 'int x;\n', 'src/base/mute.c:2'),
    ('lines_are_short', 'src/base/wide.c', HEAD_LINE + '/* ' + 'w' * 100 + ' */\n',
     'src/base/wide.c:2'),
    ('lines_are_short', 'src/base/tab.c', HEAD_LINE + '/* x */\n\tint x;\n',
     'src/base/tab.c:3'),
    ('scripts_are_listed', 'lua/native/loose.lua', 'return 1\n', 'lua/native/loose.lua:1'),
    ('scripts_are_listed', 'lua/scripts.list', '# all\nnative/none\n', 'lua/scripts.list:2'),
    ('words_are_plain', 'src/base/idiom.c', '/* waits for so\n * long */ char *s = "he is";\n',
     'src/base: 2 phrases'),
    ('words_are_plain', 'lua/native/idiom.lua', '-- that nobody\n-- waits\n', 'lua/native: 1'),
    ('words_are_plain', 'doc/guide/idiom.md', 'Whoever\n```text\nwho\n```\n`tell`\n',
     'doc/guide: 1'),
]
INNOCENT = (HEAD_LINE + '/* strcpy(a, b) in a comment, and "sleep(1)" */\n'
            '#include "base/base.h"\n#include <time.h>\n'
            'int uptime(int x);\nint f(void) { return uptime(1) + x.time(2) + g("rand(");}\n')


def self_test():
    results = []
    for rule, path, text, expected in PLANTED:
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
            found = list(RULES[rule](root))
            good = len(found) == 1 and re.match(re.escape(expected) + r'\b', found[0])
            results.append((f'{rule} sees {path}', [] if good else [f'found {found}']))
    if shutil.which('shellcheck') is not None:
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, 'check'), 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\nif [[ $1 ]]; then echo $1; fi\n')
            found = list(shell_scripts(root))
        results.append(('shell_scripts_are_clean sees a bash word in sh',
                        [] if any('[[' in line for line in found) else [f'{found}']))
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, 'src/lock'))
        with open(os.path.join(root, 'src/lock/good.c'), 'w', encoding='utf-8') as file:
            file.write(INNOCENT + 'char *c = "who"; /* `dibs who` and tell_all(), `tell` */\n')
        found = [line for rule in RULES.values() for line in rule(root)]
        results.append(('an_innocent_file_passes', found))
    results.append(('a_picture_of_other_includes_is_seen', picture_self_test()))
    results.append(('a_page_of_other_metrics_is_seen', metrics_self_test()))
    results.append(('a_count_of_plain_words_never_rises', ratchet_self_test()))
    results.append(('purity sees a clock', impure_self_test()))
    return report(results)


def picture_self_test():
    """A picture that was drawn passes; with one more include, another right in its table or no
    row for a module it does not; drawn again it does."""
    def write(path, text):
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
            file.write(text)

    rows = '| `src/base/` | all use it | – | |\n| `src/local/` | files | base | |\n'
    page = '<!-- modules: drawn -->\n<!-- end of modules -->\n'
    with tempfile.TemporaryDirectory() as root:
        write('src/base/a.h', 'int x;\n')
        write('src/local/b.c', 'int y;\n')
        write(draw_modules.PAGE, page + rows)
        seen = [len(list(modules_are_drawn(root)))]
        for change in ('', '#include "base/a.h"\n'):
            write('src/local/b.c', change)
            seen.append(len(list(modules_are_drawn(root))))
            write(draw_modules.PAGE, draw_modules.drawn(root)[1])
            seen.append(len(list(modules_are_drawn(root))))
        write(draw_modules.PAGE, draw_modules.drawn(root)[1].replace('| base |', '| resp |'))
        seen.append(len(list(modules_are_drawn(root))))
        write(draw_modules.PAGE, page)
        seen.append(len(list(modules_are_drawn(root))))
        write('src/attic/old.c', 'int z;\n')
        seen.append(list(modules_are_drawn(root)))
    wanted = [1, 1, 0, 1, 0, 1, 3, ['tools/draw_modules.py:1: COLUMNS has no attic']]
    return [] if seen == wanted else [f'{seen}']


def metrics_self_test():
    """A page that was written passes; after another word in the table, and without marks of one
    of its macros, it does not."""
    def write(path, text):
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
            file.write(text)

    table = ('#define METRICS_X(ROW) \\\n'
             '  ROW(dibs_a, "gauge", "", "class, kind", "One " \\\n      "(1)")\n')
    page = '<!-- METRICS_X: written -->\n<!-- end of METRICS_X -->\n'
    seen = []
    with tempfile.TemporaryDirectory() as root:
        write(metrics_page.TABLE, table)
        write(metrics_page.PAGE, page)
        seen.append(len(list(metrics_are_listed(root))))
        write(metrics_page.PAGE, metrics_page.drawn(root)[1])
        seen.append(len(list(metrics_are_listed(root))))
        seen.append('| `dibs_a` | gauge | – | `class`, `kind` | One (1) |' in
                    metrics_page.drawn(root)[0])
        write(metrics_page.TABLE, table.replace('One', 'Two'))
        seen.append(len(list(metrics_are_listed(root))))
        write(metrics_page.TABLE, table + '#define METRICS_Y(ROW) ROW(b, "c")\n')
        seen.append(list(metrics_are_listed(root)))
    wanted = [1, 0, True, 1,
              [f'{metrics_page.TABLE}:1: {metrics_page.PAGE} has no marks of METRICS_Y']]
    return [] if seen == wanted else [f'{seen}']


def ratchet_self_test():
    """One phrase is allowed: one passes, two fail and cannot be written down, none is lowered."""
    def write(path, text):
        with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
            file.write(text)

    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, 'src/base'))
        os.makedirs(os.path.join(root, 'tools'))
        write(plain_words.ALLOWED, 'src/base 1\n')
        write('src/base/a.c', '/* till it ends */\n')
        seen = [list(plain_words.plain_words(root))]
        write('src/base/a.c', '/* till it ends, till then */\n')
        seen += [len(list(plain_words.plain_words(root))), plain_words.lower(root) != '']
        write('src/base/a.c', '/* until it ends */\n')
        seen += [plain_words.lower(root), plain_words.allowed(root)]
    return [] if seen == [[], 1, True, '', {}] else [f'{seen}']


def impure_self_test():
    compiler = os.environ.get('CC', 'cc').split()[0]
    with tempfile.TemporaryDirectory() as root:
        source, library = os.path.join(root, 'a.c'), os.path.join(root, 'a.o')
        with open(source, 'w', encoding='utf-8') as file:
            file.write('#include <time.h>\n#include <string.h>\n'
                       'long f(char *a) { struct timespec t; clock_gettime(0, &t);'
                       ' return t.tv_sec + (long)strlen(a); }\n')
        subprocess.run([compiler, '-c', '-o', library, source], check=True)
        found = list(impure_symbols('nm', [library]))
    return [] if len(found) == 1 and 'clock_gettime' in found[0] else [f'found {found}']


def main():
    if sys.argv[1] == '--self-test':
        return self_test()
    root = sys.argv[1]
    if len(sys.argv) > 2 and sys.argv[2] == '--purity':
        nm, libraries = sys.argv[3], sys.argv[4:]
        return report([('pure_rooms_need_nothing_impure',
                        list(impure_symbols(nm, libraries)))])
    if sys.argv[2:3] == ['--lower']:
        return plain_words.lower(root)
    if sys.argv[2:3] == ['--words']:
        for _, path, line, phrase in plain_words.all_phrases(root):
            if path.startswith(sys.argv[3] if len(sys.argv) > 3 else ''):
                print(f'{path}:{line}: {phrase}')
        return 0
    return report((name, list(rule(root))) for name, rule in RULES.items())


if __name__ == '__main__':
    sys.exit(main())
