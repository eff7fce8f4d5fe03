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
import resource
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
    "kernels": (["kernels", "health", "ternary", "ternary_device"], "selftest|ternary"),
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
    r"src/(vm/(open_files|storage_use|inventory|readiness|operations|journal|known_steps|perform|plan_|clean)"
    r"|pack/release/(manifest|minisign|key_chain)|machine/redaction|host/(redact|secret|token)|jobs/trusted_path"
    r"|report/(exit_rules|conclude)|health/\w+/conclude|health/test\.)")
LEFT_OUT = re.compile(r"src/kernels/(cuda|hip|vulkan)/|/c_api|main\.cc$|memory_storage|failing_storage|apple|metal"
                      r"|report/.*(html|terminal|markdown|text)|cli/(man_pages|option_text|terminal|command_line)")  # decide nothing

LITERALS = (Kind.INTEGER_LITERAL, Kind.CXX_BOOL_LITERAL_EXPR)
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


# A mutant may be code that the compiler warns of.
IGNORED = ["parentheses", "bool-compare", "tautological-compare", "type-limits", "unused-variable", "unused-parameter",
           "unused-value", "unused-function", "unused-but-set-variable", "logical-not-parentheses", "bool-operation", "int-in-bool-context"]
HEADER = "#pragma once\n#include <cstdlib>\n" + "".join(
    f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in IGNORED) + """
inline bool gpuready_mutant(int number) {
  static const int chosen = [] { const char* text = std::getenv("GPUREADY_MUTANT"); return text ? std::atoi(text) : 0; }();
  return chosen == number;
}
"""

# As root a mutant could damage the machine: its tests see it read-only, with a /tmp and processes of their own, which
# end with them. "$0" is what they may write to.
APART = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
         'set -e; mount --make-rprivate /; mount --bind "$0" "$0"; mount -t tmpfs none /tmp; '
         'mount -o remount,bind,ro /; mount -o remount,bind,ro /sys; cd "$0"; exec "$@"', str(TREE)]
MEMORY_BYTES, FILE_BYTES = 8 << 30, 2 << 30  # of a mutant that never stops


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))


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
        Source.index = Source.index or cindex.Index.create()
        flags = ["-std=c++23", "-DNDEBUG", '-DGPUREADY_VERSION="0"', '-DGPUREADY_LEFT_OUT=""',
                 f"-I{SOURCE}/src", f"-I{SOURCE}/include", f"-I{SOURCE}/build/release/generated"]
        if "kernels_" in self.name:
            flags.append("-march=sapphirerapids")
        return Source.index.parse(str(self.path), args=flags, unsaved_files=[
            (str(self.path), text), (str(SOURCE / "src/base/mutant.h"), HEADER)])

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

    def constants(self, cursor, run_time):
        if cursor.kind in LITERALS:
            text = self.text_of(cursor)
            if re.fullmatch(r"\d+|true|false", text):  # no macro
                new = {"true": "false", "false": "true"}.get(text, f"({text} + 1)")
                yield self.change("constant", cursor, new, run_time)
        for child in cursor.get_children():
            if self.here(child):
                yield from self.constants(child, run_time)

    def changes(self, function):
        head = self.text[function.extent.start.offset:function.extent.start.offset + 400].decode(errors="replace")
        run_time = "constexpr" not in head.split("{")[0] and "consteval" not in head.split("{")[0]
        body = [c for c in function.get_children() if c.kind == Kind.COMPOUND_STMT]
        if not body:
            return
        if len(list(body[0].get_children())) > 1 and run_time and "auto" not in function.result_type.spelling:
            start = self.span(body[0])[0] + 1
            new = "return;" if function.result_type.kind == cindex.TypeKind.VOID else "return {};"
            yield self.change("early return", function, new, True, (start, start))
        yield from self.walk(body[0], run_time)

    def of_operator(self, cursor, run_time):
        sides = list(cursor.get_children())
        left, right = sides[0], sides[-1]  # an overloaded operator is between them
        sign = self.text[self.span(left)[1]:self.span(right)[0]].decode().strip()
        left, right = self.text_of(left), self.text_of(right)
        if sign in SWAPPED:
            yield self.change("comparison", cursor, f"({left}) {SWAPPED[sign]} ({right})", run_time)
        elif sign in ("&&", "||"):
            for new in (f"({left}) {'||' if sign == '&&' else '&&'} ({right})", f"static_cast<bool>({left})",
                        f"static_cast<bool>({right})"):
                yield self.change("condition", cursor, new, run_time)

    def walk(self, cursor, run_time):
        for child in cursor.get_children():
            if not self.here(child):
                continue
            if child.kind == Kind.BINARY_OPERATOR or (child.kind == Kind.CALL_EXPR and child.spelling[8:] in SWAPPED):
                yield from self.of_operator(child, run_time)
            if child.kind == Kind.IF_STMT:
                for part in child.get_children():
                    if part.kind in (Kind.COMPOUND_STMT, Kind.VAR_DECL, Kind.DECL_STMT):
                        continue
                    if part.kind.is_expression():
                        yield self.change("condition", part, f"!({self.text_of(part)})", run_time)
                    break
            if child.kind == Kind.CALL_EXPR and cursor.kind == Kind.COMPOUND_STMT and run_time:
                yield self.change("dropped call", child, "", True)
            if child.kind in LITERALS and cursor.kind != Kind.INIT_LIST_EXPR:
                yield from self.constants(child, run_time)
            static = child.kind == Kind.DECL_STMT and re.match(r"(static )?constexpr|static const", self.text_of(child))
            yield from self.walk(child, run_time and not static)


