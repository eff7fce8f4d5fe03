// clang's container of AMD code objects, as it is and compressed.
// Source: LLVM, "Clang Offload Bundler": layout of a bundled file, and of a compressed one
// (versions 1 to 3).
#include <algorithm>

#include "pack/code/carrier.h"
#include "pack/code/unpack.h"

namespace gpuready::pack {
namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr std::uint64_t kMostEntries = 4096, kMostIdBytes = 1024;
constexpr std::size_t kMostHeader = 256u << 10;

struct Bundle {
  std::vector<DeviceCode> codes;
  std::uint64_t bytes = 0;  // to the end of the last entry
};

// "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"; of other kinds (the host's) nothing.
std::optional<DeviceCode> code_of(std::string_view id) {
  const auto at = id.find("amdgcn");
  if (at == std::string_view::npos) return std::nullopt;
  const auto processor = id.find("gfx", at);
  if (processor == std::string_view::npos) return std::nullopt;
  DeviceCode code{.kind = CodeKind::amd, .gfx = parse_gfx_target(id.substr(processor))};
  return code;
}

// The header at the start of `bytes`; `size`: of all that can belong to it.
std::optional<Bundle> read_header(Bytes bytes, std::uint64_t size, Compression compression) {
  if (!starts_with(bytes, kBundleMagic)) return std::nullopt;
  const auto entries = load<std::uint64_t>(bytes, kBundleMagic.size());
  if (!entries || *entries == 0 || *entries > kMostEntries) return std::nullopt;
  Bundle bundle;
  std::uint64_t at = kBundleMagic.size() + 8;
  for (std::uint64_t i = 0; i < *entries; ++i) {
    const auto offset = load<std::uint64_t>(bytes, at), length = load<std::uint64_t>(bytes, at + 8),
               id_bytes = load<std::uint64_t>(bytes, at + 16);
    if (!id_bytes || *id_bytes > kMostIdBytes) return std::nullopt;
    const Bytes id = whole_slice(bytes, at + 24, *id_bytes);
    if (id.size() != *id_bytes || *offset > size || *length > size - *offset) return std::nullopt;
    bundle.bytes = std::max(bundle.bytes, *offset + *length);
    at += 24 + *id_bytes;
    if (auto code = code_of(text_of(id)); code && *length > 0) {
      code->compression = compression;
      bundle.codes.push_back(std::move(*code));
    }
  }
  bundle.bytes = std::max(bundle.bytes, at);
  return bundle;
}

struct CompressedHeader {
  std::uint64_t header_bytes = 0, unpacked_bytes = 0;
  std::optional<std::uint64_t> total_bytes = {};  // version 1 does not say it
  std::uint16_t method = 0;                       // 0 zlib, 1 zstd
};
std::optional<CompressedHeader> read_compressed_header(Bytes bytes) {
  if (!starts_with(bytes, kCompressedMagic)) return std::nullopt;
  const auto version = load<std::uint16_t>(bytes, 4), method = load<std::uint16_t>(bytes, 6);
  if (!method || *method > 1) return std::nullopt;
  const auto small = [&](std::uint64_t at) { return load<std::uint32_t>(bytes, at); };
  const auto large = [&](std::uint64_t at) { return load<std::uint64_t>(bytes, at); };
  CompressedHeader header{.method = *method};
  switch (*version) {
    case 1:  // unpacked size, hash
      if (!large(12)) return std::nullopt;
      header.header_bytes = 20;
      header.unpacked_bytes = *small(8);
      return header;
    case 2:  // total size, unpacked size, hash
      if (!large(16)) return std::nullopt;
      header.header_bytes = 24;
      header.total_bytes = *small(8);
      header.unpacked_bytes = *small(12);
      return header;
    case 3:
      if (!large(24)) return std::nullopt;
      header.header_bytes = 32;
      header.total_bytes = *large(8);
      header.unpacked_bytes = *large(16);
      return header;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<CarrierFound> read_offload_bundle(Source& source) {
  const Bytes head = source.peek(kMostHeader);
  const auto bundle = read_header(head, source.left().value_or(UINT64_MAX / 2), Compression::none);
  if (!bundle) return std::nullopt;
  CarrierFound found{.carrier = Carrier::offload_bundle,
                     .offset = source.position(),
                     .bytes = bundle->bytes,
                     .codes = bundle->codes};
  source.skip(bundle->bytes);
  return found;
}

std::optional<CarrierFound> read_compressed_offload(Source& source) {
  const auto header = read_compressed_header(source.peek(32));
  if (!header || (header->total_bytes && *header->total_bytes < header->header_bytes))
    return std::nullopt;
  if (header->total_bytes && source.left() && *header->total_bytes > *source.left())
    return std::nullopt;
  // The names stand at the start of what is packed.
  const Bytes packed = slice(source.peek(kMostHeader * 2), header->header_bytes, SIZE_MAX);
  const auto want = std::min<std::uint64_t>(header->unpacked_bytes, kMostHeader);
  const Unpacked start =
      header->method == 1 ? unpack_zstd(packed, want) : unpack_zlib(packed, want);
  const auto bundle = read_header(start, header->unpacked_bytes,
                                  header->method == 1 ? Compression::zstd : Compression::zlib);
  if (!bundle) return std::nullopt;
  CarrierFound found{.carrier = Carrier::offload_bundle,
                     .offset = source.position(),
                     .bytes = header->total_bytes.value_or(header->header_bytes),
                     .codes = bundle->codes};
  source.skip(found.bytes);
  return found;
}

}  // namespace gpuready::pack
