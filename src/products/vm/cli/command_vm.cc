// `gpuready vm ...`: GPUs for virtual machines, and their drivers.
#include "cli/product.h"
#include "vm/attribute_child.h"
#include "vm/cli/vm_commands.h"
#include "vm/cli/vm_driver_commands.h"
#include "vm/inventory.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_vm_<name>.cc.
constexpr CommandEntry kVmSubcommands[] = {
    {"list", "List devices that can be passed through, and what prevents the others",
     declare_vm_list},
    {"show", "Show details of devices: group, companions, BARs, resets, users", declare_vm_show},
    {"plan", "Show the steps of attaching, their risks and their undo; change nothing",
     declare_vm_plan},
    {"attach", "Detach devices from the host for a virtual machine", declare_vm_attach},
    {"detach", "Return devices: reset, clean, test, bind the original driver", declare_vm_detach},
    {"args", "Print hypervisor arguments: QEMU's options, libvirt's XML", declare_vm_args},
    {"status", "Show what is attached, in quarantine or unfinished", declare_vm_status},
    {"recover", "Complete or roll back operations after a crash or a restart", declare_vm_recover},
    {"hold", "Keep undecided devices from their drivers at boot, until recover", declare_vm_hold},
    {"doctor", "Diagnose passthrough on a host, or a guest without its GPU", declare_vm_doctor},
    {"drivers", "Make, list and check bundles of driver files for guests", declare_vm_drivers},
    {"compat", "Say whether a container image's CUDA runs on a driver", declare_vm_compat},
    {"initrd", "Write an initrd with a driver bundle and the guest's init", declare_vm_initrd},
};

constexpr OwnMode kModes[] = {
    {vm::kAttributeChild, vm::run_attribute_child},
};

void declare_vm(CommandSpec& command) { command.subcommands = kVmSubcommands; }

}  // namespace

extern const Product vm_product;
const Product vm_product = {
    .command = {"vm", "Pass GPUs to virtual machines; driver bundles for guests", declare_vm},
    .modes = kModes,
    .read = [](Host& host, const Machine& machine) { vm::read_inventory(host, machine); },
};

}  // namespace gpuready::cli
