// Device code without a container: cubins, AMD's code objects, frames of zstd that hold them, PTX
// as text, LTO-IR.
#include <algorithm>

#include "base/elf.h"
#include "base/text.h"
#include "pack/code/carrier.h"
#include "pack/code/code.h"
#include "pack/code/cubin.h"
#include "pack/code/unpack.h"

namespace gpuready::pack {
namespace {

// AMD's code objects: ELF files of machine 224, whose flags name the processor.
// Source: LLVM, "User Guide for AMDGPU Backend", e_flags of code object versions 3 to 6.
// EF_AMDGPU_MACH. Those that clang 19 knows were compared with what it writes.
struct Machine {
  std::uint32_t number;
  std::string_view processor;
};
constexpr Machine kMachines[] = {
    {0x20, "gfx600"},          {0x21, "gfx601"},          {0x3a, "gfx602"},
    {0x22, "gfx700"},          {0x23, "gfx701"},          {0x24, "gfx702"},
    {0x25, "gfx703"},          {0x26, "gfx704"},          {0x3b, "gfx705"},
    {0x28, "gfx801"},          {0x29, "gfx802"},          {0x2a, "gfx803"},
    {0x3c, "gfx805"},          {0x2b, "gfx810"},          {0x2c, "gfx900"},
    {0x2d, "gfx902"},          {0x2e, "gfx904"},          {0x2f, "gfx906"},
    {0x30, "gfx908"},          {0x31, "gfx909"},          {0x3f, "gfx90a"},
    {0x32, "gfx90c"},          {0x40, "gfx940"},          {0x4b, "gfx941"},
    {0x4c, "gfx942"},          {0x4f, "gfx950"},          {0x33, "gfx1010"},
    {0x34, "gfx1011"},         {0x35, "gfx1012"},         {0x42, "gfx1013"},
    {0x36, "gfx1030"},         {0x37, "gfx1031"},         {0x38, "gfx1032"},
    {0x39, "gfx1033"},         {0x3e, "gfx1034"},         {0x3d, "gfx1035"},
    {0x45, "gfx1036"},         {0x41, "gfx1100"},         {0x46, "gfx1101"},
    {0x47, "gfx1102"},         {0x44, "gfx1103"},         {0x43, "gfx1150"},
    {0x4a, "gfx1151"},         {0x55, "gfx1152"},         {0x58, "gfx1153"},
    {0x48, "gfx1200"},         {0x4e, "gfx1201"},         {0x49, "gfx1250"},
    {0x5a, "gfx1251"},         {0x51, "gfx9-generic"},    {0x5f, "gfx9-4-generic"},
    {0x52, "gfx10-1-generic"}, {0x53, "gfx10-3-generic"}, {0x54, "gfx11-generic"},
    {0x59, "gfx12-generic"},
};

constexpr std::uint8_t kHsaAbi = 64;

// Two bits from `shift` on: 0 the processor has no such feature, 1 any, 2 off, 3 on.
std::optional<bool> feature(std::uint32_t flags, int shift) {
  switch (flags >> shift & 3) {
    case 2:
      return false;
    case 3:
      return true;
    default:
      return std::nullopt;
  }
}

std::optional<DeviceCode> read_amd_code_object(Bytes bytes) {
  const auto header = read_elf_header(bytes);
  if (!header || header->e_machine != kElfMachineAmdGpu || header->e_ident[EI_OSABI] != kHsaAbi)
    return std::nullopt;
  DeviceCode code{.kind = CodeKind::amd, .relocatable = header->e_type == ET_REL};
  const auto* known = std::find_if(
      std::begin(kMachines), std::end(kMachines),
      [&](const Machine& machine) { return machine.number == (header->e_flags & 0xff); });
  if (known == std::end(kMachines)) return code;
  GfxTarget target{.processor = std::string(known->processor), .sramecc = {}, .xnack = {}};
  if (header->e_ident[EI_ABIVERSION] >= 2) {  // code object 4; 3 had one bit each
    target.xnack = feature(header->e_flags, 8);
    target.sramecc = feature(header->e_flags, 10);
  } else {
    if ((header->e_flags & 0x100) != 0) target.xnack = true;
    if ((header->e_flags & 0x200) != 0) target.sramecc = true;
  }
  code.gfx = std::move(target);
  return code;
}

constexpr std::size_t kZstdHead = 256u << 10;  // more than a block, packed
// How much of a frame is unpacked, until it is known what its code is for: one block first, which
// is unpacked at once anyway.
constexpr std::size_t kUnpackedSteps[] = {128u << 10, 1u << 20, 32u << 20};
constexpr std::size_t kLtoHeaderBytes = 32;
constexpr std::size_t kPtxHead = 4096;  // the directives stand at the start
constexpr std::size_t kPtxStep = 64u << 10, kPtxOverlap = 16;

struct BareElf {
  DeviceCode code;
  Carrier carrier;
};
std::optional<BareElf> device_elf(Bytes bytes) {
  if (auto cubin = read_cubin(bytes)) return BareElf{std::move(*cubin), Carrier::cubin};
  if (auto object = read_amd_code_object(bytes))
    return BareElf{std::move(*object), Carrier::amd_code};
  return std::nullopt;
}

// The source's bytes from here to the end of the frame, or nothing where there is none or it is
// larger than a window.
std::optional<Bytes> whole_frame(Source& source) {
  for (std::size_t ask = kZstdHead;; ask = std::min(ask * 4, kMostWindow)) {
    const Bytes bytes = source.peek(ask);
    if (const auto size = zstd_frame_bytes(bytes)) return bytes.first(*size);
    if (bytes.size() < ask || ask == kMostWindow) return std::nullopt;
  }
}

// ".version 8.7" and ".target sm_90a, debug" of PTX.
struct PtxDirectives {
  Version isa;
  CudaTarget target;
};
std::optional<std::string_view> operand(std::string_view text, std::string_view directive) {
  const auto at = text.find(directive);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + directive.size());
  const auto words = split(text.substr(0, 64), " \t\r\n,;/");
  if (words.empty()) return std::nullopt;
  return words[0];
}
std::optional<PtxDirectives> read_directives(std::string_view text) {
  if (!text.starts_with(".version ") && !text.starts_with(".version\t")) return std::nullopt;
  const auto isa_text = operand(text, ".version");
  const auto target_text = operand(text, ".target");
  if (!isa_text || !target_text || !target_text->starts_with("sm_")) return std::nullopt;
  const auto isa = parse_version(*isa_text);
  const auto target = parse_cuda_target(*target_text);
  if (!isa || isa->parts.size() != 2 || !target) return std::nullopt;
  return PtxDirectives{*isa, *target};
}

bool is_text(char c) {
  return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
}
// Where the text of a module that begins before `text` ends in it: behind its last function and the
// blanks that follow, so that bytes of something else which look like text are not taken for it.
std::size_t ptx_end(std::string_view text) {
  const auto brace = text.rfind('}');
  if (brace == text.npos) return 0;
  return std::min(text.find_first_not_of(" \t\r\n", brace + 1), text.size());
}
// Text has no length: it ends before what is none, and before the next module.
void skip_ptx_body(Source& source) {
  for (;;) {
    const Bytes bytes = slice(source.peek(kPtxStep), 0, kPtxStep);
    const auto stop = static_cast<std::size_t>(
        std::find_if_not(bytes.begin(), bytes.end(),
                         [](std::uint8_t c) { return is_text(static_cast<char>(c)); }) -
        bytes.begin());
    const auto text = text_of(bytes.first(stop));
    const auto next = text.find(".version");
    const auto end = ptx_end(text.substr(0, next));
    const bool goes_on = stop == kPtxStep && next == text.npos;
    // A function that is longer than a step.
    source.skip(goes_on && end == 0 ? kPtxStep - kPtxOverlap : end);
    if (!goes_on) return;
  }
}

}  // namespace

