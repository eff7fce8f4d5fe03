#include <gtest/gtest.h>

#include <cstring>

#include "base/units.h"
#include "machine/nvidia/nvidia_parse.h"
#include "machine/sources.h"
#include "machine/system/loader_cache.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

// As a driver of release 580 with the open module writes them.
constexpr const char* kVersion =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  "
    "(nixbld@)  \\nGCC version:  gcc version 13.3.0\\n";
constexpr const char* kInformation =
    "Model: \\t\\t NVIDIA H200\\nIRQ:   \\t\\t 123\\nGPU UUID: \\t GPU-5e0d3f\\n"
    "Video BIOS: \\t 96.00.bc.00.01\\nBus Type: \\t PCIe\\nDMA Size: \\t 52 bits\\n"
    "Bus Location: \\t 0000:17:00.0\\nDevice Minor: \\t 3\\nGPU Firmware: \\t 580.159.04\\n"
    "GPU Excluded:\\t No\\n";

std::string file(const std::string& path, const std::string& text) {
  return "\"" + path + "\":\"" + text + "\"";
}

Machine machine_of(const std::string& files, const std::string& rest = "", Machine machine = {}) {
  const auto host = scripted("\"files\":{" + files + "}" + rest);
  read_nvidia_files(*host, machine);
  return machine;
}

std::string driver_files() {
  return file("/proc/driver/nvidia/version", kVersion) + "," +
         file("/proc/driver/nvidia/params", "EnableMSI: 1\\nRegistryDwords: \\\"\\\"\\n") + "," +
         file("/proc/driver/nvidia/gpus/0000:17:00.0/information", kInformation);
}

TEST(NvidiaFiles, OpenModule) {
  const auto machine = machine_of(driver_files());
  EXPECT_TRUE(machine.nvidia.module_loaded);
  EXPECT_EQ(machine.nvidia.module_version, "580.159.04");
  EXPECT_EQ(machine.nvidia.module_flavour, "open");
  EXPECT_EQ(machine.nvidia.params.at("EnableMSI"), "1");
}

TEST(NvidiaFiles, ProprietaryModule) {
  const auto file = parse_nvidia_version(
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n");
  EXPECT_EQ(file.version, "535.183.01");
  EXPECT_EQ(file.flavour, "proprietary");
}

TEST(NvidiaFiles, VersionBeyondAnyIntegerIsAbsent) {
  EXPECT_FALSE(
      parse_nvidia_version("NVRM version: NVIDIA Kernel Module  53333333333333.1\n").version);
}

TEST(NvidiaFiles, InformationOfAGpu) {
  const auto machine = machine_of(driver_files());
  ASSERT_EQ(machine.gpus.size(), 1u);
  const auto& gpu = machine.gpus[0];
  EXPECT_EQ(gpu.pci->text(), "0000:17:00.0");
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.uuid, "GPU-5e0d3f");
  EXPECT_EQ(gpu.vbios_version, "96.00.BC.00.01");  // as NVML writes it
  EXPECT_EQ(gpu.minor_number, 3);
  EXPECT_EQ(gpu.firmware_version, "580.159.04");
  EXPECT_EQ(gpu.excluded, false);
}

TEST(NvidiaFiles, WhatTheDriverDoesNotKnowYetIsAbsent) {
  const std::string unknown(8, '?');
  const auto fields =
      parse_nvidia_fields("GPU UUID: \t GPU-" + unknown + "-" + unknown + "\nVideo BIOS: \t " +
                          unknown + "\nGPU Firmware: \t N/A\n");
  EXPECT_FALSE(known_value(fields, "GPU UUID"));
  EXPECT_FALSE(known_value(fields, "Video BIOS"));
  EXPECT_FALSE(known_value(fields, "GPU Firmware"));
}

TEST(NvidiaFiles, SuspendedGpuIsNotAsked) {
  Machine before;
  auto& device = before.pci.emplace_back();
  device.address = {0, 0x17, 0, 0};
  device.runtime_status = "suspended";
  const auto machine = machine_of(driver_files(), "", before);
  EXPECT_TRUE(machine.gpus.empty());
}

TEST(NvidiaFiles, ModuleWithoutProcfsIsStillLoaded) {
  const auto machine = machine_of(file("/sys/module/nvidia/version", "550.90.07\\n"));
  EXPECT_TRUE(machine.nvidia.module_loaded);
  EXPECT_EQ(machine.nvidia.module_version, "550.90.07");
  EXPECT_FALSE(machine.nvidia.module_flavour);
}

