#!/usr/bin/env python3
"""The shim of libcuda is what a program gets, by the loader and by cuGetProcAddress; what it does not override comes from
the real library, and what that lacks is refused."""
import ctypes
import os
import sys

# Before the library is loaded: half of 116 SMs are told.
os.environ["FOREIGN_FAULT"] = "fault=sms;factor=0.5"
cuda = ctypes.CDLL(sys.argv[1])


def need(got, wanted, what):
    if got != wanted:
        sys.exit(f"{what}: {got}, not {wanted}")


def by_address(name, prototype):
    function, status = ctypes.c_void_p(), ctypes.c_int()
    need(cuda.cuGetProcAddress_v2(name, ctypes.byref(function), 12000, ctypes.c_ulonglong(0), ctypes.byref(status)), 0, "the call")
    return prototype(function.value)


value = ctypes.c_int()
attribute = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_int)
for way, ask in (("loader", cuda.cuDeviceGetAttribute), ("cuGetProcAddress", by_address(b"cuDeviceGetAttribute", attribute))):
    for number, told in ((16, 58), (17, 117)):
        need(ask(ctypes.byref(value), number, 0), 0, way)
        need(value.value, told, f"attribute {number} by {way}")
need(cuda.cuNotOverridden(), 7, "not overridden, by the loader")
need(by_address(b"cuNotOverridden", ctypes.CFUNCTYPE(ctypes.c_int))(), 7, "not overridden, by cuGetProcAddress")
need(cuda.cuMemFree_v2(ctypes.c_ulonglong(0)), 500, "what the real library lacks")
print("asked by the loader and by cuGetProcAddress")
