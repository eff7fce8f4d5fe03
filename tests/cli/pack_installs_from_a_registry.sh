# A release as an OCI artifact, installed from a registry (a small one of our own; tests/pack/registry.sh takes
# Debian's): digests are checked, the token goes where it may, and no image is taken for a release.
source "$LIB"
PATH=$PATH:/sbin ldconfig -p | grep libcurl.so.4 >/dev/null || skip "no libcurl"
export HOME=$PWD/home
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy
rm -rf home source built release layout key.* && mkdir -p home source/cpu
"$GPUREADY" pack key key --no-password -q >/dev/null
head -c 100000 /dev/urandom >source/cpu/noise
release() {  # VERSION
  echo "$1" >source/cpu/version
  printf 'name = "libs"\nversion = "%s"\nfolder = "source/{variant}"\n[variants.cpu]\n' "$1" >pack.toml
  "$GPUREADY" pack build --out built -q >/dev/null
  expect_exit 0 "$GPUREADY" pack publish --built built --to release --key key.key --oci layout --part-mb 1
}
release 1.0
expect_in "skopeo copy --preserve-digests oci:layout:1.0" "$(echo $out)"
release 1.1
# The layout is what the specification says: every blob is called after its content.
[ "$(jq -r '[.manifests[].annotations["org.opencontainers.image.ref.name"]] | join(" ")' layout/index.json)" = "1.0 1.1" ] || die "$(cat layout/index.json)"
(cd layout/blobs/sha256 && for blob in *; do echo "$blob  $blob"; done | sha256sum -c --quiet) || die "a blob is not what it is called after"

cat >registry.py <<'P'
import hashlib, http.server, json, os, re, sys
class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers: self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def blob(self, digest): return open(f"layout/blobs/sha256/{digest[7:]}", "rb").read()
    def do_GET(self):
        open("asked.log", "a").write(f"{self.path} {self.headers.get('Authorization')} {self.headers.get('Range')}\n")
        match = re.fullmatch(r"/v2/(my/libs|secret|other|index|changed|away)/(manifests|blobs)/(\S+)", self.path)
        if not match: return self.answer(404)
        name, kind, what = match.groups()
        if name == "secret" and self.headers.get("Authorization") != "Bearer let-me-in": return self.answer(401)
        if kind == "manifests":
            if "application/vnd.oci.image.manifest.v1+json" not in self.headers["Accept"]: return self.answer(406)
            entries = json.load(open("layout/index.json"))["manifests"]
            tags = {entry["annotations"]["org.opencontainers.image.ref.name"]: entry["digest"] for entry in entries}
            digest = tags.get(what, what)
            if name == "index": return self.answer(200, open("layout/index.json", "rb").read())
            if not os.path.isfile(f"layout/blobs/sha256/{digest[7:]}"): return self.answer(404)
            body = self.blob(digest)
            if name == "other": body = b'{"schemaVersion": 2, "layers": []}'
            return self.answer(200, body + (b" " if name == "changed" else b""))
        if name == "away":  # as registries do that keep blobs in an object store
            return self.answer(307, b"", [("Location", f"http://localhost:{server.server_port}/v2/my/libs/blobs/{what}?away")])
        body, headers = self.blob(what.split("?")[0]), []
        if name == "changed": body = body[:-1] + bytes([body[-1] ^ 1])
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not asked: return self.answer(200, body)
        first, last = map(int, asked.groups())
        return self.answer(206, body[first:last + 1], [("Content-Range", f"bytes {first}-{last}/{len(body)}")])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, flush=True)
server.serve_forever()
P
rm -f port.txt asked.log && touch port.txt
python3 -u registry.py >port.txt & server=$!
trap 'kill $server' EXIT
for _ in $(seq 100); do port=$(cat port.txt); [ -n "$port" ] && break; sleep 0.1; done
at=oci+http://127.0.0.1:$port
expect_exit 0 "$GPUREADY" pack select $at/my/libs:1.0 --key key.pub --gpu none
expect_exit 0 "$GPUREADY" pack install $at/my/libs:1.0 --key key.pub --gpu none
current=home/.local/share/libs/gpu-libs/current
cmp $current/noise source/cpu/noise && [ "$(cat $current/version)" = 1.0 ] || die "other files"
grep -q "blobs.* bytes=" asked.log || die "no range was asked for: $(cat asked.log)"
expect_exit 0 "$GPUREADY" pack install $at/my/libs:1.1 --gpu none --json=install.json
[ "$(jq .reused_files install.json) $(cat $current/version)" = "1 1.1" ] || die "$(cat install.json)"
[ "$(jq -r .from install.json)" = $at/my/libs:1.1 ] || die "another origin is remembered"
digest=$(jq -r '.manifests[1].digest' layout/index.json)
expect_exit 0 "$GPUREADY" pack install $at/my/libs@$digest --gpu none

rm -rf home
expect_exit 1 "$GPUREADY" pack install $at/changed@$digest --key key.pub --gpu none
expect_in "the registry sends a manifest of sha256:" "$(echo $out)"
expect_exit 1 "$GPUREADY" pack install $at/changed:1.1 --key key.pub --gpu none
expect_in "and the registry's manifest says sha256:" "$(echo $out)"
expect_exit 1 "$GPUREADY" pack install $at/other:1.1 --key key.pub --gpu none
expect_in "not a release of gpuready" "$(echo $out)"
expect_exit 1 "$GPUREADY" pack install $at/index:1.1 --key key.pub --gpu none
expect_in "an index of several images" "$(echo $out)"
expect_exit 4 "$GPUREADY" pack install $at/my/libs:9 --key key.pub --gpu none
expect_exit 4 "$GPUREADY" pack install $at/secret:1.1 --key key.pub --gpu none
expect_in "GPUREADY_OCI_TOKEN" "$(echo $out)"
GPUREADY_OCI_TOKEN=let-me-in expect_exit 0 "$GPUREADY" pack install $at/secret:1.1 --key key.pub --gpu none
GPUREADY_OCI_TOKEN=let-me-in expect_exit 2 "$GPUREADY" pack install oci+http://registry.example/x:1 --key key.pub --gpu none
expect_in "is sent only over https" "$(echo $out)"
# Blobs that lie on another host are fetched from there, and the token stays here.
rm -rf home asked.log
GPUREADY_OCI_TOKEN=let-me-in expect_exit 0 "$GPUREADY" pack install $at/away:1.1 --key key.pub --gpu none
grep -q '?away None' asked.log && ! grep -q '?away Bearer' asked.log || die "the token went elsewhere: $(cat asked.log)"
for bad in oci://host oci://host/ oci://host/UPPER:1 oci://host/../x:1 oci://host/x: oci://host/x@sha256:12 'oci://host/x:1?y' oci://user@host/x:1 oci:///x:1; do
  expect_exit 2 "$GPUREADY" pack install "$bad" --key key.pub --gpu none
  expect_in "write HOST/NAME:TAG" "$(echo $out)"
done