TEST(NvidiaFiles, NothingThere) {
  const auto machine = machine_of(file("/etc/hostname", "box\\n"));
  EXPECT_FALSE(machine.nvidia.module_loaded);
  EXPECT_TRUE(machine.nvidia.libraries.empty());
  EXPECT_FALSE(machine.nvidia.persistence_daemon);
  EXPECT_TRUE(machine.unseen.empty());
}

TEST(NvidiaFiles, LibraryVersionIsTheSuffixOfTheRealFile) {
  EXPECT_EQ(library_version("/usr/lib/libcuda.so.580.159.04"), "580.159.04");
  EXPECT_FALSE(library_version("/usr/lib/libcuda.so.1"));
  EXPECT_FALSE(library_version("/usr/lib/wsl/lib/libcuda.so"));
}

TEST(NvidiaFiles, WhatKeepsTheModuleFromLoading) {
  EXPECT_EQ(parse_module_block("# of a tool\n\tblacklist  nvidia\r\n"), "blacklist nvidia");
  EXPECT_EQ(parse_module_block("alias nvidia off\n"), "alias nvidia off");
  EXPECT_EQ(parse_module_block("install nvidia /usr/bin/false"), "install nvidia /usr/bin/false");
  EXPECT_EQ(parse_module_block("blacklist nvidia-current"), "blacklist nvidia-current");
  for (const auto* harmless :
       {"", "#blacklist nvidia\n", "blacklist nouveau\n", "blacklist nvidia-drm\n",
        "options nvidia NVreg_DeviceFileMode=0660\n", "alias nvidia nvidia-current\n",
        "install nvidia modprobe -i nvidia-current $CMDLINE_OPTS\n", "blacklist\n"})
    EXPECT_FALSE(parse_module_block(harmless)) << harmless;
}

TEST(NvidiaFiles, WhyTheModuleIsNotLoaded) {
  Machine machine;
  machine.pci.emplace_back().vendor_id = 0x10de;
  machine.system.kernel_release = "6.8.0";
  const auto driver = [&](const std::string& files, bool loaded = false,
                          const std::string& more = "") {
    Machine copy = machine;
    copy.nvidia.module_loaded = loaded;
    const auto host = scripted("\"files\":{" + files + "}" + more);
    read_nvidia_packaging(*host, copy);
    return copy.nvidia;
  };
  const auto modules = file("/lib/modules/6.8.0/modules.dep", "");
  const auto dkms = modules + "," + file("/var/lib/dkms/nvidia/580.95.05/source/dkms.conf", "");
  EXPECT_EQ(driver(modules).kernel_headers, std::nullopt);  // nothing is built here
  EXPECT_EQ(driver(dkms).kernel_headers, false);
  EXPECT_EQ(driver(dkms + "," + file("/lib/modules/6.8.0/build/Makefile", "")).kernel_headers,
            true);
  EXPECT_EQ(driver(dkms, true).kernel_headers, std::nullopt);
  EXPECT_EQ(driver(dkms).module_installed, false);
  for (const auto* folder : {"updates/dkms", "extra/nvidia", "kernel/nvidia-580-open"})
    EXPECT_EQ(driver(modules + "," +
                     file("/lib/modules/6.8.0/" + std::string(folder) + "/nvidia.ko.zst", ""))
                  .module_installed,
              true)
        << folder;
  // The frame buffer's module lies below a folder of that name.
  EXPECT_EQ(
      driver(modules + "," + file("/lib/modules/6.8.0/kernel/drivers/video/nvidia/nvidiafb.ko", ""))
          .module_installed,
      false);
  // The newest other kernel that has the module, of builds that are not the running one's.
  const auto with_module = [&](const std::string& kernel) {
    return "," + file("/lib/modules/" + kernel + "/updates/dkms/nvidia.ko", "");
  };
  const auto other = [](const std::string& kernel) {
    return "/lib/modules/" + kernel + ": installed for this kernel only";
  };
  EXPECT_EQ(driver(modules + with_module("6.5.0")).module_blocked, other("6.5.0"));
  EXPECT_EQ(driver(modules + with_module("6.9.0")).module_blocked, other("6.9.0"));
  EXPECT_EQ(driver(modules + with_module("6.5.0") + with_module("6.6.0")).module_blocked,
            other("6.6.0"));
  EXPECT_EQ(driver(modules + with_module("6.5.0") + with_module("6.8.0")).module_blocked,
            std::nullopt);
  EXPECT_EQ(driver(modules).module_blocked, std::nullopt);
  EXPECT_EQ(driver(modules + with_module("6.5.0"), false,
                   R"(,"directories":{"/lib/modules":{"error":"EACCES"}})")
                .module_blocked,
            std::nullopt);
  // A build and its packages need 1 GiB.
  const auto with_space = [&](const std::string& files, const char* path, std::uint64_t bytes) {
    return driver(files, false,
                  ",\"spaces\":{\"" + std::string(path) +
                      "\":{\"total_bytes\":" + std::to_string(4 * GiB) +
                      ",\"available_bytes\":" + std::to_string(bytes) + "}}")
        .module_blocked;
  };
  for (const std::string path : {"/", "/var", "/usr"}) {
    EXPECT_EQ(with_space(modules, path.c_str(), GiB - MiB), path + ": 1023 MiB free");
    EXPECT_EQ(with_space(modules, path.c_str(), GiB), std::nullopt) << path;
  }
  EXPECT_EQ(with_space(modules, "/home", 0), std::nullopt);
  EXPECT_EQ(with_space(modules + with_module("6.8.0"), "/", 0), std::nullopt) << "it is built";
  EXPECT_EQ(with_space(modules + with_module("6.5.0"), "/", 0), other("6.5.0"));
  const auto block = modules + "," + file("/lib/modprobe.d/gpu.conf", "blacklist nvidia\\n");
  EXPECT_EQ(driver(block).module_blocked, "/lib/modprobe.d/gpu.conf: blacklist nvidia");
  EXPECT_EQ(driver(block + "," + file("/etc/modprobe.d/gpu.conf", "")).module_blocked,
            std::nullopt);
  EXPECT_EQ(driver(block, true).module_blocked, std::nullopt);
}

