#!/usr/bin/python3
"""What the source decides and other files repeat is the same there: the version, counts, and the limit of the binary.

usage: facts.py SOURCE_FOLDER

A new copy of the version fails until it is listed or taken from CMakeLists.txt. A count is written as a number or a
word, and COUNTS says what it counts.
"""
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"

# Files that may hold these digits, and why.
VERSION_COPIES = {
    "CMakeLists.txt": "the version",
    "bindings/rust/Cargo.toml": "cargo reads it there",  # compared below
}
OTHER_VERSIONS = re.compile(
    r"docs/examples/"  # reports of runs that were
    r"|docs/pack\.md|src/products/pack/cli/command_pack_init\.cc"  # the default of other packages
    r"|tests/(unit|cli|fuzz|machines|pack|package)/")  # documents that tests make up


def text(path):
    return (SOURCE / path).read_text(errors="replace")


def enumerators(path, name):
    body = re.search(rf"enum class {name}\b[^{{]*{{(.*?)}};", text(path), re.S).group(1)
    return len(re.findall(r"\w+", re.sub(r"//[^\n]*|=[^,}]*", "", body)))


def words(pattern, path):
    return len(re.findall(pattern, text(path), re.M))


COUNTS = [  # file, what stands there, how many there are
    ("CHANGELOG.md", r"(\w+) faults of drivers, kernels and toolkits", lambda: len(json.loads(text("src/doctor/known_faults.json"))["faults"])),
    ("CHANGELOG.md", r"(\w+) classes of injected faults", lambda: enumerators("src/health/fault.h", "FaultClass")),
    ("CHANGELOG.md", r"(\w+) obligations for each GPU", lambda: enumerators("include/gpuready/obligation.h", "ObligationKind")),
    ("CHANGELOG.md", r"and (\w+) findings:\s+ports down", lambda: words(r"\.id = \"", "src/doctor/causes/causes_network.cc")),
    ("docs/building.md", r"the (\w+) code objects for AMD GPUs", lambda: len(re.findall(
        r"gfx\w+", re.sub(r"#.*", "", re.search(r"set\(\w*TARGETS\b(.*?)\)", text("src/kernels/kernels.cmake"), re.S).group(1))))),
]


def tracked():
    """All files of the project; without git, those of a source archive."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0:
        return listed.stdout.split("\0")[:-1]
    return [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*")
            if path.is_file() and path.relative_to(SOURCE).parts[0] not in (".git", "build", "dist")]


problems = []
version = re.search(r"project\(gpuready VERSION ([\d.]+)", text("CMakeLists.txt")).group(1)
most_bytes = int(re.search(r"\bmost_bytes=(\d+)", text("scripts/check_binary.sh")).group(1))
most = re.compile(rf"\b{most_bytes}\b|\b{most_bytes:,}\b|(?<![\d.])\b{most_bytes / 1e6:g} MB\b")
files = tracked()
for name in files:
    path = SOURCE / name
    if not path.is_file() or b"\0" in path.read_bytes()[:4096]:
        continue
    for number, line in enumerate(text(name).splitlines(), 1):
        place = f"{name}:{number}: "
        for match in re.finditer(r"(?<![\d.])\d+\.\d+\.\d+(?![\d.]|\w)", line):
            ours = match.group(0) == version or re.search(r"gpuready\W?(v|version)?\W{0,2}$", line[:match.start()], re.I)
            if ours and name not in VERSION_COPIES and not OTHER_VERSIONS.match(name):
                problems.append(f"{place}repeats the version ({match.group(0)}): take it from CMakeLists.txt, or leave it out")
        if name != "scripts/check_binary.sh" and not name.startswith("tests/") and most.search(line):
            problems.append(f"{place}repeats the limit of the binary, which scripts/check_binary.sh holds")
crate = re.search(r'(?m)^version = "(.*)"', text("bindings/rust/Cargo.toml")).group(1)
if crate != version:
    problems.append(f"bindings/rust/Cargo.toml: the version is {crate}, and {version} in CMakeLists.txt")
for name, pattern, count in COUNTS:
    found, right = re.findall(pattern, text(name)), count()
    if len(found) != 1:
        problems.append(f"{name}: not once \"{pattern}\"")
    elif (int(found[0]) if found[0].isdigit() else WORDS.split().index(found[0].lower())) != right:
        problems.append(f"{name}: \"{found[0]}\" for \"{pattern}\": there are {right}")
if len(files) < 1000:
    problems.append("the files were not found")
print("\n".join(problems))
sys.exit(1 if problems else 0)
