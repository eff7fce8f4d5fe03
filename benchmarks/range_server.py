#!/usr/bin/env python3
"""Serves a folder by HTTP with ranges, without copying bytes through Python. Prints its port.
Usage: range_server.py FOLDER"""
import http.server
import os
import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

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
                at += os.sendfile(self.connection.fileno(), file.fileno(), at, min(last - at + 1, 1 << 24))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
