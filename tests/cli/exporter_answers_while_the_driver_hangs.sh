. "$LIB"
# NVML answers, then hangs in a call, then answers again; the page is answered all the time.
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so FAKE_NVML="devices=2;hang=nvmlInit_v2;while=$PWD/hangs"
rm -f hangs page listen.sock
"$GPUREADY" exporter --listen "unix:$PWD/listen.sock" --interval 1 --state none 2>log.txt &
exporter=$!
trap 'kill $exporter 2>/dev/null || true' EXIT
get() { curl -s --max-time 1 --unix-socket listen.sock "http://x$1"; }
value() { get /metrics >page && sed -n "s/^$1 //p" page; }
# becomes SECONDS TEXT COMMAND...: waits until its output holds the text.
becomes() {
  local text=$2 until=$((SECONDS + $1)) got=
  shift 2
  while [ "$SECONDS" -le "$until" ]; do
    got=$("$@") || true
    case $got in *"$text"*) return ;; esac
    sleep 0.2
  done
  die "no '$text' in: $got"$'\n'"$(cat log.txt)"
}
becomes 10 2 value gpuready_gpus
[ "$(value gpuready_driver_unanswered_seconds)" = 0 ] || die "$(cat page)"
grep -q '^gpuready_gpu_temperature_celsius{gpu="1"' page || die "$(cat page)"
touch hangs
silent() { value gpuready_driver_unanswered_seconds | awk '{ print ($1 > 0 ? "silent" : "answers") }'; }
becomes 10 silent silent
grep -q '^gpuready_gpu_status{.*gpu="1".*status="unknown"} 1' page || die "$(cat page)"
! grep -q '^gpuready_gpu_temperature_celsius' page || die "a temperature of long ago: $(cat page)"
expect_in "no answer of the driver" "$(get /readyz)"
rm hangs
# The call that hangs keeps its deadline; another exporter has a new one.
start=$SECONDS
kill $exporter
wait $exporter || die "exit code $? after SIGTERM"
[ $((SECONDS - start)) -le 2 ] || die "it took $((SECONDS - start)) s to end"
[ ! -e listen.sock ] || die "the socket was left"
