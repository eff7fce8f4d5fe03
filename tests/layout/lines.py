#!/usr/bin/env python3
"""Lines of documents have at most 140 columns; rows of tables, which Markdown cannot break, at most 300; lines of code
blocks in README.md and docs/ at most 80, unless they are what a command of the block printed. lines.py SOURCE_FOLDER"""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
documents = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("docs/decisions/*.md"), *root.glob("tests/*/README.md"),
             *root.glob("examples/*/README.md"), *root.glob("bindings/*/README.md")]
wide = [f"{path.relative_to(root)}:{number}: {len(line)} columns"
        for path in sorted(documents)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > (300 if line.lstrip().startswith("|") else 140)]


def wide_code(lines):
    """The numbers of lines of code that are too wide. What follows a line "$ command" is its output."""
    inside, state, previous = False, "code", ""
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            inside, state = not inside, "code"
        elif line.startswith("$ "):
            state = "command"
        elif state == "command" and not previous.endswith(("\\", "&&", "|")):
            state = "output"
        if inside and state != "output" and len(line) > 80:
            yield number
        previous = line


long = "x" * 81
assert list(wide_code(["```", long, "```", long])) == [2]
assert list(wide_code(["```", "$ a", long, long, "$ " + long, "```"])) == [5]
assert list(wide_code(["```", "$ a |", long, long, "```"])) == [3]
wide += [f"{path.relative_to(root)}:{number}: code of more than 80 columns"
         for path in (root / "README.md", *sorted(root.glob("docs/*.md")))
         for number in wide_code(path.read_text().splitlines())]
assert len(documents) > 25, "the documents were not found"
print("\n".join(wide))
sys.exit(1 if wide else 0)
