#!/usr/bin/env python3
"""Children are started, signalled and waited for in src/jobs/ alone. Usage: children.py SOURCE_FOLDER"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]) / "src"
# Calls of functions, not of methods.
CALL = re.compile(
    r"(?<![\w.>])(posix_spawnp?|v?fork|clone3?|exec(?:l|lp|le|v|vp|ve|vpe)|fexecve|wait[34]|waitpid|waitid|popen"
    r"|system|kill|killpg|helper_path|prctl)\s*\(")

for call in ("int pid = fork();", "::kill(pid, SIGTERM)", "system (x)", "return execvp(a, b);", "if (waitpid(pid, 0, 0))"):
    assert CALL.search(call), call
for other in ("child.kill();", "job->system(x)", "read_system(host)", "PathKind::system, 1", "clone_of(x)"):
    assert not CALL.search(other), other

inside, problems = 0, []
for path in sorted(root.rglob("*")):
    if path.suffix not in {".cc", ".h", ".c"}:
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not CALL.search(line.split("//")[0]):
            continue
        if path.relative_to(root).parts[0] == "jobs":
            inside += 1
        else:
            problems.append(f"{path.relative_to(root.parent)}:{number}: {line.strip()}: only src/jobs/ does this")

print("\n".join(problems) or f"{inside} calls, all in src/jobs/")
sys.exit(1 if problems or inside < 10 else 0)
