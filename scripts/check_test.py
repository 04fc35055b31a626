#!/usr/bin/env python3
"""Run check.sh in a scratch repository: which tests it chooses after which change, and when it keeps a state."""

import os
import shutil
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Stands for test.sh: keeps its words, and fails on request.
TESTS = '#!/bin/sh\necho "$@" >>target/asked\ntest ! -e target/fails\n'
CARGO = '#!/bin/sh\ncat target/cargo\n'


class Check(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.top = os.path.join(self.directory.name, "clone")
        for crate in ("a", "b"):
            self.write(f"crates/x/{crate}/Cargo.toml", f'[package]\nname = "own-{crate}"\n\n[lib]\nname = "not_this"\n')
            self.write(f"crates/x/{crate}/src/lib.rs", "")
        self.write("docs/text.md", "")
        self.write(".gitignore", "/target\n")
        self.write("target/cargo", "cargo 1\n")
        self.write("scripts/test.sh", TESTS)
        self.write("cargo", CARGO)
        shutil.copy(os.path.join(TOP, "scripts/check.sh"), self.path("scripts/check.sh"))
        for name in ("scripts/test.sh", "cargo"):
            os.chmod(self.path(name), 0o755)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "CARGO"))}
        self.environment.update(HOME=self.directory.name, GIT_CONFIG_NOSYSTEM="1", CARGO=self.path("cargo"))
        self.git("init", "-q")
        self.git("add", "--all")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.invalid", "commit", "-qm", "first")

    def path(self, name):
        return os.path.join(self.top, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.top, env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def chosen(self, *words, fails=False):
        """What test.sh was asked for, and whether all of it passed."""
        asked = self.path("target/asked")
        self.write("target/asked", "")
        if fails:
            self.write("target/fails", "")
        done = subprocess.run(["scripts/check.sh", *words, "--lib"], cwd=self.top, env=self.environment,
                              stdout=subprocess.DEVNULL)
        if fails:
            os.remove(self.path("target/fails"))
        with open(asked, encoding="utf-8") as file:
            return file.read().strip(), done.returncode == 0

    ALL = "--profile check --lib"

    def test_all_at_first_then_what_changed_and_its_dependents(self):
        self.assertEqual(self.chosen(), (self.ALL, True))
        self.assertEqual(self.chosen(), ("", True))
        self.write("crates/x/a/src/lib.rs", "// changed\n")
        self.assertEqual(self.chosen(), (self.ALL + " -E rdeps(=own-a)", True))
        self.assertEqual(self.chosen(), ("", True))
        self.write("crates/x/b/tests/new.rs", "")
        os.remove(self.path("crates/x/a/src/lib.rs"))
        self.assertEqual(self.chosen(), (self.ALL + " -E rdeps(=own-a)|rdeps(=own-b)", True))

    def test_all_after_any_other_change(self):
        for name in ("docs/text.md", "crates/x/a/Cargo.toml", "crates/x/a/tests/data.json", "scripts/new.rs"):
            self.chosen()
            self.write(name, f"# {name}\n")
            self.assertEqual(self.chosen(), (self.ALL, True), name)
        self.write("target/cargo", "cargo 2\n")
        self.assertEqual(self.chosen(), (self.ALL, True), "another compiler")
        self.assertEqual(self.chosen("--all"), (self.ALL, True))

    def test_failed_tests_run_again(self):
        self.assertEqual(self.chosen(fails=True), (self.ALL, False))
        self.assertEqual(self.chosen(), (self.ALL, True))
        self.write("crates/x/b/src/lib.rs", "// changed\n")
        some = self.ALL + " -E rdeps(=own-b)"
        self.assertEqual(self.chosen(fails=True), (some, False))
        self.assertEqual(self.chosen(), (some, True))

    def test_the_index_stays_as_it_is(self):
        self.write("crates/x/a/src/new.rs", "")
        self.chosen()
        status = subprocess.run(["git", "status", "--short"], cwd=self.top, env=self.environment, check=True,
                                capture_output=True, text=True)
        self.assertEqual(status.stdout, "?? crates/x/a/src/new.rs\n")

    def test_without_git_all(self):
        shutil.rmtree(self.path(".git"))
        self.environment["GIT_CEILING_DIRECTORIES"] = self.directory.name
        self.assertEqual(self.chosen(), (self.ALL, True))
        self.assertEqual(self.chosen(), (self.ALL, True))


if __name__ == "__main__":
    unittest.main()
