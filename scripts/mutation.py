"""Plausible mistakes, one at a time: which of them do the tests notice?

Functions that decide, and tables that they decide by, are found with libclang. Changes to them (comparison, condition,
constant, dropped call, early return) are drawn by a seed and compiled into one build, where GPUREADY_MUTANT selects
one. Every test, or suite of tests, runs once without a mutant and records the mutants that it reaches. Then each mutant runs the tests
that reach it, quick ones first, until one fails. docs/building.md explains the results.
"""
import argparse
import copy
import fnmatch
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import clang.cindex as cindex
from clang.cindex import CursorKind as Kind

cindex.Config.set_library_file(os.environ["GPUREADY_LIBCLANG"])

SOURCE = Path(__file__).resolve().parent.parent
BASE = SOURCE / "build/release"
WORK = SOURCE / "build/mutation"  # src/ and build/ are mounted over the tree's own; reached/ is all that tests may write to

# Where no survivor is accepted.
PROTECTED = re.compile("|".join(fnmatch.translate(line) for line in (SOURCE / "scripts/protected.txt").read_text().splitlines()
                                if line and not line.startswith("#")))
LEFT_OUT = re.compile(r"src/kernels/(cuda|hip|vulkan)/|/c_api|main\.cc$|apple|metal"
                      r"|report/.*(html|terminal|markdown|text)|cli/(man_pages|option_text|terminal|command_line)")  # decide nothing
OTHER_TESTS = re.compile(r"(layout|docs|package|spirv|schema|examples?|ptx|ptx_bench|ptx_ternary)[._]")  # of more than the code
LABELS = {"full", "aarch64", "ptx"}

LITERALS = (Kind.INTEGER_LITERAL, Kind.CXX_BOOL_LITERAL_EXPR)
FUNCTIONS = (Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR)
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPERATORS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal_to", "!=": "not_equal_to"}

# A mutant may be code that the compiler warns of.
IGNORED = ["parentheses", "bool-compare", "tautological-compare", "type-limits", "unused-variable", "unused-parameter",
           "unused-value", "unused-function", "unused-but-set-variable", "logical-not-parentheses", "bool-operation",
           "int-in-bool-context", "narrowing", "sign-compare", "unused-const-variable", "return-type"]
INCLUDE = b'#include "base/mutant.h"\n#line 1\n'
HEADER = "#pragma once\n" + "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in IGNORED) + r"""
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
#include <functional>
struct GpureadyMutants {
  int chosen = 0;
  char* reached = nullptr;  // a byte a mutant
  GpureadyMutants() {
    if (const char* text = std::getenv("GPUREADY_MUTANT")) chosen = std::atoi(text);
    const char* path = std::getenv("GPUREADY_REACHED");
    const int file = path != nullptr ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void* memory = ::mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) reached = static_cast<char*>(memory);
    ::close(file);
  }
};
inline const GpureadyMutants& gpuready_mutants() {
  static const GpureadyMutants mutants;
  return mutants;
}
inline bool gpuready_reached(int number, bool differs = true) {
  if (differs && gpuready_mutants().reached != nullptr) gpuready_mutants().reached[number] = 1;
  return differs;
}
inline bool gpuready_mutant(int number) {
  gpuready_reached(number);
  return gpuready_mutants().chosen == number;
}
// A comparison that is another one in the mutant: reached where the two differ.
template <class Old, class New, class Left, class Right>
bool gpuready_compared(int number, const Left& left, const Right& right) {
  if (gpuready_mutants().chosen == number) return New{}(left, right);
  const bool result = Old{}(left, right);
  if (gpuready_mutants().reached != nullptr) gpuready_reached(number, result != New{}(left, right));
  return result;
}
// && or || with a mutant of it: its left side, its right side, or the other operator ('l', 'r', 'o'). Reached where
// they differ or might: what was not evaluated is not evaluated to find out.
template <bool And, char New, class Left, class Right>
bool gpuready_joined(int number, Left left_side, Right right_side) {
  const bool chosen = gpuready_mutants().chosen == number;
  if (chosen && New == 'r') return right_side();
  const bool left = left_side();
  if (chosen && New == 'l') return left;
  if (chosen) return And ? left || right_side() : left && right_side();
  if (left != And) {  // decided already
    gpuready_reached(number, New != 'l');
    return left;
  }
  const bool right = right_side();
  gpuready_reached(number, New != 'r' && right != left);
  return right;
}
"""
CLANG_FLAGS = ["-std=c++23", "-DNDEBUG", '-DGPUREADY_VERSION="0"', '-DGPUREADY_LEFT_OUT=""', "-Wno-everything", "-Wno-c++11-narrowing",
               f"-I{SOURCE}/src", f"-I{SOURCE}/src/products", f"-I{SOURCE}/include", f"-I{BASE}/generated"]
PRECOMPILED = ["nlohmann/json.hpp", "fmt/format.h", "algorithm", "expected", "functional", "map", "memory", "vector"]


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def put(path, text):
    """Written only if it differs, so that the build knows what changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_bytes() != text:
        path.write_bytes(text)


