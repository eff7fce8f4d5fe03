// What is in a machine, as plain values. Every source (files, NVML, the CUDA driver, ROCm, Vulkan,
// ...) fills what it knows; sources are joined by PCI address and UUID, never by index. A field
// that no source reported is empty, never 0. Units are in the names: _bytes, _mhz, _mw, _celsius.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready::inline v0 {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0, device = 0, function = 0;
  auto operator<=>(const PciAddress&) const = default;
  std::string text() const;  // "0000:17:00.0", lower case, as sysfs writes it
};
// Accepts "0000:17:00.0", "00000000:17:00.0" (NVML), "17:00.0"; any case.
std::optional<PciAddress> parse_pci_address(std::string_view text);

enum class Vendor { nvidia, amd, intel, apple, other };
std::string_view to_string(Vendor vendor);

// Transfer rate by generation, from the PCI Express base specifications: 2.5, 5, 8, 16, 32, 64
// GT/s.
struct PcieLink {
  std::optional<int> generation;  // 1 to 6
  std::optional<int> width;       // lanes
};
struct PcieErrors {  // Advanced Error Reporting totals and NVIDIA's replay counter
  std::optional<std::uint64_t> correctable, nonfatal, fatal, replays;
  // Of `nonfatal`: mostly the firmware's own, while it looks for devices.
  std::optional<std::uint64_t> unsupported_requests;
};
struct PciPort {  // a bridge on a GPU's way to the processor
  PciAddress address;
  PcieLink link_now, link_max;  // not read while the GPU is suspended
  PcieErrors errors;
};

// ---- one function on the PCI bus (GPUs, and what belongs to them: audio, USB-C, NVSwitch)
struct PciDevice {
  PciAddress address;
  std::uint16_t vendor_id = 0, device_id = 0;
  std::optional<std::uint16_t> subsystem_vendor_id, subsystem_device_id;
  std::uint32_t class_code = 0;               // 24 bits, e.g. 0x030200
  std::optional<std::string> driver;          // name of the bound kernel driver; empty: none bound
  std::optional<std::string> name;            // from pci.ids
  std::optional<std::string> runtime_status;  // "active", "suspended", ...
  std::optional<int> numa_node;               // absent when the firmware says -1
  std::optional<std::string> local_cpus;      // "0-15,32-47"
  std::optional<int> iommu_group;
  std::optional<bool> boot_vga;
  std::optional<bool> display_connected;  // to an output of it; empty: it has no output that we see
  // Of the function, or of the board's own switch above it; not read while suspended.
  PcieLink link_now, link_max;
  PcieLink port_link_now, port_link_max;  // of the port that the board is plugged into
  std::optional<bool> reads_ones;         // its configuration space, as if it were not there
  PcieErrors errors;
  std::vector<PciAddress> path;            // from the host bridge's root port down to this device
  std::vector<PciPort> ports;              // of a GPU: those on its path, from the root port down
  std::optional<std::string> host_bridge;  // "pci0000:16"
  std::vector<std::uint64_t> bar_sizes_bytes;  // memory BARs 0..5 as `resource` tells; 0 = unset
  bool is_gpu = false;  // display or 3D class of a GPU vendor, not a BMC's VGA
};

