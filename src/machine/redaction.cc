// What of a machine's files and log is read, and by which words. Whatever is not named here goes.
#include "machine/redaction.h"

#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "host/redaction/redactor.h"
#include "host/redaction/token_forms.h"
#include "machine/amd/amd_parse.h"
#include "machine/nvidia/nvidia_parse.h"
#include "machine/pci/pci_ids.h"
#include "machine/system/container.h"
#include "machine/system/kernel_log.h"
#include "machine/system/loader_cache.h"
#include "machine/system/system.h"
#include "machine/system/toolkits.h"

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
    "AMD EPYC Ryzen Threadripper PRO Intel Xeon Platinum Gold Silver Bronze Core Ultra Graphics "
    "Processor CPU Neoverse Grace "
    "NVIDIA GeForce GTX RTX TITAN Titan Tesla Quadro GPU Ada Generation Laptop Super SUPER PCIe "
    "NVL "
    "MIG Orin Xavier Thor Nano Jetson AGX NX Developer Kit HGX DGX Instinct Radeon OAM Arc Max "
    "Flex Pro "
    "llvmpipe LLVM bits KVM Standard PC VirtualBox Virtual Machine Compute Engine Google metal "
    "hl0 hl1 hl2 hl3 hl4 hl5 hl6 hl7 GT0 GT1 GT2 GT3 D0 D3hot D3cold CUDA compilation tools "
    "release nvcc driver Copyright "
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

// Of products' names, where pci.ids does not have them.
constexpr std::string_view kModelWords =
    "LS JHH Special COLLECTORS EDITION Edition Design "
    "Reference Engineering MCM MBA VF HF INSTINCT GRE Liquid Cooled Dual Slot TM tm Active DC "
    "RADV RAPHAEL_MENDOCINO GFX1103_R1 RAVEN VANGOGH ALDEBARAN ARCTURUS RENOIR REMBRANDT PHOENIX "
    "POLARIS10 "
    "SKL KBL CFL CML ICL TGL RKL ADL RPL MTL ARL LNL BMG PTL DG1 DG2 ATS PVC "
    "SwiftShader Device Subzero Direct3D12 virgl Mali sramecc+ sramecc xnack+ xnack";

// "HBM3e", "SXM6", "RTX6000", "NAVI31": a family and a number.
bool is_family_form(std::string_view word) {
  constexpr std::string_view kFamilies[] = {"HBM", "SXM",  "RTX",  "RTXA",
                                            "PG",  "NAVI", "VEGA", "GFX"};
  const auto number = std::min(word.find_first_of("0123456789"), word.size());
  return one_of(word.substr(0, number), kFamilies) && is_model_form(word.substr(number));
}

// "1g.5gb", "1c.3g.40gb", "1g.24gb+me.all", as NVIDIA's MIG User Guide writes profiles.
bool is_mig_profile(std::string_view word) {
  constexpr std::string_view kOptions[] = {"", "+me", "-me", "+gfx", "+me.all"};
  const auto options = std::min(word.find_first_of("+-"), word.size());
  const auto parts = split(word.substr(0, options), ".");
  const auto is_part = [](std::string_view part, std::string_view unit) {
    return part.ends_with(unit) && part.size() <= unit.size() + 3 &&
           is_decimal(part.substr(0, part.size() - unit.size()));
  };
  return one_of(word.substr(options), kOptions) && (parts.size() == 2 || parts.size() == 3) &&
         (parts.size() == 2 || is_part(parts[0], "c")) && is_part(parts[parts.size() - 2], "g") &&
         is_part(parts.back(), "gb");
}

// "gfx90a", AMD's target.
bool is_gfx_form(std::string_view word) {
  const auto digits = after_prefix(word, "gfx");
  return digits && digits->size() >= 3 && digits->size() <= 4 &&
         std::ranges::all_of(*digits, is_hex);
}

