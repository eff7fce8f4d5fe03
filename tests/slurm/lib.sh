# What run.sh uses: a Slurm in a folder, and questions to it.
die() { echo "FAILED: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "needs root"
[ -x "$gpuready" ] || die "$gpuready is missing: scripts/build.sh release gpuready"
if [ "$(command -v slurmctld slurmd munged scontrol jq | wc -l)" -lt 5 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge jq >/dev/null
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/gpuready-slurm.XXXXXX")
chmod 755 "$work"
started=()
export SLURM_CONF=$work/slurm.conf LC_ALL=C
unset GPUREADY_FAKE BITNET_GPU_FAKE CUDA_VISIBLE_DEVICES
stop_slurm() {
  local status=$? pid
  [ ${#started[@]} -eq 0 ] || kill -CONT "${started[@]}" 2>/dev/null || true
  for pid in "${started[@]}" $(cat "$work"/pids/* 2>/dev/null); do kill "$pid" 2>/dev/null || true; done
  sleep 1
  for pid in "${started[@]}" $(cat "$work"/pids/* 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
  if [ $status -eq 0 ]; then rm -rf "$work"; else echo "kept: $work" >&2; fi
}
trap stop_slurm EXIT

run_daemon() { # NAME PROGRAM ARG...
  "${@:2}" >"$work/log/$1.out" 2>&1 </dev/null &
  started+=($!)
}

# Hooks as `slurm install` writes them, and what a test adds: which machine the node has now, and a document of each run.
# Slurm gives them no PATH.
write_hook() {
  cat >"$work/hooks/$1" <<EOF
#!/bin/sh
node=\$SLURMD_NODENAME
[ -e $work/env/\$node ] && . $work/env/\$node
[ -e $work/plant/$1.\$node ] && read -r machine <$work/plant/$1.\$node && plant="--replay \$machine --rehearse"
exec $gpuready slurm $1 --scontrol $(command -v scontrol) --conf $work/slurm.conf --folder $work/state/\$node \\
  --json=$work/out/$1.\$node.json \$plant
EOF
  chmod 755 "$work/hooks/$1"
}

start_slurm() {
  local node hook first=36821
  mkdir -p "$work"/{hooks,plant,env,state,out,log,pids,ctld,spool,dev,munge}
  chmod 700 "$work/munge"
  for node in $(seq "$nodes"); do mkdir "$work/state/n$node" "$work/spool/n$node"; done
  mknod "$work/dev/nvidia0" c 195 0
  mknod "$work/dev/nvidia1" c 195 1
  for hook in health prolog epilog; do write_hook $hook; done
  head -c 1024 /dev/urandom >"$work/munge/key"
  chmod 400 "$work/munge/key"
  cat >"$SLURM_CONF" <<EOF
ClusterName=gpuready
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=36817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/ctld
SlurmdSpoolDir=$work/spool/%n
SlurmctldPidFile=$work/pids/ctld
SlurmdPidFile=$work/pids/%n
SlurmctldLogFile=$work/log/slurmctld
SlurmdLogFile=$work/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=nohold_on_prolog_fail
MpiDefault=none
SwitchType=switch/none
ReturnToService=1
GresTypes=gpu
HealthCheckProgram=$work/hooks/health
HealthCheckInterval=$interval
HealthCheckNodeState=ANY
Prolog=$work/hooks/prolog
Epilog=$work/hooks/epilog
PrologFlags=Alloc
PrologEpilogTimeout=120
NodeName=n[1-$nodes] NodeAddr=127.0.0.1 NodeHostname=$(hostname -s) Port=[$first-$((first + nodes - 1))] CPUs=2 Gres=gpu:2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
  echo "NodeName=n[1-$nodes] Name=gpu File=$work/dev/nvidia[0-1]" >"$work/gres.conf"
  echo "ConstrainDevices=no" >"$work/cgroup.conf"
  # shellcheck disable=SC2046
  run_daemon munged $(command -v munged) --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" \
    --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed"
  wait_for 10 "munged" test -S "$work/munge/socket"
  # By these names: the name decides whether Gres= is read.
  ln -s "$(command -v slurmctld)" "$work/slurmctld"
  ln -s "$(command -v slurmd)" "$work/slurmd"
  (exec "$work/slurmctld" -D -f "$SLURM_CONF") >"$work/log/ctld.out" 2>&1 </dev/null &
  controller=$!
  started+=("$controller")
  wait_for 10 "slurmctld" scontrol ping
  for node in $(seq "$nodes"); do
    run_daemon "slurmd.n$node" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$work/slurmd" -D -N "n$node" -f "$SLURM_CONF"
  done
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
wait_for() { # SECONDS WHAT COMMAND...
  local until=$(($(now_ms) + $1 * 1000))
  until "${@:3}" >/dev/null 2>&1; do
    [ "$(now_ms)" -lt "$until" ] || die "waited $1 s for $2"
    sleep 0.1
  done
}
slowest_ms=0
within() { # the same, and the time counts among the figures
  local start took
  start=$(now_ms)
  wait_for "$@"
  took=$(($(now_ms) - start))
  echo "   $2: $took ms"
  [ "$took" -le "$slowest_ms" ] || slowest_ms=$took
}

node_state() { scontrol show node "$1" | sed -n 's/^ *State=\([^ ]*\).*/\1/p'; }
reason() { scontrol show node "$1" | sed -n 's/^ *Reason=\(.*\) \[[^[]*@[^]]*\]$/\1/p'; }
is() { [ "$(node_state "$1")" = "$2" ]; }
drained() { case $(node_state "$1") in *DRAIN*) ;; *) return 1 ;; esac; }
# shellcheck disable=SC2254
reason_is() { case $(reason "$1") in $2) ;; *) die "the reason of $1 is \"$(reason "$1")\", not \"$2\"" ;; esac; }
update() { scontrol update NodeName="$1" "${@:2}"; }
all_are() { [ "$(sinfo -h -N -o %T | grep -cx "$1")" = "$nodes" ]; }
submit() { # NUMBERS ARG...: a job for one of these nodes
  local others
  others=$(for node in $(seq "$nodes"); do case " $1 " in *" $node "*) ;; *) echo "n$node" ;; esac; done | paste -sd,)
  sbatch --parsable -o /dev/null --exclude="$others" "${@:2}"
}
job_field() { scontrol show job "$1" | grep -o "$2=[^ ]*" | head -1 | cut -d= -f2; }
job_is() { [ "$(job_field "$1" JobState)" = "$2" ]; }