class Source:
    """One source file, parsed, and the changes that could be made to it."""

    def __init__(self, name):
        self.name, self.path = name, SOURCE / name
        self.text = self.path.read_bytes()
        self.flags = CLANG_FLAGS + (["-march=sapphirerapids", "-include", str(WORK / "mutant.h")] if "kernels_" in name
                                    else ["-include-pch", str(WORK / "headers.pch")])
        self.unit = cindex.Index.create().parse(str(self.path), args=self.flags)
        self.functions, self.bodies = [], []
        self.look_for_functions(self.unit.cursor)

    def wrong(self, changes):
        """The lines that do not compile with these changes."""
        self.unit.reparse([(str(self.path), applied(self.text, changes))])
        return [d.location.line for d in self.unit.diagnostics if d.severity >= 3]

    def draw(self, count, rng):
        """`count` changes: functions first, then changes of them; not two in overlapping places."""
        picked, tried = [], []
        for _ in range(6 if self.functions else 0):
            for _ in range(8 * count):
                change = rng.choice(rng.choice(self.functions))
                if len(picked) < count and not re.match(r"[A-Z][A-Z_]+\(", change["old"]) and not any(
                        c["start"] < max(change["end"], change["start"] + 1) and change["start"] < max(c["end"], c["start"] + 1)
                        for c in tried):
                    tried.append(change)
                    picked.append(dict(change, edits=change["forms"][0], forms=change["forms"][1:]))
            lines = self.wrong(picked)
            if not lines:
                return picked
            # Each on a wrong line takes its next form, or goes.
            bad = [c for c in picked if any(c["line"] <= line <= c["line"] + c["old"].count("\n") for line in lines)]
            picked = [c for c in picked if c not in bad] + [dict(c, edits=c["forms"][0], forms=c["forms"][1:]) for c in bad if c["forms"]]
            if not bad:
                break
        return [c for c in picked if not self.wrong([c])]

    def here(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name == str(self.path)

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text_of(self, cursor):
        return self.text[slice(*self.span(cursor))].decode()

    def look_for_functions(self, cursor):
        for child in cursor.get_children():
            if not self.here(child):
                continue
            if child.kind in FUNCTIONS and child.is_definition():
                changes = list(self.changes(child))
                if any(c["kind"] in ("comparison", "condition") for c in changes):
                    self.functions.append(changes)
            elif child.kind == Kind.VAR_DECL:  # a table, or a constant
                changes = [dict(c, table=True) for c in self.constants(child, child.spelling, self.no_constant(child))]
                changes += [c for body in self.lambdas(child) for c in self.walk(body, child.spelling, ())]
                if changes:
                    self.functions.append(changes)
            elif child.kind != Kind.STATIC_ASSERT:
                self.look_for_functions(child)

    def no_constant(self, cursor):
        """The edit that lets the program, not the compiler, evaluate a table or a function."""
        start, end = self.span(cursor)
        new = b"const" if cursor.kind != Kind.FUNCTION_DECL and cursor.kind != Kind.CXX_METHOD else b"inline"
        found = re.search(rb"\bconstexpr\b", self.text[start:end].split(b"{")[0].split(b"=")[0])
        return [(start + found.start(), start + found.end(), new.decode())] if found else []

    def change(self, kind, function, cursor, new, forms, besides=(), span=None):
        start, end = span or self.span(cursor)
        old = self.text[start:end].decode()
        # Lines keep their numbers, so that a compiler's error names the change.
        forms = [" ".join(form.split("\n")) + "\n" * old.count("\n") for form in forms]
        return {"kind": kind, "file": self.name, "function": function, "line": self.text.count(b"\n", 0, start) + 1,
                "start": start, "end": end, "old": old, "new": new, "forms": [[(start, end, form), *besides] for form in forms]}

    def constants(self, cursor, function, besides):
        if cursor.kind in LITERALS:
            text = self.text_of(cursor)
            if re.fullmatch(r"\d+|true|false", text):  # no macro
                new = {"true": "false", "false": "true"}.get(text, f"({text} + 1)")
                yield self.change("constant", function, cursor, new, [f"(::gpuready_mutant(@N@) ? {new} : {text})"], besides)
        for child in cursor.get_children():
            if self.here(child) and child.kind != Kind.LAMBDA_EXPR:
                yield from self.constants(child, function, besides)

    def lambdas(self, cursor):
        for child in cursor.get_children():
            if child.kind == Kind.LAMBDA_EXPR:
                yield from (c for c in child.get_children() if c.kind == Kind.COMPOUND_STMT)
            elif self.here(child):
                yield from self.lambdas(child)

    def changes(self, function):
        body = next((c for c in function.get_children() if c.kind == Kind.COMPOUND_STMT), None)
        if body is None or self.text_of(body)[:1] != "{":  # or "= default"
            return
        besides = self.no_constant(function)
        start = self.span(body)[0] + 1
        if not besides:
            self.bodies.append(start)
        if len(list(body.get_children())) > 1 and "auto" not in function.result_type.spelling and function.kind != Kind.CONSTRUCTOR:
            new = "return;" if function.result_type.kind == cindex.TypeKind.VOID else "return {};"
            yield self.change("early return", function.spelling, function, new, [f" if (::gpuready_mutant(@N@)) {new}"], besides, (start, start))
        yield from self.walk(body, function.spelling, besides)

    def of_operator(self, cursor, function, besides):
        sides = list(cursor.get_children())
        left, right = sides[0], sides[-1]  # an overloaded operator is between them
        sign = self.text[self.span(left)[1]:self.span(right)[0]].decode().strip()
        left, right, old = self.text_of(left), self.text_of(right), self.text_of(cursor)
        if sign in SWAPPED:
            new = f"({left}) {SWAPPED[sign]} ({right})"
            yield self.change("comparison", function, cursor, new, [
                f"::gpuready_compared<std::{OPERATORS[sign]}<>, std::{OPERATORS[SWAPPED[sign]]}<>>(@N@, ({left}), ({right}))",
                f"(::gpuready_mutant(@N@) ? ({new}) : ({old}))"], besides)
        elif sign in ("&&", "||"):
            other = "||" if sign == "&&" else "&&"
            for letter, new in (("o", f"({left}) {other} ({right})"), ("l", f"static_cast<bool>({left})"),
                                ("r", f"static_cast<bool>({right})")):
                lambdas = ", ".join(f"[&] {{ return static_cast<bool>({side}); }}" for side in (left, right))
                precise = f"::gpuready_joined<{'true' if sign == '&&' else 'false'}, '{letter}'>(@N@, {lambdas})"
                forms = [precise] if "TRY" not in old else []
                yield self.change("condition", function, cursor, new, [*forms, f"(::gpuready_mutant(@N@) ? ({new}) : ({old}))"], besides)

    def walk(self, cursor, function, besides):
        for child in cursor.get_children():
            if not self.here(child) or child.kind == Kind.STATIC_ASSERT:
                continue
            if child.kind == Kind.BINARY_OPERATOR or (child.kind == Kind.CALL_EXPR and child.spelling[8:] in SWAPPED):
                yield from self.of_operator(child, function, besides)
            if child.kind == Kind.IF_STMT and self.text_of(child).startswith("if"):  # and no macro's
                for part in child.get_children():
                    if part.kind in (Kind.COMPOUND_STMT, Kind.VAR_DECL, Kind.DECL_STMT):
                        continue
                    if part.kind.is_expression():
                        text = self.text_of(part)
                        yield self.change("condition", function, part, f"!({text})",
                                          [f"(::gpuready_mutant(@N@) != static_cast<bool>({text}))"], besides)
                    break
            if child.kind == Kind.CALL_EXPR and cursor.kind == Kind.COMPOUND_STMT:
                yield self.change("dropped call", function, child, "", [f"if (!::gpuready_mutant(@N@)) {self.text_of(child)}"], besides)
            if child.kind in LITERALS and cursor.kind != Kind.INIT_LIST_EXPR:
                yield from self.constants(child, function, besides)
            inner = besides
            if child.kind == Kind.DECL_STMT:
                inner = [*besides, *[e for c in child.get_children() if c.kind == Kind.VAR_DECL for e in self.no_constant(c)]]
            yield from self.walk(child, function, inner)


def applied(text, changes):
    """The source with all of these changes, each selected by its number. An edit may be of several changes."""
    edits = {(start, end, piece.replace("@N@", str(c.get("number", 1)))) for c in changes for start, end, piece in c["edits"]}
    for start, end, piece in sorted(edits, reverse=True):
        text = text[:start] + piece.encode() + text[end:]
    return text


def draw_from(arguments):
    """What one file gives to the draw; in a process of its own. Kept, since the draw is repeated to see survivors killed."""
    name, count, seed = arguments
    key = json.dumps([name, count, seed, (SOURCE / name).read_text(), HEADER])
    kept = WORK / "drawn" / hashlib.sha256(key.encode()).hexdigest()
    if kept.exists():
        return json.loads(kept.read_text())
    source = Source(name)
    changes = source.draw(count, random.Random(f"{seed} {name}"))
    for change in changes:
        del change["forms"]
        # A table is reached where a function of its file is.
        if change.pop("table", False):
            change["edits"] = [*change["edits"], *((start, start, " ::gpuready_reached(@N@);") for start in source.bodies)]
    put(kept, json.dumps(changes).encode())
    return changes


def draw(count, seed, only, per_file, areas):
    """`count` changes: areas if so many are wanted, files by their size, and at most `per_file` of each."""
    rng = random.Random(seed)
    names = [n for n in run(["git", "ls-files", "src/*.cc"], cwd=SOURCE).stdout.split()
             if not LEFT_OUT.search(n) and n.count("/") > 1 and re.search(only, n)]
    size = {n: (SOURCE / n).stat().st_size for n in names}
    if areas:
        of = {}
        for name in names:
            of[area_of(name)] = of.get(area_of(name), 0) + size[name]
        wanted = sorted(of, key=lambda a: rng.random() ** (1 / of[a]))[-areas:]
        names = [n for n in names if area_of(n) in wanted]
    names.sort(key=lambda n: -rng.random() ** (1 / size[n]))
    put(WORK / "mutant.h", HEADER.encode())
    put(WORK / "headers.h", ("".join(f"#include <{n}>\n" for n in PRECOMPILED) + '#include "mutant.h"\n').encode())
    clang = Path(os.environ["GPUREADY_LIBCLANG"]).parent.parent / "bin/clang++"
    run([str(clang), *CLANG_FLAGS, "-x", "c++-header", str(WORK / "headers.h"), "-o", str(WORK / "headers.pch")], check=True)
    chosen = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        while names and len(chosen) < count:
            wave = max(1, (count - len(chosen)) // per_file)
            for changes in pool.map(draw_from, [(n, per_file, seed) for n in names[:wave]]):
                chosen += changes
            names = names[wave:]
    del chosen[count:]
    for number, change in enumerate(chosen, 1):
        change["number"] = number
    return chosen


class Place:
    """A mount namespace where src and build/release are the mutants'. For tests all but this build is read-only,
    since a mutant that runs as root could damage the machine; each run has a /tmp and processes of its own, which end with it."""

    SETUP = r"""set -e
root=$1 kind=$2 work=$1/build/mutation
mount --make-rprivate /
mounts=$(awk '$2 !~ "^/(proc|dev)(/|$)" { print $2 }' /proc/self/mounts)
mount --bind "$work/src" "$root/src"
mount --bind "$work/build" "$root/build/release"
if [ "$kind" = tests ]; then
  mount --bind "$work/reached" "$work/reached"
  for mount in $mounts "$root/src"; do mount -o remount,bind,ro "$mount" 2>/dev/null || true; done
fi
echo ready
exec cat"""
    # 8 GiB of memory and files of 2 GiB, for a mutant that never stops.
    APART = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             'ulimit -v 8388608; ulimit -f 4194304; keep=; case $0 in /tmp/*) mount --rbind "$0" /mnt; keep=1 ;; esac; '
             'mount -t tmpfs none /tmp; if [ "$keep" ]; then mkdir -p "$0"; mount --rbind /mnt "$0"; fi; '
             'mkdir /tmp/here; cd /tmp/here; exec "$@"', str(SOURCE)]

    def __init__(self, kind):
        self.process = subprocess.Popen(["unshare", "--mount", "sh", "-c", self.SETUP, "sh", str(SOURCE), kind],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            print(f"mutation: cannot make a mount namespace: {self.process.stderr.read()}", file=sys.stderr)
            sys.exit(77)
        self.enter = ["nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt"]

    def run(self, command, **options):
        return run([*self.enter, *command], **options)

    def run_apart(self, command, environment, limit):
        """What it wrote, and its exit status or None."""
        process = subprocess.Popen([*self.enter, *self.APART, *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True, text=True, errors="replace")
        try:
            return process.communicate(timeout=limit)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return "timed out", None


def build(chosen, tests_wanted):
    """The copy of the build with all changes, and what ctest lists there; what g++ does not take, though libclang did, is left out."""
    if not (WORK / "build").exists():
        run(["cp", "-a", "--reflink=auto", str(BASE), str(WORK / "copying")], check=True)
        run(["cp", "-a", str(SOURCE / "src"), str(WORK / "src")], check=True)
        (WORK / "copying").rename(WORK / "build")
    (WORK / "reached").mkdir(exist_ok=True)
    place = Place("build")
    result = place.run(["cmake", "-DGPUREADY_TESTS=ON", "-DGPUREADY_LOGIC_TESTS=ON", str(BASE)])
    while result.returncode == 0:
        names = set(run(["git", "ls-files", "-co", "--exclude-standard", "src"], cwd=SOURCE).stdout.split())
        put(WORK / "src/base/mutant.h", HEADER.encode())
        for path in (WORK / "src").glob("**/*"):
            name = str(path.relative_to(WORK))
            if path.is_file() and name not in names and name != "src/base/mutant.h":
                path.unlink()
        for name in filter(lambda n: (SOURCE / n).is_file(), names):
            changes = [c for c in chosen if c["file"] == name]
            text = (SOURCE / name).read_bytes()
            put(WORK / name, INCLUDE + applied(text, changes) if changes else text)
        targets = place.run(["ninja", "-C", str(BASE), "-t", "targets", "all"]).stdout
        programs = [p for p in sorted(set(re.findall(r"^tests/(test_\w+): CXX_EXE", targets, re.M))) if re.search(tests_wanted, p)]
        result = place.run(["ninja", "-k", "0", "-C", str(BASE), *[f"tests/{p}" for p in programs if p != "test_precompiled"],
                            "gpuready", "tests/fake_drivers/all"])
        if result.returncode == 0:
            return chosen, place.run(["ctest", "--test-dir", str(BASE), "--show-only=json-v1"]).stdout
        wrong = {(file, int(line)) for file, line in re.findall(r"(src/\S+?\.cc):(\d+):\d+: error", result.stdout)}
        kept = [c for c in chosen if not any((c["file"], c["line"] + n) in wrong for n in range(c["old"].count("\n") + 1))]
        if len(kept) == len(chosen):
            break
        print("mutation: left out, since the compiler refuses them: " + ", ".join(show(c) for c in chosen if c not in kept))
        chosen, result.returncode = kept, 0
    sys.exit("\n".join(result.stdout.splitlines()[-40:]))


def gtest_command(program, cases):
    return [program, "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + ":".join(cases)]


class Test:
    """What ctest runs: cases of one suite of a GoogleTest program, or a command."""

    def __init__(self, description):
        self.name, self.command = description["name"], description["command"]
        properties = {p["name"]: p["value"] for p in description.get("properties", [])}
        self.labels = set(properties.get("LABELS", []))
        self.environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
        self.limit = properties.get("TIMEOUT", 300)
        self.skipped = properties.get("SKIP_RETURN_CODE", 0)
        self.wanted = properties.get("PASS_REGULAR_EXPRESSION", [])
        self.cases = [c.split("=", 1)[1] for c in self.command if c.startswith("--gtest_filter=")]
        self.program = self.command[0] if self.cases else None
        self.time = 0
        self.reached = []

    def suite(self):
        return (self.program, self.cases[0].rsplit(".", 1)[0], str(self.environment)) if self.program else self.name

    def of(self, cases):
        """The same for these cases."""
        test = copy.copy(self)
        test.cases, test.name = cases, cases[0] if len(cases) == 1 else cases[0].rsplit(".", 1)[0]
        test.command = gtest_command(self.program, cases)
        return test

    def passes(self, output, status):
        return any(re.search(w, output) for w in self.wanted) if self.wanted else status in (0, self.skipped)


class Tests:
    """All tests that may notice a mutant, and who reaches which."""

    def __init__(self, listed, wanted, seconds):
        self.place, self.seconds = Place("tests"), seconds
        tests = [Test(t) for t in json.loads(listed[listed.index("{"):])["tests"] if "command" in t]
        self.tests = [t for t in tests if not t.labels & LABELS and not OTHER_TESTS.match(t.name) and
                      re.search(wanted, Path(t.program).name if t.program else t.name)]
        suites = {}
        for test in self.tests:
            suites.setdefault(test.suite(), []).append(test)
        self.tests = [tests[0].of([c for t in tests for c in t.cases]) if tests[0].program else tests[0] for tests in suites.values()]
        self.free, self.lock = [], threading.Lock()

    def run(self, command, environment, limit, mutant=0, reached=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("GPUREADY")}
        env.update(environment)
        env.update({"GPUREADY_MUTANT": str(mutant)} if mutant else {}, **({"GPUREADY_REACHED": str(reached)} if reached else {}))
        return self.place.run_apart(command, env, limit)

    def record(self, test):
        """Runs it without a mutant, and returns what passes of it, with the mutants that it reaches."""
        with self.lock:
            path = self.free.pop() if self.free else WORK / "reached" / str(time.monotonic_ns())
        path.write_bytes(bytes(65536))
        begin = time.monotonic()
        passed = test.passes(*self.run(test.command, test.environment, test.limit, reached=path))
        test.time = time.monotonic() - begin
        test.reached = [number for number, byte in enumerate(path.read_bytes()) if byte]
        with self.lock:
            self.free.append(path)
        if passed:
            return [test]
        if len(test.cases) > 1:
            return [t for case in test.cases for t in self.record(test.of([case]))]
        print(f"mutation: left out, since without a mutant it fails here: {test.name}", flush=True)
        return []

    def record_all(self, pool):
        self.reach = {}
        for tests in pool.map(self.record, self.tests):
            for test in tests:
                for number in test.reached:
                    self.reach.setdefault(number, []).append(test)

    def batches(self, mutant):
        """The tests that reach it, quick ones first; cases of one program share a process for a second or so."""
        batches, of = [], {}
        for test in sorted(self.reach.get(mutant, []), key=lambda t: t.time):
            key = (test.program, str(test.environment))
            batch = of.get(key) if test.program else None
            if batch is None or sum(t.time for t in batch) > 1 or sum(len(t.cases) for t in batch) > 500:
                batch = of[key] = []
                batches.append(batch)
            batch.append(test)
        return sorted(batches, key=lambda b: sum(t.time for t in b))

    def killer(self, mutant):
        """The test that fails with it, or None."""
        spent = 0
        for batch in self.batches(mutant):
            spent += sum(t.time for t in batch)
            if spent > self.seconds and spent > sum(t.time for t in batch):
                break  # the slowest ones are not worth it
            limit = 30 + 8 * sum(t.time for t in batch)
            test = batch[0]
            if not test.program:
                if not test.passes(*self.run(test.command, test.environment, limit, mutant)):
                    return test.name
                continue
            output, status = self.run(gtest_command(batch[0].program, [c for t in batch for c in t.cases]), batch[0].environment, limit, mutant)
            if status != 0:
                failed = re.search(r"^\[  FAILED  \] ([^\s,]+)", output, re.M)
                return failed[1] if failed else f"{Path(batch[0].program).name}, which ended with {status}"
        return None

    def judge(self, change):
        change["tests"] = len(self.reach.get(change["number"], []))
        change["killed_by"] = self.killer(change["number"])
        fate = change["killed_by"] or f"SURVIVED, {change['tests'] or 'none'} reached it"
        print(f"{change['number']:4} {fate:50} {show(change)}", flush=True)


def area_of(name):
    """As the program of its tests is called: test_AREA."""
    parts = name.split("/")
    if parts[1] != "products":
        return parts[1]
    return "ternary_device" if parts[2] == "ternary" and parts[3] in ("device", "suite") else parts[2]


def show(change):
    old = " ".join(change["old"].split())[:60]
    new = " ".join(change["new"].split())[:60] or "(nothing)"
    what = {"early return": "returns at once", "dropped call": f"drops {old}"}.get(change["kind"], f"{old} -> {new}")
    return f"{change['file']}:{change['line']} {change['function']}: {what}"


def line_of(change):
    """As in tests/mutation/equivalent.txt, where a reason follows."""
    return " | ".join([change["file"], change["function"], " ".join(change["old"].split()), " ".join(change["new"].split()), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="", help="files whose path matches this expression")
    parser.add_argument("--protected", action="store_const", dest="only", const=PROTECTED.pattern, help="files of protected areas")
    parser.add_argument("--areas", type=int, default=0, help="of so many areas, which the seed chooses, with their own tests and those of the command line")
    parser.add_argument("--per-file", type=int, default=3, help="at most so many of one file (default 3)")
    parser.add_argument("--tests", default="", help="test programs and other tests whose name matches this expression")
    parser.add_argument("--seconds", type=float, default=120, help="tests for each mutant that took so long without it (default 120)")
    parser.add_argument("--least", type=float, default=85, help="percent that must be killed (default 85)")
    parser.add_argument("--tolerate", action="store_true", help="survivors in protected areas are named and do not fail")
    parser.add_argument("--survivors", action="store_true", help="only those that survived the last run of this draw; the rate is that of both")
    parser.add_argument("--list", action="store_true", help="show the changes and run nothing")
    options = parser.parse_args()

    begin = time.monotonic()

    def step(what):
        print(f"== {what} ({time.monotonic() - begin:.0f} s)", flush=True)

    WORK.mkdir(parents=True, exist_ok=True)
    step(f"draw {options.count} with seed {options.seed}")
    chosen = draw(options.count, options.seed, options.only, options.per_file, options.areas)
    if options.list:
        for change in chosen:
            print(change["number"], show(change))
        return 0
    step("build")
    if options.areas and not options.tests:
        options.tests = rf"^test_({'|'.join({area_of(c['file']) for c in chosen})})$|^cli\."
    chosen, listed = build(chosen, options.tests)
    tests = Tests(listed, options.tests, options.seconds)
    known = (SOURCE / "tests/mutation/equivalent.txt").read_text().splitlines()
    judged = [c for c in chosen if not any(line.startswith(line_of(c)) for line in known)]
    killed = []
    if options.survivors:
        last = json.loads((WORK / "results.json").read_text())
        killed = [c for c in last if c["killed_by"]]
        lived = {show(c) for c in last} - {show(c) for c in killed}
        judged = [c for c in judged if show(c) in lived]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        step(f"{len(tests.tests)} tests without a mutant")
        tests.record_all(pool)
        step(f"{len(judged)} mutants")
        list(pool.map(tests.judge, judged))
    step("done")
    judged += killed
    survivors = [c for c in judged if not c["killed_by"]]
    (WORK / "results.json").write_text(json.dumps(judged, indent=1))
    print(f"\n{'area':16} killed of")
    for area in sorted({area_of(c["file"]) for c in judged}):
        of = [c for c in judged if area_of(c["file"]) == area]
        print(f"{area:16} {sum(bool(c['killed_by']) for c in of):6} {len(of)}")
    rate = 100 * (len(judged) - len(survivors)) / max(1, len(judged))
    print(f"\nseed {options.seed}: {len(judged) - len(survivors)} of {len(judged)} killed ({rate:.0f}%); "
          f"{len(chosen) - len(judged)} equivalent")
    protected = [c for c in survivors if PROTECTED.search(c["file"])]
    for change in survivors:
        print("survived where none may:" if change in protected else "survived:", show(change))
    return 1 if (protected and not options.tolerate) or rate < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
