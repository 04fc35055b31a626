#!/usr/bin/env python3
"""Test circles.py and map.py on planted workspaces: they find each circle and each wrong line, and nothing else."""

import contextlib
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import circles  # noqa: E402
import map as of_crates  # noqa: E402


def manifest(name, needs=""):
    return f'[package]\nname = "{name}"\n[dependencies]\n{needs}'


@contextlib.contextmanager
def workspace(files):
    with tempfile.TemporaryDirectory() as top:
        for name, text in files.items():
            path = os.path.join(top, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        yield top


class Circles(unittest.TestCase):
    def lines(self, files, crate=True):
        if crate:
            files = {"Cargo.toml": manifest("one"), **{f"src/{name}": text for name, text in files.items()}}
        with workspace(files) as top:
            return circles.check(top)[1]

    def circle(self, files, *of):
        lines = [line for line in self.lines(files) if not line.startswith(" ")]
        names = ", ".join(f"src/{name}" for name in of)
        self.assertEqual(lines, [f"{len(of)} files import each other in a circle: {names}"])

    def test_two_files_that_use_each_other(self):
        self.circle({
            "lib.rs": "mod a;\nmod b;\n",
            "a.rs": "use crate::b::B;\npub struct A(B);\n",
            "b.rs": "pub struct B;\nimpl B { fn a(&self) -> crate::a::A { todo!() } }\n",
        }, "a.rs", "b.rs")

    def test_a_circle_of_three_by_super_and_by_a_module_s_name(self):
        self.circle({
            "main.rs": "mod a;\nmod b;\nmod c;\nfn main() {}\n",
            "a.rs": "use super::b::{self, Other};\npub fn f() { b::g() }\n",
            "b.rs": "pub struct Other;\npub fn g() { super::c::h() }\n",
            "c.rs": "pub(crate) use crate::{a};\npub fn h() { a::f() }\n",
        }, "a.rs", "b.rs", "c.rs")

    def test_siblings_that_meet_in_their_module(self):
        self.circle({
            "lib.rs": "mod m;\n",
            "m/mod.rs": "mod a;\nmod b;\npub use a::A;\npub use b::ns;\n",
            "m/a.rs": "use super::ns;\npub struct A(u8);\nfn f() { ns() }\n",
            "m/b.rs": "use super::A;\npub fn ns() {}\nfn g(_: A) {}\n",
        }, "m/a.rs", "m/b.rs")

    def test_a_module_that_passes_on_what_its_part_takes_from_outside(self):
        self.circle({
            "lib.rs": "mod m;\nmod b;\n",
            "m/mod.rs": "mod a;\npub use a::A;\n",
            "m/a.rs": "use crate::b::B;\npub struct A(B);\n",
            "b.rs": "use crate::m::A;\npub struct B;\nfn f(_: A) {}\n",
        }, "b.rs", "m/a.rs", "m/mod.rs")

    def test_a_function_that_is_called_as_its_module_is(self):
        self.circle({
            "lib.rs": "mod m;\nmod b;\n",
            "m/mod.rs": "mod a;\npub use a::a;\n",
            "m/a.rs": "pub fn a() { crate::b::b() }\n",
            "b.rs": "use crate::m::a;\npub fn b() { a() }\n",
        }, "b.rs", "m/a.rs", "m/mod.rs")

    def test_names_by_a_glob(self):
        self.circle({
            "lib.rs": "mod a;\nmod b;\n",
            "a.rs": "use crate::b::*;\npub struct A(B);\n",
            "b.rs": "pub struct B;\nuse crate::a::*;\nfn f(_: A) {}\n",
        }, "a.rs", "b.rs")

    def test_a_macro_s_words(self):
        self.circle({
            "lib.rs": "#[macro_use]\nmod a;\nmod b;\n",
            "a.rs": "macro_rules! m { () => { $crate::b::f() } }\n",
            "b.rs": "pub fn f() {}\nfn g() { m!() }\n",
        }, "a.rs", "b.rs")

    def test_crates(self):
        files = {}
        for name, need in (("one", "two"), ("two", "one")):
            files[f"crates/{name}/Cargo.toml"] = manifest(name, f'{need}.workspace = true\n')
            files[f"crates/{name}/src/lib.rs"] = ""
        self.assertEqual(self.lines(files, crate=False), ["crates depend on each other in a circle: one, two"])

    def test_crates_by_a_test(self):
        needs = {"one": "", "two": "one.workspace = true\n[dev-dependencies]\nkit.workspace = true\n",
                 "kit": "two.workspace = true\n"}
        files = {}
        for name, need in needs.items():
            files[f"crates/{name}/Cargo.toml"] = manifest(name, need)
            files[f"crates/{name}/src/lib.rs"] = ""
        self.assertEqual(self.lines(files, crate=False), [], "a kit for tests")
        files["crates/one/Cargo.toml"] = manifest("one", "[dev-dependencies]\ntwo.workspace = true\n")
        self.assertEqual(self.lines(files, crate=False), ["crates depend on each other in a circle: one, two"])

    def test_what_is_no_circle(self):
        self.assertEqual(self.lines({
            "lib.rs": "//! use crate::b::B\nmod a;\nmod b;\npub use a::A;\npub struct Shared;\n",
            # A part uses what the module around it defines; tests, comments and literals are not
            # imports.
            "a.rs": "use crate::Shared;\n/* use /* crate::b::B */ ; */\npub struct A<'a>(&'a str, Shared);\n"
                    "const TEXT: &str = \"crate::b::B \\\" crate::b::B\";\nconst RAW: &str = r#\"crate::b::B\"#;\n"
                    "const CHAR: char = '\"';\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n"
                    "#[cfg(all(test, feature = \"f\"))]\n#[allow(x)]\nuse crate::b::{B, C};\n",
            "b.rs": "use crate::a::A;\npub struct B(A<'static>);\nuse std::fmt;\nfn f() { fmt::Write::write_str }\n",
        }), [])

    def test_a_module_file_beside_its_folder(self):
        lines = self.lines({"lib.rs": "mod m;\n", "m.rs": "mod a;\n", "m/a.rs": ""})
        self.assertEqual(lines, ["a module with a folder is its mod.rs: git mv src/m.rs src/m/mod.rs"])


class Map(unittest.TestCase):
    def check(self, low, high):
        files = {"crates/low/Cargo.toml": manifest("exactop-low"), "crates/low/src/lib.rs": low,
                 "crates/high/Cargo.toml": manifest("exactop-high", "exactop-low.workspace = true\n"),
                 "crates/high/src/main.rs": high}
        with workspace(files) as top:
            return of_crates.check(top)

    def test_a_line_is_what_a_crate_says_and_uses(self):
        low = "//! Numbers of [`Thing`]\n//! and others. It takes\n//! nothing. Every crate may depend on it.\n//!\n//! More.\n"
        high = "//! A program. So no crate may depend on it.\n"
        self.assertEqual(self.check(low, high), (
            of_crates.HEAD + "| `crates/low` | Numbers of `Thing` and others. |  |\n| `crates/high` | A program. | low |\n",
            []))

    def test_what_a_crate_leaves_out_or_says_wrongly_is_found(self):
        _, lines = self.check("//! Numbers. The command alone may depend on it.\n", "//! A program.\n")
        self.assertEqual(lines, [
            "crates/low: its lib.rs says 'The command alone may depend on it', and exactop-high does",
            "crates/high: the first paragraph of its lib.rs does not say which crates may depend on it"])

    def test_the_table_is_cut_out_of_the_page(self):
        table = of_crates.HEAD + "| a | b | c |\n"
        self.assertEqual(of_crates.table("Before\n\n" + table + "\nAfter\n"), table)
        self.assertIsNone(of_crates.table("No map\n"))


if __name__ == "__main__":
    unittest.main()
