. "$LIB"
rm -rf good pages
# Archives of all kinds hold the same fat binary; each is read where it stands, and called "archive!member".
/usr/bin/python3 - <<'PY'
import gzip, io, json, lzma, os, struct, tarfile, zipfile, zlib
ptx = b".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n"
ptx += b"\0" * (-len(ptx) % 8)
entry = struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(ptx), 0, 0, 0, 6, 50, 0, 0, 0x11, 0, 0) + ptx
code = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry

def tar(members, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            if isinstance(data, bytes):
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            else:
                info.type, info.linkname = data
                archive.addfile(info)
    return out.getvalue()

def pack(members, how=zipfile.ZIP_DEFLATED, unseekable=False):
    out = io.BytesIO()
    if unseekable:  # sizes then follow the bytes
        out.seek = out.tell = None
        class Pipe(io.RawIOBase):
            def writable(self): return True
            def write(self, data): return out.write(data)
        target = Pipe()
    else:
        target = out
    with zipfile.ZipFile(target, "w", how) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()

def ar(members):
    out = b"!<arch>\n"
    for name, data in members:
        out += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode(), 0, 0, 0, b"100644", len(data)) + data + b"\n" * (len(data) % 2)
    return out

def write(name, data):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    open(name, "wb").write(data)

lib = [("lib/x.fatbin", code), ("read.me", b"text" * 300)]
one = tar(lib)
write("good/a.tar", one)
write("good/b.tar.gz", gzip.compress(one))
write("good/c.tar.xz", lzma.compress(one))
write("good/d.whl", pack(lib))
write("good/e.zip", pack(lib, zipfile.ZIP_STORED))
write("good/f.whl", pack(lib, unseekable=True))
write("good/g.deb", ar([("debian-binary", b"2.0\n"), ("data.tar.xz", lzma.compress(one))]))
write("good/h.fatbin.gz", gzip.compress(code))
write("good/i.a", ar([("x.fatbin/", code)]))
layer = gzip.compress(tar([("usr/lib/x.fatbin", code), ("usr/lib/y", (tarfile.SYMTYPE, b"x.fatbin".decode()))]))
write("good/j.tar", tar([("manifest.json", b"[]"), ("blobs/sha256/0123", layer)]))          # docker save
write("good/k/blobs/sha256/0123", layer)                                                      # OCI layout
# An image whose second layer deletes one library of the first and replaces another.
first = tar([("usr/lib/gone.fatbin", code), ("usr/lib/new.fatbin", code), ("usr/lib/kept.fatbin", code)])
second = gzip.compress(tar([("usr/lib/.wh.gone.fatbin", b""), ("usr/lib/new.fatbin", code)]))
write("images/image.tar", tar([("b/layer.tar", second), ("a/layer.tar", first), ("manifest.json", json.dumps([{"Layers": ["a/layer.tar", "b/layer.tar"]}]).encode())]))
write("images/oci/blobs/sha256/01", first), write("images/oci/blobs/sha256/02", second)
write("images/oci/blobs/sha256/03", json.dumps({"layers": [{"digest": "sha256:01"}, {"digest": "sha256:02"}]}).encode())
write("good/l.whl", pack(lib, zipfile.ZIP_LZMA))
packed_xz = lzma.compress(code)  # zip's method 95, which Python does not write
as_stored = bytearray(pack([("lib/x.fatbin", packed_xz)], zipfile.ZIP_STORED))
for at, sums in ((as_stored.find(b"PK\3\4"), 14), (as_stored.find(b"PK\1\2"), 16)):
    as_stored[at + sums - 6:at + sums - 4] = struct.pack("<H", 95)
    as_stored[at + sums:at + sums + 12] = struct.pack("<III", zlib.crc32(code), len(packed_xz), len(code))
write("good/m.zip", bytes(as_stored))
write("good/k/oci-layout", b'{"imageLayoutVersion": "1.0.0"}')

write("bad/traversal.tar", tar([("../../x.fatbin", code)]))
write("bad/absolute.zip", pack([("/etc/x.fatbin", code)]))
write("bad/long.tar", tar([("x" * 5000, code)]))
write("bad/twice.tar", tar([("x.fatbin", code), ("x.fatbin", code)]))
write("bad/device.tar", tar([("null", (tarfile.CHRTYPE, "")), ("x.fatbin", code)]))
write("bad/cut.tar", tar([("big", bytes(100000))])[:50000])
write("bad/cut.tar.gz", gzip.compress(tar([("big", os.urandom(100000))]))[:50000])
for name, at, data in ("crc.tar.gz", -8, one), ("size.tar.gz", -4, one), ("crc.gz", -8, b"text"):
    packed = bytearray(gzip.compress(data))
    packed[at] ^= 1
    write("bad/" + name, packed)
