// Cures on systems without packages, in clouds and behind Thunderbolt: what they say, and whether a
// command stays.
#include "doctor/platforms.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready::doctor {
namespace {

constexpr std::string_view kFirmware =
    "Install the newest firmware files (linux-firmware) and rebuild the initramfs.";
constexpr std::string_view kOption = "Boot with less: take pci=realloc off the command line.";
constexpr std::string_view kPower = "Cut the power, reseat the GPU, and start again.";
constexpr std::string_view kSigned = "Enrol the key, or turn Secure Boot off in the firmware.";

Machine system_of(std::string ids, std::string release = "6.12.0", std::string command_line = "") {
  Machine machine;
  machine.system.os_ids = std::move(ids);
  machine.system.kernel_release = std::move(release);
  machine.system.kernel_command_line = std::move(command_line);
  return machine;
}

Machine cloud(std::string product, std::string hypervisor, std::string release = "6.12.0") {
  Machine machine = system_of("ubuntu debian", std::move(release));
  machine.system.product_name = std::move(product);
  machine.system.hypervisor =
      hypervisor.empty() ? std::nullopt : std::optional(std::move(hypervisor));
  return machine;
}

Machine with_thunderbolt() {
  Machine machine = system_of("arch");
  machine.system.thunderbolt = true;
  return machine;
}

Finding told(const Machine& machine, std::string_view cure) {
  Finding finding;
  finding.cure = std::string(cure);
  finding.command = "a command";
  fit_platform(finding, machine);
  return finding;
}

struct Case {
  std::string_view name;
  Machine machine;
  std::string_view cure, says;
  bool command_stays;
};

TEST(Platforms, AdviceIsReadFromAWordsBeginningOn) {
  EXPECT_TRUE(advises("Boot with pci=realloc.", "boot with "));
  EXPECT_FALSE(advises("Reboot with a full power cycle.", "boot with "));
  EXPECT_TRUE(advises("Reboot with a boot with less", "boot with "));
  EXPECT_TRUE(advises("echo x > /sys/bus/pci/drivers/x/unbind", "/unbind"));
}

TEST(Platforms, SayHowAChangeIsMade) {
  const Case cases[] = {
      {"nixos", system_of("nixos"), kFirmware, "hardware.enableRedistributableFirmware", false},
      {"nixos, derived", system_of("mine nixos"), kFirmware, "", true},
      {"talos", system_of("talos"), kFirmware, "extension of the firmware", false},
      {"haos", system_of("haos"), kFirmware, "ha os update", false},
      {"rhcos", system_of("rhcos rhel fedora", "5.14.0", "ostree=/ostree/boot.1"), kOption,
       "MachineConfig", false},
      {"microos", system_of("opensuse-microos opensuse suse"), kFirmware,
       "by transactional-update pkg install; transactional-update initrd, and a reboot.", false},
      {"image", system_of("bazzite fedora", "6.12.0", "quiet ostree=/ostree/boot.1"), kOption,
       "rpm-ostree kargs", false},
      {"fedora", system_of("fedora"), kOption, "", true},
      {"cos", system_of("cos"), kFirmware, "upgrade the node pool", false},
      {"bottlerocket", system_of("bottlerocket"), kOption, "settings.boot", false},
      {"flatcar", system_of("flatcar coreos"), kFirmware, "update_engine_client", false},
      {"steamos", system_of("steamos arch"), kFirmware, "steamos-update", false},
      {"libreelec", system_of("libreelec"), kFirmware, "/storage/.config/firmware", false},
      {"unraid", system_of("slackware", "6.1.74-Unraid"), kOption, "Syslinux", false},
      {"truenas", system_of("debian", "6.6.44-production+truenas"), kOption, "midclt", false},
      {"proxmox", system_of("debian", "6.8.12-4-pve"), kOption, "proxmox-boot-tool refresh", true},
      {"proxmox, firmware", system_of("debian", "6.8.12-4-pve"), kFirmware, "", true},
      {"ec2", cloud("g5.4xlarge", "nitro"), kPower, "stop the instance", true},
      {"ec2, metal", cloud("p4d.metal", ""), kPower, "stop the instance", true},
      {"google", cloud("Google Compute Engine", "kvm"), kPower, "delete the node", true},
      {"google, signed", cloud("Google Compute Engine", "kvm"), kSigned,
       "--no-shielded-secure-boot", true},
      {"azure", cloud("Virtual Machine", "hyperv", "6.8.0-1015-azure"), kPower, "az vm redeploy",
       true},
      {"hyper-v", cloud("Virtual Machine", "hyperv"), kPower, "", true},
      {"enclosure", with_thunderbolt(), kPower, "plug its cable in again", true},
      {"enclosure, firmware", with_thunderbolt(), kFirmware, "", true},
      {"nixos, power", system_of("nixos"), kPower, "", true},
  };
  for (const Case& row : cases) {
    const Finding finding = told(row.machine, row.cure);
    EXPECT_TRUE(finding.cure->starts_with(row.cure)) << row.name;
    EXPECT_EQ(finding.cure->size() > row.cure.size(), !row.says.empty())
        << row.name << ": " << *finding.cure;
    EXPECT_TRUE(contains(*finding.cure, row.says)) << row.name << ": " << *finding.cure;
    EXPECT_EQ(finding.command.has_value(), row.command_stays) << row.name;
  }
}

// Its host's system is not seen, and what the container says is the image's.
TEST(Platforms, ContainersHaveOnlyTheCloudTheyRunIn) {
  Machine inside = cloud("g5.4xlarge", "nitro");
  inside.system.os_ids = "nixos";
  inside.container.runtime = "docker";
  EXPECT_EQ(*told(inside, kFirmware).cure, kFirmware);
  EXPECT_TRUE(contains(*told(inside, kPower).cure, "Amazon EC2"));
}

TEST(Platforms, ACureThatChangesNothingOfThemStays) {
  EXPECT_EQ(*told(system_of("nixos"), "Restart the program.").cure, "Restart the program.");
  Finding without;
  fit_platform(without, system_of("nixos"));
  EXPECT_FALSE(without.cure);
}

}  // namespace
}  // namespace gpuready::doctor
