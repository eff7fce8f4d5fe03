#include "pack/code/cubin.h"

#include <algorithm>

namespace gpuready::pack {
namespace {

// EI_OSABI of CUDA 12.8 and newer (8 in the ABI's version byte) and of older toolkits.
constexpr std::uint8_t kNewAbi = 0x41, kOldAbi = 0x33;
// Bits of the flags that say "for one architecture": of the old ABI, and of the new one as
// CUDA 12.8 and 12.9 wrote it. CUDA 13 has an attribute instead.
constexpr std::uint32_t kOldOneArchitecture = 0x800, kNewOneArchitecture = 0x8;

// .nv.compat is a list of attributes: a format, a name and a value, which format 4 gives the length
// of. Attribute 9 says whether the code is for its architecture alone.
bool for_one_architecture(Bytes attributes) {
  for (std::uint64_t at = 0; at + 4 <= attributes.size();) {
    const std::uint8_t format = attributes[at], name = attributes[at + 1];
    if (format == 2 && name == 9) return attributes[at + 2] != 0;
    at += 4 + (format == 4 ? *load<std::uint16_t>(attributes, at + 2) : 0);
  }
  return false;
}
// The command line in .note.nv.tkinfo, "-arch sm_100f", is the one place that tells code for a
// family. Nothing where it is not in this text.
std::optional<char> suffix_in_command_line(std::string_view text, const CudaTarget& target) {
  const std::string option = "-arch sm_" + target.number();
  const auto at = text.find(option);
  if (at == std::string_view::npos || at + option.size() >= text.size()) return std::nullopt;
  const char next = text[at + option.size()];
  return next == 'a' || next == 'f' ? next : '\0';
}

struct Sections {
  bool known = false;  // all of them
  bool kernel = false;
  Bytes compat, tool_note;
};
Sections read_sections(const Elf64_Ehdr& header, Bytes bytes) {
  Sections found;
  const auto sections = read_elf_sections(header, pieces_of(bytes));
  found.known = sections.size() == header.e_shnum;
  for (const ElfSection& section : sections) {
    found.kernel |= section.name.starts_with(kKernelSection) && section.header.sh_size > 0;
    if (section.name == ".nv.compat") found.compat = section.bytes;
    if (section.name == ".note.nv.tkinfo") found.tool_note = section.bytes;
  }
  return found;
}

}  // namespace

std::optional<DeviceCode> read_cubin(Bytes bytes) {
  const auto header = read_elf_header(bytes);
  if (!header || header->e_machine != kElfMachineCuda) return std::nullopt;
  const bool new_abi = header->e_ident[EI_OSABI] == kNewAbi;
  if (!new_abi && header->e_ident[EI_OSABI] != kOldAbi) return std::nullopt;
  auto target = cuda_target(new_abi ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff, 0);
  if (!target) return std::nullopt;
  DeviceCode code{.kind = CodeKind::cubin};
  code.relocatable = header->e_type == ET_REL;
  const Sections sections = read_sections(*header, bytes);
  code.empty = sections.known && !sections.kernel;
  if (target->major >= 9 && !new_abi) {
    if ((header->e_flags & kOldOneArchitecture) != 0) target->suffix = 'a';
  } else if (target->major >= 9) {
    // Of a file that is there in part, its start may hold the note.
    const auto written = suffix_in_command_line(
        sections.known ? text_of(sections.tool_note) : text_of(bytes), *target);
    if ((header->e_flags & kNewOneArchitecture) != 0 || for_one_architecture(sections.compat)) {
      target->suffix = 'a';
    } else {
      target->suffix = written.value_or('\0');
      code.suffix_unknown = !sections.known && !written;
    }
  }
  code.cuda = target;
  return code;
}

}  // namespace gpuready::pack
