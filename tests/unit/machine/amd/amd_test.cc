#include "machine/amd/amd_parse.h"

#include "machine/sources.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

TEST(AmdParse, TargetNames) {
  EXPECT_EQ(gfx_name(90402), "gfx942");
  EXPECT_EQ(gfx_name(90010), "gfx90a");
  EXPECT_EQ(gfx_name(90008), "gfx908");
  EXPECT_EQ(gfx_name(100300), "gfx1030");
  EXPECT_EQ(gfx_name(110001), "gfx1101");
  for (const std::uint64_t none : {0ull, 9999ull, ~0ull}) EXPECT_EQ(gfx_name(none), std::nullopt);
}

TEST(AmdParse, Architectures) {
  EXPECT_EQ(amd_architecture("gfx942"), "CDNA 3");
  EXPECT_EQ(amd_architecture("gfx90a"), "CDNA 2");
  EXPECT_EQ(amd_architecture("gfx1201"), "RDNA 4");
  EXPECT_EQ(amd_architecture("gfx1"), std::nullopt);
}

TEST(AmdParse, ClocksAreStarred) {
  const auto clocks = parse_dpm("0: 500Mhz\n1: 1200Mhz *\n2: 2100Mhz\n");
  EXPECT_EQ(clocks.now_mhz, 1200);
  EXPECT_EQ(clocks.max_mhz, 2100);
  EXPECT_EQ(parse_dpm("S: 132Mhz *\n0: 500Mhz\n").now_mhz, 132);
  EXPECT_EQ(parse_dpm("0: 8.0GT/s, x16 *\n").max_mhz, std::nullopt);
}

TEST(AmdParse, RasCounters) {
  const auto counts = parse_ras("ue: 1\nce: 42\n");
  EXPECT_EQ(counts.uncorrectable, 1u);
  EXPECT_EQ(counts.correctable, 42u);
  EXPECT_EQ(parse_ras("ue: x\n").uncorrectable, std::nullopt);
}

std::string metrics(std::size_t size, int format, int content) {
  std::string out(size, '\0');
  out[0] = static_cast<char>(size & 0xff);
  out[1] = static_cast<char>(size >> 8);
  out[2] = static_cast<char>(format);
  out[3] = static_cast<char>(content);
  return out;
}
void set16(std::string& table, std::size_t at, unsigned value) {
  table[at] = static_cast<char>(value & 0xff);
  table[at + 1] = static_cast<char>(value >> 8);
}

TEST(GpuMetrics, Version1_3) {
  auto table = metrics(120, 1, 3);
  set16(table, 4, 45);
  set16(table, 6, 61);
  set16(table, 8, 0xffff);
  set16(table, 16, 97);
  set16(table, 22, 280);
  const auto parsed = parse_gpu_metrics(table);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->edge_celsius, 45);
  EXPECT_EQ(parsed->hotspot_celsius, 61);
  EXPECT_EQ(parsed->memory_celsius, std::nullopt) << "all ones: not reported";
  EXPECT_EQ(parsed->activity_percent, 97);
  EXPECT_EQ(parsed->socket_power_watts, 280u);
}

TEST(GpuMetrics, Version1_4HasNoEdge) {
  auto table = metrics(288, 1, 4);
  set16(table, 4, 61);
  set16(table, 6, 55);
  set16(table, 10, 700);
  const auto parsed = parse_gpu_metrics(table);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->edge_celsius, std::nullopt);
  EXPECT_EQ(parsed->hotspot_celsius, 61);
  EXPECT_EQ(parsed->memory_celsius, 55);
  EXPECT_EQ(parsed->socket_power_watts, 700u);
}

TEST(GpuMetrics, OtherVersionsAreNamedAndNotGuessedAt) {
  for (const auto& [format, content] : {std::pair(2, 1), {1, 0}, {1, 9}, {3, 0}}) {
    auto table = metrics(200, format, content);
    set16(table, 4, 50);
    const auto parsed = parse_gpu_metrics(table);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->content_revision, content);
    EXPECT_EQ(parsed->hotspot_celsius, std::nullopt) << format << "." << content;
  }
}

