#include "pack/code/elf_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace gpuready::pack {
namespace {

constexpr std::uint64_t kMostTable = 16u << 20;  // of one table: strings, versions, sections
constexpr std::size_t kMostNames = 4096;
constexpr std::uint64_t kMostText = 4096;                       // of one string
using Text = std::function<std::string(std::uint64_t offset)>;  // of the dynamic string table

namespace tag {
constexpr std::uint64_t needed = 1, string_table = 5, string_bytes = 10, soname = 14, rpath = 15,
                        run_path = 29, versions = 0x6ffffffe, version_count = 0x6fffffff;
}

std::string machine_name(std::uint16_t machine) {
  if (machine == kMachineX86_64) return "x86_64";
  if (machine == kMachineAarch64) return "aarch64";
  return std::to_string(machine);
}
std::string type_name(std::uint16_t type) {
  if (type == 1) return "relocatable";
  if (type == 2) return "executable";
  return type == 3 ? "shared" : "other";
}

struct Dynamic {
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> soname, rpath, run_path;
  std::uint64_t strings = 0, string_bytes = 0, versions = 0, version_count = 0;
};
Dynamic read_dynamic(Bytes bytes) {
  Dynamic found;
  for (std::uint64_t at = 0; at + 16 <= bytes.size(); at += 16) {
    const auto value = *load<std::uint64_t>(bytes, at + 8);
    switch (*load<std::uint64_t>(bytes, at)) {
      case 0:
        return found;
      case tag::needed:
        if (found.needed.size() < kMostNames) found.needed.push_back(value);
        break;
      case tag::string_table:
        found.strings = value;
        break;
      case tag::string_bytes:
        found.string_bytes = value;
        break;
      case tag::soname:
        found.soname = value;
        break;
      case tag::rpath:
        found.rpath = value;
        break;
      case tag::run_path:
        found.run_path = value;
        break;
      case tag::versions:
        found.versions = value;
        break;
      case tag::version_count:
        found.version_count = value;
        break;
      default:
        break;
    }
  }
  return found;
}

// Addresses are those of the loaded file; its segments say where in the file they are.
std::optional<std::uint64_t> file_offset(const std::vector<ElfSegment>& segments,
                                         std::uint64_t address) {
  for (const ElfSegment& segment : segments)
    if (segment.type == 1 && address >= segment.address &&
        address - segment.address < segment.file_size)
      return segment.offset + (address - segment.address);
  return std::nullopt;
}

// Files of debug information keep the segments of the file that they were split from.
std::uint64_t end_of(const ElfHeader& header, const std::vector<ElfSegment>& segments,
                     const std::vector<ElfSection>& sections) {
  constexpr std::uint64_t kCode = 4;
  auto end = header.tables_end();
  if (std::ranges::any_of(sections,
                          [](const auto& s) { return !s.has_bytes() && (s.flags & kCode) != 0; }))
    return end;
  for (const ElfSegment& segment : segments)
    if (segment.type == 1)
      end =
          std::max(end, segment.offset + std::min(segment.file_size, UINT64_MAX - segment.offset));
  return end;
}

// The versions that are wanted (Elf64_Verneed and its Elf64_Vernaux), newest of each name:
// "GLIBC_2.34" counts as GLIBC 2.34, "GLIBC_PRIVATE" and the like do not count.
void read_versions(Bytes bytes, std::uint64_t count, const Text& name_at_offset, ElfFacts& facts) {
  std::map<std::string, Version> newest;
  std::uint64_t at = 0, read = 0;
  for (std::uint64_t i = 0; i < count && i < kMostNames; ++i) {
    const auto names = load<std::uint16_t>(bytes, at + 2);
    const auto first = load<std::uint32_t>(bytes, at + 8),
               next = load<std::uint32_t>(bytes, at + 12);
    if (!names || !next) break;
    std::uint64_t name_at = at + *first;
    for (std::uint16_t k = 0; k < *names && read < kMostNames; ++k, ++read) {
      const auto name = load<std::uint32_t>(bytes, name_at + 8);
      const auto next_name = load<std::uint32_t>(bytes, name_at + 12);
      if (!name || !next_name) break;
      const std::string text = name_at_offset(*name);
      const auto split_at = text.rfind('_');
      if (split_at != std::string_view::npos)
        if (auto version = parse_version(text.substr(split_at + 1))) {
          auto& known = newest[text.substr(0, split_at)];
          known = std::max(known, *version);
        }
      if (*next_name == 0) break;
      name_at += *next_name;
    }
    if (*next == 0) break;
    at += *next;
  }
  facts.symbol_versions.assign(newest.begin(), newest.end());
}

void read_needs(const std::vector<ElfSegment>& segments, const Pieces& pieces, ElfFacts& facts) {
  const auto dynamic_segment =
      std::find_if(segments.begin(), segments.end(), [](const auto& s) { return s.type == 2; });
  if (dynamic_segment == segments.end()) return;  // static, or an object file
  const Bytes dynamic_bytes =
      pieces(dynamic_segment->offset, std::min(dynamic_segment->file_size, kMostTable));
  const Dynamic dynamic = read_dynamic(dynamic_bytes);
  const auto strings_at = file_offset(segments, dynamic.strings);
  // One at a time: the table of a large library has tens of megabytes.
  const Text text = [&](std::uint64_t offset) {
    if (!strings_at || offset >= dynamic.string_bytes) return std::string();
    const Bytes there = pieces(*strings_at + offset,
                               std::min<std::uint64_t>(kMostText, dynamic.string_bytes - offset));
    return std::string(c_string(there, 0).value_or(""));
  };
  const bool named = std::all_of(dynamic.needed.begin(), dynamic.needed.end(),
                                 [&](std::uint64_t name) { return !text(name).empty(); });
  if (dynamic_bytes.empty() || !named) {
    facts.problem = "its dynamic section could not be read: what it needs is not known";
    return;
  }
  for (const std::uint64_t name : dynamic.needed) facts.needed.push_back(text(name));
  if (dynamic.soname) facts.soname = text(*dynamic.soname);
  facts.rpath = !dynamic.run_path && dynamic.rpath;
  if (const auto path = dynamic.run_path ? dynamic.run_path : dynamic.rpath) {
    const std::string folders = text(*path);
    for (const auto part : split(folders, ":")) facts.run_path.emplace_back(part);
  }
  if (const auto versions_at = file_offset(segments, dynamic.versions); versions_at)
    // Its size is not said; as much as is there suffices.
    for (std::uint64_t size = 64u << 10; size > 0; size /= 2)
      if (const Bytes bytes = pieces(*versions_at, size); !bytes.empty()) {
        read_versions(bytes, dynamic.version_count, text, facts);
        break;
      }
}

}  // namespace

