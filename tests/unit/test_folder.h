// A folder of a test, which goes with it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "test_paths.h"

namespace gpuready {

class TestFolder {
 public:
  explicit TestFolder(const std::string& parent = GPUREADY_BINARY_DIR)
      : path_(parent + "/inXXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;

  std::string path(const std::string& relative = "") const {
    return relative.empty() ? path_ : path_ + "/" + relative;
  }
  void write(const std::string& relative, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(relative)).parent_path());
    std::ofstream(path(relative), std::ios::binary) << bytes;
  }
  std::string read(const std::string& relative) const {
    std::ifstream file(path(relative), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

}  // namespace gpuready