TEST(GpuMetrics, ATruncatedTableGivesWhatItHolds) {
  const auto table = metrics(120, 1, 3);
  EXPECT_FALSE(parse_gpu_metrics(std::string_view(table).substr(0, 60))) << "size beyond the end";
  EXPECT_FALSE(parse_gpu_metrics(""));
  auto tiny = metrics(6, 1, 3);
  set16(tiny, 4, 40);
  EXPECT_EQ(parse_gpu_metrics(tiny)->edge_celsius, 40);
  EXPECT_EQ(parse_gpu_metrics(tiny)->socket_power_watts, std::nullopt);
}

TEST(AmdParse, TargetsOfRocblas) {
  EXPECT_EQ(
      rocblas_targets({"TensileLibrary_Type_HH_gfx942.co", "Kernels.so-000-gfx90a-xnack+.hsaco",
                       "TensileLibrary_lazy_gfx942.dat", "libfoo.so", "gfx", "gfx1030"}),
      (std::vector<std::string>{"gfx1030", "gfx90a", "gfx942"}));
}

TEST(AmdParse, RocmVersion) {
  EXPECT_EQ(parse_rocm_version("6.0.2-115\n"), "6.0.2");
  EXPECT_EQ(parse_rocm_version("unknown"), std::nullopt);
}

// Two MI300X joined by xGMI, the first in two compute partitions. Formats: Linux kfd_topology.c and
// amdgpu's sysfs documentation.
constexpr const char* kMachine = R"("links":{
  "/sys/bus/pci/devices/0000:05:00.0":"../../../devices/pci0000:00/0000:05:00.0",
  "/sys/bus/pci/devices/0000:06:00.0":"../../../devices/pci0000:00/0000:06:00.0",
  "/sys/class/drm/card1/device":"../../../devices/pci0000:00/0000:05:00.0"},
 "files":{
  "/sys/module/amdgpu/version":"6.7.0\n",
  "/sys/bus/pci/devices/0000:05:00.0/class":"0x120000","/sys/bus/pci/devices/0000:05:00.0/vendor":"0x1002",
  "/sys/bus/pci/devices/0000:05:00.0/device":"0x74a1",
  "/sys/bus/pci/devices/0000:06:00.0/class":"0x120000","/sys/bus/pci/devices/0000:06:00.0/vendor":"0x1002",
  "/sys/class/kfd/kfd/topology/nodes/0/properties":"cpu_cores_count 96\nsimd_count 0\n",
  "/sys/class/kfd/kfd/topology/nodes/1/properties":"cpu_cores_count 0\nsimd_count 608\nsimd_per_cu 4\ngfx_target_version 90402\nlocation_id 1280\ndomain 0\nmax_engine_clk_fcompute 2100\n",
  "/sys/class/kfd/kfd/topology/nodes/1/io_links/0/properties":"type 2\nnode_from 1\nnode_to 0\n",
  "/sys/class/kfd/kfd/topology/nodes/1/io_links/1/properties":"type 11\nnode_from 1\nnode_to 3\n",
  "/sys/class/kfd/kfd/topology/nodes/2/properties":"cpu_cores_count 0\nsimd_count 608\nsimd_per_cu 4\ngfx_target_version 90402\nlocation_id 1281\ndomain 0\n",
  "/sys/class/kfd/kfd/topology/nodes/3/properties":"cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nlocation_id 1536\ndomain 0\n",
  "/sys/class/kfd/kfd/topology/nodes/3/mem_banks/0/properties":"heap_type 1\nsize_in_bytes 206141652992\n",
  "/sys/class/drm/card1/device/mem_info_vram_total":"206141652992\n",
  "/sys/class/drm/card1/device/mem_info_vram_used":"298041344\n",
  "/sys/class/drm/card1/device/unique_id":"9b5ca5fbe2a4a1f1\n",
  "/sys/class/drm/card1/device/pp_dpm_sclk":"0: 132Mhz *\n1: 2100Mhz\n",
  "/sys/class/drm/card1/device/hwmon/hwmon4/temp2_label":"junction\n",
  "/sys/class/drm/card1/device/hwmon/hwmon4/temp2_input":"43000\n",
  "/sys/class/drm/card1/device/hwmon/hwmon4/power1_input":"140000000\n",
  "/sys/class/drm/card1/device/hwmon/hwmon4/power1_cap":"750000000\n",
  "/sys/class/drm/card1/device/ras/umc_err_count":"ue: 0\nce: 7\n",
  "/sys/class/drm/card1/device/ras/gfx_err_count":"ue: 1\nce: 0\n",
  "/opt/rocm/.info/version":"6.1.0-82\n",
  "/opt/rocm/lib/rocblas/library/Kernels.so-000-gfx942.hsaco":""})";