write("good-members.tar.gz", gzip.compress(one[:5000]) + gzip.compress(one[5000:]) + bytes(100))
write("bad/cut.whl", pack([("big", os.urandom(100000))])[:50000])
write("bad/checksum.whl", pack([("x", b"A" * 1000)], zipfile.ZIP_STORED).replace(b"AAAA", b"AAAB", 1))
write("bad/unlisted.whl", pack([("unseen", code)], zipfile.ZIP_STORED)[:30 + 6 + len(code)] + pack([("seen", b"1")]))
deep = tar([("x.fatbin", code)])
for _ in range(8):
    deep = tar([("in.tar", deep)])
write("bad/deep.tar", deep)
bomb = gzip.compress(b"bomb" + bytes((1 << 20) - 4)) * 1100
write("bad/bomb.gz", gzip.compress(bomb))
encrypted = bytearray(pack([("x", b"1")]))
encrypted[6] |= 1
write("bad/encrypted.zip", bytes(encrypted))
damaged = bytearray(pack([("x", os.urandom(2000))], zipfile.ZIP_LZMA))
damaged[1000] ^= 1
write("bad/lzma.whl", bytes(damaged))
write("bad/bzip.whl", pack([("x", b"1" * 1000)], zipfile.ZIP_BZIP2))
write("bad/old.tar.bz2", b"BZh91AY&SY" + bytes(100))
PY
names_of() { jq -r '[.files[].path] | join(" ")' document.json; }
expect_named() {  # FILE MEMBERS...
  expect_exit 0 "$GPUREADY" pack inspect "good/$1" --json=document.json
  [ "$(names_of)" = "${*:2}" ] || die "$1 holds: $(names_of)"
  jq -e '.files | all(.carriers[0].codes[0].target == "compute_50")' document.json >/dev/null || die "$1: other code"
}
for file in a.tar b.tar.gz c.tar.xz d.whl e.zip f.whl l.whl m.zip; do expect_named $file "$file!lib/x.fatbin"; done
expect_named g.deb "g.deb!data.tar.xz!lib/x.fatbin"
expect_named h.fatbin.gz "h.fatbin.gz!h.fatbin"
expect_named i.a i.a # one library, whose members belong together
expect_named j.tar "j.tar!blobs/sha256/0123!usr/lib/x.fatbin"
expect_named k "blobs/sha256/0123!usr/lib/x.fatbin"
expect_exit 0 "$GPUREADY" pack inspect good --json=document.json
[ "$(jq '.files | length' document.json)" = 13 ] || die "a folder of archives: $(names_of)"
expect_exit 0 "$GPUREADY" pack explain good/d.whl --gpu 8.6 --driver 535
expect_in "d.whl!lib/x.fatbin" "$out"

for image in images/image.tar images/oci; do
  expect_exit 0 "$GPUREADY" pack inspect $image --json=document.json
  [ "$(jq -r '.files[].path' document.json | sed 's/.*!//' | sort | tr '\n' ' ')" = "usr/lib/kept.fatbin usr/lib/new.fatbin " ] || die "$image holds: $(names_of)"
  [ "$(jq -r '.hidden[]' document.json | sed 's/.*!//' | sort | tr '\n' ' ')" = "usr/lib/gone.fatbin usr/lib/new.fatbin " ] || die "$image hides: $(jq .hidden document.json)"
  expect_exit 0 "$GPUREADY" pack inspect $image
  expect_in "Left out: 2 files of lower layers" "$(echo $out)"
done

