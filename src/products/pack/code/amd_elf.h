// AMD's code objects: ELF files of machine 224, whose flags name the processor.
// Source: LLVM, "User Guide for AMDGPU Backend", e_flags of code object versions 3 to 6.
#pragma once

#include <optional>

#include "base/elf.h"
#include "pack/code/code.h"

namespace gpuready::pack {

std::optional<DeviceCode> read_amd_code_object(Bytes bytes);  // the header suffices

}  // namespace gpuready::pack
