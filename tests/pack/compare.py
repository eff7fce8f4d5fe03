#!/usr/bin/env python3
"""Compares `gpuready pack inspect` with cuobjdump, file by file: the architectures that each names, its
time and its memory. Used by real.sh."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time


def run(command):
    """Standard output, seconds, peak memory in MB of one child."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = child.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    return output, time.monotonic() - start, usage.ru_maxrss / 1024


def ours(gpuready, path):
    output, seconds, memory = run([gpuready, "pack", "inspect", str(path), "--json", "-"])
    document = json.loads(output)
    contained, hidden = set(), set()
    for file in document["files"]:
        for carrier in file["carriers"]:
            for code in carrier["codes"]:
                if code["kind"] in ("cubin", "ptx"):
                    into = contained if carrier["carrier"] == "fat_binary" else hidden
                    into.add(re.sub(r"^compute_", "ptx_", code["target"]))
    return contained, hidden, seconds, memory


def theirs(judge, path):
    """What `cuobjdump -all -lelf -lptx` names: sm_90a of ELF files, ptx_90 of PTX."""
    output, seconds, memory = run([judge, "-all", "-lelf", "-lptx", str(path)])
    found = set()
    for kind, arch in re.findall(r"(ELF|PTX) file\s+\d+:\s.*?\bsm_(\d+[af]?)\.(?:cubin|ptx)", output):
        found.add(("sm_" if kind == "ELF" else "ptx_") + arch)
    why = "" if found else output.strip().splitlines()[-1][:80] if output.strip() else "said nothing"
    return found, why, seconds, memory


def compare(gpuready, judge, package, folder, figures):
    for path in sorted(pathlib.Path(folder).rglob("*.so*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size < 100_000:
            continue
        path.read_bytes() if path.stat().st_size < 1 << 20 else subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL)
        contained, hidden, seconds, memory = ours(gpuready, path)
        if not contained and not hidden:
            continue
        judged, why, judge_seconds, judge_memory = theirs(judge, path)
        plain = lambda names: {name.rstrip("f") for name in names}  # -lelf leaves the family's suffix out
        missed = plain(judged) - plain(contained | hidden)
        more = plain(contained | hidden) - plain(judged)
        verdict = "missed" if missed else "refused" if not judged else "more" if more else "same"
        row = [package, path.name, path.stat().st_size, f"{seconds:.3f}", f"{memory:.0f}", f"{judge_seconds:.3f}",
               f"{judge_memory:.0f}", verdict, " ".join(sorted(missed or more)), why]
        with open(figures, "a") as out:
            out.write("\t".join(map(str, row)) + "\n")
        print(*row, sep="  ", flush=True)


def total(figures):
    rows = [line.rstrip("\n").split("\t") for line in open(figures)]
    size = sum(int(row[2]) for row in rows)
    mine, judge = sum(float(row[3]) for row in rows), sum(float(row[5]) for row in rows)
    count = lambda verdict: sum(row[7] == verdict for row in rows)
    print(f"{len(rows)} files, {size / 1e9:.2f} GB: {count('same')} name the same, {count('more')} more than cuobjdump, "
          f"{count('refused')} that it refuses, {count('missed')} missed")
    print(f"gpuready {size / mine / 1e9:.2f} GB/s, at most {max(float(row[4]) for row in rows):.0f} MB of memory; "
          f"cuobjdump {size / judge / 1e6:.0f} MB/s, {max(float(row[6]) for row in rows):.0f} MB: {judge / mine:.0f} times")
    return 1 if count("missed") else 0


if sys.argv[1] == "--sum":
    sys.exit(total(sys.argv[2]))
compare(*sys.argv[1:])
