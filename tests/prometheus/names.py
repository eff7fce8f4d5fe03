#!/usr/bin/env python3
"""Every metric and label that the alert rules and the dashboard name is one that the exporter emits, with values that
its program knows. Usage: names.py SOURCE_FOLDER GPUREADY"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

source, program = pathlib.Path(sys.argv[1]), sys.argv[2]
MACHINES = ("base-hgx-h100x8", "off-the-bus", "driver-hung", "base-mi300x2", "uncorrectable-ecc")

kept = {"schema": "gpuready.results", "schema_version": 1, "results": [
    {"subject": "GPU 0", "uuid": "GPU-of-an-earlier-test", "pci": "0000:f0:00.0", "standing": "bad", "level": "quick",
     "tested_unix_seconds": 1, "hammer": False, "action": "reset_gpu",
     "obligations": [{"kind": "integrity", "status": "broken", "duty": "owed", "reason": "2 words were wrong"}]}]}
emitted = {}  # metric -> labels
with tempfile.TemporaryDirectory() as folder:  # a file in /tmp itself could be another user's
    state = pathlib.Path(folder) / "results.json"
    state.write_text(json.dumps(kept))
    for machine in MACHINES:
        page = subprocess.run([program, "exporter", "--once", "--state", state, "--replay",
                               source / "tests/machines" / machine / "machine.json"], capture_output=True, text=True)
        assert page.returncode in (0, 4) and page.stdout, page.stderr
        for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? ", page.stdout, re.M):
            emitted.setdefault(name, set()).update(re.findall(r"(\w+)=\"", labels))

rules = (source / "packaging/prometheus/gpuready.rules.yml").read_text()
dashboard = json.loads((source / "packaging/grafana/gpuready.json").read_text())
expressions = [re.sub(r"\s+", " ", text) for text in re.findall(r"expr: (?:>-\n)?((?:.|\n)*?)\n        (?:for|labels):", rules)]
expressions += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
assert len(expressions) >= 25, expressions
problems = []
for expression in expressions:
    for name, matchers in re.findall(r"\b(gpuready_\w+)(?:\{([^}]*)\})?", expression):
        if name not in emitted:
            problems.append(f"{name} is not emitted: {expression}")
        for label in re.findall(r"(\w+)\s*[=!]", matchers):
            if label not in emitted.get(name, set()) | {"instance", "job"}:
                problems.append(f"{name} has no label {label}: {expression}")
# What the texts of the alerts quote.
for block in re.findall(r"- alert: (?:.|\n)*?(?=\n      - alert|\Z)", rules):
    names = set(re.findall(r"gpuready_\w+", block.split("annotations:")[0]))
    known = set().union(*(emitted.get(name, set()) for name in names)) | {"instance", "job"}
    for label in re.findall(r"\$labels\.(\w+)", block):
        if label not in known:
            problems.append(f"no metric of this alert has the label {label}: {block.splitlines()[0]}")
ids = [panel["id"] for panel in dashboard["panels"]]
if len(set(ids)) != len(ids):
    problems.append("two panels have one id")
print("\n".join(problems) or f"{len(expressions)} expressions name what is emitted ({len(emitted)} metrics)")
sys.exit(1 if problems else 0)
