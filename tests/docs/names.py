#!/usr/bin/python3
"""What comments and documents name exists: files (`plan.h`, `docs/pack.md`), functions (`diagnose()`) and constants
(`kLimit`; "`kLimit` in `src/area/rules.cc`": in that file).

usage: names.py SOURCE_FOLDER

A file is one of the project's whose path ends so; a function is a name that code or a string holds. What
belongs to others (a kernel's source file, a system call) is in names_of_others.txt.
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
C_LIKE = {".cc", ".h", ".hpp", ".c", ".cu", ".cuh", ".comp"}
TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<code>R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*")""", re.S | re.X)
FILE = re.compile(r"(?<![\w/.*{}~:>-])((?:[\w.-]+/)*[\w.-]*\w\.(?:h|hpp|cc|c|cu|cuh|py|sh|md|awk|cmake|txt))(?![\w/*{}-]|\.\w)")
CONSTANT = re.compile(r"(?<![\w.:/-])`?(k[A-Z][a-z]\w*)\b`?(?:\s+in\s+`([\w/]+\.\w+)`)?")
FUNCTION = re.compile(r"(?<![\w:.>~@$-])((?:\w+::)*~?[a-z]\w{3,})\(\)")
FOLDERS = ("src", "include", "tests", "docs", "scripts", "cmake", "adapters", "examples", "benchmarks", "schema",
           "packaging", "bindings")

paths = [path for folder in FOLDERS for path in (SOURCE / folder).rglob("*") if path.is_file()]
paths += [path for path in SOURCE.iterdir() if path.is_file()]
known_files = {"/" + str(path.relative_to(SOURCE)) for path in paths}
suffixes = {name[index + 1:] for name in known_files for index, letter in enumerate(name) if letter == "/"}
others = set((SOURCE / "tests/docs/names_of_others.txt").read_text().split())

code, code_of = set(), {}  # the words; by file
comments = []  # (path, line, text)
for path in sorted(paths):
    name = str(path.relative_to(SOURCE))
    if path.suffix == ".md" and not name.startswith("docs/examples"):
        text = path.read_text()
        comments.append((name, 1, re.sub(r"(?s)```.*?```", lambda block: "\n" * block.group(0).count("\n"), text)))
    elif path.suffix in C_LIKE:
        text = path.read_text(errors="replace")
        code_of[name] = set(re.findall(r"\w+", TOKEN.sub(lambda m: "" if m["comment"] else m.group(0), text)))
        code |= code_of[name]
        if not name.startswith("tests/"):
            comments += [(name, text.count("\n", 0, m.start()) + 1, m.group(0)) for m in TOKEN.finditer(text) if m["comment"]]
    elif path.suffix in {".py", ".sh", ".rs", ".awk", ".cmake"}:
        code |= set(re.findall(r"\w+", path.read_text(errors="replace")))

problems, used, looked = [], set(), 0
for name, line, text in comments:
    for match in FILE.finditer(text):
        word = re.sub(r"^(\.\.?/)+", "", match.group(1))
        looked += 1
        if word in suffixes or re.fullmatch(r".*[A-Z]{4,}.*", word) and word.upper() == word:
            continue
        if word in others:
            used.add(word)
            continue
        problems.append(f"{name}:{line + text.count(chr(10), 0, match.start())}: no file {word}")
    for match in CONSTANT.finditer(text):
        word, file = match.groups()
        looked += 1
        if word not in code or file and not any(word in words for path, words in code_of.items() if ("/" + path).endswith("/" + file)):
            problems.append(f"{name}:{line + text.count(chr(10), 0, match.start())}: no constant {word}{' in ' + file if file else ''}")
    for match in FUNCTION.finditer(text):
        word = match.group(1)
        looked += 1
        if set(re.findall(r"\w+", word)) <= code:
            continue
        if word in others:
            used.add(word)
            continue
        problems.append(f"{name}:{line + text.count(chr(10), 0, match.start())}: no function {word}()")
problems += [f"names_of_others.txt: nothing names {word}" for word in sorted(others - used)]
if looked < 500:
    problems.append("the comments were not understood")
print("\n".join(problems))
sys.exit(1 if problems else 0)
