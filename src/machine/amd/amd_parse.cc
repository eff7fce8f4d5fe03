#include "machine/amd/amd_parse.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "base/characters.h"
#include "base/text.h"

namespace gpuready {
namespace {
struct Architecture {
  std::string_view prefix, name;  // the first prefix that fits
};
// LLVM's AMDGPU usage document lists the targets, AMD's ROCm documents the families.
constexpr Architecture kArchitectures[] = {
    {"gfx950", "CDNA 4"},    {"gfx94", "CDNA 3"},  {"gfx90a", "CDNA 2"}, {"gfx908", "CDNA"},
    {"gfx90c", "Vega"},      {"gfx90", "Vega"},    {"gfx120", "RDNA 4"}, {"gfx115", "RDNA 3.5"},
    {"gfx11", "RDNA 3"},     {"gfx103", "RDNA 2"}, {"gfx101", "RDNA"},   {"gfx8", "Polaris"},
    {"gfx7", "Sea Islands"},
};

// Offsets in bytes from the table's start; 0: the version has no such field.
struct MetricsLayout {
  int first_content, last_content;
  std::size_t edge, hotspot, memory, power, activity;
};
constexpr MetricsLayout kLayouts[] = {
    {1, 3, 4, 6, 8, 22, 16},
    {4, 8, 0, 4, 6, 10, 12},
};
constexpr std::uint16_t kNotReported = 0xffff;

std::optional<int> field16(std::string_view bytes, std::size_t offset) {
  if (offset == 0 || offset + 2 > bytes.size()) return std::nullopt;
  const auto low = static_cast<unsigned char>(bytes[offset]);
  const auto high = static_cast<unsigned char>(bytes[offset + 1]);
  const auto value = static_cast<std::uint16_t>(low | high << 8);
  if (value == kNotReported) return std::nullopt;
  return value;
}

std::optional<int> at_most(std::optional<int> value, int limit) {
  return value && *value <= limit ? value : std::nullopt;
}
}  // namespace

KfdProperties parse_kfd_properties(std::string_view text) {
  constexpr std::size_t kMost = 256;
  KfdProperties out;
  for (const auto line : lines(text)) {
    const auto words = split(line, " \t");
    if (words.size() != 2 || out.size() == kMost) continue;
    if (const auto value = parse_uint(words[1])) out.emplace(words[0], *value);
  }
  return out;
}

std::optional<std::uint64_t> property(const KfdProperties& properties, std::string_view key) {
  const auto found = properties.find(key);
  if (found == properties.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> gfx_name(std::uint64_t version) {
  if (version < 10'000 || version > 1'000'000) return std::nullopt;
  std::array<char, 24> out{};
  std::snprintf(out.data(), out.size(), "gfx%u%x%x", static_cast<unsigned>(version / 10'000),
                static_cast<unsigned>(version / 100 % 100), static_cast<unsigned>(version % 100));
  return out.data();
}

std::optional<std::string> amd_architecture(std::string_view gfx) {
  for (const auto& known : kArchitectures)
    if (gfx.starts_with(known.prefix)) return std::string(known.name);
  return std::nullopt;
}

bool is_apu_target(std::string_view gfx) {
  // Kaveri, Carrizo, Stoney; Raven, Renoir; Cyan Skillfish; Van Gogh, Rembrandt, Raphael,
  // Mendocino; Phoenix; Strix, Strix Halo, Krackan (Linux, kfd_device.c and amdgpu_discovery.c).
  constexpr std::string_view kApus[] = {
      "gfx700",  "gfx801",  "gfx810",  "gfx902",  "gfx909",  "gfx90c",  "gfx1013", "gfx1033",
      "gfx1035", "gfx1036", "gfx1037", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
  return std::find(std::begin(kApus), std::end(kApus), gfx) != std::end(kApus);
}

PciAddress kfd_address(std::uint64_t domain, std::uint64_t location_id) {
  return {static_cast<std::uint32_t>(domain), static_cast<std::uint8_t>(location_id >> 8 & 0xff),
          static_cast<std::uint8_t>(location_id >> 3 & 0x1f), 0};
}

DpmClocks parse_dpm(std::string_view text) {
  DpmClocks out;
  for (const auto line : lines(text)) {
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    const auto value = trim(line.substr(colon + 1));
    const auto digits = value.substr(0, value.find_first_not_of("0123456789"));
    const auto unit = value.substr(digits.size());
    const auto mhz = parse_uint(digits);
    if (!mhz || *mhz > 100'000 || !equals_ignore_case(unit.substr(0, 3), "mhz")) continue;
    const int clock = static_cast<int>(*mhz);
    if (contains(unit, "*")) out.now_mhz = clock;
    if (!out.max_mhz || clock > *out.max_mhz) out.max_mhz = clock;
  }
  return out;
}

RasCounts parse_ras(std::string_view text) {
  RasCounts out;
  for (const auto line : lines(text)) {
    if (const auto rest = after_prefix(line, "ue:")) out.uncorrectable = parse_uint(*rest);
    if (const auto rest = after_prefix(line, "ce:")) out.correctable = parse_uint(*rest);
  }
  return out;
}

std::optional<GpuMetrics> parse_gpu_metrics(std::string_view bytes) {
  if (bytes.size() < 4) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const std::size_t size = byte(0) | static_cast<std::size_t>(byte(1)) << 8;
  if (size < 4 || size > bytes.size()) return std::nullopt;
  bytes = bytes.substr(0, size);
  GpuMetrics out;
  out.format_revision = byte(2);
  out.content_revision = byte(3);
  if (out.format_revision != 1) return out;
  for (const auto& layout : kLayouts) {
    if (out.content_revision < layout.first_content || out.content_revision > layout.last_content)
      continue;
    constexpr int kHottest = 250;
    out.edge_celsius = at_most(field16(bytes, layout.edge), kHottest);
    out.hotspot_celsius = at_most(field16(bytes, layout.hotspot), kHottest);
    out.memory_celsius = at_most(field16(bytes, layout.memory), kHottest);
    out.activity_percent = at_most(field16(bytes, layout.activity), 100);
    if (const auto watts = field16(bytes, layout.power))
      out.socket_power_watts = static_cast<std::uint32_t>(*watts);
  }
  return out;
}

std::vector<std::string> rocblas_targets(const std::vector<std::string>& file_names) {
  std::set<std::string> found;
  for (const std::string_view name : file_names) {
    for (auto at = name.find("gfx"); at != name.npos; at = name.find("gfx", at + 3)) {
      auto end = at + 3;
      while (end < name.size() && is_hex(name[end])) ++end;
      const auto length = end - at - 3;
      if (length >= 3 && length <= 4) found.emplace(name.substr(at, end - at));
    }
  }
  return {found.begin(), found.end()};
}

std::optional<std::string> parse_rocm_version(std::string_view text) {
  text = trim(text);
  text = text.substr(0, text.find_first_not_of("0123456789."));
  while (text.ends_with('.')) text.remove_suffix(1);
  if (!parse_version(text) || !contains(text, ".")) return std::nullopt;
  return std::string(text);
}

}  // namespace gpuready
