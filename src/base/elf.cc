#include "base/elf.h"

#include <algorithm>

namespace gpuready {
namespace {

constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 48;  // so that sums cannot overflow
constexpr std::uint64_t kMostTable = 16u << 20;  // of one table: strings, versions, segments
constexpr std::uint64_t kMostSections = 100'000;
constexpr std::size_t kMostNames = 4096;
constexpr std::uint64_t kMostText = 4096;  // of one string

// Nothing if the table does not hold the text, or holds no end of it.
using Text = std::function<std::optional<std::string_view>(std::uint64_t offset)>;

// The entries of a table that are there.
template <class T>
std::vector<T> read_table(Bytes bytes) {
  std::vector<T> entries(bytes.size() / sizeof(T));
  if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(T));
  return entries;
}

// Addresses are those of the loaded file; its segments say where in the file they are.
std::optional<std::uint64_t> file_offset(const std::vector<Elf64_Phdr>& segments,
                                         std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return std::nullopt;
}

// Files of debug information keep the segments of the file that they were split from.
std::uint64_t end_of(const Elf64_Ehdr& header, const std::vector<Elf64_Phdr>& segments,
                     const std::vector<ElfSection>& sections) {
  auto end = tables_end(header);
  if (std::ranges::any_of(sections, [](const ElfSection& section) {
        return !section.has_bytes() && (section.header.sh_flags & SHF_EXECINSTR) != 0;
      }))
    return end;
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD)
      end = std::max(end,
                     segment.p_offset + std::min(segment.p_filesz, UINT64_MAX - segment.p_offset));
  return end;
}

// The versions that are wanted, newest of each name: "GLIBC_2.34" counts as GLIBC 2.34,
// "GLIBC_PRIVATE" and the like do not count.
void read_versions(Bytes bytes, std::uint64_t count, const Text& text, ElfFile& file) {
  std::uint64_t at = 0, read = 0;
  for (std::uint64_t i = 0; i < count && i < kMostNames; ++i) {
    const auto set = load<Elf64_Verneed>(bytes, at);
    if (!set) break;
    std::uint64_t name_at = at + set->vn_aux;
    for (std::uint16_t k = 0; k < set->vn_cnt && read < kMostNames; ++k, ++read) {
      const auto name = load<Elf64_Vernaux>(bytes, name_at);
      if (!name) break;
      const auto wanted = text(name->vna_name).value_or("");
      if (const auto split_at = wanted.rfind('_'); split_at != wanted.npos)
        if (auto version = parse_version(wanted.substr(split_at + 1))) {
          auto& known = file.symbol_versions[wanted.substr(0, split_at)];
          known = std::max(known, *version);
        }
      name_at += name->vna_next;
    }
    at += set->vn_next;
  }
}

void read_needs(const std::vector<Elf64_Phdr>& segments, const Pieces& pieces, ElfFile& file) {
  const auto segment = std::ranges::find(segments, PT_DYNAMIC, &Elf64_Phdr::p_type);
  if (segment == segments.end()) return;  // static, or an object file
  std::vector<std::uint64_t> needed;
  std::map<std::int64_t, std::uint64_t> values;  // of the other tags
  const auto entries =
      read_table<Elf64_Dyn>(pieces(segment->p_offset, std::min(segment->p_filesz, kMostTable)));
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_NEEDED)
      values.insert_or_assign(entry.d_tag, entry.d_un.d_val);
    else if (needed.size() < kMostNames)
      needed.push_back(entry.d_un.d_val);
  }
  const auto strings_at = file_offset(segments, values[DT_STRTAB]);
  const auto strings_end = values.try_emplace(DT_STRSZ, kMostTable).first->second;
  // One at a time: the table of a large library has tens of megabytes.
  const Text text = [&](std::uint64_t offset) -> std::optional<std::string_view> {
    if (!strings_at || offset >= strings_end) return std::nullopt;
    return c_string(pieces(*strings_at + offset, std::min(kMostText, strings_end - offset)), 0);
  };
  const auto soname = values.find(DT_SONAME);
  if (entries.empty() || (soname != values.end() && !text(soname->second)) ||
      std::ranges::any_of(needed, [&](auto name) { return text(name).value_or("").empty(); })) {
    file.problem = "its dynamic section could not be read: what it needs is not known";
    return;
  }
  for (const std::uint64_t name : needed) file.needed.push_back(*text(name));
  if (soname != values.end()) file.soname = *text(soname->second);
  auto path = values.find(DT_RUNPATH);
  if (path == values.end()) path = values.find(DT_RPATH);
  if (path != values.end()) {
    file.rpath = path->first == DT_RPATH;
    file.run_path = text(path->second).value_or("");
  }
  if (const auto versions_at = file_offset(segments, values[DT_VERNEED]))
    // Its size is not said; as much as is there suffices.
    read_versions(pieces(*versions_at, 64u << 10), values[DT_VERNEEDNUM], text, file);
}

}  // namespace

