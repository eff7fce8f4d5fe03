// The sources, in the order in which inspect() asks them. Each reads through the Host (or parses a
// ProbeDocument) and adds what it knows to the Machine; none looks at another's raw input. Joining
// is by PCI address, else UUID, through gpu_at() and gpu_with_uuid().
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready {

// Finds or adds the GPU. Added ones are sorted and numbered by finish_gpus().
Gpu& gpu_at(Machine& machine, const PciAddress& address, Vendor vendor);
Gpu* gpu_with_uuid(Machine& machine, std::string_view uuid);
// The GPU of a Jetson's own chip, which is on no bus: what NVML and CUDA report about a GPU without
// an address, or with one that no bus has, is about it.
Gpu* gpu_of_tegra(Machine& machine, const std::optional<PciAddress>& address);
void add_source(Gpu& gpu, std::string_view source);
// Notes what could not be seen, once per (what, why). not_found is an answer, not blindness.
void note_unseen(Machine& machine, std::string_view what, const Error& error);
void finish_gpus(Machine& machine);  // sort by address, set index, names from pci.ids where none

// Tier 0: files.
void read_system(Host& host, Machine& machine);  // system.cc: uname, os-release, DMI, CPU, memory,
                                                 // secure boot, hypervisor, WSL2, Jetson, NUMA
void read_slow_system(Host& host,
                      Machine& machine);  // system.cc: CPU model, Secure Boot: milliseconds on
                                          // large machines, not in the file-only tier
void read_container(Host& host, Machine& machine);   // container.cc: runtime, cgroup limits
void read_visibility(Host& host, Machine& machine);  // visibility.cc: environment variables
// pci.cc. What there is, and what is asleep; then links, errors and BARs of what was found.
void find_pci(Host& host, Machine& machine);
void read_pci(Host& host, Machine& machine);
// module_files.cc: the file and line that keep a module from loading; AMD's and Intel's modules.
std::optional<std::string> module_block(Host& host,
                                        std::initializer_list<std::string_view> modules);
void read_module_files(Host& host, Machine& machine);
// What the driver's kernel modules come from, on a host with a GPU of NVIDIA's.
void read_nvidia_packaging(Host& host, Machine& machine);
void read_nvidia_files(
    Host& host, Machine& machine);  // nvidia_files.cc: /proc/driver/nvidia, /sys/module, libraries
void read_jetson_files(
    Host& host, Machine& machine);  // jetson.cc: Tegra's integrated GPU, which is on no PCI bus
void read_amd_files(Host& host, Machine& machine);     // amd_files.cc: KFD, DRM, amdgpu, RAS
void read_intel_files(Host& host, Machine& machine);   // intel_files.cc: i915, xe
void read_apple(Host& host, Machine& machine);         // apple.cc: Metal
void read_vulkan_files(Host& host, Machine& machine);  // vulkan.cc: driver manifests
bool runs_darwin(Host& host);                          // apple.cc
void read_device_nodes(Host& host, Machine& machine);  // device_nodes.cc: /dev/nvidia*, /dev/kfd,
                                                       // /dev/dri, /dev/dxg: existence, access
void read_network(Host& host, Machine& machine);       // network.cc: InfiniBand, RoCE, EFA
void read_toolkits(Host& host,
                   Machine& machine);  // toolkits.cc: nvcc, CUDA, ROCm, cuDNN, NCCL, ...
void read_kernel_log(Host& host, Machine& machine);  // kernel_log.cc: relevant lines, Xids
// Tiers 1 and 2: documents of probes.
void apply_nvml(const ProbeDocument& document, Machine& machine);    // nvml.cc
void apply_cuda(const ProbeDocument& document, Machine& machine);    // cuda.cc
void apply_vulkan(const ProbeDocument& document, Machine& machine);  // vulkan.cc
void apply_rocm(const ProbeDocument& document, Machine& machine);    // rocm.cc
void apply_metal(const ProbeDocument& document, Machine& machine);   // apple.cc
// Derived.
void derive_topology(Machine& machine);  // topology.cc: paths from NVLinks, xGMI, PCI, NUMA
void apply_fakes(Machine& machine, const std::vector<std::string>& fakes);  // fake.cc

// Names of vendors' codes, for ApiStatus::name.
std::string nvml_error_name(int code);  // nvml_errors.cc
std::string nvml_error_text(int code);

}  // namespace gpuready
