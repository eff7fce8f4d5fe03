"""Plausible mistakes, one at a time: which of them do the tests notice?

Functions that decide are found with libclang, and changes to them (comparison, condition, constant, dropped
call, early return) are drawn by a seed. All changes that can be chosen at run time are compiled into one build,
where GPUREADY_MUTANT selects one. A change of what the compiler evaluates is made in its file alone, which is
compiled again. Each mutant runs the tests of its area until one fails. docs/building.md explains the results.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import clang.cindex as cindex
from clang.cindex import CursorKind as Kind

cindex.Config.set_library_file(os.environ["GPUREADY_LIBCLANG"])

SOURCE = Path(__file__).resolve().parent.parent
TREE = SOURCE / "build/mutation"  # a copy of the sources, and its build
BUILD = TREE / "build/release"

# Tests of an area: programs test_<name>, then command-line tests that match.
TESTS = {
    "base": (["base", "value", "jobs", "host", "machine", "doctor", "pack", "bench", "report"], ""),
    "value": (["value", "machine", "report"], ""),
    "jobs": (["jobs", "host", "pack"], "zombie|nothing_running|bad_stacks"),
    "host": (["host", "machine", "pack", "report", "cli"], "record|redact|replay|reports_are|outputs|privileged"),
    "probe": (["probe", "machine"], "gpu_test|no_gpu"),
    "machine": (["machine", "doctor", "report", "pack", "vm"], "record|redact|require_gpu|fake"),
    "doctor": (["doctor", "report", "vm"], "ignored|baseline|vm_doctor"),
    "device": (["device", "health", "ternary_device"], "selftest"),
    "health": (["health", "report", "cli"], "selftest|injected|gpu_test|only_the_chosen|named_test|fitness|vulkan"),
    "ternary": (["ternary", "ternary_device"], "ternary"),
    "ternary_device": (["ternary_device"], "ternary"),
    "pack": (["pack", "report"], "pack"),
    "bench": (["bench", "report"], "bench"),
    "vm": (["vm", "report"], "vm_|guest_"),
    "report": (["report", "cli", "health"], "exit|json|80_columns|ignored|require|gpu_test|interrupt"),
    "cli": (["cli", "report"], "."),
}
# Where no survivor is accepted: proof of idleness, manifests and signatures, redaction, exit rules, verdicts, undo.
PROTECTED = re.compile(
    r"src/(vm/(open_files|inventory|operations|journal|perform|plan_attach|plan_detach|readiness)"
    r"|pack/release/(manifest|minisign|key_chain)|machine/redaction|host/(redact|secret|pseudonym)"
    r"|report/(exit_rules|conclude)|health/\w+/conclude|health/test\.)")
LEFT_OUT = re.compile(r"src/kernels/(cuda|hip|vulkan)/|/c_api|main\.cc$|memory_storage|failing_storage|apple|metal"
                      r"|report/.*(html|terminal|markdown|text)|cli/(man_pages|option_text|terminal|command_line)")  # decide nothing

SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


class Source:
    """One source file, parsed, and the changes that could be made to it."""

    index = None

    def __init__(self, name):
        self.name = name
        self.path = SOURCE / name
        self.text = self.path.read_bytes()
        self.unit = self.parse(self.text)
        self.functions = []
        self.look_for_functions(self.unit.cursor)

    def parse(self, text):
        if Source.index is None:
            Source.index = cindex.Index.create()
        flags = ["-std=c++23", "-DNDEBUG", '-DGPUREADY_VERSION="0"', '-DGPUREADY_LEFT_OUT=""',
                 f"-I{SOURCE}/src", f"-I{SOURCE}/include", f"-I{SOURCE}/build/release/generated"]
        if "kernels_" in self.name:
            flags.append("-march=sapphirerapids")
        return Source.index.parse(str(self.path), args=flags, unsaved_files=[(str(self.path), text)])

    def here(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name == str(self.path)

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def look_for_functions(self, cursor):
        for child in cursor.get_children():
            if not self.here(child):
                continue
            if child.kind in (Kind.FUNCTION_DECL, Kind.CXX_METHOD) and child.is_definition():
                changes = list(self.changes(child))
                if changes and any(c["kind"] in ("comparison", "condition") for c in changes):
                    self.functions.append((child.spelling, changes))
            elif child.kind == Kind.VAR_DECL:  # a table, or a constant
                changes = list(self.constants(child, False))
                if changes:
                    self.functions.append((child.spelling, changes))
            else:
                self.look_for_functions(child)

    def change(self, kind, cursor, new, run_time, span=None):
        start, end = span or self.span(cursor)
        return {"kind": kind, "file": self.name, "line": cursor.extent.start.line, "start": start, "end": end,
                "old": self.text[start:end].decode(), "new": new, "run_time": run_time}

    def operator_of(self, cursor):
        """The operator's text and the spans of both operands; None where a macro or an overload hides it."""
        sides = [s for s in cursor.get_children()]
        if len(sides) != 2:
            return None
        (a, b), (c, d) = self.span(sides[0]), self.span(sides[1])
        between = self.text[b:c].decode().strip()
        return (between, (a, b), (c, d)) if b <= c else None

    def constants(self, cursor, run_time):
        if cursor.kind == Kind.INTEGER_LITERAL:
            start, end = self.span(cursor)
            text = self.text[start:end].decode()
            if re.fullmatch(r"\d+", text):
                yield self.change("constant", cursor, f"({text} + 1)", run_time)
        if cursor.kind == Kind.CXX_BOOL_LITERAL_EXPR:
            start, end = self.span(cursor)
            text = self.text[start:end].decode()
            if text in ("true", "false"):
                yield self.change("constant", cursor, "false" if text == "true" else "true", run_time)
        for child in cursor.get_children():
            if self.here(child):
                yield from self.constants(child, run_time)

    def changes(self, function):
        head = self.text[function.extent.start.offset:function.extent.start.offset + 400].decode(errors="replace")
        run_time = "constexpr" not in head.split("{")[0] and "consteval" not in head.split("{")[0]
        body = [c for c in function.get_children() if c.kind == Kind.COMPOUND_STMT]
        if not body:
            return
        statements = list(body[0].get_children())
        if len(statements) > 1 and run_time:
            result = function.result_type.spelling
            if "auto" not in result:
                start = self.span(body[0])[0] + 1
                yield self.change("early return", function, "", True, (start, start))
        yield from self.walk(body[0], run_time)

    def walk(self, cursor, run_time):
        for child in cursor.get_children():
            if not self.here(child):
                continue
            text_of = lambda c: self.text[slice(*self.span(c))].decode()
            if child.kind == Kind.BINARY_OPERATOR or (child.kind == Kind.CALL_EXPR and child.spelling in (
                    "operator==", "operator!=", "operator<", "operator<=", "operator>", "operator>=")):
                parts = None
                sides = list(child.get_children())
                if len(sides) == 3:  # an overloaded operator stands between its operands
                    sides = [sides[0], sides[2]]
                if len(sides) == 2:
                    (a, b), (c, d) = self.span(sides[0]), self.span(sides[1])
                    if b <= c:
                        parts = self.text[b:c].decode().strip(), self.text[a:b].decode(), self.text[c:d].decode()
                if parts and parts[0] in SWAPPED:
                    yield self.change("comparison", child, f"({parts[1]}) {SWAPPED[parts[0]]} ({parts[2]})", run_time)
                elif parts and parts[0] in ("&&", "||"):
                    yield self.change("condition", child, f"({parts[1]}) {'||' if parts[0] == '&&' else '&&'} ({parts[2]})", run_time)
                    yield self.change("condition", child, f"static_cast<bool>({parts[1]})", run_time)
                    yield self.change("condition", child, f"static_cast<bool>({parts[2]})", run_time)
            if child.kind == Kind.IF_STMT:
                for part in child.get_children():
                    if part.kind in (Kind.COMPOUND_STMT, Kind.VAR_DECL, Kind.DECL_STMT):
                        continue
                    if part.kind.is_expression():
                        yield self.change("condition", part, f"!({text_of(part)})", run_time)
                    break
            if child.kind == Kind.CALL_EXPR and cursor.kind == Kind.COMPOUND_STMT and run_time:
                yield self.change("dropped call", child, "", True)
            if child.kind in (Kind.INTEGER_LITERAL, Kind.CXX_BOOL_LITERAL_EXPR) and cursor.kind != Kind.INIT_LIST_EXPR:
                yield from self.constants(child, run_time)
            static = child.kind == Kind.DECL_STMT and re.match(r"(static )?constexpr|static const", text_of(child))
            yield from self.walk(child, run_time and not static)


