. "$LIB"
for machine in "$MACHINES"/*/machine.json; do
  "$GPUREADY" doctor --replay "$machine" >out.txt 2>/dev/null || true
  "$GPUREADY" detect --replay "$machine" >>out.txt 2>/dev/null || true
  wide=$(LC_ALL=C.UTF-8 awk 'length($0) > 80' out.txt)
  [ -z "$wide" ] || die "$machine: wider than 80 columns: $wide"
  ! grep -q $'\033' out.txt || die "$machine: colour in a pipe"
done
