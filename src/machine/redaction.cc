// What of a machine's files and log is read, and by which words. Whatever is not named here goes.
#include "machine/redaction.h"

#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "host/redactor.h"
#include "machine/container.h"
#include "machine/kernel_log.h"
#include "machine/loader_cache.h"
#include "machine/nvidia_parse.h"
#include "machine/pci_ids.h"
#include "machine/toolkits.h"

extern "C" {
extern const char gpuready_fixed_words_begin[];
extern const char gpuready_fixed_words_end[];
}

namespace gpuready {
namespace {

using Kind = Redactor::Kind;

template <std::size_t N>
bool starts_with_any(std::string_view text, const std::string_view (&starts)[N]) {
  return std::any_of(std::begin(starts), std::end(starts),
                     [&](std::string_view start) { return text.starts_with(start); });
}
template <std::size_t N>
bool one_of(std::string_view text, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

// ---- words

// What systems, kernels and folders are called, on very many machines. With the literals of the
// sources that read a machine (fixed_words.awk) these are all words that are ever shown.
constexpr std::string_view kCommonWords =
    "Linux GNU Debian debian Ubuntu ubuntu LTS Fedora fedora Red Hat Enterprise rhel CentOS centos "
    "Stream Rocky rocky AlmaLinux almalinux Amazon amzn Oracle ol SUSE openSUSE sles suse opensuse "
    "Leap Tumbleweed Arch arch Alpine alpine NixOS nixos Azure azurelinux mariner Flatcar flatcar "
    "Bottlerocket Talos Gentoo gentoo bookworm trixie bullseye sid Jammy jammy Noble noble Focal "
    "focal "
    "generic amd64 arm64 x86 x86_64 aarch64 cloud aws azure gcp oracle lowlatency realtime server "
    "default desktop kernel microsoft standard WSL2 tegra l4t pve rt hwe "
    "usr bin sbin lib lib64 lib32 libexec local share include etc opt home root var run tmp srv "
    "mnt "
    "src targets stubs compat extras x86_64-linux sbsa-linux aarch64-linux x86_64-linux-gnu "
    "aarch64-linux-gnu nv_dispi nvlt nvmd iigd_dch u "
    "AMD EPYC Ryzen Threadripper Intel Xeon Core Ultra Graphics Processor CPU Neoverse Grace "
    "NVIDIA GeForce GTX RTX TITAN Titan Tesla Quadro GPU Ada Generation Laptop Super SUPER PCIe "
    "NVL "
    "MIG Orin Xavier Thor Nano Jetson AGX NX Developer Kit HGX DGX Instinct Radeon OAM Arc Max "
    "Flex Pro "
    "llvmpipe LLVM bits KVM Standard PC VirtualBox Virtual Machine Compute Engine Google metal "
    "GT0 GT1 GT2 GT3 D0 D3hot D3cold CUDA compilation tools release nvcc driver Copyright "
    "TensileLibrary_lazy_ "
    "TensileLibrary_ Tile SUBSYSTEM DEVICE gsp psp edge junction mem vddgfx PPT";

std::unordered_set<std::string_view> words_of(std::string_view text, std::string_view separators) {
  const auto words = split(text, separators);
  return {words.begin(), words.end()};
}

bool is_fixed_word(std::string_view word) {
  static const auto words = [] {
    auto all = words_of({gpuready_fixed_words_begin, gpuready_fixed_words_end}, "\n");
    all.merge(words_of(kCommonWords, " "));
    return all;
  }();
  return words.contains(word);
}

bool is_model_word(std::string_view word) {
  static const auto words = words_of(pci_ids_text(), " \n[]()/,-");
  return words.contains(word);
}

// ---- files

using Kept = std::optional<std::string>;

std::string as_text(std::string_view content, Redactor& redactor) {
  return redactor.text(content, Kind::setting);
}
std::string as_attribute(std::string_view content, Redactor& redactor) {
  return redactor.text(content, Kind::attribute);
}
std::string as_model(std::string_view content, Redactor& redactor) {
  return redactor.text(content, Kind::model);
}
std::string as_it_is(std::string_view content, Redactor&) { return std::string(content); }
std::string as_name(std::string_view content, Redactor& redactor) {
  return redactor.name(trim(content));
}
std::string as_path(std::string_view content, Redactor& redactor) {
  return redactor.path(trim(content));
}

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

std::string kept_parameters(std::string_view command_line, Redactor& redactor) {
  std::string kept;
  for (const auto word : split(command_line, " \t\n")) {
    const auto name = word.substr(0, word.find('='));
    if (one_of(name, kParameters)) {
      kept += std::string(name) + redactor.text(word.substr(name.size()), Kind::setting) + ' ';
    } else if (const auto module = name.substr(0, name.find('.')); one_of(module, kModules)) {
      kept += std::string(module) + redactor.text(word.substr(module.size()), Kind::setting) + ' ';
    }
  }
  return kept + "...\n";
}

// Lines that begin with one of these, up to white space, ":" or "=".
template <std::size_t N>
std::string kept_lines(std::string_view text, const std::string_view (&keys)[N],
                       Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto key = line.substr(0, line.find_first_of(":="));
    if (one_of(trim(key), keys))
      kept += std::string(key) + redactor.text(line.substr(key.size()), Kind::model) + '\n';
  }
  return kept;
}
constexpr std::string_view kReleaseKeys[] = {"NAME", "PRETTY_NAME", "ID", "ID_LIKE", "VERSION_ID"};
std::string kept_release(std::string_view text, Redactor& redactor) {
  return kept_lines(text, kReleaseKeys, redactor);
}
constexpr std::string_view kProcessorKeys[] = {"model name", "Model", "Hardware", "cpu model"};
std::string kept_processor(std::string_view text, Redactor& redactor) {
  return kept_lines(text, kProcessorKeys, redactor);
}

std::string kept_libraries(std::string_view cache, Redactor& redactor) {
  auto entries = parse_loader_cache(cache);
  if (!entries) return {};
  std::vector<LoaderCacheEntry> kept;
  std::vector<std::string> paths;
  std::erase_if(*entries, [](const LoaderCacheEntry& entry) {
    return std::find(std::begin(kNvidiaLibraries), std::end(kNvidiaLibraries), entry.name) ==
           std::end(kNvidiaLibraries);
  });
  for (const auto& entry : *entries) paths.push_back(redactor.path(entry.path));
  for (std::size_t i = 0; i < paths.size(); ++i)
    kept.push_back({(*entries)[i].name, paths[i], (*entries)[i].flags});
  return make_loader_cache(kept);
}

// Folders; no comments.
std::string kept_folders(std::string_view text, Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text))
    if (const auto folder = trim(line.substr(0, line.find('#'))); folder.starts_with('/'))
      kept += redactor.path(folder) + '\n';
  return kept;
}

