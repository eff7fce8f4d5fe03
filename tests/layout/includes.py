#!/usr/bin/env python3
"""No source of the program is named as a test is, and every include stays within the table of docs/architecture.md: an area includes itself, the public
headers, and the areas in the table's last column. Usage: includes.py SOURCE_FOLDER"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
ROW = re.compile(r"^\| `src/(\w+)/` \|.*\| ([^|]+) \|$", re.M)

table = {}
for area, allowed in ROW.findall((root / "docs/architecture.md").read_text()):
    table[area] = None if allowed == "every area" else set(re.findall(r"\w+", allowed))

problems = []
areas = {folder.name for folder in (root / "src").iterdir() if folder.is_dir()}
if areas != set(table):
    problems.append(f"the table and src/ list different areas: {sorted(areas ^ set(table))}")
for area, allowed in table.items():
    for unknown in (allowed or set()) - areas:
        problems.append(f"the table's row of {area} names {unknown}, which is no folder of src/")

checked = 0
for path in sorted((root / "src").rglob("*")):
    if path.stem.endswith("_test"):
        problems.append(f"{path.relative_to(root)} is no test: its name must not end as a test's does")
    area = path.relative_to(root / "src").parts[0]
    if not path.is_file() or path.suffix not in {".cc", ".h", ".cu", ".cuh", ".comp", ".glsl"}:
        continue
    if area not in table or table[area] is None:
        continue
    for included in INCLUDE.findall(path.read_text()):
        checked += 1
        if "/" not in included:  # generated, or GLSL beside the file
            continue
        target = included.split("/")[0]
        if target not in table[area] | {area, "gpuready"}:
            problems.append(f"{path.relative_to(root)} includes {included}: {area} may not include {target}")

print("\n".join(problems) or f"{checked} includes of {len(table)} areas are within the table")
sys.exit(1 if problems or checked < 500 else 0)