def applied(text, change, number):
    """The source with one change: selected by its number, or, without a number, for good."""
    start, end = change["start"], change["end"]
    old, new = change["old"], change["new"]
    if change["kind"] == "early return":
        piece = f" if (::gpuready_mutant({number})) GPUREADY_MUTANT_RETURN;" if number else " return {};"
    elif change["kind"] == "dropped call":
        piece = f"if (!::gpuready_mutant({number})) {old}"
    elif number:
        piece = f"(::gpuready_mutant({number}) ? ({new}) : ({old}))"
    else:
        piece = new
    if "GPUREADY_MUTANT_RETURN" in piece:
        piece = piece.replace("GPUREADY_MUTANT_RETURN", "return" if change.get("void") else "return {}")
    return text[:start] + piece.encode() + text[end:]


HEADER = """#pragma once
#include <cstdlib>
inline bool gpuready_mutant(int number) {
  static const int chosen = [] { const char* text = std::getenv("GPUREADY_MUTANT"); return text ? std::atoi(text) : 0; }();
  return chosen == number;
}
"""


def draw(count, seed, only):
    """`count` changes: files by their size, then functions, then changes; not two in overlapping places."""
    rng = random.Random(seed)
    names = [n for n in run(["git", "ls-files", "src/*.cc"], cwd=SOURCE).stdout.split()
             if not LEFT_OUT.search(n) and n.count("/") > 1 and re.search(only, n)]
    weights = [(SOURCE / n).stat().st_size for n in names]
    sources, chosen = {}, []
    tries = 0
    while len(chosen) < count and tries < 20 * count:
        tries += 1
        name = rng.choices(names, weights)[0]
        if name not in sources:
            sources[name] = Source(name)
        source = sources[name]
        if not source.functions:
            continue
        function, changes = rng.choice(source.functions)
        change = dict(rng.choice(changes), function=function)
        if any(c["file"] == name and c["start"] < max(change["end"], change["start"] + 1) and
               change["start"] < max(c["end"], c["start"] + 1) for c in chosen):
            continue
        if change["kind"] == "early return":
            change["void"] = bool(re.search(rb"\bvoid\s+[\w:]*" + function.encode() + rb"\s*\(", source.text))
        text = b'#include "base/mutant.h"\n' + b'#line 1\n' + applied(source.text, change, len(chosen) + 1 if change["run_time"] else 0)
        if any(d.severity >= 3 for d in check(source, text)):
            continue  # it does not compile
        change["number"] = len(chosen) + 1
        chosen.append(change)
        print(f"\rmutation: {len(chosen)} of {count} chosen ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return chosen, sources


def check(source, text):
    header = str(SOURCE / "src/base/mutant.h")
    unit = Source.index.parse(str(source.path), args=["-std=c++23", "-DNDEBUG", '-DGPUREADY_VERSION="0"', '-DGPUREADY_LEFT_OUT=""',
                              f"-I{SOURCE}/src", f"-I{SOURCE}/include", f"-I{SOURCE}/build/release/generated"],
                              unsaved_files=[(str(source.path), text), (header, HEADER)])
    return unit.diagnostics


def copy_tree():
    """The sources as they are, copied only where they differ, so that the build knows what changed."""
    names = run(["git", "ls-files", "-co", "--exclude-standard"], cwd=SOURCE).stdout.split("\n")
    wanted = set()
    for name in filter(None, names):
        if not (SOURCE / name).is_file() or name.startswith("docs/examples"):
            continue
        wanted.add(name)
        put(name, (SOURCE / name).read_bytes(), (SOURCE / name).stat().st_mode)
    put("src/base/mutant.h", HEADER.encode())
    for path in TREE.glob("src/**/*"):
        name = str(path.relative_to(TREE))
        if path.is_file() and name not in wanted and name != "src/base/mutant.h":
            path.unlink()


def put(name, text, mode=0o644):
    path = TREE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)
        path.chmod(mode & 0o777)


