#include "doctor/commands.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "machines.h"

namespace gpuready::test {
namespace {

using doctor::Family;

TEST(Commands, WordsThatAShellCouldTakeForMoreAreRefused) {
  for (const auto* word : {"6.1.0-28-amd64", "0000:17:00.0", "580.95.05", "6.8.0+rt~1", "a_b"})
    EXPECT_TRUE(doctor::safe_word(word)) << word;
  for (const auto* word : {"", "-rf", "6.1.0; curl x|sh #", "$(id)", "a b", "a\nb", "`id`", "a'b",
                           "../etc", "a/b", "caf\xc3\xa9", "a&b", ">x", "*"})
    EXPECT_FALSE(doctor::safe_word(word)) << word;
}

Machine without_driver(std::string kernel) {
  auto machine = healthy();
  machine.nvidia = {};
  machine.system.kernel_release = std::move(kernel);
  machine.gpus[0].driver.reset();
  machine.pci[0].driver.reset();
  return machine;
}

TEST(Commands, NothingOfTheMachineEntersACommandUnchecked) {
  const auto findings = diagnose(without_driver("6.1.0; curl x|sh #"));
  ASSERT_EQ(ids(findings), Ids{"driver-not-loaded"});
  EXPECT_FALSE(findings[0].command);
  EXPECT_TRUE(contains(*findings[0].cure, "No command is given")) << *findings[0].cure;
  EXPECT_EQ(diagnose(without_driver("6.8.0-79-generic"))[0].command,
            "dkms autoinstall -k 6.8.0-79-generic && modprobe nvidia");
}

TEST(Commands, NoRowRebootsAfterOrInsteadOfSomethingElse) {
  for (const auto& cause : doctor::causes())
    EXPECT_TRUE(cause.command == "reboot" || !contains(cause.command, "reboot")) << cause.id;
}

TEST(Commands, PackagesAreThoseOfTheDistribution) {
  for (const auto& [system, family] :
       std::vector<std::pair<std::string, Family>>{{"debian", Family::debian},
                                                   {"ubuntu debian", Family::ubuntu},
                                                   {"linuxmint ubuntu debian", Family::ubuntu},
                                                   {"fedora", Family::fedora},
                                                   {"rocky rhel centos fedora", Family::fedora},
                                                   {"amzn fedora", Family::fedora},
                                                   {"opensuse-leap suse opensuse", Family::suse},
                                                   {"sles", Family::suse},
                                                   {"cachyos arch", Family::arch},
                                                   {"alpine", Family::alpine},
                                                   {"slackware", Family::unknown}}) {
    auto machine = healthy();
    machine.system.os_ids = system;
    EXPECT_EQ(doctor::family_of(machine), family) << system;
  }
  auto machine = healthy();
  machine.gpus[0].nvml_index.reset();
  machine.nvidia.nvml_device_count = 0;
  log(machine, "NVRM: GPU 0000:10:00.0: requires use of the NVIDIA open kernel modules");
  machine.system.os_ids = "rocky rhel centos fedora";
  EXPECT_EQ(diagnose(machine)[0].command, "dnf install nvidia-open");
  machine.system.os_ids = "opensuse-leap suse opensuse";
  EXPECT_EQ(diagnose(machine)[0].command, "zypper install nvidia-open");
  machine.system.os_ids = "amzn fedora";
  for (const auto& [name, family] : {std::pair{"Amazon Linux 2", Family::yum},
                                     {"Amazon Linux 2023.6.20241010", Family::fedora},
                                     {"CentOS Linux 7 (Core)", Family::yum},
                                     {"Red Hat Enterprise Linux Server 7.9 (Maipo)", Family::yum},
                                     {"Rocky Linux 9.7 (Blue Onyx)", Family::fedora}}) {
    machine.system.os_name = name;
    EXPECT_EQ(doctor::family_of(machine), family) << name;
  }
  machine.system.os_ids = "alpine";
  EXPECT_FALSE(diagnose(machine)[0].command);
}

TEST(Commands, ContainersAreCuredByTheirRuntime) {
  auto machine = healthy();
  for (auto& node : machine.nodes) node.exists = false;
  fail_nvml(machine, 9, "NVML_ERROR_DRIVER_NOT_LOADED");
  const auto told = [&](const char* runtime) {
    machine.container.runtime = runtime;
    const auto findings = diagnose(machine);
    EXPECT_EQ(findings.at(0).id, "device-nodes-missing");
    return findings.at(0);
  };
  EXPECT_EQ(told("docker").command, "docker run --gpus all IMAGE");
  EXPECT_EQ(told("podman").command, "podman run --device nvidia.com/gpu=all IMAGE");
  EXPECT_FALSE(told("kubernetes").command);
  EXPECT_TRUE(contains(*told("kubernetes").cure, "nvidia.com/gpu: 1"));
}

TEST(Commands, ACureSaysWhatItCostsWhereItIsDoneAndWhatItNeeds) {
  const auto terms = [](auto&& change) {
    auto machine = healthy();
    change(machine);
    xid(machine, 79, 0x10, "GPU has fallen off the bus.");
    drop_from_nvml(machine, 0);
    const auto findings = diagnose(machine);
    EXPECT_EQ(findings.at(0).id, "off-the-bus");
    return findings.at(0).terms.value();
  };
  using enum CurePlace;
  const auto cold = CureTerms{CureRisk::reboots, here, CureNeeds::free_machine};
  EXPECT_EQ(terms([](Machine&) {}), cold);  // by the management controller
  EXPECT_EQ(terms([](Machine& machine) { machine.system.chassis_type = 3; }).place, hardware);
  const auto on_arm = [&](std::optional<int> chassis) {
    return terms([&](Machine& machine) {
      machine.system.architecture = "aarch64";
      machine.system.chassis_type = chassis;
    });
  };
  EXPECT_EQ(on_arm({}).place, hardware);  // a board without a controller
  EXPECT_EQ(on_arm(23), cold);            // a server in a rack
  EXPECT_EQ(terms([](Machine& machine) { machine.system.hypervisor = "kvm"; }).place, host);
  EXPECT_EQ(terms([](Machine& machine) { machine.system.hypervisor = "nitro"; }).place, provider);
  EXPECT_EQ(terms([](Machine& machine) { machine.container.runtime = "docker"; }).place, host);
}

TEST(Commands, ACommandRaisesWhatItsCureCosts) {
  Finding finding;
  doctor::add_terms(finding, {});
  EXPECT_FALSE(finding.terms);  // no cure
  finding.cure = "Set it again, and reboot.";
  finding.action = Action::check_again;
  doctor::add_terms(finding, {});
  EXPECT_EQ(finding.terms, CureTerms{});  // the action says what is done
  finding.action = Action::configure;
  doctor::add_terms(finding, {});
  EXPECT_EQ(finding.terms->risk, CureRisk::reboots);
  for (const auto& [cure, risk] :
       {std::pair{"Boot with pci=realloc.", CureRisk::reboots},
        {"Turn it on in the machine's firmware settings.", CureRisk::reboots},
        {"Load the driver with NVreg_X=0, or free memory.", CureRisk::ends_processes},
        {"Load the module, which is part of the kernel.", CureRisk::restarts_service},
        {"Work under load.", CureRisk::harmless}}) {
    finding.cure = cure;
    doctor::add_terms(finding, {});
    EXPECT_EQ(finding.terms->risk, risk) << cure;
  }
  finding.cure = "Take it from its driver.";
  finding.command = "echo 0000:01:00.0 > /sys/bus/pci/drivers/x/unbind";
  doctor::add_terms(finding, {});
  EXPECT_EQ(finding.terms,
            (CureTerms{CureRisk::ends_processes, CurePlace::here, CureNeeds::free_gpu}));
  finding.command = "dkms autoinstall";
  doctor::add_terms(finding, {.place = CurePlace::host});
  EXPECT_EQ(finding.terms, (CureTerms{CureRisk::harmless, CurePlace::host, CureNeeds::root}));
}

}  // namespace
}  // namespace gpuready::test
