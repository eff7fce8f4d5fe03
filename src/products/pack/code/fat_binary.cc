// NVIDIA's fat binary: a header of 16 bytes and entries, each a header and its payload. NVIDIA does
// not document it; this was read out of files of CUDA 10 to 13 and compared with cuobjdump.
#include <fmt/format.h>

#include <algorithm>

#include "pack/code/carrier.h"
#include "pack/code/cubin.h"
#include "pack/code/unpack.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kContainerHeaderBytes = 16, kEntryHeaderBytes = 64;
constexpr std::uint32_t kMostEntryHeader = 64u << 10;
constexpr std::size_t kMostKinds = 4096;  // of code in one container; some twenty have been seen
// Compressed code up to one of these sizes is unpacked to see whether it holds a kernel at all.
// Stubs are mostly names and zeros: 8,368 bytes of cuDNN 9.27 are 1,125 packed. Of larger cubins
// the start is unpacked where that is cheap: the names of its sections, a kernel's among the first
// (within 256 bytes of each of 771 that CUDA 11 to 13 wrote).
constexpr std::uint64_t kSmallCode = 4u << 10, kSmallPacked = 3u << 10, kMostUnpacked = 1u << 20;
constexpr std::uint64_t kStartOfNames = 512;
// The entry's version of machine code: the ABI of the cubin. CUDA 12.8 and 12.9 write 8 for 10.0
// and newer only, CUDA 13 for all.
constexpr std::uint16_t kAbiOfCuda13 = 8;
constexpr int kFirstMajorOfThatAbi = 10;

namespace flag {
constexpr std::uint64_t lz4 = 0x2000, zstd = 0x8000, one_architecture = 1u << 20, family = 1u << 21;
}

struct Entry {
  std::uint16_t kind = 0, isa_minor = 0, isa_major = 0;
  std::uint32_t header_bytes = 0, compressed_bytes = 0, architecture = 0;
  std::uint64_t payload_bytes = 0, flags = 0, unpacked_bytes = 0;

  Compression compression() const {
    if ((flags & flag::zstd) != 0) return Compression::zstd;
    return (flags & flag::lz4) != 0 ? Compression::lz4 : Compression::none;
  }
};

CodeKind kind_of(std::uint16_t kind) {
  switch (kind) {
    case 1:
      return CodeKind::ptx;
    case 2:
    case 4:
      return CodeKind::cubin;
    case 8:
      return CodeKind::lto_ir;
    case 64:
      return CodeKind::relocatable_ptx;
    case 128:
      return CodeKind::tile_ir;
    default:
      return CodeKind::other;
  }
}

// An entry of a container that has `left` bytes: its header is sound and its payload ends within
// it.
std::optional<Entry> read_entry(Bytes bytes, std::uint64_t left) {
  if (bytes.size() < kEntryHeaderBytes) return std::nullopt;
  Entry entry;
  entry.kind = *load<std::uint16_t>(bytes, 0);
  entry.header_bytes = *load<std::uint32_t>(bytes, 4);
  entry.payload_bytes = *load<std::uint64_t>(bytes, 8);
  entry.compressed_bytes = *load<std::uint32_t>(bytes, 16);
  entry.isa_minor = *load<std::uint16_t>(bytes, 24);
  entry.isa_major = *load<std::uint16_t>(bytes, 26);
  entry.architecture = *load<std::uint32_t>(bytes, 28);
  entry.flags = *load<std::uint64_t>(bytes, 40);
  entry.unpacked_bytes = *load<std::uint64_t>(bytes, 56);
  const bool one_kind = entry.kind != 0 && (entry.kind & (entry.kind - 1)) == 0;
  if (!one_kind || entry.header_bytes < kEntryHeaderBytes ||
      entry.header_bytes > kMostEntryHeader || entry.header_bytes > left ||
      entry.payload_bytes > left - entry.header_bytes)
    return std::nullopt;
  return entry;
}

