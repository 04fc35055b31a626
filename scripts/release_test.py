#!/usr/bin/env python3
"""Run release.sh and version.sh in a scratch repository of this one's files: releases, dry runs and refusals."""

import datetime
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = ["Cargo.toml", "Cargo.lock", "CHANGELOG.md", "deploy/kubernetes/daemonset.yaml", "packaging/debian",
         "scripts/release.sh", "scripts/version.sh"]
# A make that builds packages of a few bytes.
MAKE = """#!/bin/sh
mkdir -p target/deb target/static target/image
echo command >target/deb/exactop.deb
echo file >target/static/exactop
echo licenses >target/static/copyright
echo image >target/image/exactop.oci.tar
echo "$@" >target/asked
"""


class Release(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.top = os.path.join(self.directory.name, "clone")
        for name in FILES:
            source, target = os.path.join(TOP, name), self.path(name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copytree(source, target) if os.path.isdir(source) else shutil.copy(source, target)
        self.write(".gitignore", "/target\n")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment.update(HOME=self.directory.name, GIT_CONFIG_NOSYSTEM="1", MAKE=self.make(MAKE))
        self.old = self.run_script("version.sh")[1].strip()
        # The same major: the library's Debian package has it in its name.
        major, minor = self.old.split("-")[0].split(".")[:2]
        self.new = f"{major}.{int(minor) + 7}.0-rc.1"
        self.open_section(f"## {self.new}, not released yet\n\n### Added\n\n- A thing.\n- Another one.\n\n")
        self.git("init", "-q")
        self.git("config", "user.name", "A Maintainer")
        self.git("config", "user.email", "maintainer@example.invalid")
        self.commit("first")

    def path(self, name):
        return os.path.join(self.top, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def make(self, text):
        path = os.path.join(self.directory.name, "make")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def open_section(self, section):
        text = self.read("CHANGELOG.md")
        at = text.index("\n## ") + 1
        self.write("CHANGELOG.md", text[:at] + section + text[at:])

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.top, env=self.environment, check=True,
                              capture_output=True, text=True).stdout.strip()

    def commit(self, subject):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)

    def run_script(self, name, *words):
        run = subprocess.run([self.path(f"scripts/{name}"), *words], env=self.environment,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return run.returncode, run.stdout, run.stderr

    def release(self, *words):
        code, out, error = self.run_script("release.sh", *words)
        self.assertEqual((code, error), (0, ""), out)
        return out

    def state(self):
        return self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain"), self.read("Cargo.toml")

    def refused(self, words, *version, code=1):
        before = self.state()
        found, out, error = self.run_script("release.sh", *version)
        self.assertEqual(found, code, out + error)
        self.assertRegex(error, r"^exactop: release\.sh: .*: .+\n$")
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(words, error)
        self.assertEqual(self.state(), before)
        self.assertFalse(os.path.exists(self.path("target/release-tree")))

    def test_a_release_sets_version_date_commit_and_tag(self):
        days = {datetime.datetime.now(datetime.timezone.utc).date().isoformat()}
        out = self.release(self.new, "--no-packages")
        days.add(datetime.datetime.now(datetime.timezone.utc).date().isoformat())
        self.assertEqual(self.run_script("version.sh"), (0, f"{self.new}\n", ""))
        self.assertEqual(self.run_script("version.sh", "check"), (0, "", ""))
        found = re.search(r"^## (.*), (.*)$", self.read("CHANGELOG.md"), re.M)
        self.assertEqual(found[1], self.new)
        self.assertIn(found[2], days)
        lock = [block for block in self.read("Cargo.lock").split("\n\n") if "[[package]]" in block]
        ours = [block for block in lock if "\nsource = " not in block]
        self.assertTrue(ours)
        self.assertTrue(all(f'\nversion = "{self.new}"\n' in block + "\n" for block in ours))
        self.assertIn(f"image: exactop:{self.new}\n", self.read("deploy/kubernetes/daemonset.yaml"))
        self.assertEqual(self.git("log", "--format=%s"), f"release: set version {self.new}\nfirst")
        self.assertEqual(self.git("diff", "--name-only", "HEAD~").split(),
                         ["CHANGELOG.md", "Cargo.lock", "Cargo.toml", "deploy/kubernetes/daemonset.yaml"])
        tag = f"v{self.new}"
        self.assertEqual(self.git("cat-file", "-t", tag), "tag")
        self.assertEqual(self.git("rev-parse", f"{tag}^{{commit}}"), self.git("rev-parse", "HEAD"))
        self.assertEqual(self.git("tag", "-l", tag, "--format=%(contents)"),
                         f"exactop {self.new}\n\n### Added\n\n- A thing.\n- Another one.")
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertIn("run .ci/run and make test-long", out)
        self.assertFalse(os.path.exists(self.path("target/asked")))
        self.assertFalse(os.path.exists(self.path("target/release-tree")))

    def test_only_the_lines_of_the_version_change(self):
        self.release(self.new, "--no-packages")
        for line in self.git("diff", "-U0", "HEAD~", "--", "Cargo.toml", "Cargo.lock", "deploy").splitlines():
            if re.match(r"[-+][^-+]", line):
                self.assertRegex(line, rf'^[-+](version = "|          image: exactop:)({self.old}|{self.new})"?$')

    def test_a_dry_run_prints_a_release_and_makes_none(self):
        before = self.state()
        out = self.release(self.new, "--dry-run")
        self.assertEqual(self.state(), before)
        self.assertFalse(os.path.exists(self.path("target/asked")))
        for words in (f"{self.old} -> {self.new}", ": 2 changes", f"release: set version {self.new}", f"v{self.new}",
                      "Cargo.lock", "neither the commit nor the tag"):
            self.assertIn(words, out)

    def test_packages_have_their_sums(self):
        before = self.state()
        self.release(self.new, "--dry-run", "--packages")
        self.assertEqual(self.state(), before)
        self.assertEqual(self.read("target/asked"), "deb static image\n")
        directory = self.path(f"target/release-{self.new}")
        sums = dict(reversed(line.split()) for line in self.read(f"target/release-{self.new}/SHA256SUMS").splitlines())
        machine = os.uname().machine
        self.assertEqual(sorted(sums), sorted([
            "exactop.deb", f"exactop-{self.new}-{machine}.oci.tar", f"exactop-{self.new}-{machine}-static.tar.gz"]))
        self.assertEqual(sorted([*sums, "SHA256SUMS"]), sorted(os.listdir(directory)))
        for name, digest in sums.items():
            with open(os.path.join(directory, name), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digest, name)

    def test_packages_that_fail_leave_no_commit(self):
        self.make("#!/bin/sh\necho no compiler\nexit 1\n")
        self.refused("'no compiler'", self.new)

    def test_packages_that_change_the_tree_leave_no_commit(self):
        self.make(MAKE + "echo >>Cargo.lock\n")
        self.refused("Cargo.lock", self.new)

    def test_a_dirty_tree_is_refused(self):
        self.write("new", "")
        self.refused("'?? new' and 0 more: commit or stash", self.new, "--no-packages")

    def test_a_version_that_is_not_semver_is_refused(self):
        for version in ("1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-a..b", "1.2.3-01", "1.2.3+b", "1.2.x"):
            with self.subTest(version):
                self.refused(f"'{version}' is no version", version, code=2)

    def test_a_version_without_a_section_is_refused(self):
        self.refused("write '## 0.99.0, not released yet'", "0.99.0", "--no-packages")
        self.release(self.new, "--no-packages")
        self.git("tag", "-d", f"v{self.new}")
        self.refused(f"'## {self.new}, 20", self.new, "--no-packages")

    def test_a_section_without_changes_is_refused(self):
        self.open_section("## 0.99.0, not released yet\n\n")
        self.commit("section")
        self.refused("has no change below", "0.99.0", "--no-packages")

    def test_an_existing_tag_is_refused(self):
        self.git("tag", f"v{self.new}")
        self.refused(f"the tag v{self.new} exists", self.new, "--no-packages")

    def test_a_library_package_of_another_major_is_refused(self):
        self.open_section("## 77.0.0, not released yet\n\n- A thing.\n\n")
        self.commit("section")
        self.refused("no package libexactop77", "77.0.0", "--no-packages")

    def test_wrong_arguments_are_refused(self):
        self.refused("no version", code=2)
        self.refused("'--dry'", self.new, "--dry", code=2)
        self.refused("two versions", self.new, self.new, code=2)

    def test_a_file_that_repeats_another_version_is_found(self):
        text = self.read("deploy/kubernetes/daemonset.yaml")
        self.write("deploy/kubernetes/daemonset.yaml", text.replace(f"exactop:{self.old}", "exactop:0.0.9"))
        code, out, error = self.run_script("version.sh", "check")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("daemonset.yaml has version '0.0.9'", error)


if __name__ == "__main__":
    unittest.main()