def applied(text, change, number):
    """The source with one change: selected by its number, or, without a number, for good."""
    start, end = change["start"], change["end"]
    old, new = change["old"], change["new"]
    if change["kind"] == "early return":
        piece = f" if (::gpuready_mutant({number})) {new}"
    elif change["kind"] == "dropped call":
        piece = f"if (!::gpuready_mutant({number})) {old}"
    elif number:
        piece = f"(::gpuready_mutant({number}) ? ({new}) : ({old}))"
    else:
        piece = new
    return text[:start] + piece.encode() + text[end:]


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
        text = b'#include "base/mutant.h"\n' + b'#line 1\n' + applied(source.text, change, len(chosen) + 1 if change["run_time"] else 0)
        if any(d.severity >= 3 for d in source.parse(text).diagnostics):
            continue  # it does not compile
        change["number"] = len(chosen) + 1
        chosen.append(change)
    return chosen, sources


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
    return run(["ninja", "-k", "0", "-C", str(BUILD), *targets])


def configure():
    cache = (SOURCE / "build/release/CMakeCache.txt").read_text()
    images = re.search(r"^GPUREADY_IMAGES:PATH=(.+)$", cache, re.M)
    options = ["-DGPUREADY_TESTS=ON", "-DGPUREADY_LOGIC_TESTS=ON",
               f"-DGPUREADY_IMAGES={images[1] if images else SOURCE / 'build/release'}"]
    result = run(["cmake", "--preset", "release", *options], cwd=TREE)
    if result.returncode:
        sys.exit(result.stdout)


def write_switched(chosen, sources):
    """All changes that can be chosen at run time, each behind its number."""
    for name in {c["file"] for c in chosen}:
        text = sources[name].text
        changes = [c for c in chosen if c["file"] == name and c["run_time"]]
        for change in sorted(changes, key=lambda c: -c["start"]):
            text = applied(text, change, change["number"])
        put(name, b'#include "base/mutant.h"\n#line 1\n' + text if changes else text)


def build_switched(chosen, sources, targets):
    """What g++ does not take, though libclang did, is left out."""
    while True:
        write_switched(chosen, sources)
        result = build(targets)
        if result.returncode == 0:
            return chosen
        wrong = set(re.findall(r"^(?:\S*/)?(src/\S+?):(\d+):\d+: error", result.stdout, re.M))
        kept = [c for c in chosen if (c["file"], str(c["line"])) not in wrong]
        if len(kept) == len(chosen):
            sys.exit("\n".join(result.stdout.splitlines()[-40:]))
        chosen = kept


