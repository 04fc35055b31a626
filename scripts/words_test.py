#!/usr/bin/env python3
"""Holds words.py against planted texts: each replaced phrase is found, over a line's end too, and nothing else."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import words  # noqa: E402

TABLE = "| instead of | write |\n|---|---|\n| `whoever` | the reader |\n| `is told` | reports |\n| `one` (advice) | its noun |\n"


class Words(unittest.TestCase):
    def lines(self, text, table=TABLE):
        with tempfile.TemporaryDirectory() as top:
            os.makedirs(os.path.join(top, "docs", "explanation"))
            for name, content in ((words.TABLE, table), ("a.rs", text)):
                with open(os.path.join(top, name), "w", encoding="utf-8") as file:
                    file.write(content)
            subprocess.run(["git", "init", "-q"], cwd=top, check=True)
            subprocess.run(["git", "add", "."], cwd=top, check=True)
            return words.check(top)

    def test_a_phrase_is_found_with_its_line_and_the_better_word(self):
        self.assertEqual(self.lines("one\n// Whoever asks\n"), ["a.rs:2: 'whoever': write the reader"])

    def test_a_phrase_over_the_end_of_a_line_is_found(self):
        self.assertEqual(self.lines("/// it is\n/// told\n"), ["a.rs:1: 'is told': write reports"])

    def test_a_longer_word_is_another(self):
        self.assertEqual(self.lines("this told, whoeverish, one\n"), [])

    def test_a_table_without_phrases_is_an_error(self):
        self.assertEqual(len(self.lines("", "| none |\n")), 1)


if __name__ == "__main__":
    unittest.main()
