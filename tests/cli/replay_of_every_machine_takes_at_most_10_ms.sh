. "$LIB"
# Instructions in place of time would be steadier; here the best of 20 runs is taken, which noise cannot improve.
case $GPUREADY in */release/*) ;; *) skip "figures hold for the release build" ;; esac
for machine in "$MACHINES"/*/machine.json "$MACHINES"/*/*.tar.zst; do
  [ -e "$machine" ] || continue
  best=$(python3 - "$GPUREADY" "$machine" <<'PY'
import subprocess, sys, time
def once():
    start = time.perf_counter()
    subprocess.run([sys.argv[1], "doctor", "--replay", sys.argv[2]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000
print(round(min(once() for _ in range(20)), 2))
PY
)
  awk -v b="$best" 'BEGIN { exit !(b <= 10) }' || die "$machine: $best ms"
done
