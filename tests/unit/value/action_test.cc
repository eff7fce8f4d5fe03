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
