// Files of any bytes through the readers of device code and of ELF files, as a whole and as a
// stream, which must find the same; and what they hold, explained for GPUs of each kind: the
// same as what a manifest keeps of it.
#include <algorithm>
#include <cstdlib>

#include "pack/release/manifest_fields.h"
#include "pack/release/scan.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

using namespace gpuready;
using namespace gpuready::pack;

namespace {

FileReport of_stream(Bytes bytes, std::size_t piece) {
  std::size_t at = 0;
  ElfPieces pieces;
  StreamSource stream(
      [&](std::span<std::uint8_t> to) -> Result<std::size_t> {
        const auto size = std::min({to.size(), piece, bytes.size() - at});
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, to.begin());
        at += size;
        pieces.add(to.first(size));
        return size;
      },
      bytes.size());
  return inspect_source("file", stream, pieces);
}

// What a client judges by.
FileCode of_manifest(const FileCode& code) {
  const auto text = dump(value::write_fields(written(code)));
  const auto read = value::read_document<CodeOfFile>(parse_json(text, "code").value(), "code");
  if (!read) std::abort();
  return judged(*read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const Bytes bytes(data, size);
  const FileReport report = inspect_bytes("file", bytes);
  for (const CarrierGroup& group : report.groups)
    if (group.count == 0 || group.first_offset >= size) std::abort();
  for (const char* gpu : {"5.0", "8.7", "9.0", "10.3", "gfx90a"})
    for (const char* driver : {"", "535.104.05"}) {
      const Driver with{.version = parse_version(driver)};
      const auto answer = explain(code_of(report), *parse_target_gpu(gpu), with);
      if (answer.loads() > answer.modules) std::abort();
      if (explain(of_manifest(code_of(report)), *parse_target_gpu(gpu), with) != answer)
        std::abort();
    }
  const FileReport streamed = of_stream(bytes, 1 + size / 3);
  if (report.bytes != size || streamed.bytes != size ||
      report.groups.size() != streamed.groups.size() ||
      report.elf.has_value() != streamed.elf.has_value() ||
      (report.elf && report.elf->needed != streamed.elf->needed))
    std::abort();
  return 0;
}