// Which daemon a pid file led to.
std::string kept_command(std::string_view name, Redactor&) {
  constexpr std::string_view kDaemons[] = {"nv-fabricmanage", "nvidia-persiste", "nv-hostengine",
                                           "nvidia-cuda-mps", "nvidia-smi"};
  return one_of(trim(name), kDaemons) ? std::string(name) : "other\n";
}

// Whether device nodes may be opened: the mounts at and above /dev, without what is mounted. Which
// disk the root filesystem is on: its number.
std::string kept_mounts(std::string_view text, Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto fields = split(line, " ");
    if (fields.size() < 6) continue;
    const bool root = fields[4] == "/";
    if (!root && fields[4] != "/dev" && !fields[4].starts_with("/dev/")) continue;
    kept += "0 0 " + (root ? redactor.text(fields[2], Kind::attribute) : "0:0") + " / " +
            redactor.path(fields[4]) + " " + redactor.text(fields[5]) + "\n";
  }
  return kept;
}

// Partitions and files that memory is moved to.
std::string kept_swaps(std::string_view text, Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text)) {
    if (line.starts_with("Filename")) kept += "Filename\n";
    if (line.starts_with("/dev/"))
      kept += redactor.path(line.substr(0, line.find_first_of(" \t"))) + " partition\n";
  }
  return kept;
}

// Which VFIO driver is made for which device.
std::string kept_aliases(std::string_view text, Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto words = split(line, " ");
    if (line.starts_with("alias vfio_pci:") && words.size() == 3)
      kept += "alias " + std::string(words[1]) + " " +
              (words[2].ends_with("vfio_pci") ? std::string(words[2])
                                              : redactor.text(words[2], Kind::setting)) +
              "\n";
  }
  return kept;
}
std::string kept_builtin(std::string_view text, Redactor&) {
  std::string kept;
  for (const auto line : lines(text))
    if (line.starts_with("kernel/drivers/vfio/")) kept.append(line) += '\n';
  return kept;
}

std::string kept_cuda_version(std::string_view text, Redactor&) {
  const auto version = parse_cuda_version_json(text);
  return version ? R"({"cuda": {"version": ")" + *version + "\"}}\n" : "{}\n";
}

// The host's own namespace maps every id to itself; which ids another one has, nothing asks.
std::string kept_ids(std::string_view text, Redactor&) {
  return split(text, " \t\n") == std::vector<std::string_view>{"0", "0", "4294967295"}
             ? std::string(text)
             : "0 1 1\n";
}

