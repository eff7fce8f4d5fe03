// Drivers, toolkits and libraries: fields of machine.h.
#pragma once

#include "gpuready/machine.h"
#include "value/field.h"

namespace gpuready {

FIELDS_OF(LibraryFile) {
  visit.about("library_file", "A library as the loader finds it.");
  FIELD(name, "Name, such as libcuda.so.1.");
  FIELD(path, "Where the loader's search finds it.");
  FIELD(real_path, "The same after all links.");
  FIELD(version, "The suffix of the real path.");
}

FIELDS_OF(Toolkit) {
  visit.about("toolkit", "A toolkit of a vendor.");
  FIELD(kind, "cuda, rocm, or cdi: a specification of NVIDIA's devices for containers.");
  FIELD(version, "Its version; that of its format for cdi.");
  FIELD(path, "Its folder, or cdi's file.");
  FIELD(on_path, "Whether its nvcc or hipcc is the one that PATH finds.");
  FIELD(driver_version, "The driver whose libraries a cdi specification names.");
}

FIELDS_OF(NvidiaDriver) {
  visit.about("nvidia_driver", "NVIDIA's kernel modules, libraries and daemons.");
  FIELD(module_loaded, "Whether the nvidia module is loaded.");
  FIELD(uvm_loaded, "Whether the nvidia_uvm module is loaded.");
  FIELD(module_version, "Version of the loaded kernel module.");
  FIELD(module_flavour, "open or proprietary.");
  FIELD(params, "/proc/driver/nvidia/params, name to value; uvm_disable_hmm of nvidia_uvm.");
  FIELD(libraries, "The driver's libraries that the loader finds.");
  FIELD(nvml_library, "Real path of the NVML that was loaded.");
  FIELD(cuda_library, "Real path of the CUDA driver library that was loaded.");
  FIELD(driver_version, "The user-space driver's version, as NVML reports it.");
  FIELD(cuda_version, "CUDA version of the driver, such as 13.0.");
  FIELD(nvml_start, "What nvmlInit_v2 answered; absent: not asked.");
  FIELD(cuda_start, "What cuInit answered; absent: not asked.");
  FIELD(nvml_outcome,
        "How the NVML probe ended: completed, no_library, timed_out, hung, crashed, "
        "failed_to_start or not_asked.");
  FIELD(cuda_outcome, "How the CUDA probe ended; as nvml_outcome.");
  FIELD(nvml_stopped_in, "The call in which the NVML probe hung or died.");
  FIELD(cuda_stopped_in, "The call in which the CUDA probe hung or died.");
  FIELD(nvml_device_count, "GPUs that NVML lists.");
  FIELD(cuda_device_count, "Devices that CUDA lists.");
  FIELD(fabric_manager, "running or not_running; absent: not asked.");
  FIELD(peer_memory,
        "Loaded module through which network adapters reach GPU memory: nvidia_peermem, "
        "nv_peer_mem.");
  FIELD(persistence_daemon, "running or not_running; absent: not asked.");
  FIELD(
      modules_from,
      "What its kernel modules come from: dkms, akmods, packages (built for each kernel), runfile "
      "(NVIDIA's installer), container (a pod's) or none; absent: not looked for.");
  FIELD(modules_package,
        "With packages: the package's name, up to the kernel's release, such as "
        "linux-modules-nvidia-580-open.");
  FIELD(module_installed,
        "Whether its module is installed for the running kernel; absent: it is loaded, or was not "
        "looked for.");
  FIELD(kernel_headers,
        "Whether the running kernel's headers are installed; absent: its modules are not built "
        "here, or as above.");
  FIELD(
      module_blocked,
      "The file and line of modprobe.d(5) that keeps the module from loading, the other kernel for "
      "which it is installed, or the file system that has too little room to build it.");
}

FIELDS_OF(VulkanDevice) {
  visit.about("vulkan_device", "A device that Vulkan lists.");
  FIELD(name, "Name.");
  FIELD(type, "discrete, integrated, virtual, cpu or other.");
  visit.derived(
      "software", [](const T& device) { return device.software(); },
      "True for a device of type cpu: llvmpipe and the like are not GPUs.");
  FIELD(uuid, "UUID.");
  FIELD(pci, "PCI address.");
  FIELD(driver_name, "Driver name.");
  FIELD(driver_version, "Driver version.");
  FIELD(api_version, "Vulkan version of the device.");
  FIELD(memory_bytes, "Memory.");
  FIELD(vendor_id, "Vendor id.", {.hex_digits = 4});
  FIELD(device_id, "Device id.", {.hex_digits = 4});
}

FIELDS_OF(VulkanState) {
  visit.about("vulkan_state", "Vulkan's loader and devices.");
  FIELD(outcome, "How the probe ended; absent: not asked.");
  FIELD(start, "What vkCreateInstance answered.");
  FIELD(loader_version, "Loader version.");
  FIELD(icd_files, "Driver manifests found.");
  FIELD(devices, "Devices.");
}

FIELDS_OF(AmdDriver) {
  visit.about("amd_driver", "AMD's kernel driver and ROCm.");
  FIELD(module_loaded, "Whether the amdgpu module is loaded.");
  FIELD(module_blocked,
        "The file and line of modprobe.d(5) that keeps it from loading, or DKMS's package of it "
        "that is not built for the running kernel.");
  FIELD(kfd_present, "Whether /dev/kfd's driver is there.");
  FIELD(module_version, "Version of the loaded module.");
  FIELD(rocm_version, "Version of the installed ROCm.");
  FIELD(start, "What hsa_init or hipInit answered.");
  FIELD(outcome, "How the probe ended.");
  FIELD(stopped_in, "The call in which the probe hung or died.");
  FIELD(rocblas_targets, "Targets that the installed rocBLAS has code for.");
}

FIELDS_OF(IntelDriver) {
  visit.about("intel_driver", "Intel's kernel drivers.");
  FIELD(i915_loaded, "Whether the i915 module is loaded.");
  FIELD(xe_loaded, "Whether the xe module is loaded.");
  FIELD(module_blocked, "Where neither is: as for AMD.");
}

FIELDS_OF(AppleState) {
  visit.about("apple_state", "Apple's chip and Metal.");
  FIELD(chip, "The chip, such as Apple M3 Max.");
  FIELD(metal, "Whether Metal lists a device.");
}

}  // namespace gpuready
