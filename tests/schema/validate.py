#!/usr/bin/python3
"""Validates the documents that the program writes against schema/.

usage: validate.py SOURCE_FOLDER DOCUMENTS_FOLDER

DOCUMENTS_FOLDER holds what the unit tests wrote: report.*.json, recording.*.json, probe.*.json,
selftest.*.json, ternary-verify.*.json, ternary-bench.*.json; and ternary_documents.sh:
ternary-inspect.*.json, ternary-convert.*.json; vm_documents.sh: vm-*.json; and
slurm_documents.sh: slurm-*.json.
"""
import json
import pathlib
import re
import sys
import unittest

from jsonschema import Draft202012Validator, RefResolver

SOURCE, DOCUMENTS = map(pathlib.Path, sys.argv[1:3])
SCHEMAS = {path.name.split(".")[0]: json.loads(path.read_text())
           for path in (SOURCE / "schema").glob("*.schema.json")}
BY_ID = {schema["$id"]: schema for schema in SCHEMAS.values()}


# Documents that the program writes. Tomorrow's may have more keys, which today's schema accepts.
WRITTEN = ("report", "selftest", "ternary-verify", "ternary-bench", "ternary-inspect",
           "ternary-convert", "bench-run", "bench-compare", "bench-promote", "bench-history", "vm-drivers",
           "vm-compat", "vm-devices", "vm-operation", "vm-status", "vm-args", "vm-hotplug", "vm-initrd", "vm-doctor",
           "vm-fetch", "vm-upgrade", "pack-inspect", "pack-explain", "pack-key", "pack-build", "pack-publish",
           "pack-select", "pack-install", "pack-list", "pack-env", "policy-check", "status", "fleet", "fleet-slow",
           "slurm-hook", "slurm-install", "slurm-doctor")
# What each of them says of itself.
ENVELOPE = ("schema", "schema_version", "tool", "command", "created_utc", "machine_id", "boot_id",
            "conclusion", "exit_code", "exit_meaning", "notes", "duration_ms")


