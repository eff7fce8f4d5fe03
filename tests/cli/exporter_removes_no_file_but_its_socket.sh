. "$LIB"
exporter=("$GPUREADY" exporter --state none --replay "$MACHINES/base-h100x1/machine.json" --listen)
rm -rf file link folder dead live; mkdir folder
echo keep >file
dead_socket() { python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("dead")'; }
dead_socket
ln -s dead link
for name in file link folder; do
  expect_exit 2 timeout 20 "${exporter[@]}" "unix:$PWD/$name"
  expect_in "$PWD/$name exists and is not a socket; move it away, or name another path" "$err"
done
[ "$(cat file)" = keep ] && [ -L link ] && [ -S dead ] || die "$(ls -l)"
# A socket of no process is replaced. At the end its file goes, unless another has its name.
run() {
  : >log.txt  # the shell that starts the exporter may clear it later than it is read
  "${exporter[@]}" "unix:$PWD/dead" 2>log.txt &
  for _ in $(seq 100); do grep -q "serving metrics" log.txt && return; sleep 0.1; done
  die "$(cat log.txt)"
}
end() {
  kill $!
  wait $! || die "exit code $?"
}
run
end
[ ! -e dead ] || die "the socket was left"
run
rm dead
echo other >dead
end
[ "$(cat dead)" = other ] || die "a file of others was removed"
