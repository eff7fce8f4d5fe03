// The parsers of files, by the input's first byte. Each must accept any bytes; what can be said
// about every answer is checked.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "base/text.h"
#include "machine/amd/amd_parse.h"
#include "machine/fake.h"
#include "machine/pci/pci_files.h"
#include "machine/pci/pci_ids.h"
#include "machine/system/container.h"
#include "machine/system/kernel_log.h"
#include "machine/system/system.h"
#include "machine/system/toolkits.h"

namespace {
using namespace gpuready;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (const auto line : lines(text)) out.emplace_back(line);
  return out;
}

void fuzz_kernel_log(std::string_view text) {
  const auto log = parse_kernel_log(text);
  require(log.lines.size() <= kKernelLogMostLines && log.xids.size() <= kKernelLogMostLines);
  for (const auto& line : log.lines) require(printable(line.text) == line.text);
  // What a user has the kernel quote is nobody's message.
  const auto quoted = text.substr(0, text.find('\n'));
  require(
      parse_kernel_log(std::string("1.5 tmpfs: Unknown parameter '").append(quoted)).lines.empty());
  const std::string name(quoted.substr(0, 15));
  require(parse_kernel_log("1.5 " + name + "[42]: segfault at 0 ip 00 sp 00 error 4").xids.empty());
}
void fuzz_address(std::string_view text) {
  if (const auto address = parse_pci_address(text))
    require(parse_pci_address(address->text()) == address);
}
void fuzz_path(std::string_view text) { parse_pci_path(text); }
void fuzz_links(std::string_view text) {
  const auto generation = parse_link_speed(text);
  require(!generation || (*generation >= 1 && *generation <= 6));
  parse_link_width(text);
  parse_aer_total(text, "TOTAL_ERR_COR");
  parse_target_generation(text);
}
void fuzz_bars(std::string_view text) { require(parse_bar_sizes(text).size() <= 6); }
void fuzz_cpu_list(std::string_view text) {
  const auto count = count_cpu_list(text);
  require(!count || *count > 0);
}
void fuzz_pci_ids(std::string_view text) {
  if (text.size() < 4) return;
  const auto id = [&](std::size_t at) {
    return static_cast<std::uint16_t>(static_cast<unsigned char>(text[at]) << 8 |
                                      static_cast<unsigned char>(text[at + 1]));
  };
  pci_device_name(id(0), id(2));
  const auto name = find_pci_name(text.substr(4), id(0), id(2));
  if (name) display_name(id(0), id(2), std::string(*name));
}
void fuzz_kfd(std::string_view text) {
  const auto properties = parse_kfd_properties(text);
  const auto gfx = gfx_name(property(properties, "gfx_target_version").value_or(0));
  if (gfx) amd_architecture(*gfx);
  const auto location = property(properties, "location_id").value_or(0);
  require(kfd_address(0, location).device < 32);
}
void fuzz_gfx(std::string_view text) {
  if (const auto version = parse_uint(text)) gfx_name(*version);
  rocblas_targets(words(text));
  parse_rocm_version(text);
}
void fuzz_amdgpu(std::string_view text) {
  parse_dpm(text);
  parse_ras(text);
}
void fuzz_gpu_metrics(std::string_view text) { parse_gpu_metrics(text); }
void fuzz_system(std::string_view text) {
  parse_os_name(text);
  parse_meminfo(text, "MemTotal");
  parse_cpu_model(text);
  parse_secure_boot(text);
  hypervisor_from_dmi(text, text);
}
void fuzz_cgroup(std::string_view text) {
  const auto paths = parse_cgroup_paths(text);
  parse_memory_limit(text);
  parse_cpu_max(text);
  parse_stat(text, "inactive_file");
  for (const auto& path : cgroup_ancestors(paths.unified.value_or(std::string(text))))
    require(path.starts_with('/') && path.find("/../") == path.npos);
}
void fuzz_toolkits(std::string_view text) {
  parse_cuda_version_json(text);
  parse_cuda_version_txt(text);
  pick_libraries("/lib", words(text));
}
void fuzz_fakes(std::string_view text) {
  const auto fakes = parse_fakes(text);
  require(!fakes || !fakes->empty());
}

constexpr void (*kParsers[])(std::string_view) = {
    fuzz_kernel_log,  fuzz_address, fuzz_path,   fuzz_links,    fuzz_bars,
    fuzz_cpu_list,    fuzz_pci_ids, fuzz_kfd,    fuzz_gfx,      fuzz_amdgpu,
    fuzz_gpu_metrics, fuzz_system,  fuzz_cgroup, fuzz_toolkits, fuzz_fakes,
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  kParsers[data[0] % std::size(kParsers)](text);
  return 0;
}
