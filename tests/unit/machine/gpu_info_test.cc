#include "gpuready/gpu_info.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "gpuready/gpuready.h"

namespace gpuready {
namespace {

Machine h200() {
  Machine machine;
  auto& gpu = machine.gpus.emplace_back();
  gpu.vendor = Vendor::nvidia;
  gpu.name = "NVIDIA H200";
  gpu.uuid = "GPU-1";
  gpu.compute_capability = "9.0";
  auto& cuda = gpu.cuda.emplace();
  cuda.multiprocessors = 132;
  cuda.max_threads_per_block = 1024;
  cuda.max_threads_per_multiprocessor = 2048;
  cuda.max_blocks_per_multiprocessor = 32;
  cuda.warp_size = 32;
  cuda.max_grid_x = 2147483647;
  cuda.shared_memory_per_block_bytes = 49152;
  cuda.shared_memory_per_multiprocessor_bytes = 233472;
  cuda.total_memory_bytes = 150'000'000'000;
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 0, "CUDA_SUCCESS"};
  machine.nvidia.cuda_device_count = 1;
  machine.nvidia.cuda_version = "12.1";
  return machine;
}

TEST(GpuInfo, SummaryOfNothing) {
  EXPECT_EQ(gpu_info_of(Machine{}).summary(), "No GPU backends available");
}

TEST(GpuInfo, SummaryNamesBackendsWithTheirVersions) {
  auto machine = h200();
  EXPECT_EQ(gpu_info_of(machine).summary(), "Available GPU backends: CUDA 12.1");
  auto& amd = machine.gpus.emplace_back();
  amd.vendor = Vendor::amd;
  machine.amd.start = ApiStatus{"hipInit(0)", 0, ""};
  machine.amd.rocm_version = "6.0.2";
  EXPECT_EQ(gpu_info_of(machine).summary(), "Available GPU backends: CUDA 12.1, ROCm 6.0");
}

TEST(GpuInfo, ADriverThatFailsIsNoBackend) {
  auto machine = h200();
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 999, "CUDA_ERROR_UNKNOWN"};
  EXPECT_FALSE(gpu_info_of(machine).any_available());
  const auto ready = preflight_check(machine);
  ASSERT_FALSE(ready);
  EXPECT_TRUE(ready.error().starts_with("No GPU backend detected."));
  EXPECT_NE(ready.error().find("CUDA_ERROR_UNKNOWN"), std::string::npos);
}

TEST(GpuInfo, SoftwareVulkanIsNoBackend) {
  Machine machine;
  machine.vulkan.devices.emplace_back().type = "cpu";
  EXPECT_FALSE(gpu_info_of(machine).any_available());
  machine.vulkan.devices.emplace_back().type = "integrated";
  EXPECT_TRUE(gpu_info_of(machine).vulkan);
  EXPECT_TRUE(gpu_info_of(machine).wgpu);
}

TEST(GpuInfo, AFakeIsMarkedAndIsNoDevice) {
  Machine machine;
  machine.fakes = {"cuda", "rocm"};
  auto& gpu = machine.gpus.emplace_back();
  gpu.faked = true;
  gpu.cuda.emplace();
  EXPECT_EQ(gpu_info_of(machine).summary(), "Available GPU backends: CUDA, ROCm (faked)");
  EXPECT_TRUE(cuda_devices_of(machine)->empty());
}

TEST(CudaDevices, EveryFieldOfTheDevice) {
  const auto devices = cuda_devices_of(h200());
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1u);
  const auto& device = devices->front();
  EXPECT_EQ(device.name, "NVIDIA H200");
  EXPECT_EQ(device.compute_capability, std::pair(9, 0));
  EXPECT_EQ(device.total_memory, 150'000'000'000u);
  EXPECT_EQ(device.multiprocessor_count, 132);
  EXPECT_EQ(device.max_shared_memory_per_block, 49152u);
  EXPECT_TRUE(device.supports_fp16);
  EXPECT_TRUE(device.supports_bf16);
}

TEST(CudaDevices, HalfPrecisionByComputeCapability) {
  auto machine = h200();
  machine.gpus[0].compute_capability = "5.2";
  EXPECT_FALSE(cuda_devices_of(machine)->front().supports_fp16);
  machine.gpus[0].compute_capability = "7.5";
  EXPECT_TRUE(cuda_devices_of(machine)->front().supports_fp16);
  EXPECT_FALSE(cuda_devices_of(machine)->front().supports_bf16);
}

TEST(CudaDevices, NoDeviceIsAnAnswerAFailureIsNone) {
  Machine machine;
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 100, "CUDA_ERROR_NO_DEVICE"};
  EXPECT_TRUE(cuda_devices_of(machine)->empty());
  machine.nvidia.cuda_start->code = 803;
  EXPECT_FALSE(cuda_devices_of(machine));
}

TEST(LaunchParams, FollowTheFormulaOnAnH200) {
  const auto device = cuda_devices_of(h200())->front();
  const auto params = optimal_launch_params(4096, 4096, device);
  ASSERT_TRUE(params);
  EXPECT_EQ(params->block_x, 32);
  EXPECT_EQ(params->block_y, 8);
  EXPECT_EQ(params->grid_x, 128);
  EXPECT_EQ(params->grid_y, 512);
  EXPECT_EQ(params->shared_memory_bytes, 40u * 32 * 4);
  EXPECT_EQ(params->blocks_per_multiprocessor, 8);
}

