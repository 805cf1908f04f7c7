#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unit: tools/embed_lua.py - what is embedded, and what is refused."""
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)


class EmbedLua(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name) / "native"
        (self.root / "shared").mkdir(parents=True)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, words):
        path = self.root / name
        path.write_text(words, encoding="utf-8")
        return path

    def run_tool(self, *words):
        return subprocess.run([sys.executable, TOOL, *map(str, words)], check=False,
                              capture_output=True)

    def embedded(self, words):
        done = self.run_tool("--print", self.write("verb.lua", words))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refusal(self, words):
        done = self.run_tool("--print", self.write("verb.lua", words))
        self.assertNotEqual(done.returncode, 0)
        return done.stderr.decode()

    def test_comment_lines_and_blank_lines_are_left_out(self):
        self.assertEqual(
            self.embedded("-- head\n\nlocal a = 1  \n   -- why\n\t\nreturn a -- x\n"),
            b"local a = 1\nreturn a -- x\n")

    def test_shared_pieces_take_the_place_of_their_line(self):
        self.write("shared/one.lua", "-- one\nlocal b = 2\n--@include two\n")
        self.write("shared/two.lua", "local c = 3\n")
        self.assertEqual(
            self.embedded("local a = 1\n  --@include one\nreturn a\n"),
            b"local a = 1\nlocal b = 2\nlocal c = 3\nreturn a\n")

    def library(self, words):
        out = pathlib.Path(self.folder.name) / "table.c"
        done = self.run_tool("--output", out, self.write("verb.lua", words))
        self.assertEqual(done.returncode, 0, done.stderr)
        table = out.read_text().split("script_library_text[] = {")[1].split("};")[0]
        return bytes(int(code) for code in table.replace("\n", "").split(",") if code.strip())

    def test_a_script_is_a_function_of_the_library_with_the_flags_of_its_head(self):
        text = self.library("-- head\n--@function no-writes\nreturn 1\n").decode().rstrip("\0")
        self.assertRegex(text, r"^#!lua name=(dibs_[0-9a-f]{8})\n"
                         r"redis\.register_function\{function_name='dibs_verb_[0-9a-f]{8}', "
                         r"flags=\{'no-writes'\},\n"
                         r"callback=function\(KEYS, ARGV\)\nreturn 1\nend\}\n$")

    def test_names_in_the_library_change_with_any_script_or_flag(self):
        texts = ["return 1\n", "return 2\n", "--@function no-writes\nreturn 1\n"]
        names = {self.library(text).split(b"\n")[0] for text in texts}
        self.assertEqual(len(names), 3)

    def test_a_flag_that_functions_do_not_have_is_refused(self):
        self.assertIn("directive", self.refusal("--@function allow-all\nreturn 1\n"))

    def test_a_missing_piece_is_refused(self):
        self.assertIn("none.lua", self.refusal("--@include none\n"))

    def test_a_misspelt_directive_is_refused(self):
        self.assertIn("directive", self.refusal("--@inlcude one\n"))
        self.assertIn("directive", self.refusal("--@include One!\n"))

    def test_pieces_that_include_each_other_are_refused(self):
        self.write("shared/one.lua", "--@include one\n")
        self.assertIn("each other", self.refusal("--@include one\n"))

    def test_long_brackets_are_refused(self):
        self.assertIn("long brackets", self.refusal("local a = [[\n-- text\n]]\n"))
        self.assertIn("long brackets", self.refusal("--[==[ x\n]==]\n"))

    def test_the_table_holds_the_bytes_their_digest_and_depends_on_all_files(self):
        self.write("shared/one.lua", "local b = 2\n")
        verb = self.write("verb.lua", "--@include one\nreturn b\n")
        made = self.root / "table.c"
        deps = self.root / "table.d"
        done = self.run_tool("--output", made, "--depfile", deps, verb)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = made.read_text()
        listed = re.search(r"script_native_verb_bytes\[\] = \{(.*?)\};", words, re.S)
        data = bytes(int(code) for code in re.findall(r"\d+", listed.group(1)))
        self.assertEqual(data, b"local b = 2\nreturn b\n\0")
        self.assertIn(f'"native/verb", script_native_verb_bytes, {len(data) - 1}, '
                      f'"{hashlib.sha1(data[:-1]).hexdigest()}"', words)
        self.assertIn("script_count = 1;", words)
        self.assertIn("verb.lua", deps.read_text())
        self.assertIn("shared/one.lua", deps.read_text())


unittest.main()
