/* GPUs for virtual machines from C: what `gpuready vm list`, `show`, `plan`, `attach`, `args`,
 * `detach`, `status`, `recover`, `doctor` and `drivers` do (docs/vm.md). A VM manager calls these
 * where it does not run the command.
 *
 * Each gives a JSON document in the form of schema/vm-devices, vm-operation, vm-args, vm-status,
 * vm-doctor or vm-drivers, which gpuready_free() frees; its `exit_code` says how it ended, as the
 * command's does, and GPUREADY_OK says only that there is a document: a refused operation gives
 * one, too, which contains the reason. `devices` is what the command takes, separated by commas or
 * spaces: PCI addresses, UUIDs of GPUs and of mediated devices, other names of GPUs in one word:
 * "0000:17:00.0,GPU-5c1e4b2a-0f6d-4b7e-9a53-2f3d1c8e7b60". `name` is what the devices are for: only
 * letters, digits and . _ - : Without a document: GPUREADY_BAD_ARGUMENT for a null pointer that is
 * not allowed, or a value that is not valid; GPUREADY_NOT_FOUND if a device to show or to diagnose,
 * a file, a folder, or an attachment for `name` does not exist.
 *
 * attach, detach and recover are for root, and whoever may call them is as good as root
 * (docs/security.md). They wait for drivers (60 s at most for each) and for tests of memory
 * (minutes); one at a time works on a machine, and the others get GPUREADY_BUSY. */
#ifndef GPUREADY_VM_C_H
#define GPUREADY_VM_C_H

#include "gpuready/gpuready.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The devices that can be given away, and what keeps the others. */
GPUREADY_API gpuready_status gpuready_vm_list_json(char** json);
/* Details of `devices`; NULL: of all that list names. `name` is not NULL: only of those that are
 * attached for it. */
GPUREADY_API gpuready_status gpuready_vm_show_json(const char* devices, const char* name,
                                                   char** json);
/* The steps that attaching would take. Nothing is changed. `managed` is not 0: libvirt binds them.
 */
GPUREADY_API gpuready_status gpuready_vm_plan_json(const char* devices, const char* name,
                                                   int managed, char** json);
GPUREADY_API gpuready_status gpuready_vm_attach_json(const char* devices, const char* name,
                                                     int managed, char** json);
/* A hypervisor's arguments for what is attached for `name`. `hypervisor` is "qemu", "libvirt" or
 * "cloud-hypervisor". */
GPUREADY_API gpuready_status gpuready_vm_args_json(const char* name, const char* hypervisor,
                                                   char** json);
/* Gives back all that is attached for `name`. */
GPUREADY_API gpuready_status gpuready_vm_detach_json(const char* name, char** json);
/* What is attached, in quarantine, or did not end. */
GPUREADY_API gpuready_status gpuready_vm_status_json(char** json);
/* After a crash or a restart: brings everything to a whole state. */
GPUREADY_API gpuready_status gpuready_vm_recover_json(char** json);

/* What keeps `devices` of this host from virtual machines; NULL: all that list names, or, on a
 * machine under a hypervisor, what keeps this guest from its GPU (gpuready_refresh() applies). */
GPUREADY_API gpuready_status gpuready_vm_doctor_json(const char* devices, char** json);
/* What keeps a guest from its GPU, by the log of its console in the file `console`. */
GPUREADY_API gpuready_status gpuready_vm_doctor_console_json(const char* console, char** json);

/* The bundles of driver files in `folder` (docs/vm-drivers.md). */
GPUREADY_API gpuready_status gpuready_vm_drivers_list_json(const char* folder, char** json);
/* What the folder `bundle` contains, and whether its parts fit together. GPUREADY_BAD_ARGUMENT: it
 * is not a bundle. */
GPUREADY_API gpuready_status gpuready_vm_drivers_show_json(const char* bundle, char** json);
/* The same, after every file was compared with its SHA-256. */
GPUREADY_API gpuready_status gpuready_vm_drivers_verify_json(const char* bundle, char** json);

#ifdef __cplusplus
}
#endif

#endif
