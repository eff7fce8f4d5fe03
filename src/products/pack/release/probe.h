// What the load test of an installation runs, beside opening and loading: a kernel of the variant
// with small fixed arguments, and a program of it that loads a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready::pack {

// One argument of a kernel: exactly one of these is there.
struct ProbeArgument {
  std::optional<std::vector<std::uint32_t>> words;   // address of memory that holds these words
  std::optional<std::vector<std::uint32_t>> expect;  // of memory that must hold these afterwards
  std::optional<std::uint32_t> u32;
  std::optional<std::uint64_t> u64;
  bool operator==(const ProbeArgument&) const = default;
};

// A kernel that is launched once on each GPU.
struct Probe {
  std::string file;                       // of the variant, that holds it
  std::string kernel;                     // its name in the module
  std::uint32_t blocks = 1, threads = 1;  // threads of a block
  std::vector<ProbeArgument> arguments;   // none: it takes none
  bool operator==(const Probe&) const = default;
};

// What may not be asked of a GPU; nothing: all is well.
std::optional<std::string> wrong_with_probe(const Probe& probe);

}  // namespace gpuready::pack