// "10CME", the end of a vGPU type with media engines.
bool is_media_type(std::string_view word) {
  return word.ends_with("CME") && is_decimal(word.substr(0, word.size() - 3));
}

bool is_model_word(std::string_view word) {
  static const auto words = [] {
    auto all = words_of(pci_ids_text(), " \n[]()/,-");
    all.merge(words_of(kModelWords, " "));
    return all;
  }();
  return words.contains(word) || is_family_form(word) || is_mig_profile(word) ||
         is_gfx_form(word) || is_media_type(word);
}

// What pci.ids calls a product, behind its vendor or without.
bool is_model_name(std::string_view name) {
  static const auto names = words_of(pci_ids_text(), "\n[]");
  for (const std::string_view vendor : {"NVIDIA ", "AMD ", "Intel "})
    if (const auto rest = after_prefix(name, vendor)) name = *rest;
  return names.contains(name);
}

// ---- files

using Kept = std::optional<std::string>;

std::string as_words(std::string_view content, Redactor& redactor) {
  return redactor.text(content);
}
std::string as_model(std::string_view content, Redactor& redactor) {
  return redactor.text(content, Kind::model);
}
std::string as_name(std::string_view content, Redactor& redactor) {
  return redactor.name(trim(content));
}
std::string as_path(std::string_view content, Redactor& redactor) {
  return redactor.path(trim(content));
}

// ---- the forms of what the kernel and its drivers count and measure

bool is_long_decimal(std::string_view word) { return word.size() <= 20 && is_decimal(word); }
bool is_long_hex(std::string_view word) {
  const auto digits = after_prefix(word, "0x");
  return digits && !digits->empty() && digits->size() <= 16 && std::ranges::all_of(*digits, is_hex);
}
// "12", "-1", "0x10de", "259:2".
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto colon = std::min(text.find(':'), text.size());
  const auto minor = text.substr(std::min(colon + 1, text.size()));
  return is_long_hex(text) || (is_long_decimal(text.substr(0, colon)) &&
                               (colon == text.size() || is_number_form(minor)));
}
bool is_xen_control(std::string_view text) { return text == "control_d"; }
// "32.0 GT/s PCIe"
bool is_speed(std::string_view text) {
  const auto words = split(text, " ");
  return words.size() >= 2 && words.size() <= 3 && words[0].size() <= 5 && parse_double(words[0]) &&
         words[1] == "GT/s" && (words.size() == 2 || words[2] == "PCIe");
}
// "400 Gb/sec (4X NDR)"
bool is_rate(std::string_view text) {
  constexpr std::string_view kSpeeds[] = {"SDR", "DDR", "QDR", "FDR10", "FDR",
                                          "EDR", "HDR", "NDR", "XDR"};
  const auto words = split(text, " ()");
  return words.size() >= 3 && words.size() <= 4 && words[0].size() <= 5 && parse_double(words[0]) &&
         words[1] == "Gb/sec" && words[2].size() <= 3 && words[2].ends_with('X') &&
         is_decimal(words[2].substr(0, words[2].size() - 1)) &&
         (words.size() == 3 || one_of(words[3], kSpeeds));
}
// "4: ACTIVE", "2: Polling" (in the words of Linux's ib_core)
bool is_port_state(std::string_view text) {
  constexpr std::string_view kStates[] = {"NOP",
                                          "DOWN",
                                          "INIT",
                                          "ARMED",
                                          "ACTIVE",
                                          "ACTIVE_DEFER",
                                          "Polling",
                                          "Disabled",
                                          "LinkUp",
                                          "Phy Test",
                                          "Sleep",
                                          "PortConfigurationTraining",
                                          "LinkErrorRecovery"};
  const auto colon = std::min(text.find(": "), text.size());
  return colon == 1 && is_decimal(text.substr(0, 1)) && one_of(text.substr(3), kStates);
}
bool is_link_layer(std::string_view text) {
  return text == "InfiniBand" || text == "Ethernet" || text == "Unspecified";
}
// "MT_0000000838", "MT4129": Mellanox's numbers of boards and chips.
bool is_maker_number(std::string_view text) {
  for (const std::string_view start : {"MT_", "MT"})
    if (const auto number = after_prefix(text, start))
      return number->size() <= 10 && is_decimal(*number);
  return false;
}
// "flr bus" (Linux, Documentation/ABI/testing/sysfs-bus-pci)
bool are_resets(std::string_view text) {
  constexpr std::string_view kResets[] = {"device_specific", "acpi", "flr", "af_flr", "pm", "bus",
                                          "cxl_bus"};
  return std::ranges::all_of(split(text, " "), [&](auto word) { return one_of(word, kResets); });
}
// "0-31,64-95"
bool is_list(std::string_view text) {
  return std::ranges::all_of(split(text, ","), is_number_form) &&
         text.find_first_not_of("0123456789,-") == text.npos;
}
// "86400.00 900.0"
bool is_uptime(std::string_view text) {
  const auto words = split(text, " ");
  return words.size() == 2 && std::ranges::all_of(words, [](auto word) {
           return word.find_first_not_of("0123456789.") == word.npos && parse_double(word);
         });
}
// "max 100000", "200000 100000"
bool is_quota(std::string_view text) {
  const auto words = split(text, " ");
  return words.size() == 2 && (words[0] == "max" || is_long_decimal(words[0])) &&
         is_long_decimal(words[1]);
}
// "0x00000000a8000000 0x00000000a8ffffff 0x0000000000040200"
bool is_window(std::string_view line) {
  const auto words = split(line, " ");
  return words.size() == 3 && std::ranges::all_of(words, is_long_hex);
}
// "TOTAL_ERR_COR 12", "MemTotal:  65714188 kB", "ue: 0": of something that a rule reads.
bool is_count(std::string_view line) {
  const auto words = split(line, " \t:");
  return words.size() >= 2 && words.size() <= 3 && is_fixed_word(words[0]) &&
         is_long_decimal(words[1]) && (words.size() == 2 || words[2] == "kB");
}
// "1: 2100Mhz *", "S: 132Mhz"
bool is_clock(std::string_view line) {
  const auto words = split(line, " ");
  const auto unit =
      words.size() < 2
          ? std::string_view()
          : words[1].substr(std::min(words[1].find_first_not_of("0123456789"), words[1].size()));
  return words.size() <= 3 && to_lower(unit) == "mhz" && words[0].size() <= 3 &&
         words[0].ends_with(':') && (words.size() == 2 || words[2] == "*");
}

