#include "pack/code/elf.h"

#include <algorithm>
#include <array>

namespace gpuready::pack {
namespace {

constexpr std::uint64_t kSectionHeaderBytes = 64, kSegmentHeaderBytes = 56;
constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 48;  // so that sums cannot overflow

}  // namespace

std::uint64_t ElfHeader::tables_end() const {
  return std::max({std::uint64_t{kElfHeaderBytes},
                   section_count == 0 ? 0 : section_offset + section_count * kSectionHeaderBytes,
                   segment_count == 0 ? 0 : segment_offset + segment_count * kSegmentHeaderBytes});
}

std::optional<ElfHeader> read_elf_header(Bytes bytes) {
  if (bytes.size() < kElfHeaderBytes || !starts_with(bytes, kElfMagic)) return std::nullopt;
  if (bytes[4] != 2 || bytes[5] != 1) return std::nullopt;  // 64 bits, little-endian
  ElfHeader header;
  header.os_abi = bytes[7];
  header.abi_version = bytes[8];
  header.type = *load<std::uint16_t>(bytes, 16);
  header.machine = *load<std::uint16_t>(bytes, 18);
  header.version = *load<std::uint32_t>(bytes, 20);
  header.segment_offset = *load<std::uint64_t>(bytes, 32);
  header.section_offset = *load<std::uint64_t>(bytes, 40);
  header.flags = *load<std::uint32_t>(bytes, 48);
  const auto segment_bytes = *load<std::uint16_t>(bytes, 54);
  header.segment_count = *load<std::uint16_t>(bytes, 56);
  const auto section_bytes = *load<std::uint16_t>(bytes, 58);
  header.section_count = *load<std::uint16_t>(bytes, 60);
  header.section_names = *load<std::uint16_t>(bytes, 62);
  if (header.section_count > 0 && section_bytes != kSectionHeaderBytes) return std::nullopt;
  if (header.segment_count > 0 && segment_bytes != kSegmentHeaderBytes) return std::nullopt;
  if (header.section_offset > kMostOffset || header.segment_offset > kMostOffset)
    return std::nullopt;
  return header;
}

std::vector<ElfSection> read_elf_sections(const ElfHeader& header, Bytes bytes) {
  std::vector<ElfSection> sections;
  std::vector<std::uint32_t> names;
  for (std::uint64_t i = 0; i < header.section_count; ++i) {
    const Bytes at =
        whole_slice(bytes, header.section_offset + i * kSectionHeaderBytes, kSectionHeaderBytes);
    if (at.empty()) break;
    names.push_back(*load<std::uint32_t>(at, 0));
    sections.push_back({.name = {},
                        .type = *load<std::uint32_t>(at, 4),
                        .flags = *load<std::uint64_t>(at, 8),
                        .address = *load<std::uint64_t>(at, 16),
                        .offset = *load<std::uint64_t>(at, 24),
                        .size = *load<std::uint64_t>(at, 32)});
  }
  if (header.section_names >= sections.size()) return sections;
  const ElfSection table = sections[header.section_names];
  const Bytes text = slice(bytes, table.offset, table.size);
  for (std::size_t i = 0; i < sections.size(); ++i)
    sections[i].name = c_string(text, names[i]).value_or("");
  return sections;
}

std::vector<ElfSegment> read_elf_segments(const ElfHeader& header, Bytes bytes) {
  std::vector<ElfSegment> segments;
  for (std::uint64_t i = 0; i < header.segment_count; ++i) {
    const Bytes at =
        whole_slice(bytes, header.segment_offset + i * kSegmentHeaderBytes, kSegmentHeaderBytes);
    if (at.empty()) break;
    segments.push_back({.type = *load<std::uint32_t>(at, 0),
                        .offset = *load<std::uint64_t>(at, 8),
                        .address = *load<std::uint64_t>(at, 16),
                        .file_size = *load<std::uint64_t>(at, 32)});
  }
  return segments;
}

std::optional<std::uint64_t> elf_file_size(const ElfHeader& header, Bytes bytes) {
  const auto sections = read_elf_sections(header, bytes);
  if (sections.size() != header.section_count) return std::nullopt;
  std::uint64_t end = header.tables_end();
  for (const ElfSection& section : sections) {
    if (!section.has_bytes()) continue;
    if (section.offset > kMostOffset || section.size > kMostOffset) return std::nullopt;
    end = std::max(end, section.offset + section.size);
  }
  return end;
}

}  // namespace gpuready::pack
