#!/usr/bin/env bash
# A real Slurm of many slurmd on this host, with gpuready as its hooks. By hand, as root, on Debian 12:
#   tests/slurm/run.sh [BUILD_FOLDER] [NODES]        (default: build/release 64)
# Installs slurmctld, slurmd and munge if they are missing. All files and daemons are in a folder of its own; no cgroup,
# no systemd, no device of this machine is touched. Faults are machines of tests/machines/, rehearsed (--rehearse), and
# answers of the drivers in tests/fake_drivers/. Ends with 0 if all holds, and prints the figures.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath "${1:-$source/build/release}") nodes=${2:-64}
gpuready=$build/src/gpuready machines=$source/tests/machines
interval=10 slack=2
. "$source/tests/slurm/lib.sh"
start_slurm

echo "== all $nodes nodes are idle, and a healthy check costs the controller no request"
wait_for 30 "all nodes to be idle" all_are idle
wait_for $((interval + slack)) "a check of every node" checked_since "$(date +%s)"
rate_of health "health, healthy"

echo "== a fault drains its node within one interval + $slack s, and its end resumes it"
plant health n1 driver-not-loaded
within $((interval + slack)) "the fault of n1 to drain it" drained n1
reason_is n1 "gpuready: rehearsal: *(configure)"
plant health n1
within $((interval + slack)) "n1 to be resumed" is n1 IDLE

echo "== what others decide stays"
update n2 State=DRAIN Reason="NHC: check_nv_healthmon"
plant health n2 driver-not-loaded n3 driver-not-loaded n4 driver-not-loaded
wait_for $((interval + slack)) "n3 to be drained" drained n3
wait_for $((interval + slack)) "n4 to be drained" drained n4
edited="$(reason n3) ticket 12"
update n3 State=DRAIN Reason="$edited"
update n4 State=RESUME # somebody overrules; the fault is still there
wait_for $((interval + slack)) "n4 to be drained again" drained n4
plant health n2 n3 n4
sleep $((2 * interval + slack))
reason_is n2 "NHC: check_nv_healthmon"
reason_is n3 "$edited"
drained n2 && drained n3 || die "a node of others was resumed"
is n4 IDLE || die "n4 was not resumed"
# What comes again in the same boot is not cured by going: now only a test resumes it.
plant health n4 driver-not-loaded
wait_for $((interval + slack)) "n4 to be drained once more" drained n4
plant health n4
sleep $((2 * interval + slack))
drained n4 || die "n4 flaps"
update n2 State=RESUME
update n3 State=RESUME
update n4 State=RESUME

echo "== a test that failed drains, and only a test that passes since resumes"
fake_gpu n5
check_of n5 1 1980 # its rates do not fit this clock
within $((interval + slack)) "the failed test to drain n5" drained n5
reason_is n5 "gpuready: GPU 0: *(check_again)"
sleep $((interval + slack))
drained n5 || die "n5 was resumed without a test"
sleep 1
check_of n5 0 1
within $((interval + slack)) "the passed test to resume n5" is n5 IDLE

echo "== a prolog that fails gives the job to another node, with our reason"
plant prolog n6 gpu-init-failed
wait_for $((interval + slack)) "a check of n6, so that the next is not soon" checked_since "$(($(date +%s) + 1))" 6
job=$(submit "6 7" -N1 --gres=gpu:1 --wrap "/bin/true")
wait_for 8 "the prolog to drain n6" drained n6
reason_is n6 "gpuready: rehearsal: *"
plant health n6 gpu-init-failed # the fault stays
wait_for 30 "job $job to be queued again" eval "job_is $job PENDING && scontrol update JobId=$job StartTime=now"
wait_for 60 "job $job to end elsewhere" job_is "$job" COMPLETED
[ "$(job_field "$job" BatchHost)" = n7 ] || die "job $job ran on $(job_field "$job" BatchHost)"
plant prolog n8 one-of-eight-unbound # GPU 5 of 8, and the job has GPU 0 and 1
job=$(submit 8 -N1 --gres=gpu:2 --wrap "/bin/true")
wait_for 60 "job $job to end" job_is "$job" COMPLETED
drained n8 && die "n8 was drained for a GPU that the job did not have"
rate_of prolog "prolog"

echo "== an epilog drains for what a job left"
plant epilog n9 gpu-init-failed
wait_for $((interval + slack)) "a check of n9, so that the next is not soon" checked_since "$(($(date +%s) + 1))" 9
job=$(submit 9 -N1 --gres=gpu:1 --wrap "/bin/true")
wait_for 8 "the epilog to drain n9" drained n9
reason_is n9 "gpuready: rehearsal: *"

echo "== the slow one of twelve nodes is found by steps of one allocation"
slow_node n17

echo "== every machine with an error drains its node, with its cause"
plant prolog n6 n8
plant epilog n9
plant health n6
wait_for $((interval + slack)) "n6 and n9 to be resumed" eval "is n6 IDLE && is n9 IDLE"
drain_by_every_machine

echo "== a driver that hangs, and a controller that does not answer, cost at most 45 s"
hanging_driver
hanging_controller
echo "OK: $(figures)"
