#!/usr/bin/python3
"""What commands print, whole: each tests/cli/texts/NAME.txt is a session.

usage: texts.py SOURCE_FOLDER GPUREADY

"$ COMMAND" is run, and the lines up to the next one are its output and, unless 0, "exit N"; "% COMMAND" prepares. All
of a session runs in one empty folder with links to gpuready, gpuready-guest and tests. GPUREADY_UPDATE_EXPECTED=1
writes today's outputs into the files: read the difference.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, PROGRAM = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
# What varies by run, compiler or place; a command's line that goes on is one line.
VARIES = [(r"took [\d.]+ \w+", "took TIME"), (r" in [\d.]+ m?s", " in TIME"), (r"\d{4}-\d\d-\d\dT[\d:]+Z", "DATE"),
          (r" \\\n\s+", " "), (r"RW[\w+/=]{54}", "KEY"), (r"\b[0-9A-F]{16}\b", "KEY ID"),
          (r"[\d.]+(?= KiB)|has \d+ bytes; it had \d+", lambda found: re.sub(r"\d", "#", found[0]))]


def played(session, folder):
    for link, target in (("gpuready", PROGRAM), ("gpuready-guest", PROGRAM.parent / "gpuready-guest"),
                         ("tests", SOURCE / "tests")):
        os.symlink(target, f"{folder}/{link}")
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": folder, "COLUMNS": "80", "NO_COLOR": "1", "TZ": "UTC",
                   "GPUREADY_HELPER": str(PROGRAM)}
    out = []
    for line in session.splitlines():
        kind, command = line[:2], line[2:]
        if kind not in ("$ ", "% "):
            continue
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out.append(line)
        if kind == "% " and done.returncode != 0:
            out.append(f"{done.stdout}exit {done.returncode}")
        elif kind == "$ ":
            text = done.stdout.replace(folder, "FOLDER").replace(str(PROGRAM), "GPUREADY")
            for pattern, word in VARIES:
                text = re.sub(pattern, word, text, flags=re.M)
            out += text.rstrip().splitlines()
            if done.returncode != 0:
                out.append(f"exit {done.returncode}")
    return "\n".join(line.rstrip() for line in out) + "\n"


class Texts(unittest.TestCase):
    maxDiff = None

    def test_sessions(self):
        sessions = sorted(SOURCE.glob("tests/cli/texts/*.txt"))
        self.assertGreater(len(sessions), 5, "the sessions were not found")
        for path in sessions:
            with self.subTest(path.stem), tempfile.TemporaryDirectory(dir="/tmp") as folder:
                text = played(path.read_text(), folder)
                if os.environ.get("GPUREADY_UPDATE_EXPECTED"):
                    path.write_text(text)
                self.assertEqual(text, path.read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