std::optional<Version> ElfFacts::glibc() const {
  for (const auto& [name, version] : symbol_versions)
    if (name == "GLIBC") return version;
  return std::nullopt;
}

std::optional<ElfFacts> read_elf_facts(const Pieces& pieces) {
  const auto header = read_elf_header(pieces(0, kElfHeaderBytes));
  if (!header || header->machine == kMachineCuda || header->machine == kMachineAmdGpu)
    return std::nullopt;
  ElfFacts facts;
  facts.machine = machine_name(header->machine);
  facts.type = type_name(header->type);
  // The tables where their offsets are: each is read as if the file began there.
  ElfHeader at_zero = *header;
  at_zero.segment_offset = at_zero.section_offset = 0;
  const auto segments = read_elf_segments(
      at_zero, pieces(header->segment_offset, header->segment_count * std::uint64_t{56}));
  at_zero.section_names = 0xffff;
  const Bytes table = pieces(header->section_offset, header->section_count * std::uint64_t{64});
  auto sections = read_elf_sections(at_zero, table);
  std::vector<std::uint32_t> names;
  for (std::uint64_t i = 0; i < sections.size(); ++i)
    names.push_back(*load<std::uint32_t>(table, i * 64));
  if (header->section_names < sections.size()) {
    const auto& section = sections[header->section_names];
    const Bytes text = pieces(section.offset, std::min(section.size, kMostTable));
    for (std::size_t i = 0; i < sections.size(); ++i)
      if (sections[i].has_bytes() && sections[i].size > 0)
        facts.sections.push_back({std::string(c_string(text, names[i]).value_or("")),
                                  sections[i].offset, sections[i].size});
  }
  for (const ElfSegment& segment : segments)
    if (segment.type == 3)
      facts.interpreter =
          c_string(pieces(segment.offset, std::min<std::uint64_t>(segment.file_size, 4096)), 0)
              .value_or("");
  read_needs(segments, pieces, facts);
  facts.end = end_of(*header, segments, sections);
  return facts;
}

}  // namespace gpuready::pack