TEST(LaunchParams, SmallWorkIsSpreadOverTheMultiprocessors) {
  const auto device = cuda_devices_of(h200())->front();
  const auto params = optimal_launch_params(64, 64, device);
  ASSERT_TRUE(params);
  EXPECT_EQ(params->block_y, 1) << "2 x 64 blocks are still fewer than 132";
  EXPECT_EQ(params->grid_y, 64);
}

TEST(LaunchParams, ObeyTheDevicesLimits) {
  auto device = cuda_devices_of(h200())->front();
  device.max_threads_per_block = 64;
  EXPECT_EQ(optimal_launch_params(4096, 4096, device)->block_y, 2);
  device.max_threads_per_block = 1024;
  device.max_shared_memory_per_block = 4608;
  EXPECT_EQ(optimal_launch_params(4096, 4096, device)->block_y, 4);
  device.max_grid_x = 100;
  EXPECT_EQ(optimal_launch_params(4096, 1 << 20, device)->grid_x, 100);
  EXPECT_EQ(optimal_launch_params(INT64_MAX, 32, device)->grid_y, 65535);
}

TEST(LaunchParams, RefuseWhatIsNotKnown) {
  EXPECT_FALSE(optimal_launch_params(16, 16, CudaDeviceInfo{}));
  EXPECT_FALSE(optimal_launch_params(0, 16, cuda_devices_of(h200())->front()));
}

class CApi : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("GPUREADY_FAKE"); }
  static void fake(const char* spec) { setenv("GPUREADY_FAKE", spec, 1); }
};

TEST_F(CApi, TellsAFakeAsFaked) {
  fake("cuda,wgpu");
  gpuready_gpu_info info{};
  info.size = sizeof info;
  ASSERT_EQ(gpuready_get_gpu_info(&info), GPUREADY_OK);
  EXPECT_EQ(info.cuda, 1);
  EXPECT_EQ(info.rocm, 0);
  EXPECT_EQ(info.faked, 1);
  char text[128];
  ASSERT_EQ(gpuready_summary(&info, text, sizeof text), GPUREADY_OK);
  EXPECT_STREQ(text, "Available GPU backends: CUDA, WebGPU (faked)");
  EXPECT_EQ(gpuready_gpu_available(), 1);
}

TEST_F(CApi, NoGpuIsAStatusWithItsReason) {
  fake("none");
  EXPECT_EQ(gpuready_preflight_check(), GPUREADY_NO_GPU);
  EXPECT_EQ(std::strncmp(gpuready_last_error(), "No GPU backend detected.", 24), 0);
  EXPECT_EQ(gpuready_gpu_available(), 0);
}

TEST_F(CApi, AnUnreadableFakeIsAnError) {
  fake("tpu");
  gpuready_gpu_info info{};
  info.size = sizeof info;
  EXPECT_EQ(gpuready_get_gpu_info(&info), GPUREADY_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(gpuready_last_error(), "tpu"), nullptr);
}

TEST_F(CApi, AStructThatIsTooSmallIsNotWritten) {
  fake("cuda");
  for (const size_t size : {size_t{0}, size_t{9}, offsetof(gpuready_gpu_info, rocm),
                            sizeof(gpuready_gpu_info) - 1, SIZE_MAX}) {
    gpuready_gpu_info info;
    std::memset(static_cast<void*>(&info), 0x5A, sizeof info);
    info.size = size;
    EXPECT_EQ(gpuready_get_gpu_info(&info), GPUREADY_BAD_ARGUMENT) << size;
    EXPECT_NE(std::strstr(gpuready_last_error(), "gpuready_gpu_info"), nullptr);
    EXPECT_EQ(info.cuda, 0x5A5A5A5A);
  }
}

TEST_F(CApi, NullAndZeroAreRefused) {
  EXPECT_EQ(gpuready_summary(nullptr, nullptr, 0), GPUREADY_BAD_ARGUMENT);
  EXPECT_EQ(gpuready_list_cuda_devices(nullptr, 1, nullptr), GPUREADY_BAD_ARGUMENT);
  fake("none");
  EXPECT_EQ(gpuready_get_gpu_info(nullptr), GPUREADY_BAD_ARGUMENT);
  size_t count = 7;
  EXPECT_EQ(gpuready_list_cuda_devices(nullptr, 0, &count), GPUREADY_OK);
  EXPECT_EQ(count, 0u);
}

TEST_F(CApi, LaunchParamsFromADevice) {
  gpuready_cuda_device device{};
  device.size = sizeof device;
  device.warp_size = 32;
  device.max_threads_per_block = 1024;
  device.max_threads_per_multiprocessor = 2048;
  device.multiprocessor_count = 132;
  device.max_grid_x = 2147483647;
  device.max_shared_memory_per_block_bytes = 49152;
  gpuready_launch_params params{};
  params.size = sizeof params;
  ASSERT_EQ(gpuready_optimal_launch_params(4096, 4096, &device, &params), GPUREADY_OK);
  EXPECT_EQ(params.block_x, 32);
  EXPECT_EQ(params.grid_y, 512);
  EXPECT_EQ(gpuready_optimal_launch_params(-1, 1, &device, &params), GPUREADY_BAD_ARGUMENT);
}

}  // namespace
}  // namespace gpuready
