. "$LIB"
# The examples that help begins with, as a user types them, where neither a GPU nor root's rights over devices are
# needed. Each ends as it must on a machine without a GPU; unit tests parse all of them.
mkdir -p bin
ln -sf "$GPUREADY" bin/gpuready
PATH=$PWD/bin:$PATH
export HOME=$PWD
rm -f machine.tar.zst policy.toml
for file in model.gguf d libs out.gguf bench-results release.key release.pub ci.key ci.pub; do rm -rf "$file"; done
python3 "$SOURCE/tests/cli/gguf.py" model.gguf tq2 >/dev/null
cp "$(ls "$FAKES"/fake_cuda.so)" model.so
mkdir -p wheels && cp model.so wheels/
cp "$MACHINES/../consoles/guest-ready.log" guest.log
count=0
run() {  # run LINE
  local code=0 line=${1%%  #*}
  # A recording or the CPU replaces this machine's GPUs, so that all machines give the same.
  case $line in
    "pack key release") set -- "--no-password" ;;
    "check"* | "test"* | "selftest") set -- "--device cpu" ;;
    "ternary verify"*) set -- "--device cpu --tier scalar" ;;
    "doctor" | "detect" | "detect --full"* | "vm list"* | "vm doctor" | "vm show"* | "vm plan"* | "pack explain model.so")
      set -- "--replay $MACHINES/vm-host-h100/machine.json" ;;
    *) set -- "" ;;
  esac
  [ "$line" != selftest ] || line="selftest --trials 1 --inject bitflip"
  line=${line/--level thorough --device 0/} line=${line/ --duration 1h/} line=${line/#test/test --level quick}
  line=${line/--device cpu --trials 5/--trials 1 --inject bitflip --device cpu} line=${line/0 1 --for/0 --for}
  timeout 120 bash -c "gpuready $line $1" >out.txt 2>err.txt </dev/null || code=$?
  [ $code -ne 2 ] && [ $code -lt 124 ] || die "gpuready $line $1: exit $code"$'\n'"$(head -n 20 out.txt err.txt)"
  count=$((count + 1))
  [ -z "${SHOW:-}" ] || echo "$SECONDS $line"
}
examples() { "$GPUREADY" "$@" --help | sed -n '/^Examples:/,/^Usage:/s/^  gpuready //p'; }
for command in "" "record" "policy init" "policy check" detect doctor check "test" status gpu-test selftest \
  "pack key" "pack inspect" "pack explain" "ternary inspect" "ternary convert" "ternary verify" \
  "vm list" "vm show" "vm plan" "vm doctor" "vm compat" "bench adapter"; do
  read -ra words <<<"$command"
  found=$(examples "${words[@]}")
  [ "$(wc -l <<<"$found")" -ge 2 ] || die "$command --help begins with no examples"
  rm -f out.gguf
  while read -r line; do
    [[ $line == doctor\ --baseline* ]] && cp machine.tar.zst before.tar.zst
    run "$line"
    rm -f out.gguf
  done <<<"$found"
done
[ "$count" -ge 40 ] || die "only $count examples ran"
echo "$count examples"