// What is read whole.
template <bool (*fits)(std::string_view)>
std::string whole(std::string_view content, Redactor& redactor) {
  return fits(trim(content)) ? std::string(content) : as_words(content, redactor);
}
// What is read line by line: a line of another form is nothing that is read.
template <bool (*fits)(std::string_view)>
std::string by_line(std::string_view content, Redactor&) {
  std::string kept;
  for (const auto line : lines(content))
    if (fits(trim(line))) kept.append(line) += '\n';
  return kept;
}

// Parameters of the kernel's command line that say something about GPUs: up to "=", or up to the
// first "." of a module's. Everything else goes: root devices, addresses, keys, a sandbox's own.
constexpr std::string_view kParameters[] = {
    "iommu",         "intel_iommu",        "amd_iommu",          "pci",
    "pcie_aspm",     "pcie_port_pm",       "nomodeset",          "video",
    "lockdown",      "module.sig_enforce", "hugepagesz",         "hugepages",
    "mitigations",   "module_blacklist",   "modprobe.blacklist", "rd.driver.blacklist",
    "rd.driver.pre", "default_hugepagesz", "firmware_class.path"};
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
    const auto module = name.substr(0, name.find('.'));
    const bool parameter = one_of(name, kParameters);
    if (!parameter && !one_of(module, kModules)) continue;
    const auto shown = parameter ? std::string(name)
                                 : std::string(module) + redactor.text(name.substr(module.size()));
    const auto value = after_prefix(word.substr(name.size()), "=");
    kept += shown;
    if (value) kept += '=' + (shown.ends_with('*') ? "*" : redactor.value(*value));
    kept += ' ';
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
constexpr std::string_view kReleaseKeys[] = {"NAME", "PRETTY_NAME", "ID", "ID_LIKE"};
std::string kept_release(std::string_view text, Redactor& redactor) {
  return kept_lines(text, kReleaseKeys, redactor);
}
constexpr std::string_view kProcessorKeys[] = {"model name", "Model", "Hardware", "cpu model"};
std::string kept_processor(std::string_view text, Redactor& redactor) {
  return kept_lines(text, kProcessorKeys, redactor) +
         (has_hypervisor_flag(text) ? "flags : hypervisor\n" : "");
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

// Which daemon it is, or the kernel's thread that shows which processes are seen.
std::string kept_command(std::string_view name, Redactor&) {
  constexpr std::string_view kDaemons[] = {"nv-fabricmanage", "nvidia-persiste", "nv-hostengine",
                                           "nvidia-cuda-mps", "nvidia-smi",      "kthreadd"};
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
    kept += "0 0 " + (root && is_number(fields[2]) ? std::string(fields[2]) : "0:0") + " / " +
            redactor.path(fields[4]) + " " + redactor.text(fields[5]);
    if (const auto folder = layers_folder(line); root && !folder.empty())
      kept += " - overlay overlay upperdir=" + std::string(folder);
    kept += '\n';
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
  constexpr std::string_view kPattern = "0123456789ABCDEFabcdefisv*[]-";
  std::string kept;
  for (const auto line : lines(text)) {
    const auto words = split(line, " ");
    const auto device =
        words.size() == 3 ? after_prefix(words[1], "vfio_pci:") : std::optional<std::string_view>();
    if (words.empty() || words[0] != "alias" || !device ||
        device->find_first_not_of(kPattern) != device->npos)
      continue;
    kept += "alias " + std::string(words[1]) + " " +
            (words[2].ends_with("vfio_pci") ? std::string(words[2]) : redactor.text(words[2])) +
            "\n";
  }
  return kept;
}
std::string kept_builtin(std::string_view text, Redactor& redactor) {
  constexpr std::string_view kEnd = ".ko";
  std::string kept;
  for (auto line : lines(text)) {
    if (!line.starts_with("kernel/drivers/vfio/") || !line.ends_with(kEnd)) continue;
    line.remove_suffix(kEnd.size());
    if (redactor.text(line) == line) kept.append(line).append(kEnd) += '\n';
  }
  return kept;
}

std::string version_or_none(std::string_view before, const std::optional<std::string>& version,
                            std::string_view behind) {
  if (!version || !is_version_form(*version)) return {};
  return std::string(before) + *version + std::string(behind);
}
std::string kept_cuda_version(std::string_view text, Redactor&) {
  return version_or_none(R"({"cuda": {"version": ")", parse_cuda_version_json(text), "\"}}\n");
}
std::string kept_cuda_text(std::string_view text, Redactor&) {
  return version_or_none("CUDA Version ", parse_cuda_version_txt(text), "\n");
}
std::string kept_rocm_version(std::string_view text, Redactor&) {
  return version_or_none("", parse_rocm_version(text), "\n");
}
std::string kept_driver_version(std::string_view text, Redactor&) {
  auto file = parse_nvidia_version(text);
  if (file.version && !contains(text, "  " + *file.version)) file.version.reset();
  const bool open = file.flavour == "open";
  return version_or_none(open ? "NVRM version: NVIDIA UNIX Open Kernel Module  "
                              : "NVRM version: NVIDIA UNIX Kernel Module  ",
                         file.version, "\n");
}
// "# R36 (release), REVISION: 4.4, ...": no date, no id.
std::string kept_tegra_release(std::string_view text, Redactor&) {
  const auto number = [](std::optional<std::string_view> rest, std::string_view letters) {
    return rest ? rest->substr(0, rest->find_first_not_of(letters)) : std::string_view();
  };
  const auto at = text.find("REVISION: ");
  const auto revision =
      number(at == text.npos ? std::nullopt : std::optional(text.substr(at + 10)), "0123456789.");
  const auto release = number(after_prefix(text, "# R"), "0123456789");
  if (!is_small_form(release)) return "#\n";
  return "# R" + std::string(release) + " (release)" +
         (is_small_form(revision) ? ", REVISION: " + std::string(revision) : "") + "\n";
}

