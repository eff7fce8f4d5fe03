// What kernel modules say of themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vm/drivers/bundle.h"

namespace gpuready::vm {

// Of an uncompressed .ko file. Sources: kernel/module/main.c (.modinfo), module_signature.h.
Result<ModuleInfo> read_module(std::span<const std::uint8_t> bytes, std::string_view name);

// "nvidia-uvm" -> "nvidia_uvm", as the kernel names modules.
std::string module_name(std::string_view file_stem);

// Indices of `modules` so that each comes after those that it depends on. Dependencies that are
// not among them are taken for loaded or built in. Error: a circle.
Result<std::vector<std::size_t>> load_order(const std::vector<ModuleInfo>& modules);

}  // namespace gpuready::vm
