#!/usr/bin/python3
"""The documents' commands and examples against the program.

usage: commands.py SOURCE_FOLDER GPUREADY BUILD_FOLDER

Every `gpuready` command line in a document names a command and options that --help has, and every option of
every command is named in a document. Each shell block is run in an empty folder, and what it prints is compared where
the document shows it, or blocks.py says why not. JSON examples are valid by the schema that they name.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from jsonschema import Draft202012Validator, RefResolver

sys.dont_write_bytecode = True  # nothing beside the sources
from blocks import NOT_RUN, RUN

SOURCE, PROGRAM, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
NOT_SHELL = {"json", "python", "text", "toml", "yaml"}  # the languages of other blocks
DOCUMENTS = sorted([*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md"), *SOURCE.glob("examples/*/README.md")])
# What precedes a block: commands that fail are listed in a file.
PRELUDE = """set -Eeuo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
{ eval "$BEFORE"; } >&2
set +e
trap 'printf "%s %s\\n" "$?" "${BASH_COMMAND//[[:space:]]/ }" >>"$FAILED"' ERR
"""


def blocks(path):
    """Fenced blocks as (language, text)."""
    return re.findall(r"(?ms)^ *```([^\n`]*)\n(.*?)^ *```", path.read_text())


def run(*command, **options):
    return subprocess.run([PROGRAM, *command], capture_output=True, text=True, timeout=60, **options)


def command_tree():
    """{("vm", "drivers"): (options, subcommands)} as --help tells it."""
    tree, todo = {}, [()]
    while todo:
        words = todo.pop()
        text = run(*words, "--help", env={**os.environ, "COLUMNS": "80"}).stdout
        _, _, tail = text.partition("Subcommands:")
        names = re.findall(r"(?m)^  ([a-z][\w-]*) ", tail.partition("Exit codes")[0])
        options = set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", "\n".join(
            line[:line.find("  ", 3)] if "  " in line[3:] else line
            for line in text.splitlines() if re.match(r"  -", line))))
        tree[words] = (options, names)
        todo += [(*words, name) for name in names]
    return tree


TREE = command_tree()


def commands_of(path):
    """Each command line of ours in a document: [words]."""
    text = path.read_text()
    pieces = [line for _, block in blocks(path) for line in re.sub(r"\\\n\s*", " ", block).splitlines()]
    pieces += re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"(?ms)^```.*?^```", "", text))
    for piece in pieces:
        piece = re.sub(r"'[^']*'|(^|\s)#.*", " ", piece)
        for part in re.split(r"&&|\||;|\$\(", piece):
            match = re.match(r"(?:\$ |eval \"|[A-Z_]+=\S*\s+)*(?:\S*/)?gpuready (.*)", part.strip())
            if match:
                yield match.group(1).split()


class Commands(unittest.TestCase):
    def test_commands_and_options_exist(self):
        seen = 0
        for path in DOCUMENTS:
            for words in commands_of(path):
                with self.subTest(path.name, command=" ".join(words)):
                    chain = ()
                    while words and words[0] in TREE[chain][1]:
                        chain, words = (*chain, words[0]), words[1:]
                    if not chain and words and re.fullmatch(r"[a-z][\w-]*", words[0]):
                        self.assertIn(words[0], {"__probe", "__worker", "is"}, "no such command")
                        continue
                    options = TREE[chain][0] | (TREE[("check",)][0] if not chain else set())
                    for word in words:
                        word = re.match(r"-{1,2}[a-z][\w-]*|", word).group(0)
                        if word:
                            self.assertIn(word, options)
                    seen += 1
        self.assertGreater(seen, 100, "the commands were not found")

    def test_every_option_is_named_in_a_document(self):
        text = "\n".join(path.read_text() for path in DOCUMENTS)
        named = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text))
        self.assertGreater(len(TREE), 40, "the commands were not found")
        for chain, (options, _) in sorted(TREE.items()):
            missing = {option for option in options - named if option.startswith("--")}
            self.assertEqual(missing, set(), " ".join(chain))

    def test_every_time_takes_a_unit(self):
        seen = 0
        for chain in sorted(TREE):
            text = run(*chain, "--help", env={**os.environ, "COLUMNS": "80"}).stdout
            self.assertNotRegex(text, r"(?m)^  (-\w,)?--[\w-]+ (MS|SECONDS|MINUTES|HOURS|DAYS)\b", " ".join(chain))
            for option in re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+) TIME\b", text):
                with self.subTest(" ".join(chain), option=option):
                    done = run(*chain, option, "1m", "--help")  # values are read first
                    if done.returncode != 0:
                        self.assertRegex(done.stderr, r"must be from .* s to .* s")
                    seen += 1
        self.assertGreater(seen, 30, "the options were not found")

    def test_each_shell_block_is_run_or_has_a_reason(self):
        for path in DOCUMENTS:
            name = str(path.relative_to(SOURCE))
            run, not_run = RUN.get(name, {}), NOT_RUN.get(name, {})
            shell = [block for language, block in blocks(path) if language not in NOT_SHELL]
            for block in shell:
                rows = [start for start in [*run, *not_run] if block.startswith(start)]
                with self.subTest(name, block=block.splitlines()[0]):
                    self.assertEqual(len(rows), 1, "a block has one row in blocks.py")
                    if rows[0] in run:
                        self.run_block(block, run[rows[0]])
            for start in [*run, *not_run]:
                with self.subTest(name, row=start):
                    self.assertTrue(any(block.startswith(start) for block in shell), "no block begins like this")
        self.assertEqual({*RUN, *NOT_RUN} - {str(path.relative_to(SOURCE)) for path in DOCUMENTS}, set())

    def run_block(self, block, row):
        script, shown = block, None
        if block.startswith("$ "):
            script, _, shown = block[2:].partition("\n")
            script += "\n"
        for old, new in row.instead.items():
            self.assertIn(old, script, "blocks.py replaces it")
            script = script.replace(old, new)
        self.assertNotIn("&&", script, "which would hide a failure: write two lines")
        with tempfile.TemporaryDirectory() as folder:
            for target in PROGRAM, PROGRAM.with_name("gpuready-guest"), SOURCE / "tests", SOURCE / "examples":
                os.symlink(target, f"{folder}/{target.name}")
            os.mkdir(f"{folder}/tmp")
            failed = pathlib.Path(folder, "tmp/failed")
            failed.touch()
            env = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": folder, "TMPDIR": f"{folder}/tmp", "NO_COLOR": "1",
                   "SOURCE": str(SOURCE), "BUILD": str(BUILD), "BEFORE": row.before, "FAILED": str(failed)}
            done = subprocess.run(["bash", "-c", f"{PRELUDE}{script}\ntrue"], cwd=folder, env=env, timeout=120,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            failures = [line.split(" ", 1) for line in failed.read_text().splitlines()]
            for code, command in failures:
                allowed = [codes for part, codes in row.fails.items() if part in command]
                self.assertIn(int(code), sum(allowed, ()), f"{command}\n{done.stdout}{done.stderr}")
            for part, codes in row.fails.items():
                self.assertTrue(0 in codes or any(part in command for _, command in failures), f"{part} succeeded")
            if shown is not None:
                took = re.compile(r"took [\d.]+ \w+")
                self.assertEqual(took.sub("took", done.stdout).strip(), took.sub("took", shown).strip())

    def test_the_version_is_that_of_the_project(self):
        version = re.search(r"project\(gpuready VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(run("--version").stdout.split()[:2], ["gpuready", version])
        self.assertIn(f"gpuready {version}", run("__pages", "gpuready.1").stdout)

    def test_json_examples_are_valid(self):
        schemas = {schema["$id"]: schema
                   for schema in (json.loads(path.read_text()) for path in (SOURCE / "schema").glob("*.schema.json"))}
        names = {json.dumps(schema["properties"].get("schema", {}).get("const")): schema for schema in schemas.values()}
        seen = 0
        for path in DOCUMENTS:
            for language, block in blocks(path):
                if language != "json":
                    continue
                document = json.loads(block)
                with self.subTest(path.name):
                    schema = names[json.dumps(document.get("schema"))]
                    resolver = RefResolver(schema["$id"], schema, store=schemas)
                    errors = [f"{error.json_path}: {error.message}" for error in
                              Draft202012Validator(schema, resolver=resolver).iter_errors(document)]
                    self.assertEqual(errors, [])
                    seen += 1
        self.assertGreater(seen, 0)

    def test_links_lead_somewhere(self):
        for path in DOCUMENTS + sorted(SOURCE.glob("docs/decisions/*.md")):
            text = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", path.read_text())
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"https?:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = path.parent / name if name else path
                with self.subTest(path.name, link=target):
                    self.assertTrue(file.exists())
                    if anchor and file.suffix == ".md":
                        self.assertIn(anchor, anchors(file.read_text()))


def anchors(text):
    """What GitHub makes of headings, and what `<a id>` names."""
    found = set(re.findall(r'<a id="([^"]+)"', text))
    for heading in re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```", "", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


if __name__ == "__main__":
    os.environ.pop("GPUREADY_FAKE", None)
    unittest.main(argv=sys.argv[:1], verbosity=1)
