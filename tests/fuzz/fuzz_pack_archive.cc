// Archives of any bytes: every member is read to its end, and archives in them are opened once
// more.
#include <array>
#include <cstdlib>

#include "pack/code/archive.h"

using namespace gpuready;
using namespace gpuready::pack;

namespace {

constexpr std::uint64_t kMostBytes = 16u << 20;
std::uint64_t unpacked = 0;

void walk(Source& source, int depth) {
  const auto kind = archive_kind(source.peek(kArchiveHead));
  if (!kind || depth > 2) return;
  const ArchiveReading reading{
      .name = "a.b",
      .on_member = [&](const Member&, const StreamSource::Read& read) -> Result<void> {
        StreamSource member([&](std::span<std::uint8_t> to) -> Result<std::size_t> {
          const auto got = TRY(read(to));
          if (got > to.size()) std::abort();
          unpacked += got;
          return unpacked > kMostBytes ? 0 : got;
        });
        walk(member, depth + 1);
        while (!member.peek(1).empty()) member.skip(member.peek(4096).size());
        if (unpacked > kMostBytes) return fail(ErrorKind::too_large, "enough");
        return {};
      },
      .on_fault = [](const std::string&, const std::string&) {}};
  (void)read_archive(source, *kind, reading);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  unpacked = 0;
  MemorySource source(Bytes(data, size));
  walk(source, 0);
  return 0;
}
