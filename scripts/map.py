#!/usr/bin/env python3
"""Check the map of crates in ARCHITECTURE.md against the crates.

    map.py            exit status 1 if a line of the map differs from its crate
    map.py --write    write the map again

A line of the map is a crate: its folder, the first sentence of its lib.rs (or main.rs), and the crates of this
workspace that its manifest names as dependencies, without those of tests. The first paragraph of that file gives the
crate's purpose, its input and output, and the crates that may depend on it."""

import os
import re
import sys

sys.dont_write_bytecode = True
from circles import manifests, roots  # noqa: E402

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FILE = "ARCHITECTURE.md"
HEAD = "| crate | what it is for | may use |\n|---|---|---|\n"
# Words of a first paragraph that name the users of the crate.
DEPENDENTS = "may depend on it"
# Statements that are checked against the manifests.
ALONE = {"The command alone": {"exactop"}, "Only the command": {"exactop"}, "Tests alone": set(), "Only tests": set(), "no crate": set()}


def paragraph(text):
    """The first paragraph of a file's documentation, in one line."""
    lines = []
    for line in text.split("\n"):
        words = line.removeprefix("//!").strip()
        if not line.startswith("//!") or not words:
            break
        lines.append(words)
    return " ".join(lines)


def sentence(text):
    """Its first sentence, without the links of rustdoc."""
    return re.sub(r"\[(`[^`]*`)\]", r"\1", re.split(r"(?<=\.) ", text, maxsplit=1)[0])


def short(name):
    return name.removeprefix("exactop-")


def crates(top):
    """Name, folder, first paragraph and used crates of each crate; in the order of floors, the lowest first."""
    packages = [(os.path.relpath(folder, top), manifest, roots(folder)) for folder, manifest in manifests(top)]
    ours = {manifest["package"]["name"]: (folder, manifest, files) for folder, manifest, files in packages if files}
    uses = {name: sorted(set(manifest.get("dependencies", {})) & set(ours), key=short)
            for name, (_, manifest, _) in ours.items()}

    def floor(name):
        return 1 + max(map(floor, uses[name]), default=0)

    for name in sorted(ours, key=lambda name: (floor(name), ours[name][0])):
        folder, _, files = ours[name]
        with open(files[0], encoding="utf-8") as file:
            yield name, folder, paragraph(file.read()), uses[name]


def check(top):
    """The map, and a line for each crate whose first paragraph lacks something."""
    rows, lines, all_crates = [], [], list(crates(top))
    for name, folder, text, uses in all_crates:
        rows.append(f"| `{folder}` | {sentence(text)} | {', '.join(map(short, uses))} |\n")
        if DEPENDENTS not in text:
            lines.append(f"{folder}: the first paragraph of its lib.rs does not say which crates {DEPENDENTS}")
        users = {other for other, _, _, used in all_crates if name in used}
        for words, permitted in ALONE.items():
            others = sorted(users - permitted)
            if f"{words} {DEPENDENTS}" in text and others:
                lines.append(f"{folder}: its lib.rs says '{words} {DEPENDENTS}', and {', '.join(others)} does")
    return HEAD + "".join(rows), lines


def table(text):
    """The lines of the map in a text, or None."""
    begin = text.find(HEAD)
    if begin < 0:
        return None
    end = text.find("\n\n", begin)
    return text[begin:end + 1]


def main():
    path = os.path.join(TOP, FILE)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    wanted, lines = check(TOP)
    there = table(text)
    if there is None:
        lines.append(f"{FILE} has no table that begins with {HEAD.splitlines()[0]}")
    elif sys.argv[1:] == ["--write"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(there, wanted))
    elif there != wanted:
        old = set(there.splitlines())
        lines += [f"{FILE} lacks: {row}" for row in wanted.splitlines() if row not in old]
        new = set(wanted.splitlines())
        lines += [f"{FILE} has no crate for: {row}" for row in there.splitlines() if row not in new]
        lines.append("write the map anew: scripts/map.py --write")
    for line in lines:
        print(f"exactop: {line}", file=sys.stderr)
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
