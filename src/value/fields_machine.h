// The machine and its surroundings: fields of machine.h.
#pragma once

#include "gpuready/machine.h"
#include "value/field.h"

namespace gpuready {

FIELDS_OF(DeviceNode) {
  visit.about("device_node", "A device file.");
  FIELD(path, "Path, such as /dev/nvidia0.", kAlways);
  FIELD(exists, "Whether it is there.");
  FIELD(pci, "Of /dev/dri: address of the GPU.");
  FIELD(mode, "Permission bits in octal, as chmod takes them.", {.octal = true});
  FIELD(uid, "Owner's user id.");
  FIELD(gid, "Owner's group id.");
  FIELD(device_major, "Major number.");
  FIELD(device_minor, "Minor number.");
  FIELD(driver_major, "Major number that its driver registered in /proc/devices.");
  FIELD(openable, "Whether this process may open it for reading and writing.");
  FIELD(open_error, "Why not: EPERM, EACCES, EIO and others.");
  FIELD(nodev, "Whether its mount forbids device nodes; asked where opening was refused.");
}

FIELDS_OF(Visibility) {
  visit.about(
      "visibility",
      "Variables that hide or select GPUs, as set. Absent: not set; empty text: set, but empty.");
  FIELD(cuda_visible_devices, "CUDA_VISIBLE_DEVICES.");
  FIELD(nvidia_visible_devices, "NVIDIA_VISIBLE_DEVICES.");
  FIELD(rocr_visible_devices, "ROCR_VISIBLE_DEVICES.");
  FIELD(hip_visible_devices, "HIP_VISIBLE_DEVICES.");
  FIELD(gpu_device_ordinal, "GPU_DEVICE_ORDINAL.");
  FIELD(ze_affinity_mask, "ZE_AFFINITY_MASK.");
  FIELD(nvidia_driver_capabilities, "NVIDIA_DRIVER_CAPABILITIES.");
  FIELD(cuda_device_order, "CUDA_DEVICE_ORDER.");
  FIELD(hsa_override_gfx_version, "HSA_OVERRIDE_GFX_VERSION.");
}

FIELDS_OF(Container) {
  visit.about("container", "The container and cgroup that the tool runs in.");
  FIELD(runtime, "docker, podman, kubernetes, lxc, containerd and others.");
  FIELD(cgroup_version, "1 or 2, as text.");
  FIELD(cgroup_path, "Path of the cgroup.");
  FIELD(memory_limit_bytes, "Memory limit of the cgroup.");
  FIELD(memory_used_bytes, "Memory that the cgroup uses.");
  FIELD(cpu_limit, "CPU limit of the cgroup.", {.unit = "CPUs"});
}

FIELDS_OF(SystemState) {
  visit.about("system_state", "The host: kernel, CPU, memory, virtualization.");
  FIELD(host_name, "Name of the host.");
  FIELD(kernel_release, "Release of the kernel.");
  FIELD(architecture, "Of the CPU: x86_64, aarch64.");
  FIELD(os_name, "PRETTY_NAME of os-release.");
  FIELD(os_ids, "ID of os-release, then its ID_LIKE.");
  FIELD(product_name, "Product name, from DMI.");
  FIELD(chassis_type, "Chassis type, from DMI: 3 desktop, 9 laptop, 23 rack mount and others.");
  FIELD(cpu_model, "Model of the CPU.");
  FIELD(cpu_count, "CPUs online.");
  FIELD(memory_total_bytes, "Memory of the host.");
  FIELD(memory_available_bytes, "Memory that the kernel counts as available (MemAvailable).");
  FIELD(effective_uid, "User id that the process runs with.");
  FIELD(secure_boot, "Whether Secure Boot is on.");
  FIELD(selinux_enforcing, "Whether SELinux enforces its policy; absent where it is not there.");
  FIELD(user_namespace, "Whether user ids here are not those of the host.");
  FIELD(kernel_command_line, "Kernel command line.");
  FIELD(iommu_active, "Whether IOMMU groups exist.");
  FIELD(thunderbolt, "Whether a Thunderbolt or USB4 device is attached.");
  FIELD(hypervisor, "kvm, firecracker, wsl2 and others.");
  FIELD(wsl2, "True under the Windows Subsystem for Linux 2.");
  FIELD(wsl_drivers, "Folders of Windows' drivers that WSL 2 hands in.");
  FIELD(jetson_release,
        "First line of /etc/nv_tegra_release; without that file, as in a container, the board's "
        "model, or the chip's name.");
  FIELD(numa_cpus, "CPUs of each NUMA node, as 0-15,32-47.");
  FIELD(unix_seconds, "When the machine was read, in seconds since 1970-01-01 UTC.");
  FIELD(uptime_seconds, "Time since boot, when the machine was read.");
}

FIELDS_OF(LogLine) {
  visit.about("log_line", "A line of the kernel log.");
  FIELD(text, "The line without its time.", kAlways);
  FIELD(seconds, "Time since boot.");
  FIELD(left_out, "Lines that differ from this one only in numbers, left out before it.");
}

FIELDS_OF(XidEvent) {
  visit.about("xid_event", "An error that NVIDIA's driver reported.");
  FIELD(code, "Number of the Xid.");
  FIELD(pci, "Address of the GPU.");
  FIELD(line, "The line, quoted.", kAlways);
  FIELD(seconds, "Time since boot; absent for NVML events.");
  FIELD(source, "kernel log or nvml.");
  FIELD(left_out, "Events of this code and GPU, left out before this one.");
}

FIELDS_OF(KernelLog) {
  visit.about("kernel_log", "What the kernel log says about GPUs.");
  FIELD(readable, "Whether it could be read.");
  FIELD(error, "Why it could not be read.");
  FIELD(lines, "Lines about GPUs, their drivers, PCIe errors and suspend.");
  FIELD(xids, "NVIDIA's Xid errors.");
}

FIELDS_OF(NetworkPort) {
  visit.about("network_port", "A port of a network adapter, as /sys/class/infiniband has it.");
  FIELD(port, "Number of the port, from 1.", kAlways);
  FIELD(state, "ACTIVE, INIT, DOWN and others, in the kernel's words.");
  FIELD(physical_state, "LinkUp, Polling, Disabled and others, in the kernel's words.");
  FIELD(link_layer, "InfiniBand, Ethernet (RoCE), or Unspecified (EFA).");
  FIELD(rate_gbps, "Rate of all lanes.", {.unit = "Gbit/s"});
  FIELD(width, "Lanes.");
  FIELD(counters, "Errors since the counters were last cleared, by the kernel's names.");
}

FIELDS_OF(NetworkAdapter) {
  visit.about("network_adapter", "An adapter for InfiniBand, RoCE or EFA.");
  FIELD(name, "Name, such as mlx5_0; absent: no driver offers it to programs.");
  FIELD(pci, "PCI address.");
  FIELD(driver, "The kernel driver bound; absent: none.");
  FIELD(firmware, "Version of its firmware.");
  FIELD(board_id, "Which board it is, in its maker's numbers.");
  FIELD(hca_type, "Which chip it has, such as MT4129.");
  FIELD(numa_node, "NUMA node; absent where the firmware reports none.");
  FIELD(virtual_function, "Whether it is a share of another adapter.");
  FIELD(ports, "Its ports.");
  FIELD(near_gpus, "PCI addresses of the GPUs that are nearest to it.");
  FIELD(near_by,
        "What it shares with them: same_switch, multiple_switches, host_bridge, numa_node.");
}

FIELDS_OF(Unseen) {
  visit.about("unseen", "Something that would have been read, and could not be.");
  FIELD(what, "What could not be seen.", kAlways);
  FIELD(why, "Why.", kAlways);
}

FIELDS_OF(Machine) {
  visit.about("machine", "What is in a machine.");
  FIELD(source, "Where the facts come from: live, recorded or scripted.");
  FIELD(full, "True when the CUDA driver, Vulkan and the like were asked as well.");
  visit("faked", &T::fakes, "Backends that a fake claims; absent: nothing is faked.");
  FIELD(named_libraries,
        "Drivers' libraries, and the helper program, that environment variables named in place of "
        "the system's, by variable; absent: none was.");
  FIELD(system, "The host: kernel, CPU, memory, virtualization.", kAlways);
  FIELD(container, "The container and cgroup that the tool runs in.");
  FIELD(visibility,
        "Variables that hide or select GPUs, as set. Absent: unset; empty text: set, but empty.");
  FIELD(pci, "Display controllers, NVIDIA functions and accelerators on the PCI bus.");
  FIELD(gpus, "The GPUs by PCI address; empty: none was found.", kAlways);
  FIELD(paths, "How each pair of GPUs is joined.");
  FIELD(network, "Adapters for InfiniBand, RoCE and EFA.");
  FIELD(nvidia, "NVIDIA's kernel modules and libraries.", kAlways);
  FIELD(amd, "AMD's kernel driver and ROCm.", kAlways);
  FIELD(intel, "Intel's kernel drivers.", kAlways);
  FIELD(apple, "Apple's chip and Metal.");
  FIELD(vulkan, "Vulkan's loader and devices.");
  FIELD(toolkits, "CUDA and ROCm toolkits found.");
  FIELD(libraries, "cuDNN, NCCL, cuBLAS, rocBLAS and the like, as found.");
  FIELD(nodes, "Device files.");
  FIELD(kernel_log, "What the kernel log says about GPUs.", kAlways);
  FIELD(unseen, "What would have been read and could not be.", kAlways);
  FIELD(timings_ms, "How long each source took; live only.");
}

}  // namespace gpuready
