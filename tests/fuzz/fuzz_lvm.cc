// LVM's label, rings of metadata and their text, on a disk that anybody may have written.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "vm/guest/lvm.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuready;
  const Bytes bytes(data, size);
  static_cast<void>(vm::read_lvm_disk([&](std::uint64_t offset, std::size_t wanted) {
    const auto part = slice(bytes, offset, wanted);
    return std::vector<std::uint8_t>(part.begin(), part.end());
  }));
  static_cast<void>(vm::parse_lvm_metadata(text_of(bytes)));  // no checksum is in the way
  return 0;
}