std::optional<CarrierFound> read_bare_elf(Source& source) {
  const auto header = read_elf_header(source.peek(kElfHeaderBytes));
  if (!header || (header->e_machine != kElfMachineCuda && header->e_machine != kElfMachineAmdGpu))
    return std::nullopt;
  // No more than that, so that what is read does not depend on how the bytes come.
  const auto want = std::min<std::uint64_t>(tables_end(*header), kMostWindow);
  const Bytes bytes = slice(source.peek(want), 0, want);
  auto elf = device_elf(bytes);
  if (!elf) return std::nullopt;
  CarrierFound found{.carrier = elf->carrier, .offset = source.position()};
  const auto left = source.left();
  auto size = elf_file_size(*header, bytes);
  if (!size || (left && *size > *left)) {
    found.problem = "it is cut short";
    // Its tables, where they are there, are not read again from the next magic in them on.
    size = bytes.size() >= tables_end(*header) ? tables_end(*header) : kElfHeaderBytes;
  }
  found.codes.push_back(std::move(elf->code));
  source.skip(*size);
  found.bytes = source.position() - found.offset;
  if (found.bytes < *size) found.problem = "it is cut short";  // of a size that no one knew
  return found;
}

std::optional<CarrierFound> read_zstd_frame(Source& source) {
  if (!device_elf(unpack_zstd(source.peek(kZstdHead), kElfHeaderBytes))) return std::nullopt;
  const auto frame = whole_frame(source);
  if (!frame) return std::nullopt;
  std::optional<BareElf> elf;
  for (const std::size_t most : kUnpackedSteps) {
    const Unpacked unpacked = unpack_zstd(*frame, most);
    elf = device_elf(unpacked);
    if (!elf) return std::nullopt;
    if (!elf->code.suffix_unknown || unpacked.size() < most) break;
  }
  CarrierFound found{.carrier = Carrier::zstd_cubin, .offset = source.position()};
  elf->code.compression = Compression::zstd;
  found.codes.push_back(std::move(elf->code));
  found.bytes = frame->size();
  source.skip(found.bytes);
  return found;
}

// The header of LTO-IR, as nvcc 13.0 writes it: the architecture, times ten, stands at byte 26.
std::optional<CarrierFound> read_lto_ir(Source& source) {
  const Bytes head = source.peek(kLtoHeaderBytes);
  const auto architecture = load<std::uint16_t>(head, 26);
  if (!architecture || *architecture % 10 != 0 || load<std::uint8_t>(head, 4) > 1)
    return std::nullopt;
  const auto target = cuda_target(*architecture / 10u, 0);
  if (!target) return std::nullopt;
  CarrierFound found{
      .carrier = Carrier::lto_ir, .offset = source.position(), .bytes = kLtoHeaderBytes};
  found.codes.push_back({.kind = CodeKind::lto_ir, .cuda = target});
  source.skip(kLtoHeaderBytes);
  return found;
}

std::optional<CarrierFound> read_ptx_text(Source& source) {
  const std::string_view text = text_of(source.peek(kPtxHead)).substr(0, kPtxHead);
  const auto directives = read_directives(text.substr(0, text.find('\0')));
  if (!directives) return std::nullopt;
  CarrierFound found{.carrier = Carrier::ptx_text, .offset = source.position()};
  found.codes.push_back(
      {.kind = CodeKind::ptx, .cuda = directives->target, .ptx_isa = directives->isa});
  source.skip(text.find(".target"));
  skip_ptx_body(source);
  found.bytes = source.position() - found.offset;
  return found;
}

}  // namespace gpuready::pack
