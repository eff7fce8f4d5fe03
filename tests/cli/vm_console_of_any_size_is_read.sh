# A guest writes to its console what it likes, as much as it likes: reading costs at most 100 MB and a second for
# each 10 MB (here ten times as long, for slow machines), and what is true at the end is found.
source "$LIB"
command -v prlimit >/dev/null || skip "no prlimit"
! grep -qa __asan_init "$GPUREADY" || skip "sanitizers take more"
read_console() {  # FILE SECONDS
  expect_exit 1 timeout "$2" prlimit --data=100000000 "$GPUREADY" vm doctor --console "$1"
  expect_in "fallen off the bus" "$out"
}
fill() { python3 -c "
import sys
text, size = eval(sys.argv[1]), int(sys.argv[2])
out = sys.stdout.buffer
out.write((text * (size // len(text) + 1))[:size] + b'\nNVRM: The GPU has fallen off the bus\n')" "$1" "$2" >console.log; }
for text in "b'\n'" "b'\0'" "b'\x1b[31m\n'" "b'\x1b['" "b'gpuready-guest: 1.0 ok module nvidia: x\n'" "b'Xid (\n'" \
  "b'\0Xid (\n'" "b'systemd[1]: \n'" "b''.join(b'NVRM: Xid (PCI:0000:01:00): %d, x\n' % i for i in range(100000))" \
  "b'NVRM: loading NVIDIA UNIX\nLinux version \n[    0.0] Linux version 6\n'" "b'pci 0000:01:00.0: BAR 1 [mem size 0x200000000]: failed to assign\n'"; do
  fill "$text" 16000000
  read_console console.log 16
done
fill "b'a line that tells nothing\n'" 200000000
read_console console.log 200
expect_in "line 7692309" "$out"
rm console.log
