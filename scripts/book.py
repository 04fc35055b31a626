#!/usr/bin/env python3
"""Builds the documents as a book and checks every link in them: scripts/book.py TOOLS OUT

TOOLS is the directory of mdbook and lychee (`make docs` installs both), OUT that of the book. docs/README.md is the
table of contents: a document that it does not link is an error, so that none is out of reach."""

import os
import re
import shutil
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)]*)?\)")
BOOK = '[book]\ntitle = "exactop"\nsrc = "src"\n\n[output.html]\nno-section-label = true\n'


def documents():
    listed = subprocess.run(["git", "ls-files", "docs/*.md", "docs/**/*.md"], cwd=TOP, capture_output=True, text=True, check=True)
    return [name[len("docs/"):] for name in listed.stdout.split()]


def contents(map_text, names):
    """SUMMARY.md of the book: the headings and links of the map, in its order. Exits if a document is missing there."""
    lines, linked = ["# Summary\n", "[exactop](README.md)\n"], {"README.md"}
    for line in map_text.splitlines():
        if line.startswith("## "):
            lines.append(f"\n# {line[3:]}\n")
        for title, target, _ in LINK.findall(line):
            target = os.path.normpath(target)
            if target in names and target not in linked:
                linked.add(target)
                lines.append(f"- [{title}]({target})")
                below = os.path.dirname(target)
                if target.endswith("/README.md"):
                    inside = sorted(name for name in names if os.path.dirname(name) == below and name not in linked)
                    linked.update(inside)
                    lines += [f"  - [{heading(name)}]({name})" for name in inside]
    missing = sorted(set(names) - linked)
    if missing:
        sys.exit(f"exactop: docs/README.md links no {', '.join(missing)}: add a line for each")
    return "\n".join(lines) + "\n"


def heading(name):
    with open(os.path.join(TOP, "docs", name), encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()


def inside(name, text):
    """The text without links that leave docs: a book has no files of the source."""
    def kept(link):
        title, target = link.group(1), link.group(2)
        leaves = os.path.normpath(os.path.join(os.path.dirname(name), target)).startswith("..")
        return title if leaves and "://" not in target else link.group(0)
    return LINK.sub(kept, text)


def check_links(tools):
    pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md"]
    done = subprocess.run([os.path.join(tools, "lychee"), "--offline", "--include-fragments", "--no-progress", *pages], cwd=TOP, check=False)
    if done.returncode:
        sys.exit("exactop: a document has a broken link: correct the lines above")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tools, out = (os.path.realpath(name) for name in sys.argv[1:])
    check_links(tools)
    shutil.rmtree(out, ignore_errors=True)
    source = os.path.join(out, "src")
    shutil.copytree(os.path.join(TOP, "docs"), source)
    names = documents()
    for name in names:
        path = os.path.join(source, name)
        with open(path, encoding="utf-8") as file:
            text = inside(name, file.read())
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(source, "README.md"), encoding="utf-8") as file:
        summary = contents(file.read(), names)
    with open(os.path.join(source, "SUMMARY.md"), "w", encoding="utf-8") as file:
        file.write(summary)
    with open(os.path.join(out, "book.toml"), "w", encoding="utf-8") as file:
        file.write(BOOK)
    subprocess.run([os.path.join(tools, "mdbook"), "build", out], check=True)
    print(f"the book: {os.path.join(out, 'book', 'index.html')}")


if __name__ == "__main__":
    main()
