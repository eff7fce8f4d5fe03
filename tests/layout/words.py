#!/usr/bin/env python3
"""Counts phrases that are not plain English in strings, comments and documents, area by area.

usage: words.py SOURCE_FOLDER [--update | --raise-with-reason REASON | --list AREA]

words.txt holds the count of each area. A count may only fall: a higher one fails with the places, a lower one
asks to write the table again with --update, which raises none. --raise-with-reason also writes higher counts, and
the reason behind them: for a new phrase in PHRASES. CONTRIBUTING.md says what to write instead.
"""
import collections
import pathlib
import re
import sys

# "there is no GPU" and "is no longer" are English; "is None" is Python.
PHRASES = {
    "is no X": r"(?<!there )(?<!There )\b(?:is|are|was|were) (?:no|(?-i:none))\b(?! (?:longer|more|less|later|earlier))",
    "alone": r"\balone\b",
    "is told": r"\b(?:is|are|was|were|be|been|being) told\b",
    ", of which": r", of which\b",
    "so many": r"\bso (?:many|much|long)\b",
    "anew": r"\banew\b",
    "tells of": r"\b(?:tell|tells|told|telling) of\b",
    "nobody": r"(?<!`)\bnobody\b(?!`)",  # the user has backticks
    "somebody else": r"\bsomebody else\b",
    "stands in": r"\b(?:stand|stands|stood|standing) in\b",
}
PATTERN = re.compile("|".join(f"({phrase})" for phrase in PHRASES.values()), re.I)
CODE = re.compile(r"""
    (?P<comment>(?:[ \t]*//[^\n]*\n?)+|/\*.*?\*/)
  | (?P<string>R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|(?:"(?:\\.|[^"\\\n])*"\s*)+)
  | '(?:\\.|[^'\\\n])+'""", re.S | re.X)
C_LIKE = {".cc", ".h", ".hpp", ".c", ".cu", ".cuh", ".comp", ".glsl"}
TEXT = {".md", ".py", ".sh", ".cmake", ".txt", ".json", ".rs", ".toml"}
OURS = ["CMakeLists.txt", "run.sh", "test.sh", "Containerfile", ".ci/run"]
# Texts of others, and these patterns themselves.
NOT_OURS = re.compile(r"^tests/(machines/.*\.json|consoles/|fuzz/corpus|.*/corpus/|layout/words\.)|^docs/examples/")


def prose_of(path, text):
    """Pieces of `text` that people read, each with the line where it begins."""
    if path.suffix not in C_LIKE:
        if path.name == "CONTRIBUTING.md":  # whose table shows them
            text = re.sub(r"(?m)^\|.*$", "", text)
        yield 1, text
        return
    for token in CODE.finditer(text):
        line = text.count("\n", 0, token.start()) + 1
        if token.lastgroup == "comment":
            yield line, re.sub(r"(?m)^[ \t]*(?://+|/?\*+/?)[ \t]?", "", token.group(0))
        elif token.group("string"):
            yield line, re.sub(r'"\s*"', lambda gap: "\n" * gap.group(0).count("\n"), token.group(0))


def area_of(path):
    parts = path.parts
    if path.suffix == ".md" and parts[0] != "tests" or parts[0] == "docs":
        return "docs"
    if parts[0] == "src":
        depth = 3 if parts[1] == "products" else 2
        return "/".join(parts[:depth]) if len(parts) > depth else "src"
    return parts[0] if len(parts) > 1 and parts[0] != ".ci" else "build"


def count(root):
    found = collections.defaultdict(list)  # area -> [(path, line, phrase)]
    files = 0
    paths = [root / name for name in OURS] + list(root.glob("*.md"))
    for folder in ("src", "include", "docs", "schema", "tests", "scripts", "cmake", "adapters", "examples", "benchmarks", "bindings"):
        paths += (root / folder).rglob("*")
    for path in sorted(paths):
        name = path.relative_to(root)
        if not path.is_file() or NOT_OURS.search(str(name)):
            continue
        if str(name) not in OURS and path.suffix not in C_LIKE | TEXT:
            continue
        files += 1
        found[area_of(name)]
        for line, prose in prose_of(path, path.read_text(errors="replace")):
            flat = re.sub(r"\n[ \t]*(?:#+ |> |\* )?[ \t]*", "\n", prose).replace("\n", " ")
            plain = re.sub(r"\n[ \t]*(?:#+ |> |\* )?[ \t]*", "\n", prose)
            for match in PATTERN.finditer(flat):
                found[area_of(name)].append((str(name), line + plain.count("\n", 0, match.start()), match.group(0)))
    assert files > 1000, f"only {files} files were found: the search is broken"
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    table = root / "tests/layout/words.txt"
    found = count(root)
    if "--list" in sys.argv:
        for place in found[sys.argv[sys.argv.index("--list") + 1]]:
            print("%s:%d: %s" % place)
        return 0
    rows = [line.split(maxsplit=2) for line in table.read_text().splitlines()]
    allowed = {area: int(number) for area, number, *_ in rows}
    reasons = {area: reason[0] for area, _, *reason in rows if reason}
    reason = sys.argv[sys.argv.index("--raise-with-reason") + 1] if "--raise-with-reason" in sys.argv else ""
    if reason or "--update" in sys.argv:
        for area, places in found.items():
            if reason and len(places) > allowed.get(area, 0):
                reasons[area] = reason
            elif len(places) > allowed.get(area, 0):
                continue  # fails below
            allowed[area] = len(places)
        table.write_text("".join(f"{area} {number} {reasons.get(area, '')}".rstrip() + "\n"
                                 for area, number in sorted(allowed.items()) if area in found))
    failed = False
    for area in sorted(found.keys() | allowed.keys()):
        places, most = found.get(area, []), allowed.get(area, 0)
        if len(places) == most and area in allowed:
            continue
        failed = True
        if len(places) > most:
            print(f"{area}: {len(places)} phrases to avoid, {most} allowed (CONTRIBUTING.md, \"Words\"):")
            print("".join("  %s:%d: %s\n" % place for place in places[:40]), end="")
        else:
            print(f"{area}: {len(places)} phrases to avoid, the table says {most}. "
                  "Run: tests/layout/words.py . --update")
    return failed


sys.exit(main())
