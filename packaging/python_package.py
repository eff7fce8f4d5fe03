#!/usr/bin/env python3
"""Writes the Python package `gpuready` into FOLDER, as the wheel has it: bindings/python, and types.py from the schemas.
Usage: python_package.py FOLDER"""
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SCHEMAS = ("report", "status", "ternary-inspect", "ternary-convert", "ternary-verify", "ternary-bench")


def files():
    """{name: content}"""
    package = SOURCE / "bindings/python"
    if not package.is_dir():
        sys.exit(f"python_package.py: {package} is missing")
    types = subprocess.run([sys.executable, SOURCE / "packaging/python_types.py",
                            *[SOURCE / f"schema/{name}.schema.json" for name in SCHEMAS]], check=True, capture_output=True)
    return {**{str(path.relative_to(package)): path.read_bytes() for path in sorted(package.rglob("*.py"))},
            "gpuready/types.py": types.stdout, "gpuready/py.typed": b""}


if __name__ == "__main__":
    for name, content in files().items():
        path = pathlib.Path(sys.argv[1], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
