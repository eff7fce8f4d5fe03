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
  EXPECT_TRUE(ready.error().message.starts_with("No GPU backend detected."));
  EXPECT_NE(ready.error().message.find("CUDA_ERROR_UNKNOWN"), std::string::npos);
}

TEST(GpuInfo, SoftwareVulkanIsNoBackend) {
  Machine machine;
  machine.vulkan.devices.emplace_back().type = "cpu";
  EXPECT_FALSE(gpu_info_of(machine).any_available());
  machine.vulkan.devices.emplace_back().type = "integrated";
  EXPECT_TRUE(gpu_info_of(machine).vulkan);
  EXPECT_TRUE(gpu_info_of(machine).wgpu);
}

TEST(GpuInfo, OpenGlNeedsALibraryARenderNodeAndAGpu) {
  const auto has_opengl = [](const char* library, const char* node, bool exists, bool gpu) {
    Machine machine;
    machine.libraries.emplace_back().name = library;
    machine.nodes.emplace_back().path = node;
    machine.nodes[0].exists = exists;
    if (gpu) machine.gpus.emplace_back();
    return gpu_info_of(machine).opengl;
  };
  constexpr const char* kNode = "/dev/dri/renderD128";
  EXPECT_TRUE(has_opengl("libGL.so.1", kNode, true, true));
  EXPECT_TRUE(has_opengl("libEGL.so.1", kNode, true, true));
  EXPECT_FALSE(has_opengl("libGLX.so.0", kNode, true, true));
  EXPECT_FALSE(has_opengl("libGL.so.1", "/dev/dri/card0", true, true));
  EXPECT_FALSE(has_opengl("libGL.so.1", kNode, false, true));
  EXPECT_FALSE(has_opengl("libGL.so.1", kNode, true, false));
}

TEST(GpuInfo, WhyThereIsNoBackendNamesTheGpusAndTheCallThatFailed) {
  const auto why = [](std::size_t gpus, auto change) {
    Machine machine;
    for (std::size_t i = 0; i < gpus; ++i)
      machine.gpus.emplace_back().name = "GPU " + std::to_string(i);
    change(machine);
    const auto ready = preflight_check(machine);
    return ready ? "ready" : ready.error().message;
  };
  const auto found = [](const std::string& text) {
    return "No GPU backend detected. Found " + text +
           ". `gpuready doctor` names the cause and the cure.";
  };
  const auto nothing = [](Machine&) {};
  EXPECT_EQ(why(0, nothing), "No GPU backend detected. No GPU was found on this machine.");
  EXPECT_EQ(why(1, nothing), found("GPU 0, but no driver library that can use it"));
  EXPECT_EQ(why(2, nothing), found("GPU 0 and 1 more, but no driver library that can use it"));
  EXPECT_EQ(why(3, nothing), found("GPU 0 and 2 more, but no driver library that can use it"));
  const auto nvml = [](Machine& machine) {
    machine.nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 9, "NVML_ERROR_DRIVER_NOT_LOADED"};
  };
  const auto hip = [](Machine& machine) { machine.amd.start = ApiStatus{"hipInit(0)", 100, ""}; };
  EXPECT_EQ(why(1, nvml), found("GPU 0, but nvmlInit_v2() gave 9 (NVML_ERROR_DRIVER_NOT_LOADED)"));
  EXPECT_EQ(why(1, hip), found("GPU 0, but hipInit(0) gave 100"));
  EXPECT_EQ(why(2,
                [&](Machine& machine) {
                  nvml(machine);
                  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 999, "CUDA_ERROR_UNKNOWN"};
                }),
            found("GPU 0 and 1 more, but cuInit(0) gave 999 (CUDA_ERROR_UNKNOWN)"));
}

TEST(GpuInfo, AFakeIsMarkedAndIsNoDevice) {
  Machine machine;
  machine.fakes = {"cuda", "rocm"};
  auto& gpu = machine.gpus.emplace_back();
  gpu.faked = true;
  gpu.cuda.emplace();
  EXPECT_EQ(gpu_info_of(machine).summary(), "Available GPU backends: CUDA, ROCm, WebGPU (faked)");
  EXPECT_TRUE(cuda_devices_of(machine)->empty());
}

