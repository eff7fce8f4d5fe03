. "$LIB"
# Wider than 80 characters, or with colour; lines with a mark name the machine.
wrong() { LC_ALL=C.UTF-8 awk '/^@/ { machine = $0; next } length($0) > 80 || /\033/ { print machine ": " $0 }' "$1"; }
others=0
for machine in $(walked_machines); do
  echo "@$machine"
  "$GPUREADY" doctor --replay "$machine" || true
  # What follows is long on hosts of virtual machines; of the others, a fifth.
  case $machine in *vm-* | *passthrough* | */base-* | *healthy*) ;; *) [ $((others++ % 5)) = 0 ] || continue ;; esac
  "$GPUREADY" detect --replay "$machine" || true
  for view in show doctor; do "$GPUREADY" vm $view --replay "$machine" || true; done
  "$GPUREADY" vm list --replay "$machine" --json=list.json || true
  device=$(grep -om1 '"address": "[^"]*"' list.json | cut -d'"' -f4) || true
  [ -z "$device" ] || "$GPUREADY" vm plan "$device" --replay "$machine" || true
done >out.txt 2>/dev/null
[ "$(grep -c ^@ out.txt)" -gt "$(least_walked 100)" ] && [ "$(wc -l <out.txt)" -gt "$(least_walked 10000)" ] || die "hardly anything was printed"
[ -z "$(wrong out.txt)" ] || die "wider than 80 columns or coloured: $(wrong out.txt | head)"
# What names of files and drivers make long.
mkdir -p root/usr/local/cuda-12.9/compat root/usr/lib/x86_64-linux-gnu
touch root/usr/local/cuda-12.9/compat/libcuda.so.575.57.08 root/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
for words in "--driver 570.86.16 --rootfs root" "--driver 550.163.01 --gpu 10de:2335" "--driver 535.1.1 --gpu 10de:2335"; do
  "$GPUREADY" vm compat --image-cuda 13.0 $words >out.txt || true
  [ -s out.txt ] && [ -z "$(wrong out.txt)" ] || die "vm compat $words: wider than 80 columns: $(wrong out.txt)"
done
# Nor does a terminal that understands no escape sequences get one, for a line of progress either.
command -v script >/dev/null || skip "no script of util-linux"
on_terminal() { script -qec "TERM=$1 '$GPUREADY' check --device cpu" /dev/null </dev/null >out.txt; }
on_terminal xterm
grep -q $'\033' out.txt || die "xterm got no colour"
on_terminal dumb
grep -q "Tests of the host" out.txt && ! grep -q $'\033' out.txt || die "a dumb terminal got an escape sequence: $(cat -v out.txt)"
