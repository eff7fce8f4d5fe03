// A folder of driver bundles of which one is current: the link `current` leads to it. An upgrade
// adds a bundle, compares it with the current one, tests it, and switches the link. Older bundles
// stay.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/host.h"
#include "host/storage.h"
#include "vm/drivers/open_bundle.h"

namespace gpuready::vm {

// Either `from` (sources of a new bundle, which may have a name) or `to` (an existing bundle) is
// named, and by a name in the folder.
Result<void> check_upgrade(const std::vector<std::string>& from,
                           const std::optional<std::string>& name,
                           const std::optional<std::string>& to);
// Held for one upgrade of a folder. `busy`: another one runs.
Result<std::unique_ptr<Storage::Lock>> lock_bundles(Storage& storage, const std::string& folder);
// (vendor, device) ids of this machine's NVIDIA GPUs.
std::vector<std::pair<std::uint16_t, std::uint16_t>> nvidia_gpus(Host& host);

// What another driver changes for guests.
struct BundleDiff {
  std::string from, to;                                // versions
  std::vector<std::string> added, removed;             // files; VERSION stands for the driver's own
  std::vector<std::string> lost_libraries;             // SONAMEs that the new one lacks
  std::vector<std::string> new_kernels, lost_kernels;  // releases
  std::string from_cuda, to_cuda;                      // native; empty: not in the catalogue
  bool from_open = false, to_open = false;             // kernel modules
  std::int64_t more_bytes = 0;
};
BundleDiff compare_bundles(const DriverBundle& from, const DriverBundle& to);  // pure

enum class TestResult { passed, failed, not_tested };
struct BundleTest {
  std::string name;  // "parts", "files", "libraries", "kernels", "CUDA", "GPUs", "command"
  TestResult result = TestResult::passed;
  std::string text;  // a sentence
};
// Of the bundle alone: its parts fit together, its files are whole, what compute needs is there.
std::vector<BundleTest> test_bundle(Host& host, const BundleEntry& entry);
// It serves these GPUs; `gpus` are (vendor, device) ids. Pure.
BundleTest test_gpus(const DriverBundle& bundle,
                     const std::vector<std::pair<std::uint16_t, std::uint16_t>>& gpus);
// What the current bundle serves is served on. Pure.
std::vector<BundleTest> test_diff(const BundleDiff& diff);
// `program BUNDLE` ends with 0: a guest's boot, for example.
BundleTest test_by_command(Host& host, const std::string& program, const std::string& bundle,
                           std::chrono::milliseconds deadline);

// Lets FOLDER/current lead to `name`: at every moment it leads to the old or to the new one.
Result<void> switch_bundle(Storage& storage, const std::string& folder, const std::string& name);

}  // namespace gpuready::vm

namespace gpuready {
NAMES_OF(vm::TestResult, "passed", "failed", "not_tested");
}  // namespace gpuready
