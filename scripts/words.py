#!/usr/bin/env python3
"""Finds words that docs/explanation/words.md replaces: in documents, programs, scripts and their names.

Prints each place as FILE:LINE with the phrase and what to write instead, and exits with 1 if there is one. The left
column of the table holds phrases in backticks; a row whose phrase is followed by (advice) is for writers alone."""

import os
import re
import subprocess
import sys

TABLE = os.path.join("docs", "explanation", "words.md")
ROW = re.compile(r"^\|\s*`([^`|]+)`\s*(\(advice\))?\s*\|\s*(.*?)\s*\|\s*$")
KINDS = (".rs", ".md", ".h", ".c", ".sh", ".py", ".toml")


def replaced(table):
    """Phrase -> what to write instead, from the text of the table."""
    rows = (ROW.match(line) for line in table.splitlines())
    return {row[1].lower(): row[3] for row in rows if row and not row[2]}


def found(text, phrases):
    """(line number, phrase) of each phrase in a text."""
    # A comment goes on after the end of a line.
    gap = r"\s+(?:(?://[/!]?|#|\*)\s*)?"
    words = "|".join(re.escape(phrase).replace(r"\ ", gap) for phrase in sorted(phrases, key=len, reverse=True))
    for hit in re.finditer(rf"\b({words})\b", text, re.IGNORECASE):
        yield text.count("\n", 0, hit.start()) + 1, re.sub(r"[\s/!#*]+", " ", hit[1]).lower()


def is_ours(name):
    """True for a text that this project may still change: no released header, and not the table or its test."""
    return name.endswith(KINDS) and "/released/" not in name and name not in (TABLE, "scripts/words_test.py")


def check(top):
    """Lines that say what was found below a directory of git's."""
    with open(os.path.join(top, TABLE), encoding="utf-8") as file:
        phrases = replaced(file.read())
    if not phrases:
        return [f"{TABLE}: holds no phrase: a row begins with one in backticks"]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=top, capture_output=True, text=True, check=True).stdout
    lines = []
    for name in filter(is_ours, listed.split("\0")):
        try:
            with open(os.path.join(top, name), encoding="utf-8") as file:
                hits = list(found(file.read(), phrases))
        except (FileNotFoundError, UnicodeDecodeError):
            continue
        lines += [f"{name}:{line}: '{phrase}': write {phrases[phrase]}" for line, phrase in hits]
    return lines


if __name__ == "__main__":
    said = check(os.path.join(os.path.dirname(__file__), ".."))
    print(*said, sep="\n", end="\n" if said else "")
    sys.exit(1 if said else 0)
