#include "pack/code/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "pack/code/magic.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kSearchStep = 1u << 20;
constexpr std::size_t kMostProblems = 8;
constexpr std::size_t kMostPlaces = 1u << 20;  // 24 bytes each
constexpr std::uint64_t kMostInnerElf = 16u << 20;
constexpr std::size_t kMostSections = 1u << 20;
constexpr std::size_t kMostCodes = 1u << 18;  // kinds of code, in all different carriers together
constexpr std::string_view kStaticLibrary = "!<arch>\n";
// Code that a linker has still to put together: an object file's.
constexpr std::string_view kRelocatableSection = "__nv_relfatbin";

using Reader = std::optional<CarrierFound> (*)(Source&);
constexpr std::array<Reader, 7> kReaders = {
    // in the order of Magic
    read_fat_binary,         read_zstd_frame, read_bare_elf, read_offload_bundle,
    read_compressed_offload, read_ptx_text,   read_lto_ir,
};

// The carriers found so far: what each holds is kept once.
class Collector {
 public:
  void add(CarrierFound found) {
    if (!found.problem.empty())
      note(fmt::format("the {} at byte {}: {}", name_of(found.carrier), found.offset,
                       found.problem));
    std::sort(found.codes.begin(), found.codes.end());
    found.codes.erase(std::unique(found.codes.begin(), found.codes.end()), found.codes.end());
    if (places_.size() == kMostPlaces || codes_ + found.codes.size() > kMostCodes) {
      note("there is more device code than can be distinguished: the rest is left out");
      return;
    }
    const std::size_t kinds = found.codes.size();
    const auto [content, is_new] =
        contents_.try_emplace({found.carrier, std::move(found.codes)}, contents_.size());
    if (is_new) codes_ += kinds;
    places_.push_back({found.offset, found.bytes, content->second});
  }
  void note(std::string problem) {
    if (problems_.size() < kMostProblems) problems_.push_back(std::move(problem));
  }
  bool takes_sections() const { return sections_.size() < kMostSections; }
  void add_sections(std::vector<Section> sections) {
    sections_.insert(sections_.end(), std::make_move_iterator(sections.begin()),
                     std::make_move_iterator(sections.end()));
  }

  Census take(std::uint64_t file_bytes) {
    std::sort(sections_.begin(), sections_.end(),
              [](const Section& a, const Section& b) { return a.offset < b.offset; });
    std::vector<const std::pair<const Content, std::size_t>*> contents(contents_.size());
    for (const auto& content : contents_) contents[content.second] = &content;
    Census census{
        .groups = {}, .file_bytes = file_bytes, .code_bytes = 0, .problems = std::move(problems_)};
    // LTO-IR has no length. Where it is a file of its own, it is the whole of it.
    if (places_.size() == 1 && places_[0].offset == 0 &&
        contents[places_[0].content]->first.first == Carrier::lto_ir)
      places_[0].bytes = file_bytes;
    std::map<std::pair<std::size_t, std::string_view>, CarrierGroup> groups;
    for (const Place& place : places_) {
      const auto section = section_at(place.offset);
      auto& group = groups[{place.content, section}];
      if (group.count++ == 0) {
        group.carrier = contents[place.content]->first.first;
        group.codes = contents[place.content]->first.second;
        group.section = section;
        group.first_offset = place.offset;
      }
      group.bytes += place.bytes;
      group.offsets.push_back(place.offset);
      census.code_bytes += place.bytes;
    }
    for (auto& [key, group] : groups) {
      if (group.section == kRelocatableSection)
        for (DeviceCode& code : group.codes) code.relocatable = true;
      census.groups.push_back(std::move(group));
    }
    std::sort(census.groups.begin(), census.groups.end(),
              [](const auto& a, const auto& b) { return a.first_offset < b.first_offset; });
    return census;
  }

 private:
  using Content = std::pair<Carrier, std::vector<DeviceCode>>;
  struct Place {
    std::uint64_t offset, bytes;
    std::size_t content;
  };
  std::string_view section_at(std::uint64_t offset) const {
    auto after = std::upper_bound(
        sections_.begin(), sections_.end(), offset,
        [](std::uint64_t at, const Section& section) { return at < section.offset; });
    if (after == sections_.begin()) return {};
    --after;
    return offset - after->offset < after->size ? std::string_view(after->name) : "";
  }

  std::map<Content, std::size_t> contents_;
  std::vector<Place> places_;
  std::vector<Section> sections_;
  std::vector<std::string> problems_;
  std::size_t codes_ = 0;
};

// The sections of an object file inside a static library.
std::vector<Section> inner_sections(Source& source) {
  const auto header = read_elf_header(source.peek(kElfHeaderBytes));
  if (!header || source.position() == 0 || tables_end(*header) > kMostInnerElf) return {};
  const Bytes bytes = source.peek(tables_end(*header));
  return sections_with_bytes(read_elf_sections(*header, pieces_of(bytes)), source.position(),
                             bytes.size());
}

}  // namespace

std::vector<Section> sections_with_bytes(const std::vector<ElfSection>& sections,
                                         std::uint64_t start, std::uint64_t most) {
  std::vector<Section> found;
  for (const ElfSection& section : sections)
    if (const auto& [offset, size] = std::pair(section.header.sh_offset, section.header.sh_size);
        section.has_bytes() && size > 0 && size <= most)
      found.push_back({std::string(section.name), start + offset, size});
  return found;
}

Census take_census(Source& source, const std::function<std::vector<Section>()>& sections) {
  Collector collector;
  const bool static_library = starts_with(source.peek(kStaticLibrary.size()), kStaticLibrary);
  while (true) {
    const Bytes bytes = source.peek(kSearchStep);
    if (bytes.size() < kMagicBytes) break;
    const auto magic = find_magic(bytes);
    if (!magic) {
      source.skip(bytes.size() - (kMagicBytes - 1));
      continue;
    }
    source.skip(magic->offset);
    if (auto found = kReaders[static_cast<std::size_t>(magic->magic)](source)) {
      collector.add(std::move(*found));
      continue;
    }
    if (magic->magic == Magic::elf && static_library && collector.takes_sections())
      collector.add_sections(inner_sections(source));
    source.skip(1);
  }
  source.skip(kMagicBytes);
  if (const auto error = source.error()) collector.note(error->message);
  if (sections) collector.add_sections(sections());
  return collector.take(source.position());
}

}  // namespace gpuready::pack
