// May work be given to a GPU, as far as the machine's own facts say? One answer for what counts as
// "found", for --require-gpu and for what is tested. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpuready/machine.h"

namespace gpuready {

enum class GpuUse {
  usable,        // nothing that was read speaks against it
  unusable,      // it is here, and no program can use it
  hidden,        // CUDA_VISIBLE_DEVICES gives this environment other GPUs
  not_ours,      // on the bus, and not given to this container or job, or set aside on purpose
  display_only,  // its driver serves displays, and nothing here asks it to compute
  faked,         // it exists nowhere
};
std::string_view to_string(GpuUse use);  // "usable", "not_ours", ...

struct GpuAccess {
  GpuUse use = GpuUse::usable;
  std::string source;  // what tells it: "nvmlInit_v2()", "/dev/nvidia3"
  std::string reason;  // a clause: "no kernel driver is bound to it"; empty for a usable GPU
};
GpuAccess access_to(const Machine& machine, const Gpu& gpu);

// This process belongs to a job of Slurm. The daemon and its hooks, in
// /system.slice/slurmd.service, do not: they have all GPUs of the node.
bool in_slurm_job(const Machine& machine);

// In a container's root, where no loader of this system looks.
bool lies_in_driver_container(const LibraryFile& library);
// NVML answers here.
bool nvml_started(const Machine& machine);
// Where NVIDIA's GPU operator keeps the driver in a container: its NVML, which the host's loader
// does not find.
const LibraryFile* in_driver_container(const Machine& machine);

// The driver runs it, and what programs ask does not list it, though no variable hides it: the CUDA
// driver of a GPU that NVML lists, ROCm of one that the kernel's KFD lists.
bool left_out_by_cuda(const Machine& machine, const Gpu& gpu);
bool left_out_by_rocm(const Machine& machine, const Gpu& gpu);
inline constexpr std::string_view kCudaCount = "cuDeviceGetCount()";
inline constexpr std::string_view kRocmCount = "hipGetDeviceCount()";

// What is seen of its PCI Express link may be what a virtual machine shows: its ports claim other
// widths and speeds than the GPU's real one has.
bool link_is_virtual(const Machine& machine, const Gpu& gpu);

// "the PCI bus cannot be read (/sys is not mounted, or is empty)": none found does not mean then
// that none is here. Nothing where it was read.
std::optional<std::string> why_bus_unread(const Machine& machine);

// A GPU that this environment was given, usable or not. The others are neither counted nor tested,
// and that they are there is no error.
bool is_given(GpuUse use);
// One of the sources that list the GPU: "kfd", "rocm", ...
bool has_source(const Gpu& gpu, std::string_view source);
// NVIDIA's vGPU manager drives it for virtual machines, and has no CUDA.
bool is_shared_out(const Gpu& gpu);

}  // namespace gpuready
