#!/usr/bin/env python3
"""Check that every error says what failed, the value found and what to do.

    errors.py [DIRECTORY]           the workspace in DIRECTORY (default: this one); exit status 1 if a text is wrong
    errors.py --list [DIRECTORY]    print every text with its form

The texts are the literals where an error is made: `#[error("..")]`, `Failure::..(..)`, `Err(..)`, `ok_or(..)`,
`map_err(..)`, `advice: ..` and the like in crates/*/src, without tests. A text has one of these forms:

    cannot    `cannot VERB OBJECT`; the system's reason follows. What to do about it: failure.rs adds it by errno
    remedy    `FACT: REMEDY`: the last part begins with a verb of VERBS
    verb      `write a whole number`: clap, or the caller, puts the option and the value in front
    passed    `{path}: {why}`: only values, which are errors with a form of their own

Other texts are causes: parts of an error whose remedy another text adds. CAUSES lists them with that text, which must
exist. No text has a word of FORBIDDEN, an upper-case beginning, a full stop at its end or more than WORDS words."""

import os
import re
import subprocess
import sys

WORDS = 40
# Verbs with which a remedy begins.
VERBS = set("""add allow ask attach build catch change check choose close connect correct delegate draw echo enable enlarge
export find free give grant install join keep leave limit listen look make mount name open pass press put raise read
record remove rename report restart run save see send set sort start stop take try use wait write""".split())
# Words that hide the actor or the value. "nothing" and "none" are values.
FORBIDDEN = re.compile(r"""\b(?:nobody|somebody|whom|whose|who|(?:is|are)\ told|is\ said|so\ many|ma[dk]es?\ no\ sense
    |(?:is|are)\ no|anew|please|sorry|should|must\ be|can(?:\ ?not|'t)\ be\ \w+|could\ not\ be\ \w+)\b""", re.X | re.I)
# Causes: where they are, what they look like, and the file and the text of the error that surrounds them.
CAUSES = [
    ("exactop/src/options/parse.rs", r"it has|'\{(port|host)\}'", "exactop/src/options/parse.rs", "{why}: write ADDRESS:PORT"),
    ("fleet/src/chunks.rs", r"it(s| has| is) ", "fleet/src/parquet.rs", "not a table of 'exactop export' ({error}): export it again"),
    ("keep/export/src/losses.rs", r"it(s| has| is) ", "keep/export/src/lib.rs", "({why}): export to another place"),
    ("keep/export/src/clickhouse/address.rs", r"it(s| has| is) ", "keep/export/src/clickhouse/address.rs",
     "is not the address of a store ({why}): write"),
    ("keep/recording/src/error.rs", r"(it|its|a) ", "keep/service/src/error.rs", "cannot read what the daemon at {} sends: {error}: restart"),
    ("keep/recording/src/stream.rs", r"(its|a) ", "keep/service/src/error.rs", "cannot read what the daemon at {} sends: {error}: restart"),
    ("keep/recording/src/segment.rs", r"it(s| is) ", "keep/recording/src/error.rs", "the header of {} is damaged ({why}): remove"),
    ("keep/service/src/server/pids/", r"your (status|process)", "keep/service/src/server/pids/mod.rs", "cannot determine your PID namespace: {why}"),
    ("keep/service/src/server/pids/", r"your reader|this kernel", "keep/service/src/server/pids/mod.rs", "in a PID namespace, and {what}: "),
    ("ledger/files/src/", r"a (directory|regular file|FIFO|character device)", "ledger/files/src/error.rs", "{} is {found}: give {wanted}"),
    ("ledger/model/src/on_demand/moves/mod.rs", r"the reason is known only", "show/views/src/on_demand/moves.rs", "of unknown cause: {why}"),
    ("ledger/sources/src/bpf/fentry.rs", r"the kernel's type", "ledger/sources/src/bpf/fentry.rs", "cannot attach program {program} at {function}: {why}"),
    ("ledger/sources/src/cpu_list.rs", r"a list of CPUs", "ledger/sources/src/error.rs", "cannot parse {path} (found '{found}' for {expected}): "),
    ("ledger/sources/src/holdings/", r"its (io|stat) file", "ledger/model/src/words/holdings.rs", "no {name}: {why}"),
    ("show/metrics/src/otlp/sender.rs", r"its scheme", "show/metrics/src/otlp/sender.rs", "({why}): write http://HOST:4318"),
    ("show/tui/src/terminal.rs", r"standard (in|out)put", "show/tui/src/host.rs", "{0} is not a terminal: use batch mode (-b)"),
    # Why a trial does not count: a column of the lab's tables.
    ("study/lab/src/trial/", r"", "study/lab/src/report/mod.rs", "point.invalid"),
]
# Where a reason is a part of a screen or a finding, not of an error.
SCREENS = ("fleet/src/check/page.rs", "ledger/model/src/words/findings.rs", "show/tui/src/draw/")

LITERAL = r'(?<![\w\'])b?"((?:[^"\\]|\\.)*)"'
HEAD = re.compile(r"""\#\[error\( | \bFailure::\w+\( | \banyhow!\( | \bbail!\( | \bErr\( | \bok_or(?:_else)?\(
    | \bmap_err\( | \bio::Error::(?:other|new)\( | \b(?:advice|why):\s | \blet\ (?:why|none|wrong|missing|unknown|refused)\ = | \b(?:refused|unavailable|wrong)\(
    """, re.X)
