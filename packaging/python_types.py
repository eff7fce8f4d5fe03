#!/usr/bin/env python3
"""Writes the dataclasses of the Python package from schema/NAME.schema.json, which come from the fields' one
description. Usage: python_types.py SCHEMA... >types.py"""
import json
import keyword
import pathlib
import sys
import textwrap

HEAD = '''"""The documents of gpuready as dataclasses. Generated from its schemas."""
from __future__ import annotations

import dataclasses
import keyword
import typing
from typing import Any, Dict, List, Literal, Optional, Type, TypeVar

_Class = TypeVar("_Class", bound="_Document")


def _decode(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        return _decode(arguments[0], value)
    if origin is list:
        return [_decode(arguments[0], each) for each in value]
    if origin is dict:
        return {key: _decode(arguments[1], each) for key, each in value.items()}
    if dataclasses.is_dataclass(kind):
        return kind.from_json(value)  # type: ignore[union-attr]
    return value


class _Document:
    @classmethod
    def from_json(cls: Type[_Class], document: Dict[str, Any]) -> _Class:
        """Keys that this version does not know are passed over; `from` is the field `from_`."""
        kinds = {name[:-1] if keyword.iskeyword(name[:-1]) else name: (name, kind)
                 for name, kind in typing.get_type_hints(cls).items()}
        return cls(**{name: _decode(kind, document[key]) for key, (name, kind) in kinds.items() if key in document})
'''


def class_name(name):
    return "".join(part.capitalize() for part in name.split("_"))


def kind_of(schema):
    if "$ref" in schema:
        return class_name(schema["$ref"].rpartition("/")[2])
    if "enum" in schema or "const" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema.get('enum', [schema.get('const')]))}]"
    kind = schema["type"]
    if kind == "array":
        return f"List[{kind_of(schema['items'])}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"Dict[str, {kind_of(values) if isinstance(values, dict) else 'Any'}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[kind]


def write_class(name, schema):
    lines = ["", "", "@dataclasses.dataclass(frozen=True)", f"class {name}(_Document):"]
    text = schema.get("description", schema.get("title", name))
    lines += textwrap.wrap(f'"""{text}"""', 110, initial_indent="    ", subsequent_indent="    ")
    required = set(schema.get("required", ()))
    # What may be absent has a default, so it comes last.
    for key, property in sorted(schema["properties"].items(), key=lambda item: item[0] not in required):
        lines += textwrap.wrap(property.get("description", ""), 110, initial_indent="    # ", subsequent_indent="    # ")
        kind, field = kind_of(property), key + "_" * keyword.iskeyword(key)
        lines.append(f"    {field}: {kind}" if key in required else f"    {field}: Optional[{kind}] = None")
    return lines


def main():
    classes = {}
    for path in sys.argv[1:]:
        schema = json.loads(pathlib.Path(path).read_text())
        for name, part in schema.get("$defs", {}).items():
            if classes.setdefault(class_name(name), part) != part:
                sys.exit(f"python_types: two schemas describe {name} differently")
        classes[class_name(pathlib.Path(path).name.partition(".")[0].replace("-", "_"))] = schema
    print(HEAD + "\n".join(line for name, schema in classes.items() for line in write_class(name, schema)))


main()
