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
     declare_vm_list,
     "vm list\n"
     "vm list --all --json"},
    {"show", "Show details of devices: group, companions, BARs, resets, users", declare_vm_show,
     "vm show\n"
     "vm show 0000:17:00.0"},
    {"plan", "Show the steps of attaching, their risks and their undo; change nothing",
     declare_vm_plan,
     "vm plan 0000:17:00.0 --for guest\n"
     "vm plan 0 1 --for guest --managed"},
    {"attach", "Detach devices from the host for a virtual machine", declare_vm_attach,
     "vm attach 0000:17:00.0 --for guest\n"
     "vm attach 0 1 --for guest --hugepages 64"},
    {"detach", "Return devices: reset, clean, test, bind the original driver", declare_vm_detach,
     "vm detach --for guest\n"
     "vm detach 0000:17:00.0"},
    {"args", "Print hypervisor arguments: QEMU's options, libvirt's XML", declare_vm_args,
     "vm args --for guest --hypervisor qemu\n"
     "vm args --for guest --hypervisor libvirt"},
    {"plug", "Plug attached devices into a running QEMU", declare_vm_plug,
     "vm plug --for guest --qmp /run/guest.qmp\n"
     "vm plug --for guest --qmp /run/guest.qmp --json"},
    {"unplug", "Take devices out of a running QEMU, before vm detach", declare_vm_unplug,
     "vm unplug --for guest --qmp /run/guest.qmp\n"
     "vm unplug --for guest --qmp /run/guest.qmp --timeout 120"},
    {"status", "Show what is attached, in quarantine or unfinished", declare_vm_status,
     "vm status\n"
     "vm status --for guest --json"},
    {"recover", "Complete or roll back operations after a crash or a restart", declare_vm_recover,
     "vm recover\n"
     "vm recover --accept 0000:17:00.0"},
    {"hold", "Keep undecided devices from their drivers at boot, until recover", declare_vm_hold,
     "vm hold\n"
     "vm hold --quiet"},
    {"doctor", "Diagnose passthrough on a host, or a guest without its GPU", declare_vm_doctor,
     "vm doctor\n"
     "vm doctor --console guest.log"},
    {"drivers", "Make, list and check bundles of driver files for guests", declare_vm_drivers,
     "vm drivers collect / -o bundle\n"
     "vm drivers show bundle"},
    {"compat", "Say whether a container image's CUDA runs on a driver", declare_vm_compat,
     "vm compat --image-cuda 12.9 --driver 550\n"
     "vm compat --image-cuda 12.9 --driver 580 --gpu H100"},
    {"initrd", "Write an initrd with a driver bundle and the guest's init", declare_vm_initrd,
     "vm initrd bundle -o guest.img\n"
     "vm initrd bundle -o guest.img --compress zstd"},
};

constexpr OwnMode kModes[] = {
    {vm::kAttributeChild, vm::run_attribute_child},
};

void declare_vm(CommandSpec& command) { command.subcommands = kVmSubcommands; }

}  // namespace

extern const Product vm_product;
const Product vm_product = {
    .command = {"vm", "Pass GPUs to virtual machines; driver bundles for guests", declare_vm,
                "vm list\n"
                "vm plan 0000:17:00.0 --for guest"},
    .modes = kModes,
    .read = [](Host& host, const Machine& machine) { vm::read_inventory(host, machine); },
};

}  // namespace gpuready::cli
