#!/usr/bin/env python3
"""Each pattern of scripts/protected.txt takes a source file. protected.py SOURCE_FOLDER."""
import fnmatch
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
files = [str(path.relative_to(root)) for path in (root / "src").rglob("*") if path.suffix in (".cc", ".h")]
patterns = [line for line in (root / "scripts/protected.txt").read_text().splitlines() if line and not line.startswith("#")]
assert len(files) > 1000 and len(patterns) > 20, f"only {len(files)} files and {len(patterns)} patterns were found"
empty = [pattern for pattern in patterns if not fnmatch.filter(files, pattern)]
for pattern in empty:
    print(f"scripts/protected.txt: no source file is {pattern}", file=sys.stderr)
sys.exit(bool(empty))
