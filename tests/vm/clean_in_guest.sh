# A GPU is tested in a guest before it leaves VFIO. The emulated host has a program in QEMU's place, because QEMU in
# QEMU is too slow; what it was started with then boots here, without the GPU, and its report keeps the device.
. "$SOURCE/tests/vm/machine.sh"
. "$SOURCE/tests/vm/stub_driver.sh"
guest=$(dirname "$GPUREADY")/gpuready-guest
[ -x "$guest" ] || skip "built without gpuready-guest"
command -v jq >/dev/null || skip "jq is not installed (scripts/packages.txt)"
command -v make >/dev/null && command -v gcc >/dev/null || skip "no make and gcc for kernel modules"
prepare
rm -rf driver source extra shared ./*.log
prepare_headers
make_stub_driver driver 580.65.06
make_stub_source source 580.65.06
extra=$PWD/extra
mkdir -p extra/bin shared
"$GPUREADY" vm drivers collect driver source "$VM_BASE/kernel" --headers "$VM_BASE/headers" -o extra/bundle --quiet
cp "$kernel" "extra/bundle/vmlinuz-$release"
"$GPUREADY" vm drivers verify extra/bundle --quiet || die "a bundle with a kernel is not whole"
strip -o extra/bin/gpuready-guest "$guest"
cat >extra/bin/qemu-system-x86_64 <<'QEMU'
#!/bin/sh
echo "qemu: the display has $(basename "$(readlink /sys/bus/pci/devices/0000:01:00.0/driver)")" >>/tmp/qemu
for word; do echo "$word"; done >/tmp/words
[ ! -e /hang ] || { echo $$ >/tmp/hangs; exec sleep 1000; }
cat /report.json
QEMU
chmod +x extra/bin/qemu-system-x86_64
# What a guest would say of a clean H100: the memory test of this host passed for it.
"$GPUREADY" check --json - --quiet >here.json || die "the host's own memory test"
"$GPUREADY" doctor --replay "$SOURCE/tests/machines/base-h100x1/machine.json" --json - --quiet |
  jq -c --slurpfile here here.json '.machine.gpus[0].pci = "0000:01:00.0" | .verdicts = [$here[0].verdicts[] |
    select(.test == "memory") | .pci_address = "0000:01:00.0" | .coverage.tested_bytes = .coverage.total_bytes]' \
    >extra/report.json
share=(-fsdev "local,id=share,path=$PWD/shared,security_model=none" -device virtio-9p-pci,fsdev=share,mount_tag=share,addr=8.0)
boot host "${share[@]}" <<END
modprobe snd_hda_intel; modprobe virtio_pci; modprobe 9pnet_virtio; modprobe 9p
gpu=0000:$gpu audio=0000:$audio
detach="gpuready vm detach --for guest --clean-with /bundle"
expect_exit 0 gpuready vm attach \$gpu --for guest
expect_exit 0 \$detach --plan
expect_in "2. Overwrite and test the memory of \$gpu in a guest"
[ ! -e /tmp/qemu ]

# Killed while the guest runs: its QEMU ends, the device stays with VFIO, and recover goes on.
touch /hang
\$detach >/dev/null 2>&1 & detach_pid=\$!
for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ ! -e /tmp/hangs ] || break; sleep 1; done
kill -9 \$detach_pid; wait \$detach_pid || true; sleep 1
[ ! -e /proc/\$(cat /tmp/hangs) ] || { echo "its QEMU still runs"; exit 1; }
rm /hang
expect_exit 4 gpuready vm status
expect_exit 1 gpuready vm attach \$gpu --for other
expect "the display's driver" "\$(driver $gpu)" vfio-pci
expect_exit 0 gpuready vm recover
expect "the display's driver" "\$(driver $gpu)" ""
expect "its override" "\$(override $gpu)" "(null)"
expect "the audio function's driver" "\$(driver $audio)" snd_hda_intel
grep -v "the display has vfio-pci" /tmp/qemu && exit 1
ls /var/lib/gpuready/vm

# A failed test: all of the slot stays with VFIO until recover has tested it.
expect_exit 0 gpuready vm attach \$gpu --for guest
mv /report.json /clean.json
sed 's/"passed"/"failed"/' /clean.json >/report.json
expect_exit 1 \$detach
expect_in "its memory test is failed"
expect "the display's driver" "\$(driver $gpu)" vfio-pci
expect "the audio function's driver" "\$(driver $audio)" vfio-pci
sed 's/"96.00.A5.00.01"/"66.6"/' /clean.json >/report.json
expect_exit 1 gpuready vm recover
expect_in "its VBIOS was 96.00.A5.00.01 and is 66.6"
mv /clean.json /report.json
expect_exit 0 gpuready vm recover
expect "the display's driver" "\$(driver $gpu)" ""
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"

mkdir /share && mount -t 9p -o trans=virtio share /share
cp /tmp/words /var/lib/gpuready/vm/clean.img /share/
END
expect_passed host

# The same guest without the device and without KVM. The stub driver claims a GPU that nothing can test.
mapfile -t words <shared/words
args=() skipped=0
for ((i = 0; i < ${#words[@]}; ++i)); do
  case ${words[i]} in
    -device) i=$((i + 1)) skipped=$((skipped + 1)) ;;
    -machine) args+=(-machine q35 -accel tcg,thread=multi); i=$((i + 1)) ;;
    -cpu) args+=(-cpu max); i=$((i + 1)) ;;
    -kernel) args+=(-kernel "$kernel"); i=$((i + 1)) ;;
    -initrd) args+=(-initrd shared/clean.img); i=$((i + 1)) ;;
    file:*) args+=("file:$PWD/console.log") ;;
    console=*) args+=("$kernel_words ${words[i]}") ;;
    *) args+=("${words[i]}") ;;
  esac
done
[ $skipped -eq 2 ] || die "the guest was to have $skipped devices: ${words[*]}"
timeout 400 qemu-system-x86_64 "${args[@]}" </dev/null >report.json || { tail -20 console.log; die "the guest did not end"; }
grep -q "ok module nvidia: loaded.*NvLinkDisable=1" console.log || { tail -40 console.log; die "no driver"; }
[ "$(jq -r '"\(.command) \(.exit_code)"' report.json)" = "check 4" ] ||
  { tail -5 console.log; head -c 500 report.json; die "no report"; }
echo "the guest reports: $(jq -r .conclusion report.json)"

# Its report does not release a device.
cp report.json extra/report.json
boot untested <<END
modprobe snd_hda_intel
gpu=0000:$gpu
expect_exit 0 gpuready vm attach \$gpu --for guest
expect_exit 1 gpuready vm detach --for guest --clean-with /bundle
expect_in "its memory test is not_tested"
expect "the display's driver" "\$(driver $gpu)" vfio-pci
expect_exit 1 gpuready vm status
expect_in quarantined
END
expect_passed untested
