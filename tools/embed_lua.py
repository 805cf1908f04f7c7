#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Embeds the server scripts: the rows of lua/scripts.list become src/script's table.

    embed_lua.py --header script_table.h lua/scripts.list
    embed_lua.py --table script_table.c [--depfile FILE] lua/scripts.list
    embed_lua.py --print lua/<dialect>/<verb>.lua

The header declares one `script` for each row; the table has name, bytes, SHA-1, and all scripts
as one library. What is embedded is what EVAL sends: comment-only lines and blank lines are left
out, and the SHA-1 is taken over exactly these bytes. `--print` writes those of one script to
standard output.
A directive is replaced by lua/<dialect>/shared/piece.lua or, for what several dialects share,
lua/shared/piece.lua. It says whether the piece returns from the script, and is checked:

    --@include piece      never: what follows is always executed
    --@may_return piece   for some arguments or states; otherwise what follows is executed
    --@tail piece         always: the last thing of the script, or of a block of it

In the library each script is a function of KEYS and ARGV; `--@function allow-oom` in its head
gives it that flag. Names carry a digest of all scripts, so each belongs to one library.
"""
import argparse
import hashlib
import pathlib
import re
import sys

PIECE = re.compile(r"^\s*--@(include|may_return|tail)\s+([a-z0-9_]+)\s*$")
FUNCTION = re.compile(r"^--@function (allow-oom|no-writes)$", re.MULTILINE)
TOKEN = re.compile(r"""--.*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\w+""")


def directive_of(lines):
    """How a piece of these lines is included: by its returns outside of functions."""
    blocks, found = [], "include"
    for word in TOKEN.findall("\n".join(lines)):
        if word in ("function", "if", "do", "repeat"):
            blocks.append(word)
        elif word in ("end", "until"):
            del blocks[-1:]
        elif word == "return" and not blocks:
            return "tail"
        elif word == "return" and "function" not in blocks:
            found = "may_return"
    return found


def piece_of(path, name):
    own = path.parent if path.parent.name == "shared" else path.parent / "shared"
    pieces = [folder / f"{name}.lua" for folder in (own, own.parent.parent / "shared")]
    piece = next((p for p in pieces if p.is_file()), None)
    if piece is None:
        sys.exit(f"{path}: no shared piece {pieces[0]}")
    return piece


def ends_block(lines):
    """Whether a block ends where these lines begin, or the script."""
    words = TOKEN.findall("\n".join(lines))
    code = (word for word in words if word.startswith("--@") or not word.startswith("--"))
    return next(code, "end") in ("end", "else", "elseif")


def expand(path, seen, depth=0):
    """The lines of `path` with its shared pieces in place; notes each file in `seen`."""
    if depth > 4:
        sys.exit(f"{path}: shared pieces include each other")
    seen.append(path)
    text = path.read_text(encoding="ascii")
    if re.search(r"\[=*\[", text):
        sys.exit(f"{path}: no long brackets, lines are dropped by their first characters")
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        directive = PIECE.match(line)
        if directive:
            piece = list(expand(piece_of(path, directive.group(2)), seen, depth + 1))
            wanted = directive_of(piece)
            if directive.group(1) != wanted:
                sys.exit(f"{path}:{number}: by its returns this is --@{wanted}: {line.strip()}")
            if wanted == "tail" and not ends_block(lines[number:]):
                sys.exit(f"{path}:{number}: only an end of a block may follow: {line.strip()}")
            yield from piece
        elif line.lstrip().startswith("--@") and not FUNCTION.match(line):
            sys.exit(f"{path}: unknown directive: {line.strip()}")
        elif line.strip() and not line.lstrip().startswith("--"):
            yield line.rstrip()


def embedded(path, seen):
    return "".join(line + "\n" for line in expand(path, seen)).encode("ascii")


def flags(path):
    return FUNCTION.findall(path.read_text(encoding="ascii"))


def listed(path):
    """The paths of a list's scripts; a row is <dialect>/<verb>, # begins a comment."""
    rows = (line.split("#")[0].strip() for line in path.read_text(encoding="ascii").splitlines())
    paths = [path.parent / f"{row}.lua" for row in rows if row]
    for script in paths:
        if not script.is_file():
            sys.exit(f"{path}: there is no {script}")
    return paths


def verb(path):
    """What a function is called after; those of the native dialect without its name."""
    return path.stem if path.parent.name == "native" else f"{path.parent.name}_{path.stem}"


def library(paths):
    """Its name, its text, and the names of its functions."""
    bodies = [(verb(path), flags(path), embedded(path, []).decode("ascii")) for path in paths]
    digest = hashlib.sha1(repr(bodies).encode("ascii")).hexdigest()[:8]
    names = [f"dibs_{word}_{digest}" for word, _, _ in bodies]
    out = [f"#!lua name=dibs_{digest}\n"]
    for name, (_, words, body) in zip(names, bodies):
        listed = ", ".join(f"'{word}'" for word in words)
        out.append(f"redis.register_function{{function_name='{name}', flags={{{listed}}},\n"
                   f"callback=function(KEYS, ARGV)\n{body}end}}\n")
    return f"dibs_{digest}", "".join(out).encode("ascii"), names


def symbol(path):
    return f"script_{path.parent.name}_{path.stem}"


def header(paths):
    out = ["/* Made by tools/embed_lua.py; do not edit. */",
           "#ifndef SCRIPT_TABLE_H", "#define SCRIPT_TABLE_H", ""]
    out += [f"extern const script {symbol(path)};" for path in paths]
    return "\n".join(out + ["", "#endif", ""])


def byte_table(data):
    codes = [str(byte) for byte in data] + ["0"]
    return [f"  {', '.join(codes[start:start + 20])}," for start in range(0, len(codes), 20)]


def table(paths, seen):
    out = ["/* Made by tools/embed_lua.py; do not edit. */", '#include "script/script.h"', ""]
    library_name, library_text, functions = library(paths)
    for path, function in zip(paths, functions):
        data = embedded(path, seen)
        name = f"{path.parent.name}/{path.stem}"
        out.append(f"static const char {symbol(path)}_bytes[] = {{")
        out += byte_table(data) + ["};"]
        digest = hashlib.sha1(data).hexdigest()
        out.append(f"const script {symbol(path)} = {{")
        out.append(f'  "{name}", {symbol(path)}_bytes, {len(data)}, "{digest}", "{function}"')
        out += ["};", ""]
    out.append("const script *const script_table[] = {")
    out += [f"  &{symbol(path)}," for path in paths]
    out += ["};", f"const size_t script_count = {len(paths)};", ""]
    out += [f'const char script_library_name[] = "{library_name}";',
            "const char script_library_text[] = {"] + byte_table(library_text)
    out += ["};", f"const size_t script_library_size = {len(library_text)};", ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--header", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--depfile", type=pathlib.Path)
    parser.add_argument("--print", action="store_true", dest="is_print")
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    if options.is_print:
        sys.stdout.buffer.write(embedded(options.file, []))
        return
    paths, seen = listed(options.file), [options.file]
    if options.header:
        options.header.write_text(header(paths), encoding="ascii")
    if options.table:
        options.table.write_text(table(paths, seen), encoding="ascii")
    if options.depfile:
        parts = sorted({str(path).replace(" ", "\\ ") for path in seen})
        line = f"{options.table}: {' '.join(parts)}\n"
        options.depfile.write_text(line, encoding="utf-8")


if __name__ == "__main__":
    main()