// ---- parts of a Gpu
struct GpuMemory {
  std::optional<std::uint64_t> total_bytes, free_bytes, used_bytes, reserved_bytes,
      bar1_total_bytes;
  std::optional<int> bus_width_bits;
};
struct GpuClocks {
  std::optional<int> sm_mhz, memory_mhz, max_sm_mhz, max_memory_mhz;
};
struct GpuPower {
  std::optional<std::uint32_t> draw_mw, limit_mw, default_limit_mw, max_limit_mw;
};
struct GpuThermal {
  std::optional<int> gpu_celsius, memory_celsius, slowdown_celsius, shutdown_celsius;
};
struct EccCounts {
  std::optional<std::uint64_t> corrected, uncorrected;
};
struct GpuEcc {
  std::optional<bool> enabled_now, enabled_pending;
  EccCounts since_boot, lifetime;  // NVML's volatile and aggregate
  std::optional<bool> sram_threshold_exceeded;
};
struct RowRemapping {
  std::optional<std::uint32_t> corrected, uncorrected;
  std::optional<bool> pending, failed;
  std::optional<std::uint32_t> banks_max, banks_high, banks_partial, banks_low, banks_none;
};
struct RetiredPages {
  std::optional<std::uint32_t> single_bit, double_bit;
  std::optional<bool> pending;
};
struct GpuProcess {
  std::uint32_t pid = 0;
  std::optional<std::string> name;
  std::optional<std::uint64_t> used_bytes;
  std::string kind;  // "compute" or "graphics"
};
struct MigInstance {
  std::optional<std::string> uuid, name;  // "MIG-...", "1g.18gb"
  std::optional<int> gpu_instance_id, compute_instance_id;
  std::optional<std::uint64_t> memory_total_bytes, memory_free_bytes;
  std::optional<int> multiprocessors;
};
struct NvLink {
  int link = 0;
  std::optional<bool> up;
  std::optional<int> version;
  std::optional<PciAddress> remote;        // a GPU or an NVSwitch
  std::optional<std::string> remote_kind;  // "gpu", "switch", "unknown"
  std::optional<std::uint64_t> replay_errors, recovery_errors, crc_errors;
};
struct GpuFabric {                   // NVSwitch fabric registration (nvmlDeviceGetGpuFabricInfoV)
  std::optional<std::string> state;  // "not_supported", "not_started", "in_progress", "completed"
  std::optional<int> status;         // an nvmlReturn_t, valid once completed
  std::optional<std::string> cluster_uuid;
  std::optional<int> clique_id;
  std::optional<std::uint32_t> health_mask;
};
// Limits of one CUDA device, from cuDeviceGetAttribute; no context is created for it.
struct CudaLimits {
  int ordinal = 0;  // as this process's environment orders them
  std::optional<int> multiprocessors, max_threads_per_block, max_threads_per_multiprocessor;
  std::optional<int> max_blocks_per_multiprocessor, warp_size, registers_per_multiprocessor;
  std::optional<int> max_grid_x, max_block_x;
  std::optional<std::uint64_t> shared_memory_per_block_bytes, shared_memory_per_block_optin_bytes;
  std::optional<std::uint64_t> shared_memory_per_multiprocessor_bytes, l2_cache_bytes;
  std::optional<std::uint64_t> total_memory_bytes;
  std::optional<int> clock_khz, memory_clock_khz, memory_bus_width_bits, copy_engines;
  std::optional<bool> integrated, cooperative_launch, managed_memory, unified_addressing;
  std::optional<bool> ecc_enabled, tcc_driver, memory_pools, compression, multicast;
  std::optional<int> compute_mode;
};

// What a driver's API answered. `name` is the vendor's own name for the code.
struct ApiStatus {
  std::string call;  // "nvmlInit_v2()"
  int code = 0;
  std::string name;  // "NVML_ERROR_LIB_RM_VERSION_MISMATCH"
  bool ok() const { return code == 0; }
};

