// A stub of NVIDIA's kernel driver for guests without a GPU: the character device, and what /proc
// tells of one GPU. It asks for its firmware when that is read, as NVIDIA's does when a GPU is
// opened.
#include <linux/device.h>
#include <linux/firmware.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#define NVIDIA_MAJOR 195
#define STUB_VERSION "580.65.06"

static char* NVreg_Greeting = "";
module_param(NVreg_Greeting, charp, 0444);

static ssize_t stub_read(struct file* file, char __user* to, size_t size, loff_t* at) {
  return simple_read_from_buffer(to, size, at, "stub\n", 5);
}
static const struct file_operations operations = {.owner = THIS_MODULE, .read = stub_read};

static int show_version(struct seq_file* out, void* unused) {
  seq_printf(out, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  stub\n",
             STUB_VERSION);
  return 0;
}
static int show_params(struct seq_file* out, void* unused) {
  seq_puts(out, "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n");
  return 0;
}
static int show_information(struct seq_file* out, void* unused) {
  seq_puts(out, "Model: \t\t Stub\nDevice Minor: \t 0\n");
  return 0;
}

static struct device* device;
static int show_firmware(struct seq_file* out, void* unused) {
  const struct firmware* firmware;
  int error = request_firmware_direct(&firmware, "nvidia/" STUB_VERSION "/gsp_ga10x.bin", device);
  if (error) {
    seq_printf(out, "no firmware: %d\n", error);
  } else {
    seq_printf(out, "firmware of %zu bytes\n", firmware->size);
    release_firmware(firmware);
  }
  return 0;
}

static struct proc_dir_entry* folder;

static int __init stub_start(void) {
  struct proc_dir_entry* gpu;
  int error = register_chrdev(NVIDIA_MAJOR, "nvidia", &operations);
  if (error < 0) return error;
  device = root_device_register("nvidia-stub");
  folder = proc_mkdir("driver/nvidia", NULL);
  gpu = proc_mkdir("gpus", folder);
  gpu = proc_mkdir("0000:01:00.0", gpu);
  proc_create_single("version", 0444, folder, show_version);
  proc_create_single("firmware", 0444, folder, show_firmware);
  proc_create_single("params", 0444, folder, show_params);
  proc_create_single("information", 0444, gpu, show_information);
  printk("stub nvidia: %s\n", NVreg_Greeting);
  return 0;
}
static void __exit stub_end(void) {
  proc_remove(folder);
  root_device_unregister(device);
  unregister_chrdev(NVIDIA_MAJOR, "nvidia");
}
module_init(stub_start);
module_exit(stub_end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(STUB_VERSION);
