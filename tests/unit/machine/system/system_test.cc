#include "machine/system/system.h"

#include "machine/sources.h"
#include "machine/system/container.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

TEST(System, NameOfTheDistribution) {
  EXPECT_EQ(parse_os_name("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(parse_os_name("NAME=Alpine\n"), "Alpine");
  EXPECT_EQ(parse_os_name("PRETTY_NAME=\"\n"), "\"");
  EXPECT_EQ(parse_os_name(""), std::nullopt);
}

TEST(System, IdsOfTheDistributionAreInOrder) {
  EXPECT_EQ(parse_os_ids("ID_LIKE=\"rhel centos fedora\"\nID=\"rocky\"\n"),
            "rocky rhel centos fedora");
  EXPECT_EQ(parse_os_ids("VERSION_ID=\"12\"\nID=debian\n"), "debian");
  EXPECT_EQ(parse_os_ids("ID_LIKE=debian\n"), "debian");
  EXPECT_EQ(parse_os_ids("NAME=Alpine\n"), std::nullopt);
}

TEST(System, MemoryIsInBytes) {
  EXPECT_EQ(parse_meminfo("MemTotal:  2048 kB\nMemAvailable: 1024 kB\n", "MemAvailable"),
            1024u * 1024);
  EXPECT_EQ(parse_meminfo("MemTotalX: 5 kB\n", "MemTotal"), std::nullopt);
  EXPECT_EQ(parse_meminfo("MemTotal: 18446744073709551615 kB\n", "MemTotal"), std::nullopt);
}

TEST(System, SecureBootIsTheFifthByte) {
  EXPECT_EQ(parse_secure_boot(std::string_view("\6\0\0\0\1", 5)), true);
  EXPECT_EQ(parse_secure_boot(std::string_view("\6\0\0\0\0", 5)), false);
  EXPECT_EQ(parse_secure_boot("1"), std::nullopt);
}

TEST(System, HypervisorsByDmi) {
  EXPECT_EQ(hypervisor_from_dmi("QEMU", "Standard PC"), "kvm");
  EXPECT_EQ(hypervisor_from_dmi("KubeVirt", "None"), "kvm");
  EXPECT_EQ(hypervisor_from_dmi("Hetzner", "vServer"), "kvm");
  EXPECT_EQ(hypervisor_from_dmi("Microsoft Corporation", "Virtual Machine"), "hyperv");
  EXPECT_EQ(hypervisor_from_dmi("Microsoft Corporation", "Surface"), std::nullopt);
  EXPECT_EQ(hypervisor_from_dmi("Supermicro", "SYS-821GE"), std::nullopt);
}

TEST(System, AGuestIsKnownByItsProcessorsFlag) {
  EXPECT_TRUE(has_hypervisor_flag("processor\t: 0\nflags\t\t: fpu mce hypervisor\n"));
  EXPECT_TRUE(has_hypervisor_flag("flags\t\t: fpu hypervisor lahf_lm\n"));
  EXPECT_FALSE(has_hypervisor_flag("model name\t: a hypervisor \nflags\t\t: fpu hypervisors\n"));
  EXPECT_FALSE(has_hypervisor_flag("Features\t: fp asimd\n"));
}

TEST(Containers, AreKnownByTheirRootsLayersAndTheirUsers) {
  const std::string root = "20 1 0:31 / / rw - overlay overlay rw,lowerdir=/a";
  EXPECT_EQ(layers_folder(root + ",upperdir=/var/lib/docker/overlay2/7/diff\n"), "/docker/");
  EXPECT_EQ(layers_folder(root + ",upperdir=/run/live/overlay/rw\n"), "");
  EXPECT_EQ(layers_folder("20 1 0:31 / /x rw - overlay overlay rw,lowerdir=/a/docker/b\n"), "");
  EXPECT_EQ(layers_folder("20 1 8:1 /docker/ / rw - ext4 /dev/docker/ rw\n"), "");
  EXPECT_TRUE(maps_whole_system("         0     100000      65536\n"));
  EXPECT_FALSE(maps_whole_system("         0          0 4294967295\n"));
  EXPECT_FALSE(maps_whole_system("         0       1000          1\n"));
  EXPECT_FALSE(maps_whole_system("         0       1000          1\n 1 100000 65536\n"));
  EXPECT_FALSE(maps_whole_system(""));
}

TEST(System, Wsl2AndItsKernel) {
  Machine machine;
  read_system(*scripted(R"("identity":{"kernel_name":"Linux",
    "kernel_release":"5.15.153.1-microsoft-standard-WSL2","machine":"x86_64","host_name":"pc",
    "effective_uid":1000,"groups":[1000],"unix_seconds":1700000000})"),
              machine);
  EXPECT_TRUE(machine.system.wsl2);
  EXPECT_EQ(machine.system.hypervisor, "wsl2");
  EXPECT_EQ(machine.system.effective_uid, 1000u);
}

TEST(System, CpusAndNumaNodes) {
  Machine machine;
  read_system(*scripted(R"("files":{"/sys/devices/system/cpu/online":"0-63\n",
    "/sys/devices/system/node/node0/cpulist":"0-31\n","/sys/devices/system/node/node1/cpulist":"32-63\n",
    "/sys/devices/system/node/possible":"0-1\n"})"),
              machine);
  EXPECT_EQ(machine.system.cpu_count, 64);
  EXPECT_EQ(machine.system.numa_cpus, (std::map<int, std::string>{{0, "0-31"}, {1, "32-63"}}));
  EXPECT_EQ(machine.system.memory_total_bytes, std::nullopt);
}

