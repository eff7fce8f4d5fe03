#!/usr/bin/env python3
"""Serves a folder by HTTP with ranges, without copying bytes through Python. Prints its port.
Usage: range_server.py FOLDER [MB_PER_SECOND]
All connections share the rate."""
import http.server
import os
import pathlib
import sys
import threading
import time

ROOT = pathlib.Path(sys.argv[1])
RATE = float(sys.argv[2]) * 1e6 if len(sys.argv) > 2 else float("inf")
BLOCK = 1 << (24 if RATE == float("inf") else 16)
link = threading.Lock()
free_at = 0.0


def pace(count):
    """Waits until the link has carried `count` more bytes."""
    global free_at
    with link:
        free_at = max(free_at, time.monotonic()) + count / RATE
        until = free_at
    time.sleep(max(0, until - time.monotonic()))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # as web servers do: else a short answer waits 40 ms for an acknowledgement

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = ROOT / self.path.lstrip("/")
        if not path.is_file():
            return self.send_error(404)
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            first, last, asked = 0, size - 1, self.headers.get("Range")
            if asked:
                first, last = (int(part) for part in asked.split("=")[1].split("-"))
            self.send_response(206 if asked else 200)
            if asked:
                self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
            self.send_header("Content-Length", str(last - first + 1))
            self.end_headers()
            self.wfile.flush()
            at = first
            while at <= last:
                sent = os.sendfile(self.connection.fileno(), file.fileno(), at, min(last - at + 1, BLOCK))
                at += sent
                pace(sent)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
