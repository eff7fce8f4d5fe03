#include "pack/code/file_report.h"

#include <fmt/format.h>

namespace gpuready::pack {
namespace {

using namespace std::string_view_literals;

ElfFacts facts_of(const ElfFile& file) {
  ElfFacts facts{.machine = file.machine == kElfMachineX86_64    ? "x86_64"
                            : file.machine == kElfMachineAarch64 ? "aarch64"
                                                                 : std::to_string(file.machine),
                 .type = file.type == ET_REL    ? "relocatable"
                         : file.type == ET_EXEC ? "executable"
                         : file.type == ET_DYN  ? "shared"
                                                : "other",
                 .soname = std::string(file.soname),
                 .interpreter = std::string(file.interpreter),
                 .rpath = file.rpath,
                 .problem = std::string(file.problem)};
  facts.needed.assign(file.needed.begin(), file.needed.end());
  for (const auto folder : split(file.run_path, ":")) facts.run_path.emplace_back(folder);
  facts.symbol_versions.insert(file.symbol_versions.begin(), file.symbol_versions.end());
  return facts;
}

FileReport report_of(std::string path, Source& source, const Pieces& pieces) {
  FileReport report;
  report.path = std::move(path);
  report.foreign = foreign_format(source.peek(kElfHeaderBytes));
  std::uint64_t end = 0;
  Census census = take_census(source, [&] {
    const auto elf = read_elf(pieces);
    if (!elf || elf->machine == kElfMachineCuda || elf->machine == kElfMachineAmdGpu)
      return std::vector<Section>();  // device code is not a library
    report.elf = facts_of(*elf);
    end = elf->end;
    return sections_with_bytes(elf->sections);
  });
  report.bytes = census.file_bytes;
  report.groups = std::move(census.groups);
  report.code_bytes = census.code_bytes;
  report.problems = std::move(census.problems);
  if (end > report.bytes)
    report.elf->problem = fmt::format(
        "it is cut short: it has {} bytes, and its tables and segments end at {}: fetch it again",
        report.bytes, end);
  if (report.elf && !report.elf->problem.empty()) report.problems.push_back(report.elf->problem);
  return report;
}

}  // namespace

std::optional<Version> ElfFacts::glibc() const {
  const auto found = symbol_versions.find("GLIBC");
  return found == symbol_versions.end() ? std::nullopt : std::optional(found->second);
}

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
  if (is_elf(head) && head.size() > 5) {
    if (head[4] == 1) return "32-bit ELF file";
    if (head[5] == 2) return "big-endian ELF file";
  }
  return {};
}

FileReport inspect_bytes(std::string path, Bytes bytes, bool mapped) {
  MemorySource source(bytes, mapped);
  return report_of(std::move(path), source, pieces_of(bytes));
}

FileReport inspect_source(std::string path, Source& source, const ElfPieces& pieces) {
  return report_of(std::move(path), source, [&](std::uint64_t offset, std::uint64_t size) {
    return pieces.at(offset, size);
  });
}

}  // namespace gpuready::pack