TEST(GpuInfo, AFakeOfAnyBackendGivesWebGpu) {
  for (const char* backend : {"cuda", "metal", "rocm", "vulkan", "opengl", "wgpu"}) {
    Machine machine;
    machine.fakes = {backend};
    EXPECT_TRUE(gpu_info_of(machine).wgpu) << backend;
  }
  Machine machine;
  machine.fakes = {"none"};
  EXPECT_FALSE(gpu_info_of(machine).any_available());
}

TEST(CudaDevices, EveryFieldOfTheDevice) {
  const auto devices = cuda_devices_of(h200());
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1u);
  const auto& device = devices->front();
  EXPECT_EQ(device.name, "NVIDIA H200");
  EXPECT_EQ(device.compute_capability, std::pair(9, 0));
  EXPECT_EQ(device.total_memory_bytes, 150'000'000'000u);
  EXPECT_EQ(device.multiprocessor_count, 132);
  EXPECT_EQ(device.max_shared_memory_per_block_bytes, 49152u);
  EXPECT_TRUE(device.supports_fp16);
  EXPECT_TRUE(device.supports_bf16);
  EXPECT_TRUE(device.supports_fp8);
}

TEST(CudaDevices, SmallTypesByComputeCapability) {
  struct Case {
    const char* capability;
    bool fp16, bf16, fp8;
  };
  for (const auto& [capability, fp16, bf16, fp8] : {
           Case{"5.2", false, false, false},
           {"5.3", true, false, false},
           {"7.5", true, false, false},
           {"8.0", true, true, false},
           {"8.6", true, true, false},
           {"8.9", true, true, true},
           {"12.0", true, true, true},
       }) {
    auto machine = h200();
    machine.gpus[0].compute_capability = capability;
    const auto device = cuda_devices_of(machine)->front();
    EXPECT_EQ(device.supports_fp16, fp16) << capability;
    EXPECT_EQ(device.supports_bf16, bf16) << capability;
    EXPECT_EQ(device.supports_fp8, fp8) << capability;
  }
}

TEST(CudaDevices, NoDeviceIsAnAnswerAFailureIsNone) {
  Machine machine;
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 100, "CUDA_ERROR_NO_DEVICE"};
  EXPECT_TRUE(cuda_devices_of(machine)->empty());
  machine.nvidia.cuda_start->code = 803;
  const auto failed = cuda_devices_of(machine);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::device);
  EXPECT_EQ(failed.error().code, 803);
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

// 2^58 columns of blocks and 64 rows of them, and 16 columns and 2^60 rows: 2^64 blocks.
TEST(LaunchParams, AreThoseOfMuchWorkHoweverManyBlocksItHas) {
  const auto device = cuda_devices_of(h200())->front();
  const auto wide = optimal_launch_params(512, INT64_MAX, device);
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->block_y, 8);
  EXPECT_EQ(wide->grid_x, 2147483647);
  EXPECT_EQ(wide->grid_y, 64);
  const auto high = optimal_launch_params(INT64_MAX, 512, device);
  ASSERT_TRUE(high);
  EXPECT_EQ(high->block_y, 8);
  EXPECT_EQ(high->grid_x, 16);
}

TEST(LaunchParams, ObeyTheDevicesLimits) {
  auto device = cuda_devices_of(h200())->front();
  device.max_threads_per_block = 64;
  EXPECT_EQ(optimal_launch_params(4096, 4096, device)->block_y, 2);
  device.max_threads_per_block = 1024;
  device.max_shared_memory_per_block_bytes = 4608;
  EXPECT_EQ(optimal_launch_params(4096, 4096, device)->block_y, 4);
  device.max_grid_x = 100;
  EXPECT_EQ(optimal_launch_params(4096, 1 << 20, device)->grid_x, 100);
  EXPECT_EQ(optimal_launch_params(INT64_MAX, 32, device)->grid_y, 65535);
}

TEST(LaunchParams, RefuseWhatIsNotKnown) {
  EXPECT_EQ(optimal_launch_params(16, 16, CudaDeviceInfo{}).error().kind, ErrorKind::unsupported);
  const auto device = cuda_devices_of(h200())->front();
  for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(optimal_launch_params(none, 16, device).error().kind, ErrorKind::bad_input) << none;
    EXPECT_EQ(optimal_launch_params(16, none, device).error().kind, ErrorKind::bad_input) << none;
  }
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
