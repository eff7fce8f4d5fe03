# A release over https: whoever cannot prove to be that server is not believed, nothing is installed, and the error
# says why. With the certificate trusted the same server is.
source "$LIB"
PATH=$PATH:/sbin ldconfig -p | grep libcurl.so.4 >/dev/null || skip "no libcurl"
command -v openssl >/dev/null || skip "no openssl"
export HOME=$PWD/home
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy no_proxy CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR
rm -rf home source built release key.* *.pem port.* && mkdir -p home source/cpu
echo content >source/cpu/file
printf 'name = "libs"\nversion = "1.0"\nfolder = "source/{variant}"\n[variants.cpu]\n' >pack.toml
"$GPUREADY" pack key key --no-password -q >/dev/null
"$GPUREADY" pack build --out built -q >/dev/null
"$GPUREADY" pack publish --built built --to release --key key.key -q >/dev/null
certificate() {  # NAME HOST [DAYS]
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key.pem" -out "$1.pem" -subj "/CN=$2" \
    -addext "subjectAltName=$2" -days "${3:-2}" 2>openssl.log || die "openssl: $(cat openssl.log)"
}
certificate own IP:127.0.0.1
certificate other DNS:other.example
cat >server.py <<'P'
import functools, http.server, ssl, sys, threading
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
class Down(Quiet):  # leads from https to http
    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", f"http://127.0.0.1:{ports['plain']}{self.path}")
        self.end_headers()
ports = {}
for name, handler, certificate in (("plain", Quiet, None), ("own", Quiet, "own"), ("other", Quiet, "other"), ("down", Down, "own")):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory="release") if handler is Quiet else handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    ports[name] = server.server_port
    threading.Thread(target=server.serve_forever).start()
print(*ports.values(), flush=True)
P
python3 -u server.py >port.txt 2>server.log & server=$!
trap 'kill $server' EXIT
touch port.txt
for _ in $(seq 100); do read -r plain own other down <port.txt && break || sleep 0.1; done
install() { "$GPUREADY" pack install "$1" --key key.pub --gpu none; }
refused() { expect_exit 4 install "$1"; expect_in "$2" "$(echo $out)"; [ ! -e home/.local/share/libs ] || die "something was installed"; }

refused "https://127.0.0.1:$own" "certificate"
export SSL_CERT_FILE=$PWD/other.pem
refused "https://127.0.0.1:$other" "no alternative certificate subject name matches"
refused "oci://127.0.0.1:$own/libs:1" "certificate"
export SSL_CERT_FILE=$PWD/own.pem
refused "https://127.0.0.1:$down" "rotocol"
expect_exit 0 install "https://127.0.0.1:$own"
[ "$(cat home/.local/share/libs/gpu-libs/current/file)" = content ] || die "other files"
