#!/usr/bin/env python3
"""Print debian/copyright: the authors and the licenses of everything in the delivered files.

    copyright.py [--static]    for the command and the library; or for the static file, which also
                               contains the C library and carries the text of every license

exactop's own part is packaging/debian/copyright. The crates are those that cargo links; their own
files name the holders of the copyright. License texts are in packaging/licenses, and those that every
Debian has in /usr/share/common-licenses.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

OWN = Path("packaging/debian/copyright")
TEXTS = Path("packaging/licenses")
COMMON = Path("/usr/share/common-licenses")
# Which of these are in COMMON, and under which name.
ON_DEBIAN = {
    "Apache-2.0": ("Apache-2.0", "Apache License, version 2.0"),
    "GPL-2.0-only": ("GPL-2", "GNU General Public License, version 2"),
    "GPL-2.0-or-later": ("GPL-2", "GNU General Public License, version 2 (a later one may be taken)"),
    "GPL-3.0-or-later with GCC Runtime Library exception":
        ("GPL-3", "GNU General Public License, version 3 (the exception, version 3.1: what a compiler\n"
                  "links in by itself is used on the terms of the whole)"),
    "LGPL-2.1-only": ("LGPL-2.1", "GNU Lesser General Public License, version 2.1"),
    "LGPL-2.1-or-later":
        ("LGPL-2.1", "GNU Lesser General Public License, version 2.1 (a later one may be taken)"),
    "LGPL-3.0-or-later":
        ("LGPL-3", "GNU Lesser General Public License, version 3 (a later one may be taken)"),
    "CC0-1.0": ("CC0-1.0", "Creative Commons CC0 1.0 Universal license"),
}
# Sources in other languages that a crate contains: directory and license.
BROUGHT = {"libbpf-sys": ("libbpf", "LGPL-2.1-only or BSD-2-Clause"),
           "zstd-sys": ("zstd", "BSD-3-Clause or GPL-2.0-only")}
# Linked libraries that are not crates.
LIBRARIES = [
    ("rust/library/*", "The Rust Project Developers", "Expat or Apache-2.0"),
    # Crates with a choice of licenses, which all include this one.
    ("rust/deps/*", "The developers of the crates that Rust's library takes in", "Expat"),
    ("elfutils/libelf/*", "Red Hat, Inc. and the developers of elfutils",
     "GPL-2.0-or-later or LGPL-3.0-or-later"),
    ("zlib/*", "1995-2022 Jean-loup Gailly and Mark Adler", "Zlib"),
]
STATIC = [
    ("glibc/*", "Free Software Foundation, Inc. and the developers of glibc", "LGPL-2.1-or-later"),
    ("gcc/libgcc/*", "Free Software Foundation, Inc.",
     "GPL-3.0-or-later with GCC Runtime Library exception"),
]

NOTICE = re.compile(r"^[\s/#*-]*(?:Copyrights?|©)\s*(?:\([cC]\)|©)?\s*(.*\S)")
# Lines of licenses that look like a notice, or are a template.
NO_NOTICE = re.compile(r"yyyy|<year|year name|\bnotices?\b|\blicen[sc]es?\b|\bholders?\b|\binterest|"
                       r"\blaw\b|permission|statement|Free Software Foundation", re.I)


def linked():
    """Name and version of every crate in the delivered files, and the directory of its sources."""
    run = lambda *words: subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    cargo = os.environ.get("CARGO", "cargo")
    host = re.search(r"^host: (.*)$", run(os.environ.get("RUSTC", "rustc"), "-vV"), re.M)[1]
    tree = run(cargo, "tree", "--locked", "-p", "exactop", "-p", "exactop-capi", "--features",
               "exactop/static", "-e", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}")
    of_all = json.loads(run(cargo, "metadata", "--locked", "--format-version", "1",
                            "--filter-platform", host))["packages"]
    packages = {(package["name"], package["version"]): package for package in of_all}
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    for name, version in sorted((name, version[1:]) for name, version in names):
        package = packages[name, version]
        if package["source"]:
            yield package, Path(package["manifest_path"]).parent


def notices(directory):
    """The holders of the copyright, from the files in a directory."""
    said = []
    for file in sorted(directory.iterdir()):
        if not re.match(r"(UN)?LICEN[SC]E|COPY|NOTICE", file.name.upper()) or not file.is_file():
            continue
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            found = NOTICE.match(line)
            if found and not NO_NOTICE.search(found[1]) and found[1] not in said:
                said.append(found[1])
    return said


def license_of(package):
    """The license expression in Debian's form."""
    said = (package["license"] or "").replace("/", " OR ")
    both = re.fullmatch(r"\((.*)\) AND (.*)", said)
    if both:
        said = f"{both[1]}, AND {both[2]}"
    if not said or "(" in said:
        raise SystemExit(f"exactop: {package['name']} is under '{said}': tell scripts/copyright.py what that is")
    said = re.sub(r"\bMIT\b", "Expat", said).replace("WITH LLVM-exception", "with LLVM exception")
    return re.sub(r" +", " ", said.replace(" OR ", " or ").replace(" AND ", " and "))


def parts(is_static):
    """Files, holders of the copyright and license of everything that is linked."""
    for package, directory in linked():
        files = f"{package['name']}-{package['version']}"
        held = notices(directory) or package["authors"] or [f"The developers of {package['name']}"]
        yield f"{files}/*", tuple(held), license_of(package)
        if package["name"] in BROUGHT:
            place, license_ = BROUGHT[package["name"]]
            held = notices(directory / place) or [f"The developers of {place}"]
            yield f"{files}/{place}/*", tuple(held), license_
    for files, held, license_ in LIBRARIES + (STATIC if is_static else []):
        yield files, (held,), license_


def text_of(license_, is_static):
    """The text of a license, or its path on every Debian."""
    if license_ in ON_DEBIAN:
        file, name = ON_DEBIAN[license_]
        if not is_static:
            return f"On Debian systems the text of the {name}\nis in {COMMON / file}."
        return (COMMON / file).read_text(encoding="utf-8")
    if license_ == "Apache-2.0 with LLVM exception":
        return text_of("Apache-2.0", is_static) + "\n\n" + (TEXTS / "LLVM-exception").read_text(encoding="utf-8")
    try:
        return (TEXTS / license_).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SystemExit(f"exactop: the license {license_} has no text: add it to {TEXTS}") from None


def field(name, lines):
    """A field of several lines; an empty line is a dot."""
    return f"{name}:" + "".join(f"\n {line.rstrip() or '.'}" for line in lines)


def main():
    """Prints the whole file."""
    os.chdir(Path(__file__).resolve().parent.parent)
    is_static = sys.argv[1:] == ["--static"]
    if sys.argv[1:] and not is_static:
        raise SystemExit("exactop: copyright.py takes --static or nothing")
    own = OWN.read_text(encoding="utf-8").strip()
    licenses = set(re.findall(r"^License: (.*)$", own, re.M))
    stanzas = {}
    for files, held, license_ in parts(is_static):
        stanzas.setdefault((held, license_), []).append(files)
        licenses.add(license_)
    print(own)
    for (held, license_), files in sorted(stanzas.items(), key=lambda stanza: stanza[1]):
        print("\n" + field("Files", files), field("Copyright", held), f"License: {license_}", sep="\n")
    for license_ in sorted({name for all_ in licenses for name in re.split(r",? (?:or|and) ", all_)}):
        text = text_of(license_, is_static).strip("\n").splitlines()
        print("\n" + field("License", text).replace("License:", f"License: {license_}", 1))


main()