TEST(NvidiaFiles, WhatTheModulesComeFrom) {
  const auto driver = [](const std::string& files) {
    Machine machine;
    machine.pci.emplace_back().vendor_id = 0x10de;
    machine.system.kernel_release = "6.8.0";
    const auto host = scripted("\"files\":{" + files + "}");
    read_nvidia_packaging(*host, machine);
    return machine.nvidia;
  };
  const auto from = [&](const std::string& path) {
    return driver(file(path, "")).modules_from.value_or("nothing");
  };
  EXPECT_EQ(from("/etc/hostname"), "none");
  EXPECT_EQ(from("/var/lib/dkms/nvidia/580.95.05/source/dkms.conf"), "dkms");
  EXPECT_EQ(from("/var/lib/dkms/zfs/2.2/source/dkms.conf"), "none");
  EXPECT_EQ(from("/usr/src/akmods/nvidia-kmod.latest"), "akmods");
  EXPECT_EQ(from("/lib/modules/6.8.0/extra/nvidia/nvidia.ko.xz"), "packages");
  EXPECT_EQ(from("/lib/modules/6.9.0/extra/nvidia/nvidia.ko.xz"), "packages");
  EXPECT_EQ(from("/lib/modules/6.8.0/extra/zfs/zfs.ko.xz"), "none");
  EXPECT_EQ(from("/lib/modules/6.8.0/kernel/nvidia-580-open/nvidia.ko"), "packages");
  EXPECT_EQ(from("/lib/modules/6.8.0/kernel/drivers/nvidia-wmi.ko"), "none");
  EXPECT_EQ(from("/usr/bin/nvidia-uninstall"), "runfile");
  EXPECT_EQ(from("/run/nvidia/driver/etc/hostname"), "container");
  const auto package = [&](const std::string& folder) {
    return driver(file("/lib/modules/6.8.0/" + folder + "/nvidia.ko", "")).modules_package;
  };
  EXPECT_EQ(package("kernel/nvidia-580"), "linux-modules-nvidia-580");
  EXPECT_EQ(package("kernel/nvidia-580srv-open"), "linux-modules-nvidia-580-server-open");
  EXPECT_EQ(package("kernel/drivers"), std::nullopt);
  EXPECT_EQ(package("extra/nvidia"), std::nullopt);
}