# plant HOOK NODE MACHINE ...; a node without a machine has this machine's GPUs, none.
plant() {
  local hook=$1 node
  shift
  while [ $# -gt 0 ]; do
    node=$1
    shift
    case ${1:-n0} in
      n[0-9]*) rm -f "$work/plant/$hook.$node" ;;
      *)
        echo "$machines/$1/machine.json" >"$work/plant/new"
        mv "$work/plant/new" "$work/plant/$hook.$node"
        shift
        ;;
    esac
  done
}

checked_since() { # TIME [NUMBER]
  local node
  for node in ${2:-$(seq "$nodes")}; do
    [ -e "$work/out/health.n$node.json" ] && [ "$(stat -c %Y "$work/out/health.n$node.json")" -ge "$1" ] || return 1
  done
}
rates=""
rate_of() { # the slowest run of a hook
  local ms
  ms=$(jq -s 'map(.duration_ms) | max | round' "$work"/out/"$1".n*.json)
  rates+="$2 at most $ms ms; "
  echo "   slowest $1: $ms ms"
}

# A node whose GPU is the driver in software of tests/fake_drivers/.
fake_gpu() {
  cat >"$work/env/$1" <<EOF
export GPUREADY_TRUST_NAMED_LIBRARIES=1 GPUREADY_LIBNVML=$build/tests/shim/ptx_nvml.so
export GPUREADY_LIBCUDA=$build/fake_drivers/fake_cuda_ptx.so FAKE_CUDA=cc=9.0,memory=4MiB,sms=1,mhz=1
EOF
}
check_of() { # NODE EXIT_CODE MHZ
  local got=0
  (
    . "$work/env/$1"
    FAKE_CUDA=${FAKE_CUDA/mhz=1/mhz=$3} exec "$gpuready" check --state "$work/state/$1/results.json"
  ) >"$work/log/check.$1" 2>&1 </dev/null || got=$?
  [ "$got" -eq "$2" ] || die "check on $1 ended with $got: $(cat "$work/log/check.$1")"
}

