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

    def listed(self, words):
        """A list of one script, native/verb, with this text."""
        self.write("verb.lua", words)
        path = self.root.parent / "scripts.list"
        path.write_text("# all\n\nnative/verb  # the only one\n", encoding="utf-8")
        return path

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
        done = self.run_tool("--table", out, self.listed(words))
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

    def returning(self, words):
        """Whether each directive is accepted for a piece with this text."""
        self.write("shared/one.lua", words)
        accepted = []
        for directive in ("include", "may_return", "tail"):
            verb = self.write("verb.lua", f"if a then\n  --@{directive} one\nend\n")
            done = self.run_tool("--print", verb)
            self.assertTrue(done.returncode == 0 or b"by its returns" in done.stderr, done.stderr)
            accepted.append(done.returncode == 0)
        return accepted

    def test_a_piece_that_returns_in_functions_only_is_included(self):
        only_include = [True, False, False]
        self.assertEqual(self.returning("local a = 2 -- return a\n"), only_include)
        self.assertEqual(self.returning("local a, b = 'return', \"do \\\" return\"\n"),
                         only_include)
        self.assertEqual(self.returning(
            "local function f(a)\n  for i = 1, a do\n    if i > 2 then\n      return i\n"
            "    end\n  end\n  return function() return a end\nend\n"), only_include)

    def test_a_piece_that_may_return_says_so(self):
        only_may_return = [False, True, False]
        self.assertEqual(self.returning("if a then\n  return 1\nelse\n  a = 2\nend\n"),
                         only_may_return)
        self.assertEqual(self.returning(
            "local function f()\n  repeat\n    a = a - 1\n  until a < 2\nend\n"
            "while a do\n  return f()\nend\n"), only_may_return)
        self.write("shared/two.lua", "if a then\n  return 1\nend\n")
        self.assertEqual(self.returning("--@may_return two\nb = 2\n"), only_may_return)

    def test_a_piece_that_always_returns_is_a_tail(self):
        self.assertEqual(self.returning("if a then\n  return 1\nend\nreturn 2\n"),
                         [False, False, True])

    def test_nothing_follows_a_tail_but_an_end_of_its_block(self):
        self.write("shared/one.lua", "return 1\n")
        self.write("shared/two.lua", "local b = 2\n")
        self.assertEqual(self.embedded("local a = 1\n--@tail one\n-- end of it\n"),
                         b"local a = 1\nreturn 1\n")
        self.embedded("if a then\n  --@tail one\nelse\n  --@tail one\nend\na = 2\n")
        self.assertIn("verb.lua:1: only an end", self.refusal("--@tail one\n\na = 2\n"))
        self.assertIn("verb.lua:1: only an end", self.refusal("--@tail one\n--@include two\n"))

    def test_long_brackets_are_refused(self):
        self.assertIn("long brackets", self.refusal("local a = [[\n-- text\n]]\n"))
        self.assertIn("long brackets", self.refusal("--[==[ x\n]==]\n"))

    def test_the_table_holds_the_bytes_their_digest_and_depends_on_all_files(self):
        self.write("shared/one.lua", "local b = 2\n")
        scripts = self.listed("--@include one\nreturn b\n")
        made = self.root / "table.c"
        deps = self.root / "table.d"
        done = self.run_tool("--table", made, "--depfile", deps, scripts)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = made.read_text()
        listed = re.search(r"script_native_verb_bytes\[\] = \{(.*?)\};", words, re.S)
        data = bytes(int(code) for code in re.findall(r"\d+", listed.group(1)))
        self.assertEqual(data, b"local b = 2\nreturn b\n\0")
        self.assertIn(f'"native/verb", script_native_verb_bytes, {len(data) - 1}, '
                      f'"{hashlib.sha1(data[:-1]).hexdigest()}"', words)
        self.assertIn("script_count = 1;", words)
        for name in ("scripts.list", "verb.lua", "shared/one.lua"):
            self.assertIn(name, deps.read_text())

    def test_the_header_declares_the_scripts_of_the_list(self):
        made = self.root / "table.h"
        done = self.run_tool("--header", made, self.listed("return 1\n"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("\nextern const script script_native_verb;\n", made.read_text())

    def test_a_row_without_its_file_is_refused(self):
        path = self.listed("return 1\n")
        path.write_text("native/none\n", encoding="utf-8")
        done = self.run_tool("--table", self.root / "table.c", path)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, rb"^\S+scripts.list: there is no \S+native/none.lua\n$")


unittest.main()
