#!/usr/bin/env python3
"""Files are written, renamed and removed through src/host/ (Storage) alone: only there a test can let each
call fail. Usage: writes.py SOURCE_FOLDER"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]) / "src"
# Calls of functions, not of methods.
WRITE = re.compile(
    r"\bO_(?:WRONLY|RDWR|CREAT|TMPFILE|TRUNC|APPEND)\b|\b(?:o|f|basic_o|basic_f)stream\b\s+\w|\bofstream\b|"
    r"(?<![\w.>])(?:fopen|freopen|mkstemp|mkostemp|mkdtemp|mkdir(?:at)?|rmdir|mknod(?:at)?|unlink(?:at)?|rename(?:at2?)?"
    r"|::link|linkat|symlink(?:at)?|truncate|fallocate|mount|umount2?)\s*\("
    r"|filesystem::(?:remove|rename|create|copy|resize|permissions)")
ALLOWED = {  # where, and what it writes instead of files
    "host": "the storage itself",
    "jobs/spawn.cc": "files of the kernel that set a child's limits",
    "main.cc": "/dev/null, in place of a closed descriptor",
    "products/ternary/call_log.cc": "the log of a library that has no Storage, which a variable asks for",
    "products/vm/hot_reset.cc": "nodes of VFIO, which are controlled through their descriptors",
    "products/vm/guest": "the guest's init, a program of its own: it makes the root that others find",
}

for call in ("open(path, O_WRONLY | O_CLOEXEC)", "std::ofstream out(path);", "::unlink(path)", "std::filesystem::remove_all(x)",
             "mkdir(path, 0755)", "fopen(path, \"w\")", "mount(a, b, c, 0, nullptr)"):
    assert WRITE.search(call), call
for other in ("storage.rename(a, b)", "storage->mkdir(a)", "read_link(path)", "host.real_path(a)", "std::ostream& out", "unlink_of(x)"):
    assert not WRITE.search(other), other

seen, problems = 0, []
for path in sorted(root.rglob("*")):
    if path.suffix not in {".cc", ".h", ".c"}:
        continue
    name = path.relative_to(root).as_posix()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not WRITE.search(line.split("//")[0]):
            continue
        if any(name == allowed or name.startswith(allowed + "/") for allowed in ALLOWED):
            seen += 1
        else:
            problems.append(f"src/{name}:{number}: {line.strip()}: files are written through Storage (src/host/storage.h)")

print("\n".join(problems) or f"{seen} places, all where they may be")
sys.exit(1 if problems or seen < 10 else 0)
