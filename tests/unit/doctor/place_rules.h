// What a finding shows must be possible where its machine was seen. The rules stand here a second
// time, in other words than those of the doctor.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "machine/gpu_use.h"
#include "machine/system/kernel_drivers.h"
#include "value/action.h"

namespace gpuready::test {

using doctor::Family;
using Words = std::vector<std::string_view>;

inline bool any_in(std::string_view text, const Words& words) {
  return std::ranges::any_of(words, [&](auto word) { return contains(text, word); });
}

inline const Words kPackages = {"apt-get ",         "dnf ",  "zypper ", "pacman ", "dpkg ",
                                "ubuntu-drivers",   "dkms ", "akmods",  "dracut",  "mkinitcpio",
                                "update-initramfs", "yum ",  "emerge ", "apk ",    "mkinitfs"};
inline const Words kKernel = {"modprobe", "rmmod ", "insmod ",
                              "mokutil",  "sysctl", "/etc/modprobe.d"};
inline const Words kReset = {"--gpu-reset", "drivers_probe", "unbind", "driver_override"};

inline bool is_job_of_a_user(const Machine& machine) {
  return in_slurm_job(machine) && !machine.container.runtime && machine.system.effective_uid != 0;
}

// Words of a cure that loads or unloads a module, restarts the machine, or changes its firmware's
// settings or its kernel's options.
inline const Words kNeverHarmless = {
    "modprobe ",     "rmmod ",         "insmod ",          "/unbind",     "ipmitool",
    "dracut",        "mkinitcpio",     "update-initramfs", "mkinitfs",    "eboot",
    "start the mac", "estart the mac", "in the firmw",     "are's setup", "are settings",
    "BIOS",          "oot with",       "oad the ",         "oad it",      "kernel's command line",
    "ower cycle",    "ut the power"};

// Of one machine, what no command may hold.
inline Words impossible(const Machine& machine) {
  Words words;
  const auto add = [&](const Words& more) { words.insert(words.end(), more.begin(), more.end()); };
  if (machine.container.runtime) {
    add(kPackages);
    add(kKernel);
    add(kReset);
    add({"systemctl", "ipmitool", "reboot", "usermod", "mount ", "chmod", "nvidia-smi mig",
         "wsl.exe", " -c DEFAULT"});
  }
  if (machine.system.wsl2) {
    add(kKernel);
    add(kReset);
    add({"dkms ", "update-initramfs", "dracut", "mkinitcpio", "ipmitool", "reboot", "efibootmgr",
         "apt-get install", "dnf install", "zypper install", "pacman -S"});
  } else {
    add({"wsl.exe"});
  }
  // "unknown" is one of no known name. A board describes itself by a device tree, and has no BMC.
  const bool board = machine.system.architecture == "aarch64" && !machine.system.chassis_type;
  if (machine.system.hypervisor || board) add({"ipmitool", "racadm"});
  if (std::ranges::any_of(machine.gpus,
                          [](const Gpu& gpu) { return gpu.virtualization == "vgpu"; }))
    add({"--gpu-reset"});
  if (is_job_of_a_user(machine)) {
    add(kPackages);
    add(kKernel);
    add(kReset);
    add({"systemctl restart", "systemctl enable", "ipmitool", "reboot", "usermod", "mount ",
         "chmod", "nvidia-smi mig", "nvidia-modprobe", "setsebool", "sudo ", " > /"});
  }
  for (const auto* id : {"alpine", "gentoo"})
    if (machine.system.os_ids.value_or("").starts_with(id) &&
        !contains(machine.container.cgroup_path.value_or(""), ".s"))
      add({"systemctl"});
  if (machine.system.jetson_release)
    add({"install nvidia-driver", "cuda-drivers", "nvidia-open", "dkms ", "ipmitool", "mokutil"});
  const Family family = doctor::family_of(machine);
  const bool debian = family == Family::debian || family == Family::ubuntu;
  if (!debian) add({"apt-get", "dpkg", "update-initramfs"});
  if (family != Family::ubuntu) add({"ubuntu-drivers", "nvidia-driver-5"});
  if (family != Family::fedora) add({"dnf "});
  if (family != Family::yum) add({"yum "});
  if (family != Family::gentoo) add({"emerge "});
  if (family != Family::alpine) add({"apk ", "mkinitfs"});
  if (family != Family::suse) add({"zypper "});
  if (family != Family::fedora && family != Family::yum && family != Family::suse) add({"dracut"});
  if (family != Family::arch) add({"pacman ", "mkinitcpio"});
  const auto has = [&](Vendor vendor) {
    return doctor::any_gpu(machine, vendor) || module_loaded(machine, vendor);
  };
  if (!has(Vendor::nvidia)) add({"nvidia-smi", "nvidia-modprobe", "nvidia-open", "cuda-drivers"});
  if (!has(Vendor::amd)) add({"rocm-smi", "amd-smi", "amdgpu"});
  return words;
}

// Words of commands that a cure's text must not offer in a container either.
inline const Words kNotInAContainersText = {
    "systemctl", "apt-get", " dkms ",  "dkms build", "dkms install", "dkms autoinstall",
    "modprobe ", "rmmod ",  "mokutil", "dracut",     "ipmitool"};

inline void expect_fitting(const Machine& machine, const Finding& finding) {
  const std::string command = finding.command.value_or(""), cure = finding.cure.value_or("");
  for (const auto word : impossible(machine))
    EXPECT_FALSE(contains(command, word)) << finding.id << ": " << command;
  EXPECT_FALSE(machine.container.runtime && any_in(cure, kNotInAContainersText) &&
               !contains(cure, "host"))
      << finding.id << ": " << cure;
  const bool draws = std::ranges::any_of(machine.pci, [&](const PciDevice& device) {
    return std::ranges::find(finding.pci, device.address) != finding.pci.end() &&
           drives_display(machine, device) == DrivesDisplay::yes;
  });
  EXPECT_FALSE(draws && doctor::takes_picture(command)) << finding.id << ": " << command;
  for (const Finding& inner : finding.explains) expect_fitting(machine, inner);
}

inline void expect_terms(const Machine& machine, const Finding& finding) {
  ASSERT_EQ(finding.terms.has_value(), finding.cure || finding.command) << finding.id;
  if (finding.terms) {
    const auto& [risk, place, needs] = *finding.terms;
    const std::string told = finding.id + ": " + words_of(*finding.terms);
    const bool inside =
        machine.container.runtime || machine.system.wsl2 || machine.system.hypervisor;
    const auto follows = [](bool from, bool what) { return !from || what; };
    // What is checked again says what to do if it stays; an info, what could be done.
    const bool done = finding.action != Action::check_again && finding.severity != Severity::info;
    EXPECT_FALSE(risk == CureRisk::harmless &&
                 (any_in(finding.command.value_or(""), kNeverHarmless) ||
                  (done && any_in(finding.cure.value_or(""), kNeverHarmless))))
        << told << ": " << finding.cure.value_or("") << " | " << finding.command.value_or("");
    EXPECT_TRUE(follows(inside || is_job_of_a_user(machine),
                        place != CurePlace::hardware && place != CurePlace::firmware))
        << told;
    EXPECT_TRUE(
        follows(is_job_of_a_user(machine), place != CurePlace::here || needs == CureNeeds::nothing))
        << told;
    // Two causes prove a container whose runtime nothing names.
    const bool contained = machine.container.runtime || in_slurm_job(machine) ||
                           finding.id == "cgroup-revoked" || finding.id == "cuda-library-missing";
    EXPECT_TRUE(follows(place == CurePlace::launcher, contained)) << told;
    EXPECT_TRUE(
        follows(place == CurePlace::windows,
                machine.system.wsl2 || machine.system.kernel_release.ends_with("-Microsoft")))
        << told;
    EXPECT_TRUE(follows(place == CurePlace::host, inside)) << told;
    EXPECT_TRUE(follows(place == CurePlace::host || place == CurePlace::provider, !finding.command))
        << told;
    EXPECT_TRUE(follows(finding.action == Action::ask_host, place == outside(machine))) << told;
    EXPECT_TRUE(follows(finding.action >= Action::reboot && finding.action <= Action::replace,
                        risk == CureRisk::reboots))
        << told;
    EXPECT_TRUE(
        follows(finding.action == Action::reset_gpu || finding.action == Action::reload_driver,
                risk >= CureRisk::ends_processes))
        << told;
    EXPECT_TRUE(follows(risk >= CureRisk::ends_processes && place == CurePlace::here,
                        needs >= CureNeeds::free_gpu))
        << told;
  }
  for (const Finding& inner : finding.explains) expect_terms(machine, inner);
}

inline void expect_possible(const Machine& machine, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    expect_fitting(machine, finding);
    expect_terms(machine, finding);
  }
}

}  // namespace gpuready::test
