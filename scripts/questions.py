#!/usr/bin/env python3
"""Take the screens of README.md and docs: real ones, of the live view in a terminal (tmux).

Run as root on an idle machine: scripts/questions.py target/release/exactop [WORDS OF A HEADING]

A code block after '<!-- load: COMMAND; keys: KEYS[; size: COLUMNSxLINES][; lines: RANGES] -->' gets
the screen after these keys while the user `nobody` runs the command. KEYS are tmux's names. The
screen has rows of this user only. RANGES keeps some lines of it: '1-3,8'. With '; picture: FILE'
the screen is drawn into that SVG file, and no code block follows."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from terminal import SGR, Terminal, svg

TOP = os.path.join(os.path.dirname(__file__), "..")
FILES = [
    os.path.join(TOP, "README.md"),
    os.path.join(TOP, "docs", "tutorials", "first-ten-minutes.md"),
    os.path.join(TOP, "docs", "how-to", "questions.md"),
]
SIZE = "100x24"
MARKER = r"<!-- load: ([^\n]*?); keys: ([^;\n]*?)(?:; size: (\d+x\d+))?"
BLOCK = re.compile(rf"({MARKER}(?:; lines: ([-,\d]+))? -->\n```\n)(.*?)(```\n)", re.S)
PICTURE = re.compile(rf"{MARKER}; picture: (\S+) -->\n")
USER = "nobody"
MAKEFILE = "all: $(shell seq 1 5000)\n%:\n\t@seq 1 3000 | sort -R | md5sum > /dev/null\n"


def screen(exactop, keys, size):
    with Terminal(f"{exactop} --source ledger -u {USER}", size) as terminal:
        time.sleep(9)
        terminal.keys("" if keys == "none" else keys)
        # The window after the last key is the first with all figures of a page.
        time.sleep(5)
        return terminal.lines()


def screen_of(exactop, directory, load, keys, size):
    """The screen, with its colours, while `nobody` runs the load."""
    command = load.replace("exactop", exactop)
    running = subprocess.Popen(command, shell=True, cwd=directory, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               user=None if "--user" in command else USER)
    try:
        time.sleep(2)
        lines = screen(exactop, keys, size or SIZE)
        return [line.replace(exactop, "exactop") for line in lines]
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait()


def kept(lines, ranges):
    """The lines of these ranges, all of them without."""
    if not ranges:
        return lines
    ends = [part.split("-") for part in ranges.split(",")]
    return [line for first, *last in ends for line in lines[int(first) - 1:int((last or [first])[0])]]


def block(exactop, directory, match):
    lines = kept(screen_of(exactop, directory, match[2], match[3], match[4]), match[5])
    text = "".join(SGR.sub("", line).rstrip() + "\n" for line in lines)
    return match[1] + text + match[7]


def picture(exactop, directory, match):
    size = match[3] or SIZE
    lines = screen_of(exactop, directory, match[1], match[2], size)
    with open(os.path.join(TOP, match[4]), "w", encoding="utf-8") as file:
        file.write(svg(lines, int(size.split("x")[0])))
    return match[0]


def take(exactop, directory, path, wanted):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    # One heading, or all.
    parts = re.split(r"(?m)^(?=##? )", text)
    for at, part in enumerate(parts):
        if wanted in part.split("\n", 1)[0]:
            part = BLOCK.sub(lambda match: block(exactop, directory, match), part)
            parts[at] = PICTURE.sub(lambda match: picture(exactop, directory, match), part)
    shown = "".join(parts)
    with open(path, "w", encoding="utf-8") as file:
        file.write(shown)


def main():
    exactop = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with open(os.path.join(directory, "Makefile"), "w", encoding="utf-8") as makefile:
            makefile.write(MAKEFILE)
        # The user nobody can run it there.
        exactop = shutil.copy(exactop, os.path.join(directory, "exactop"))
        for path in filter(os.path.exists, FILES):
            take(exactop, directory, path, sys.argv[2] if len(sys.argv) > 2 else "")


if __name__ == "__main__":
    main()