expect_bad() {  # FILE TEXT
  expect_exit 1 "$GPUREADY" pack inspect "bad/$1" --json=document.json
  jq -r '.problems[], .files[].problems[]' document.json >problems
  grep -qF -- "$2" problems || die "$1: $(cat problems)"
  [ "$(wc -l <problems)" -le 2 ] || die "$1: one thing is wrong, and many are told: $(cat problems)"
}
expect_bad traversal.tar "traversal.tar!../../x.fatbin: its name leads out"
expect_bad absolute.zip "absolute.zip!/etc/x.fatbin: its name is absolute"
expect_bad long.tar "...: its name is too long"
[ "$(wc -c <problems)" -lt 400 ] || die "a long name is told whole"
expect_bad twice.tar "twice.tar!x.fatbin: the archive holds this name twice"
expect_bad device.tar "device.tar!null: a device"
expect_bad cut.tar "runcated"
expect_bad cut.tar.gz "cut.tar.gz"
for file in crc.tar.gz size.tar.gz crc.gz; do expect_bad $file "gzip finds it damaged"; done
expect_exit 0 "$GPUREADY" pack inspect good-members.tar.gz --json=document.json
[ "$(names_of)" = "good-members.tar.gz!lib/x.fatbin" ] || die "two members of gzip hold: $(names_of)"
expect_bad cut.whl "cut short"
expect_bad checksum.whl "its checksum is not"
expect_bad unlisted.whl "unlisted.whl!unseen: the archive's directory does not name it"
expect_bad deep.tar "more than 6 archives in each other"
expect_bad bomb.gz "unpacks to more than 200 times its size"
expect_bad encrypted.zip "encrypted.zip!x: it is encrypted"
expect_bad lzma.whl "its "  # packed bytes, or its checksum
expect_bad bzip.whl "bzip.whl!x: it is packed by bzip2"
expect_bad old.tar.bz2 "bzip2, 7-Zip and RAR are not read"
[ ! -e /etc/x.fatbin ] && [ ! -e ../../x.fatbin ] || die "something was unpacked"

# Files that Linux does not load are named as what they are.
printf 'MZ\220\0 and so on' >windows.dll
expect_exit 0 "$GPUREADY" pack inspect windows.dll
expect_in "Windows library or program (PE)" "$out"
printf '\317\372\355\376 and so on' >mac.dylib
expect_exit 0 "$GPUREADY" pack inspect mac.dylib
expect_in "macOS library or program (Mach-O)" "$out"

# From a server, with a connection that breaks in the middle.
port=$(/usr/bin/python3 - <<'PY'
import subprocess, sys
server = subprocess.Popen([sys.executable, "-c", '''
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        path = "good" + self.path
        if not os.path.isfile(path): return self.send_error(404)
        data = open(path, "rb").read()
        first = int(self.headers["Range"].split("=")[1].split("-")[0]) if self.headers.get("Range") else 0
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", len(data) - first)
        self.send_header("ETag", "one")
        if first: self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(data[first:] if first else data[:len(data) // 2])
        self.close_connection = True
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
os.close(1)
import threading
threading.Timer(60, lambda: os._exit(0)).start()
server.serve_forever()
'''], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
print(server.pid, server.stdout.readline().decode().strip())
PY
)
server=${port% *} port=${port#* }
trap 'kill $server' EXIT
expect_exit 0 "$GPUREADY" pack inspect "http://127.0.0.1:$port/d.whl" --json=document.json
[ "$(names_of)" = "d.whl!lib/x.fatbin" ] || die "over HTTP: $(names_of)"
# What has an archive's name and is none: the page that a failed download left.
echo '<!DOCTYPE html><p>404: Not Found' >page.tar.gz
expect_exit 1 "$GPUREADY" pack inspect page.tar.gz
expect_in "page.tar.gz: it has the name of an archive, and it is a web page" "$(echo $out)"
mkdir -p pages && cp page.tar.gz pages/a.whl && : >pages/b.zip && head -c 10240 /dev/zero >pages/c.tar
expect_exit 1 "$GPUREADY" pack inspect pages
expect_in "a.whl: it has the name of an archive, and it is a web page" "$(echo $out)"
expect_in "b.zip: it has the name of an archive, and it is empty" "$(echo $out)"
[[ $out != *c.tar:* ]] || die "an empty tar is an archive: $out"
cp page.tar.gz good/page.tar.gz
expect_exit 2 "$GPUREADY" pack inspect "http://127.0.0.1:$port/page.tar.gz"
expect_in "the server sends a web page in place of the file" "$err"
expect_exit 2 "$GPUREADY" pack inspect "http://127.0.0.1:$port/nothing.whl"
expect_in "404" "$err"
expect_exit 2 "$GPUREADY" pack inspect "http://127.0.0.1:$port/"