def build(targets):
    return run(["ninja", "-C", str(BUILD), *targets], env=dict(os.environ, CCACHE_BASEDIR=str(TREE), CCACHE_NOHASHDIR="1"))


def configure():
    options = ["-DGPUREADY_TESTS=ON", "-DGPUREADY_LOGIC_TESTS=ON", f"-DGPUREADY_IMAGES={SOURCE}/build/release"]
    result = run(["cmake", "--preset", "release", *options], cwd=TREE)
    if result.returncode:
        sys.exit(result.stdout)


class Tests:
    """The tests of an area, as commands; each is run once without a mutant and must pass."""

    def __init__(self):
        self.times = {}

    def of(self, area):
        programs, pattern = TESTS[area]
        commands = [(f"test_{p}", [str(BUILD / f"tests/test_{p}"), "--gtest_brief=1", "--gtest_fail_fast"]) for p in programs]
        if pattern:
            commands.append((f"cli {pattern}", ["ctest", "--test-dir", str(BUILD), "-R", f"^cli\\..*({pattern})", "-LE", "full",
                                                "--stop-on-failure", "-j", "2"]))
        return commands

    def run(self, command, mutant, limit):
        env = {k: v for k, v in os.environ.items() if not k.startswith("GPUREADY")}
        if mutant:
            env["GPUREADY_MUTANT"] = str(mutant)
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return False

    def baseline(self, areas):
        for area in areas:
            for name, command in self.of(area):
                if name in self.times:
                    continue
                begin = time.monotonic()
                if not self.run(command, 0, 1800):
                    sys.exit(f"mutation: {name} fails without a mutant")
                self.times[name] = time.monotonic() - begin

    def killer(self, area, mutant):
        for name, command in self.of(area):
            if not self.run(command, mutant, 30 + 4 * self.times.get(name, 60)):
                return name
        return None


