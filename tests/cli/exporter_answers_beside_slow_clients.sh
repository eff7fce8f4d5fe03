. "$LIB"
# Clients that send a byte at times take no connection from a scrape, and hold none for longer than 10 s.
(ulimit -n 64 && exec "$GPUREADY" exporter --listen 127.0.0.1:0 --interval 1 --state none --replay "$MACHINES/base-h100x1/machine.json") 2>log.txt &
exporter=$!
trap 'kill $exporter 2>/dev/null || true' EXIT
for _ in $(seq 100); do grep -q "serving metrics" log.txt && break; sleep 0.1; done
url=http://$(sed -n 's/.*serving metrics on //p' log.txt)
python3 - "${url##*:}" <<'END' || die "slow clients: $(cat log.txt)"
import http.client, select, socket, sys, threading, time
port = int(sys.argv[1])
def slow():
    client = socket.create_connection(("127.0.0.1", port), timeout=5)
    client.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
    return client
def scrape():
    start = time.monotonic()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode()
    except OSError as error:
        return str(error), 5
    assert 'result="failed"} 0\n' in page, page
    return page, time.monotonic() - start
clients = [slow() for _ in range(100)]
late = 0
for _ in range(20):
    for client in clients:
        try: client.sendall(b"a")
        except OSError: pass
    late += scrape()[1] > 1
    time.sleep(0.1)
assert late <= 1, f"{late} of 20 scrapes took longer than 1 s"
# Nor do clients that send many requests at once and read all answers: one of each is answered in turn.
def greedy():
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 3000)
    try:
        while client.recv(1 << 20): pass
    except OSError: pass
for _ in range(4): threading.Thread(target=greedy, daemon=True).start()
time.sleep(0.5)
took = max(scrape()[1] for _ in range(5))
assert took < 0.5, f"a scrape took {took} s beside 12,000 requests"
# What is open is closed 10 s after its first byte, whatever it sends.
one, start = slow(), time.monotonic()
try:
    while not select.select([one], [], [], 0.5)[0]: one.sendall(b"a")
except OSError: pass
took = time.monotonic() - start
assert 9 < took < 13, f"it was closed after {took} s"
END
[ "$(wc -l <log.txt)" = 1 ] || die "$(head -n 5 log.txt)"
kill $exporter
wait $exporter || die "exit code $? after SIGTERM"
