// Small ELF files for tests: shared objects with names, and kernel modules with a .modinfo.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/elf.h"

namespace gpuready::vm {

class ElfBytes {
 public:
  template <class T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(const std::string& text) { bytes_ += text; }
  void align() { bytes_.resize((bytes_.size() + 7) / 8 * 8); }
  std::size_t size() const { return bytes_.size(); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

inline Elf64_Ehdr elf_header(std::uint16_t type, std::uint16_t machine) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = type;
  header.e_machine = machine;
  return header;
}

inline std::string make_library(const std::string& soname,
                                const std::vector<std::string>& needed = {},
                                const std::string& filler = {},
                                std::uint16_t machine = kElfMachineX86_64) {
  std::string strings(1, '\0');
  const auto add = [&](const std::string& text) {
    const auto at = strings.size();
    strings += text + '\0';
    return at;
  };
  std::vector<Elf64_Dyn> entries;
  for (const auto& name : needed) entries.push_back({DT_NEEDED, {add(name)}});
  if (!soname.empty()) entries.push_back({DT_SONAME, {add(soname)}});
  const auto strings_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const auto dynamic_at = (strings_at + strings.size() + 7) / 8 * 8;
  entries.push_back({DT_STRTAB, {strings_at}});
  entries.push_back({DT_NULL, {0}});
  const auto dynamic_bytes = entries.size() * sizeof(Elf64_Dyn);
  const auto total = dynamic_at + dynamic_bytes;

  auto header = elf_header(ET_DYN, machine);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  ElfBytes out;
  out.put(header);
  out.put(Elf64_Phdr{PT_LOAD, 4, 0, 0, 0, total, total, 4096});
  out.put(Elf64_Phdr{PT_DYNAMIC, 4, dynamic_at, dynamic_at, 0, dynamic_bytes, dynamic_bytes, 8});
  out.put_text(strings);
  out.align();
  for (const auto& entry : entries) out.put(entry);
  out.put_text(filler);
  return out.take();
}

// `info`: lines such as "name=nvidia", each of which gets its NUL.
inline std::string make_module(const std::vector<std::string>& info) {
  std::string modinfo;
  for (const auto& line : info) modinfo += line + '\0';
  const std::string names("\0.modinfo\0.shstrtab\0", 20);
  auto header = elf_header(ET_REL, kElfMachineX86_64);
  const auto modinfo_at = sizeof header, names_at = modinfo_at + modinfo.size();
  header.e_shoff = (names_at + names.size() + 7) / 8 * 8;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  ElfBytes out;
  out.put(header);
  out.put_text(modinfo);
  out.put_text(names);
  out.align();
  out.put(Elf64_Shdr{});
  Elf64_Shdr section{};
  section.sh_name = 1;
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = modinfo_at;
  section.sh_size = modinfo.size();
  out.put(section);
  section.sh_name = 10;
  section.sh_type = SHT_STRTAB;
  section.sh_offset = names_at;
  section.sh_size = names.size();
  out.put(section);
  return out.take();
}

inline std::string make_driver_module(const std::string& name, const std::string& version,
                                      const std::string& depends = "",
                                      const std::string& release = "6.1.0-test") {
  return make_module({"name=" + name, "version=" + version, "license=Dual MIT/GPL",
                      "depends=" + depends, "vermagic=" + release + " SMP preempt mod_unload "});
}

}  // namespace gpuready::vm