def area_of(change):
    return change["file"].split("/")[1]


def show(change):
    old = " ".join(change["old"].split())[:60]
    new = " ".join(change["new"].split())[:60] or "(nothing)"
    what = {"early return": "returns at once", "dropped call": f"drops {old}"}.get(change["kind"], f"{old} -> {new}")
    return f"{change['file']}:{change['line']} {change['function']}: {what}"


def equivalent():
    """Survivors that change nothing that anybody can observe: lines "file | function | old | new | reason"."""
    known = set()
    for line in (SOURCE / "tests/mutation/equivalent.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            known.add(tuple(part.strip() for part in line.split(" | ")[:4]))
    return known


def key_of(change):
    return (change["file"], change["function"], " ".join(change["old"].split()), " ".join(change["new"].split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="", help="files whose path matches this expression")
    parser.add_argument("--least", type=float, default=85, help="percent that must be killed (default 85)")
    parser.add_argument("--list", action="store_true", help="show the changes and run nothing")
    parser.add_argument("--results", default=str(TREE / "results.json"))
    options = parser.parse_args()

    TREE.mkdir(parents=True, exist_ok=True)
    chosen, sources = draw(options.count, options.seed, options.only)
    if options.list:
        for change in chosen:
            print(change["number"], show(change))
        return 0
    copy_tree()
    by_file = {}
    for change in chosen:
        if change["run_time"]:
            by_file.setdefault(change["file"], []).append(change)
    for name, changes in by_file.items():
        text = sources[name].text
        for change in sorted(changes, key=lambda c: -c["start"]):
            text = applied(text, change, change["number"])
        put(name, b'#include "base/mutant.h"\n#line 1\n' + text)
    configure()
    areas = sorted({area_of(c) for c in chosen})
    targets = sorted({name for a in areas for name, _ in Tests().of(a) if name.startswith("test_")})
    targets += ["gpuready", "fake_drivers/all"]
    result = build(targets)
    if result.returncode:
        sys.exit("\n".join(result.stdout.splitlines()[-40:]))
    tests = Tests()
    tests.baseline(areas)
    for change in chosen:
        area = area_of(change)
        if change["run_time"]:
            change["killed_by"] = tests.killer(area, change["number"])
        else:
            kept = (TREE / change["file"]).read_bytes()
            put(change["file"], applied(sources[change["file"]].text, change, 0))
            own = [name for name, _ in tests.of(area) if name.startswith("test_")]
            failed = build([*own, "gpuready"]).returncode
            change["killed_by"] = "compiler" if failed else tests.killer(area, 0)
            put(change["file"], kept)
        print(f"{change['number']:4} {change['killed_by'] or 'SURVIVED':24} {show(change)}", flush=True)
    known = equivalent()
    judged = [c for c in chosen if c["killed_by"] or key_of(c) not in known]
    survivors = [c for c in judged if not c["killed_by"]]
    killed = len(judged) - len(survivors)
    Path(options.results).write_text(json.dumps(chosen, indent=1))
    print(f"\n{'area':16} killed of")
    for area in areas:
        of = [c for c in judged if area_of(c) == area]
        print(f"{area:16} {sum(bool(c['killed_by']) for c in of):6} {len(of)}")
    print(f"\nseed {options.seed}: {killed} of {len(judged)} killed ({100 * killed / max(1, len(judged)):.0f}%); "
          f"{len(chosen) - len(judged)} equivalent")
    protected = [c for c in survivors if PROTECTED.search(c["file"])]
    for change in protected:
        print("survived where none may:", show(change))
    return 0 if killed >= options.least / 100 * len(judged) and not (protected and options.least >= 85) else 1


if __name__ == "__main__":
    sys.exit(main())
