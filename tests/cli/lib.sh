# Shared by the command-line tests: fail on any error, and say which expectation broke.
set -euo pipefail
# The machine keeps what it has in /var/lib/gpuready: a test sees an empty folder of its own instead.
if [ -d /var/lib/gpuready ] && [ -z "${OWN_FOLDER:-}" ] && unshare --mount true 2>/dev/null; then
  OWN_FOLDER=1 exec unshare --mount sh -c 'mount -t tmpfs -o mode=700 none /var/lib/gpuready && exec bash "$@"' sh "$0" "$@"
fi
unset GPUREADY_FAKE BITNET_GPU_FAKE CUDA_VISIBLE_DEVICES COLUMNS
export GPUREADY_TRUST_NAMED_LIBRARIES=1  # variables name the fake drivers
die() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIPPED: $*" >&2; exit 77; }
# expect_exit CODE COMMAND...: runs it, keeps stdout in $out and stderr in $err.
expect_exit() {
  local want=$1 got=0
  shift
  "$@" >stdout.txt 2>stderr.txt </dev/null || got=$?
  out=$(cat stdout.txt) err=$(cat stderr.txt)
  [ "$got" -eq "$want" ] || die "exit $got instead of $want: $*"$'\n'"$out"$'\n'"$err"
}
expect_in() { case $2 in *"$1"*) ;; *) die "no '$1' in: $2" ;; esac; }
expect_not_in() { case $2 in *"$1"*) die "'$1' in: $2" ;; *) ;; esac; }
# The GPU in software that lacks nothing: the driver that executes PTX, of release builds.
ready_gpu() {
  [ -e "$FAKES/fake_cuda_ptx.so" ] || skip "this build has no driver in software that executes PTX"
  export GPUREADY_LIBNVML=$FAKES/../tests/shim/ptx_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda_ptx.so
  export FAKE_CUDA="cc=9.0,memory=4MiB,sms=1,mhz=1"  # which it surpasses on a busy machine, too
}
# A domain with this XML in its <devices>: libvirt's schema and its parser accept it, if they are installed.
# dump.xml is what libvirt makes of it.
libvirt_accepts() {
  cat >domain.xml <<END
<domain type='test'><name>web-1</name><memory unit='GiB'>16</memory><vcpu>4</vcpu>
<metadata><hostdev xmlns='urn:x' mode='subsystem' type='pci' managed='no'><source>
  <address domain='0x0000' bus='0xff' slot='0x00' function='0x0'/></source></hostdev></metadata>
<os><type arch='i686'>hvm</type></os><devices>
$1
</devices></domain>
END
  if command -v virt-xml-validate >/dev/null; then
    virt-xml-validate domain.xml domain >validate.txt 2>&1 || die "libvirt's schema: $(cat validate.txt)"
  fi
  command -v virsh >/dev/null || return 0
  XDG_CACHE_HOME=$PWD virsh -q -c test:///default "define domain.xml; dumpxml web-1" >dump.txt 2>&1 || die "virsh: $(cat dump.txt)"
  sed -n '/^<domain/,$p' dump.txt >dump.xml
}
# A machine on which an attach was carried out: the journal holds its plan, and VFIO has the devices.
attached_machine() {  # FILE [OPTION...]
  local file=$1
  shift
  expect_exit 0 "$GPUREADY" vm plan 17:00.0 --for web-1 "$@" --replay "$MACHINES/vm-host-h100/machine.json" --json=plan.json
  jq --arg base "$(realpath --relative-to=. "$MACHINES/vm-host-h100/machine.json")" '
    {schema: "gpuready.machine-script", schema_version: 1, description: "attached", source: "vm plan", extends: $base,
     files: {"/var/lib/gpuready/vm/000001.1.attach.jsonl":
       ([{plan: .operations[0].plan, boot_id: "1"}, {end: "done"}] | map(tojson) | join("\n") + "\n")}}' \
    plan.json >"$file"
}
# The machine HOST of attached_machine with VFIO's driver on what is attached: vfio_machine HOST FILE
vfio_machine() {
  jq --arg base "$1" '.extends = $base | del(.files) | .links = ([0, 1] |
    map({key: "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.\(.)/driver",
         value: "../../../../bus/pci/drivers/vfio-pci"}) | from_entries)' "$1" >"$2"
}
# A QEMU that runs nothing and listens: monitor SOCKET OPTION...
monitor() {
  local socket=$1
  shift
  qemu-system-x86_64 -S -nodefaults -display none -machine q35 -m 64 -qmp "unix:$socket,server=on,wait=off" "$@" 2>/dev/null &
  for _ in {1..500}; do [ ! -S "$socket" ] || return 0; sleep 0.01; done
  die "QEMU makes no $socket"
}
# The machines of tests/machines that are described in machine.json, one a line; with GPUREADY_PART, which test.sh sets by
# the commit, one in eight.
walked_machines() { printf '%s\n' "$MACHINES"/*/machine.json | sed -n "${GPUREADY_PART:+$((GPUREADY_PART % 8 + 1))~8}p"; }
# least_walked N: of a walk over all machines N, less where only a part is walked.
least_walked() { [ -n "${GPUREADY_PART:-}" ] && echo $(($1 / 10 + 1)) || echo "$1"; }
