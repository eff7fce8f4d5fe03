// Writers of small files with device code: what the readers read, made by ourselves.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuready::pack::fixture {

using Data = std::vector<std::uint8_t>;

inline Data raw(std::string_view text) { return {text.begin(), text.end()}; }
inline void append(Data& to, const Data& more) { to.insert(to.end(), more.begin(), more.end()); }
template <class T>
void put(Data& to, std::size_t at, T value) {
  if (to.size() < at + sizeof value) to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}

// ---- ELF
struct ElfPart {
  std::string name;
  Data bytes;
};
struct ElfOptions {
  std::uint8_t os_abi = 0, abi_version = 0;
  std::uint16_t type = 2, machine = 190;
  std::uint32_t flags = 0;
};
// Header, sections, their names, and the table of sections at the end, as compilers write them.
inline Data elf(const ElfOptions& options, const std::vector<ElfPart>& parts) {
  Data out(64);
  std::memcpy(out.data(),
              "\x7f"
              "ELF\2\1\1",
              7);
  out[7] = options.os_abi;
  out[8] = options.abi_version;
  put(out, 16, options.type);
  put(out, 18, options.machine);
  put(out, 20, std::uint32_t{1});
  put(out, 48, options.flags);
  Data names(1), table(64);  // the first of both is empty
  const auto add = [&](const std::string& name, const Data& bytes) {
    const std::size_t at = table.size();
    put(table, at, static_cast<std::uint32_t>(names.size()));
    put(table, at + 4, std::uint32_t{1});
    put(table, at + 24, std::uint64_t{out.size()});
    put(table, at + 32, std::uint64_t{bytes.size()});
    table.resize(at + 64);
    append(names, raw(name));
    names.push_back(0);
    append(out, bytes);
  };
  for (const ElfPart& part : parts) add(part.name, part.bytes);
  names.reserve(names.size() + 16);
  Data all_names = names;
  append(all_names, raw(".shstrtab"));
  all_names.push_back(0);
  const auto count = static_cast<std::uint16_t>(parts.size() + 2);
  add(".shstrtab", all_names);
  put(out, 40, std::uint64_t{out.size()});
  put(out, 58, std::uint16_t{64});
  put(out, 60, count);
  put(out, 62, static_cast<std::uint16_t>(count - 1));
  append(out, table);
  return out;
}

struct CubinOptions {
  int architecture = 80;
  char suffix = 0;
  bool old_abi = false, relocatable = false, kernel = true;
  std::size_t code_bytes = 256, constant_bytes = 0;  // constants are noise
};
inline Data cubin(const CubinOptions& options) {
  ElfOptions header{.type = static_cast<std::uint16_t>(options.relocatable ? 1 : 2)};
  const auto architecture = static_cast<std::uint32_t>(options.architecture);
  std::vector<ElfPart> parts;
  if (options.old_abi) {
    header.os_abi = 0x33;
    header.abi_version = 7;
    header.flags = architecture << 16 | 0x500 | architecture | (options.suffix == 'a' ? 0x800 : 0);
  } else {
    header.os_abi = 0x41;
    header.abi_version = 8;
    header.flags = 0x06000004 | architecture << 8;
    std::string note = "NVIDIA Corp ptxas -arch sm_" + std::to_string(options.architecture);
    if (options.suffix != 0) note += options.suffix;
    parts.push_back({".note.nv.tkinfo", raw(note + " ")});
    Data compat = {4, 11, 4, 0, 9, 0, 0, 0, 2, 9, options.suffix == 'a', 0, 2, 2, 1, 0};
    parts.push_back({".nv.compat", compat});
  }
  if (options.constant_bytes > 0) {
    Data noise(options.constant_bytes);
    for (std::uint32_t i = 0; i < noise.size(); ++i)
      noise[i] = static_cast<std::uint8_t>(i * 2654435761u >> 24);
    parts.push_back({".nv.constant0", noise});
  }
  if (options.kernel) parts.push_back({".text.kernel", Data(options.code_bytes, 0x5a)});
  return elf(header, parts);
}

