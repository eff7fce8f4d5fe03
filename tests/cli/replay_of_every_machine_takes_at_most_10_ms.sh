. "$LIB"
# Time in which others had the processor does not count, and the best of up to 100 runs is taken: a busy machine is slow
# by neither, and nothing else makes a run faster than it is. What shares a core, the caches or the memory's tables slows
# everything: where Python needs more than 1.1 ms to read a machine of 150 KB, or true more than 0.9 ms from start to end,
# as they do where the figure was set, 10 ms grow alike.
case $GPUREADY in */release/*) ;; *) skip "figures hold for the release build" ;; esac
shopt -s nullglob
# shellcheck disable=SC2046  # words
slow=$(python3 - "$GPUREADY" $(walked_machines) "$MACHINES"/*/*.tar.zst <<'PY'
import json, os, subprocess, sys, time
def run_ms(*command):
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    passed = time.perf_counter() - start
    try:  # nanoseconds on a processor, nanoseconds of waiting for one, turns
        waited = int(open(f"/proc/{child.pid}/schedstat").read().split()[1]) / 1e9
    except OSError:
        waited = 0
    child.wait()
    return (passed - waited) * 1000
reference = open(os.environ["MACHINES"] + "/base-hgx-h100x8/machine.json").read()
def replay_ms(machine):
    return run_ms(sys.argv[1], "doctor", "--replay", machine)
def parse_ms():
    start = time.perf_counter()
    json.loads(reference)
    return (time.perf_counter() - start) * 1000
for machine in sys.argv[2:]:
    if replay_ms(machine) <= 10 or min(replay_ms(machine) for _ in range(4)) <= 10:
        continue
    best = parse = start = float("inf")
    for _ in range(100):
        best, parse, start = min(best, replay_ms(machine)), min(parse, parse_ms()), min(start, run_ms("/bin/true"))
    slowness = max(parse / 1.1, start / 0.9)
    if best > 10 * max(slowness, 1):
        print(f"{machine}: {best:.2f} ms where everything takes {slowness:.2f} times as long as it should")
PY
) || die "the times could not be taken"
[ -z "$slow" ] || die "$slow"
