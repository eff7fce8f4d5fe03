// Device code without a container: cubins, AMD's code objects, frames of zstd that hold them, PTX
// as text, LTO-IR.
#include <algorithm>

#include "base/text.h"
#include "pack/code/amd_elf.h"
#include "pack/code/carrier.h"
#include "pack/code/cubin.h"
#include "pack/code/unpack.h"

namespace gpuready::pack {
namespace {

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