class Tests:
    """The tests of an area, as commands; what fails without a mutant is left out."""

    def __init__(self):
        self.times, self.left_out = {}, {}

    def of(self, area):
        programs, pattern = TESTS[area]
        names = [f"test_{p}" for p in programs] + ([pattern] if pattern else [])
        return [(name, self.command(name, self.left_out.get(name, []))) for name in names]

    def command(self, name, left_out):
        if name.startswith("test_"):
            return [str(BUILD / "tests" / name), "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter=-{':'.join(left_out)}"]
        return ["ctest", "--test-dir", str(BUILD), "-R", f"^cli\\..*({name})", "-LE", "full", "-j", "2", "--stop-on-failure",
                "-E", f"^({'|'.join(map(re.escape, left_out)) or 'none'})$"]

    def run(self, command, mutant=0, limit=1800):
        env = {k: v for k, v in os.environ.items() if not k.startswith("GPUREADY")}
        if mutant:
            env["GPUREADY_MUTANT"] = str(mutant)
        apart = APART if os.geteuid() == 0 else []
        process = subprocess.Popen([*apart, *command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=limited, text=True, errors="replace")
        try:
            return process.communicate(timeout=limit)[0], process.returncode == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return "timed out", False

    def baseline(self, areas):
        for name in dict.fromkeys(name for area in areas for name, _ in self.of(area)):
            self.left_out[name] = []
            while True:
                begin = time.monotonic()
                output, passed = self.run(self.command(name, self.left_out[name]))
                self.times[name] = time.monotonic() - begin
                if passed:
                    break
                failed = re.findall(r"^\[  FAILED  \] ([^\s,]+)|^\s*\d+ - (\S+) \(", output, re.M)
                failed = sorted({a or b for a, b in failed} - set(self.left_out[name]))
                if not failed:
                    sys.exit(f"mutation: {name} fails without a mutant:\n{output[-2000:]}")
                print(f"mutation: left out, since without a mutant it fails: {' '.join(failed)}")
                self.left_out[name] += failed

    def killer(self, area, mutant):
        for name, command in self.of(area):
            if not self.run(command, mutant, 30 + 4 * self.times[name])[1]:
                return name
        return None


def area_of(change):
    return change["file"].split("/")[1]


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
    configure()
    areas = sorted({area_of(c) for c in chosen})
    tests = Tests()
    programs = sorted({name for a in areas for name, _ in tests.of(a) if name.startswith("test_")})
    targets = [*programs, "gpuready", "tests/fake_drivers/all"]
    chosen = build_switched(chosen, sources, targets)
    tests.baseline(areas)
    # Those that are compiled in come last: each build takes the one before away.
    for change in sorted(chosen, key=lambda c: not c["run_time"]):
        if change["run_time"]:
            change["killed_by"] = tests.killer(area_of(change), change["number"])
        else:
            switched = (TREE / change["file"]).read_bytes()
            put(change["file"], applied(sources[change["file"]].text, change, 0))
            failed = build(targets).returncode
            change["killed_by"] = "compiler" if failed else tests.killer(area_of(change), 0)
            put(change["file"], switched)
        print(f"{change['number']:4} {change['killed_by'] or 'SURVIVED':24} {show(change)}", flush=True)
    known = (SOURCE / "tests/mutation/equivalent.txt").read_text().splitlines()
    judged = [c for c in chosen if c["killed_by"] or not any(line.startswith(line_of(c)) for line in known)]
    survivors = [c for c in judged if not c["killed_by"]]
    Path(options.results).write_text(json.dumps(chosen, indent=1))
    print(f"\n{'area':16} killed of")
    for area in areas:
        of = [c for c in judged if area_of(c) == area]
        print(f"{area:16} {sum(bool(c['killed_by']) for c in of):6} {len(of)}")
    rate = 100 * (len(judged) - len(survivors)) / max(1, len(judged))
    print(f"\nseed {options.seed}: {len(judged) - len(survivors)} of {len(judged)} killed ({rate:.0f}%); "
          f"{len(chosen) - len(judged)} equivalent")
    protected = [c for c in survivors if PROTECTED.search(c["file"])]
    for change in protected:
        print("survived where none may:", show(change))
    return 1 if protected or rate < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
