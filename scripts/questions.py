#!/usr/bin/env python3
"""Takes the screens of docs/how-to/questions.md and README.md: real ones, of the live view in a terminal (tmux) after the
keys that they name. As root, with a built exactop, on a machine on which nobody works:
scripts/questions.py target/release/exactop [WORDS OF A HEADING]

A block that begins with '<!-- load: COMMAND; keys: KEYS[; size: COLUMNSxLINES] -->' gets the screen after these keys,
while the user nobody runs that command; KEYS are tmux's names. Rows are those of this user alone."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.join(os.path.dirname(__file__), "..")
FILES = [os.path.join(TOP, "README.md"), os.path.join(TOP, "docs", "how-to", "questions.md")]
SIZE = "100x24"
BLOCK = re.compile(r"(<!-- load: (.*?); keys: ([^;]*?)(?:; size: (\d+x\d+))? -->\n```\n)(.*?)(```\n)", re.S)
USER = "nobody"
MAKEFILE = "all: $(shell seq 1 5000)\n%:\n\t@seq 1 3000 | sort -R | md5sum > /dev/null\n"


def tmux(server, *words):
    done = subprocess.run(["tmux", "-L", server, *words], capture_output=True, text=True, check=False)
    return done.stdout


def screen(exactop, keys, size):
    server = f"questions-{os.getpid()}"
    width, height = size.split("x")
    command = f"env LC_ALL=C.UTF-8 TERM=screen-256color XDG_CONFIG_HOME=/nonexistent {exactop} --source ledger -u {USER}"
    tmux(server, "-u", "-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, command)
    tmux(server, "set-option", "-g", "status", "off")
    tmux(server, "resize-window", "-x", width, "-y", height)
    try:
        time.sleep(9)
        for key in keys.split():
            if key != "none":
                tmux(server, "send-keys", key)
                time.sleep(0.5)
        # The window after the last key is the first that tells all of a page.
        time.sleep(5)
        lines = tmux(server, "capture-pane", "-p").rstrip("\n").split("\n")
        return "".join(line.rstrip() + "\n" for line in lines)
    finally:
        tmux(server, "kill-server")


def block(exactop, directory, match):
    command = match[2].replace("exactop", exactop)
    load = subprocess.Popen(command, shell=True, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True, user=None if "--user" in command else USER)
    try:
        time.sleep(2)
        shown = screen(exactop, match[3], match[4] or SIZE).replace(exactop, "exactop")
        return match[1] + shown + match[6]
    finally:
        os.killpg(load.pid, signal.SIGTERM)
        load.wait()


def take(exactop, directory, path, wanted):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    # Of one heading, or of all.
    parts = re.split(r"(?m)^(?=##? )", text)
    shown = "".join(BLOCK.sub(lambda match: block(exactop, directory, match), part)
                    if wanted in part.split("\n", 1)[0] else part for part in parts)
    with open(path, "w", encoding="utf-8") as file:
        file.write(shown)


def main():
    exactop = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with open(os.path.join(directory, "Makefile"), "w", encoding="utf-8") as makefile:
            makefile.write(MAKEFILE)
        # Where everybody may run it.
        exactop = shutil.copy(exactop, os.path.join(directory, "exactop"))
        for path in FILES:
            take(exactop, directory, path, sys.argv[2] if len(sys.argv) > 2 else "")


if __name__ == "__main__":
    main()
