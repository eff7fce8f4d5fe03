#!/usr/bin/env python3
"""Unit tests hold no upper bound of the time that something takes: on a busy machine it fails without a fault.

usage: times.py SOURCE_FOLDER

A test states the rule otherwise: by the order of events (both sides of a comparison may be times), by what a slow
thing would have left behind, by counting, or by waiting until it holds and giving up after a minute. A lower bound
is allowed: nothing makes time pass faster.
"""
import pathlib
import re
import sys

# What yields a time that passed. Names that get their value from one of these count, too.
TIME = r"\belapsed\w*\(|\bduration_ms\b|\bClock::now\(|_clock::now\(|\bstd::clock\(|\bclock_gettime\(|\bprepare_ms\b|\bstarted_ms\b|\bspan\."
ASSERTION = re.compile(r"\b(?:EXPECT|ASSERT)_(LT|LE|GT|GE|TRUE|FALSE)\(")
VARIABLE = re.compile(r"(?<![\w.>])(\w+)\s*\+?=(?!=)")
FUNCTION = re.compile(r"\b(?:auto|double|float|long|int|\w*(?:seconds|duration))\s+(\w+)\([^;{}]*\)(?:\s*const)?\s*\{")
OPENING, CLOSING = "([{", ")]}"


def until(text, start, ends):
    """The end of what begins at `start`: the first of `ends` that no bracket encloses."""
    depth = 0
    for at in range(start, len(text)):
        if depth == 0 and text[at] in ends:
            return at
        depth += (text[at] in OPENING) - (text[at] in CLOSING)
        if depth < 0:
            return at
    return len(text)


def split_at(text, separators):
    parts, begin = [], 0
    while begin <= len(text):
        end = until(text, begin, separators)
        parts.append(text[begin:end])
        begin = end + 1
    return parts


def blank(text):
    """Without comments and the content of texts."""
    token = r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    return re.sub(token, lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)


def times_of(text):
    """A pattern of every expression for a time in this file."""
    time = TIME
    while True:
        names = {match[1] for match in VARIABLE.finditer(text) if re.search(time, text[match.end():until(text, match.end(), ";")])}
        names |= {match[1] for match in FUNCTION.finditer(text) if re.search(time, text[match.end():until(text, match.end(), "}")])}
        more = "".join(rf"|(?<![\w.])(?<!->){name}\b" for name in sorted(names))
        if TIME + more == time:
            return time
        time = TIME + more


def bounds_of(text):
    """Offsets of assertions that a time is below something else."""
    text = blank(text)
    time = times_of(text)
    for match in ASSERTION.finditer(text):
        content = text[match.end():until(text, match.end(), ")")]
        if match[1] in ("TRUE", "FALSE"):
            comparison = re.fullmatch(r"(.*?[^<-])(<=?|>=?)([^<>=].*)", content, re.S)
            if not comparison:
                continue
            left, sign, right = comparison.groups()
            below = (sign[0] == "<") == (match[1] == "TRUE")
        else:
            left, *rest = split_at(content, ",")
            right, below = ",".join(rest), match[1] in ("LT", "LE")
        lower, upper = (left, right) if below else (right, left)
        if re.search(time, lower) and not re.search(time, upper):
            yield match.start()


def main():
    root = pathlib.Path(sys.argv[1])
    problems, files, assertions = [], 0, 0
    for path in sorted((root / "tests/unit").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        text = path.read_text()
        files += 1
        assertions += len(ASSERTION.findall(text))
        problems += [f"{path.relative_to(root)}:{text.count(chr(10), 0, at) + 1}: an upper bound of time" for at in bounds_of(text)]
    assert files > 200 and assertions > 2000, f"only {files} files and {assertions} assertions were found: the search is broken"
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
