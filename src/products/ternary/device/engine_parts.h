// What a DeviceEngine is made of; tests put their own backends and clock in.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuready/ternary_device.h"
#include "ternary/device/backend.h"

namespace gpuready::ternary {

struct EngineParts {
  Target target;
  bool strict = false, forced = false;
  std::optional<std::uint64_t> memory_limit_bytes;
  std::uint64_t reserve_bytes = 0;
  BreakerOptions breaker;
  std::unique_ptr<Backend> cpu;  // never null
  std::unique_ptr<Backend> gpu;  // null: none
  // Where the CPU was forced from the beginning, no driver was touched: this chooses a GPU when
  // that is undone, and adds the reasons where there is none.
  std::function<std::unique_ptr<Backend>(std::vector<std::string>& fallbacks)> open_gpu;
  std::vector<std::string> fallbacks;
  // Of the breaker's cool-down; durations of calls are always measured.
  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;
};

namespace detail {
struct DeviceEngineMaker {
  static DeviceEngine make(EngineParts parts);
};
}  // namespace detail

// The options, completed from the environment.
struct ResolvedOptions {
  Target target;
  bool strict = false, forced = false;
  std::optional<std::uint64_t> memory_limit_bytes;
};
using ReadVariable = const char* (*)(const char* name);
Result<ResolvedOptions> resolve_options(const DeviceOptions& options, ReadVariable variable);
// "4096", "512M", "2G": powers of 1024.
std::optional<std::uint64_t> parse_byte_count(std::string_view text);

}  // namespace gpuready::ternary
