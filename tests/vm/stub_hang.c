// A driver called nvidia for QEMU's edu device, whose removal waits for its users for ever, as
// NVIDIA's does. What holds the device is a parameter, as persistence mode is: no process has it
// open.
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/pci.h>

static int hold;
module_param(hold, int, 0644);

static const struct pci_device_id ids[] = {{PCI_DEVICE(0x1234, 0x11e8)}, {}};
MODULE_DEVICE_TABLE(pci, ids);

static int stub_probe(struct pci_dev* device, const struct pci_device_id* id) { return 0; }

static void stub_remove(struct pci_dev* device) {
  while (READ_ONCE(hold)) msleep(100);
}

static struct pci_driver stub = {
    .name = "nvidia", .id_table = ids, .probe = stub_probe, .remove = stub_remove};
module_pci_driver(stub);
MODULE_LICENSE("GPL");