// The loader does not find these; where it finds one, that one counts.
TEST(NvidiaFiles, LibrariesOfWindowsDriverAreInItsFolder) {
  Machine wsl;
  wsl.system.wsl2 = true;
  wsl.system.wsl_drivers = {"iigd_dch.inf_amd64_1", "nv_dispi.inf_amd64_2"};
  const auto paths = [&](const std::string& files) {
    std::vector<std::string> found;
    for (const auto& library : machine_of(files, "", wsl).nvidia.libraries)
      found.push_back(library.path);
    return found;
  };
  using Paths = std::vector<std::string>;
  const std::string inner = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_2/libnvidia-ml.so.1",
                    outer = "/usr/lib/wsl/lib/libnvidia-ml.so.1",
                    loaded = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1";
  EXPECT_EQ(paths(file("/etc/hostname", "box")), Paths{});
  EXPECT_EQ(paths(file(inner, "")), Paths{inner});
  EXPECT_EQ(paths(file(inner, "") + "," + file(outer, "")), Paths{outer});
  EXPECT_EQ(paths(file(inner, "") + "," + file(loaded, "")), Paths{loaded});
  EXPECT_EQ(paths(file(outer, "") + "," + file(loaded, "")), (Paths{loaded, outer}));
}

// ---- the loader's cache
struct Entry {
  std::uint32_t flags;
  std::string name, path;
};
void append(std::string& out, std::uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string cache_of(const std::vector<Entry>& entries) {
  std::string strings, table;
  const std::size_t first = 48 + entries.size() * 24;
  for (const auto& entry : entries) {
    append(table, entry.flags);
    append(table, static_cast<std::uint32_t>(first + strings.size()));
    strings += entry.name + '\0';
    append(table, static_cast<std::uint32_t>(first + strings.size()));
    strings += entry.path + '\0';
    table.append(12, '\0');
  }
  std::string out = "glibc-ld.so.cache1.1";
  append(out, static_cast<std::uint32_t>(entries.size()));
  append(out, static_cast<std::uint32_t>(strings.size()));
  out.append(48 - out.size(), '\0');
  return out + table + strings;
}
constexpr std::uint32_t kX86_64 = 0x0303, kI386 = 0x0003;
const std::vector<Entry> kEntries{{kI386, "libcuda.so.1", "/usr/lib32/libcuda.so.1"},
                                  {kX86_64, "libcuda.so.1", "/usr/lib64/libcuda.so.1"}};

// proc(5): comm is cut at 15 characters; under hidepid= another user's process has no folder.
TEST(NvidiaFiles, TheFabricManagerIsFoundWhereverItsPidFileIs) {
  Machine with_switches;
  auto& nvswitch = with_switches.pci.emplace_back();
  nvswitch.vendor_id = 0x10de;
  nvswitch.device_id = 0x22a3;
  nvswitch.class_code = 0x068000;
  const auto state = [&](const std::string& more) {
    return machine_of(driver_files() + more, "", with_switches).nvidia.fabric_manager;
  };
  const std::string first = "," + file("/proc/2/comm", "kthreadd\\n");
  const std::string manager = "," + file("/proc/900/comm", "nv-fabricmanage\\n");
  const std::string pid_file =
      "," + file("/run/nvidia-fabricmanager/nv-fabricmanager.pid", "900\\n");
  EXPECT_EQ(state(first + pid_file + manager), "running");
  EXPECT_EQ(state(first + manager), "running");  // in a container of this host
  EXPECT_EQ(state(first), "not_running");
  EXPECT_EQ(state(first + pid_file), "not_running");  // it has died
  const std::string other = "," + file("/proc/33/comm", "kworker/2:0\\n") + "," +
                            file("/run/nvidia-fabricmanager/nv-fabricmanager.pid", "33\\n");
  EXPECT_EQ(state(first + manager + other), "running");  // the file is stale
  EXPECT_EQ(state(""), std::nullopt);                    // hidden, so unknown
  EXPECT_EQ(state(pid_file), std::nullopt);
  with_switches.container.runtime = "docker";  // that was given the host's /run
  EXPECT_EQ(state(first + pid_file), std::nullopt);
}

// Where processes are hidden, the pid file's is seen all the same if it is the user's own.
TEST(NvidiaFiles, ADaemonRunsWhereItsPidFileNamesIt) {
  struct Row {
    const char *comm, *pid_file;
    std::optional<std::string> NvidiaDriver::* state;
  };
  for (const auto& [comm, pid_file, daemon] : std::initializer_list<Row>{
           {"nv-fabricmanage", "/run/nvidia-fabricmanager/nv-fabricmanager.pid",
            &NvidiaDriver::fabric_manager},
           {"nv-fabricmanage", "/var/run/nvidia-fabricmanager/nv-fabricmanager.pid",
            &NvidiaDriver::fabric_manager},
           {"nvidia-persiste", "/run/nvidia-persistenced/nvidia-persistenced.pid",
            &NvidiaDriver::persistence_daemon},
           {"nvidia-persiste", "/var/run/nvidia-persistenced/nvidia-persistenced.pid",
            &NvidiaDriver::persistence_daemon}})
    for (const bool runs : {true, false}) {
      const auto files = driver_files() + "," + file(pid_file, "900\\n") + "," +
                         file("/proc/900/comm", (runs ? comm : "sh") + std::string("\\n"));
      const auto machine = machine_of(files);
      EXPECT_EQ(machine.nvidia.*daemon == "running", runs) << pid_file;
      Machine inside;
      inside.container.runtime = "docker";
      EXPECT_EQ(machine_of(files, "", inside).nvidia.*daemon,
                runs ? std::optional<std::string>("running") : std::nullopt)
          << pid_file;
    }
}

TEST(LoaderCache, EntriesInOrder) {
  const auto bytes = cache_of(kEntries);
  const auto entries = parse_loader_cache(bytes);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[1].path, "/usr/lib64/libcuda.so.1");
}

