#include "base/elf.h"

#include <elf.h>

#include <cstring>
#include <string>

namespace gpuready {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Kernel modules have some hundred sections; a file that claims more than this is not real.
constexpr std::uint64_t kMaxSections = 100'000, kMaxDynamic = 100'000;

std::optional<Bytes> slice(Bytes bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at) return std::nullopt;
  return bytes.subspan(at, size);
}

template <class T>
std::optional<T> read(Bytes bytes, std::uint64_t at) {
  const auto found = slice(bytes, at, sizeof(T));
  if (!found) return std::nullopt;
  T value;
  std::memcpy(&value, found->data(), sizeof value);
  return value;
}

// The text at `at` of a string table; nothing without its NUL.
std::optional<std::string_view> text_at(Bytes table, std::uint64_t at) {
  if (at >= table.size()) return std::nullopt;
  const auto* begin = reinterpret_cast<const char*>(table.data()) + at;
  const auto* end = static_cast<const char*>(std::memchr(begin, 0, table.size() - at));
  if (end == nullptr) return std::nullopt;
  return std::string_view(begin, end);
}

struct Segment {
  std::uint64_t address, offset, size;
};

class Reader {
 public:
  Reader(Bytes bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  Result<ElfFile> read_all() {
    const auto header = read<Elf64_Ehdr>(bytes_, 0);
    if (!is_elf(bytes_) || !header) return bad("not an ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
      return bad("an ELF file of 32 bits or of big endian, which is not read");
    file_.type = header->e_type;
    file_.machine = header->e_machine;
    TRY(read_sections(*header));
    TRY(read_segments(*header));
    return std::move(file_);
  }

 private:
  std::unexpected<Error> bad(std::string_view what) const {
    return fail(ErrorKind::bad_input, std::string(name_) + ": " + std::string(what));
  }

  Result<void> read_sections(const Elf64_Ehdr& header) {
    if (header.e_shoff == 0) return {};
    if (header.e_shentsize != sizeof(Elf64_Shdr))
      return bad("its section headers have an odd size");
    const auto first = read<Elf64_Shdr>(bytes_, header.e_shoff);
    if (!first) return bad("its section headers are outside the file");
    // Large counts are in the first header.
    const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : first->sh_size;
    const std::uint64_t names =
        header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first->sh_link;
    if (count > kMaxSections || !slice(bytes_, header.e_shoff, count * sizeof(Elf64_Shdr)))
      return bad("its section headers are outside the file");
    const auto at = [&](std::uint64_t index) {
      return *read<Elf64_Shdr>(bytes_, header.e_shoff + index * sizeof(Elf64_Shdr));
    };
    Bytes strings;
    if (names != SHN_UNDEF && names < count) {
      const auto found = slice(bytes_, at(names).sh_offset, at(names).sh_size);
      if (!found) return bad("its section names are outside the file");
      strings = *found;
    }
    for (std::uint64_t index = 1; index < count; ++index) {
      const auto section = at(index);
      const auto content = section.sh_type == SHT_NOBITS
                               ? Bytes{}
                               : slice(bytes_, section.sh_offset, section.sh_size);
      if (!content) return bad("a section is outside the file");
      file_.sections.push_back(
          {text_at(strings, section.sh_name).value_or(""), section.sh_type, *content});
    }
    return {};
  }

  Result<void> read_segments(const Elf64_Ehdr& header) {
    if (header.e_phoff == 0 || header.e_phnum == 0) return {};
    if (header.e_phentsize != sizeof(Elf64_Phdr) ||
        !slice(bytes_, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
      return bad("its program headers are outside the file");
    std::optional<Segment> dynamic;
    for (std::uint64_t index = 0; index < header.e_phnum; ++index) {
      const auto segment = *read<Elf64_Phdr>(bytes_, header.e_phoff + index * sizeof(Elf64_Phdr));
      const Segment here{segment.p_vaddr, segment.p_offset, segment.p_filesz};
      if (segment.p_type == PT_LOAD) loaded_.push_back(here);
      if (segment.p_type == PT_DYNAMIC) dynamic = here;
      if (segment.p_type != PT_INTERP) continue;
      const auto text = slice(bytes_, segment.p_offset, segment.p_filesz);
      if (!text) return bad("its loader's name is outside the file");
      file_.interpreter = text_at(*text, 0).value_or("");
    }
    return dynamic ? read_dynamic(*dynamic) : Result<void>();
  }

  // What lies at an address once the file is loaded, to the end of its segment.
  std::optional<Bytes> loaded_at(std::uint64_t address) const {
    for (const auto& segment : loaded_)
      if (address >= segment.address && address - segment.address < segment.size)
        return slice(bytes_, segment.offset + (address - segment.address),
                     segment.size - (address - segment.address));
    return std::nullopt;
  }

  Result<void> read_dynamic(const Segment& dynamic) {
    const auto table = slice(bytes_, dynamic.offset, dynamic.size);
    if (!table || dynamic.size / sizeof(Elf64_Dyn) > kMaxDynamic)
      return bad("its dynamic section is outside the file");
    std::vector<Elf64_Dyn> entries;
    std::optional<Bytes> strings;
    for (std::size_t at = 0; const auto entry = read<Elf64_Dyn>(*table, at); at += sizeof *entry) {
      if (entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_STRTAB) strings = loaded_at(entry->d_un.d_ptr);
      entries.push_back(*entry);
    }
    std::string_view rpath;
    for (const auto& entry : entries) {
      if (entry.d_tag != DT_SONAME && entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH &&
          entry.d_tag != DT_RUNPATH)
        continue;
      const auto text = strings ? text_at(*strings, entry.d_un.d_val) : std::nullopt;
      if (!text) return bad("a name in its dynamic section is outside the file");
      if (entry.d_tag == DT_SONAME) file_.soname = *text;
      if (entry.d_tag == DT_NEEDED) file_.needed.push_back(*text);
      if (entry.d_tag == DT_RUNPATH) file_.run_path = *text;
      if (entry.d_tag == DT_RPATH) rpath = *text;
    }
    if (file_.run_path.empty()) file_.run_path = rpath;
    return {};
  }

  Bytes bytes_;
  std::string_view name_;
  ElfFile file_;
  std::vector<Segment> loaded_;
};

}  // namespace

const ElfSection* ElfFile::section(std::string_view name) const {
  for (const auto& section : sections)
    if (section.name == name) return &section;
  return nullptr;
}

bool is_elf(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

Result<ElfFile> parse_elf(std::span<const std::uint8_t> bytes, std::string_view name) {
  return Reader(bytes, name).read_all();
}

}  // namespace gpuready
