. "$LIB"
# A stand-in for ssh: what the other machine's shell would execute, this one's does. That machine has a
# folder of its own for temporary files, with a name that a shell would split.
rm -rf bin "there's tmp" && mkdir -p bin "there's tmp"
cat >bin/ssh <<SSH
#!/bin/sh
export TMPDIR="$PWD/there's tmp"
SSH
cat >>bin/ssh <<'SSH'
while [ "$1" != -- ]; do shift; done
[ "$2" != down ] || { echo "ssh: connect to host down port 22: No route to host" >&2; exit 255; }
[ "$2" != arm ] || { uname() { echo Linux aarch64; }; }
there=$2
shift 2
case $there:$* in
  banner:*) echo "Welcome"; eval "$*" ;;
  cut:cat*) eval "$*" | sed 's|"tag": "cut"|"tag": "cut-interrupted", "interrupted": true|' ;;
  escape:cat*) eval "$*" | sed 's|"id": "[^"]*"|"id": "../../escaped"|' ;;
  *:cat*run.json*) ls "$TMPDIR" >>seen.txt; eval "$*" ;;
  *) eval "$*" ;;
esac
SSH
chmod +x bin/ssh
export PATH=$PWD/bin:$PATH BENCH_SECRET_NOT="it's \$HOME"
rm -rf bench-results seen.txt
there=("$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.1 --iters 4
  --stack gpuready --repeats 2)
expect_exit 0 "${there[@]}" --remote user@other --tag there --json=run.json
expect_in "gpuready (own kernels, reference): " "$out"
cmp run.json bench-results/*__there.json || die "the kept document is another"
python3 - <<'PY'
import json
run = json.load(open("run.json"))["run"]
assert run["workload"]["shape"] == {"k": 32, "m": 8, "n": 16}, run["workload"]
assert len(run["stacks"][0]["repeats"]) == 2 and run["tag"] == "there", run
PY
# The exit code is the other machine's; a stack that it has not is told.
expect_exit 3 "${there[@]}" --stack glow --remote user@other
# What was cut off there is kept as here, and so is a run that was lost.
expect_exit 130 "${there[@]}" --remote cut --tag cut
[ -e bench-results/*__cut-interrupted.json ] || die "not kept: $(ls bench-results)"
export MINE_BENCH_CMD="sh -c 'exit 9'"
lost=("${there[@]/gpuready/mine}")
lost[0]=$GPUREADY
expect_exit 1 "${lost[@]}" --remote user@other --tag lost
[ -e bench-results/*__lost-failed.json ] || die "not kept: $(ls bench-results)"
expect_exit 1 "${lost[@]}" --remote user@other --tag there --add
[ "$(ls bench-results/*__there.json | wc -l)" = 2 ] || die "the tag has another: $(ls bench-results)"
# Wrong names, no way there, another kind of machine: nothing is kept.
kept=$(ls bench-results)
expect_exit 2 "${there[@]}" --remote -oProxyCommand=true
expect_in "expected USER@HOST" "$err"
expect_exit 2 "${there[@]}" --remote down
expect_in "No route to host" "$err"
expect_exit 2 "${there[@]}" --remote arm
expect_in "Linux aarch64" "$err"
expect_exit 2 "${there[@]}" --remote banner
expect_in "prints text at login" "$err"
expect_exit 2 "${there[@]}" --remote escape
expect_in "the run's id is ../../escaped" "$err"
expect_exit 2 "${there[@]}" --remote user@other --tag there
expect_in "--add" "$err"
[ "$kept" = "$(ls bench-results)" ] || die "a run that failed left something"
grep -q '^gpuready-bench\.' seen.txt || die "it ran somewhere else than in the folder for temporary files"
[ -z "$(ls "there's tmp")" ] || die "something stays on the other machine"