// What is read of a GPU, in the driver's words.
std::string kept_information(std::string_view text, Redactor& redactor) {
  constexpr std::pair<const char*, std::string (*)(std::string_view, Redactor&)> kFields[] = {
      {"Model", as_model},
      {"GPU UUID", as_words},
      {"Video BIOS", whole<is_version_form>},
      {"GPU Firmware", whole<is_version_form>},
      {"Device Minor", whole<is_number>},
      {"GPU Excluded", as_words}};
  const auto fields = parse_nvidia_fields(text);
  std::string kept;
  for (const auto& [name, keep] : kFields)
    if (const auto field = fields.find(name); field != fields.end())
      kept += std::string(name) + ": " + keep(field->second, redactor) + "\n";
  return kept;
}
std::string kept_nvidia_settings(std::string_view text, Redactor& redactor) {
  const auto fields = parse_nvidia_fields(text);
  const auto excluded = fields.find("ExcludedGpus");
  return excluded == fields.end() ? ""
                                  : "ExcludedGpus: " + as_words(excluded->second, redactor) + "\n";
}
// "1048  : NVIDIA L40S-1B": how many types there are, and what they are called.
std::string kept_vgpu_types(std::string_view text, Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto colon = line.find(':');
    const auto id = trim(line.substr(0, colon));
    if (colon != line.npos && is_decimal(id) && is_number_form(id))
      kept += std::string(id) + " : " + as_model(trim(line.substr(colon + 1)), redactor) + '\n';
  }
  return kept;
}

