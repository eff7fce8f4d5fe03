// A file's bytes without reading them all into memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace gpuready {

// Read-only and private. A file that somebody shortens meanwhile kills the reader by SIGBUS, which
// is what every reader of mapped files accepts.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);  // regular files alone
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  std::chrono::sys_seconds modified() const { return modified_; }  // when it was opened

 private:
  MappedFile(const std::uint8_t* data, std::size_t size, std::chrono::sys_seconds modified)
      : data_(data), size_(size), modified_(modified) {}
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::chrono::sys_seconds modified_;
};

}  // namespace gpuready