// What the payload says of the code beyond its entry, as far as that can be had cheaply.
void look_inside(const Entry& entry, Bytes payload, DeviceCode& code) {
  const auto compression = entry.compression();
  if (compression != Compression::none && entry.compressed_bytes != 0)
    payload = slice(payload, 0, entry.compressed_bytes);
  const bool small = compression == Compression::none || entry.unpacked_bytes <= kSmallCode ||
                     (payload.size() <= kSmallPacked && entry.unpacked_bytes <= kMostUnpacked);
  if (code.kind == CodeKind::ptx && !small) return;
  Unpacked unpacked;
  if (compression == Compression::lz4) {
    unpacked = unpack_lz4_block(payload, small ? entry.unpacked_bytes : kStartOfNames);
    if (!small && entry.unpacked_bytes <= kMostUnpacked &&
        !contains(text_of(unpacked), kKernelSection))
      unpacked = unpack_lz4_block(payload, entry.unpacked_bytes);
  }
  if (compression == Compression::zstd && small)
    unpacked = unpack_zstd(payload, entry.unpacked_bytes);
  const Bytes bytes = compression == Compression::none ? payload : Bytes(unpacked);
  if (code.kind == CodeKind::ptx) {
    code.empty = bytes.size() > 0 && !contains(text_of(bytes), ".entry");
  } else if (const auto cubin = read_cubin(bytes)) {
    code.relocatable = cubin->relocatable;
    code.empty = cubin->empty;
  }
}

DeviceCode describe(const Entry& entry) {
  DeviceCode code{.kind = kind_of(entry.kind), .compression = entry.compression()};
  char suffix = 0;
  if ((entry.flags & flag::one_architecture) != 0) suffix = 'a';
  if ((entry.flags & flag::family) != 0) suffix = 'f';
  code.cuda = cuda_target(entry.architecture, suffix);
  if (code.kind == CodeKind::ptx || code.kind == CodeKind::relocatable_ptx)
    code.ptx_isa = Version{{entry.isa_major, entry.isa_minor}};
  code.relocatable = code.kind == CodeKind::relocatable_ptx;
  code.of_cuda_13 = code.kind == CodeKind::cubin && entry.isa_minor >= kAbiOfCuda13 && code.cuda &&
                    code.cuda->major < kFirstMajorOfThatAbi;
  return code;
}

// Whether fewer are left.
bool keep_each_once(std::vector<DeviceCode>& codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes.size() < kMostKinds;
}

}  // namespace

std::optional<CarrierFound> read_fat_binary(Source& source) {
  const Bytes head = source.peek(kContainerHeaderBytes + kEntryHeaderBytes);
  const auto version = load<std::uint16_t>(head, 4), header = load<std::uint16_t>(head, 6);
  const auto size = load<std::uint64_t>(head, 8);
  if (version != 1 || header != kContainerHeaderBytes || !size) return std::nullopt;
  const auto left_in_file = source.left();
  if (left_in_file && *size > *left_in_file - kContainerHeaderBytes) return std::nullopt;
  std::uint64_t left = *size;
  if (left > 0 && !read_entry(slice(head, kContainerHeaderBytes, kEntryHeaderBytes), left))
    return std::nullopt;

  CarrierFound found{.carrier = Carrier::fat_binary, .offset = source.position()};
  source.skip(kContainerHeaderBytes);
  while (left > 0) {
    const auto entry = read_entry(source.peek(kEntryHeaderBytes), left);
    if (!entry) {
      found.problem =
          fmt::format("its entry {} at byte {} is damaged", found.codes.size(), source.position());
      break;
    }
    DeviceCode code = describe(*entry);
    if (code.kind == CodeKind::cubin || code.kind == CodeKind::ptx) {
      const auto want =
          std::min<std::uint64_t>(entry->header_bytes + entry->payload_bytes, kMostWindow);
      look_inside(*entry, slice(source.peek(want), entry->header_bytes, entry->payload_bytes),
                  code);
    }
    found.codes.push_back(std::move(code));
    if (found.codes.size() == kMostKinds && !keep_each_once(found.codes)) {
      found.problem = "it holds more kinds of code than are distinguished";
      break;
    }
    const auto step = entry->header_bytes + entry->payload_bytes;
    source.skip(step);
    left -= step;
  }
  found.bytes = source.position() - found.offset;
  return found;
}

}  // namespace gpuready::pack
