#include "machine/nvidia/architectures.h"

#include "base/text.h"

namespace gpuready {
namespace {

constexpr NvidiaArchitecture kArchitectures[] = {
    // cc      name         cores  first   last    open   needs  integrated
    {3, 0, "Kepler", 192, "4.2", "10.2", false, false, false},
    {3, 2, "Kepler", 192, "6.0", "10.2", false, false, true},
    {3, 5, "Kepler", 192, "5.0", "11.8", false, false, false},
    {3, 7, "Kepler", 192, "6.5", "11.8", false, false, false},
    {5, 0, "Maxwell", 128, "6.0", "12.9", false, false, false},
    {5, 2, "Maxwell", 128, "6.5", "12.9", false, false, false},
    {5, 3, "Maxwell", 128, "7.0", "12.9", false, false, true},
    {6, 0, "Pascal", 64, "8.0", "12.9", false, false, false},
    {6, 1, "Pascal", 128, "8.0", "12.9", false, false, false},
    {6, 2, "Pascal", 128, "8.0", "12.9", false, false, true},
    {7, 0, "Volta", 64, "9.0", "12.9", false, false, false},
    {7, 2, "Volta", 64, "9.2", "12.9", false, false, true},
    {7, 5, "Turing", 64, "10.0", "", true, false, false},
    {8, 0, "Ampere", 64, "11.0", "", true, false, false},
    {8, 6, "Ampere", 128, "11.1", "", true, false, false},
    {8, 7, "Ampere", 128, "11.4", "", true, false, true},
    {8, 8, "Ampere", 128, "13.0", "", true, false, true},
    {8, 9, "Ada Lovelace", 128, "11.8", "", true, false, false},
    {9, 0, "Hopper", 128, "11.8", "", true, false, false},
    {10, 0, "Blackwell", 128, "12.8", "", true, true, false},
    {10, 1, "Blackwell", 128, "12.8", "12.9", true, true, true},  // 11.0 from CUDA 13 on
    {10, 3, "Blackwell", 128, "12.9", "", true, true, false},
    {11, 0, "Blackwell", 128, "13.0", "", true, true, true},
    {12, 0, "Blackwell", 128, "12.8", "", true, true, false},
    {12, 1, "Blackwell", 128, "12.9", "", true, true, true},
};

// NVIDIA's chips, by how their names in the PCI ID Repository begin.
struct Chip {
  std::string_view name, capability;
};
constexpr Chip kChips[] = {
    {"GK110", "3.5"},  {"GK18", "3.5"},   {"GK208", "3.5"},  {"GK210", "3.7"}, {"GK10", "3.0"},
    {"GM10", "5.0"},   {"GM20B", "5.3"},  {"GM20", "5.2"},   {"GP100", "6.0"}, {"GP10B", "6.2"},
    {"GP10", "6.1"},   {"GV100", "7.0"},  {"GV11B", "7.2"},  {"TU1", "7.5"},   {"GA100", "8.0"},
    {"GA10B", "8.7"},  {"GA10", "8.6"},   {"AD10", "8.9"},   {"GH100", "9.0"}, {"GB100", "10.0"},
    {"GB102", "10.0"}, {"GB110", "10.3"}, {"GB20B", "12.1"}, {"GB20", "12.0"}};

struct ComputeCapability {
  int major = 0, minor = 0;
};

std::optional<ComputeCapability> parse(std::string_view text) {
  const auto version = parse_version(text);
  if (!version || version->parts.size() != 2) return std::nullopt;
  return ComputeCapability{version->parts[0], version->parts[1]};
}

}  // namespace

std::span<const NvidiaArchitecture> nvidia_architectures() { return kArchitectures; }

const NvidiaArchitecture* find_nvidia_architecture(std::string_view compute_capability) {
  const auto wanted = parse(compute_capability);
  if (!wanted) return nullptr;
  for (const auto& known : kArchitectures)
    if (known.major == wanted->major && known.minor == wanted->minor) return &known;
  return nullptr;
}

std::optional<std::string_view> nvidia_architecture_name(std::string_view compute_capability) {
  if (const auto* known = find_nvidia_architecture(compute_capability)) return known->name;
  const auto wanted = parse(compute_capability);
  if (!wanted) return std::nullopt;
  // Majors 7 and 8 hold two architectures each; an unknown minor number of those stays unnamed.
  std::optional<std::string_view> name;
  for (const auto& known : kArchitectures) {
    if (known.major != wanted->major) continue;
    if (name && *name != known.name) return std::nullopt;
    name = known.name;
  }
  return name;
}

std::optional<std::string_view> nvidia_chip_capability(std::string_view chip) {
  for (const auto& known : kChips)
    if (chip.starts_with(known.name)) return known.capability;
  return std::nullopt;
}

}  // namespace gpuready