bool is_elf(Bytes bytes) { return starts_with(bytes, ELFMAG); }

std::optional<Elf64_Ehdr> read_elf_header(Bytes bytes) {
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  if (!header || !is_elf(bytes) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB ||
      (header->e_shnum > 0 && header->e_shentsize != sizeof(Elf64_Shdr)) ||
      (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr)) ||
      header->e_shoff > kMostOffset || header->e_phoff > kMostOffset)
    return std::nullopt;
  return header;
}

std::uint64_t tables_end(const Elf64_Ehdr& header) {
  return std::max({std::uint64_t{sizeof header},
                   header.e_shnum == 0 ? 0 : header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
                   header.e_phnum == 0 ? 0 : header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr)});
}

Pieces pieces_of(Bytes bytes) {
  return [bytes](std::uint64_t offset, std::uint64_t size) { return slice(bytes, offset, size); };
}

std::vector<ElfSection> read_elf_sections(const Elf64_Ehdr& header, const Pieces& pieces) {
  std::uint64_t count = header.e_shnum, names = header.e_shstrndx;
  // Large counts are in the first header.
  if (const auto first = load<Elf64_Shdr>(pieces(header.e_shoff, sizeof(Elf64_Shdr)), 0);
      first && header.e_shoff != 0) {
    if (count == 0) count = std::min(first->sh_size, kMostSections);
    if (names == SHN_XINDEX) names = first->sh_link;
  }
  std::vector<ElfSection> sections;
  for (const auto& entry :
       read_table<Elf64_Shdr>(pieces(header.e_shoff, count * sizeof(Elf64_Shdr)))) {
    ElfSection section{.name = {}, .header = entry, .bytes = {}};
    if (section.has_bytes()) section.bytes = pieces(entry.sh_offset, entry.sh_size);
    sections.push_back(section);
  }
  if (names < sections.size())
    for (const Bytes text = sections[names].bytes; ElfSection & section : sections)
      section.name = c_string(text, section.header.sh_name).value_or("");
  return sections;
}

std::vector<Elf64_Phdr> read_elf_segments(const Elf64_Ehdr& header, const Pieces& pieces) {
  return read_table<Elf64_Phdr>(pieces(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)));
}

std::optional<std::uint64_t> elf_file_size(const Elf64_Ehdr& header, Bytes bytes) {
  const auto sections = read_elf_sections(header, pieces_of(bytes));
  if (sections.size() != header.e_shnum) return std::nullopt;
  std::uint64_t end = tables_end(header);
  for (const ElfSection& section : sections) {
    if (!section.has_bytes()) continue;
    const auto& [offset, size] = std::pair(section.header.sh_offset, section.header.sh_size);
    if (offset > kMostOffset || size > kMostOffset) return std::nullopt;
    end = std::max(end, offset + size);
  }
  return end;
}

const ElfSection* ElfFile::section(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &ElfSection::name);
  return found == sections.end() ? nullptr : &*found;
}

std::optional<ElfFile> read_elf(const Pieces& pieces) {
  const auto header = read_elf_header(pieces(0, kElfHeaderBytes));
  if (!header) return std::nullopt;
  ElfFile file;
  file.type = header->e_type;
  file.machine = header->e_machine;
  const auto segments = read_elf_segments(*header, pieces);
  file.sections = read_elf_sections(*header, pieces);
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_INTERP)
      file.interpreter =
          c_string(pieces(segment.p_offset, std::min(segment.p_filesz, kMostText)), 0).value_or("");
  read_needs(segments, pieces, file);
  file.end = end_of(*header, segments, file.sections);
  return file;
}

Result<ElfFile> parse_elf(Bytes bytes, std::string_view name) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::bad_input, std::string(name) + ": " + std::string(what));
  };
  if (!is_elf(bytes) || bytes.size() < kElfHeaderBytes) return bad("not an ELF file");
  if (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
    return bad("an ELF file of 32 bits or of big endian, which is not read");
  auto file = read_elf(pieces_of(bytes));
  if (!file) return bad("its ELF header is damaged");
  if (!file->problem.empty()) return bad(file->problem);
  if (file->end > bytes.size()) return bad("its tables or segments are outside the file");
  for (const ElfSection& section : file->sections)
    if (section.has_bytes() && section.bytes.size() < section.header.sh_size)
      return bad("a section is outside the file");
  return std::move(*file);
}

}  // namespace gpuready
