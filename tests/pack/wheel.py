#!/usr/bin/env python3
"""Compares what `gpuready pack inspect` says of a wheel, read as it is, with what it says of the folder that
it unpacks to. Used by real.sh. Usage: wheel.py GPUREADY WHEEL FOLDER"""
import json
import os
import subprocess
import sys


def files_of(gpuready, path, prefix):
    output = subprocess.run([gpuready, "pack", "inspect", path, "--json", "-"], stdout=subprocess.PIPE).stdout
    found = {}
    for file in json.loads(output)["files"]:
        # A wheel's name tells cuDNN's version, of which what runs where depends.
        file.pop("runs_on", None)
        found[file.pop("path").removeprefix(prefix)] = file
    return found


gpuready, wheel, folder = sys.argv[1:]
streamed = files_of(gpuready, wheel, os.path.basename(wheel) + "!")
mapped = files_of(gpuready, folder, "")
wrong = [path for path in sorted(streamed.keys() | mapped.keys()) if streamed.get(path) != mapped.get(path)]
for path in wrong:
    one, other = streamed.get(path) or {}, mapped.get(path) or {}
    print(f"{path}: differs in {[key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]}")
print(f"{os.path.basename(wheel)}: {len(streamed)} files, {len(wrong)} told otherwise than of its folder")
sys.exit(1 if wrong else 0)
