. "$LIB"
# Whatever sysfs holds, also hostile and broken files: an answer, and an exit code that has a meaning.
for machine in "$MACHINES"/bad-* "$MACHINES"/no-gpu "$MACHINES"/passthrough-* "$MACHINES"/real-no-gpu; do
  [ -e "$machine/machine.json" ] || continue
  for command in "list --all" "show" "plan 17:00.0" "doctor --side host" "status"; do
    got=0
    "$GPUREADY" vm $command --replay "$machine/machine.json" --json=out.json >stdout.txt 2>stderr.txt || got=$?
    case $got in 0 | 1 | 3) ;; *) die "exit $got: vm $command of $machine: $(cat stderr.txt)" ;; esac
    [ ! -s stdout.txt ] || [ "$(tr -cd '\033\001-\010' <stdout.txt | wc -c)" -eq 0 ] || die "control characters: $machine"
  done
done
for address in "17:00" "17:00.8" "0000:17:00.0.0" "../../etc" "ffffffffff:17:00.0" "17:20.0" "-17:00.0x" ""; do
  expect_exit 2 "$GPUREADY" vm plan -- "$address"
done