TEST(LoaderCache, BehindTheOlderFormat) {
  std::string old = "ld.so-1.7.0";
  old += '\0';
  append(old, 1);
  old.append(12, '\0');
  old.append((8 - old.size() % 8) % 8, '\0');
  old += cache_of(kEntries);
  const auto entries = parse_loader_cache(old);
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 2u);
}

TEST(LoaderCache, CutAnywhereIsAnErrorOrFewerEntries) {
  const auto whole = cache_of(kEntries);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto entries = parse_loader_cache(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(!entries || entries->size() < 2) << size;
  }
}

TEST(LoaderCache, OffsetsOutOfBoundsAreLeftOut) {
  auto bytes = cache_of(kEntries);
  const std::uint32_t far = 0xFFFFFFF0;
  std::memcpy(bytes.data() + 48 + 4, &far, sizeof far);
  const auto entries = parse_loader_cache(bytes);
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 1u);
}

TEST(LoaderCache, HugeCountIsAnError) {
  auto bytes = cache_of(kEntries);
  const std::uint32_t many = 0xFFFFFFFF;
  std::memcpy(bytes.data() + 20, &many, sizeof many);
  EXPECT_FALSE(parse_loader_cache(bytes));
}

Recording recording_with_cache() {
  Recording recording;
  recording.closed_world = true;
  recording.files["/etc/ld.so.cache"] = cache_of(kEntries);
  for (const char* path : {"/usr/lib32/libcuda.so.1", "/usr/lib64/libcuda.so.1",
                           "/opt/stubs/libcuda.so.1", "/usr/lib/libcuda.so.1"})
    recording.statuses[path] = FileStatus{};
  return recording;
}

TEST(LibrarySearch, TakesThe64BitEntry) {
  const auto host = make_recorded_host(recording_with_cache());
  EXPECT_EQ(LibrarySearch(*host).find("libcuda.so.1"), "/usr/lib64/libcuda.so.1");
}

TEST(LibrarySearch, LdLibraryPathGoesFirst) {
  auto recording = recording_with_cache();
  recording.environment["LD_LIBRARY_PATH"] = "/nowhere:/opt/stubs";
  const auto host = make_recorded_host(recording);
  EXPECT_EQ(LibrarySearch(*host).find("libcuda.so.1"), "/opt/stubs/libcuda.so.1");
}

TEST(LibrarySearch, WithoutACacheTheConfiguredFoldersAreSearched) {
  auto recording = recording_with_cache();
  recording.files.erase("/etc/ld.so.cache");
  recording.files["/etc/ld.so.conf"] = "include /etc/ld.so.conf.d/*.conf\n/opt/stubs # a folder\n";
  const auto host = make_recorded_host(recording);
  EXPECT_EQ(LibrarySearch(*host).find("libcuda.so.1"), "/opt/stubs/libcuda.so.1");
}

}  // namespace
}  // namespace gpuready
