#!/usr/bin/env python3
"""The C interface of include/gpuready/*.h against that of the last release, which abi.txt holds: what a program built
with its headers relies on is still there, unless GPUREADY_ABI_VERSION is another. Layouts are those of the compiler's
debug information. GPUREADY_UPDATE_EXPECTED=1 writes abi.txt (at a release).

usage: abi.py SOURCE CC [KEPT]"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

source, cc = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
kept = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else source / "tests/package/abi.txt"
VERSION = "enumerator GPUREADY_ABI_VERSION"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def entries(dump):
    """{offset: (tag, attributes, children)} of readelf's dump."""
    found, path = {}, []
    for line in dump.splitlines():
        if begin := re.match(r" *<([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)", line):
            depth, offset, entry = int(begin[1], 16), int(begin[2], 16), (begin[3], {}, [])
            path[depth:] = [entry]
            found[offset] = entry
            if depth:
                path[depth - 1][2].append(entry)
        elif path and (attribute := re.match(r" *<[0-9a-f]+> +DW_AT_(\w+) *: (?:\([^)]*\):? *)*(.*?)\s*$", line)):
            path[-1][1][attribute[1]] = attribute[2]
    return found


def interface():
    """{what: how it is laid out}, of functions, structs, their fields and enumerators."""
    headers = [source / "include/gpuready/gpuready.h", *sorted((source / "include/gpuready").glob("*_c.h"))]
    text = "".join(f'#include "{header}"\n' for header in headers)
    with tempfile.TemporaryDirectory() as folder:
        unit, built = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi.o")
        unit.write_text(text)
        plain = run(cc, "-E", "-P", "-I", source / "include", unit)
        names = sorted(set(re.findall(r'visibility\("default"\)\)\)[^;(]*?(\w+)\s*\(', plain)))
        unit.write_text(text + "".join(f"__typeof__({name})* function_{name};\n" for name in names))
        run(cc, "-c", "-gdwarf-4", "-O0", "-fno-eliminate-unused-debug-types", "-I", source / "include", "-o", built, unit)
        found = entries(run("readelf", "--debug-dump=info", "--wide", built))

    def elements(its):  # GCC's form, and clang's
        return int(its["upper_bound"], 0) + 1 if "upper_bound" in its else int(its["count"], 0)

    def type_of(attributes):
        if "type" not in attributes:
            return "void"
        tag, its, children = found[int(re.match("<0x([0-9a-f]+)>", attributes["type"])[1], 16)]
        if tag == "pointer_type":
            return type_of(its) + "*"
        if tag == "const_type":
            return type_of(its) + " const"
        if tag == "array_type":
            return type_of(its) + "".join(f"[{elements(part[1])}]" for part in children)
        if tag == "subroutine_type":
            return f"{type_of(its)}({', '.join(type_of(part[1]) for part in children) or 'void'})"
        return its["name"]

    result = {}
    for tag, its, children in found.values():
        name = its.get("name", "")
        if tag == "structure_type" and name.startswith("gpuready_") and "byte_size" in its:
            result[f"struct {name}"] = f"{its['byte_size']} bytes"
            for _, field, _ in children:
                result[f"field {name}.{field['name']}"] = f"{type_of(field)} at {field['data_member_location']}"
        elif tag == "enumerator" and name.startswith("GPUREADY_"):
            result[f"enumerator {name}"] = its["const_value"]
        elif tag == "variable" and name.startswith("function_"):
            result[f"function {name.removeprefix('function_')}"] = type_of(its).removesuffix("*")
    return result


def may_be(what, before, now):
    """A struct that begins with its `size` may grow; all else stays."""
    return before == now or what.startswith("struct ") and now is not None and \
        f"field {what.removeprefix('struct ')}.size" in old and int(now.split()[0]) > int(before.split()[0])


new = interface()
if sum(what.startswith("function ") for what in new) < 20 or VERSION not in new:
    sys.exit("abi: the headers were not understood")
if os.environ.get("GPUREADY_UPDATE_EXPECTED"):
    kept.write_text("".join(f"{what}: {how}\n" for what, how in sorted(new.items())))
old = dict(line.split(": ", 1) for line in kept.read_text().splitlines())
if old[VERSION] != new[VERSION]:
    sys.exit(0)
changed = [f"{what} was {how} and is {new.get(what, 'missing')}" for what, how in old.items() if not may_be(what, how, new.get(what))]
if changed:
    sys.exit("\n".join(["abi: programs built with the last release would break. Undo this, or raise GPUREADY_ABI_VERSION:", *changed]))
