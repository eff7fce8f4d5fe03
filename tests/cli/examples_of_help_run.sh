. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
# The examples that help begins with, as a user types them, where neither a GPU, a daemon nor root's rights over devices
# are needed. Each ends as it must on a machine without a GPU; unit tests parse all of them.
rm -rf ./* .local
mkdir -p bin
ln -sf "$GPUREADY" bin/gpuready
PATH=$PWD/bin:$PATH
export HOME=$PWD
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
attached_machine attached.json
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" reports 2
cat reports/*.json >all.json
mkdir etc && echo ClusterName=c >etc/slurm.conf
echo '{"context": {"date": "2024-05-01T14:00:00+02:00", "executable": "bm", "num_cpus": 4}, "benchmarks": [
  {"name": "A", "run_type": "iteration", "real_time": 12, "cpu_time": 12, "time_unit": "us"}]}' >result.json
prepare() {  # prepare LINE: what its user has by then
  case $1 in
    "doctor --baseline"*) cp machine.tar.zst before.tar.zst ;;
    "bench import"*) rm -rf bench-results ;;
    "bench "*)
      rm -rf bench-results
      local runs=("$SOURCE/tests/cli/bench_runs.py" bench-results) name=VARIABLE value=MY_VARIABLE=1
      [[ $1 != *"--idea commit"* ]] || name=COMMIT value=2222222
      "${runs[@]}" base 0 2 1000
      [[ $1 == *google-benchmark* ]] || "${runs[@]}" base 0 2 1000 1003 998 1001 999 1002
      env $name=$value "${runs[@]}" candidate 1 2 952 951 954 950 953 952 ;;
    "pack adopt"*) rm -rf dist d && cp release.key my.key ;;
    "pack list") "$GPUREADY" pack install dist --key release.pub --to libs >/dev/null ;;
    "vm drivers collect"*) rm -rf bundle ;;
    "vm drivers list"*) rm -rf bundles/b && cp -r bundle bundles/b ;;
    *) rm -f out.gguf ;;
  esac
}
count=0
run() {  # run LINE
  local code=0 line=${1%%  #*} host=$MACHINES/vm-host-h100/machine.json
  # A recording or the CPU replaces this machine's GPUs, so that all machines give the same.
  case $line in
    "pack key release") set -- "--no-password" ;;
    "check"* | "test"* | "selftest") set -- "--device cpu" ;;
    "ternary verify"* | "ternary bench"*) set -- "--device cpu --tier scalar" ;;
    "doctor" | "detect" | "detect --full"* | "vm list"* | "vm doctor" | "vm show"* | "vm plan"* | "vm status"* | \
      "pack explain model.so" | "slurm health"* | "slurm prolog"* | "slurm epilog"* | "kubernetes condition"* | \
      "kubernetes features"* | "exporter --once") set -- "--replay $host" ;;
    "slurm install"*) set -- "--conf $PWD/etc/slurm.conf" ;;
    "slurm doctor"*) set -- "--conf $PWD/etc/slurm.conf --replay $host" ;;
    "vm args"*) set -- "--replay attached.json" ;;
    *) set -- "" ;;
  esac
  [ "$line" != selftest ] || line="selftest --trials 1 --inject bitflip"
  line=${line/--level thorough --device 0/} line=${line/ --duration 1h/} line=${line/#test/test --level quick}
  line=${line/--device cpu --trials 5/--trials 1 --inject bitflip --device cpu} line=${line/0 1 --for/0 --for}
  line=${line/--conf \/etc\/slurm\/slurm.conf/} line=${line/args --for guest/args --for web-1}
  line=${line/2560x6912/64x64} line=${line/%ternary bench/ternary bench --shape 64x64}
  line=${line/copy \/shared/copy .} line=${line/collect \/ /collect driver }
  timeout 120 bash -c "gpuready $line $1" >out.txt 2>err.txt </dev/null || code=$?
  [ $code -ne 2 ] && [ $code -lt 124 ] || die "gpuready $line $1: exit $code"$'\n'"$(head -n 20 out.txt err.txt)"
  count=$((count + 1))
  [ -z "${SHOW:-}" ] || echo "$SECONDS $code $line"
}
examples() { "$GPUREADY" "$@" --help | sed -n '/^Examples:/,/^Usage:/s/^  gpuready //p'; }
# Not run: what takes a proof of test machines, NVIDIA's own installer, Slurm's nodes, or does not end by itself.
elsewhere='--require-proof|NVIDIA-Linux|--runner slurm|^exporter( +#|$)|--listen'
for command in "" "record" "policy init" "policy check" detect doctor check "test" status gpu-test selftest \
  "pack key" "pack inspect" "pack explain" "pack init" "pack build" "pack publish" "pack select" "pack install" \
  "pack list" "pack verify" "pack rollback" "pack gc" "pack env" "pack uninstall" "pack adopt" \
  "ternary inspect" "ternary convert" "ternary verify" "ternary bench" \
  "vm list" "vm show" "vm plan" "vm doctor" "vm compat" "vm status" "vm args" "vm drivers collect" "vm drivers list" \
  "vm drivers show" "vm drivers verify" "vm initrd" \
  "bench adapter" "bench compare" "bench promote" "bench history" "bench report" "bench import" "bench export" \
  "fleet merge" "fleet slow" "slurm health" "slurm prolog" "slurm epilog" "slurm install" "slurm doctor" exporter \
  "kubernetes condition" "kubernetes features" "kubernetes copy"; do
  read -ra words <<<"$command"
  found=$(examples "${words[@]}")
  [ "$(wc -l <<<"$found")" -ge 2 ] || die "$command --help begins with no examples"
  while read -r line; do
    [[ ! $line =~ $elsewhere ]] || continue
    prepare "$line"
    run "$line"
  done <<<"$found"
done
[ "$count" -ge 110 ] || die "only $count examples ran"
echo "$count examples"
