#!/usr/bin/env python3
"""Each type outside an unnamed namespace is defined in one file: two definitions of one name are undefined
behaviour that no compiler reports (C++ [basic.def.odr]). types.py SOURCE_FOLDER."""
import collections
import pathlib
import re
import sys

TOKEN = re.compile(r"""
    (?P<skip>//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|\#(?:\\\n|[^\n])*)
  | namespace\s+(?P<namespace>[\w:]+)?\s*\{
  | \b(?:struct|class|enum(?:\s+class|\s+struct)?|union)\s+(?:alignas\([^)]*\)\s*)?(?:\[\[[^\]]*\]\]\s*)?
      (?P<type>[\w:]+)(?:\s*<[^;{}]*>)?(?:\s+final)?(?:\s*:\s*[^;{}()]*)?\s*\{
  | (?P<open>\{) | (?P<close>\})""", re.S | re.X)


def types_of(text):
    """Qualified names of the types that are defined at namespace scope, but for unnamed namespaces."""
    scopes = []  # the name of a namespace, or None of another scope
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind in ("skip", "d"):
            continue
        if kind == "close":
            if scopes:
                scopes.pop()
        elif kind == "type":
            specialised = re.search(r"<[^{}]*>\s*(final)?\s*(:[^{}]*)?\{$", token.group(0))
            if None not in scopes and "" not in scopes and not specialised:
                yield "::".join([*scopes, token["type"]])
            scopes.append(None)
        elif token.group(0).startswith("namespace"):
            scopes.append(token["namespace"] or "")
        else:
            scopes.append(None)


def main():
    root = pathlib.Path(sys.argv[1])
    places = collections.defaultdict(set)
    for folder in ("src", "include"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                for name in types_of(path.read_text()):
                    places[name].add(str(path.relative_to(root)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    for name, files in sorted(twice.items()):
        print(f"{name} is defined in {' and in '.join(sorted(files))}", file=sys.stderr)
    assert len(places) > 500, f"only {len(places)} types were found: the search is broken"
    print(f"{len(places)} types, each defined once" if not twice else f"{len(twice)} types are defined twice")
    return 1 if twice else 0


sys.exit(main())
