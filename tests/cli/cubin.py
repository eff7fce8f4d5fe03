#!/usr/bin/env python3
"""Writes device code as libraries hold it: bare cubins with one empty kernel each, and PTX. Nothing of it was
made by a compiler. Usage: cubin.py FILE 75 80 90+ptx@8.4 ..."""
import struct
import sys

NAMES = b"\0.shstrtab\0.text.kernel\0"


def cubin(architecture):
    """An ELF file for EM_CUDA as toolkits before 12.8 wrote it: the architecture is in the flags' low byte."""
    code = bytes(128)
    names_at, code_at = 64, 64 + 64
    sections_at = code_at + len(code)
    ident = b"\x7fELF\x02\x01\x01\x33\x07" + bytes(7)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 118, 0, 0, sections_at, architecture | architecture << 16,
                                 64, 56, 0, 64, 3, 1)

    def section(name, kind, flags, offset, size):
        return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, size, 0, 0, 1, 0)

    sections = section(0, 0, 0, 0, 0) + section(1, 3, 0, names_at, len(NAMES)) + section(11, 1, 6, code_at, len(code))
    return header + NAMES.ljust(64, b"\0") + code + sections


def ptx(architecture, isa):
    return (f".version {isa}\n.target sm_{architecture}\n.address_size 64\n"
            ".visible .entry kernel()\n{\n  ret;\n}\n\0").encode()


with open(sys.argv[1], "wb") as out:
    for item in sys.argv[2:]:
        number, _, isa = item.partition("@")
        if number.endswith("+ptx"):
            out.write(cubin(int(number[:-4])) + ptx(number[:-4], isa))
        elif isa:
            out.write(ptx(number, isa))
        else:
            out.write(cubin(int(number)))