struct Gpu {
  int index = 0;  // order in this report: by PCI address
  Vendor vendor = Vendor::other;
  std::optional<PciAddress> pci;    // absent for Apple, Jetson, WSL2 if none is reported
  std::string name;                 // best known
  std::string name_source;          // "nvml", "procfs", "cuda", "pci.ids", "kfd", "vulkan", ...
  std::optional<std::string> uuid;  // "GPU-...", AMD's unique_id, Vulkan's device UUID
  std::optional<std::string> serial, part_number, vbios_version, firmware_version;
  std::optional<int> nvml_index, minor_number, cuda_ordinal;
  std::optional<std::string> compute_capability;  // "9.0"
  std::optional<std::string> gfx_target;          // "gfx942"
  std::optional<std::string> architecture;        // "Hopper", "CDNA 3", "Xe-HPC"
  std::optional<int> multiprocessors;             // SMs, compute units, Xe cores
  std::optional<int> cores;                       // CUDA cores, as NVML counts them
  bool integrated = false;
  bool suspended = false;        // runtime_status: nothing else was asked
  bool faked = false;            // claimed by a fake: does not exist
  std::optional<bool> excluded;  // NVIDIA: GPU Excluded
  GpuMemory memory;
  GpuClocks clocks;
  GpuPower power;
  GpuThermal thermal;
  std::optional<int> utilization_percent;
  GpuEcc ecc;
  RowRemapping remapping;
  RetiredPages retired;
  PcieLink link_now, link_max;
  PcieErrors pcie_errors;
  std::optional<bool> persistence;
  std::optional<bool> mig_enabled, mig_pending;
  std::vector<MigInstance> mig;
  std::optional<std::string> compute_mode;    // "default", "exclusive_process", "prohibited"
  std::optional<std::string> virtualization;  // "none", "passthrough", "vgpu", "host_vgpu", ...
  std::optional<std::string> vgpu_license;    // "licensed", "unlicensed", "grace", ...
  std::optional<bool> confidential_compute, confidential_compute_ready;
  std::optional<std::uint64_t> clock_event_reasons;  // NVML bit mask; also called throttle reasons
  std::optional<std::string>
      recovery_action;  // "none", "gpu_reset", "node_reboot", "drain_p2p", "drain_and_reset"
  GpuFabric fabric;
  std::vector<NvLink> nvlinks;
  std::vector<PciAddress> xgmi_peers;  // AMD: GPUs one xGMI hop away
  std::vector<GpuProcess> processes;
  std::optional<int> numa_node;
  std::optional<std::string> cpu_affinity;  // "0-15"
  std::optional<bool> inforom_valid;
  std::optional<CudaLimits> cuda;
  std::optional<bool> visible_to_cuda;  // after CUDA_VISIBLE_DEVICES, when the driver was asked
  std::vector<ApiStatus> errors;        // calls about this GPU that failed with a telling code
  std::vector<std::string> sources;     // which sources contributed
  std::optional<std::string> driver;    // the kernel driver bound
  std::map<std::string, std::uint64_t> ras_errors;  // AMD: "umc_ce", "umc_ue", "gfx_ue", ...
};

// ---- network ports that training needs, as Linux lists them: InfiniBand, RoCE, EFA
struct NetworkPort {
  int port = 1;
  std::optional<std::string> state;               // "ACTIVE", "INIT", "DOWN", ...
  std::optional<std::string> physical_state;      // "LinkUp", "Polling", "Disabled", ...
  std::optional<std::string> link_layer;          // "InfiniBand", "Ethernet"; EFA's "Unspecified"
  std::optional<double> rate_gbps;                // of all lanes
  std::optional<int> width;                       // lanes
  std::map<std::string, std::uint64_t> counters;  // by the kernel's names: "symbol_error"
};
struct NetworkAdapter {
  std::optional<std::string> name;  // "mlx5_0"; absent: no driver offers it
  std::optional<PciAddress> pci;
  std::optional<std::string> driver, firmware, board_id, hca_type;
  std::optional<int> numa_node;
  bool virtual_function = false;  // a share for a guest or a container
  std::vector<NetworkPort> ports;
  std::vector<PciAddress> near_gpus;   // the nearest ones
  std::optional<std::string> near_by;  // what they share: "same_switch", "host_bridge", ...
};

