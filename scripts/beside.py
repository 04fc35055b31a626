#!/usr/bin/env python3
"""Take pictures of screens: exactop beside other tops, all on the same load at the same time.

    scripts/beside.py BINARY          exactop, htop and btop, for docs/how-to/questions.md
    scripts/beside.py BINARY DIR      every screen of exactop in each size, colour and locale, and
                                      other tops, into DIR; DIR/index.html shows them all

Run as root on an idle machine with two CPUs or more. The load is a loop, a fork storm and a throttled
gzip of the user `nobody`. The screens have rows of this user only."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager

from terminal import DARK, LIGHT, Terminal, svg

TOP = os.path.join(os.path.dirname(__file__), "..")
USER = "nobody"
PACKAGES = ("tmux", "htop", "btop")
# Command, keys that leave only the rows of the user, and a text of its screen.
OTHERS = {
    "htop": (f"htop -u {USER}", "", "gzip"),
    "btop": ("btop --preset 1", "f n o b o d y Enter", "gzip"),
    "atop": ("atop 2", "", "gzip"),
    # It wants control groups of version 2, and no package of Debian has it: cargo install below.
    "below": ("unshare -m sh -c 'mount -t cgroup2 none /sys/fs/cgroup; exec below live'",
              "p Tab / g z i p Enter", "gzip"),
    "top": (f"top -u {USER}", "", "gzip"),
}
# A screen of exactop: its name, and the keys to it from the first screen.
SCREENS = (
    ("first", ""), ("waits", "2"), ("starved", "3"), ("throttled", "4"), ("moves", "5"), ("states", "S"),
    ("tree", "t"), ("totals", "K"), ("marked", "Down"), ("process", "Down Enter"), ("graph", "Down G"),
    ("calls", "Down y"), ("groups", "g"), ("findings", "!"), ("columns", "o"), ("palette", ":"),
    ("search", "/ g z"), ("past", "[ ["), ("pressure", "b"), ("help", "h"), ("explained", "?"),
)
SIZES = ("80x24", "120x40", "200x50")
# Background, theme, number of colours and locale. Every size has each.
LOOKS = tuple(
    [(f"{ground}-{colours}", look, ground, colours, "C.UTF-8")
     for (ground, look), colours in itertools.product((("dark", DARK), ("light", LIGHT)), ("16", "256", "true"))]
    + [("ascii", DARK, "dark", "16", "C")])


def install():
    """Installs the programs that are missing, or says how."""
    missing = [name for name in PACKAGES if not shutil.which(name)]
    if not missing:
        return
    line = ["apt-get", "install", "--no-install-recommends", "-y", *missing]
    if os.geteuid() != 0:
        sys.exit(f"missing: {', '.join(missing)}: run as root: {' '.join(line)}")
    subprocess.run(["apt-get", "update", "-q"], check=True)
    subprocess.run(line, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


@contextmanager
def load(exactop):
    """The load, until the block ends."""
    lines = [(["sh", "-c", "while :; do :; done"], USER), (["sh", "-c", "while :; do /bin/true; done"], USER),
             ([exactop, "run", "-q", "--max", "20%", "--user", USER, "--", "gzip", "-c", "/dev/zero"], None)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    running = [subprocess.Popen(line, user=user, **quiet) for line, user in lines]
    try:
        yield
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGTERM)
        for process in running:
            process.wait()


def exactop_line(exactop, ground):
    """The command, with the theme for this background. Each has a directory of settings."""
    settings = os.path.join(os.path.dirname(exactop), ground)
    os.makedirs(os.path.join(settings, "exactop"), exist_ok=True)
    with open(os.path.join(settings, "exactop", "config.toml"), "w", encoding="utf-8") as file:
        file.write(f'theme = "{"light" if ground == "light" else "default"}"\n')
    return f"env XDG_CONFIG_HOME={settings} {exactop} --source ledger -u {USER}"


def beside(exactop, names, size, colours):
    """The screens of these tops, taken within a second. Each has run for twenty."""
    with ExitStack() as stack:
        shown = {}
        for name in names:
            line, keys, text = OTHERS.get(name, (exactop_line(exactop, "dark"), "", "gzip"))
            terminal = stack.enter_context(Terminal(line, size, colours))
            shown[name] = (terminal, keys, text)
        time.sleep(5)
        for terminal, keys, text in shown.values():
            terminal.keys(keys, 0.1)
            terminal.wait(text)
        time.sleep(15)
        return {name: terminal.lines() for name, (terminal, *_) in shown.items()}


def write(path, lines, size, look):
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg(lines, int(size.split("x")[0]), look))


def all_screens(exactop, directory):
    """Takes every screen in every look, and the other tops in each size."""
    os.makedirs(directory, exist_ok=True)
    taken = []

    def keep(name, lines, size, look):
        write(os.path.join(directory, f"{name}.svg"), lines, size, look)
        with open(os.path.join(directory, f"{name}.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        taken.append(name)

    others = [name for name in OTHERS if shutil.which(name)]
    for size in SIZES:
        for name, lines in beside(exactop, ["exactop", *others], size, "256").items():
            keep(f"{size}-beside-{name}", lines, size, DARK)
        with ExitStack() as stack:
            terminals = {}
            for name, look, ground, colours, locale in LOOKS:
                line = exactop_line(exactop, ground)
                terminals[name] = (stack.enter_context(Terminal(line, size, colours, locale)), look)
            for terminal, _ in terminals.values():
                terminal.wait("gzip")
            for screen, keys in SCREENS:
                for terminal, _ in terminals.values():
                    terminal.keys(keys, 0.1)
                time.sleep(3.5)
                for name, (terminal, look) in terminals.items():
                    keep(f"{size}-{screen}-{name}", terminal.lines(), size, look)
                    terminal.keys("Escape Escape Escape Escape", 0.1)
                    # Keys that toggle.
                    terminal.keys({"states": "S", "tree": "t", "pressure": "b"}.get(screen, ""), 0.1)
    with open(os.path.join(directory, "index.html"), "w", encoding="utf-8") as file:
        file.write("<!DOCTYPE html><meta charset=utf-8><title>Screens</title>\n")
        file.writelines(f'<h2>{name}</h2><img src="{name}.svg">\n' for name in taken)
    print(f"{len(taken)} pictures: {directory}/index.html")


def main():
    install()
    with tempfile.TemporaryDirectory() as directory:
        # The user can run it there.
        os.chmod(directory, 0o755)
        exactop = shutil.copy(sys.argv[1], os.path.join(directory, "exactop"))
        with load(exactop):
            if len(sys.argv) > 2:
                all_screens(exactop, sys.argv[2])
                return
            for name, lines in beside(exactop, ["exactop", "htop", "btop"], "100x24", "256").items():
                write(os.path.join(TOP, "docs", "assets", f"beside-{name}.svg"), lines, "100x24", DARK)


if __name__ == "__main__":
    main()
