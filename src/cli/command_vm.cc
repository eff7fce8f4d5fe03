// `gpuready vm ...`: GPUs for virtual machines, and their drivers.
#include "cli/commands.h"
#include "cli/vm_commands.h"
#include "cli/vm_driver_commands.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_vm_<name>.cc.
constexpr CommandEntry kVmSubcommands[] = {
    {"list", "List the devices that a virtual machine can be given, and what keeps the others",
     declare_vm_list},
    {"show", "All about such devices: group, companions, BARs, resets, users", declare_vm_show},
    {"plan", "The steps that attaching would take, their risks and their undo", declare_vm_plan},
    {"attach", "Take devices from the host for a virtual machine", declare_vm_attach},
    {"detach", "Give them back: reset, cleaned, tested, with the driver that they had",
     declare_vm_detach},
    {"args", "What a hypervisor is told of them: QEMU's arguments, libvirt's XML", declare_vm_args},
    {"status", "What is attached, what is in quarantine, what did not end", declare_vm_status},
    {"recover", "After a crash or a restart: bring everything to a whole state",
     declare_vm_recover},
    {"doctor", "Say what keeps a host's devices from virtual machines, or a guest from its GPU",
     declare_vm_doctor},
    {"drivers", "Bundles of driver files for guests: make, list, check", declare_vm_drivers},
    {"compat", "Say whether a container image's CUDA runs on a driver", declare_vm_compat},
    {"initrd", "Write an initrd with a driver bundle and the guest's init", declare_vm_initrd},
};

}  // namespace

void declare_vm(CommandSpec& command) { command.subcommands = kVmSubcommands; }

}  // namespace gpuready::cli
