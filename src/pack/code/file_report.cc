#include "pack/code/file_report.h"

namespace gpuready::pack {

FileReport inspect_bytes(std::string path, Bytes bytes, bool mapped) {
  FileReport report{.path = std::move(path),
                    .bytes = bytes.size(),
                    .elf = {},
                    .groups = {},
                    .code_bytes = 0,
                    .problems = {}};
  report.elf = read_elf_facts(
      [&](std::uint64_t offset, std::uint64_t size) { return slice(bytes, offset, size); });
  MemorySource source(bytes, mapped);
  Census census = take_census(
      source, [&] { return report.elf ? report.elf->sections : std::vector<Section>(); });
  report.groups = std::move(census.groups);
  report.code_bytes = census.code_bytes;
  report.problems = std::move(census.problems);
  if (report.elf && !report.elf->problem.empty()) report.problems.push_back(report.elf->problem);
  return report;
}

}  // namespace gpuready::pack
