"""A program in a terminal (tmux), and its screen as a picture in SVG."""

import html
import os
import re
import subprocess
import sys
import time
import unicodedata
from collections import defaultdict

SGR = re.compile(r"\x1b\[([\d;:]*)m")
# A terminal's sixteen colours, ink and paper.
DARK = (("#3b3f46", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d6d6d6",
         "#7f848e", "#f08a93", "#b5e08f", "#f0d59a", "#8ac6ff", "#dc9cec", "#7fd6e0", "#ffffff"),
        "#d6d6d6", "#16181d")
LIGHT = (("#000000", "#b3261e", "#2f6f1a", "#8a6100", "#1f5fb0", "#8a2fa0", "#0f6f7a", "#6b6f76",
          "#5a5e66", "#c8372e", "#3c8a22", "#a07400", "#2f74c9", "#a04ab8", "#158a97", "#1b1d21"),
         "#1b1d21", "#ffffff")
CELL, LINE, MARGIN = 8, 17, 12
# A picture joins spaces, but not these.
SPACES = "\u00a0\u00a0"


class Terminal:
    """A command in a terminal of its own. `colours`: 16, 256 or true."""

    servers = 0

    def __init__(self, command, size, colours="256", locale="C.UTF-8"):
        Terminal.servers += 1
        self.command = command
        self.server = f"pictures-{os.getpid()}-{Terminal.servers}"
        self.width, height = size.split("x")
        term = "screen" if colours == "16" else "screen-256color"
        depth = "COLORTERM=truecolor" if colours == "true" else "-u COLORTERM"
        line = f"env {depth} LC_ALL={locale} TERM={term} XDG_CONFIG_HOME=/dev/null {command}"
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", self.width, "-y", height, line)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", self.width, "-y", height)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-L", self.server, *words], capture_output=True, text=True, check=False)
        return done.stdout

    def keys(self, keys, pause=0.5):
        """Presses keys, which have tmux's names."""
        for key in keys.split():
            self.tmux("send-keys", key)
            time.sleep(pause)

    def lines(self):
        """The screen with its colours."""
        return self.tmux("capture-pane", "-p", "-e", "-N").rstrip("\n").split("\n")

    def wait(self, text, seconds=60):
        """Waits until the screen has a text; says so on stderr if it never has."""
        for _ in range(int(seconds / 0.2)):
            if text in SGR.sub("", "\n".join(self.lines())):
                return
            time.sleep(0.2)
        print(f"{self.command}: no '{text}' on the screen after {seconds} s", file=sys.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")


def colour(number, basic):
    """One of 256 colours, as xterm has them."""
    if number < 16:
        return basic[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    number -= 16
    parts = (number // 36, number // 6 % 6, number % 6)
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


def restyle(style, codes, basic):
    """The style after these codes of a terminal."""
    codes = [int(code or 0) for code in re.split("[;:]", codes)]
    style = dict(style)
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in (38, 48):
            kind = codes.pop(0)
            named = codes[:3] if kind == 2 else codes[:1]
            del codes[:len(named)]
            ink = "#" + "".join(f"{part:02x}" for part in named) if kind == 2 else colour(named[0], basic)
            style["ink" if code == 38 else "paper"] = ink
        elif code in (1, 2, 3, 4, 7):
            style[{1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse"}[code]] = True
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["ink"] = basic[code % 10 + (8 if code >= 90 else 0)]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style["paper"] = basic[code % 10 + (8 if code >= 100 else 0)]
        else:
            gone = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 39: ("ink",),
                    49: ("paper",)}
            for key in gone.get(code, ()):
                style.pop(key, None)
    return style


def cells(lines, look):
    """Row, column, text, style (CSS) and paper of each run of cells that look alike."""
    basic, ink, paper = look
    state = {}
    for row, line in enumerate(lines):
        runs, column = [], 0
        for at, piece in enumerate(SGR.split(line)):
            if at % 2:
                state = restyle(state, piece, basic)
                continue
            front, back = state.get("ink", ink), state.get("paper", "")
            if state.get("reverse"):
                front, back = back or paper, front
            css = f"fill:{front};" if front != ink else ""
            css += "".join(text for name, text in (
                ("bold", "font-weight:700;"), ("dim", "opacity:.6;"), ("italic", "font-style:italic;"),
                ("underline", "text-decoration:underline;")) if state.get(name))
            width = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in piece)
            if runs and runs[-1][2:] == (css, back):
                runs[-1] = (runs[-1][0], runs[-1][1] + piece, css, back)
            elif piece:
                runs.append((column, piece, css, back))
            column += width
        yield from ((row, *run) for run in runs)


def svg(lines, columns, look=DARK):
    """A terminal's lines, with their colours, as a picture."""
    width, height = 2 * MARGIN + columns * CELL, 2 * MARGIN + len(lines) * LINE
    papers, texts = defaultdict(str), defaultdict(str)
    for row, column, text, css, paper in cells(lines, look):
        left, top = MARGIN + column * CELL, MARGIN + row * LINE
        if paper:
            papers[paper] += f"M{left} {top}h{len(text) * CELL}v{LINE}h-{len(text) * CELL}z"
        # Spaces are seen only where they are underlined.
        for part in re.finditer(r".+" if "underline" in css else r"\S+(?: {1,3}\S+)*", text):
            length = f' textLength="{len(part[0]) * CELL}"' if len(part[0]) > 1 else ""
            texts[css] += (f'<text x="{left + part.start() * CELL}" y="{top + 13}"{length}>'
                           f'{html.escape(part[0], quote=False).replace("  ", SPACES)}</text>\n')
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="13.3" fill="{look[1]}">\n'
             f'<rect width="100%" height="100%" rx="6" fill="{look[2]}"/>\n']
    parts += [f'<path fill="{paper}" d="{path}"/>\n' for paper, path in papers.items()]
    parts += [f'<g style="{css}">\n{all_of}</g>\n' if css else all_of for css, all_of in texts.items()]
    return "".join(parts) + "</svg>\n"
