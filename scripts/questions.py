#!/usr/bin/env python3
"""Take the screens of README.md and docs: real ones, of the live view in a terminal (tmux).

Run as root on an idle machine: scripts/questions.py target/release/exactop [WORDS OF A HEADING]

A code block after '<!-- load: COMMAND; keys: KEYS[; size: COLUMNSxLINES][; lines: RANGES] -->' gets
the screen after these keys while the user `nobody` runs the command. KEYS are tmux's names. The
screen has rows of this user only. RANGES keeps some lines of it: '1-3,8'. With '; picture: FILE'
the screen is drawn into that SVG file, and no code block follows."""

import html
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

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
        # The window after the last key is the first with all figures of a page.
        time.sleep(5)
        return tmux(server, "capture-pane", "-p", "-e").rstrip("\n").split("\n")
    finally:
        tmux(server, "kill-server")


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


SGR = re.compile(r"\x1b\[([\d;]*)m")
BASIC = ("#3b3f46", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d6d6d6",
         "#7f848e", "#f08a93", "#b5e08f", "#f0d59a", "#8ac6ff", "#dc9cec", "#7fd6e0", "#ffffff")
INK, PAPER = "#d6d6d6", "#16181d"
CELL_WIDTH, LINE_HEIGHT, MARGIN = 7.81, 16.5, 12


def colour(number):
    """One of 256 colours, as xterm has them."""
    if number < 16:
        return BASIC[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    number -= 16
    parts = (number // 36, number // 6 % 6, number % 6)
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


def restyle(style, codes):
    """The style after these codes of a terminal."""
    codes = [int(code or 0) for code in codes.split(";")]
    style = dict(style)
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in (38, 48):
            kind = codes.pop(0)
            named = codes[:3] if kind == 2 else codes[:1]
            del codes[:len(named)]
            ink = "#" + "".join(f"{part:02x}" for part in named) if kind == 2 else colour(named[0])
            style["ink" if code == 38 else "paper"] = ink
        elif code in (1, 2, 7):
            style[{1: "bold", 2: "dim", 7: "reverse"}[code]] = True
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["ink"] = BASIC[code % 10 + (8 if code >= 90 else 0)]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style["paper"] = BASIC[code % 10 + (8 if code >= 100 else 0)]
        else:
            gone = {22: ("bold", "dim"), 27: ("reverse",), 39: ("ink",), 49: ("paper",)}
            for key in gone.get(code, ()):
                style.pop(key, None)
    return style


def svg(lines, columns):
    """A terminal's lines, with their colours, as a picture."""
    width = 2 * MARGIN + columns * CELL_WIDTH
    height = 2 * MARGIN + len(lines) * LINE_HEIGHT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
             'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="13">'
             f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>\n']
    style = {}
    for row, line in enumerate(lines):
        column, top = 0, MARGIN + row * LINE_HEIGHT
        pieces = SGR.split(line)
        for at, piece in enumerate(pieces):
            if at % 2:
                style = restyle(style, piece)
                continue
            left, length = MARGIN + column * CELL_WIDTH, len(piece) * CELL_WIDTH
            column += len(piece)
            ink, paper = style.get("ink", INK), style.get("paper")
            if style.get("reverse"):
                ink, paper = paper or PAPER, ink
            if paper and piece:
                parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{length:.1f}" '
                             f'height="{LINE_HEIGHT}" fill="{paper}"/>')
            if piece.strip():
                more = ' font-weight="bold"' if style.get("bold") else ""
                more += ' opacity="0.6"' if style.get("dim") else ""
                parts.append(f'<text x="{left:.1f}" y="{top + 12:.1f}" fill="{ink}"{more} '
                             f'textLength="{length:.1f}" xml:space="preserve">'
                             f'{html.escape(piece, quote=False)}</text>')
        parts.append("\n")
    return "".join(parts) + "</svg>\n"


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