def closed(schema):
    """The schema that takes no key but its own: a key of ours that it lacks is a mistake."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        copy.setdefault("additionalProperties", False)
    return copy


def validator(name, strict=True):
    schema = closed(SCHEMAS[name]) if strict else SCHEMAS[name]
    return Draft202012Validator(schema, resolver=RefResolver(schema["$id"], schema, store=BY_ID))


def load(name):
    return json.loads((DOCUMENTS / name).read_text())


def errors(name, document, strict=True):
    return [f"{error.json_path}: {error.message[:200]}"
            for error in validator(name, strict).iter_errors(document)]


def objects(schema, where="#"):
    """Every object of a schema that lists its properties."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            yield where, schema
        for key, value in schema.items():
            yield from objects(value, f"{where}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from objects(value, f"{where}/{index}")


def keys(document):
    if isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from keys(value)
    elif isinstance(document, list):
        for value in document:
            yield from keys(value)


class Schemas(unittest.TestCase):
    def test_each_describes_all_and_only_inputs_refuse_other_keys(self):
        self.assertEqual(set(SCHEMAS), {"report", "recording", "machine-script", "probe", "selftest",
                                        "ternary-verify", "ternary-bench", "ternary-inspect",
                                        "ternary-convert", "bench-run", "bench-compare",
                                        "bench-promote", "bench-history", "vm-drivers", "vm-compat", "vm-devices",
                                        "vm-operation", "vm-status", "vm-args", "vm-hotplug", "vm-initrd", "vm-doctor",
                                        "vm-fetch", "vm-upgrade", "pack-inspect", "pack-explain",
                                        "pack-manifest", "pack-load-report", "pack-key", "pack-build", "pack-publish",
                                        "pack-select", "pack-install", "pack-list", "pack-env", "policy-check", "results",
                                        "status", "fleet", "fleet-slow",
                                        "slurm-hook", "slurm-install", "slurm-doctor"})
        for name, schema in SCHEMAS.items():
            Draft202012Validator.check_schema(schema)
            for where, part in objects(schema):
                if name in WRITTEN:
                    self.assertIsNot(part.get("additionalProperties"), False, f"{name}{where}")
                else:
                    self.assertIn("additionalProperties", part, f"{name}{where}")
                for key, value in part["properties"].items():
                    described = "description" in value or "$ref" in value
                    self.assertTrue(described, f"{name}{where}/{key} has no description")


    def test_each_document_has_the_envelope(self):
        for name in WRITTEN:
            self.assertEqual(set(ENVELOPE) - set(SCHEMAS[name]["properties"]), set(), name)


class Documents(unittest.TestCase):
    def test_todays_schema_accepts_tomorrows_keys(self):
        document = load("report.healthy.json")
        document["tomorrow"] = document["machine"]["tomorrow"] = 1
        document["machine"]["gpus"][0]["tomorrow"] = {}
        self.assertEqual(errors("report", document, strict=False), [])

    def test_reports_are_valid(self):
        paths = sorted(DOCUMENTS.glob("report.*.json"))
        self.assertGreaterEqual(len(paths), 8, f"no documents in {DOCUMENTS}")
        for path in paths:
            with self.subTest(path.name):
                self.assertEqual(errors("report", json.loads(path.read_text())), [])

    def test_filled_report_has_every_key_of_the_schema(self):
        have = set(keys(load("report.filled.json")))
        want = {key for _, part in objects(SCHEMAS["report"]) for key in part["properties"]}
        self.assertEqual(want - have, set())

    def test_exit_codes_of_vm_are_those_that_their_texts_explain(self):
        for name, schema in SCHEMAS.items():
            if name.startswith("vm-") and "exit_code" in schema["properties"]:
                code = schema["properties"]["exit_code"]
                told = {int(number) for number in re.findall(r"\b(\d+):", code["description"])}
                self.assertEqual(told, set(code["enum"]) - {130}, name)
                self.assertNotIn("timed", code["description"], name)

    def test_a_key_that_the_schema_lacks_or_a_wrong_type_is_refused(self):
        for change in (lambda d: d.update(surprise=1),
                       lambda d: d["machine"].update(surprise=1),
                       lambda d: d["machine"]["gpus"][0]["memory"].update(total_bytes="1 GiB"),
                       lambda d: d["machine"]["gpus"][0].update(pci="17:00"),
                       lambda d: d["verdicts"][0].update(status="ok"),
                       lambda d: d.update(exit_code=7),
                       lambda d: d.update(conclusion=None)):
            document = load("report.healthy.json")
            change(document)
            self.assertNotEqual(errors("report", document), [])

    def test_recordings_and_probes_are_valid(self):
        for kind in ("recording", "probe", "selftest", "ternary-verify", "ternary-bench",
                     "ternary-inspect", "ternary-convert", "bench-compare", "bench-promote", "bench-history",
                     "bench-run", "vm-drivers", "vm-compat", "vm-devices", "vm-operation",
                     "vm-status", "vm-args", "vm-hotplug", "vm-initrd", "vm-doctor", "vm-fetch", "vm-upgrade",
                     "pack-inspect", "pack-explain", "pack-manifest", "pack-load-report", "pack-key", "pack-build", "pack-publish", "pack-select",
                     "pack-install", "pack-list", "pack-env", "policy-check", "results", "status", "fleet",
                     "fleet-slow"):
            paths = sorted(DOCUMENTS.glob(f"{kind}.*.json"))
            self.assertTrue(paths, f"no {kind} in {DOCUMENTS}")
            for path in paths:
                with self.subTest(path.name):
                    self.assertEqual(errors(kind, json.loads(path.read_text())), [])

    def test_ternary_documents_have_every_key_of_their_schema(self):
        for kind in ("ternary-verify", "ternary-bench"):
            want = {key for _, part in objects(SCHEMAS[kind]) for key in part["properties"]}
            self.assertEqual(want - set(keys(load(f"{kind}.sample.json"))), set(), kind)

    def test_machines_written_by_hand_are_valid(self):
        for path in sorted((SOURCE / "tests/machines").rglob("*.json")):
            document = json.loads(path.read_text())
            if document.get("schema") != "gpuready.machine-script":
                continue
            with self.subTest(str(path)):
                self.assertEqual(errors("machine-script", document), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
