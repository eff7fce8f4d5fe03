. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
# Runs the examples that every page of help begins with, as a user types them. A recording, the CPU and servers in this
# folder replace GPUs, daemons and the network. Unit tests parse all examples.
rm -rf ./* .local .git
sockets=$(mktemp -d)  # a short path
trap '[ $? -eq 0 ] || echo "at: ${line:-}" >&2; kill $(jobs -p) 2>/dev/null || true; rm -r "$sockets"' EXIT
mkdir -p bin www "$sockets"/{gpuready,nvsentinel}
ln -sf "$GPUREADY" bin/gpuready
PATH=$PWD/bin:$PATH
export HOME=$PWD NODE_NAME=n1
recorded=$MACHINES/vm-host-h100/machine.json

# The few examples that bind devices to drivers. The named test runs these very lines in an emulated machine.
elsewhere=tests/vm/examples_of_help.sh
binds_devices() { [[ $1 =~ ^vm\ (attach|detach|recover|hold)( |$) ]]; }

# What the examples name.
python3 "$SOURCE/tests/cli/gguf.py" model.gguf tq2 >/dev/null
cp "$(ls "$FAKES"/fake_cuda.so)" model.so
mkdir -p wheels build/cpu build/cuda bundles features.d && cp model.so wheels/
echo same | tee build/cpu/shared >build/cuda/shared
printf '.version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n\0' >build/cuda/code.ptx
tar -C build/cpu -czf a.tgz shared
python3 -m zipfile -c libs-cpu.zip build/cpu/shared
cp "$MACHINES/../consoles/guest-ready.log" guest.log
make_stub_driver driver 580.65.06
make_stub_driver older 550.163.01
{ printf '#!/bin/sh\nskip=3\n'; tar -C driver -cz .; } | tee www/d.run >NVIDIA-Linux-x86_64-580.run
hash=$(sha256sum www/d.run | cut -c1-64)
attached_machine attached.json && sed -i 's/web-1/guest/g' attached.json
vfio_machine attached.json vfio.json
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" reports 2
cat reports/*.json >all.json
for i in 1 2 3; do echo "SwitchName=leaf$i Nodes=n[$((i * 4 - 3))-$((i * 4))]"; done >topology.conf
mkdir etc && echo ClusterName=c >etc/slurm.conf
echo '{"context": {"date": "2024-05-01T14:00:00+02:00", "executable": "bm", "num_cpus": 4}, "benchmarks": [
  {"name": "A", "run_type": "iteration", "real_time": 12, "cpu_time": 12, "time_unit": "us"}]}' >result.json
gpuready record machine.tar.zst -q
cp machine.tar.zst before.tar.zst
# For Slurm's srun: n3 is slower by 15%.
cat >bin/srun <<'END'
#!/bin/sh
rate=$((3500 + $(od -An -N1 -tu1 /dev/urandom) % 20))
case ",$(echo "$*" | sed -n 's/.*--nodelist=\([^ ]*\).*/\1/p')," in *,n3,*) rate=$((rate * 85 / 100)) ;; esac
echo "# Avg bus bandwidth    : $((rate / 10)).$((rate % 10))"
END
# A small benchmark, of this commit and of another.
small="--device cpu --stack gpuready --repeats 1 --iters 4 --warmup 1 --max-seconds 0.05"
commit() { git -C "$1" init -q && git -C "$1" -c user.name=t -c user.email=t@t commit -q --allow-empty -m "$1"; }
mkdir newer && ln -s ../bench-results newer/bench-results && commit . && commit newer
printf '#!/bin/sh\ncd newer && exec gpuready bench run %s --hidden 64 "$@"\n' "$small" >new
chmod +x new bin/srun
python3 -u -m http.server 0 --bind 127.0.0.1 --directory www >server.txt 2>&1 &
python3 "$SOURCE/tests/cli/health_events.py" "$sockets"/nvsentinel/nvsentinel.sock events &
! command -v qemu-system-x86_64 >/dev/null || monitor "$sockets/guest.qmp" -device pcie-root-port,id=port1,chassis=1
until grep -q " port " server.txt && [ -S "$sockets"/nvsentinel/nvsentinel.sock ]; do sleep 0.05; done
site=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\).*/\1/p' server.txt)

