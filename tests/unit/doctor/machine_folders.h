// The machines of tests/machines, by the names of their folders.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "host/recording/recording.h"
#include "machine/inspect.h"

namespace gpuready::test {

inline std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(GPUREADY_SOURCE_DIR) + "/tests/machines"))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
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
