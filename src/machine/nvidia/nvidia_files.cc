// NVIDIA's driver as files tell it: /proc/driver/nvidia, /sys/module, and where the loader would
// find the driver's libraries. Nothing is loaded or started, and no suspended GPU is touched.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "base/vendor_codes.h"
#include "machine/nvidia/nvidia_parse.h"
#include "machine/sources.h"
#include "machine/system/kernel_drivers.h"
#include "machine/system/loader_cache.h"

namespace gpuready {
namespace {

constexpr const char* kProc = "/proc/driver/nvidia";
constexpr const char* kWslFolder = "/usr/lib/wsl/lib";
constexpr const char* kWslDrivers = "/usr/lib/wsl/drivers";

void read_module(Host& host, Machine& machine) {
  auto& nvidia = machine.nvidia;
  const std::string path = std::string(kProc) + "/version";
  if (const auto text = host.read_file(path)) {
    const auto file = parse_nvidia_version(*text);
    nvidia.module_loaded = true;
    nvidia.module_version = file.version;
    nvidia.module_flavour = file.flavour;
  } else {
    note_unseen(machine, path, text.error());
  }
  if (host.exists("/sys/module/nvidia")) nvidia.module_loaded = true;
  nvidia.uvm_loaded = host.exists("/sys/module/nvidia_uvm");
  if (!nvidia.module_version) {
    // Built into the module; present also where procfs is hidden.
    const auto version = host.read_text("/sys/module/nvidia/version");
    if (version) nvidia.module_version = driver_version_in(*version);
  }
  if (!nvidia.module_loaded) return;
  if (const auto text = host.read_file(std::string(kProc) + "/params"))
    nvidia.params = parse_nvidia_fields(*text);
  constexpr const char* kNoHmm = "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm";
  if (const auto text = nvidia.uvm_loaded ? host.read_text(kNoHmm) : std::nullopt)
    nvidia.params["uvm_disable_hmm"] = *text;
}

bool is_suspended(const Machine& machine, const PciAddress& address) {
  for (const auto& device : machine.pci)
    if (device.address == address && device.runtime_status &&
        (*device.runtime_status == "suspended" || *device.runtime_status == "suspending"))
      return true;
  return false;
}

void apply_information(const std::map<std::string, std::string>& fields, Gpu& gpu) {
  if (const auto model = known_value(fields, "Model")) {
    gpu.name = *model;
    gpu.name_source = "procfs";
  }
  if (const auto uuid = known_value(fields, "GPU UUID")) gpu.uuid = uuid;
  if (const auto vbios = known_value(fields, "Video BIOS"))
    gpu.vbios_version = to_upper(*vbios);  // as NVML writes it
  if (const auto firmware = known_value(fields, "GPU Firmware")) gpu.firmware_version = firmware;
  if (const auto minor = known_value(fields, "Device Minor"))
    if (const auto number = parse_int(*minor); number && *number >= 0 && *number < 1'000'000)
      gpu.minor_number = static_cast<int>(*number);
  if (const auto excluded = known_value(fields, "GPU Excluded"))
    gpu.excluded = equals_ignore_case(*excluded, "yes");
}

void read_gpus(Host& host, Machine& machine) {
  const std::string folder = std::string(kProc) + "/gpus";
  const auto names = host.list_directory(folder);
  if (!names) {
    note_unseen(machine, folder, names.error());
    return;
  }
  // The driver answers these, and wakes a suspended GPU for it.
  std::vector<std::pair<PciAddress, std::string>> awake;
  std::vector<std::string> files;
  for (const auto& name : *names) {
    const auto address = parse_pci_address(name);
    if (!address || is_suspended(machine, *address)) continue;
    files.push_back(folder + "/" + name + "/information");
    awake.emplace_back(*address, files.back());
  }
  if (!awake.empty()) host.ask_driver(files);
  for (const auto& [address, path] : awake) {
    auto& gpu = gpu_at(machine, address, Vendor::nvidia);
    add_source(gpu, "procfs");
    if (const auto text = host.read_file(path))
      apply_information(parse_nvidia_fields(*text), gpu);
    else
      note_unseen(machine, path, text.error());
  }
}

LibraryFile library_at(Host& host, const std::string& name, const std::string& path) {
  LibraryFile file{name, path, std::nullopt, std::nullopt};
  if (auto real = host.real_path(path)) {
    file.version = library_version(*real);
    file.real_path = std::move(*real);
  }
  return file;
}

// In WSL 2 most of the driver's libraries lie in the folder of Windows' driver, where its libcuda
// finds them: the loader does not.
std::optional<std::string> in_wsl_drivers(Host& host, const Machine& machine,
                                          const std::string& name) {
  for (const auto& folder : machine.system.wsl_drivers) {
    const std::string path = std::string(kWslDrivers) + "/" + folder + "/" + name;
    if (host.exists(path)) return path;
  }
  return std::nullopt;
}

// NVIDIA's GPU operator keeps the driver in a container, whose root it mounts here for others.
constexpr std::string_view kDriverRoot = "/run/nvidia/driver";
constexpr std::string_view kLibraryFolders[] = {"/usr/lib/x86_64-linux-gnu/",
                                                "/usr/lib/aarch64-linux-gnu/", "/usr/lib64/",
                                                "/run/opengl-driver/lib/"};

// The file of the loaded module's version below a root.
std::optional<std::string> of_module_version(Host& host, const Machine& machine,
                                             std::string_view root, const std::string& name) {
  if (!machine.nvidia.module_version || !name.ends_with(".1")) return std::nullopt;
  const auto file = name.substr(0, name.size() - 1) + *machine.nvidia.module_version;
  for (const auto folder : kLibraryFolders)
    if (auto path = std::string(root) + std::string(folder) + file; host.exists(path)) return path;
  return std::nullopt;
}

// Jetson Linux keeps libcuda there, where the loader looks by a file of ld.so.conf.d only.
constexpr const char* kTegraFiles[] = {"/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1",
                                       "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1"};

// The first entry of a name is the one that programs load. Another copy is reported beside it where
// that is a fault: Windows' own under WSL 2, and the one of the module's version.
void read_libraries(Host& host, Machine& machine) {
  LibrarySearch search(host);
  for (const char* name : kNvidiaLibraries) {
    const auto path = search.find(name);
    if (path) machine.nvidia.libraries.push_back(library_at(host, name, *path));
    if (path && !machine.system.wsl2 && !machine.container.runtime &&
        machine.nvidia.libraries.back().version != machine.nvidia.module_version)
      if (const auto own = of_module_version(host, machine, "", name))
        machine.nvidia.libraries.push_back(library_at(host, name, *own));
    const std::string wsl = std::string(kWslFolder) + "/" + name;
    if (machine.system.wsl2 && path != wsl && host.exists(wsl))
      machine.nvidia.libraries.push_back(library_at(host, name, wsl));
    else if (const auto inner = path ? std::nullopt : in_wsl_drivers(host, machine, name))
      machine.nvidia.libraries.push_back(library_at(host, name, *inner));
    else if (const auto root =
                 path ? std::nullopt : of_module_version(host, machine, kDriverRoot, name))
      machine.nvidia.libraries.push_back(library_at(host, name, *root));
  }
  if (!machine.system.jetson_release || search.find("libcuda.so.1")) return;
  for (const char* path : kTegraFiles)
    if (host.exists(path))
      machine.nvidia.libraries.push_back(library_at(host, "libcuda.so.1.1", path));
}

// ---- daemons
struct Daemon {
  const char* command;  // /proc/<pid>/comm, which the kernel cuts at 15 characters
  const char* pid_files[2];
  std::optional<std::string> NvidiaDriver::* state;
};
constexpr Daemon kDaemons[] = {
    {"nv-fabricmanage",
     {"/run/nvidia-fabricmanager/nv-fabricmanager.pid",
      "/var/run/nvidia-fabricmanager/nv-fabricmanager.pid"},
     &NvidiaDriver::fabric_manager},
    {"nvidia-persiste",
     {"/run/nvidia-persistenced/nvidia-persistenced.pid",
      "/var/run/nvidia-persistenced/nvidia-persistenced.pid"},
     &NvidiaDriver::persistence_daemon},
};
constexpr const char* kPersistenceSocket = "/run/nvidia-persistenced/socket";

bool runs(Host& host, const Daemon& daemon, const std::string& pid) {
  const auto command = host.read_text("/proc/" + pid + "/comm");
  return command && command->starts_with(daemon.command);
}

// Whether the process that a pid file names is the daemon; nothing when there is no such file.
std::optional<bool> runs(Host& host, const Daemon& daemon) {
  for (const char* file : daemon.pid_files)
    if (const auto pid = host.read_int(file)) return runs(host, daemon, std::to_string(*pid));
  return std::nullopt;
}

// A pid file may be stale, or in a container of this host, or from one.
bool is_among_processes(Host& host, const Daemon& daemon) {
  const auto pids = host.list_directory("/proc");
  return pids && std::ranges::any_of(*pids, [&](const std::string& pid) {
           return parse_uint(pid) && runs(host, daemon, pid);
         });
}

// The kernel's own threads are in the first namespace of processes only, and hidepid= of proc(5)
// hides them as it hides other users' processes.
bool sees_all_processes(Host& host) { return host.read_text("/proc/2/comm") == "kthreadd"; }

// Only machines with NVSwitches need one. From NVLink 5 on these are not PCI functions of the host,
// so that it is installed counts as well.
bool wants_fabric_manager(Host& host, const Machine& machine) {
  return nvswitches(machine) > 0 || host.exists("/usr/bin/nv-fabricmanager");
}

void read_daemons(Host& host, Machine& machine) {
  auto& nvidia = machine.nvidia;
  if (!nvidia.module_loaded) return;
  for (const auto& daemon : kDaemons) {
    const auto running = runs(host, daemon);
    const bool manager = daemon.state == &NvidiaDriver::fabric_manager;
    // A container does not see the host's daemons; that it finds none means nothing there.
    if (running == true)
      nvidia.*daemon.state = "running";
    else if (machine.container.runtime)
      continue;
    else if (!manager)
      nvidia.*daemon.state = "not_running";
    else if ((running || wants_fabric_manager(host, machine)) && sees_all_processes(host))
      nvidia.*daemon.state = is_among_processes(host, daemon) ? "running" : "not_running";
  }
  // The socket is handed into containers, and outlives no daemon.
  if (nvidia.persistence_daemon != "running" && host.exists(kPersistenceSocket))
    nvidia.persistence_daemon = "running";
}

bool lists(Host& host, const std::string& folder, std::string_view start) {
  const auto names = host.list_directory(folder);
  return names &&
         std::ranges::any_of(*names, [&](const auto& name) { return name.starts_with(start); });
}

// Modules that a distribution builds for each of its kernels: RHEL's and its relatives' in
// /lib/modules/<kernel>/extra/nvidia; those of Ubuntu's
// "linux-modules-nvidia-580-server-open-<kernel>" in
// /lib/modules/<kernel>/kernel/nvidia-580srv-open.
void find_built_modules(Host& host, NvidiaDriver& nvidia) {
  constexpr const char* kModules = "/lib/modules";
  constexpr std::size_t kMostKernels = 16;
  const auto kernels = host.list_directory(kModules);
  if (!kernels) return;
  for (std::size_t i = 0; i < std::min(kernels->size(), kMostKernels); ++i) {
    const auto folder = fmt::format("{}/{}/", kModules, (*kernels)[i]);
    if (lists(host, folder + "extra", "nvidia")) nvidia.modules_from = "packages";
    const auto names = host.list_directory(folder + "kernel");
    if (!names) continue;
    for (const auto& name : *names) {
      if (!name.starts_with("nvidia-")) continue;
      nvidia.modules_from = "packages";
      nvidia.modules_package = "linux-modules-" + name;
      if (const auto server = nvidia.modules_package->find("srv"); server != std::string::npos)
        nvidia.modules_package->replace(server, 3, "-server");
    }
  }
}

// As NVIDIA and Debian name it. Whole names, since redaction keeps these (fixed_words.awk).
bool has_module(Host& host, const std::string& folder) {
  constexpr std::string_view kFiles[] = {"nvidia.ko",
                                         "nvidia.ko.xz",
                                         "nvidia.ko.zst",
                                         "nvidia.ko.gz",
                                         "nvidia-current.ko",
                                         "nvidia-current.ko.xz",
                                         "nvidia-current.ko.zst",
                                         "nvidia-current-open.ko",
                                         "nvidia-current-open.ko.xz",
                                         "nvidia-current-open.ko.zst",
                                         "nvidia-tesla-470.ko",
                                         "nvidia-tesla-470.ko.xz"};
  const auto names = host.list_directory(folder);
  return names && std::ranges::any_of(*names, [&](const std::string& name) {
           return std::ranges::find(kFiles, name) != std::end(kFiles);
         });
}

// DKMS, akmods, kmod packages, NVIDIA's installer, Arch's and Ubuntu's packages.
bool is_installed_in(Host& host, const std::string& modules) {
  constexpr const char* kFolders[] = {
      "/updates/dkms",         "/updates",     "/extra", "/extra/nvidia", "/weak-updates/nvidia",
      "/kernel/drivers/video", "/extramodules"};
  if (std::ranges::any_of(kFolders,
                          [&](const char* folder) { return has_module(host, modules + folder); }))
    return true;
  const auto folder = modules + "/kernel/";
  const auto names = host.list_directory(folder);
  return names && std::ranges::any_of(*names, [&](const std::string& name) {
           return name.starts_with("nvidia-") && has_module(host, folder + name);
         });
}

// "5.14.0-611" of "5.14.0-611.45.1.el9_7.x86_64": a distribution's updates of one kernel share its
// modules, and a redacted recording does not tell them apart.
std::string_view build_of(std::string_view release) {
  return release.substr(0, release.find('.', std::min(release.find('-'), release.size())));
}

// Another kernel for which the module is installed: the driver was not built for the running one.
std::optional<std::string> kernel_with_module(Host& host, const std::string& running) {
  constexpr std::size_t kMostKernels = 16;
  const auto kernels = host.list_directory("/lib/modules");
  for (std::size_t i = kernels ? std::min(kernels->size(), kMostKernels) : 0; i > 0; --i)
    if (const auto& kernel = (*kernels)[i - 1];
        build_of(kernel) != build_of(running) && is_installed_in(host, "/lib/modules/" + kernel))
      return kernel;
  return std::nullopt;
}

// One that has too little room for the module's build and its packages.
std::optional<std::string> full_file_system(Host& host) {
  for (const char* path : {"/", "/var", "/usr"})
    if (const auto space = host.space(path); space && space->available_bytes < GiB)
      return fmt::format("{}: {} free", path, format_bytes(space->available_bytes));
  return std::nullopt;
}

// Why the module is not loaded.
void read_obstacles(Host& host, Machine& machine) {
  auto& nvidia = machine.nvidia;
  const std::string modules = "/lib/modules/" + machine.system.kernel_release;
  if (nvidia.module_loaded || nvidia.modules_from == "container" || !host.exists(modules)) return;
  nvidia.module_installed = is_installed_in(host, modules);
  nvidia.module_blocked = module_block(host, {"nvidia", "nvidia-current"});
  if (const auto other = nvidia.module_installed.value() || nvidia.module_blocked
                             ? std::nullopt
                             : kernel_with_module(host, machine.system.kernel_release))
    nvidia.module_blocked = "/lib/modules/" + *other + ": installed for this kernel only";
  if (!nvidia.module_installed.value() && !nvidia.module_blocked)
    nvidia.module_blocked = full_file_system(host);
  const bool built_here = nvidia.modules_from == "dkms" || nvidia.modules_from == "akmods" ||
                          nvidia.modules_from == "runfile";
  if (built_here) nvidia.kernel_headers = host.exists(modules + "/build");
}

}  // namespace

void read_nvidia_packaging(Host& host, Machine& machine) {
  constexpr const char* kAkmods[] = {
      "/usr/src/akmods/nvidia-kmod.latest", "/usr/src/akmods/nvidia-open-kmod.latest",
      "/usr/src/akmods/nvidia-580xx-kmod.latest", "/usr/src/akmods/nvidia-470xx-kmod.latest"};
  auto& nvidia = machine.nvidia;
  const bool any = std::ranges::any_of(
      machine.pci, [](const PciDevice& device) { return device.vendor_id == pci_vendor::kNvidia; });
  if (!any || machine.container.runtime || machine.system.wsl2) return;
  // Red Hat's family keeps in extra/nvidia what it builds, and DKMS' modules right in extra.
  const bool signed_by_dkms =
      host.exists("/var/lib/dkms/mok.pub") &&
      has_module(host, "/lib/modules/" + machine.system.kernel_release + "/extra");
  if (signed_by_dkms || lists(host, "/var/lib/dkms", "nvidia"))
    nvidia.modules_from = "dkms";
  else if (std::ranges::any_of(kAkmods, [&](const char* file) { return host.exists(file); }))
    nvidia.modules_from = "akmods";
  else
    find_built_modules(host, nvidia);
  if (!nvidia.modules_from)
    nvidia.modules_from = host.exists("/usr/bin/nvidia-uninstall") ? "runfile"
                          : host.exists("/run/nvidia/driver")      ? "container"
                                                                   : "none";
  read_obstacles(host, machine);
}

void read_nvidia_files(Host& host, Machine& machine) {
  read_module(host, machine);
  if (machine.nvidia.module_loaded) read_gpus(host, machine);
  read_libraries(host, machine);
  read_daemons(host, machine);
}

}  // namespace gpuready
