. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
rm -rf ./*
command -v python3 >/dev/null || skip "no python3"
make_stub_driver driver 580.65.06
mkdir -p www driver/usr/share/doc/nvidia
echo "You may use it. You may not pass it on." >driver/LICENSE
printf 'second licence \033[31mred\n' >driver/usr/share/doc/nvidia/copyright
tar -czf www/driver.tar.gz -C driver .
echo "<html>not found</html>" >www/page
hash=$(sha256sum www/driver.tar.gz | cut -c1-64)
port=$(python3 - <<'END'
import functools, http.server, os
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="www")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
if os.fork():
    print(server.server_address[1])
    os._exit(0)
os.setsid()
null = os.open("/dev/null", os.O_RDWR)
for descriptor in 0, 1, 2:
    os.dup2(null, descriptor)
open("server.pid", "w").write(str(os.getpid()))
server.serve_forever()
END
)
trap 'kill "$(cat server.pid)" 2>/dev/null || true' EXIT  # it is ended below
url=http://name:secret@127.0.0.1:$port
# A hash that is wrong: nothing is left, and both hashes are named.
wrong=$(printf '%064d' 7)
expect_exit 2 "$GPUREADY" vm drivers fetch "$url/driver.tar.gz" --sha256 "$wrong"
expect_in "$hash" "$err"
expect_in "$wrong" "$err"
[ ! -e driver.tar.gz ] || die "it was kept"
[ -z "$(find . -name '.gpuready*')" ] || die "something remains"
# The right one: the licences are shown, and a terminal is not driven by them.
expect_exit 0 "$GPUREADY" vm drivers fetch "$url/driver.tar.gz" --sha256 "sha256:${hash^^}"
expect_in "You may not pass it on." "$out"
expect_in "second licence" "$out"
expect_not_in $'\033[31m' "$out"
expect_not_in secret "$out$err"
cmp driver.tar.gz www/driver.tar.gz
expect_exit 0 "$GPUREADY" vm drivers collect driver.tar.gz -o bundle
# Again: nothing is fetched. Another file in its place is not replaced.
kill "$(cat server.pid)"
expect_exit 0 "$GPUREADY" vm drivers fetch "$url/driver.tar.gz" --sha256 "$hash" --json -
[ "$(jq -r '.was_there, (.licences | length)' <<<"$out" | xargs)" = "true 2" ] || die "$out"
expect_not_in secret "$out"
echo mine >driver.tar.gz
expect_exit 2 "$GPUREADY" vm drivers fetch "$url/driver.tar.gz" --sha256 "$hash"
expect_in "exists and has another SHA-256" "$err"
[ "$(cat driver.tar.gz)" = mine ] || die "it was replaced"
# What is no driver's archive is told; so are a hash and a URL that are none.
expect_exit 1 "$GPUREADY" vm drivers fetch http://127.0.0.1:1/page -o www/page \
  --sha256 "$(sha256sum www/page | cut -c1-64)"
expect_in "no bundle can be made of it" "$out"
expect_exit 2 "$GPUREADY" vm drivers fetch "$url/driver.tar.gz" --sha256 abc
expect_in "64 hexadecimal digits" "$err"
expect_exit 2 "$GPUREADY" vm drivers fetch ftp://127.0.0.1/x --sha256 "$hash"
expect_in "ftp://127.0.0.1/x: expected the URL of a file" "$err"
expect_exit 2 "$GPUREADY" vm drivers fetch "$url/driver.tar.gz"
expect_in "--sha256" "$err"
