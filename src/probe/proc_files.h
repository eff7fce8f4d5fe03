// Reads below a folder of /proc that is open: the kernel walks few names, and memory is kept.
// Errors are numbers of errno(3), since most mean that a process has ended.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace gpuready {

Descriptor open_at(int folder, const std::string& path, int flags);

// The names that are numbers: processes, threads, descriptors.
std::expected<std::vector<std::uint32_t>, int> list_numbers(const Descriptor& folder);

// Whether two threads have one table of a kind, KCMP_FILES and others. False also if the kernel
// does not answer.
bool share(std::uint32_t one, std::uint32_t other, int kind);

class TextReader {
 public:
  // The text is there until the next call.
  std::expected<std::string_view, int> read(int folder, const std::string& path);
  std::expected<std::string_view, int> read_link(int folder, const std::string& path);

 private:
  std::string buffer_;
};

}  // namespace gpuready
