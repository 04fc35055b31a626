#!/usr/bin/env python3
"""Holds errors.py against planted errors: each wrong text is found where it is made, and a right one is not."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import errors  # noqa: E402


class Errors(unittest.TestCase):
    def setUp(self):
        self.causes, errors.CAUSES = errors.CAUSES, []
        self.addCleanup(setattr, errors, "CAUSES", self.causes)

    def lines(self, source, name="crates/a/src/lib.rs"):
        with tempfile.TemporaryDirectory() as top:
            path = os.path.join(top, name)
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
            subprocess.run(["git", "init", "-q"], cwd=top, check=True)
            subprocess.run(["git", "add", "."], cwd=top, check=True)
            return errors.check(top)

    def test_right_texts_have_a_form(self):
        for text in ("cannot read {path}: {error}", "no user '{name}': give a name or a number", "--nice: {why}", "{path}: {why}",
                     "write a whole number, 1 or more", "a quota of 0 %: write 1 to 100", "no option '{arg}': did you mean '{near}'?"):
            self.assertEqual(self.lines(f'#[error("{text}")]\nstruct A;\n'), [], text)

    def test_a_text_without_a_remedy_is_found(self):
        self.assertEqual(self.lines('\n#[error("the file is damaged")]\nstruct A;\n'), [
            "crates/a/src/lib.rs:2: 'the file is damaged' has no form of errors.py: say what failed, the value found and what to do"])

    def test_hidden_subjects_are_found(self):
        for text in ("nobody has {pid}: give another", "the file cannot be read: give another", "cannot say whose it is",
                     "'{x}' is no number: write one", "the value must be 1: write 1"):
            self.assertEqual(len(self.lines(f'fn f() -> R {{ Err(format!("{text}")) }}\n')), 1, text)

    def test_long_texts_and_sentences_are_found(self):
        for text in ("cannot read " + "very " * 40 + "long", "cannot read the file.", "Cannot read the file"):
            self.assertEqual(len(self.lines(f'fn f() -> R {{ Err("{text}") }}\n')), 1, text)

    def test_every_place_where_an_error_is_made_counts(self):
        for made in ('Failure::usage("{}")', 'Failure::failed(format!("{}"))', 'Err("{}".into())', 'anyhow!("{}")', 'bail!("{}")',
                     'x.ok_or("{}")', 'x.ok_or_else(|| format!("{}"))', 'x.map_err(|why| wrong(format!("{}")))',
                     'io::Error::other("{}")', 'let wrong = || format!("{}");'):
            self.assertEqual(len(self.lines("fn f() { " + made.replace("{}", "it is damaged") + " }\n")), 1, made)

    def test_a_fact_and_its_advice_are_one_text(self):
        error = 'fn f() {{ Err(Error {{ what: "no BTF in the kernel".into(), advice: "{}".into() }}) }}\n'
        self.assertEqual(self.lines(error.format("use another kernel")), [])
        self.assertEqual(len(self.lines(error.format("another kernel"))), 1)

    def test_texts_over_several_lines_are_one(self):
        self.assertEqual(self.lines('fn f() { Err("no file: \\\n     give another") }\n'), [])

    def test_tests_and_comments_are_left_out(self):
        self.assertEqual(self.lines('// Err("it is damaged")\n#[cfg(test)]\nmod tests {\n fn f() { Err("it is damaged") }\n}\n'), [])
        self.assertEqual(self.lines('fn f() { Err("it is damaged") }\n', "crates/a/src/tests.rs"), [])

    def test_a_cause_needs_the_error_around_it(self):
        errors.CAUSES = [("a/src/", r"it is ", "a/src/lib.rs", "cannot read {path} ({why}): give another")]
        cause = 'fn f() { Err("it is damaged") }\n'
        self.assertEqual(len(self.lines(cause)), 1)
        around = '#[error("cannot read {path} ({why}): give another")]\nstruct A;\n'
        self.assertEqual(self.lines(cause + around), [])
        self.assertEqual(len(self.lines(around)), 1)


if __name__ == "__main__":
    unittest.main()