install_libs() { gpuready pack install dist --key release.pub "$@" >/dev/null; }
publish_libs() {  # publish_libs VERSION FOLDER
  sed -i "s/^version = .*/version = \"$1\"/" pack.toml
  gpuready pack build -q >/dev/null && gpuready pack publish --key release.key --to "$2" -q >/dev/null
}
prepare() {  # prepare LINE: what its user has by then
  case $1 in
    "bench run"* | "bench loop"* | "bench import"*) rm -rf bench-results && mkdir bench-results ;;
    "bench "*)
      rm -rf bench-results
      local runs=("$SOURCE/tests/cli/bench_runs.py" bench-results) name=VARIABLE value=MY_VARIABLE=1
      [[ $1 != *torch_compile* ]] || local -x STACK=torch_compile
      [[ $1 != *"--idea commit"* ]] || name=COMMIT value=2222222
      "${runs[@]}" base 0 2 1000
      [[ $1 == *google-benchmark* ]] || "${runs[@]}" base 0 2 1000 1003 998 1001 999 1002
      env $name=$value "${runs[@]}" candidate 1 2 952 951 954 950 953 952 ;;
    *--require-proof*)  # of a test machine without a GPU
      gpuready pack key lab --no-password -q >/dev/null
      { echo "report_keys = [\"$(tail -1 lab.pub)\"]" && cat pack.toml && printf '[[machines]]\nname = "plain"\n'; } >pack.new
      mv pack.new pack.toml && mkdir proof && publish_libs 1.3 tried
      GPUREADY_FAKE=none gpuready pack install tried --key release.pub --to lab --report proof/plain.json \
        --report-key lab.key >/dev/null ;;
    "pack adopt cpu"*) rm -rf dist && cp release.key my.key ;;
    "pack rollback libs") publish_libs 1.4 dist && install_libs && install_libs --to libs ;;
    "pack list --to"* | "pack env libs") install_libs && install_libs --to libs ;;
    "vm drivers collect"*) rm -rf bundle ;;
    "vm drivers list"*) rm -rf bundles/b && cp -r bundle bundles/b ;;
    "vm drivers upgrade bundles /") rm -rf bundles ;;
    "vm drivers upgrade bundles --to"*)
      rm -rf bundles
      for version in older driver; do gpuready vm drivers upgrade bundles $version >/dev/null; done ;;
    *) rm -f out.gguf d.run ;;
  esac
}
stand_in() {  # stand_in LINE: options that put something else in the place of this machine, and make it short
  case $1 in
    "pack key release") echo "--no-password" ;;
    "check"* | "test"*) echo "--device cpu" ;;
    "ternary verify"* | "ternary bench"*) echo "--device cpu --tier scalar" ;;
    "vm plug"* | "vm unplug"*) echo "--replay vfio.json" ;;
    "vm args"* | "vm status --for"*) echo "--replay attached.json" ;;
    "exporter" | "exporter --listen"* | "kubernetes condition untested"*) echo "--state none --replay $recorded" ;;
    "doctor" | "detect" | "detect --full"* | "vm list"* | "vm doctor" | "vm show"* | "vm plan"* | "vm status" | \
      "pack explain model.so" | "slurm health"* | "slurm prolog"* | "slurm epilog"* | "kubernetes condition"* | \
      "kubernetes features"* | "exporter --once"*) echo "--replay $recorded" ;;
    "kubernetes event"*NODE_NAME*) echo "--state none --replay $recorded --socket $sockets/nvsentinel/nvsentinel.sock" ;;
    "kubernetes event"*) echo "--state none --replay $recorded" ;;
    "slurm install"*) echo "--conf etc/slurm.conf" ;;
    "slurm doctor"*) echo "--conf etc/slurm.conf --replay $recorded" ;;
    "bench run"*gemm*) echo "$small" ;;
    "bench run"*) echo "$small --hidden 64" ;;
    "bench loop"*) echo "--max-runs 3 --command 'gpuready bench run $small --hidden 64'" ;;
  esac
}
rewritten() {  # rewritten LINE: likewise what it names
  sed -E "s#^selftest.*#selftest --trials 1 --inject bitflip --device cpu#; s#^test#test --level quick#
    s# --level thorough --device 0| --duration 1h| --conf /etc/slurm/slurm.conf##; s#4096#64#g
    s#0 1 --for#0 --for#; s#2560x6912#64x64#; s#^ternary bench\$#ternary bench --shape 64x64#
    s#/shared/#./#; s#collect / #collect driver #; s#bundles /\$#bundles driver#
    s#https://example.com#$site#; s#HASH#$hash#; s#/run/#$sockets/#" <<<"$1"
}
serve() {  # serve COMMAND: the exporter answers, and ends at SIGTERM
  bash -c "exec $1" 2>err.txt &
  local server=$! at url="" place=()
  until at=$(sed -n 's/.*serving metrics on //p' err.txt) && [ -n "$at" ]; do
    kill -0 $server || die "$1: $(cat err.txt)"
    sleep 0.05
  done
  [[ $at != unix:* ]] || place=(--unix-socket "${at#unix:}") url=localhost
  for _ in {1..100}; do
    curl -sS "${place[@]}" "http://${url:-$at}/metrics" >out.txt
    ! grep -q '^gpuready_exporter_samples_total{result="answered"} [1-9]' out.txt || break
    sleep 0.05
  done
  grep -q '^gpuready_gpu_info{.*pci="0000:17:00.0"' out.txt || die "$1: $(cat out.txt)"
  [[ $1 != *dcgm* ]] || grep -q ^DCGM_FI_ out.txt || die "$1: $(cat out.txt)"
  kill $server
  wait $server || die "$1: exit code $? after SIGTERM"
}
codes() {  # codes LINE: the exit codes that it may have
  case $1 in
    # These see this machine, or its recording.
    "check"* | "doctor"* | "status"* | "policy check"* | "gpu-test"*) echo "0 1 3 4" ;;
    # Other tests load the machine, and not both sides alike.
    "bench loop"*) grep -q "cannot be compared: they differ in load" out.txt && echo "0 1 2 4" || echo "0 1 4" ;;
    "vm plug"* | "vm unplug"*) [ -S "$sockets/guest.qmp" ] && echo "0 1" || echo "3" ;;  # QEMU has no such device; no QEMU
    "fleet slow --topology"* | "slurm doctor"* | "kubernetes condition untested"*) echo "1" ;;
    "fleet merge all.json"*) echo "4" ;;  # 62 of 64 nodes did not report
    *) echo "0" ;;
  esac
}
count=0
run() {  # run LINE
  local code=0 line=$1 command
  command="gpuready $(rewritten "$line") $(stand_in "$line")"
  count=$((count + 1))
  case $line in
    "exporter --once"*) ;;
    "exporter"*) serve "$command"; return ;;
    *slurm\ --results*) command="SLURM_JOB_ID=7 $command" ;;
  esac
  timeout 120 bash -c "$command" >out.txt 2>err.txt </dev/null || code=$?
  [[ " $(codes "$line") " == *" $code "* ]] || die "$command: exit $code"$'\n'"$(head -n 20 out.txt err.txt)"
  [ -z "${SHOW:-}" ] || echo "$SECONDS $code $line"
}
pages() {  # pages [WORD...]: this command and those below it, one a line
  echo "$*"
  "$GPUREADY" "$@" --help </dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]\+\) .*/\1/p' | while read -r word; do
    pages "$@" "$word"
  done
}
pages >pages.txt
[ "$(wc -l <pages.txt)" = "$("$GPUREADY" __pages | grep -c '\.1$')" ] || die "not every page: $(cat pages.txt)"
declare -A seen=()
while read -ra words <&3; do
  found=$("$GPUREADY" "${words[@]}" --help | sed -n '3{/^Examples:$/!q};4,/^Usage:/s/^  gpuready //p')
  [ "$(wc -l <<<"$found")" -ge 2 ] || die "${words[*]} --help begins with no examples"
  while read -r line; do
    line=${line%%  *}  # without the comment
    [ -z "${seen[$line]:-}" ] || continue  # of a group and of its command
    seen[$line]=1
    if binds_devices "$line"; then
      grep -q "gpuready $line\$" "$SOURCE/$elsewhere" || die "$elsewhere does not run: $line"
      continue
    fi
    prepare "$line"
    run "$line"
  done <<<"$found"
done 3<pages.txt
[ "$(grep -ao GpureadyNodeFault events | wc -l)" = 2 ] && grep -aq n1 events || die "events: $(cat -v events)"
echo "$count examples of $(wc -l <pages.txt) pages"
