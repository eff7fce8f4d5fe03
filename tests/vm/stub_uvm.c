// A stub of NVIDIA's unified memory driver, which needs the first one: it uses none of it, but says
// so.
#include <linux/fs.h>
#include <linux/module.h>

static int stub_major;
static const struct file_operations operations = {.owner = THIS_MODULE};

static int __init stub_start(void) {
  stub_major = register_chrdev(0, "nvidia-uvm", &operations);
  return stub_major < 0 ? stub_major : 0;
}
static void __exit stub_end(void) { unregister_chrdev(stub_major, "nvidia-uvm"); }
module_init(stub_start);
module_exit(stub_end);
MODULE_SOFTDEP("pre: nvidia");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("580.65.06");