// ---- software
struct LibraryFile {
  std::string name;                      // "libcuda.so.1"
  std::string path;                      // where the loader's search finds it
  std::optional<std::string> real_path;  // after links: ".../libcuda.so.580.159.04"
  std::optional<std::string> version;    // the suffix of real_path
};
struct Toolkit {
  std::string kind;  // "cuda", "rocm", "cdi": a specification of NVIDIA's devices for containers
  std::string version, path;
  bool on_path = false;                       // its nvcc / hipcc is the one that PATH finds
  std::optional<std::string> driver_version;  // of the libraries that a specification names
};
struct NvidiaDriver {
  bool module_loaded = false;  // /sys/module/nvidia or /proc/driver/nvidia/version
  bool uvm_loaded = false;
  std::optional<std::string> module_version;  // of the loaded kernel module
  std::optional<std::string> module_flavour;  // "open", "proprietary"
  std::map<std::string, std::string> params;  // /proc/driver/nvidia/params
  std::vector<LibraryFile> libraries;         // libcuda, libnvidia-ml, ptxjitcompiler, nvvm found
  std::optional<std::string> nvml_library, cuda_library;  // real path that the probe loaded
  std::optional<std::string> driver_version;              // as NVML tells it (user space)
  std::optional<std::string> cuda_version;                // of the driver, "13.0"
  std::optional<ApiStatus> nvml_start, cuda_start;        // nvmlInit_v2, cuInit; absent: not asked
  std::optional<std::string> nvml_outcome, cuda_outcome;  // a ProbeOutcome's name
  std::optional<std::string> nvml_stopped_in,
      cuda_stopped_in;  // the call in which the probe hung or died
  std::optional<int> nvml_device_count, cuda_device_count;
  std::optional<std::string> fabric_manager;  // "running", "not_running"; absent: not asked
  std::optional<std::string> peer_memory;     // module through which adapters reach GPU memory
  std::optional<std::string> persistence_daemon;
  // What its modules come from: "dkms", "akmods", "packages" (built for each kernel), "runfile",
  // "container" (a pod's), "none"; absent: not looked for.
  std::optional<std::string> modules_from;
  std::optional<std::string> modules_package;  // of "packages": "linux-modules-nvidia-580-open"
  // Of the running kernel; absent: the module is loaded, or it was not looked for.
  std::optional<bool> module_installed, kernel_headers;
  std::optional<std::string> module_blocked;  // "/etc/modprobe.d/FILE: blacklist nvidia"
};
struct VulkanDevice {
  std::string name;
  std::string type;  // "discrete", "integrated", "virtual", "cpu", "other"
  std::optional<std::string> uuid;
  std::optional<PciAddress> pci;
  std::optional<std::string> driver_name, driver_version, api_version;
  std::optional<std::uint64_t> memory_bytes;
  std::uint32_t vendor_id = 0, device_id = 0;
  bool software() const { return type == "cpu"; }  // llvmpipe and the like are not GPUs
};
struct VulkanState {
  std::optional<std::string> outcome;  // a ProbeOutcome's name; absent: not asked
  std::optional<ApiStatus> start;      // vkCreateInstance
  std::optional<std::string> loader_version;
  std::vector<std::string> icd_files;  // driver manifests found
  std::vector<VulkanDevice> devices;
};
struct AmdDriver {
  bool module_loaded = false, kfd_present = false;
  // As NVIDIA's; or "/var/lib/dkms/PACKAGE: not built for the running kernel".
  std::optional<std::string> module_blocked;
  std::optional<std::string> module_version, rocm_version;
  std::optional<ApiStatus> start;  // hsa_init or hipInit
  std::optional<std::string> outcome, stopped_in;
  std::vector<std::string> rocblas_targets;  // gfx targets that the installed rocBLAS has code for
};
struct IntelDriver {
  bool i915_loaded = false, xe_loaded = false;
  std::optional<std::string> module_blocked;  // as AMD's
};
struct AppleState {
  std::optional<std::string> chip;  // "Apple M3 Max"
  std::optional<bool> metal;
};

