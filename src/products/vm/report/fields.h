// The fields of what the commands of `vm` tell.
#pragma once

#include "base/paths.h"
#include "value/document.h"
#include "value/fields.h"
#include "vm/drivers/fields.h"
#include "vm/fields.h"
#include "vm/plan_fields.h"
#include "vm/report/args_report.h"
#include "vm/report/devices_report.h"
#include "vm/report/doctor_report.h"
#include "vm/report/drivers_report.h"
#include "vm/report/fetch_report.h"
#include "vm/report/hotplug_report.h"
#include "vm/report/initrd_report.h"
#include "vm/report/plan_report.h"
#include "vm/report/upgrade_report.h"

namespace gpuready {
namespace vm {

FIELDS_OF(Device) {
  visit.about("device", "A PCI function and what surrounds it.");
  visit.merged(&T::function);
  visit.merged(&T::around);
}

FIELDS_OF(MediatedDevice) {
  visit.about("mediated_device", "A mediated device and what surrounds it.");
  visit.merged(kBase<MediatedFacts>);
  visit.merged(&T::around);
}

FIELDS_OF(Step) {
  visit.about("init_step", "A step of a guest's init.");
  FIELD(seconds, "Since the init's start.", {.always = true, .finite = true});
  FIELD(state, "How it ended.");
  FIELD(kind, "What was done: mount, config, module, node, root, library, loader, check, start.",
        {.always = true, .printable = true});
  FIELD(subject, "To what.", {.always = true, .printable = true});
  FIELD(text, "What the line says.", {.always = true, .printable = true});
}

FIELDS_OF(FailedStep) {
  visit.about("failed_step", "The first step that failed.");
  FIELD(kind,
        "host, boot, device, module, firmware, node, library, loader, check, program and others.",
        {.always = true, .printable = true});
  FIELD(subject,
        "What it was about: nvidia, /dev/nvidia0, libcuda.so.1, an address; empty: not known.",
        {.always = true, .printable = true});
  FIELD(text, "Its line.", {.always = true, .printable = true});
}

FIELDS_OF(ConsoleReport) {
  visit.about("console", "What a guest wrote to its console.");
  FIELD(kind, "Whose lines they are.");
  FIELD(state,
        "ready: it says so, or the driver was loaded and nothing is wrong; failed: something is "
        "wrong; unknown: it tells nothing of a GPU.");
  FIELD(boots, "Kernels that started; the last one counts.");
  FIELD(driver_version, "Version of the driver that was loaded.");
  FIELD(failed_step, "The first step that failed.");
  FIELD(steps, "Steps of the guest's init.", kAlways);
  visit.hidden(&T::unread_bytes, &T::findings);
}

FIELDS_OF(BundleEntry) {
  visit.about("bundle_entry", "A bundle and where it is.");
  FIELD(folder, "Where it is.", {.always = true, .printable = true});
  FIELD(bundle, "One NVIDIA driver as guests need it.", kAlways);
  FIELD(current, "The link `current` of the folder that was listed leads to it.", {.sparse = true});
}

FIELDS_OF(CudaCompatibility) {
  visit.about("cuda_compatibility", "An image's CUDA on a driver.");
  FIELD(image_cuda, "The CUDA release of the image, as it was given.", kAlways);
  FIELD(driver_version, "The driver's version.", kAlways);
  FIELD(fit,
        "native: the driver implements this release; minor_version: programs run, code compiled "
        "from newer PTX does not load; too_old: programs stop; unknown: not in the catalogue.");
  FIELD(native_cuda, "The CUDA release that the driver implements.");
  FIELD(least_driver, "The least driver that runs the image's programs.");
  FIELD(explanation, "The same in words.", kAlways);
}

FIELDS_OF(GpuSupport) {
  visit.about("gpu_support", "Whether a driver serves a GPU.");
  visit("id", &T::gpu, "Its PCI id and its name by the PCI ID Repository, or its capability.",
        kAlways);
  FIELD(explanation, "The same in words.", kAlways);
  FIELD(architecture, "Its architecture. Absent: not known.");
  FIELD(served, "The driver's branch serves it. Absent: not known.");
  FIELD(forward_compatible,
        "false: CUDA's forward compatibility packages do not serve it (error 804). Absent: not "
        "known.");
}

FIELDS_OF(ImageLibrary) {
  visit.about("image_library", "A driver library that an image brings itself.");
  FIELD(path, "Within the image, after all links.", {.always = true, .printable = true});
  FIELD(compat, "It is of CUDA's forward compatibility package.");
  FIELD(version, "The driver that it belongs to. Absent: its name does not tell.");
}

FIELDS_OF(Licence) {
  visit.about("licence", "A licence of a driver.");
  FIELD(path, "Where it stands in the archive.", kAlways);
  FIELD(text, "What it says.", kAlways);
}

FIELDS_OF(FetchedDriver) {
  visit.about("fetched_driver", "A driver's archive.");
  FIELD(path, "The file, as it was given.", {.always = true, .printable = true});
  FIELD(size_bytes, "Its size.");
  FIELD(sha256, "Its SHA-256, which is the one that was given.",
        {.always = true, .pattern = kSha256Pattern});
  FIELD(was_there, "It was there with these bytes: nothing was fetched.");
  FIELD(licences, "The licences in it.", kAlways);
  FIELD(problem, "Why no bundle can be made of it. Absent: one can.", {.printable = true});
}

FIELDS_OF(InitrdReport) {
  visit.about("initrd", "What an initrd holds.");
  FIELD(unchanged, "What was there is what would be written.");
  FIELD(driver_version, "The driver's version.", kAlways);
  FIELD(kernel_release, "The guest's kernel release; absent: no modules.");
  FIELD(files, "How many files are in it.");
  FIELD(content_bytes, "What these hold.");
  FIELD(written_bytes, "The size of the initrd.");
}

FIELDS_OF(Outcome) {
  visit.about("outcome", "What was done.");
  FIELD(done, "Steps that were carried out.", kAlways);
  FIELD(undone, "What was taken back.", kAlways);
  FIELD(left, "What could not be taken back, and why.", kAlways);
  FIELD(notes, "What failed and matters little.", kAlways);
  FIELD(failed, "The step that failed.", {WHEN(it.error)});
  DERIVED(error, it.error->message, "Why it failed.", {WHEN(it.error), .printable = true});
  DERIVED(error_kind, to_string(it.error->kind), "Kind of the error: busy, hung, io and others.",
          {WHEN(it.error)});
  visit("quarantine", &T::unclean, "Devices in quarantine, by address, and why.", kAlways);
  visit.hidden(&T::error, &T::vbios, &T::returned);
}

FIELDS_OF(Claim) {
  visit.about("claim", "An attach, and what followed it.");
  FIELD(id, "Number of the claim.");
  DERIVED(state, state_of(it), "attached: a virtual machine may use the devices.", kAlways);
  FIELD(problem, "Why the journal cannot be read.", {.printable = true});
  DERIVED(name, it.attached().name, "What the devices are for.", {WHEN(!it.operations.empty())});
  DERIVED(managed, it.attached().managed, "Binding is left to libvirt.",
          {WHEN(!it.operations.empty())});
  DERIVED(devices, it.attached().devices, "Their addresses.", {WHEN(!it.operations.empty())});
  DERIVED(instances, it.attached().instances, "Mediated devices, by UUID.",
          {WHEN(!it.operations.empty() && !it.attached().instances.empty())});
  FIELD(gone, "Devices that are no longer in this machine.");
  DERIVED(quarantine, it.quarantine(), "Devices in quarantine, by address, and why.",
          {WHEN(!it.operations.empty())});
  visit.hidden(&T::operations);
}

FIELDS_OF(HotPlugged) {
  visit.about("hot_plugged", "A device that was to be plugged or unplugged.");
  FIELD(device, "Its PCI address, or the UUID of a mediated device.", kAlways);
  FIELD(state, "plugged, unplugged: now; already_plugged, not_plugged: before.");
}

FIELDS_OF(BundleDiff) {
  visit.about("bundle_diff", "How one bundle differs from another.");
  FIELD(from, "The current driver's version.", {.always = true, .printable = true});
  FIELD(to, "The new one's.", {.always = true, .printable = true});
  FIELD(added, "New files; VERSION stands for the driver's own.",
        {.always = true, .printable = true});
  FIELD(removed, "Files that are no longer there.", {.always = true, .printable = true});
  FIELD(lost_libraries, "Names of libraries that the new one lacks.",
        {.always = true, .printable = true});
  FIELD(new_kernels, "Kernel releases that it adds modules for.",
        {.always = true, .printable = true});
  FIELD(lost_kernels, "Kernel releases that it has no modules for.",
        {.always = true, .printable = true});
  FIELD(from_open, "The current kernel modules are the open ones.");
  FIELD(to_open, "The new ones are.");
  FIELD(more_bytes, "Its files are larger by so much.");
  FIELD(from_cuda, "The CUDA of the current driver. Absent: not in the catalogue.");
  FIELD(to_cuda, "The new one's.");
}

FIELDS_OF(BundleTest) {
  visit.about("bundle_test", "One test.");
  FIELD(name, "parts, files, libraries, GPUs, names, kernels, CUDA, command.", kAlways);
  FIELD(result, "How it ended.");
  FIELD(text, "A sentence.", {.always = true, .printable = true});
}

}  // namespace vm

FIELDS_OF(VmDevices) {
  DERIVED(host, it.inventory.host, "What the host offers to all devices.", kAlways);
  DERIVED(devices, shown(it), "The devices that were asked for.", kAlways);
  DERIVED(instances, shown_instances(it), "Mediated devices (vGPUs).", kAlways);
  DERIVED(unseen, it.inventory.unseen, "What could not be read, and why.", kAlways);
  visit.hidden(&T::inventory, &T::shown, &T::in_full, &T::instances);
}
DOCUMENT_OF(
    VmDevices, "vm-devices", "Devices for virtual machines",
    "What `gpuready vm list` and `vm show` found. A field that no source reported is absent: "
    "never null or 0. Units are in the names of the keys.",
    "0: the devices were listed or shown.");

FIELDS_OF(ArgsReport) {
  FIELD(hypervisor, "For which.");
  DERIVED(arguments, it.args.arguments, "Of qemu and cloud-hypervisor, one by one.", kAlways);
  DERIVED(xml, it.args.xml, "Of libvirt: hostdev elements for a domain's devices.");
  DERIVED(hints, it.args.notes, "What else to do, and what is unproven.", kAlways);
  visit.hidden(&T::args);
}
DOCUMENT_OF(ArgsReport, "vm-args", "Arguments of a hypervisor",
            "What `gpuready vm args` wrote for attached devices.",
            "0: the arguments were written.");

FIELDS_OF(HotPlugReport) {
  FIELD(name, "What the devices are attached for.", kAlways);
  FIELD(devices, "In the order of their slots.", kAlways);
}
DOCUMENT_OF(HotPlugReport, "vm-hotplug", "Devices in a running virtual machine",
            "What `gpuready vm plug` and `vm unplug` did.", "0: all devices are in, or out.");

FIELDS_OF(InitrdOutcome) {
  FIELD(path, "The initrd, as it was given.", {.always = true, .printable = true});
  visit.merged(&T::report);
}
DOCUMENT_OF(InitrdOutcome, "vm-initrd", "An initrd with a driver bundle",
            "What `gpuready vm initrd` wrote.", "0: it is there.");

inline constexpr std::string_view kSides[] = {"host", "guest", "console"};

FIELDS_OF(VmDoctorReport) {
  FIELD(side, "What was looked at.", {.always = true, .texts = kSides});
  FIELD(findings, "Causes, gravest first; what follows from one is folded under it.", kAlways);
  FIELD(unseen, "What could not be looked at, and why.", {.always = true, .printable = true});
  FIELD(console, "What a guest wrote to its console. Absent: none was read.");
  visit.hidden(&T::devices, &T::bus_unread);
}
DOCUMENT_OF(
    VmDoctorReport, "vm-doctor",
    "What keeps devices from virtual machines, or a guest from its GPU",
    "What `gpuready vm doctor` found. A field that no source reported is absent: never null or "
    "0. Units are in the names of the keys.",
    "0: nothing is wrong; 1: an error was found; 4: the console does not tell whether a GPU is "
    "ready.");

FIELDS_OF(DriversReport) {
  FIELD(bundles, "The bundles.", kAlways);
  FIELD(problems, "What keeps a bundle from working, one sentence each.",
        {.always = true, .printable = true});
}
DOCUMENT_OF(DriversReport, "vm-drivers", "Driver bundles for guests",
            "What `gpuready vm drivers` made or found. bundle.json of a bundle is `bundle` with a "
            "schema's name and version.",
            "0: nothing is wrong; 1: something is.");

FIELDS_OF(CompatReport) {
  visit.merged(&T::cuda);
  FIELD(gpu, "Whether the driver serves the GPU that was asked for.");
  FIELD(rootfs, "The root of an image that was looked at.");
  FIELD(image_libraries, "Driver libraries that the image brings itself.", {WHEN(it.rootfs)});
}
DOCUMENT_OF(CompatReport, "vm-compat", "Whether a container image's CUDA runs on a driver",
            "What `gpuready vm compat` found.",
            "0: the image's programs run; 1: they do not, the GPU is not served, or the image has "
            "driver libraries of another version; 4: not known.");

FIELDS_OF(FetchReport) {
  FIELD(url, "Where it came from, without a password.", {.always = true, .printable = true});
  visit.merged(&T::driver);
}
DOCUMENT_OF(FetchReport, "vm-fetch", "A fetched driver",
            "What `gpuready vm drivers fetch` brought.",
            "0: it is there; 1: it is there, and no driver's archive.");

struct OperationPart {
  const vm::Plan* plan;
  const vm::Outcome* outcome;  // nullptr: it was only planned
};
FIELDS_OF(OperationPart) {
  visit.about("operation", "What was planned and done for one claim.");
  FIELD(plan, "What was to be done.", kAlways);
  FIELD(outcome, "What was done. Absent: it was only planned.");
}

FIELDS_OF(VmOperation) {
  visit.derived(
      "operations",
      [](const T& it) {
        std::vector<OperationPart> parts;
        for (const auto& done : it.done)
          parts.push_back({&done.plan, it.planned_only ? nullptr : &done.outcome});
        return parts;
      },
      "One for each claim.", kAlways);
  visit.hidden(&T::done, &T::planned_only);
}
DOCUMENT_OF(
    VmOperation, "vm-operation", "Operations on devices for virtual machines",
    "What `gpuready vm plan`, `attach`, `detach` and `recover` planned and did. A field that "
    "no source reported is absent: never null or 0. Units are in the names of the keys.",
    "0: done, or of a plan: it can be carried out; 1: refused, failed and taken back, or in "
    "quarantine; 3: what was named is not here; 4: an operation did not end.");

FIELDS_OF(VmStatus) {
  FIELD(claims, "One for each attach that was not wholly taken back.", kAlways);
}
DOCUMENT_OF(
    VmStatus, "vm-status", "Devices that are attached",
    "What `gpuready vm status` read in the journal. A field that no source reported is absent: "
    "never null or 0. Units are in the names of the keys.",
    "0: all is whole; 1: a device is in quarantine; 4: an operation did not end, or a journal "
    "cannot be read.");

FIELDS_OF(UpgradeReport) {
  FIELD(folder, "The folder of bundles.", {.always = true, .printable = true});
  DERIVED(bundle, std::string(base_name(it.bundle.folder)), "The bundle's name in it.",
          {.always = true, .printable = true});
  DERIVED(driver_version, it.bundle.bundle.driver_version, "Its driver's version.", kAlways);
  FIELD(added, "This command made it.");
  FIELD(from, "The bundle that was current. Absent: none was.");
  FIELD(diff, "How it differs from the current one. Absent: none was, or it is the current one.");
  FIELD(tests, "What was tested.", kAlways);
  FIELD(switched, "The folder's link `current` leads to it now.");
  visit.hidden(&T::bundle);
}
DOCUMENT_OF(UpgradeReport, "vm-upgrade", "An upgrade of a guest driver",
            "What `gpuready vm drivers upgrade` compared, tested and switched.",
            "0: it is current; 1: a test failed.");

}  // namespace gpuready
