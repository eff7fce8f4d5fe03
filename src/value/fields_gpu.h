// GPUs and what belongs to them: fields of machine.h.
#pragma once

#include "gpuready/machine.h"
#include "value/field.h"

namespace gpuready {

FIELDS_OF(PcieLink) {
  visit.about("pcie_link",
              "A PCI Express link: 2.5, 5, 8, 16, 32 or 64 GT/s a lane for generations 1 to 6.");
  FIELD(generation, "1 to 6.");
  FIELD(width, "Lanes.");
}

FIELDS_OF(PcieErrors) {
  visit.about("pcie_errors", "Advanced Error Reporting totals and NVIDIA's replay counter.");
  FIELD(correctable, "Correctable errors.");
  FIELD(nonfatal, "Uncorrectable errors that were not fatal.");
  FIELD(fatal, "Fatal errors.");
  FIELD(replays, "Packets sent again, as NVIDIA counts them.");
  FIELD(unsupported_requests, "Of nonfatal: unsupported requests, mostly the firmware's own.");
}

FIELDS_OF(PciPort) {
  visit.about("pci_port", "A bridge on a GPU's way to the processor.");
  FIELD(address, "PCI address.", kAlways);
  FIELD(link_now, "Its link now.");
  FIELD(link_max, "Its link at most.");
  FIELD(errors, "Totals of Advanced Error Reporting.");
}

FIELDS_OF(PciDevice) {
  visit.about("pci_device", "One function on the PCI bus: a GPU or what belongs to one.");
  FIELD(address, "PCI address.", kAlways);
  FIELD(vendor_id, "Vendor id.", {.hex_digits = 4});
  FIELD(device_id, "Device id.", {.hex_digits = 4});
  FIELD(subsystem_vendor_id, "Subsystem vendor id.", {.hex_digits = 4});
  FIELD(subsystem_device_id, "Subsystem device id.", {.hex_digits = 4});
  FIELD(class_code, "Class code, 24 bits, such as 0x030200.", {.hex_digits = 6});
  FIELD(driver, "The kernel driver bound; absent: none.");
  FIELD(name, "Name, from pci.ids.");
  FIELD(runtime_status, "active, suspended and others.");
  FIELD(numa_node, "NUMA node; absent where the firmware reports none.");
  FIELD(local_cpus, "CPUs near the device, as 0-15,32-47.");
  FIELD(iommu_group, "IOMMU group.");
  FIELD(boot_vga, "Whether the firmware showed its console on it.");
  FIELD(display_connected, "Whether a display is connected to it; absent: no output was seen.");
  FIELD(link_now, "The function's own link now.");
  FIELD(link_max, "The function's own link at most.");
  FIELD(port_link_now, "The upstream port's link now.");
  FIELD(port_link_max, "The upstream port's link at most.");
  FIELD(reads_ones, "True where its configuration reads as ones, as if it were not there.");
  FIELD(errors, "Totals of Advanced Error Reporting.");
  FIELD(path, "Addresses from the root port down to this device.");
  FIELD(ports, "Of a GPU: the ports on its path, from the root port down.");
  FIELD(host_bridge, "The host bridge, such as pci0000:16.");
  FIELD(bar_sizes_bytes, "Sizes of the memory BARs 0 to 5; 0: not used.");
  FIELD(is_gpu, "True for display and 3D controllers of GPU vendors; false for a BMC's VGA.");
}

FIELDS_OF(GpuMemory) {
  visit.about("gpu_memory", "A GPU's memory.");
  FIELD(total_bytes, "All of it.");
  FIELD(free_bytes, "Free.");
  FIELD(used_bytes, "Used.");
  FIELD(reserved_bytes, "Kept by the driver or firmware.");
  FIELD(bar1_total_bytes, "Size of BAR1, the window through which the host reaches it.");
  FIELD(bus_width_bits, "Width of the memory bus.");
}

FIELDS_OF(GpuClocks) {
  visit.about("gpu_clocks", "A GPU's clocks.");
  FIELD(sm_mhz, "Of the SMs, now.");
  FIELD(memory_mhz, "Of the memory, now.");
  FIELD(max_sm_mhz, "Of the SMs, at most.");
  FIELD(max_memory_mhz, "Of the memory, at most.");
}

FIELDS_OF(GpuPower) {
  visit.about("gpu_power", "A GPU's power.");
  FIELD(draw_mw, "Power drawn now.");
  FIELD(limit_mw, "Limit in force.");
  FIELD(default_limit_mw, "Default limit.");
  FIELD(max_limit_mw, "The greatest limit that can be set.");
}

FIELDS_OF(GpuThermal) {
  visit.about("gpu_thermal", "A GPU's temperatures and their limits.");
  FIELD(gpu_celsius, "Of the GPU.");
  FIELD(memory_celsius, "Of the memory.");
  FIELD(slowdown_celsius, "At which it slows down.");
  FIELD(shutdown_celsius, "At which it shuts down.");
}

FIELDS_OF(EccCounts) {
  visit.about("ecc_counts", "Memory errors that ECC counted.");
  FIELD(corrected, "Errors corrected.");
  FIELD(uncorrected, "Errors not corrected.");
}

FIELDS_OF(GpuEcc) {
  visit.about("gpu_ecc", "Error correction of a GPU's memory.");
  FIELD(enabled_now, "Whether ECC is on.");
  FIELD(enabled_pending, "Whether ECC will be on after a reboot.");
  FIELD(since_boot, "Counts since the driver was loaded.");
  FIELD(lifetime, "Counts in the life of the GPU.");
  FIELD(sram_threshold_exceeded, "Whether the count of SRAM errors is past its limit.");
}

FIELDS_OF(RowRemapping) {
  visit.about("row_remapping", "Memory rows that spare ones replace.");
  FIELD(corrected, "Rows replaced for corrected errors.");
  FIELD(uncorrected, "Rows replaced for uncorrected errors.");
  FIELD(pending, "Whether a row waits for a reset to be replaced.");
  FIELD(failed, "Whether a row could not be replaced.");
  FIELD(banks_max, "Memory banks with all spare rows left.");
  FIELD(banks_high, "Banks with most spare rows left.");
  FIELD(banks_partial, "Banks with some spare rows left.");
  FIELD(banks_low, "Banks with few spare rows left.");
  FIELD(banks_none, "Banks without a spare row left.");
}

FIELDS_OF(RetiredPages) {
  visit.about("retired_pages", "Memory pages taken out of use.");
  FIELD(single_bit, "Pages retired for repeated single-bit errors.");
  FIELD(double_bit, "Pages retired for a double-bit error.");
  FIELD(pending, "Whether a page waits for a reboot to be retired.");
}

FIELDS_OF(GpuProcess) {
  visit.about("gpu_process", "A process that uses a GPU.");
  FIELD(pid, "Process id.");
  FIELD(name, "Its program.");
  FIELD(used_bytes, "Device memory that it uses.");
  FIELD(kind, "compute or graphics.");
}

FIELDS_OF(MigInstance) {
  visit.about("mig_instance", "A share of a GPU, made by MIG.");
  FIELD(uuid, "UUID, \"MIG-...\".");
  FIELD(name, "Profile, such as 1g.18gb.");
  FIELD(gpu_instance_id, "Number of the GPU instance.");
  FIELD(compute_instance_id, "Number of the compute instance.");
  FIELD(memory_total_bytes, "All of its memory.");
  FIELD(memory_free_bytes, "Free memory.");
  FIELD(multiprocessors, "SMs.");
}

FIELDS_OF(NvLink) {
  visit.about("nv_link", "One NVLink of a GPU.");
  FIELD(link, "Number of the link.");
  FIELD(up, "Whether it is up.");
  FIELD(version, "Version of NVLink.");
  FIELD(remote, "Address of the other end.");
  FIELD(remote_kind, "gpu, switch or unknown.");
  FIELD(replay_errors, "Packets sent again.");
  FIELD(recovery_errors, "Recoveries of the link.");
  FIELD(crc_errors, "Checksum errors.");
}

FIELDS_OF(GpuFabric) {
  visit.about("gpu_fabric", "NVSwitch fabric registration (nvmlDeviceGetGpuFabricInfoV).");
  FIELD(state, "not_supported, not_started, in_progress or completed.");
  FIELD(status, "An nvmlReturn_t, valid once completed.");
  FIELD(cluster_uuid, "UUID of the cluster.");
  FIELD(clique_id, "Number of the clique.");
  FIELD(health_mask, "NVML's health mask of the fabric.");
}

FIELDS_OF(CudaLimits) {
  visit.about("cuda_limits", "What the CUDA driver says about a device.");
  FIELD(ordinal, "CUDA's number of the device in this environment.");
  FIELD(multiprocessors, "SMs.");
  FIELD(max_threads_per_block, "Most threads of a block.");
  FIELD(max_threads_per_multiprocessor, "Most threads on an SM at once.");
  FIELD(max_blocks_per_multiprocessor, "Most blocks on an SM at once.");
  FIELD(warp_size, "Threads of a warp.");
  FIELD(registers_per_multiprocessor, "32-bit registers of an SM.");
  FIELD(max_grid_x, "Most blocks of a grid in x.");
  FIELD(max_block_x, "Most threads of a block in x.");
  FIELD(shared_memory_per_block_bytes, "Most shared memory of a block, without opting in.");
  FIELD(shared_memory_per_block_optin_bytes, "Most shared memory of a block that opts in.");
  FIELD(shared_memory_per_multiprocessor_bytes, "Shared memory of an SM.");
  FIELD(l2_cache_bytes, "L2 cache.");
  FIELD(total_memory_bytes, "Device memory.");
  FIELD(clock_khz, "Greatest clock of the SMs.");
  FIELD(memory_clock_khz, "Greatest clock of the memory.");
  FIELD(memory_bus_width_bits, "Width of the memory bus.");
  FIELD(copy_engines, "Engines that copy while kernels run.");
  FIELD(integrated, "Whether it shares the host's memory.");
  FIELD(cooperative_launch, "Whether cooperative launches work.");
  FIELD(managed_memory, "Whether managed memory works.");
  FIELD(unified_addressing, "Whether host and device share one address space.");
  FIELD(ecc_enabled, "Whether ECC is on.");
  FIELD(tcc_driver, "Whether it runs the TCC driver (Windows).");
  FIELD(memory_pools, "Whether cuMemAllocAsync works.");
  FIELD(compression, "Whether compressible memory works.");
  FIELD(multicast, "Whether NVLink multicast works.");
  FIELD(compute_mode, "0 default, 2 prohibited, 3 exclusive process.");
}

FIELDS_OF(ApiStatus) {
  visit.about("api_status", "What a driver's API answered.");
  FIELD(call, "The call, such as nvmlInit_v2().", kAlways);
  FIELD(code, "What it returned; 0 is success.");
  FIELD(name, "The vendor's name for the code.");
}

FIELDS_OF(Gpu) {
  visit.about("gpu", "One GPU, joined from all sources by PCI address and UUID.");
  FIELD(index, "Order in this report, by PCI address.");
  FIELD(vendor, "Who made it.");
  FIELD(pci, "PCI address; absent where none is reported (Apple, Jetson, WSL2).");
  FIELD(name, "The best name known.");
  FIELD(name_source,
        "Where the name comes from: nvml, procfs, cuda, pci.ids, kfd, vulkan and others.");
  FIELD(uuid, "GPU-... of NVIDIA, unique_id of AMD, or Vulkan's device UUID.");
  FIELD(serial, "Serial number of the board.");
  FIELD(part_number, "Part number of the board.");
  FIELD(vbios_version, "Version of the VBIOS.");
  FIELD(firmware_version, "Version of the firmware (GSP).");
  FIELD(nvml_index, "NVML's number of it.");
  FIELD(minor_number, "N of /dev/nvidiaN.");
  FIELD(cuda_ordinal, "CUDA's number of it in this environment.");
  FIELD(compute_capability, "CUDA compute capability, such as 9.0.");
  FIELD(gfx_target, "AMD's target, such as gfx942.");
  FIELD(architecture, "Hopper, CDNA 3, Xe-HPC and others.");
  FIELD(multiprocessors, "SMs, compute units or Xe cores.");
  FIELD(cores, "CUDA cores, as NVML counts them.");
  FIELD(integrated, "True when it shares the host's memory.");
  FIELD(suspended, "True when it is suspended to save power: nothing else was asked.");
  FIELD(faked, "True when a fake claims it: it does not exist and cannot execute.");
  FIELD(excluded, "True when NVIDIA's driver is configured to leave it out.");
  FIELD(memory, "Device memory.");
  FIELD(clocks, "Clocks.");
  FIELD(power, "Power.");
  FIELD(thermal, "Temperatures.");
  FIELD(utilization_percent, "Share of time in which a kernel ran.");
  FIELD(ecc, "Error correction of the memory.");
  FIELD(remapping, "Memory rows replaced by spare ones.");
  FIELD(retired, "Memory pages taken out of use.");
  FIELD(link_now, "PCIe link now.");
  FIELD(link_max, "PCIe link at most.");
  FIELD(pcie_errors, "PCIe errors.");
  FIELD(persistence, "Whether persistence mode is on.");
  FIELD(mig_enabled, "Whether MIG is on.");
  FIELD(mig_pending, "Whether MIG will be on after a reset.");
  FIELD(mig, "MIG instances.");
  FIELD(compute_mode, "default, exclusive_process or prohibited.");
  FIELD(virtualization, "none, passthrough, vgpu, host_vgpu and others.");
  FIELD(vgpu_license, "licensed, unlicensed, grace and others.");
  FIELD(confidential_compute, "Whether confidential computing is on.");
  FIELD(confidential_compute_ready, "Whether it accepts work under confidential computing.");
  FIELD(clock_event_reasons, "What holds the clocks down: NVML's bit mask nvmlClocksEventReasons.");
  FIELD(recovery_action, "none, gpu_reset, node_reboot, drain_p2p or drain_and_reset.");
  FIELD(fabric, "Registration with the NVSwitch fabric.");
  FIELD(nvlinks, "NVLinks.");
  FIELD(xgmi_peers, "AMD GPUs one xGMI hop away.");
  FIELD(processes, "Processes that use the GPU.");
  FIELD(numa_node, "NUMA node near the GPU.");
  FIELD(cpu_affinity, "CPUs near the GPU, as 0-15.");
  FIELD(inforom_valid, "Whether the InfoROM's checksum holds.");
  FIELD(cuda, "What the CUDA driver says.");
  FIELD(visible_to_cuda, "Whether CUDA sees it, after CUDA_VISIBLE_DEVICES.");
  FIELD(errors, "Calls about this GPU that failed with a code that names a cause.");
  FIELD(sources, "Which sources contributed.");
  FIELD(driver, "The kernel driver bound.");
  FIELD(ras_errors, "AMD's error counts by block and kind, such as umc_ue.");
}

FIELDS_OF(GpuPath) {
  visit.about("gpu_path", "How two GPUs are joined; gpu_a is the smaller index.");
  FIELD(gpu_a, "Index of one GPU.");
  FIELD(gpu_b, "Index of the other GPU.");
  FIELD(kind, "The best way between them.");
  FIELD(links, "NVLinks or xGMI links in the bundle.");
  FIELD(p2p_status,
        "Whether peer access works, as NVML reports: ok, chipset_not_supported and others.");
}

}  // namespace gpuready