// Binary tables; anything else is removed.
std::string kept_metrics(std::string_view bytes, Redactor&) {
  constexpr std::size_t kLongest = 4096;
  const auto metrics = parse_gpu_metrics(bytes);
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const std::size_t size = metrics ? byte(0) | static_cast<std::size_t>(byte(1)) << 8 : 0;
  return std::string(bytes.substr(0, size <= kLongest ? size : 0));
}
// Of a device's configuration the ids, classes and windows; a serial number lies behind them. Text
// has no such type of header, nor the ones of a device that does not answer.
std::string kept_header(std::string_view bytes, Redactor&) {
  constexpr std::size_t kHeader = 64, kType = 0x0e;
  constexpr unsigned kMultiFunction = 0x80, kMostTypes = 2, kNoAnswer = 0xff;
  const unsigned type =
      bytes.size() < kHeader ? kMostTypes + 1 : static_cast<unsigned char>(bytes[kType]);
  const bool is_header = (type & ~kMultiFunction) <= kMostTypes || type == kNoAnswer;
  return std::string(bytes.substr(0, is_header ? kHeader : 0));
}
std::string kept_secure_boot(std::string_view bytes, Redactor&) {
  const auto on = parse_secure_boot(bytes);
  using namespace std::string_literals;
  return !on ? "" : *on ? "\6\0\0\0\1"s : "\6\0\0\0\0"s;
}

// The host's own namespace maps every id to itself; which ids another one has, nothing asks.
std::string kept_ids(std::string_view text, Redactor&) {
  return split(text, " \t\n") == std::vector<std::string_view>{"0", "0", "4294967295"}
             ? std::string(text)
         : maps_whole_system(text) ? "0 1 65536\n"
                                   : "0 1 1\n";
}

