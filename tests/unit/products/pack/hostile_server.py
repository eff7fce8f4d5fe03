#!/usr/bin/env python3
"""An HTTP server that serves a folder well or badly. Prints its port, then serves until the
descriptor ends. Usage: hostile_server.py FOLDER DESCRIPTOR

The first part of the path says how: /good/, /norange/, /cut/, /wrongrange/, /changed/, /slow/, /loop/,
/length/, /gzip/, /error/, /flaky/, /redirect/, /longer/, /page/, /openpage/, /short/, /damaged/, /damagedonce/.
"""
import http.server
import os
import pathlib
import socket
import sys
import threading
import time

ROOT = pathlib.Path(sys.argv[1])
STATE = {"requests": {}}
LOCK = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        names = {name.lower() for name, _ in headers}
        for name, value in headers:
            self.send_header(name, value)
        if "content-length" not in names:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self):
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self):
        _, how, name = self.path.split("/", 2)
        path = ROOT / name
        archive = name.endswith(".zst") or ".zst." in name
        with LOCK:
            count = STATE["requests"][self.path] = STATE["requests"].get(self.path, 0) + 1
        if how == "loop":
            return self.answer(302, [("Location", self.path)])
        if how == "redirect" and not name.startswith("r/"):
            return self.answer(302, [("Location", f"/good/{name}")])
        if how == "error":
            return self.answer(503, body=b"busy")
        if not path.is_file():
            return self.answer(404, body=b"<html>this is no archive</html>")
        data = path.read_bytes()
        tag = '"one"'
        if how == "changed" and archive and count > 1:
            tag, data = '"two"', bytes(len(data))
        if how == "page" and archive:  # of a login, in place of the file
            return self.answer(200, [("Content-Type", "text/html")], b"\n<!DOCTYPE html><p>Log in first")
        if how == "openpage" and archive:  # the same, without a length
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"Log in first")
            return self.hang_up()
        if how == "short" and archive:
            data = data[:len(data) // 2]
        if how == "damaged" or (how == "damagedonce" and count == 1):
            if archive:
                data = data[:150000] + bytes(byte ^ 1 for byte in data[150000:])
        if how in ("cutmanifest", "cutchunked") and name == "manifest.json" and count == 1:
            self.send_response(200)
            self.send_header("ETag", tag)
            if how == "cutmanifest":
                self.send_header("Content-Length", str(len(data)))
            else:
                self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            part = data[:len(data) // 2]
            self.wfile.write(part if how == "cutmanifest" else b"%x\r\n%s\r\n" % (len(part), part))
            return self.hang_up()
        if how == "drip" and name == "manifest.json":  # faster than what counts as a broken connection
            self.send_response(200)
            self.send_header("Content-Length", str(1 << 20))
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * 2048)
                    self.wfile.flush()
                    time.sleep(0.2)
            except OSError:
                self.close_connection = True
            return None
        asked = self.headers.get("Range")
        if not asked or (how == "norange" and archive):
            headers = [("ETag", tag)]
            if how == "gzip":
                headers.append(("Content-Encoding", "gzip"))
            return self.answer(200, headers, data)
        first, last = (int(part) for part in asked.split("=")[1].split("-"))
        part = data[first:last + 1]
        headers = [("ETag", tag), ("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")]
        if how == "gzip":
            headers.append(("Content-Encoding", "gzip"))
        if how == "wrongrange":
            headers[1] = ("Content-Range", f"bytes {first + 1}-{first + len(part)}/{len(data) + 1}")
        if how == "length":
            headers[1] = ("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data) + 7}")
        if how == "longer":  # more than was asked for
            return self.answer(206, headers, part + b"more")
        cut = how == "cut" or (how == "flaky" and count % 2 == 1)
        if how == "changed" and count == 1:
            cut = True
        if cut:
            self.send_response(206)
            for pair in headers:
                self.send_header(*pair)
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part[:len(part) // 2] if how != "cut" else part[:10])
            return self.hang_up()
        if how == "slow":
            self.send_response(206)
            for pair in headers:
                self.send_header(*pair)
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            try:
                for byte in part:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(0.05)
            except OSError:
                self.close_connection = True
            return None
        return self.answer(206, headers, part)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
os.read(int(sys.argv[2]), 1)
os._exit(0)
