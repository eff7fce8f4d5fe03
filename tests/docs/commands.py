#!/usr/bin/python3
"""The documents' commands and examples against the program.

usage: commands.py SOURCE_FOLDER GPUREADY BUILD_FOLDER

Every `gpuready` command line in a document names a command and options that --help has, and every option of
every command is named in a document. The blocks of RUN are run, each in an empty folder; what they print is
compared where the document shows it. JSON examples are valid by the schema that they name.
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

SOURCE, PROGRAM, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
DOCUMENTS = sorted([*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md"), *SOURCE.glob("examples/*/README.md")])
# First line of a block -> the exit codes that its last command may have here, where the machine decides.
RUN = {
    "BITNET_GPU_FAKE=cuda,rocm gpuready detect": {0},
    "# everything that detect, doctor and check would read": {0, 1, 4},
    "$ gpuready doctor --replay tests/machines/driver-library-mismatch/machine.json": {1},
    "# the library too; run.sh builds only gpuready and gpuready-guest": {0},
}


def blocks(path):
    """Fenced blocks as (language, text)."""
    return re.findall(r"(?ms)^```(\w*)\n(.*?)^```", path.read_text())


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

    def test_blocks_run(self):
        done = set()
        for path in DOCUMENTS:
            for _, block in blocks(path):
                first = block.splitlines()[0]
                if first in RUN:
                    done.add(first)
                    with self.subTest(path.name, block=first):
                        self.run_block(block, RUN[first])
        self.assertEqual(set(RUN) - done, set(), "no document has these blocks")

    def run_block(self, block, codes):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(PROGRAM, f"{folder}/gpuready")
            os.symlink("/bin/true", f"{folder}/my_program")
            for name in ("tests", "examples"):
                os.symlink(SOURCE / name, f"{folder}/{name}")
            script = block
            shown = None
            if block.startswith("$ "):
                first, _, shown = block.partition("\n")
                script = first[2:]
            # The tree is built, and its prefix is not the machine's.
            script = script.replace("scripts/build.sh release", "true").replace("build/release", str(BUILD))
            script = script.replace("/opt/gpuready", f"{folder}/prefix")
            done = subprocess.run(["bash", "-eu" if codes == {0} else "-u", "-c", script], cwd=folder, text=True,
                                  capture_output=True, timeout=300,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "NO_COLOR": "1"})
            self.assertIn(done.returncode, codes, done.stdout + done.stderr)
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
