#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/script's table of server scripts: name, bytes, SHA-1.

    embed_lua.py --output script_table.c [--depfile FILE] lua/<dialect>/<verb>.lua ...

A line `--@include piece` is replaced by lua/<dialect>/shared/piece.lua, so that several
scripts share one text. Comment-only lines and blank lines are left out: what is embedded
is what travels with EVAL, and its SHA-1 is taken over exactly these bytes.
`--print FILE` writes the embedded bytes of one script to standard output, for tests.
"""
import argparse
import hashlib
import pathlib
import re
import sys

INCLUDE = re.compile(r"^\s*--@include\s+([a-z0-9_]+)\s*$")


def expand(path, seen, depth=0):
    """The lines of `path` with its shared pieces in place; notes each file in `seen`."""
    if depth > 4:
        sys.exit(f"{path}: shared pieces include each other")
    seen.append(path)
    text = path.read_text(encoding="ascii")
    if re.search(r"\[=*\[", text):
        sys.exit(f"{path}: no long brackets, lines are dropped by their first characters")
    shared = path.parent if path.parent.name == "shared" else path.parent / "shared"
    for line in text.splitlines():
        include = INCLUDE.match(line)
        if include:
            piece = shared / f"{include.group(1)}.lua"
            if not piece.is_file():
                sys.exit(f"{path}: no shared piece {piece}")
            yield from expand(piece, seen, depth + 1)
        elif line.lstrip().startswith("--@"):
            sys.exit(f"{path}: unknown directive: {line.strip()}")
        elif line.strip() and not line.lstrip().startswith("--"):
            yield line.rstrip()


def embedded(path, seen):
    return "".join(line + "\n" for line in expand(path, seen)).encode("ascii")


def table(paths, seen):
    out = ["/* Made by tools/embed_lua.py; do not edit. */", '#include "script/script.h"', ""]
    symbols = []
    for path in paths:
        data = embedded(path, seen)
        name = f"{path.parent.name}/{path.stem}"
        symbol = f"script_{path.parent.name}_{path.stem}"
        symbols.append(symbol)
        out.append(f"static const char {symbol}_bytes[] = {{")
        codes = [str(byte) for byte in data] + ["0"]
        for start in range(0, len(codes), 20):
            out.append("  " + ", ".join(codes[start:start + 20]) + ",")
        out.append("};")
        digest = hashlib.sha1(data).hexdigest()
        out.append(f"const script {symbol} = {{")
        out.append(f'  "{name}", {symbol}_bytes, {len(data)}, "{digest}"')
        out += ["};", ""]
    out.append("const script *const script_table[] = {")
    out += [f"  &{symbol}," for symbol in symbols]
    out += ["};", f"const size_t script_count = {len(symbols)};", ""]
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
