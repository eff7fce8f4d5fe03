// The machine around the GPUs.
#include "machine/system/system.h"

#include <algorithm>

#include "base/text.h"
#include "machine/pci/pci_files.h"
#include "machine/sources.h"
#include "machine/system/kernel_drivers.h"

namespace gpuready {
namespace {
struct DmiRule {
  std::string_view vendor, product, hypervisor;  // empty: any
};
// As systemd-detect-virt and the vendors' guest documentation name them.
constexpr DmiRule kDmiRules[] = {
    {"QEMU", "", "kvm"},
    {"Red Hat", "KVM", "kvm"},
    {"", "KVM", "kvm"},
    {"Google", "Google Compute Engine", "kvm"},
    {"Amazon EC2", "", "nitro"},
    {"DigitalOcean", "", "kvm"},
    {"OpenStack", "", "kvm"},
    {"Alibaba Cloud", "", "kvm"},
    {"KubeVirt", "", "kvm"},
    {"", "KubeVirt", "kvm"},
    {"Nutanix", "AHV", "kvm"},
    {"Hetzner", "vServer", "kvm"},
    {"Tencent Cloud", "CVM", "kvm"},
    {"VMware", "", "vmware"},
    {"innotek GmbH", "", "virtualbox"},
    {"Microsoft Corporation", "Virtual Machine", "hyperv"},
    {"Xen", "", "xen"},
    {"Parallels", "", "parallels"},
    {"", "BHYVE", "bhyve"},
};

std::string_view value_after_colon(std::string_view line) {
  const auto colon = line.find(':');
  return colon == line.npos ? std::string_view{} : trim(line.substr(colon + 1));
}

std::optional<std::string> find_hypervisor(Host& host, const SystemState& system) {
  if (system.wsl2) return "wsl2";
  // Xen's own control domain (dom0) has the hardware.
  if (host.read_text("/proc/xen/capabilities").value_or("") == "control_d") return std::nullopt;
  if (const auto type = host.read_text("/sys/hypervisor/type")) return type;
  const auto vendor = host.read_text("/sys/class/dmi/id/sys_vendor").value_or("");
  if (auto known = hypervisor_from_dmi(vendor, system.product_name.value_or(""))) {
    // EC2's bare-metal instances bear the same vendor name; their type ends in ".metal".
    if (*known == "nitro" && system.product_name && contains(*system.product_name, ".metal"))
      return std::nullopt;
    return known;
  }
  // Firecracker has no DMI; its VM generation device in ACPI bears its maker's name.
  if (host.exists("/sys/bus/acpi/devices/AMZNC10C:00")) return "firecracker";
  return std::nullopt;
}

void read_numa(Host& host, SystemState& system) {
  const auto nodes = host.list_directory("/sys/devices/system/node");
  if (!nodes) return;
  for (const auto& name : *nodes) {
    const auto number = after_prefix(name, "node");
    const auto node = number ? parse_uint(*number) : std::nullopt;
    if (!node || *node > 4096) continue;
    if (const auto cpus = host.read_text("/sys/devices/system/node/" + name + "/cpulist"))
      system.numa_cpus[static_cast<int>(*node)] = *cpus;
  }
}
}  // namespace

namespace {
// KEY=value, 'value' or "value", as os-release(5) writes it; the last one counts.
std::optional<std::string> os_release_value(std::string_view text, std::string_view key) {
  std::optional<std::string> found;
  for (const auto line : lines(text)) {
    const auto rest = after_prefix(trim(line), key);
    if (!rest) continue;
    auto value = trim(*rest);
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    if (!value.empty()) found = printable(value);
  }
  return found;
}
}  // namespace

std::optional<std::string> parse_os_name(std::string_view text) {
  if (auto name = os_release_value(text, "PRETTY_NAME=")) return name;
  return os_release_value(text, "NAME=");
}

std::optional<std::string> parse_os_ids(std::string_view text) {
  auto ids = os_release_value(text, "ID=");
  const auto like = os_release_value(text, "ID_LIKE=");
  if (!like) return ids;
  return ids ? *ids + " " + *like : *like;
}

std::optional<std::uint64_t> parse_meminfo(std::string_view text, std::string_view key) {
  for (const auto line : lines(text)) {
    const auto rest = after_prefix(line, key);
    if (!rest || !rest->starts_with(':')) continue;
    const auto words = split(rest->substr(1), " \t");
    if (words.empty()) return std::nullopt;
    const auto kib = parse_uint(words[0]);
    if (!kib || *kib > UINT64_MAX / 1024) return std::nullopt;
    return *kib * 1024;
  }
  return std::nullopt;
}

std::optional<std::string> parse_cpu_model(std::string_view text) {
  for (const auto line : lines(text)) {
    for (const std::string_view key : {"model name", "Model", "Hardware", "cpu model"}) {
      if (!line.starts_with(key)) continue;
      const auto after = trim(line.substr(key.size()));
      const auto value = after.starts_with(':') ? value_after_colon(line) : std::string_view{};
      if (!value.empty()) return printable(value);
    }
  }
  return std::nullopt;
}

bool has_hypervisor_flag(std::string_view text) {
  return std::ranges::any_of(lines(text), [](std::string_view line) {
    return line.starts_with("flags") && contains(std::string(line) + ' ', " hypervisor ");
  });
}

std::optional<bool> parse_secure_boot(std::string_view bytes) {
  if (bytes.size() != 5) return std::nullopt;
  return bytes[4] == 1;
}

std::optional<std::string> hypervisor_from_dmi(std::string_view vendor, std::string_view product) {
  for (const auto& rule : kDmiRules)
    if (vendor.starts_with(rule.vendor) && product.starts_with(rule.product))
      return std::string(rule.hypervisor);
  return std::nullopt;
}

void read_system(Host& host, Machine& machine) {
  auto& system = machine.system;
  if (const auto identity = host.identity()) {
    system.host_name = printable(identity->host_name);
    system.kernel_release = printable(identity->kernel_release);
    system.architecture = printable(identity->machine);
    system.effective_uid = identity->effective_uid;
    if (identity->unix_seconds > 0) system.unix_seconds = identity->unix_seconds;
  } else {
    note_unseen(machine, "uname", identity.error());
  }
  if (const auto text = host.read_file("/etc/os-release")) {
    system.os_name = parse_os_name(*text);
    system.os_ids = parse_os_ids(*text);
  }
  if (const auto text = host.read_file("/proc/meminfo")) {
    system.memory_total_bytes = parse_meminfo(*text, "MemTotal");
    system.memory_available_bytes = parse_meminfo(*text, "MemAvailable");
  }
  if (const auto online = host.read_text("/sys/devices/system/cpu/online"))
    system.cpu_count = count_cpu_list(*online);
  if (const auto enforce = host.read_text("/sys/fs/selinux/enforce"))
    system.selinux_enforcing = *enforce == "1";
  // The host's own namespace maps every id to itself: "0 0 4294967295".
  if (const auto map = host.read_text("/proc/self/uid_map"))
    system.user_namespace =
        split(*map, " \t\n") != std::vector<std::string_view>{"0", "0", "4294967295"};
  system.product_name = host.read_text("/sys/class/dmi/id/product_name");
  if (const auto type = host.read_int("/sys/class/dmi/id/chassis_type"); type && *type > 0)
    system.chassis_type = static_cast<int>(std::min<std::int64_t>(*type, 255));
  system.kernel_command_line = host.read_text("/proc/cmdline");
  if (const auto groups = host.list_directory("/sys/kernel/iommu_groups"))
    system.iommu_active = !groups->empty();
  // Microsoft names its WSL2 kernels "...-microsoft-standard-WSL2"; self-built ones keep /dev/dxg.
  const std::string release = to_lower(system.kernel_release);
  system.wsl2 =
      contains(release, "microsoft") && (contains(release, "wsl2") || host.exists("/dev/dxg"));
  if (system.wsl2 || has_gpu_partition(machine))
    if (auto names = host.list_directory("/usr/lib/wsl/drivers"))
      system.wsl_drivers = std::move(*names);
  if (const auto release_text = host.read_file("/etc/nv_tegra_release")) {
    const auto first = lines(*release_text);
    if (!first.empty()) system.jetson_release = printable(trim(first.front()));
  } else if (auto board = host.read_text("/proc/device-tree/model");
             board && board->starts_with("NVIDIA Jetson")) {
    system.jetson_release = std::move(*board);  // a container has its own /etc
  } else if (const auto tree = host.read_file("/proc/device-tree/compatible", 4096)) {
    // Images that somebody builds, and carrier boards of other makers. Earlier chips have no CUDA.
    for (const auto chip : {"nvidia,tegra124", "nvidia,tegra210", "nvidia,tegra186",
                            "nvidia,tegra194", "nvidia,tegra234", "nvidia,tegra264"})
      if (contains(*tree, chip)) system.jetson_release = chip;
  }
  if (!system.product_name) system.product_name = host.read_text("/proc/device-tree/model");
  system.hypervisor = find_hypervisor(host, system);
  if (const auto uptime = host.read_text("/proc/uptime"))
    if (const auto seconds = parse_double(uptime->substr(0, uptime->find(' ')));
        seconds && *seconds >= 0 && *seconds < 1e10)
      system.uptime_seconds = static_cast<std::int64_t>(*seconds);
  read_numa(host, system);
}

void read_slow_system(Host& host, Machine& machine) {
  auto& system = machine.system;
  if (const auto text = host.read_file("/proc/cpuinfo", 16u << 20)) {
    system.cpu_model = parse_cpu_model(*text);
    // WSL 1 and Xen's control domain have the flag, too.
    if (!system.hypervisor && has_hypervisor_flag(*text) &&
        !contains(to_lower(system.kernel_release), "microsoft") &&
        !host.exists("/proc/xen/capabilities"))
      system.hypervisor = "unknown";
  }
  // "0-0" is the machine's own router, "0-1" and "0-301" what is attached, "domain0" the bus.
  if (const auto devices = host.list_directory("/sys/bus/thunderbolt/devices"))
    system.thunderbolt = std::ranges::any_of(*devices, [](std::string_view name) {
      const auto route = name.substr(std::min(name.find('-'), name.size()));
      return route.size() > 1 && !contains(route, ".") && route != "-0";
    });
  const auto variable = host.read_file(
      "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", 64);
  if (variable)
    system.secure_boot = parse_secure_boot(*variable);
  else
    note_unseen(machine, "Secure Boot state", variable.error());
}

}  // namespace gpuready
