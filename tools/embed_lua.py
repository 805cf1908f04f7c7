#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/script's table of server scripts: name, bytes, SHA-1, and all as one library.

    embed_lua.py --output script_table.c [--depfile FILE] lua/<dialect>/<verb>.lua ...

A line `--@include piece` is replaced by lua/<dialect>/shared/piece.lua, or by what several
dialects share, lua/shared/piece.lua, so that several scripts share one text. Comment-only
lines and blank lines are left out: what is embedded is what travels with EVAL, and its SHA-1
is taken over exactly these bytes.
In the library each script is a function of KEYS and ARGV; `--@function allow-oom` in its head
gives it that flag. Names carry a digest of all of them: a function's name is of one library.
`--print FILE` writes the embedded bytes of one script to standard output, for tests.
"""
import argparse
import hashlib
import pathlib
import re
import sys

INCLUDE = re.compile(r"^\s*--@include\s+([a-z0-9_]+)\s*$")
FUNCTION = re.compile(r"^--@function (allow-oom|no-writes)$", re.MULTILINE)


def expand(path, seen, depth=0):
    """The lines of `path` with its shared pieces in place; notes each file in `seen`."""
    if depth > 4:
        sys.exit(f"{path}: shared pieces include each other")
    seen.append(path)
    text = path.read_text(encoding="ascii")
    if re.search(r"\[=*\[", text):
        sys.exit(f"{path}: no long brackets, lines are dropped by their first characters")
    own = path.parent if path.parent.name == "shared" else path.parent / "shared"
    places = (own, own.parent.parent / "shared")
    for line in text.splitlines():
        include = INCLUDE.match(line)
        if include:
            pieces = [place / f"{include.group(1)}.lua" for place in places]
            piece = next((p for p in pieces if p.is_file()), None)
            if piece is None:
                sys.exit(f"{path}: no shared piece {pieces[0]}")
            yield from expand(piece, seen, depth + 1)
        elif line.lstrip().startswith("--@") and not FUNCTION.match(line):
            sys.exit(f"{path}: unknown directive: {line.strip()}")
        elif line.strip() and not line.lstrip().startswith("--"):
            yield line.rstrip()


def embedded(path, seen):
    return "".join(line + "\n" for line in expand(path, seen)).encode("ascii")


def flags(path):
    return FUNCTION.findall(path.read_text(encoding="ascii"))


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


def byte_table(data):
    codes = [str(byte) for byte in data] + ["0"]
    return [f"  {', '.join(codes[start:start + 20])}," for start in range(0, len(codes), 20)]


def table(paths, seen):
    out = ["/* Made by tools/embed_lua.py; do not edit. */", '#include "script/script.h"', ""]
    symbols = []
    library_name, library_text, functions = library(paths)
    for path, function in zip(paths, functions):
        data = embedded(path, seen)
        name = f"{path.parent.name}/{path.stem}"
        symbol = f"script_{path.parent.name}_{path.stem}"
        symbols.append(symbol)
        out.append(f"static const char {symbol}_bytes[] = {{")
        out += byte_table(data) + ["};"]
        digest = hashlib.sha1(data).hexdigest()
        out.append(f"const script {symbol} = {{")
        out.append(f'  "{name}", {symbol}_bytes, {len(data)}, "{digest}", "{function}"')
        out += ["};", ""]
    out.append("const script *const script_table[] = {")
    out += [f"  &{symbol}," for symbol in symbols]
    out += ["};", f"const size_t script_count = {len(symbols)};", ""]
    out += [f'const char script_library_name[] = "{library_name}";',
            "const char script_library_text[] = {"] + byte_table(library_text)
    out += ["};", f"const size_t script_library_size = {len(library_text)};", ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output")
    parser.add_argument("--depfile")
    parser.add_argument("--print", dest="show", type=pathlib.Path)
    parser.add_argument("scripts", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if options.show:
        sys.stdout.buffer.write(embedded(options.show, []))
        return
    if not options.output or not options.scripts:
        parser.error("wants --output and at least one script")
    seen = []
    pathlib.Path(options.output).write_text(table(options.scripts, seen), encoding="ascii")
    if options.depfile:
        parts = sorted({str(path).replace(" ", "\\ ") for path in seen})
        line = f"{options.output}: {' '.join(parts)}\n"
        pathlib.Path(options.depfile).write_text(line, encoding="utf-8")


if __name__ == "__main__":
    main()