Machine mi300() {
  Machine machine;
  const auto host = scripted(kMachine);
  find_pci(*host, machine);
  read_pci(*host, machine);
  read_amd_files(*host, machine);
  finish_gpus(machine);
  derive_topology(machine);
  return machine;
}

TEST(AmdFiles, PartitionsAddUpToTheirGpu) {
  const auto machine = mi300();
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_EQ(machine.gpus[0].multiprocessors, 304);
  EXPECT_EQ(machine.gpus[1].multiprocessors, 304);
  EXPECT_EQ(machine.gpus[0].gfx_target, "gfx942");
  EXPECT_EQ(machine.gpus[0].architecture, "CDNA 3");
}

TEST(AmdFiles, FiguresOfTheDriver) {
  const auto gpu = mi300().gpus.at(0);
  EXPECT_EQ(gpu.memory.total_bytes, 206141652992u);
  EXPECT_EQ(gpu.memory.free_bytes, 206141652992u - 298041344u);
  EXPECT_EQ(gpu.uuid, "9b5ca5fbe2a4a1f1");
  EXPECT_EQ(gpu.clocks.sm_mhz, 132);
  EXPECT_EQ(gpu.clocks.max_sm_mhz, 2100);
  EXPECT_EQ(gpu.thermal.gpu_celsius, 43);
  EXPECT_EQ(gpu.power.draw_mw, 140'000u);
  EXPECT_EQ(gpu.power.limit_mw, 750'000u);
  EXPECT_EQ(gpu.ras_errors.at("umc_ce"), 7u);
  EXPECT_EQ(gpu.ecc.since_boot.uncorrected, 1u);
}

TEST(AmdFiles, WhatNoFileTellsIsAbsent) {
  const auto gpu = mi300().gpus.at(1);
  EXPECT_EQ(gpu.memory.total_bytes, 206141652992u) << "by KFD's memory bank";
  EXPECT_EQ(gpu.memory.used_bytes, std::nullopt);
  EXPECT_EQ(gpu.uuid, std::nullopt);
  EXPECT_EQ(gpu.thermal.gpu_celsius, std::nullopt);
  EXPECT_EQ(gpu.ecc.since_boot.corrected, std::nullopt);
}

TEST(AmdFiles, XgmiJoinsThem) {
  const auto machine = mi300();
  ASSERT_EQ(machine.paths.size(), 1u);
  EXPECT_EQ(machine.paths[0].kind, PathKind::xgmi);
}

TEST(AmdFiles, RocmAndItsKernels) {
  const auto machine = mi300();
  EXPECT_EQ(machine.amd.module_version, "6.7.0");
  EXPECT_EQ(machine.amd.rocm_version, "6.1.0");
  EXPECT_EQ(machine.amd.rocblas_targets, std::vector<std::string>{"gfx942"});
}

}  // namespace
}  // namespace gpuready
