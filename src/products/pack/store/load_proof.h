// The proof that a package loads: a child process for each GPU opens every library, loads every
// piece of device code that the rules say this GPU runs, and launches the probe kernels. What
// crashes or hangs costs a child.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "pack/store/store.h"

namespace gpuready::pack {

// Device code within a file.
struct CodePiece {
  std::string path;
  std::uint64_t offset_bytes = 0;
  bool text = false;  // PTX
};
// A kernel to launch, and the code of its file that this GPU loads: one of these has it.
struct PlannedProbe {
  Probe probe;
  std::vector<CodePiece> code;
};
struct LoadPlan {
  std::string device = "cpu";  // or the UUID of a GPU
  std::string name;
  std::vector<std::string> libraries;  // full paths
  std::vector<CodePiece> code;
  std::string variant = {}, folder = {};  // whose files these are, and where they lie
  std::vector<PlannedProbe> probes = {};
};

// The shared libraries among the files, by what they begin with.
std::vector<std::string> libraries_of(const std::string& folder, const Variant& variant);

LoadResult run_load_test(const LoadPlan& plan,
                         std::chrono::milliseconds limit = std::chrono::minutes(5));

// The child, `gpuready __load`, gives up its rights and becomes the program that loads, so that no
// code of the package is in a process that has been root's.
inline constexpr const char* kLoadChild = "__load";
inline constexpr const char* kLoadHere = "__load-here";
int run_load_child(std::span<const std::string> args);
int run_load_here(std::span<const std::string> args);

}  // namespace gpuready::pack