TEST(Cgroup, PathsOfBothVersions) {
  const auto v1 = parse_cgroup_paths("4:memory:/a\n2:cpuacct,cpu:/b\n0::/\n");
  EXPECT_EQ(v1.memory, "/a");
  EXPECT_EQ(v1.cpu, "/b");
  const auto v2 = parse_cgroup_paths("0::/kubepods.slice/pod1\n");
  EXPECT_EQ(v2.unified, "/kubepods.slice/pod1");
  EXPECT_EQ(v2.memory, std::nullopt);
  EXPECT_EQ(parse_cgroup_paths("garbage\n1:\n::x").unified, std::nullopt);
}

TEST(Cgroup, NoLimitIsNoNumber) {
  EXPECT_EQ(parse_memory_limit("max\n"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("9223372036854771712"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1u << 30);
  EXPECT_EQ(parse_cpu_max("max 100000"), std::nullopt);
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_max("1 0"), std::nullopt);
}

TEST(Cgroup, AncestorsNeverLeaveTheHierarchy) {
  EXPECT_EQ(cgroup_ancestors("/a/b"), (std::vector<std::string>{"/a/b", "/a", "/"}));
  EXPECT_EQ(cgroup_ancestors("/../../etc"), (std::vector<std::string>{"/etc", "/"}));
  EXPECT_EQ(cgroup_ancestors("/"), std::vector<std::string>{"/"});
}

TEST(Container, TheLeastLimitOfTheAncestorsHolds) {
  Machine machine;
  read_container(*scripted(R"("files":{"/proc/self/cgroup":"0::/pod/box\n","/.dockerenv":"",
    "/sys/fs/cgroup/pod/box/memory.max":"max\n","/sys/fs/cgroup/pod/memory.max":"8589934592\n",
    "/sys/fs/cgroup/pod/memory.current":"4294967296\n",
    "/sys/fs/cgroup/pod/memory.stat":"anon 1\ninactive_file 1073741824\n",
    "/sys/fs/cgroup/pod/box/cpu.max":"400000 100000\n","/sys/fs/cgroup/pod/cpu.max":"200000 100000\n"})"),
                 machine);
  EXPECT_EQ(machine.container.runtime, "docker");
  EXPECT_EQ(machine.container.cgroup_version, "2");
  EXPECT_EQ(machine.container.memory_limit_bytes, 8ull << 30);
  EXPECT_EQ(machine.container.memory_used_bytes, 3ull << 30);
  EXPECT_EQ(machine.container.cpu_limit, 2.0);
}

TEST(Container, Version1ByItsControllers) {
  Machine machine;
  read_container(*scripted(R"("files":{"/proc/self/cgroup":"4:memory:/docker/x\n1:cpu:/docker/x\n",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes":"2147483648\n",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us":"-1\n","/sys/fs/cgroup/cpu/cpu.cfs_period_us":"100000\n"})"),
                 machine);
  EXPECT_EQ(machine.container.cgroup_version, "1");
  EXPECT_EQ(machine.container.runtime, "docker");
  EXPECT_EQ(machine.container.memory_limit_bytes, 2ull << 30);
  EXPECT_EQ(machine.container.cpu_limit, std::nullopt);
}

TEST(Visibility, AnEmptyVariableIsNotAnUnsetOne) {
  Machine machine;
  read_visibility(
      *scripted(R"("environment":{"CUDA_VISIBLE_DEVICES":"","HIP_VISIBLE_DEVICES":"0"})"), machine);
  EXPECT_EQ(machine.visibility.cuda_visible_devices, "");
  EXPECT_EQ(machine.visibility.hip_visible_devices, "0");
  EXPECT_EQ(machine.visibility.rocr_visible_devices, std::nullopt);
}

TEST(Container, LeavesTheLesserOfTheMachinesMemoryAndItsLimits) {
  Machine machine;
  EXPECT_EQ(available_memory_bytes(machine), std::nullopt);
  machine.container.memory_limit_bytes = 8ull << 30;
  machine.container.memory_used_bytes = 3ull << 30;
  EXPECT_EQ(available_memory_bytes(machine), 5ull << 30);
  machine.system.memory_available_bytes = 100ull << 30;
  EXPECT_EQ(available_memory_bytes(machine), 5ull << 30);
  machine.system.memory_available_bytes = 2ull << 30;
  EXPECT_EQ(available_memory_bytes(machine), 2ull << 30);
  machine.container.memory_used_bytes = 9ull << 30;  // what it used before the limit was lowered
  EXPECT_EQ(available_memory_bytes(machine), 0u);
  machine.container = {};
  EXPECT_EQ(available_memory_bytes(machine), 2ull << 30);
}

}  // namespace
}  // namespace gpuready
