/* GPUs for virtual machines from C: what `gpuready vm list`, `plan`, `attach`, `detach`, `status`
 * and `recover` do (docs/vm.md). A VM manager calls these where it does not run the command.
 *
 * Each gives a JSON document in the form of schema/vm-devices, vm-operation or vm-status, which
 * gpuready_free() frees; its `exit_code` says how it ended, as the command's does, and GPUREADY_OK
 * says only that there is a document: a refused operation gives one, too, which contains
 * the reason. `devices` is PCI addresses, separated by commas or spaces:
 * "0000:17:00.0,0000:65:00.0". `name` is what the devices are for: only letters, digits and . _ - :
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
/* The steps that attaching would take. Nothing is changed. `managed` is not 0: libvirt binds them.
 */
GPUREADY_API gpuready_status gpuready_vm_plan_json(const char* devices, const char* name,
                                                   int managed, char** json);
GPUREADY_API gpuready_status gpuready_vm_attach_json(const char* devices, const char* name,
                                                     int managed, char** json);
/* Gives back all that is attached for `name`. */
GPUREADY_API gpuready_status gpuready_vm_detach_json(const char* name, char** json);
/* What is attached, in quarantine, or did not end. */
GPUREADY_API gpuready_status gpuready_vm_status_json(char** json);
/* After a crash or a restart: brings everything to a whole state. */
GPUREADY_API gpuready_status gpuready_vm_recover_json(char** json);

#ifdef __cplusplus
}
#endif

#endif
