. "$LIB"
# 20 MB files that are made to take time or memory, read by inspect and verify: both say the same, and
# neither takes more than is in proportion.
case $GPUREADY in */release/*) ;; *) skip "limits hold for the release build" ;; esac
limit_kb=200000
python3 - "$GPUREADY" "$limit_kb" <<'PY'
import os, struct, subprocess, sys
gpuready, limit_kb = sys.argv[1], int(sys.argv[2])
TQ1, TQ2, I2S, F32, SIZE = 34, 35, 36, 0, 20_000_000

def write(path, infos, pattern=None):
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(infos), 0)]
    for name, dims, kind, offset in infos:
        parts.append(struct.pack("<Q", len(name)) + name + struct.pack("<I", len(dims)))
        parts.append(struct.pack("<%dQ" % len(dims), *dims) + struct.pack("<IQ", kind, offset))
    head = b"".join(parts)
    head += bytes(-len(head) % 32)
    with open(path, "wb") as out:
        out.write(head)
        size = max(SIZE - len(head), 64)
        if pattern:
            out.write(pattern * (size // len(pattern)))
        out.truncate(len(head) + size)

rows = 18_000_000 // 66
files = {
    "overlaps": lambda: [(b"t%d" % i, (256, rows), TQ2, 32 * i) for i in range(2000)],
    "ambiguous": lambda: [(b"t%d" % i, (128, 4), I2S, 192 * i) for i in range(32768)],
    "same_place": lambda: [(b"t%d" % i, (1 << 20,), I2S, 0) for i in range(32768)],
    "too_many": lambda: [(b"%d" % i, (1,), F32, 32 * i) for i in range(500_000)],
    "long_names": lambda: [(b"n" * 250 + b"%05d" % i, (1,), F32, 32 * i) for i in range(32768)],
    "one_row": lambda: [(b"t", (256 * (SIZE // 66), 1), TQ2, 0)],
    "one_column": lambda: [(b"t", (1, 4 * 19_000_000 // 128 * 128), I2S, 0)],
    "trits": lambda: [(b"t", (4096, 4_600), TQ1, 0)],
    "short_trits": lambda: [(b"t", (256, SIZE // 54 - 10), TQ1, 0)],
    "short_rows": lambda: [(b"t", (32, 4 * 19_000_000 // 128 * 4), I2S, 0)],
    "small_trits": lambda: [(b"t%d" % i, (256, 10), TQ1, 544 * i) for i in range(32768)],
}
# Two blocks of other scales, so that products are by group.
tq1 = b"".join(bytes([0xFF] * 48 + [0xFD] * 4) + struct.pack("<e", scale) for scale in (0.5, -1.5))
tq2 = b"".join(bytes([0x98] * 64) + struct.pack("<e", scale) for scale in (0.5, -1.5))
patterns = {"by_group": tq2, "long_rows": tq2, "long_groups": tq2, "group_trits": tq1, "small_groups": tq2 + bytes(28)}
files |= {
    "by_group": lambda: [(b"t", (512, SIZE // 132 - 10), TQ2, 0)],
    "long_rows": lambda: [(b"t", (1 << 22, 18), TQ2, 0)],
    "long_groups": lambda: [(b"t", (1 << 18, 290), TQ2, 0)],
    "group_trits": lambda: [(b"t", (512, SIZE // 108 - 10), TQ1, 0)],
    "small_groups": lambda: [(b"t%d" % i, (512, 1), TQ2, 160 * i) for i in range(32768)],
}
wrong = 0
for name, infos in files.items():
    # In a process of its own: what a child has at its start counts as its memory.
    writer = os.fork()
    if writer == 0:
        write(name, infos(), patterns.get(name))
        os._exit(0)
    os.waitpid(writer, 0)
    codes = []
    for command in (["inspect", name], ["verify", "--device", "cpu", name]):
        options = ["--layout", "i2_s-x86"] if name in ("one_column", "same_place", "short_rows") else []
        with open("out.txt", "wb") as out:
            child = subprocess.Popen([gpuready, "ternary", *command, *options], stdout=out, stderr=out)
            _, status, used = os.wait4(child.pid, 0)
        child.returncode = 0
        code = os.waitstatus_to_exitcode(status)
        seconds = used.ru_utime + used.ru_stime
        print(f"{name:12} {command[0]:8} exit {code}  {seconds:6.2f} s  {used.ru_maxrss // 1000} MB")
        codes.append(code)
        # Of the processor; the slowest took 1.7 s on a machine with five times as much work as processors.
        if seconds > 3 or used.ru_maxrss > limit_kb:
            wrong += 1
    if (codes[0] == 1) != (codes[1] == 1) and name != "ambiguous":
        print(f"{name}: inspect says {codes[0]} and verify {codes[1]}")
        wrong += 1
    os.remove(name)
sys.exit(wrong > 0)
PY
