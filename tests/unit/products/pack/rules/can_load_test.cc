#include "pack/rules/can_load.h"

#include <gtest/gtest.h>

#include "machine/nvidia/architectures.h"
#include "pack/rules/releases.h"

namespace gpuready::pack {
namespace {

DeviceCode cubin(std::string_view target, Compression packed = Compression::none) {
  return {.kind = CodeKind::cubin, .cuda = parse_cuda_target(target), .compression = packed};
}
DeviceCode ptx(std::string_view target, std::string_view isa) {
  return {.kind = CodeKind::ptx, .cuda = parse_cuda_target(target), .ptx_isa = parse_version(isa)};
}
DeviceCode amd(std::string_view target) {
  return {.kind = CodeKind::amd, .gfx = parse_gfx_target(target)};
}
How how(const DeviceCode& code, std::string_view gpu, std::string_view driver = "") {
  return can_load(code, *parse_target_gpu(gpu), {.version = parse_version(driver)}).how;
}
Obstacle why(const DeviceCode& code, std::string_view gpu, std::string_view driver = "") {
  return can_load(code, *parse_target_gpu(gpu), {.version = parse_version(driver)}).obstacle;
}
// The GPUs of all capabilities that machine code runs on.
std::string runs_on(const DeviceCode& code) {
  std::string gpus;
  for (const auto& known : nvidia_architectures()) {
    const TargetGpu gpu{.cuda = CudaTarget{known.major, known.minor}};
    if (can_load(code, gpu, {}).how != How::no) gpus += (gpus.empty() ? "" : " ") + gpu.name();
  }
  return gpus;
}

TEST(CanLoad, MachineCodeRunsOnItsMajorVersionFromItsMinorOn) {
  EXPECT_EQ(runs_on(cubin("sm_50")), "5.0 5.2");
  EXPECT_EQ(runs_on(cubin("sm_52")), "5.2");
  EXPECT_EQ(runs_on(cubin("sm_60")), "6.0 6.1");
  EXPECT_EQ(runs_on(cubin("sm_70")), "7.0 7.5");
  EXPECT_EQ(runs_on(cubin("sm_80")), "8.0 8.6 8.9");
  EXPECT_EQ(runs_on(cubin("sm_86")), "8.6 8.9");
  EXPECT_EQ(runs_on(cubin("sm_90")), "9.0");
  EXPECT_EQ(runs_on(cubin("sm_100")), "10.0 10.3");
  EXPECT_EQ(runs_on(cubin("sm_120")), "12.0 12.1");
  EXPECT_EQ(runs_on(cubin("sm_121")), "12.1");
}

// cuda-compat: a libcuda of the next CUDA over a driver.
TEST(CanLoad, CudaCompatCrossesMajorsOnDataCentreGpusAlone) {
  const Driver compat{.version = parse_version("535.104.05"), .cuda = parse_version("13.0")};
  EXPECT_TRUE(compat.crosses_majors());
  EXPECT_EQ(driver_obstacle(*parse_target_gpu("9.0"), compat), "");
  EXPECT_EQ(driver_obstacle(*parse_target_gpu("7.5"), compat), "");  // T4 or RTX 20: not known
  EXPECT_EQ(driver_obstacle(*parse_target_gpu("5.0"), compat), "");  // Tesla M10 or GTX 750
  // GB10 needs a driver of CUDA 13 itself.
  const Driver next{.version = parse_version("580.95.05"), .cuda = parse_version("14.0")};
  EXPECT_TRUE(next.crosses_majors());
  EXPECT_EQ(driver_obstacle(*parse_target_gpu("12.1"), next),
            "libcuda is of CUDA 14.0 (cuda-compat) over driver 580.95.05: that starts only "
            "on data-centre GPUs");
  EXPECT_EQ(driver_obstacle(*parse_target_gpu("12.0"), next), "");
  // Within a major version it starts everywhere; and its libcuda compiles and unpacks.
  const Driver minor{.version = parse_version("535.104.05"), .cuda = parse_version("12.8")};
  EXPECT_FALSE(minor.crosses_majors());
  EXPECT_EQ(driver_obstacle(*parse_target_gpu("5.0"), minor), "");
  EXPECT_EQ(can_load(ptx("compute_80", "8.7"), *parse_target_gpu("9.0"), minor).how, How::by_jit);
  EXPECT_EQ(can_load(cubin("sm_90", Compression::zstd), *parse_target_gpu("9.0"), minor).how,
            How::by_cubin);
  EXPECT_EQ(how(cubin("sm_90", Compression::zstd), "9.0", "535.104.05"), How::no);
}

TEST(CanLoad, CudnnHasAFloorOfItsOwn) {
  const auto obstacle = [](std::string_view cudnn, std::string_view gpu) {
    return cudnn_obstacle(*parse_version(cudnn), *parse_cuda_target(gpu));
  };
  EXPECT_EQ(obstacle("9.10.2", "5.0"), "");
  EXPECT_EQ(obstacle("9.11", "7.0"), "cuDNN 9.11 runs on GPUs of 7.5 and newer");
  EXPECT_EQ(obstacle("9.15.1.9", "7.2"), "cuDNN 9.15.1.9 runs on GPUs of 7.5 and newer");
  EXPECT_EQ(obstacle("9.15", "7.5"), "");
  EXPECT_EQ(obstacle("8.9.7", "3.5"), "cuDNN 8.9.7 runs on GPUs of 5.0 and newer");
  EXPECT_EQ(cudnn_of_path("lib/libcudnn_ops.so.9.15.0"), parse_version("9.15.0"));
  EXPECT_EQ(
      cudnn_of_path("nvidia_cudnn_cu12-9.15.1.9-py3-none-any.whl!nvidia/cudnn/lib/libcudnn.so.9"),
      parse_version("9.15.1.9"));
  for (const char* path : {"nvidia_cudnn_cu13-9.15.1.9.dist-info/METADATA",
                           "cudnn-linux-x86_64-9.15.1.9_cuda12-archive.tar.xz!x/libcudnn.so",
                           "libcudnn9-cuda-12_9.15.1.9-1_amd64.deb"})
    EXPECT_EQ(cudnn_of_path(path), parse_version("9.15.1.9")) << path;
  for (const char* path :
       {"lib/libcudnn.so.9", "lib/libcudnn.so", "lib/libcublas.so.12.9.1", "x",
        "nvidia_cudnn_frontend-1.9.0.dist-info/METADATA", "nvidia/cudnn/lib/libx.so.12.9"})
    EXPECT_FALSE(cudnn_of_path(path)) << path;
}

TEST(CanLoad, SystemsOnAChipShareNoMachineCode) {
  for (const char* own : {"53", "62", "72", "87", "101", "110"})
    EXPECT_EQ(runs_on(cubin(own)), parse_cuda_target(own)->capability());
  EXPECT_EQ(why(cubin("sm_80"), "8.7"), Obstacle::architecture);
  EXPECT_EQ(how(ptx("compute_80", "7.0"), "8.7"), How::by_jit);
  // 10.1 and 11.0 are one chip, which CUDA 13 gave another name.
  EXPECT_EQ(how(cubin("sm_101"), "11.0"), How::no);
}

TEST(CanLoad, SuffixesBindToAnArchitectureOrAFamily) {
  EXPECT_EQ(runs_on(cubin("sm_90a")), "9.0");
  EXPECT_EQ(runs_on(cubin("sm_100a")), "10.0");
  EXPECT_EQ(runs_on(cubin("sm_120a")), "12.0");
  EXPECT_EQ(runs_on(cubin("sm_100f")), "10.0 10.3");
  EXPECT_EQ(runs_on(cubin("sm_103f")), "10.3");
  EXPECT_EQ(runs_on(cubin("sm_110f")), "11.0");
  EXPECT_EQ(runs_on(cubin("sm_120f")), "12.0 12.1");
  EXPECT_EQ(runs_on(cubin("sm_121f")), "12.1");
  // PTX likewise.
  EXPECT_EQ(runs_on(ptx("compute_90a", "8.0")), "9.0");
  EXPECT_EQ(runs_on(ptx("compute_100f", "8.8")), "10.0 10.3");
  EXPECT_EQ(why(ptx("compute_90a", "8.0"), "10.0"), Obstacle::one_architecture);
  EXPECT_EQ(why(cubin("sm_100f"), "12.0"), Obstacle::family);
}

TEST(CanLoad, PtxRunsFromItsTargetOnWhereTheDriverCompilesIt) {
  EXPECT_EQ(how(ptx("compute_75", "6.3"), "7.5", "410.48"), How::by_jit);
  EXPECT_EQ(how(ptx("compute_75", "6.3"), "12.1", "580.65.06"), How::by_jit);
  EXPECT_EQ(why(ptx("compute_80", "7.0"), "7.5"), Obstacle::newer_target);
  // As measured: a driver 580 loads PTX 9.0 and refuses 9.1.
  EXPECT_EQ(how(ptx("compute_80", "9.0"), "9.0", "580.65.06"), How::by_jit);
  EXPECT_EQ(why(ptx("compute_80", "9.1"), "9.0", "580.159.04"), Obstacle::ptx_isa);
  EXPECT_EQ(how(ptx("compute_80", "9.1"), "9.0", "590.44.01"), How::by_jit);
  EXPECT_EQ(why(ptx("compute_80", "8.3"), "8.6", "535.104.05"), Obstacle::ptx_isa);
  EXPECT_EQ(how(ptx("compute_80", "8.2"), "8.6", "535.104.05"), How::by_jit);
  EXPECT_EQ(why(ptx("compute_80", "99.9"), "8.6", "595"), Obstacle::ptx_isa);
  // libcuda's own answer goes before the driver's version, as a Jetson's does.
  const Driver jetson{.version = parse_version("540.4.0"), .cuda = parse_version("12.6")};
  EXPECT_EQ(can_load(ptx("compute_80", "8.5"), *parse_target_gpu("8.7"), jetson).how, How::by_jit);
}

TEST(CanLoad, ContainersPackedByZstdNeedADriverThatUnpacksThem) {
  const auto packed = cubin("sm_80", Compression::zstd);
  EXPECT_EQ(why(packed, "8.0", "545.23.08"), Obstacle::zstd);
  EXPECT_EQ(how(packed, "8.0", "550.54.14"), How::by_cubin);
  EXPECT_EQ(how(cubin("sm_80", Compression::lz4), "8.0", "450.80.02"), How::by_cubin);
  // A library unpacks by itself what stands outside a container.
  EXPECT_EQ(
      can_load(packed, *parse_target_gpu("8.0"), {.version = parse_version("545.23.08")}, false)
          .how,
      How::by_cubin);
}

TEST(CanLoad, StubsAndInputOfTheLinkerAreNoSupport) {
  auto stub = cubin("sm_80");
  stub.empty = true;
  auto object = cubin("sm_80");
  object.relocatable = true;
  const DeviceCode lto{.kind = CodeKind::lto_ir, .cuda = parse_cuda_target("80")};
  for (const auto& code : {stub, object, lto, DeviceCode{}})
    EXPECT_EQ(why(code, "8.0"), Obstacle::not_loadable);
  EXPECT_EQ(why(DeviceCode{.kind = CodeKind::cubin}, "8.0"), Obstacle::unknown_target);
}

TEST(CanLoad, AmdsTargetsByProcessorGenericsAndModes) {
  EXPECT_EQ(how(amd("gfx942"), "gfx942"), How::by_cubin);
  EXPECT_EQ(why(amd("gfx940"), "gfx942"), Obstacle::architecture);
  EXPECT_EQ(how(amd("gfx9-4-generic"), "gfx950"), How::by_cubin);
  EXPECT_EQ(why(amd("gfx9-4-generic"), "gfx90a"), Obstacle::architecture);
  EXPECT_EQ(how(amd("gfx11-generic"), "gfx1151"), How::by_cubin);
  EXPECT_EQ(how(amd("gfx10-3-generic"), "gfx1030"), How::by_cubin);
  EXPECT_EQ(why(amd("gfx10-1-generic"), "gfx1030"), Obstacle::architecture);
  EXPECT_EQ(how(amd("gfx90a:xnack-"), "gfx90a"), How::by_cubin);  // as the driver starts it
  EXPECT_EQ(why(amd("gfx90a:xnack+"), "gfx90a"), Obstacle::feature);
  EXPECT_EQ(how(amd("gfx90a:xnack+"), "gfx90a:xnack+"), How::by_cubin);
  EXPECT_EQ(how(amd("gfx90a"), "gfx90a:xnack+"), How::by_cubin);
  EXPECT_EQ(why(amd("gfx906:sramecc-"), "gfx906"), Obstacle::feature);
  EXPECT_EQ(why(amd("gfx942"), "9.0"), Obstacle::other_vendor);
  EXPECT_EQ(why(cubin("sm_90"), "gfx942"), Obstacle::other_vendor);
}

TEST(DriverObstacle, KnowsWhichDriversDriveWhichGpus) {
  const auto obstacle = [](std::string_view gpu, std::string_view driver) {
    return driver_obstacle(*parse_target_gpu(gpu), {.version = parse_version(driver)});
  };
  EXPECT_EQ(obstacle("12.0", "550.54.14"),
            "driver 550.54.14 does not know GPUs of 12.0: 570.26 is the first that does");
  EXPECT_EQ(obstacle("12.0", "570.26"), "");
  // One that came later is not older than the one before it in its family.
  EXPECT_EQ(obstacle("9.9", "470.57.02"),
            "driver 470.57.02 does not know GPUs of 9.9: 520.61.05 is the first that does");
  EXPECT_EQ(obstacle("9.9", "535.54.03"), "");
  EXPECT_EQ(obstacle("5.0", "580.65.06"), "");
  EXPECT_EQ(obstacle("5.0", "590.44.01"),
            "driver 590.44.01 no longer drives GPUs of 5.0: branch 580 is the last that does");
  EXPECT_EQ(obstacle("7.5", "590.44.01"), "");
  EXPECT_EQ(obstacle("8.7", "540.4.0"), "");  // systems on a chip have drivers of their own
  EXPECT_EQ(obstacle("gfx942", "6.8"), "");
}

TEST(CudaReleases, TellTheCudaOfADriver) {
  const auto cuda = [](std::string_view driver) {
    const auto version = cuda_of_driver(*parse_version(driver));
    return version ? version->parts : std::vector<int>();
  };
  EXPECT_EQ(cuda("535.104.05"), (std::vector{12, 2}));
  EXPECT_EQ(cuda("525.60.13"), (std::vector{12, 0}));
  EXPECT_EQ(cuda("580.159.04"), (std::vector{13, 0}));
  EXPECT_EQ(cuda("470.256.02"), (std::vector{11, 4}));
  EXPECT_EQ(cuda("340.108"), std::vector<int>());
}

}  // namespace
}  // namespace gpuready::pack
