#include "machine/redaction.h"

#include <algorithm>

#include "base/text.h"
#include "host/secret_forms.h"
#include "machine/kernel_log.h"
#include "machine/loader_cache.h"
#include "machine/nvidia_parse.h"
#include "machine/toolkits.h"

namespace gpuready {
namespace {

template <std::size_t N>
bool starts_with_any(std::string_view text, const std::string_view (&starts)[N]) {
  return std::any_of(std::begin(starts), std::end(starts),
                     [&](std::string_view start) { return text.starts_with(start); });
}

// ---- files

// Parameters of the kernel's command line that say something about GPUs: up to "=", or up to the
// first "." of a module's. Everything else goes: root devices, addresses, keys, a sandbox's own.
constexpr std::string_view kParameters[] = {
    "iommu",         "intel_iommu",        "amd_iommu",          "pci",
    "pcie_aspm",     "pcie_port_pm",       "nomodeset",          "video",
    "lockdown",      "module.sig_enforce", "hugepagesz",         "hugepages",
    "mitigations",   "module_blacklist",   "modprobe.blacklist", "rd.driver.blacklist",
    "rd.driver.pre", "default_hugepagesz"};
constexpr std::string_view kModules[] = {
    "nouveau",    "nvidia",     "nvidia-drm",     "nvidia_drm",
    "nvidia-uvm", "nvidia_uvm", "nvidia-modeset", "nvidia_modeset",
    "amdgpu",     "radeon",     "i915",           "xe",
    "vfio",       "vfio-pci",   "vfio_pci",       "vfio_iommu_type1",
    "ast",        "simpledrm"};

template <std::size_t N>
bool one_of(std::string_view text, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

std::string kept_parameters(std::string_view command_line) {
  std::string kept;
  for (const auto word : split(command_line, " \t\n")) {
    const auto name = word.substr(0, word.find('='));
    if (one_of(name, kParameters) || one_of(name.substr(0, name.find('.')), kModules))
      kept.append(word).push_back(' ');
  }
  return kept + "...\n";
}

// Lines that begin with one of these, up to white space, ":" or "=".
template <std::size_t N>
std::string kept_lines(std::string_view text, const std::string_view (&keys)[N]) {
  std::string kept;
  for (const auto line : lines(text))
    if (one_of(trim(line.substr(0, line.find_first_of(":="))), keys)) kept.append(line) += '\n';
  return kept;
}
constexpr std::string_view kReleaseKeys[] = {
    "NAME", "PRETTY_NAME", "ID", "ID_LIKE", "VERSION", "VERSION_ID", "VERSION_CODENAME"};
std::string kept_release(std::string_view text) { return kept_lines(text, kReleaseKeys); }

constexpr std::string_view kProcessorKeys[] = {"model name", "Model", "Hardware", "cpu model"};
std::string kept_processor(std::string_view text) { return kept_lines(text, kProcessorKeys); }

std::string kept_libraries(std::string_view cache) {
  auto entries = parse_loader_cache(cache);
  if (!entries) return {};
  std::erase_if(*entries, [](const LoaderCacheEntry& entry) {
    return std::find(std::begin(kNvidiaLibraries), std::end(kNvidiaLibraries), entry.name) ==
           std::end(kNvidiaLibraries);
  });
  return make_loader_cache(*entries);
}

// Which daemon a pid file led to.
std::string kept_command(std::string_view name) {
  return name.starts_with("nv-") || name.starts_with("nvidia-") ? std::string(name) : "other\n";
}

// Whether device nodes may be opened: the mounts at and above /dev, without what is mounted. Which
// disk the root filesystem is on: its number.
std::string kept_mounts(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto fields = split(line, " ");
    if (fields.size() < 6 || (fields[4] != "/" && !fields[4].starts_with("/dev"))) continue;
    const std::string disk(fields[4] == "/" ? fields[2] : "0:0");
    kept += "0 0 " + disk + " / " + std::string(fields[4]) + " " + std::string(fields[5]) + "\n";
  }
  return kept;
}

// Partitions and files that memory is moved to.
std::string kept_swaps(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text))
    if (line.starts_with("/dev/")) kept.append(line).push_back('\n');
  return kept;
}

// Which VFIO driver is made for which device.
std::string kept_aliases(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text))
    if (line.starts_with("alias vfio_pci:")) kept.append(line).push_back('\n');
  return kept;
}

std::string kept_builtin(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text))
    if (contains(line, "/vfio/")) kept.append(line).push_back('\n');
  return kept;
}

