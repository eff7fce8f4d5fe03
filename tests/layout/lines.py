#!/usr/bin/env python3
"""Lines of documents have at most 140 columns; rows of tables, which Markdown cannot break, at most 300.
lines.py SOURCE_FOLDER"""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
documents = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("docs/decisions/*.md"), *root.glob("tests/*/README.md"),
             *root.glob("examples/*/README.md")]
wide = [f"{path.relative_to(root)}:{number}: {len(line)} columns"
        for path in sorted(documents)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > (300 if line.lstrip().startswith("|") else 140)]
assert len(documents) > 25, "the documents were not found"
print("\n".join(wide))
sys.exit(1 if wide else 0)