SKIP = re.compile(r"""//[^\n]* | b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'])' | r(\#*)".*?"\1 """, re.X | re.S)
VALUE = re.compile(r"\{[^{}]*\}")
# An error, which has a form of its own.
REASON = r"\{(?:why|error|said|here|0|TOO_DEEP)?(?::#)?\}"


def without_tests(text):
    """The text up to its module of tests."""
    return re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text)[0]


def end(text, at, closing):
    """Where the expression that begins at `at` ends: at its closing bracket, or at a comma or semicolon outside of one."""
    depth = 0
    while at < len(text):
        skipped = SKIP.match(text, at) or re.compile(r'"(?:[^"\\]|\\.)*"', re.S).match(text, at)
        if skipped:
            at = skipped.end()
            continue
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            if depth == 0:
                return at
            depth -= 1
        elif depth == 0 and not closing and text[at] in ",;":
            return at
        at += 1
    return at


def texts(source):
    """(line, text) of every literal with a blank in it where an error is made."""
    source = without_tests(source)
    found = {}
    for head in HEAD.finditer(source):
        line = source.rfind("\n", 0, head.start()) + 1
        if "//" in source[line:head.start()]:
            continue
        stop = end(source, head.end(), head[0].endswith("("))
        for literal in re.compile(LITERAL, re.S).finditer(source, head.end(), stop):
            text = re.sub(r"\\\n\s*", "", literal[1])
            before = source[line if line > head.end() else head.end():literal.start()]
            # A fact and its remedy are two fields of one error.
            if re.search(r"what:\s*(?:format!\(\s*)?$", before) and "advice" in source[head.end():stop]:
                text += ": {advice}"
            if " " in text and not re.search(r"(?:expect|contains|starts_with|ends_with|strip_prefix|join|split)\($", before):
                found[literal.start()] = text
            if head[0].startswith("#[error("):
                break
    return [(source.count("\n", 0, at) + 1, text) for at, text in sorted(found.items())]


def form(text):
    """The form of an error's text, or None."""
    if not re.search(r"\w", VALUE.sub("", text)) or re.match(r"\{(?:why|error)\}|line \{line\}: $", text):
        return "passed"
    if re.match(r"(?:[\w'{}=., /-]*: )?cannot (?:[a-z]+\b|\{)", text):
        return "cannot"
    parts = text.split(": ")
    verb = [re.match(r"(?:as root, )?(\w+)\b", part) for part in (parts[0], parts[-1])]
    if verb[0] and verb[0][1] in VERBS:
        return "verb"
    if verb[1] and verb[1][1] in VERBS or re.match(r"did you mean|\{(?:advice|near|remedy)\}", parts[-1]):
        return "remedy"
    # The name of an option, a file or a line before an error.
    if len(parts) > 1 and re.fullmatch(REASON, parts[-1]) and len(VALUE.sub("", parts[0]).split()) <= 4:
        return "passed"
    return None


def cause(name, text):
    """The row of CAUSES that has a text, or None."""
    return next((row for row in CAUSES if name.startswith("crates/" + row[0]) and re.match(row[1], text)), None)


def wrong(name, text):
    """Why a text is wrong, or None."""
    hidden = FORBIDDEN.search(VALUE.sub("{}", text))
    if hidden:
        return f"says '{hidden[0]}'"
    if len(text.split()) > WORDS:
        return f"has more than {WORDS} words"
    if re.search(r"[^.]\.$", text):
        return "ends in a full stop"
    if re.match(r"[A-Z][a-z]+ ", text):
        return "begins in upper case"
    # The rest of a text is judged with its beginning.
    if not form(text) and not cause(name, text) and not re.match(r"[ ;,:(]", text):
        return "has no form of errors.py: say what failed, the value found and what to do"
    return None


def sources(top):
    """(name, text) of each Rust file of the crates, tests left out."""
    listed = subprocess.run(["git", "ls-files", "-z", "crates"], cwd=top, capture_output=True, text=True, check=True).stdout
    for name in filter(lambda name: re.search(r"/src/.*\.rs$", name), listed.split("\0")):
        if re.search(r"(^|/)tests?(\.rs|/)|/(testkit|fuzzing)/|/fuzz\w*\.rs$", name):
            continue
        if name.startswith(tuple("crates/" + screen for screen in SCREENS)):
            continue
        try:
            with open(os.path.join(top, name), encoding="utf-8") as file:
                yield name, file.read()
        except FileNotFoundError:
            continue


def check(top):
    """Lines that say what is wrong below a directory of git's."""
    lines, used, all_texts = [], [], {}
    for name, source in sources(top):
        all_texts[name] = re.sub(r"\\\n\s*", "", source)
        for line, text in texts(source):
            used.append(None if form(text) else cause(name, text))
            why = wrong(name, text)
            if why:
                lines.append(f"{name}:{line}: '{text}' {why}")
    for row in CAUSES:
        file, around = row[2:]
        if row not in used:
            lines.append(f"scripts/errors.py: no cause '{row[1]}' in {row[0]}: remove the row")
        if around not in all_texts.get("crates/" + file, ""):
            lines.append(f"scripts/errors.py: no '{around}' in {file}: correct the row")
    return lines


def main(args):
    top = next((arg for arg in args if arg != "--list"), os.path.join(os.path.dirname(__file__), ".."))
    if "--list" in args:
        for name, source in sources(top):
            for line, text in texts(source):
                print(f"{form(text) or 'cause':7} {name}:{line}: {text}")
        return 0
    found = check(top)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
