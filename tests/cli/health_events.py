"""A gRPC server that takes every message: health_events.py SOCKET FILE. They are appended to FILE. Frames are those of
RFC 9113, section 4.1; header fields those of RFC 7541, section 6 and appendix A."""
import os
import socket
import struct
import sys

DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
STATUS_200 = b"\x88"


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


path, file = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path + ".new")
listener.listen()
os.rename(path + ".new", path)
while True:
    connection = listener.accept()[0].makefile("rwb")
    connection.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
    connection.write(frame(SETTINGS, 0, 0, b""))
    connection.flush()
    kind = flags = stream = None
    while kind != DATA or not flags & END_STREAM:
        high, low, kind, flags, stream = struct.unpack(">BHBBI", connection.read(9))
        payload = connection.read(high << 16 | low)
        if kind == DATA:
            with open(file, "ab") as messages:
                messages.write(payload)
    connection.write(frame(HEADERS, END_HEADERS, stream, STATUS_200 + field(b"content-type", b"application/grpc")))
    connection.write(frame(DATA, 0, stream, bytes(5)))  # an empty message
    connection.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, field(b"grpc-status", b"0")))
    connection.flush()
    connection.read()  # until the client closes it
