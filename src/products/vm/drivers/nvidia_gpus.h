// NVIDIA's GPUs by PCI device id: what they are, and which drivers serve them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"

namespace gpuready::vm {

// Source: "Compatible GPUs" in the README.md of each of the 193 releases from 515.43.04 to
// 595.45.04 of NVIDIA/open-gpu-kernel-modules on GitHub: GPUs from Turing on that the open modules
// drive. Of the proprietary ones they say nothing: the Tesla T4 is named from 575 on.
struct KnownGpu {
  std::uint16_t device;
  std::string_view name;  // "H200", without "NVIDIA"
  // Which lists name it: "550.40.65 555.42.06": from the first release on, and of branch 555 from
  // the second on. A branch alone: all of its releases. "-545": none of this branch.
  std::string_view drivers;
};
std::span<const KnownGpu> known_gpus();  // by device id
const KnownGpu* find_known_gpu(std::uint16_t device);

// The first driver that names it: "550.40.65", or a branch.
std::string_view first_driver(const KnownGpu& gpu);
// Whether NVIDIA's lists name it for this driver; nothing for drivers before 525, of which the
// lists are incomplete.
std::optional<bool> is_listed(const KnownGpu& gpu, const Version& driver);

// The name in the PCI ID Repository, "GH100 [H100 SXM5 80GB]", else that of NVIDIA's lists: "H200".
std::optional<std::string> nvidia_name(std::uint16_t vendor, std::uint16_t device);

// "Hopper" of 0x2335: NVIDIA gives each chip a range of ids; empty outside those that are known.
// Source: the PCI ID Repository, and the lists above for Blackwell.
std::string_view architecture_of_id(std::uint16_t device);

}  // namespace gpuready::vm
