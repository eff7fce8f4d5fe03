#!/usr/bin/python3
"""docs/fakes-and-variables.md lists the environment variables that the source reads: all, and no other.

usage: variables.py SOURCE_FOLDER

A variable is the literal argument of getenv() or environment(); a literal that begins as our own
variables do; in a file that reads a variable by a name from a table, a literal in capitals; or what a
script that the source holds reads with a default (`${NAME:-...}`).
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
READ = re.compile(r'\b(?:getenv|environment|value_of)\(')
LITERAL_READ = re.compile(r'\b(?:getenv|environment)\(\s*"(\w+)"')
OURS = re.compile(r'"((?:GPUREADY|BITNET|RUNPOD)_[A-Z0-9_]+)"')
IN_A_SCRIPT = re.compile(r"\$\{\{?([A-Z][A-Z0-9_]*):-")
CAPITALS = re.compile(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|LANG)"')
# Names of codes in such files, and the beginning that variables share.
NOT_VARIABLES = re.compile(r"VK_(SUCCESS|ERROR_\w+)|GPUREADY_LIB")


def variables_of_source():
    found = {}
    for path in sorted((SOURCE / "src").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        text = re.sub(r"//[^\n]*", "", path.read_text())
        names = set(LITERAL_READ.findall(text)) | set(OURS.findall(text)) | set(IN_A_SCRIPT.findall(text))
        if READ.search(re.sub(LITERAL_READ, "", text)):
            names |= set(CAPITALS.findall(text))
        for name in names:
            if not NOT_VARIABLES.fullmatch(name):
                found.setdefault(name, path.relative_to(SOURCE))
    return found


def variables_of_table():
    text = (SOURCE / "docs/fakes-and-variables.md").read_text()
    table = text[text.index("| variable |"):]
    return [name for line in table.splitlines()[2:] if line.startswith("|")
            for name in re.findall(r"`(\w+)`", line.split("|")[1])]


source, table = variables_of_source(), variables_of_table()
problems = [f"{name} is read in {path}, and the table lacks it"
            for name, path in sorted(source.items()) if name not in table]
problems += [f"{name} is in the table, and nothing in src/ reads it"
             for name in table if name not in source]
problems += [f"{name} is in the table twice" for name in sorted(set(table)) if table.count(name) > 1]
if len(source) < 40:
    problems.append("the source was not understood")
print("\n".join(f"docs/fakes-and-variables.md: {problem}" for problem in problems))
sys.exit(1 if problems else 0)
