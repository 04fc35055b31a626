#!/usr/bin/env python3
"""Takes the screens of docs/guide/questions.md: real ones, of the live view in a terminal (tmux) after the keys that the
guide names. As root, with a built exactop: scripts/questions.py target/release/exactop [WORDS OF A HEADING]

A block of the guide that begins with '<!-- load: COMMAND; keys: KEYS -->' gets the screen after these keys, while the
user nobody runs that command; KEYS are tmux's names. Rows are those of this user alone."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GUIDE = os.path.join(os.path.dirname(__file__), "..", "docs", "guide", "questions.md")
SIZE = (100, 24)
BLOCK = re.compile(r"(<!-- load: (.*?); keys: (.*?) -->\n```\n)(.*?)(```\n)", re.S)
USER = "nobody"
MAKEFILE = "all: $(shell seq 1 5000)\n%:\n\t@seq 1 3000 | sort -R | md5sum > /dev/null\n"


def tmux(server, *words):
    done = subprocess.run(["tmux", "-L", server, *words], capture_output=True, text=True, check=False)
    return done.stdout


def screen(exactop, keys):
    server = f"questions-{os.getpid()}"
    width, height = map(str, SIZE)
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
        shown = screen(exactop, match[3]).replace(exactop, "exactop")
        return match[1] + shown + match[5]
    finally:
        os.killpg(load.pid, signal.SIGTERM)
        load.wait()


def main():
    exactop = os.path.abspath(sys.argv[1])
    with open(GUIDE, encoding="utf-8") as guide:
        text = guide.read()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with open(os.path.join(directory, "Makefile"), "w", encoding="utf-8") as makefile:
            makefile.write(MAKEFILE)
        # Where everybody may run it.
        exactop = shutil.copy(exactop, os.path.join(directory, "exactop"))
        # Of one question, or of all.
        wanted = sys.argv[2] if len(sys.argv) > 2 else ""
        parts = re.split(r"(?m)^(?=## )", text)
        shown = "".join(BLOCK.sub(lambda match: block(exactop, directory, match), part)
                        if wanted in part.split("\n", 1)[0] else part for part in parts)
    with open(GUIDE, "w", encoding="utf-8") as guide:
        guide.write(shown)


if __name__ == "__main__":
    main()
