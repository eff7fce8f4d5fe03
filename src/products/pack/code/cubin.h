// Machine code of NVIDIA's GPUs: an ELF file of machine 190. How the architecture is written down
// differs by toolkit; both ways were checked against cubins of ptxas 12.9 and 13.0 for every
// architecture and suffix.
#pragma once

#include <optional>
#include <string_view>

#include "base/elf.h"
#include "pack/code/code.h"

namespace gpuready::pack {

// Begins the name of each section with a kernel.
inline constexpr std::string_view kKernelSection = ".text.";

// `bytes` is the file, or as much of it as is there: the header suffices for the architecture, the
// sections alone tell some suffixes and whether there is a kernel. Nothing where it is not a cubin.
std::optional<DeviceCode> read_cubin(Bytes bytes);

}  // namespace gpuready::pack
