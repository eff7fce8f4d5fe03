// Every machine of tests/machines, in its own place and in others: what is shown is possible there.
#include "place_rules.h"

#include "doctor/diagnose.h"
#include "unit/machine_folders.h"

namespace gpuready::test {
namespace {

TEST(Places, EveryMachinesCommandsCanBeRunThere) {
  std::size_t commands = 0;
  for (const auto& name : walked(machine_names())) {
    SCOPED_TRACE(name);
    const auto machine = machine_of(name);
    const auto findings = diagnose(machine);
    expect_possible(machine, findings);
    commands += static_cast<std::size_t>(std::ranges::count_if(
        findings, [](const Finding& finding) { return finding.command.has_value(); }));
  }
  EXPECT_GT(commands, least_walked(100));
}

TEST(Places, NoCommandFollowsAMachineToWhereItCannotBeRun) {
  for (const auto& name : walked(machine_names())) {
    const auto here = machine_of(name);
    const auto check = [&](const char* where, auto&& move) {
      SCOPED_TRACE(name + " as " + where);
      Machine machine = here;
      move(machine);
      expect_possible(machine, diagnose(machine));
    };
    for (const char* runtime : {"docker", "podman", "kubernetes", "lxc", "apptainer"})
      check(runtime, [&](Machine& machine) { machine.container.runtime = runtime; });
    for (const char* hypervisor : {"kvm", "nitro", "unknown"})
      check(hypervisor, [&](Machine& machine) { machine.system.hypervisor = hypervisor; });
    for (const char* ids : {"debian", "ubuntu debian", "rhel fedora", "sles suse", "arch", "nixos",
                            "gentoo", "alpine"})
      check(ids, [&](Machine& machine) { machine.system.os_ids = ids; });
    check("a job of a user", [](Machine& machine) {
      machine.container.cgroup_path = "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0";
      machine.system.effective_uid = 1000;
    });
    check("CentOS 7", [](Machine& machine) {
      machine.system.os_ids = "centos rhel fedora";
      machine.system.os_name = "CentOS Linux 7 (Core)";
    });
    check("a board", [](Machine& machine) {
      machine.system.architecture = "aarch64";
      machine.system.chassis_type.reset();
    });
    check("a guest with vGPUs", [](Machine& machine) {
      machine.system.hypervisor = "kvm";
      for (auto& gpu : machine.gpus) gpu.virtualization = "vgpu";
    });
  }
}

}  // namespace
}  // namespace gpuready::test