std::string kept_groups(std::string_view text, Redactor& redactor) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto path = line.find(":/"), number = line.find(':');
    if (path == line.npos || !is_small_form(line.substr(0, number))) continue;
    const auto controllers = line.substr(number, std::max(path, number + 1) - number);
    kept += std::string(line.substr(0, number)) + redactor.text(controllers) +
            (path > number ? ":" : "") + redactor.group(line.substr(path + 1)) + '\n';
  }
  return kept;
}

// The majors of GPU drivers.
std::string kept_devices(std::string_view text, Redactor&) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto words = split(line, " ");
    if (words.size() == 2 && is_decimal(words[0]) && is_number_form(words[0]) &&
        (words[1].starts_with("nvidia") || words[1] == "kfd" || words[1] == "drm") &&
        is_fixed_word(words[1]))
      kept.append(line) += '\n';
  }
  return "Character devices:\n" + kept;
}

// Of KFD's topology: the id of a board stays joined with that in its device's folder.
std::string kept_properties(std::string_view text, Redactor& redactor) {
  constexpr std::string_view kId = "unique_id ";
  std::string kept;
  for (const auto line : lines(text)) {
    const auto id = after_prefix(line, kId);
    const auto number = id ? parse_uint(*id) : std::nullopt;
    if (number) kept += std::string(kId) + std::to_string(redactor.id(*number)) + '\n';
    if (!id && is_count(line)) kept.append(line) += '\n';
  }
  return kept;
}

std::string kept_cdi(std::string_view text, Redactor&) {
  const auto spec = parse_cdi(text);
  if (!spec) return {};
  return "cdiVersion: " + spec->version + "\nkind: " + spec->kind + '\n' +
         (spec->driver_version ? "- hostPath: libcuda.so." + *spec->driver_version + '\n' : "");
}

