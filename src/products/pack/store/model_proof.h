// The proof that a model loads: a program of the variant loads it, in a child with limits.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pack/release/manifest.h"

namespace gpuready::pack {

struct ModelPlan {
  Model model;
  std::string folder;                        // where the variant's files lie; it runs there
  std::vector<std::string> library_folders;  // before the system's
  std::string device;                        // UUID of the GPU; empty: none
  std::uint64_t memory_bytes = 0;            // of the host, that it may take; 0: no limit
};

// Why it was not loaded: how its program ended, and the end of what it wrote. Nothing: it was.
std::optional<std::string> run_model_test(const ModelPlan& plan,
                                          const std::atomic<bool>* cancel = nullptr);

// The child: `gpuready __model FOLDER LIBRARY_FOLDERS MEMORY_BYTES PROGRAM ARGUMENT...`.
inline constexpr const char* kModelChild = "__model";
int run_model_child(std::span<const std::string> args);

}  // namespace gpuready::pack