// ---- compression
inline Data zstd(const Data& bytes) {
  Data out(ZSTD_compressBound(bytes.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}
// An LZ4 block that repeats what it can from 4 bytes before, so that literals, matches that overlap
// themselves and long lengths all occur.
inline Data lz4(const Data& bytes) {
  Data out;
  const auto length = [&](std::size_t rest) {
    for (; rest >= 255; rest -= 255) out.push_back(255);
    out.push_back(static_cast<std::uint8_t>(rest));
  };
  std::size_t from = 0, at = 0;
  const auto write = [&](std::size_t match) {
    const std::size_t literals = at - from;
    out.push_back(
        static_cast<std::uint8_t>(std::min<std::size_t>(literals, 15) << 4 |
                                  (match == 0 ? 0 : std::min<std::size_t>(match - 4, 15))));
    if (literals >= 15) length(literals - 15);
    out.insert(out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from),
               bytes.begin() + static_cast<std::ptrdiff_t>(at));
    if (match == 0) return;
    out.push_back(4);
    out.push_back(0);
    if (match >= 19) length(match - 19);
  };
  while (at < bytes.size()) {
    std::size_t match = 0;
    if (at >= 4)
      while (at + match < bytes.size() && bytes[at + match] == bytes[at + match - 4]) ++match;
    if (match < 4) {
      ++at;
      continue;
    }
    write(match);
    at += match;
    from = at;
  }
  write(0);
  return out;
}

// ---- fat binaries
struct EntryOptions {
  std::uint16_t kind = 2;  // 1 PTX, 2 cubin, 8 LTO-IR
  std::uint32_t architecture = 80;
  Data payload = {};
  std::uint64_t flags = 0x11;
  std::pair<int, int> isa = {1, 7};  // major, minor; of machine code the ABI
  char packed = 0;                   // 'l' LZ4, 'z' zstd
  std::uint32_t header_bytes = 64;
};
inline Data entry(EntryOptions options) {
  Data out(options.header_bytes);
  const auto unpacked = options.payload.size();
  std::uint32_t packed_bytes = 0;
  if (options.packed != 0) {
    options.payload = options.packed == 'l' ? lz4(options.payload) : zstd(options.payload);
    options.flags |= options.packed == 'l' ? 0x2000 : 0x8000;
    packed_bytes = static_cast<std::uint32_t>(options.payload.size());
  }
  options.payload.resize((options.payload.size() + 7) / 8 * 8);  // payloads are padded
  put(out, 0, options.kind);
  put(out, 2, std::uint16_t{0x101});
  put(out, 4, options.header_bytes);
  put(out, 8, std::uint64_t{options.payload.size()});
  put(out, 16, packed_bytes);
  put(out, 24, static_cast<std::uint16_t>(options.isa.second));
  put(out, 26, static_cast<std::uint16_t>(options.isa.first));
  put(out, 28, options.architecture);
  put(out, 40, options.flags);
  put(out, 56, std::uint64_t{packed_bytes == 0 ? 0 : unpacked});
  append(out, options.payload);
  return out;
}
inline Data cubin_entry(int architecture, char suffix = 0, char packed = 0, bool kernel = true) {
  return entry(
      {.architecture = static_cast<std::uint32_t>(architecture),
       .payload = cubin({.architecture = architecture, .suffix = suffix, .kernel = kernel}),
       .flags = 0x11u | (suffix == 'a'   ? 1u << 20
                         : suffix == 'f' ? 1u << 21
                                         : 0u),
       .packed = packed});
}
inline std::string ptx(int architecture, std::string_view isa = "8.7", bool kernel = true) {
  return "//\n// made by hand\n.version " + std::string(isa) + "\n.target sm_" +
         std::to_string(architecture) + "\n.address_size 64\n" +
         (kernel ? ".visible .entry k() { ret; }\n" : "");
}
inline Data ptx_entry(int architecture, std::pair<int, int> isa, char packed = 0,
                      bool kernel = true) {
  return entry({.kind = 1,
                .architecture = static_cast<std::uint32_t>(architecture),
                .payload = raw(ptx(architecture, "8.7", kernel)),
                .isa = isa,
                .packed = packed});
}
inline Data fat_binary(const std::vector<Data>& entries) {
  Data out(16);
  put(out, 0, std::uint32_t{0xba55ed50});
  put(out, 4, std::uint16_t{1});
  put(out, 6, std::uint16_t{16});
  for (const Data& one : entries) append(out, one);
  put(out, 8, std::uint64_t{out.size() - 16});
  return out;
}

// ---- clang's bundles
inline Data bundle(const std::vector<std::pair<std::string, Data>>& entries) {
  Data out = raw("__CLANG_OFFLOAD_BUNDLE__");
  put(out, 24, std::uint64_t{entries.size()});
  std::size_t header = 32;
  for (const auto& [id, code] : entries) header += 24 + id.size();
  std::size_t at = header;
  for (const auto& [id, code] : entries) {
    Data one(24);
    put(one, 0, std::uint64_t{at});
    put(one, 8, std::uint64_t{code.size()});
    put(one, 16, std::uint64_t{id.size()});
    append(out, one);
    append(out, raw(id));
    at += code.size();
  }
  for (const auto& [id, code] : entries) append(out, code);
  return out;
}
inline Data compressed_bundle(const Data& bundle, std::uint16_t version) {
  Data out = raw("CCOB");
  const Data packed = zstd(bundle);
  put(out, 4, version);
  put(out, 6, std::uint16_t{1});
  const std::size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
  if (version == 1) put(out, 8, static_cast<std::uint32_t>(bundle.size()));
  if (version == 2) {
    put(out, 8, static_cast<std::uint32_t>(header + packed.size()));
    put(out, 12, static_cast<std::uint32_t>(bundle.size()));
  }
  if (version == 3) {
    put(out, 8, std::uint64_t{header + packed.size()});
    put(out, 16, std::uint64_t{bundle.size()});
  }
  out.resize(header);
  append(out, packed);
  return out;
}

}  // namespace gpuready::pack::fixture