std::string kept_module_block(std::string_view text, Redactor&) {
  std::string kept;
  for (const auto& block : {parse_module_block(text), parse_module_block(text, {"amdgpu"}),
                            parse_module_block(text, {"i915"}), parse_module_block(text, {"xe"})})
    if (block)
      kept +=
          block->substr(0, block->find(" /")) + (contains(*block, " /") ? " /bin/false\n" : "\n");
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
    {"/etc/cdi/", "", kept_cdi},
    {"/var/run/cdi/", "", kept_cdi},
    {"/proc/self/uid_map", "", kept_ids},
    {"/proc/self/cgroup", "", kept_groups},
    {"/proc/swaps", "", kept_swaps},
    {"/proc/devices", "", kept_devices},
    {"/etc/modprobe.d/", ".conf", kept_module_block},
    {"/run/modprobe.d/", ".conf", kept_module_block},
    {"/usr/lib/modprobe.d/", ".conf", kept_module_block},
    {"/lib/modprobe.d/", ".conf", kept_module_block},
    {"/lib/modules/", "/modules.alias", kept_aliases},
    {"/lib/modules/", "/modules.builtin", kept_builtin},
    {"/proc/device-tree/", "", as_model},
    {"/proc/meminfo", "", by_line<is_count>},
    {"/proc/uptime", "", whole<is_uptime>},
    {"/proc/xen/capabilities", "", whole<is_xen_control>},
    {"/proc/driver/nvidia/gpus/", "/information", kept_information},
    {"/proc/driver/nvidia/params", "", kept_nvidia_settings},
    {"/proc/driver/nvidia/version", "", kept_driver_version},
    {"/proc/", "", whole<is_number>},
    {"/sys/class/dmi/id/chassis_type", "", whole<is_number>},
    {"/sys/class/dmi/id/", "", as_model},
    {"/sys/", "/product_name", as_model},
    {"/sys/", "/properties", kept_properties},
    {"/sys/", "/gpu_metrics", kept_metrics},
    {"/sys/firmware/efi/efivars/SecureBoot-", "", kept_secure_boot},
    {"/sys/", "/dm/name", as_name},
    {"/sys/", "/backing_file", as_path},
    {"/sys/", "/backing_dev", as_path},
    {"/sys/", "/name", as_model},
    {"/sys/class/infiniband/", "/fw_ver", whole<is_version_form>},
    {"/sys/class/infiniband/", "/board_id", whole<is_maker_number>},
    {"/sys/class/infiniband/", "/hca_type", whole<is_maker_number>},
    {"/sys/class/infiniband/", "state", whole<is_port_state>},
    {"/sys/class/infiniband/", "/link_layer", whole<is_link_layer>},
    {"/sys/class/infiniband/", "/rate", whole<is_rate>},
    {"/sys/", "/creatable_vgpu_types", kept_vgpu_types},
    {"/sys/module/", "/version", whole<is_version_form>},
    {"/sys/module/", "/parameters/uvm_disable_hmm", as_words},
    {"/sys/", "/modalias", whole<is_modalias_form>},
    {"/sys/", "/resource", by_line<is_window>},
    {"/sys/bus/pci/devices/", "/config", kept_header},
    {"/sys/", "_link_speed", whole<is_speed>},
    {"/sys/", "/reset_method", whole<are_resets>},
    {"/sys/", "cpulist", whole<is_list>},
    {"/sys/devices/system/", "/online", whole<is_list>},
    {"/sys/", "_err_count", by_line<is_count>},
    {"/sys/", "/aer_dev_correctable", by_line<is_count>},
    {"/sys/", "/aer_dev_nonfatal", by_line<is_count>},
    {"/sys/", "/aer_dev_fatal", by_line<is_count>},
    {"/sys/", "/pp_dpm_sclk", by_line<is_clock>},
    {"/sys/", "/pp_dpm_mclk", by_line<is_clock>},
    {"/sys/fs/cgroup/", "/memory.stat", by_line<is_count>},
    {"/sys/fs/cgroup/", "/cpu.max", whole<is_quota>},
    {"/sys/", "", whole<is_number>},
    {"/run/", ".pid", whole<is_number>},
    {"/run/systemd/container", "", as_words},
    {"/etc/nv_tegra_release", "", kept_tegra_release},
    {"/", "/version.json", kept_cuda_version},
    {"/", "/version.txt", kept_cuda_text},
    {"/", "/.info/version", kept_rocm_version},
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
  if (name.starts_with("redacted-")) return true;  // listed when it had its name
  if (folder.starts_with("/dev")) return starts_with_any(name, kNodes);
  if (folder == "/usr/local" || folder == "/opt") return starts_with_any(name, kToolkits);
  constexpr std::string_view kDrivers[] = {"nvidia", "amdgpu", "intel-", "i915", "xe.ko"};
  if (folder == "/var/lib/dkms") return starts_with_any(name, kDrivers);
  if (folder == "/lib/modules") return true;  // of kernels
  if (folder.starts_with("/lib/modules/")) return starts_with_any(name, kDrivers);
  if (folder == "/usr/lib/wsl/drivers") return contains(name, ".inf_");  // of Windows' drivers
  if (folder.ends_with("/icd.d")) return name.ends_with(".json");
  if (folder.ends_with("/modprobe.d")) return name.ends_with(".conf");
  if (folder.ends_with("/ld.so.conf.d")) return name.ends_with(".conf");
  if (folder.ends_with("/rocblas/library")) return contains(name, "gfx");
  return !pick_libraries(std::string(folder), {std::string(name)}).empty();
}

bool is_log_line_read(std::string_view text) { return is_about_gpus(trim(text)); }

}  // namespace

const RedactionRules& redaction_rules() {
  static const RedactionRules rules{.is_fixed_word = is_fixed_word,
                                    .is_model_word = is_model_word,
                                    .is_model_name = is_model_name,
                                    .file = kept_of_file,
                                    .listed = is_listed,
                                    .kernel_log_line = is_log_line_read,
                                    .begins_record = begins_record,
                                    .reads_number = reads_number,
                                    .group_markers = cgroup_markers()};
  return rules;
}

}  // namespace gpuready
