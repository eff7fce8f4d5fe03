# Root works in a folder of another user's, who has planted what programs would find there: a module beside the
# adapters and in the current folder, a git repository that names programs, tools in PATH and behind CUDA_HOME.
source "$LIB"
[ "$(id -u)" = 0 ] || skip "only root can be led astray"
command -v git >/dev/null || skip "no git"
command -v python3 >/dev/null || skip "no python3"
python=$(python3 -c 'import sys; print(sys.executable)')
rm -rf theirs ran home && mkdir -p theirs home theirs/bin theirs/cuda/bin
export HOME=$PWD/home BENCH_PYTHON=$python
ran=$PWD/ran
trap_program() { printf '#!/bin/sh\necho "$0" >>"%s"\nexit 1\n' "$ran" >"$1" && chmod 755 "$1"; }
cd theirs
trap_program bin/nvcc && trap_program bin/git && trap_program bin/python3 && trap_program cuda/bin/nvcc
trap_program monitor && trap_program filter
trap_module() { mkdir -p "$1" && printf 'open("%s", "a").write("%s\\n")\n' "$ran" "$1" >"$1/$2.py"; }
git init -q . && git config user.name u && git config user.email u@example.com
echo '*.txt filter=evil' >.gitattributes && echo text >a.txt && git add -A && git commit -qm one
git config core.fsmonitor "$PWD/monitor" && git config core.hooksPath "$PWD"
git config filter.evil.clean "$PWD/filter" && git config filter.evil.process "$PWD/filter" && git config filter.evil.required true
git config diff.external "$PWD/filter" && git config core.pager "$PWD/filter" && git config core.sshCommand "$PWD/filter"
touch -d 2001-01-01 a.txt
# Where a run would put its scripts: the name follows from the program alone.
(cd .. && rm -rf other && mkdir other && cd other && "$GPUREADY" bench adapter --env >/dev/null)
name=$(basename ../other/bench-results/adapters-*)
for module in json numpy torch gpuready_bench; do
  trap_module . $module && trap_module "bench-results/$name" $module && trap_module bench-results $module
done
run=("$GPUREADY" bench run --device cpu --task gemm --m 8 --n 8 --k 8 --iters 2 --max-seconds 0.05 --repeats 1
     --stack gpuready,torch_eager,onnxruntime --json=run.json --quiet)
chown -R 65534:65534 .

# Another user's repository: nothing is said of it, also where git would trust that user through sudo.
touch -d 2002-01-01 a.txt
SUDO_UID=65534 SUDO_USER=nobody "${run[@]}" >/dev/null 2>err.txt || true
[ -s run.json ] || die "no run: $(cat err.txt)"
[ "$(jq -r '.run.git_commit // "none"' run.json)" = none ] || die "a commit of another user's repository: $(jq .run.git_commit run.json)"
[ ! -e "$ran" ] || die "as root ran: $(cat "$ran")"
# One that root has, with the same configuration, as a copied or unpacked one may have: the commit is told.
chown -R 0:0 .
rm -rf bench-results
touch -d 2003-01-01 a.txt
"${run[@]}" >/dev/null 2>err.txt || true
[ "$(jq -r .run.git_commit run.json)" = "$(git rev-parse HEAD)" ] || die "no commit: $(cat err.txt)"
[ "$(jq -r .run.git_dirty run.json)" = false ] || die "dirty: $(jq .run.git_dirty run.json)"
[ ! -e "$ran" ] || die "the repository's programs ran: $(cat "$ran")"
echo more >>a.txt
"${run[@]}" >/dev/null 2>err.txt || true
[ "$(jq -r .run.git_dirty run.json)" = true ] || die "not dirty: $(jq .run.git_dirty run.json)"

# Tools in folders that others may write are passed over.
chown -R 65534:65534 bin cuda
unset BENCH_PYTHON
for where in "$PWD/bin" .; do
  PATH=$where:$PATH CUDA_HOME=$PWD/cuda CUDA_PATH=$PWD/cuda "$GPUREADY" doctor >/dev/null || true
  PATH=$where:$PATH CUDA_HOME=$PWD/cuda "$GPUREADY" record ../recording.tar >/dev/null 2>&1 || true
  (cd bin && PATH=$where:$PATH "${run[@]}" >/dev/null 2>&1) || true
done
[ ! -e "$ran" ] || die "a tool of another user's ran: $(cat "$ran")"
