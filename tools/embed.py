#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes files as C arrays: embed.py OUTPUT NAME=PATH...; an empty path gives an empty array."""
import sys


def main():
    with open(sys.argv[1], 'w', encoding='ascii') as out:
        out.write('#include "cli/web_files.h"\n')
        for word in sys.argv[2:]:
            name, path = word.split('=', 1)
            data = open(path, 'rb').read() if path else b''
            out.write(f'const size_t {name}_size = {len(data)};\nconst char {name}[] = {{\n')
            for at in range(0, len(data), 20):
                # Whether char has a sign depends on the machine; a constant of its own type fits.
                row = (f"'\\x{b:02x}'" if b > 127 else str(b) for b in data[at:at + 20])
                out.write(','.join(row) + ',\n')
            out.write('0 };\n')


main()
