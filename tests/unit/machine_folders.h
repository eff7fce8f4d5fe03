// The machines of tests/machines, by the names of their folders.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/recording/recording.h"
#include "machine/inspect.h"

namespace gpuready::test {

inline const std::vector<std::string>& machine_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(GPUREADY_SOURCE_DIR) + "/tests/machines"))
      if (entry.is_directory()) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }();
  return all;
}

inline std::filesystem::path folder_of(const std::string& name) {
  return std::filesystem::path(std::string(GPUREADY_SOURCE_DIR) + "/tests/machines") / name;
}

inline std::string recording_of(const std::string& name) {
  if (std::filesystem::exists(folder_of(name) / "machine.json"))
    return folder_of(name) / "machine.json";
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(name)))
    if (entry.path().string().ends_with(".tar.zst")) return entry.path();
  return folder_of(name);
}

struct Named {
  std::string name;
  Recording recording;
};

// All but damaged ones.
inline const std::vector<Named>& machines() {
  static const std::vector<Named> all = [] {
    std::vector<Named> out;
    for (const auto& name : machine_names())
      if (auto recording = load_recording(recording_of(name)))
        out.push_back({name, std::move(*recording)});
    return out;
  }();
  return all;
}

// GPUREADY_PART, which test.sh sets by the commit: what takes long for all machines takes one in
// eight (`step`), this one first. With sanitizers or in an emulator it always does.
inline std::optional<std::size_t> part_to_walk() {
#if defined(GPUREADY_SANITIZED) || defined(__aarch64__)
  constexpr std::optional<std::size_t> kUnset = 0;
#else
  constexpr std::optional<std::size_t> kUnset;
#endif
  const char* part = std::getenv("GPUREADY_PART");
  return part == nullptr ? kUnset : parse_uint(part).value_or(0);
}

// A view of `all`, which must outlive it.
template <typename T>
auto walked(const std::vector<T>& all, std::size_t step = 8) {
  return all | std::views::filter([&all, step, part = part_to_walk()](const T& each) {
           return !part || static_cast<std::size_t>(&each - all.data()) % step == *part % step;
         });
}
template <typename T>
void walked(const std::vector<T>&& all, std::size_t step = 8) = delete;

// `all_of` of a walk over all machines, less where only a part is walked.
inline std::size_t least_walked(std::size_t all_of) {
  return part_to_walk() ? all_of / 16 : all_of;
}

inline Machine machine_of(const std::string& name) {
  auto recording = load_recording(recording_of(name));
  if (!recording) {
    ADD_FAILURE() << recording.error().message;
    return {};
  }
  const auto host = make_recorded_host(std::move(*recording));
  return inspect(*host, {.full = true});
}

}  // namespace gpuready::test
