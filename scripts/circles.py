#!/usr/bin/env python3
"""Check that no files of a crate import each other in a circle, and that modules have one style of files.

    circles.py [DIRECTORY]    check the workspace in DIRECTORY (default: this one); exit status 1 on a finding

File A imports file B if a path in A (of a `use`, or in code) names an item in the module B, and if B defines an item
that another module passes on to A (`pub use`). A file is a part of the modules around it, so a path into those
(`super::..`) is no import, and neither is `mod b;` alone. Code under `#[cfg(test)]` is left out. Circles of crates are
found from the dependencies in their manifests, including those of tests. A crate that only tests depend on may use the
crate that it helps to test.

A module with a folder is `name/mod.rs`, never `name.rs` beside `name/`."""

import os
import re
import sys
import tomllib

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'])'|'[A-Za-z_]\w*|b?c?"(?:\\.|[^"\\])*")
  | (?P<raw>[bc]?r(?P<hashes>\#*)")
  | (?P<block>/\*)
  | (?P<word>(?:r\#)?[A-Za-z_]\w*)
  | (?P<sign>::|[^\s])
""", re.X | re.S)
ITEMS = {"fn", "struct", "enum", "trait", "type", "const", "static", "union"}
CLOSING = {"{": "}", "(": ")", "[": "]"}


def tokens(text):
    """The words and signs of Rust source, without comments and literals."""
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        at = match.end()
        if match["raw"]:
            at = text.index('"' + match["hashes"], at) + 1 + len(match["hashes"])
        elif match["block"]:
            depth = 1
            while depth:
                edge = re.compile(r"/\*|\*/").search(text, at)
                depth += 1 if edge[0] == "/*" else -1
                at = edge.end()
        elif match["word"]:
            found.append(match["word"].removeprefix("r#"))
        elif match["sign"]:
            found.append(match["sign"])
    return found


def closing(words, at):
    """The index after the bracket that closes the one at `at`."""
    depth = 0
    for index in range(at, len(words)):
        if words[index] in CLOSING:
            depth += 1
        elif words[index] in CLOSING.values():
            depth -= 1
            if depth == 0:
                return index + 1
    return len(words)


def item_end(words, at):
    """The index after the item that begins at `at`: its `;`, or its block."""
    while at < len(words):
        if words[at] == ";":
            return at + 1
        if words[at] in CLOSING:
            block = words[at] == "{"
            at = closing(words, at)
            if block:
                # `use a::{b, c};` and `const X: T = T { .. };` end at their semicolon.
                return at + 1 if at < len(words) and words[at] == ";" else at
        else:
            at += 1
    return at


def is_for_tests(attribute):
    """True of `test`, `cfg(test)` and `cfg(all(.., test, ..))`."""
    if attribute[:4] == ["cfg", "(", "all", "("]:
        return "test" in attribute and "not" not in attribute
    return attribute in (["cfg", "(", "test", ")"], ["test"])


def without_tests(words):
    """The words outside items that are compiled for tests only."""
    kept, at = [], 0
    while at < len(words):
        if words[at:at + 2] == ["#", "["]:
            end = closing(words, at + 1)
            if is_for_tests(words[at + 2:end - 1]):
                while words[end:end + 2] == ["#", "["]:
                    end = closing(words, end + 1)
                at = item_end(words, end)
                continue
            kept += words[at:end]
            at = end
        else:
            kept.append(words[at])
            at += 1
    return kept


class Module:
    """One module: its definitions, its imports by name, and the paths in its code."""

    def __init__(self, crate, path, file):
        self.crate, self.path, self.file = crate, path, file
        self.children, self.items, self.imports, self.globs = {}, set(), {}, []
        self.words, self.paths = set(), []
        crate.modules[path] = self

    def read(self, words, folder):
        at, depth = 0, 0
        while at < len(words):
            word = words[at]
            if word == "use" and words[at - 1:at] != ["+"] and words[at + 1:at + 2] != ["<"]:
                end = words.index(";", at)
                self.use_tree(words[at + 1:end], [])
                at = end
            elif word == "mod" and depth == 0 and words[at + 2:at + 3] and words[at + 2] in ";{":
                at = self.child(words, at, folder)
            elif word == "macro_rules" and words[at + 1:at + 2] == ["!"]:
                self.crate.macros.setdefault(words[at + 2], (self,))
                self.items.add(words[at + 2])
                at += 2
            else:
                if word in ITEMS and depth == 0 and at + 1 < len(words):
                    name = words[at + 2] if words[at + 1] == "mut" else words[at + 1]
                    self.items.add(name)
                depth += (word == "{") - (word == "}")
                at = self.code(words, at)
            at += 1

    def child(self, words, at, folder):
        name = words[at + 1]
        path = self.path + (name,)
        if words[at + 2] == "{":
            end = closing(words, at + 2)
            inner = Module(self.crate, path, self.file)
            inner.read(words[at + 3:end - 1], os.path.join(folder, name))
        else:
            end = at + 3
            places = [os.path.join(folder, name + ".rs"), os.path.join(folder, name, "mod.rs")]
            file = next((place for place in places if os.path.exists(place)), None)
            # A file named by #[path] or made by the build is not checked.
            if file is None:
                return end - 1
            inner = Module(self.crate, path, file)
            inner.load(os.path.join(folder, name))
        self.children[name] = inner
        return end - 1

    def load(self, folder):
        with open(self.file, encoding="utf-8") as source:
            self.read(without_tests(tokens(source.read())), folder)

    def use_tree(self, words, prefix):
        """One tree of a `use`: `a::b`, `a::{b, c as d}`, `a::*`."""
        path = list(prefix)
        for at, word in enumerate(words):
            if word == "{":
                part = []
                for inner in words[at + 1:closing(words, at) - 1] + [","]:
                    if inner == "," and part.count("{") == part.count("}"):
                        if part:
                            self.use_tree(part, path)
                        part = []
                    else:
                        part.append(inner)
                return
            if word == "*":
                self.globs.append(path)
                return
            if word == "as":
                self.imported(words[at + 1], path)
                return
            if word != "::":
                path.append(word)
        if path[-1] == "self":
            path.pop()
        self.imported(path[-1], path)

    def imported(self, name, path):
        self.imports[name] = path
        self.paths.append(path)

    def code(self, words, at):
        """Notes the path that begins at `at`; returns the index of its last word."""
        word = words[at]
        if not (word[0].isalpha() or word[0] == "_"):
            return at
        self.words.add(word)
        if words[at + 1:at + 2] == ["!"] and words[at - 1:at] != ["::"]:
            self.paths.append(["macro!", word])
        path = [word]
        while words[at + 1:at + 2] == ["::"] and at + 2 < len(words) and (words[at + 2][0].isalpha() or words[at + 2][0] == "_"):
            path.append(words[at + 2])
            at += 2
        if len(path) > 1:
            self.paths.append(path)
        return at

    def lead(self, path, seen=frozenset()):
        """The modules on `path` from here: the last one it names, and the one that defines the item.

        None of them if the path leads into another crate."""
        first, module = path[0], self
        if first == "macro!":
            return self.crate.macros.get(path[1], ())
        if first == "Self":
            return ()
        if first in ("crate", "self", "super"):
            while path and path[0] in ("crate", "self", "super"):
                if path[0] == "crate":
                    module = self.crate.root
                elif path[0] == "super":
                    module = self.crate.modules.get(module.path[:-1], self.crate.root)
                path = path[1:]
        elif first not in self.children:
            return self.defining(path, seen)
        for at, name in enumerate(path):
            if name not in module.children:
                return (module, *module.defining(path[at:], seen))
            if at == len(path) - 1 and (name in module.items or name in module.imports):
                # An item with the name of a module.
                return (module, *module.defining(path[at:], seen))
            module = module.children[name]
        # A module alone: the paths that begin with its name count, where they stand.
        return ()

    def knows(self, name):
        return name in self.children or name in self.items or name in self.imports

    def defining(self, path, seen):
        """The modules that define an item of this module: itself, or one it imports from."""
        name = path[0]
        if name in self.items:
            return (self,)
        if (self.path, name) in seen:
            return ()
        seen = seen | {(self.path, name)}
        if name in self.imports:
            return self.lead(self.imports[name] + path[1:], seen)
        for glob in self.globs:
            found = self.lead(glob + path, seen)
            if found and path[0] in found[-1].items:
                return found
        return ()


class Crate:
    """The modules of one root file, and the imports between files."""

    def __init__(self, root):
        self.modules, self.macros = {}, {}
        self.root = Module(self, (), root)
        self.root.load(os.path.dirname(root))

    def arrows(self):
        found = {}
        for module in self.modules.values():
            around = {self.modules[module.path[:depth]].file for depth in range(len(module.path) + 1)}
            named = list(module.paths)
            if module.globs:
                named += [[word] for word in module.words if not module.knows(word)]
            for path in named:
                for other in module.lead(path):
                    if other.file not in around:
                        found.setdefault(module.file, {}).setdefault(other.file, set()).add(path[-1])
        return found


def circles(arrows):
    """The sets of nodes that reach each other (Tarjan's strongly connected components of more than one)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(arrows):
        if node not in number:
            visit(node)
    return found


def manifests(top):
    """Folder and manifest of each package below `top`."""
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in ("target", "node_modules") and name[0] != ".")
        if "Cargo.toml" in files:
            with open(os.path.join(folder, "Cargo.toml"), "rb") as file:
                manifest = tomllib.load(file)
            if "package" in manifest:
                yield folder, manifest


def roots(folder):
    source = os.path.join(folder, "src")
    binaries = os.path.join(source, "bin")
    names = [os.path.join(source, name) for name in ("lib.rs", "main.rs")]
    names += [os.path.join(binaries, name) for name in sorted(os.listdir(binaries))] if os.path.isdir(binaries) else []
    return [name for name in names if name.endswith(".rs") and os.path.exists(name)]


def of_crates(packages):
    """A line for each circle of crates."""
    built, needs = set(), {}
    for _, manifest in packages:
        for kind in ("dependencies", "build-dependencies"):
            built.update(manifest.get(kind, {}))
    for _, manifest in packages:
        needed = needs.setdefault(manifest["package"]["name"], {})
        for kind in ("dependencies", "build-dependencies", "dev-dependencies"):
            # Dev-dependencies are kits for tests: a kit may use the crate that it helps to test.
            names = (name for name in manifest.get(kind, {}) if kind != "dev-dependencies" or name in built)
            needed.update(dict.fromkeys(names, kind))
    return [f"crates depend on each other in a circle: {', '.join(part)}" for part in circles(needs)]


def of_modules(top, folder):
    """Lines for each circle of files in the package in `folder`."""
    short = lambda file: os.path.relpath(file, top)
    lines = []
    for root in roots(folder):
        arrows = Crate(root).arrows()
        for part in circles(arrows):
            lines.append(f"{len(part)} files import each other in a circle: {', '.join(map(short, part))}")
            for file in part:
                for other in sorted(set(arrows[file]) & set(part)):
                    lines.append(f"  {short(file)} takes from {short(other)}: {', '.join(sorted(arrows[file][other]))}")
    return lines


def of_style(top, folder):
    """A line for each `name.rs` that stands beside a folder `name` with modules."""
    lines = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "target")
        for name in folders:
            if name + ".rs" in files and any(file.endswith(".rs") for file in os.listdir(os.path.join(place, name))):
                old, new = os.path.join(place, name + ".rs"), os.path.join(place, name, "mod.rs")
                lines.append(f"a module with a folder is its mod.rs: git mv {os.path.relpath(old, top)} {os.path.relpath(new, top)}")
    return lines


def check(top):
    packages = list(manifests(top))
    lines = of_crates(packages)
    for folder, _ in packages:
        lines += of_modules(top, folder) + of_style(top, folder)
    return packages, lines


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    packages, lines = check(top)
    if not packages:
        lines.append(f"no Cargo.toml of a package below {top}")
    for line in lines:
        print(line if line.startswith(" ") else f"exactop: {line}", file=sys.stderr)
    if lines:
        sys.exit(1)
    print(f"no circle in {len(packages)} crates; every module with a folder is its mod.rs")


if __name__ == "__main__":
    main()
