// Why NVIDIA's kernel module is not loaded: for which kernel it was built, and where it came from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "machines.h"

namespace gpuready::test {
namespace {

// NVIDIA's libraries are here, and its module is not loaded.
Machine unloaded() {
  auto machine = healthy();
  fail_nvml(machine, 9, "NVML_ERROR_DRIVER_NOT_LOADED");
  fail_cuda(machine, 100, "CUDA_ERROR_NO_DEVICE");
  machine.nvidia.module_loaded = machine.nvidia.uvm_loaded = false;
  machine.nvidia.module_version.reset();
  machine.nvidia.modules_from = "dkms";
  machine.pci[0].driver.reset();
  machine.gpus[0].driver.reset();
  return machine;
}

Finding not_loaded(const Machine& machine) {
  const auto findings = diagnose(machine);
  EXPECT_EQ(ids(findings), Ids{"driver-not-loaded"});
  return findings.at(0);
}

// Names of kernels as the distributions' packages have them.
TEST(DriverModules, HeadersOfAKernelFromElsewhereAreInNoRepositoryOfTheDistribution) {
  struct Row {
    const char *system, *name, *kernel;
    bool foreign;
  };
  for (const auto& [system, name, kernel, foreign] : std::initializer_list<Row>{
           {"debian", "Debian GNU/Linux 12", "6.1.0-28-amd64", false},
           {"debian", "Debian GNU/Linux 12", "6.6.9-xanmod1", true},
           {"debian", "Debian GNU/Linux 12", "6.6.9amd64", true},
           {"debian", "Proxmox VE 8", "6.8.12-4-pve", false},
           {"ubuntu debian", "Ubuntu 24.04", "6.8.0-45-generic", false},
           {"ubuntu debian", "Ubuntu 24.04", "6.8.0-1015-aws", false},
           {"ubuntu debian", "Ubuntu 24.04", "6.13.7-zabbly+", true},
           {"ubuntu debian", "Ubuntu 20.04", "5.4.0-1021-fips", false},
           {"ubuntu debian", "Ubuntu 22.04", "5.15.0-1050-aws-fips", false},
           {"ubuntu debian", "Ubuntu 20.04", "5.13.18-21.09.16.amdgpu.ubuntu", true},
           {"ubuntu debian", "Ubuntu 22.04", "6.9.7-x64v3-xanmod1", true},
           {"ubuntu debian", "Ubuntu 22.04", "6.10.0+", true},
           {"debian", "Debian 13", "6.12.43+deb13-amd64", false},
           {"debian", "Debian sid", "6.12.10-riscv64", false},
           {"debian", "Debian 12", "6.6.31+rpt-rpi-v8", false},
           {"debian", "Debian 12", "6.1.90", true},
           {"alinux rhel fedora centos anolis", "Alibaba Cloud Linux 3", "5.10.134-16.3.al8.x86_64",
            false},
           {"tencentos rhel fedora centos", "TencentOS Server 3", "5.4.119-19.0009.44", false},
           {"nobara fedora", "Nobara Linux 41", "6.14.6-200.nobara.x86_64", false},
           {"fedora", "Fedora Linux 41", "6.11.5-300.fc41.x86_64", false},
           {"fedora", "Fedora Linux 41", "6.12.1-cachyos", true},
           {"rocky rhel centos fedora", "Rocky Linux 9.5", "5.14.0-503.el9.x86_64", false},
           {"amzn fedora", "Amazon Linux 2023", "6.1.102-111.182.amzn2023.x86_64", false},
           {"amzn centos rhel fedora", "Amazon Linux 2", "5.10.225-213.878.amzn2.x86_64", false},
           {"ol fedora", "Oracle Linux Server 9.5", "5.15.0-300.163.18.el9uek.x86_64", false},
           {"centos rhel fedora", "CentOS Linux 7 (Core)", "3.10.0-1160.el7.x86_64", false},
           {"centos rhel fedora", "CentOS Linux 7 (Core)", "5.4.278-custom", true},
           {"arch", "Arch Linux", "6.12.1-zen1-1-zen", false},
           {"", "", "6.12.1-custom", false}}) {
    auto machine = unloaded();
    machine.system.os_ids = system;
    machine.system.os_name = name;
    machine.system.kernel_release = kernel;
    machine.nvidia.kernel_headers = machine.nvidia.module_installed = false;
    machine.nvidia.module_blocked = "/lib/modules/6.0.0-former: installed for this kernel only";
    const auto finding = not_loaded(machine);
    EXPECT_EQ(finding.title,
              foreign
                  ? "NVIDIA's kernel module could not be built for a kernel from elsewhere"
                  : "NVIDIA's kernel module could not be built: the kernel's headers are missing")
        << system << " " << kernel;
    EXPECT_EQ(contains(*finding.cure, "Start the kernel 6.0.0-former"), foreign) << kernel;
  }
}

TEST(DriverModules, WhereTheModuleCameFromSaysHowItIsLoaded) {
  auto machine = unloaded();
  machine.system.os_ids = "debian";
  auto& nvidia = machine.nvidia;
  EXPECT_TRUE(not_loaded(machine).cure->starts_with(
      "Build the driver's modules for the running kernel with DKMS."));
  nvidia.module_blocked = "/lib/modules/6.0.0-former: installed for this kernel only";
  nvidia.modules_from.reset();
  EXPECT_EQ(not_loaded(machine).explanation,
            "NVIDIA's kernel module is installed for another kernel, and not for the running one.");
  nvidia.module_blocked.reset();
  nvidia.module_installed = true;
  auto finding = not_loaded(machine);
  EXPECT_EQ(finding.explanation,
            "The module is installed for the running kernel, and was not loaded.");
  EXPECT_EQ(finding.command, "modprobe nvidia");
  nvidia.module_blocked = "/etc/modprobe.d/x.conf: blacklist nvidia";
  finding = not_loaded(machine);
  EXPECT_EQ(finding.title, "NVIDIA's kernel module is kept from loading");
  EXPECT_EQ(finding.terms->risk, CureRisk::reboots);
  nvidia.modules_from = "none";
  EXPECT_EQ(not_loaded(machine).title, "NVIDIA's kernel module is kept from loading");
  nvidia.libraries.clear();
  finding = not_loaded(machine);
  EXPECT_EQ(finding.cure, "Install NVIDIA's driver, and load it.");
  EXPECT_EQ(finding.title, "NVIDIA's kernel module is not loaded");
  machine.system.kernel_command_line = "quiet nouveau.modeset=0";
  EXPECT_EQ(not_loaded(machine).title,
            "NVIDIA's driver is not installed, and the kernel's command line keeps nouveau out");
  machine.system.os_ids = "talos";
  finding = not_loaded(machine);
  EXPECT_TRUE(contains(*finding.cure, "talosctl upgrade"));
  EXPECT_FALSE(finding.command);
}

// Debian's and Ubuntu's packages, Red Hat's kernel-rt of RHEL 9 and of RHEL 8 ("rt" and its
// release).
TEST(DriverModules, AKernelIsRealTimeByAPartOfItsName) {
  struct Row {
    const char* kernel;
    bool real_time;
  };
  for (const auto& [kernel, real_time] :
       std::initializer_list<Row>{{"6.1.0-28-rt-amd64", true},
                                  {"6.8.1-1015-realtime", true},
                                  {"5.14.0-503.el9.x86_64+rt", true},
                                  {"4.18.0-553.rt7.342.el8_10.x86_64", true},
                                  {"6.6.9-rt16", true},
                                  {"6.1.0-28-amd64", false},
                                  {"6.6.31-rtx-amd64", false},
                                  {"6.6.31-rt1x-amd64", false},
                                  {"6.6.31-art-amd64", false}}) {
    auto machine = unloaded();
    machine.system.os_ids = "debian";
    machine.system.kernel_release = kernel;
    machine.nvidia.kernel_headers = machine.nvidia.module_installed = false;
    EXPECT_EQ(contains(not_loaded(machine).title, "real-time kernel"), real_time) << kernel;
  }
}

// Linux, arch/x86/kernel/cet.c: any module's function can lack the mark. The first line is enough.
TEST(DriverModules, AMissingMarkIsOfTheModuleThatItsLineNames) {
  const auto quoted = [](std::initializer_list<const char*> lines) {
    auto machine = unloaded();
    log(machine, "nvidia-nvlink: Nvlink Core is being initialized, major device number 510", 5.1);
    for (const char* line : lines) log(machine, line, 5.2);
    std::size_t count = 0;
    for (const auto& finding : diagnose(machine))
      for (const auto& item : finding.evidence) count += contains(item.quote, "Missing ENDBR");
    return count;
  };
  EXPECT_EQ(quoted({"Missing ENDBR: function+0x0/0x10 [nvidia]"}), 1u);
  EXPECT_EQ(quoted({"traps: Missing ENDBR: function+0x0/0x10 [nvidia]"}), 1u);
  EXPECT_EQ(
      quoted({"Missing ENDBR: first+0x0/0x10 [nvidia]", "Missing ENDBR: second+0x0/0x10 [nvidia]"}),
      1u);
  EXPECT_EQ(quoted({"Missing ENDBR: function+0x0/0x10"}), 0u);
  EXPECT_EQ(quoted({"Missing ENDBR: function+0x0/0x10 [vboxdrv]"}), 0u);
  EXPECT_EQ(quoted({"Missing ENDBR: function+0x0/0x10 [amdgpu]"}), 0u) << "no GPU of AMD is here";
}

TEST(DriverModules, AFullDiskNeedsNoReboot) {
  auto machine = unloaded();
  machine.system.os_ids = "debian";
  machine.nvidia.module_installed = false;
  machine.nvidia.kernel_headers = true;
  machine.nvidia.module_blocked = "/: 0.5 GiB free";
  const auto finding = not_loaded(machine);
  EXPECT_EQ(finding.title, "NVIDIA's kernel module is not built, and the disk is full");
  EXPECT_LT(finding.terms->risk, CureRisk::reboots);
}

// Packages by their names: Proxmox VE's; Oracle's, Amazon's and Red Hat's for special kernels have
// names that do not follow the kernel's. Newer kernels of Debian have the "+" of a revision.
TEST(DriverModules, HeadersAreInstalledByTheKernelsNameUnlessItsPackageHasAnother) {
  struct Row {
    const char *system, *name, *kernel, *command;  // "": none
  };
  for (const auto& [system, name, kernel, command] : std::initializer_list<Row>{
           {"debian", "Debian GNU/Linux 12", "6.1.0-28-amd64", "apt-get install linux-headers-"},
           {"debian", "Debian GNU/Linux 13", "6.12.43+deb13-amd64",
            "apt-get install linux-headers-"},
           {"ubuntu debian", "Ubuntu 24.04", "6.8.0-45-generic", "apt-get install linux-headers-"},
           {"debian", "Proxmox VE 8", "6.8.12-4-pve", "apt-get install proxmox-headers-"},
           {"debian", "Proxmox VE 7", "5.15.158-2-pve", "apt-get install pve-headers-"},
           {"rocky rhel centos fedora", "Rocky Linux 9.5", "5.14.0-503.el9.x86_64",
            "dnf install kernel-devel-"},
           {"rocky rhel centos fedora", "Rocky Linux 9.5", "5.14.0-503.el9.aarch64+64k", ""},
           {"fedora", "Fedora Linux 41", "6.11.5-300.fc41.x86_64+debug", ""},
           {"amzn fedora", "Amazon Linux 2023", "6.1.102-111.182.amzn2023.x86_64", ""},
           {"ol fedora", "Oracle Linux Server 9.5", "5.15.0-300.163.18.el9uek.x86_64", ""}}) {
    auto machine = unloaded();
    machine.system.os_ids = system;
    machine.system.os_name = name;
    machine.system.kernel_release = kernel;
    machine.nvidia.kernel_headers = machine.nvidia.module_installed = false;
    const auto finding = not_loaded(machine);
    EXPECT_EQ(finding.title,
              "NVIDIA's kernel module could not be built: the kernel's headers are missing");
    const std::string_view start = command;
    EXPECT_EQ(finding.command.value_or(""),
              start.empty() ? "" : fmt::format("{0}{1} && dkms autoinstall -k {1}", start, kernel));
  }
}

// The kernel's line has no path where a program unpacked the module and gave its bytes.
TEST(DriverModules, SelinuxIsBlamedForNvidiasFileAndForOneWithoutAName) {
  struct Row {
    const char *path, *permissive;
    const char* cure;  // its start; nullptr: SELinux is not named
  };
  for (const auto& [path, permissive, cure] : std::initializer_list<Row>{
           {"path=\"/usr/lib/modules/6.8.0/extra/nvidia.ko\" dev=\"dm-0\" ", "0",
            "Restore the labels of the modules' files"},
           {"path=\"/usr/lib/modules/6.8.0/extra/nvidia.ko.xz\" dev=\"overlay\" ", "0",
            "On the host, allow "},
           {"", "0", "On the host, allow "},
           {"path=\"/usr/lib/modules/6.8.0/extra/wl.ko\" dev=\"dm-0\" ", "0", nullptr},
           {"path=\"/usr/lib/modules/6.8.0/extra/nvidia.ko\" dev=\"dm-0\" ", "1", nullptr},
           {"", "1", nullptr}}) {
    SCOPED_TRACE(std::string(path) + permissive);
    auto machine = unloaded();
    log(machine,
        fmt::format(
            "audit: type=1400 audit(1694441012.118:7): avc:  denied  {{ module_load }} for  "
            "pid=911 comm=\"modprobe\" {}tclass=system permissive={}",
            path, permissive));
    const auto findings = diagnose(machine);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].id, cure == nullptr ? "driver-not-loaded" : "module-rejected");
    if (cure != nullptr) {
      EXPECT_TRUE(findings[0].cure->starts_with(cure)) << *findings[0].cure;
    }
  }
}

