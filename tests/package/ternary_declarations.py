#!/usr/bin/env python3
"""What the bindings declare of the C interface is what its headers declare: functions, fields of structs, and statuses. A
struct may have further fields at its end, for which the bindings have room.
usage: ternary_declarations.py SOURCE"""
import importlib.util
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
wrong = []


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(text):
    return " ".join(re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("GPUREADY_TERNARY_TEXT_MAX", "256").split())


def functions(text):
    """{name: (result, [type of a parameter])}"""
    return {name: (result.strip(), [re.sub(r" ?\w+$", "", each.strip()) for each in parameters.split(",") if each.strip() != "void"])
            for result, name, parameters in re.findall(r"([\w *]+?) ?\b(gpuready_\w+)\(([^()]*)\);", text)}


headers = plain(" ".join((source / f"include/gpuready/{name}.h").read_text() for name in ("status", "ternary_c", "ternary_cuda_c")))
declared = functions(headers.replace("GPUREADY_API ", ";"))
structs = {name: fields.strip() for name, fields in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", headers)}
statuses = {name.replace("GPUREADY_", ""): int(number) for name, number in re.findall(r"(GPUREADY_\w+) = (\d+),? ?", re.search(
    r"typedef enum gpuready_status \{(.*?)\}", headers)[1])}
del statuses["OK"]
assert len(declared) > 40 and len(structs) == 3 and len(statuses) > 20, "the headers were not understood"


def compare(what, ours, theirs):
    for name, its in ours.items():
        if theirs.get(name) != its:
            wrong.append(f"{what}: {name} is {its}; the headers have {theirs.get(name)}")


# Python holds the text of the headers.
python = load(source / "bindings/python/gpuready/ternary/_declarations.py")
compare("Python", functions(plain(python.FUNCTIONS)), declared)
for name, fields in ("gpuready_ternary_options", python.OPTIONS), ("gpuready_ternary_stats", python.STATS):
    if not structs[name].startswith(plain(fields)):
        wrong.append(f"Python: the fields of {name} are not those of the headers: {plain(fields)}")
library = (source / "bindings/python/gpuready/ternary/_library.py").read_text()
found = re.findall(r"^    ([A-Z_]+) = (\d+)$", library, re.M)
if {name: int(number) for name, number in found} != statuses:
    wrong.append(f"Python: Status is {found}; status.h has {statuses}")

# Rust has its own names of types.
RUST = {"int8_t": "i8", "int32_t": "i32", "int64_t": "i64", "uint32_t": "u32", "uint64_t": "u64", "size_t": "usize",
        "float": "f32", "double": "f64", "char": "c_char", "void": "c_void"}


def rust(c_type):
    """const float* as *const f32."""
    constant, base, stars = re.fullmatch(r"(const )?(\w+)(\**)", c_type.replace(" *", "*")).groups()
    pointers = ["*mut "] * len(stars)
    if constant:
        pointers[-1] = "*const "
    return "".join(pointers) + RUST.get(base, base)


def rust_fields(text):
    for declaration in filter(None, re.sub(r"void \(\*(\w+)\)\(.*?\);", r"Run \1;", text).split(";")):
        base, names = re.fullmatch(r" ?((?:const )?\w+\*?) (.*)", declaration).groups()
        for name in names.split(", "):
            yield (name.partition("[")[0], "Text") if "[" in name else \
                (name, "Option<Run>" if base == "Run" else rust(base))


text = (source / "bindings/rust/src/ffi.rs").read_text()
ours = {name: (result or "c_void", re.findall(r"\w+: ([^,]+)", parameters))
        for name, parameters, result in re.findall(r"pub fn (\w+)\((.*?)\)(?: -> ([^;]+))?;", text)}
assert len(ours) > 30, "ffi.rs was not understood"
compare("Rust", ours, {name: (rust(result), [rust(each) for each in types])
                       for name, (result, types) in declared.items() if name in ours})
for name in "gpuready_ternary_options", "gpuready_ternary_stats":
    fields = structs[name]
    its = re.search(rf"pub struct {name} \{{(.*?)\}}", text, re.S)[1]
    now, wanted = re.findall(r"pub (\w+): ([^,]+),", its), list(rust_fields(fields))
    if now[-1:] != [("later", "Later")] or now[:-1] != wanted[:len(now) - 1]:
        wrong.append(f"Rust: {name} differs from the headers: {[pair for pair in zip(now, wanted) if pair[0] != pair[1]]}")
kinds = re.findall(r"^    \w+ = (\d+): ", (source / "bindings/rust/src/error.rs").read_text(), re.M)
if sorted(map(int, kinds)) != sorted(statuses.values()):
    wrong.append("Rust: ErrorKind does not have the statuses of status.h")

print("\n".join(wrong))
sys.exit(1 if wrong else 0)