std::string kept_groups(std::string_view text, Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto path = line.find(":/");
    if (path == line.npos) continue;
    kept += redactor.text(line.substr(0, path), Kind::setting) + ":" +
            redactor.group(line.substr(path + 1)) + '\n';
  }
  return kept;
}

// The majors of GPU drivers.
std::string kept_devices(std::string_view text, Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text))
    if (contains(line, "nvidia") || line.ends_with(" kfd") || line.ends_with(" drm"))
      kept += redactor.text(line, Kind::setting) + '\n';
  return "Character devices:\n" + kept;
}

// Of KFD's topology: the id of a board stays joined with that in its device's folder.
std::string kept_properties(std::string_view text, Redactor& redactor) {
  constexpr std::string_view kId = "unique_id ";
  std::string kept;
  for (const auto line : lines(text)) {
    const auto id = after_prefix(line, kId);
    const auto number = id ? parse_uint(*id) : std::nullopt;
    kept += (number ? std::string(kId) + std::to_string(redactor.id(*number))
                    : as_attribute(line, redactor)) +
            '\n';
  }
  return kept;
}

struct FileRule {
  std::string_view start, end;  // of the path
  std::string (*keep)(std::string_view content, Redactor& redactor);
};
// The first that fits. A file that none fits is removed.
constexpr FileRule kFileRules[] = {
    {"/proc/cmdline", "", kept_parameters},
    {"/etc/os-release", "", kept_release},
    {"/proc/cpuinfo", "", kept_processor},
    {"/etc/ld.so.cache", "", kept_libraries},
    {"/etc/ld.so.conf", ".conf", kept_folders},
    {"/proc/", "/comm", kept_command},
    {"/proc/self/mountinfo", "", kept_mounts},
    {"/proc/self/uid_map", "", kept_ids},
    {"/proc/self/cgroup", "", kept_groups},
    {"/proc/swaps", "", kept_swaps},
    {"/proc/devices", "", kept_devices},
    {"/lib/modules/", "/modules.alias", kept_aliases},
    {"/lib/modules/", "/modules.builtin", kept_builtin},
    {"/proc/device-tree/", "", as_model},
    {"/sys/class/dmi/id/", "", as_model},
    {"/sys/", "/product_name", as_model},
    {"/proc/driver/nvidia/gpus/", "/information", as_model},
    {"/proc/driver/nvidia/params", "", as_text},
    {"/sys/", "/properties", kept_properties},
    {"/sys/", "/gpu_metrics", as_it_is},
    {"/sys/firmware/efi/efivars/SecureBoot-", "", as_it_is},
    {"/sys/", "/dm/name", as_name},
    {"/sys/", "/backing_file", as_path},
    {"/sys/", "/backing_dev", as_path},
    {"/sys/", "", as_attribute},
    {"/proc/", "", as_attribute},
    {"/run/", ".pid", as_attribute},
    {"/run/systemd/container", "", as_text},
    {"/etc/nv_tegra_release", "", as_attribute},
    {"/", "/version.json", kept_cuda_version},
    {"/", "/version.txt", as_text},
    {"/", "/.info/version", as_text},
};

// The kernel's folders have rules for what is below them; other rules name a file.
bool fits(const FileRule& rule, std::string_view path) {
  return path.starts_with(rule.start) && path.ends_with(rule.end);
}

Kept kept_of_file(const std::string& path, const std::string& content, Redactor& redactor) {
  for (const auto& rule : kFileRules)
    if (fits(rule, path)) return rule.keep(content, redactor);
  return std::nullopt;
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
  if (folder == "/usr/local" || folder == "/opt") return starts_with_any(name, kToolkits);
  if (folder == "/usr/lib/wsl/drivers") return contains(name, ".inf_");  // of Windows' drivers
  if (folder.ends_with("/icd.d")) return name.ends_with(".json");
  if (folder.ends_with("/ld.so.conf.d")) return name.ends_with(".conf");
  if (folder.ends_with("/rocblas/library")) return contains(name, "gfx");
  return !pick_libraries(std::string(folder), {std::string(name)}).empty();
}

bool is_log_line_read(std::string_view text) { return is_about_gpus(trim(text)); }

}  // namespace

const RedactionRules& redaction_rules() {
  static const RedactionRules rules{.is_fixed_word = is_fixed_word,
                                    .is_model_word = is_model_word,
                                    .file = kept_of_file,
                                    .listed = is_listed,
                                    .kernel_log_line = is_log_line_read,
                                    .begins_record = begins_record,
                                    .reads_number = reads_number,
                                    .group_markers = cgroup_markers()};
  return rules;
}

}  // namespace gpuready