# The cause that must be in the reason of a machine: doctor's first error, else its conclusion.
cause_of() {
  "$gpuready" doctor --replay "$1" --json - |
    jq -r '([.findings[] | select(.severity == "error") | .title][0] // .conclusion) | .[0:40]'
}
drain_by_every_machine() {
  local all=() machine node batch code
  for machine in "$machines"/*/machine.json; do
    code=0
    "$gpuready" doctor --replay "$machine" -q >/dev/null 2>&1 || code=$?
    [ $code -ne 1 ] || all+=("$(basename "$(dirname "$machine")")")
  done
  [ ${#all[@]} -ge 150 ] || die "only ${#all[@]} machines have an error"
  drained_machines=${#all[@]}
  while [ ${#all[@]} -gt 0 ]; do
    batch=("${all[@]:0:nodes}")
    all=("${all[@]:nodes}")
    for node in $(seq ${#batch[@]}); do
      rm -f "$work/state/n$node/"slurm-*.json "$work/env/n$node"
      plant health "n$node" "${batch[node - 1]}"
    done
    within $((interval + slack)) "${#batch[@]} machines to drain their nodes" \
      eval "[ \$(sinfo -h -N -o %T | grep -c drain) -ge ${#batch[@]} ]"
    for node in $(seq ${#batch[@]}); do
      case $(reason "n$node") in
        *"$(cause_of "$machines/${batch[node - 1]}/machine.json" | tr '"' "'" | LC_ALL=C tr -c ' -~\n' '?')"*) ;;
        *) die "${batch[node - 1]}: the reason is \"$(reason "n$node")\"" ;;
      esac
      plant health "n$node"
    done
    for node in $(seq ${#batch[@]}); do update "n$node" State=RESUME; done
  done
}

timed_health() { # NODE EXIT_CODE [VARIABLE=VALUE...]; sets $took
  local got=0 start
  start=$(now_ms)
  env -i SLURMD_NODENAME="$1" PWD=/ "${@:3}" "$work/hooks/health" >"$work/log/direct" 2>&1 </dev/null || got=$?
  took=$(($(now_ms) - start))
  [ "$got" -eq "$2" ] || die "health of $1 ended with $got: $(cat "$work/log/direct")"
  [ "$took" -le 45000 ] || die "health of $1 took $took ms"
}
hanging_driver() {
  timed_health n10 1 GPUREADY_TRUST_NAMED_LIBRARIES=1 GPUREADY_LIBNVML="$build/fake_drivers/fake_nvml.so" \
    FAKE_NVML=hang=nvmlInit_v2
  drained n10 || die "n10 is not drained"
  reason_is n10 "gpuready: *"
  echo "   a driver that hangs: $took ms, \"$(reason n10)\""
  rates+="with a driver that hangs $took ms; "
}
hanging_controller() {
  plant health n11 driver-not-loaded
  kill -STOP "$controller"
  timed_health n11 1
  kill -CONT "$controller"
  grep -q "no answer within" "$work/log/direct" "$work/out/health.n11.json" || die "$(cat "$work/log/direct")"
  echo "   a controller that does not answer: $took ms"
  wait_for $((interval + slack)) "the next check to drain n11" drained n11
}
figures() {
  echo "$nodes nodes; fault or its end to Slurm's state at most $slowest_ms ms at an interval of $interval s;" \
    "${rates}$drained_machines machines drained their nodes, each with its cause"
}

# A script replaces nccl-tests; NODE is slower by 15%.
slow_node() {
  local code=0
  mkdir "$work/bin"
  cat >"$work/bin/all_reduce_perf" <<EOF
#!/bin/sh
[ "\$SLURM_PROCID" = 0 ] || exit 0
rate=\$((3500 + \$(od -An -N1 -tu1 /dev/urandom) % 20))
! scontrol show hostnames "\$SLURM_STEP_NODELIST" | grep -qx $1 || rate=\$((rate * 85 / 100))
echo "# Avg bus bandwidth    : \$((rate / 10)).\$((rate % 10))"
EOF
  chmod 755 "$work/bin/all_reduce_perf"
  PATH=$work/bin:$PATH timeout 120 salloc -Q -w 'n[13-24]' "$gpuready" fleet slow --runner slurm --json="$work/slow.json" || code=$?
  [ $code = 1 ] || die "fleet slow: exit code $code, not 1"
  [ "$(jq -r '.fleet.slow | map(.name) | join(" ")' "$work/slow.json")" = "$1" ] || die "$(cat "$work/slow.json")"
}
