. "$LIB"
# A GPU that answers, then vanishes from the bus; on a TCP port that the kernel chooses.
cp -r "$MACHINES/base-h100x1" "$MACHINES/gpu-gone-from-bus" .
recording() {
  jq -n --arg extends "$1/machine.json" '{schema: "gpuready.machine-script", schema_version: 1, $extends}' >new.json
  mv new.json machine.json
}
recording base-h100x1
"$GPUREADY" exporter --listen 127.0.0.1:0 --interval 1 --state none --replay machine.json --dcgm-names 2>log.txt &
exporter=$!
trap 'kill $exporter 2>/dev/null || true' EXIT
has() {  # waits for a line of the page
  for _ in $(seq 60); do
    url=http://$(sed -n 's/.*serving metrics on //p' log.txt)
    curl -s --max-time 1 "$url/metrics" >page || true
    ! grep -q "$1" page || return 0
    sleep 0.1
  done
  die "no $1 in: $(cat page log.txt)"
}
has '^gpuready_gpu_present{gpu="0".*} 1$'
has '^DCGM_FI_DEV_GPU_TEMP{gpu="0"'
uuid=$(sed -n 's/^gpuready_gpu_info{gpu="0",uuid="\([^"]*\)".*/\1/p' page)
recording gpu-gone-from-bus
has "^gpuready_gpu_present{gpu=\"0\",uuid=\"$uuid\".*} 0\$"
has "^gpuready_gpu_status{.*uuid=\"$uuid\".*status=\"lost\"} 1\$"
has '^gpuready_finding{id="no-gpu"'
recording base-h100x1
has "^gpuready_gpu_present{gpu=\"0\",uuid=\"$uuid\".*} 1\$"
# HTTP: OpenMetrics by request; nothing but GET and HEAD, and no files.
status() { curl -s -o /dev/null --max-time 2 -w '%{http_code} %{content_type}' "$@"; }
[ "$(status -H 'Accept: application/openmetrics-text' "$url/metrics")" = \
  "200 application/openmetrics-text; version=1.0.0; charset=utf-8" ] || die "OpenMetrics"
for method in POST DELETE OPTIONS FOO; do
  curl -s -i --max-time 2 -X $method -d a=b "$url/metrics" >answer || die "no answer to $method"
  grep -q "^HTTP/1.1 405 " answer && grep -q "^Allow: GET, HEAD.$" answer || die "$method: $(cat answer)"
done
case $(status --path-as-is "$url/../../etc/passwd") in 404*) ;; *) die "another path was answered" ;; esac
case $(status "$url/healthz") in 200*) ;; *) die "healthz" ;; esac
# The port is taken; an address has digits.
expect_exit 2 "$GPUREADY" exporter --listen "${url#http://}"
expect_in "cannot listen on ${url#http://}: Address already in use" "$err"
expect_exit 2 "$GPUREADY" exporter --listen localhost:9836
expect_in "--listen localhost:9836: the address is not one of digits; give ADDRESS:PORT" "$err"
kill $exporter
wait $exporter || die "exit code $? after SIGTERM"
