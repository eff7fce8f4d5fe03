# stock_disk.sh with every controller: minutes. stock_disks.sh [SUITE], in a folder of its own with $GPUREADY, $SOURCE and
# $VM_BASE.
set -euo pipefail
bash "$SOURCE/tests/vm/stock_disk.sh" "${1:-bookworm}" virtio nvme ahci