// ---- surroundings
struct DeviceNode {
  std::string path;  // "/dev/nvidia0"
  bool exists = false;
  std::optional<PciAddress> pci;  // of /dev/dri: the GPU, as sysfs tells
  std::optional<std::uint32_t> mode, uid, gid, device_major, device_minor;
  std::optional<std::uint32_t> driver_major;  // that its driver registered, from /proc/devices
  std::optional<bool> openable;               // open(2) for reading and writing worked
  std::optional<std::string> open_error;      // "EPERM", "EACCES", "EIO", ...
  std::optional<bool> nodev;                  // its mount forbids device nodes; asked after EACCES
};
struct Visibility {  // variables that hide or select GPUs, as set; absent: unset
  std::optional<std::string> cuda_visible_devices, nvidia_visible_devices, rocr_visible_devices,
      hip_visible_devices, gpu_device_ordinal, ze_affinity_mask, nvidia_driver_capabilities,
      cuda_device_order, hsa_override_gfx_version;
};
struct Container {
  std::optional<std::string> runtime;  // "docker", "podman", "kubernetes", "lxc", "containerd", ...
  std::optional<std::string> cgroup_version;  // "1" or "2"
  std::optional<std::string> cgroup_path;
  std::optional<std::uint64_t> memory_limit_bytes, memory_used_bytes;
  std::optional<double> cpu_limit;  // in CPUs
};
struct SystemState {
  std::string host_name, kernel_release, architecture;
  std::optional<std::string> os_name;       // PRETTY_NAME of os-release
  std::optional<std::string> os_ids;        // ID of os-release, then its ID_LIKE: "ubuntu debian"
  std::optional<std::string> product_name;  // DMI
  std::optional<int> chassis_type;          // DMI (SMBIOS 7.4.1): 3 desktop, 9 laptop, 23 rack
  std::optional<std::string> cpu_model;
  std::optional<int> cpu_count;  // online
  std::optional<std::uint64_t> memory_total_bytes, memory_available_bytes;
  std::uint32_t effective_uid = 0;
  std::optional<bool> secure_boot;
  std::optional<bool> selinux_enforcing;  // absent: SELinux is not there, or was not seen
  std::optional<bool> user_namespace;     // user ids here are not those of the host
  std::optional<std::string> kernel_command_line;
  std::optional<bool> iommu_active;       // groups exist
  std::optional<bool> thunderbolt;        // a Thunderbolt or USB4 device is attached
  std::optional<std::string> hypervisor;  // "kvm", "firecracker", "wsl2", ...
  bool wsl2 = false;
  std::vector<std::string> wsl_drivers;  // of Windows, as WSL 2 hands them in: "nv_dispi.inf_..."
  std::optional<std::string> jetson_release;  // first line of /etc/nv_tegra_release, or its like
  std::map<int, std::string> numa_cpus;       // node -> "0-15"
  std::optional<std::int64_t> unix_seconds;
  std::optional<std::int64_t> uptime_seconds;
};
struct LogLine {
  std::string text;               // without the time
  std::optional<double> seconds;  // since boot
  std::size_t left_out = 0;       // lines that differ only in numbers, left out before this one
};
struct XidEvent {
  int code = 0;
  std::optional<PciAddress> pci;
  std::string line;               // quoted
  std::optional<double> seconds;  // since boot; absent for NVML events
  std::string source;             // "kernel log", "nvml"
  std::size_t left_out = 0;       // events of this code and GPU, left out before this one
};
struct KernelLog {
  bool readable = false;
  std::optional<std::string> error;  // why it is not
  std::vector<LogLine> lines;        // those about GPUs, their drivers, PCIe errors, suspend
  std::vector<XidEvent> xids;
};

enum class PathKind {
  self,
  nvlink,
  nvswitch,
  xgmi,
  same_switch,
  multiple_switches,
  host_bridge,
  numa_node,
  system,
  unknown
};
std::string_view to_string(PathKind kind);
struct GpuPath {  // between two GPUs; a < b
  int gpu_a = 0, gpu_b = 0;
  PathKind kind = PathKind::unknown;
  int links = 0;                          // NVLinks or xGMI links in the bundle
  std::optional<std::string> p2p_status;  // "ok", "chipset_not_supported", ... as NVML told
};

// Something that would have been read, and could not be: told, never guessed.
struct Unseen {
  std::string what;  // "kernel log", "/proc/driver/nvidia"
  std::string why;   // "Operation not permitted", "not in the recording"
};

struct Machine {
  std::string source;              // "live", "recorded", "scripted"
  bool full = false;               // the CUDA driver, Vulkan, ... were asked as well
  std::vector<std::string> fakes;  // backends claimed by a fake; empty: nothing is
  // Libraries and programs that environment variables name in place of the system's, by variable:
  // what they answered says nothing about the system's driver.
  std::map<std::string, std::string> named_libraries;
  SystemState system;
  Container container;
  Visibility visibility;
  std::vector<PciDevice> pci;  // display controllers, NVIDIA functions, accelerators
  std::vector<Gpu> gpus;       // by PCI address
  std::vector<GpuPath> paths;
  std::vector<NetworkAdapter> network;  // not asked in the file-only tier
  NvidiaDriver nvidia;
  AmdDriver amd;
  IntelDriver intel;
  AppleState apple;
  VulkanState vulkan;
  std::vector<Toolkit> toolkits;
  std::vector<LibraryFile> libraries;  // cuDNN, NCCL, cuBLAS, rocBLAS, ... found
  std::vector<DeviceNode> nodes;
  KernelLog kernel_log;
  std::vector<Unseen> unseen;
  std::map<std::string, double> timings_ms;  // how long each source took; live only

  const Gpu* find_gpu(const PciAddress& address) const;
  const Gpu* find_gpu_by_uuid(std::string_view uuid) const;
};

}  // namespace gpuready::inline v0
