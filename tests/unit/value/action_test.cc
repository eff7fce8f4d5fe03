#include "value/action.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

Finding needs(Action action, std::vector<int> gpus = {}, Severity severity = Severity::error) {
  Finding finding;
  finding.severity = severity;
  finding.gpus = std::move(gpus);
  finding.action = action;
  finding.cure = "Do it.";
  return finding;
}

Machine in(std::optional<std::string> container, std::optional<std::string> hypervisor) {
  Machine machine;
  machine.container.runtime = std::move(container);
  machine.system.hypervisor = std::move(hypervisor);
  return machine;
}

Action settled(Action action, const Machine& machine) {
  Finding finding = needs(action);
  settle_action(finding, machine);
  return finding.action;
}

TEST(Action, TheMachineNeedsTheStrongestOfAll) {
  EXPECT_EQ(strongest_action({}), Action::none);
  const std::vector<Finding> findings = {needs(Action::configure), needs(Action::reset_gpu, {1}),
                                         needs(Action::check_again, {0})};
  EXPECT_EQ(strongest_action(findings), Action::reset_gpu);
}

TEST(Action, AGpuNeedsTheStrongestOfItsOwn) {
  std::vector<Finding> findings = {needs(Action::reboot), needs(Action::check_again, {0})};
  Gpu gpu;
  gpu.index = 0;
  EXPECT_EQ(strongest_action(findings, gpu), Action::check_again);
  gpu.index = 1;
  EXPECT_EQ(strongest_action(findings, gpu), Action::none);
  // Its trouble follows from the machine's, and goes with that one's cure.
  findings[0].explains = {needs(Action::replace, {1})};
  EXPECT_EQ(strongest_action(findings, gpu), Action::reboot);
}

TEST(Action, AContainerDoesNoMoreThanConfigure) {
  const auto machine = in("docker", "kvm");
  EXPECT_EQ(settled(Action::configure, machine), Action::configure);
  for (const auto action : {Action::reload_driver, Action::reset_gpu, Action::reboot,
                            Action::power_cycle, Action::replace})
    EXPECT_EQ(settled(action, machine), Action::ask_host) << to_string(action);
}

TEST(Action, AVirtualMachineIsRestartedButHasNoPowerCord) {
  const auto machine = in(std::nullopt, "kvm");
  EXPECT_EQ(settled(Action::reset_gpu, machine), Action::reset_gpu);
  EXPECT_EQ(settled(Action::reboot, machine), Action::reboot);
  EXPECT_EQ(settled(Action::power_cycle, machine), Action::ask_host);
  EXPECT_EQ(settled(Action::replace, machine), Action::ask_host);
}

// Names of products as instances have them. A kernel of Azure's is also WSL's, and that of a
// container's image on bare metal.
TEST(Action, ACloudIsKnownByItsProductOrItsGuestsKernel) {
  const auto cloud = [](const char* product, std::optional<std::string> hypervisor,
                        const char* kernel, bool wsl2 = false) {
    Machine machine = in(std::nullopt, std::move(hypervisor));
    machine.system.product_name = product;
    machine.system.kernel_release = kernel;
    machine.system.wsl2 = wsl2;
    return std::string(cloud_of(machine));
  };
  EXPECT_EQ(cloud("g5.4xlarge", "kvm", "6.8.0-1015-aws"), "Amazon EC2");
  EXPECT_EQ(cloud("p5.metal-48xl", {}, "6.8.0-1015-aws"), "Amazon EC2");
  EXPECT_EQ(cloud("", "nitro", "6.8.0"), "Amazon EC2");
  EXPECT_EQ(cloud("Google Compute Engine", "kvm", "6.8.0"), "Google Cloud");
  EXPECT_EQ(cloud("Virtual Machine", "hyperv", "6.8.0-1015-azure"), "Azure");
  EXPECT_EQ(cloud("Virtual Machine", "hyperv", "6.8.0-45-generic"), "");
  EXPECT_EQ(cloud("Virtual Machine", {}, "6.8.0-1015-azure"), "");
  EXPECT_EQ(cloud("Virtual Machine", "", "6.8.0-1015-azure"), "");
  EXPECT_EQ(cloud("Virtual Machine", "hyperv", "6.8.0-1015-azure", true), "");
  EXPECT_EQ(cloud("PowerEdge R760xa", {}, "6.8.0"), "");
}

TEST(Action, BareMetalDoesAll) {
  EXPECT_EQ(settled(Action::replace, in(std::nullopt, std::nullopt)), Action::replace);
}

TEST(Action, WhatTheHostIsAskedForStandsInTheCureAndIsToldOnce) {
  const auto machine = in("podman", std::nullopt);
  Finding finding = needs(Action::power_cycle);
  finding.explains = {needs(Action::reset_gpu)};
  settle_action(finding, machine);
  settle_action(finding, machine);
  EXPECT_EQ(*finding.cure,
            "From here it cannot be done, so ask the host's operator (power cycle): Do it.");
  EXPECT_EQ(finding.explains[0].action, Action::ask_host);
}

TEST(Action, ANoteNeedsNothing) {
  Finding finding = needs(Action::replace, {}, Severity::info);
  settle_action(finding, in("docker", std::nullopt));
  EXPECT_EQ(finding.action, Action::none);
  EXPECT_EQ(*finding.cure, "Do it.");
}

}  // namespace
}  // namespace gpuready