// The majors of GPU drivers.
std::string kept_devices(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text))
    if (contains(line, "nvidia") || line.ends_with(" kfd") || line.ends_with(" drm"))
      kept.append(line).push_back('\n');
  return "Character devices:\n" + kept;
}

struct FileRule {
  std::string_view start, end;  // of the path
  std::string (*keep)(std::string_view content);
};
constexpr FileRule kFileRules[] = {
    {"/proc/cmdline", "", kept_parameters},
    {"/etc/os-release", "", kept_release},
    {"/proc/cpuinfo", "", kept_processor},
    {"/etc/ld.so.cache", "", kept_libraries},
    {"/proc/", "/comm", kept_command},
    {"/proc/self/mountinfo", "", kept_mounts},
    {"/proc/swaps", "", kept_swaps},
    {"/proc/devices", "", kept_devices},
    {"/lib/modules/", "/modules.alias", kept_aliases},
    {"/lib/modules/", "/modules.builtin", kept_builtin},
};

std::string kept_of_file(const std::string& path, std::string content) {
  for (const auto& rule : kFileRules)
    if (rule.end.empty() ? path == rule.start
                         : path.starts_with(rule.start) && path.ends_with(rule.end))
      return rule.keep(content);
  return content;
}

// ---- listings

// What the kernel lists is the hardware's; elsewhere a name is somebody's choice.
constexpr std::string_view kKernelFolders[] = {"/sys/", "/proc/"};
constexpr std::string_view kNodes[] = {"nvidia", "card",  "renderD", "kfd", "dxg",
                                       "nvhost", "nvmap", "nvgpu",   "dri"};

constexpr std::string_view kToolkits[] = {"cuda", "rocm"};

bool is_listed(std::string_view folder, std::string_view name) {
  if (starts_with_any(folder, kKernelFolders)) return true;
  if (folder.starts_with("/dev")) return starts_with_any(name, kNodes);
  if (folder == "/usr/local" || folder == "/opt")
    return starts_with_any(name, kToolkits) && is_ordinary_component(name);
  if (folder == "/usr/lib/wsl/drivers") return contains(name, ".inf_");  // of Windows' drivers
  if (folder.ends_with("/icd.d")) return name.ends_with(".json");
  if (folder.ends_with("/ld.so.conf.d")) return name.ends_with(".conf");
  if (folder.ends_with("/rocblas/library")) return contains(name, "gfx");
  return !pick_libraries(std::string(folder), {std::string(name)}).empty();
}

// ---- the kernel's log

// How lines begin that drivers, buses and the kernel itself write about a GPU. A line that only
// mentions one (of an audit, of the killer of processes, of a file server) begins otherwise.
constexpr std::string_view kSpeakers[] = {"NVRM",
                                          "nvidia",
                                          "NVSwitch",
                                          "nvswitch",
                                          "nouveau",
                                          "amdgpu",
                                          "radeon",
                                          "[drm",
                                          "drm",
                                          "kfd",
                                          "amdkfd",
                                          "i915",
                                          "xe ",
                                          "vfio",
                                          "pci ",
                                          "pcieport",
                                          "pcie",
                                          "AER:",
                                          "DMAR",
                                          "AMD-Vi",
                                          "iommu",
                                          "arm-smmu",
                                          "PM:",
                                          "Lockdown:",
                                          "PKCS#7",
                                          "Loading of ",
                                          "Secure boot",
                                          "secureboot",
                                          "INFO: task ",
                                          "systemd-modules-load",
                                          "modprobe",
                                          "misc dxg",
                                          "dxgk",
                                          "hv_vmbus: registering driver dxgkrnl",
                                          "nvgpu",
                                          "tegra",
                                          "[Hardware Error]",
                                          "IOCTLs and executions are blocked",
                                          "{"};
// Lines of which only the beginning is read.
constexpr std::string_view kCutAfter[] = {"systemd[1]: Reload"};

std::optional<std::string> kept_of_log_line(std::string_view text) {
  for (const auto start : kCutAfter)
    if (text.starts_with(start)) return std::string(start) + "ing";
  if (!is_about_gpus(trim(text)) || !starts_with_any(trim(text), kSpeakers)) return std::nullopt;
  return std::string(text);
}

}  // namespace

const RedactionRules& redaction_rules() {
  static const RedactionRules rules{kept_of_file, is_listed, kept_of_log_line, begins_record};
  return rules;
}

}  // namespace gpuready
