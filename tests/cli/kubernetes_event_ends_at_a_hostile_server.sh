. "$LIB"
# What listens may be anything: the call ends with its cause, within its time.
event() { expect_exit "$1" "$GPUREADY" kubernetes event --state none --replay "$MACHINES/base-hgx-h100x8/machine.json" "${@:3}"; expect_in "$2" "$err"; }
unset NODE_NAME
event 2 "which node?" --socket none
event 4 "none: No such file" --node n --socket none
serve() {  # PYTHON: what it does with the connection c
  rm -f s
  python3 -c "
import socket, time
l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen(1); c, _ = l.accept()
try:
    $1
except OSError:
    pass" &
  for _ in $(seq 100); do [ -S s ] && break; sleep 0.05; done
}
serve "c.recv(9)"
event 4 "s: " --node n --socket s
serve "c.sendall(b'HTTP/1.1 400 Bad Request\r\n\r\n'); time.sleep(9)"
event 4 "s: " --node n --socket s
serve "
    while True: c.sendall(b'\0\0\10\6\0\0\0\0\0' + bytes(8))"
event 4 "s: " --node n --socket s
start=$SECONDS
serve "time.sleep(9)"
event 4 "it does not answer" --node n --socket s
[ $((SECONDS - start)) -le 8 ] || die "it took $((SECONDS - start)) s"
wait
