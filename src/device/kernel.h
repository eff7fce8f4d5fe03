// A kernel as every executor knows it: one static description, its code for each kind of device,
// and one plain parameter struct of at most 128 bytes in which addresses are 64-bit.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

inline constexpr std::size_t kMaxKernelParameterBytes = 128;

// PTX text, embedded in the binary: as it is, or packed by zstd as all images are.
struct KernelImage {
  const unsigned char* begin;
  const unsigned char* end;
  int compute_capability;   // the least that it loads on: 50 for sm_50
  bool architecture_exact;  // an "a" target such as sm_90a: loads on that capability alone

  // An image that the compiler of the build could not make is empty.
  bool loads_on(int capability) const {
    return begin != end && (architecture_exact ? compute_capability == capability
                                               : compute_capability <= capability);
  }
};

// The image that a driver is given for a GPU: the newest architecture of those that the GPU has (an
// exact one only for its own) among the PTX that the driver compiles. `driver_version` is as
// cuDriverGetVersion gives it, 12020 for CUDA 12.2; where it is not known, every PTX is tried.
const KernelImage* best_image(std::span<const KernelImage> images, int capability,
                              std::optional<int> driver_version);
// Where there is none: "has no code for compute capability 3.5", "needs PTX 8.4 (...)".
std::string why_no_image(std::span<const KernelImage> images, int capability,
                         std::optional<int> driver_version);

// A SPIR-V module, packed too, with the entry point "main" and a fixed work group size in x alone,
// for Vulkan 1.2 with buffer device addresses; the parameters are its push constants.
struct SpirvImage {
  const unsigned char* begin = nullptr;
  const unsigned char* end = nullptr;
};

// An image as its compiler wrote it.
Result<std::string> unpack_image(const unsigned char* begin, const unsigned char* end);

// The share of a launch that one CPU thread does: `index` of `count`.
struct CpuSlice {
  unsigned index = 0, count = 1;
};
using CpuKernel = void (*)(const void* params, CpuSlice slice);

struct Kernel {
  std::string_view name;              // also the entry point's name in the images
  std::span<const KernelImage> cuda;  // the best that the device can load is taken
  CpuKernel cpu = nullptr;
  SpirvImage vulkan = {};
};

}  // namespace gpuready

// Declares what gpuready_embed() put into the binary.
#define GPUREADY_EMBEDDED(symbol)                  \
  extern "C" const unsigned char symbol##_begin[]; \
  extern "C" const unsigned char symbol##_end[];
// The module of that name, as a Kernel wants it.
#define GPUREADY_SPIRV(symbol) \
  ::gpuready::SpirvImage { symbol##_begin, symbol##_end }
