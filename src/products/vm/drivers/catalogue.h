// NVIDIA's driver branches, and what runs on them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/named.h"
#include "base/result.h"
#include "machine/nvidia/architectures.h"

namespace gpuready::vm {

// Sources: NVIDIA CUDA Toolkit release notes, "CUDA Driver" table (native CUDA); NVIDIA data-centre
// driver documentation, "Supported drivers and CUDA toolkit versions" (kind and end of life).
struct DriverBranch {
  int branch;                    // 580
  std::string_view native_cuda;  // "13.0": what its libcuda implements; empty: not known yet
  std::string_view kind;         // "long-term support", "production", "new feature"
  std::string_view end_of_life;  // "2028-06"; empty: not announced, or past
};
std::span<const DriverBranch> driver_branches();  // oldest first
const DriverBranch* find_branch(int branch);
// The CUDA that a driver implements; empty: it is not in the catalogue.
std::string_view native_cuda(std::string_view driver_version);

// Source: NVIDIA, README of each branch, "Supported NVIDIA GPU Products", and the announcement of
// the branches that end the support of Kepler, and of Maxwell, Pascal and Volta.
//
// What it says of a driver that NVIDIA's lists (nvidia_gpus.h) do not name a GPU for it: they are
// of the open modules, which the proprietary ones may have gone before.
enum class Unlisted { served, not_known, not_served };
struct ArchitectureSupport {
  std::string_view architecture;  // "Hopper"
  int first_branch, last_branch;  // last: 0 while it is supported
  Unlisted unlisted = Unlisted::served;
};
std::span<const ArchitectureSupport> architecture_support();

// Whether a driver serves a GPU. Its architecture is that of its chip, which the PCI ID
// Repository names ("GH100 [H100 SXM5 80GB]").
struct GpuSupport {
  std::string gpu;  // "10de:2330 (H100 SXM5 80GB)", "capability 9.0 (Hopper)"
  std::optional<std::string> architecture;  // nothing: not in the list of PCI ids
  std::optional<bool> served;               // nothing: not known
  // False: CUDA's forward compatibility packages do not serve it (error 804). Nothing: not known.
  std::optional<bool> forward_compatible;
  std::string explanation;
};
// `listed`: the device ids of the driver's own list, which says it alone where it is there; empty:
// by the branch.
GpuSupport gpu_support(std::string_view driver_version, std::uint16_t vendor, std::uint16_t device,
                       std::span<const std::uint16_t> listed = {});

// The same of all GPUs of a capability, by the branch.
GpuSupport capability_support(std::string_view driver_version, const NvidiaArchitecture& of);

// The open modules drive GPUs of these branches on (of data centres; of all from 550 on).
inline constexpr int kFirstOpenBranch = 515;

enum class CudaFit {
  native,         // the driver implements this CUDA release or a newer one
  minor_version,  // an older one of the same major: programs run, code made from newer PTX does not
  too_old,        // programs stop: the driver is too old for their CUDA runtime
  unknown,        // the catalogue does not know the driver or the release
};

struct CudaCompatibility {
  std::string image_cuda, driver_version;
  CudaFit fit = CudaFit::unknown;
  std::string native_cuda;   // the driver's; empty: not in the catalogue
  std::string least_driver;  // that runs the image; empty: not known
  std::string explanation;
};

// Whether programs built with a CUDA release ("12.9") run on a driver ("550.163.01"). Error: one of
// them is not a version.
Result<CudaCompatibility> compare_cuda(std::string_view image_cuda,
                                       std::string_view driver_version);

}  // namespace gpuready::vm

namespace gpuready {
NAMES_OF(vm::CudaFit, "native", "minor_version", "too_old", "unknown");
}  // namespace gpuready
