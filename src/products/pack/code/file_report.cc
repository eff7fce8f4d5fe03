#include "pack/code/file_report.h"

#include <fmt/format.h>

namespace gpuready::pack {
namespace {

using namespace std::string_view_literals;

FileReport report_of(std::string path, Source& source, const Pieces& pieces) {
  FileReport report;
  report.path = std::move(path);
  report.foreign = foreign_format(source.peek(kElfHeaderBytes));
  Census census = take_census(source, [&] {
    report.elf = read_elf_facts(pieces);
    return report.elf ? report.elf->sections : std::vector<Section>();
  });
  report.bytes = census.file_bytes;
  report.groups = std::move(census.groups);
  report.code_bytes = census.code_bytes;
  report.problems = std::move(census.problems);
  if (report.elf && report.elf->end > report.bytes)
    report.elf->problem = fmt::format(
        "it is cut short: it has {} bytes, and its tables and segments end at {}: fetch it again",
        report.bytes, report.elf->end);
  if (report.elf && !report.elf->problem.empty()) report.problems.push_back(report.elf->problem);
  return report;
}

}  // namespace

std::string foreign_format(Bytes head) {
  constexpr std::pair<std::string_view, const char*> kFormats[] = {
      {"MZ", "Windows library or program (PE)"},
      {"\xcf\xfa\xed\xfe"sv, "macOS library or program (Mach-O)"},
      {"\xce\xfa\xed\xfe"sv, "macOS library or program (Mach-O, 32 bits)"},
      {"\xca\xfe\xba\xbe\0\0\0"sv, "macOS library or program (Mach-O, universal)"},
      {"!<thin>\n", "thin static library, which holds only names of object files"},
  };
  for (const auto& [magic, text] : kFormats)
    if (starts_with(head, magic)) return text;
  if (starts_with(head, kElfMagic) && head.size() > 5) {
    if (head[4] == 1) return "32-bit ELF file";
    if (head[5] == 2) return "big-endian ELF file";
  }
  return {};
}

FileReport inspect_bytes(std::string path, Bytes bytes, bool mapped) {
  MemorySource source(bytes, mapped);
  return report_of(std::move(path), source, [&](std::uint64_t offset, std::uint64_t size) {
    return slice(bytes, offset, size);
  });
}

FileReport inspect_source(std::string path, Source& source, const ElfPieces& pieces) {
  return report_of(std::move(path), source, [&](std::uint64_t offset, std::uint64_t size) {
    return pieces.at(offset, size);
  });
}

}  // namespace gpuready::pack
