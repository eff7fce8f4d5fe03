#include "pack/code/amd_elf.h"

#include <algorithm>

namespace gpuready::pack {
namespace {

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

}  // namespace

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

}  // namespace gpuready::pack