// The GPU of a Tegra is in the device tree only.
TEST(DriverModules, TegrasModuleIsMissedForAnIntegratedGpuThatIsOnNoBusAndHasNoDriver) {
  const auto told = [](auto&& change) {
    Machine machine;
    machine.full = true;
    machine.system.jetson_release = "# R36 (release), REVISION: 4.0";
    auto& gpu = machine.gpus.emplace_back();
    gpu.vendor = Vendor::nvidia;
    gpu.integrated = true;
    gpu.name = "Orin";
    change(machine, gpu);
    return std::ranges::count(diagnose(machine),
                              "The kernel module of Tegra's GPU (nvgpu) is not loaded",
                              &Finding::title);
  };
  EXPECT_EQ(told([](Machine&, Gpu&) {}), 1);
  EXPECT_EQ(told([](Machine& machine, Gpu&) { machine.system.jetson_release.reset(); }), 0);
  EXPECT_EQ(told([](Machine&, Gpu& gpu) { gpu.pci = address(0x01); }), 0);
  EXPECT_EQ(told([](Machine&, Gpu& gpu) { gpu.driver = "nvgpu"; }), 0);
  EXPECT_EQ(told([](Machine&, Gpu& gpu) { gpu.integrated = false; }), 0);
}

}  // namespace
}  // namespace gpuready::test
