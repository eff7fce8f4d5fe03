// What CUDA releases want of drivers and GPUs; the releases themselves are in base/cuda_releases.h.
// Sources: NVIDIA, "CUDA Toolkit Release Notes"; machine/nvidia/architectures.h for the
// architectures.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/cuda_releases.h"
#include "base/text.h"
#include "pack/code/target.h"

namespace gpuready::pack {

// The CUDA version that a driver is of, by its version: "535.104.05" is of 12.2.
std::optional<Version> cuda_of_driver(const Version& driver);

// The first and last driver branch that drives an architecture; absent: no end, or not known.
struct DriverSpan {
  std::optional<Version> first, last_branch;
};
DriverSpan drivers_of(const CudaTarget& gpu);

// Whether a driver is that one or newer. A branch without more, "580", is any of its drivers.
bool reaches(const Version& driver, const Version& least);

// The driver that first unpacks fat binaries packed by zstd (CUDA 12.4's).
inline constexpr std::string_view kZstdDriver = "550.54.14", kZstdCuda = "12.4";

// NVIDIA's cuda-compat package brings a newer libcuda over an older driver. Beyond the driver's own
// CUDA major version it starts on data-centre GPUs alone: cuInit() answers 804 on others. Nothing:
// GPUs of both kinds have this capability (7.5: T4 and RTX 20; 5.0: Tesla M10 and GTX 750).
std::optional<bool> starts_with_cuda_compat(const CudaTarget& gpu);

// The least compute capability that cuDNN of this version runs on.
std::optional<CudaTarget> least_of_cudnn(const Version& cudnn);
// The last cuDNN that runs on a GPU which newer ones no longer run on: "9.10"; else empty.
std::string_view last_cudnn_of(const CudaTarget& gpu);
// The cuDNN version that a path tells: "libcudnn.so.9.15.0",
// "nvidia_cudnn_cu12-9.15.1.9.dist-info/METADATA", "cudnn-linux-x86_64-9.15.1.9_cuda12.tar.xz!...".
std::optional<Version> cudnn_of_path(std::string_view path);
bool is_part_of_cudnn(std::string_view path);
std::optional<Version> cudnn_of_part(std::string_view path);  // the same, of its parts only
// Why code of this cuDNN does not run on a GPU; empty: it does.
std::string cudnn_obstacle(const Version& cudnn, const CudaTarget& gpu);

// "12.4"; of a driver "535.104.05", whose last number has two digits.
std::string version_text(const Version& version);
std::string driver_text(const Version& version);

// A system on a chip whose machine code does not interchange with other GPUs'. GB10 (12.1) is one
// chip, too, but a member of the family of 12.0.
bool is_tegra(const CudaTarget& gpu);

}  // namespace gpuready::pack
