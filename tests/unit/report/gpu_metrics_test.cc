#include "report/metrics/gpu_metrics.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready {
namespace {

// Without help and types.
std::string samples_of(const Exposition& out) {
  std::string samples;
  const auto text = out.text();
  for (const auto line : lines(text))
    if (!line.starts_with('#')) samples += std::string(line) + "\n";
  return samples;
}

TEST(GpuMetrics, ARunTellsItsToolItsExitAndWhenTheMachineWasRead) {
  Report report;
  report.tool_version = "1.2.3";
  report.command = "check";
  report.machine.nvidia.module_version = "580.95.05";
  report.machine.nvidia.cuda_version = "13.0";
  report.machine.fakes = {"cuda", "rocm"};
  report.machine.named_libraries = {{"GPUREADY_LIBCUDA", "/opt/libcuda.so"}};
  report.machine.system.unix_seconds = 1'700'000'000;
  report.machine.gpus.resize(3);
  Exposition full, bare;
  add_run(report, Exit::unknown, full);
  EXPECT_EQ(samples_of(full),
            "gpuready_info{version=\"1.2.3\",command=\"check\",driver=\"580.95.05\",cuda=\"13.0\","
            "faked=\"cuda,rocm\",named_libraries=\"GPUREADY_LIBCUDA=/opt/libcuda.so\"} 1\n"
            "gpuready_exit_code 4\n"
            "gpuready_read_timestamp_seconds 1700000000\n"
            "gpuready_gpus 3\n");
  add_run(Report{}, Exit::ok, bare);
  EXPECT_EQ(samples_of(bare),
            "gpuready_info{version=\"\",command=\"\",driver=\"\",cuda=\"\",faked=\"\","
            "named_libraries=\"\"} 1\n"
            "gpuready_exit_code 0\n"
            "gpuready_gpus 0\n");
}

TEST(GpuMetrics, EachCounterOfErrorsThatIsKnownIsTold) {
  Gpu gpu;
  Exposition nothing;
  add_gpu_errors(gpu, {}, nothing);
  EXPECT_EQ(samples_of(nothing), "");
  gpu.ecc.since_boot = {1, 2};
  gpu.ecc.lifetime = {3, 4};
  gpu.remapping.corrected = 5;
  gpu.remapping.uncorrected = 6;
  gpu.remapping.pending = true;
  gpu.remapping.failed = false;
  gpu.retired.single_bit = 7;
  gpu.retired.double_bit = 8;
  gpu.pcie_errors.correctable = 9;
  gpu.pcie_errors.nonfatal = 10;
  gpu.pcie_errors.fatal = 11;
  gpu.pcie_errors.replays = 12;
  gpu.ras_errors = {{"umc_ue", 13}};
  gpu.nvlinks.resize(3);
  gpu.nvlinks[0].up = gpu.nvlinks[1].up = true;
  gpu.nvlinks[0].replay_errors = 100;
  gpu.nvlinks[0].recovery_errors = 20;
  gpu.nvlinks[1].crc_errors = 3;
  gpu.nvlinks[2].up = false;
  Exposition all;
  add_gpu_errors(gpu, {{"gpu", "0"}}, all);
  EXPECT_EQ(samples_of(all),
            "gpuready_gpu_ecc_errors_total{gpu=\"0\",kind=\"corrected\"} 1\n"
            "gpuready_gpu_ecc_errors_total{gpu=\"0\",kind=\"uncorrected\"} 2\n"
            "gpuready_gpu_ecc_lifetime_errors_total{gpu=\"0\",kind=\"corrected\"} 3\n"
            "gpuready_gpu_ecc_lifetime_errors_total{gpu=\"0\",kind=\"uncorrected\"} 4\n"
            "gpuready_gpu_remapped_rows_total{gpu=\"0\",kind=\"corrected\"} 5\n"
            "gpuready_gpu_remapped_rows_total{gpu=\"0\",kind=\"uncorrected\"} 6\n"
            "gpuready_gpu_remap_pending{gpu=\"0\"} 1\n"
            "gpuready_gpu_remap_failed{gpu=\"0\"} 0\n"
            "gpuready_gpu_retired_pages_total{gpu=\"0\",kind=\"single_bit\"} 7\n"
            "gpuready_gpu_retired_pages_total{gpu=\"0\",kind=\"double_bit\"} 8\n"
            "gpuready_gpu_pcie_errors_total{gpu=\"0\",kind=\"correctable\"} 9\n"
            "gpuready_gpu_pcie_errors_total{gpu=\"0\",kind=\"nonfatal\"} 10\n"
            "gpuready_gpu_pcie_errors_total{gpu=\"0\",kind=\"fatal\"} 11\n"
            "gpuready_gpu_pcie_errors_total{gpu=\"0\",kind=\"replays\"} 12\n"
            "gpuready_gpu_ras_errors_total{gpu=\"0\",kind=\"umc_ue\"} 13\n"
            "gpuready_gpu_nvlinks{gpu=\"0\"} 3\n"
            "gpuready_gpu_nvlinks_up{gpu=\"0\"} 2\n"
            "gpuready_gpu_nvlink_errors_total{gpu=\"0\",kind=\"all\"} 123\n");
  Gpu uncounted;
  uncounted.nvlinks.resize(1);
  Exposition links;
  add_gpu_errors(uncounted, {}, links);
  EXPECT_EQ(samples_of(links), "gpuready_gpu_nvlinks 1\ngpuready_gpu_nvlinks_up 0\n");
}

}  // namespace
}  // namespace gpuready
