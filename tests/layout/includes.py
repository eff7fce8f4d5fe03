#!/usr/bin/env python3
"""Every include stays within the tables of docs/architecture.md. The core includes no product, and a product includes
another only where PRODUCTS_OF_PRODUCTS says so. No folder of src/ has more than 40 files, and no source of the program
is named as a test is. Usage: includes.py SOURCE_FOLDER"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
source = root / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
ROW = re.compile(r"^\| `src/([\w/*]+)/` \|.*\| ([^|]+) \|$", re.M)
PRODUCTS_OF_PRODUCTS = {("bench", "ternary")}  # bench times ternary's kernels
MOST_FILES = 40

products = {folder.name for folder in (source / "products").iterdir()}
core = {folder.name for folder in source.iterdir() if folder.is_dir()} - {"products"}

# Area -> areas it may include. An area is a folder below src/ or src/products/: base, pack, pack/report. In the table
# `core` means every area of the core, and `*` the product, except for its report/ and cli/.
rows = {}
for folder, allowed in ROW.findall((root / "docs/architecture.md").read_text()):
    folder = folder.removeprefix("products/")
    for product in products if "*" in folder else [""]:
        rows[folder.replace("*", product)] = set(re.findall(r"[\w/*]+", allowed)) - {"-"}
table = {}
for area, words in rows.items():
    product = area.split("/")[0]
    rules = {name for name in rows if name.split("/")[0] == product and not name.endswith(("/report", "/cli"))}
    table[area] = {name for word in words
                   for name in (core if word == "core" else rules if word == "*" else {word.replace("*", product)})}


def area_of(path):
    """The area of a file, given as it is included: the longest row that it is below."""
    parts = path.split("/")
    for length in range(len(parts) - 1, 0, -1):
        if "/".join(parts[:length]) in table:
            return "/".join(parts[:length])
    return None


def product_of(area):
    return area.split("/")[0] if area.split("/")[0] in products else None


problems = []
for missing in sorted((core | products) - set(table)):
    problems.append(f"src/ has {missing}, and the table of docs/architecture.md does not")
for area, allowed in table.items():
    own = product_of(area)
    for name in sorted(allowed):
        other = product_of(name)
        if name not in table:
            problems.append(f"the table's row of {area} names {name}, which is not an area")
        elif other and not own:
            problems.append(f"the table lets {area} include {name}, but the core includes no product")
        elif other and other != own and (own, other) not in PRODUCTS_OF_PRODUCTS:
            problems.append(f"the table lets {area} include {name}: another product")

checked, files = 0, collections.Counter()
for path in sorted(source.rglob("*")):
    if not path.is_file():
        continue
    name = path.relative_to(source)
    files[name.parent] += 1
    if path.stem.endswith("_test"):
        problems.append(f"{name} is not a test, so its name must not end as a test's does")
    area = area_of(str(name).removeprefix("products/"))
    if path.suffix not in {".cc", ".h", ".cu", ".cuh", ".comp", ".glsl"} or area is None:
        continue
    for included in INCLUDE.findall(path.read_text()):
        checked += 1
        if "/" not in included or included.startswith("gpuready/"):  # generated, GLSL beside the file; the public API
            continue
        target = area_of(included)
        if target not in table[area] | {area}:
            problems.append(f"src/{name} includes {included}: {area} may not include {target}")
for folder, count in sorted(files.items()):
    if count > MOST_FILES:
        problems.append(f"src/{folder} has {count} files, more than {MOST_FILES}: split it by subject")

print("\n".join(problems) or f"{checked} includes of {len(table)} areas are within the tables")
sys.exit(1 if problems or checked < 500 else 0)
