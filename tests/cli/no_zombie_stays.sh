# A container's first process may reap nothing: what a run leaves behind stays a zombie there. Here
# such a process is the first of a PID namespace, and counts.
. "$LIB"
cat >first.py <<'PY'
import os, subprocess, sys, time
run = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)  # waits for this child alone
def states():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) != os.getpid():
            try:
                yield pid, open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
            except OSError:
                pass
zombies = list(states())
time.sleep(0.3)
zombies += [found for found in states() if found not in zombies]
print(f"{len(zombies)} left: {zombies}" if zombies else "nothing is left", "exit", run.returncode)
PY
unshare=(unshare --pid --fork --mount-proc)
"${unshare[@]}" true 2>/dev/null || unshare=(unshare --user --map-root-user --pid --fork --mount-proc)
"${unshare[@]}" true 2>/dev/null || skip "no PID namespace can be made here"
in_namespace() { expect_exit 0 "${unshare[@]}" python3 first.py "$@"; }

# Its probes are let go as soon as they have told all.
in_namespace "$GPUREADY" doctor
expect_in "nothing is left" "$out"
in_namespace "$GPUREADY" check --quiet --only memory
expect_in "nothing is left" "$out"

# A probe that leaves children of its own, and goes on when it has told all.
cat >helper <<'SH'
#!/bin/sh
sleep 1000 &
(sleep 1000 & sleep 1000) &
echo '{"probe":"vulkan","version":1}' >&3
echo '{"end":true}' >&3
sleep 1000
SH
chmod +x helper
in_namespace env GPUREADY_HELPER="$PWD/helper" "$GPUREADY" doctor
expect_in "nothing is left" "$out"
