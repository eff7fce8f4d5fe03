#include "pack/store/pip_index.h"

#include <algorithm>

namespace gpuready::pack {
namespace {

struct PipBuild {
  std::string_view package, version, build, arguments;
  std::string_view targets;  // of which each GPU needs one that it loads; empty: the CPU's
  std::string_view cuda, cudnn;
};
// x86-64. Sources: PyTorch's release documents ("PyTorch CUDA Support Matrix" of 2.12 to 2.14,
// "CUDA/CUDNN Upgrade Runbook") and the build script of its ROCm wheels; JAX, "Installation": XLA
// compiles for the GPU that it finds, and the newest cuDNN 9 sets the least one; ONNX Runtime: what
// `pack inspect` finds in 1.31.1 (libraries of CUDA 13, from 7.5 on) and 1.26.0.
// cu128: the wheel of 2.10.0 on PyPI holds sm_70 75 80 86 90 100 120, no PTX, and requires cuDNN
// 9.10.2; only what cu126 lacks is listed, so that GPUs of both get the newer release.
// cu130: 2.14.0 requires cuDNN 9.24. JAX's plugins 0.10.2 accept cuDNN from 9.8 (CUDA 12) and 9.12
// (13) on, and pip takes the newest.
constexpr std::string_view kTorch = "torch --index-url https://download.pytorch.org/whl/";
constexpr std::string_view kTorchOn13 = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120@9.0";
constexpr std::string_view kJax =
    "sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121";
constexpr PipBuild kBuilds[] = {
    {"torch", "2.14", "cu132", kTorch, kTorchOn13, "13.2", "9.11"},
    {"torch", "2.14", "cu130", kTorch, kTorchOn13, "13.0", "9.11"},
    {"torch", "2.14", "cu126", kTorch, "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90", "12.6", "9.10"},
    // Of an older release, for GPUs that cu126 does not serve on drivers that CUDA 13 refuses.
    {"torch", "2.10", "cu128", kTorch, "sm_100 sm_120", "12.8", "9.10"},
    {"torch", "2.14", "rocm7.2", kTorch,
     "gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 "
     "gfx1151 gfx1200 gfx1201",
     "", ""},
    {"torch", "2.14", "cpu", kTorch, "", "", ""},
    {"jax", "0.8", "cuda13", "jax[cuda13]", kJax, "13.0", "9.11"},
    {"jax", "0.8", "cuda12", "jax[cuda12]", kJax, "12.0", "9.11"},
    {"jax", "0.8", "cpu", "jax", "", "", ""},
    {"onnxruntime", "1.31", "cuda13", "onnxruntime-gpu", "sm_75 sm_80 sm_86 sm_89 sm_90a sm_120a",
     "13.0", ""},
    {"onnxruntime", "1.26", "cuda12", "onnxruntime-gpu<1.27",
     "sm_60 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90a compute_90@8.7", "12.8", "9.11"},
    {"onnxruntime", "1.31", "cpu", "onnxruntime", "", "", ""},
};

Variant variant_of(const PipBuild& build) {
  Variant variant;
  variant.name = build.build;
  if (build.targets.empty()) return variant;
  CodeOfFile code;
  code.path = build.package;
  auto& targets = code.modules.emplace_back().targets;
  for (const auto target : split(build.targets, " ")) targets.emplace_back(target);
  if (!build.cuda.empty()) code.cuda = build.cuda;
  if (!build.cudnn.empty()) variant.floors.cudnn = build.cudnn;
  variant.architectures = targets;
  variant.code.push_back(std::move(code));
  return variant;
}

const PipBuild& find(std::string_view package, std::string_view build) {
  return *std::ranges::find_if(kBuilds, [&](const PipBuild& each) {
    return each.package == package && each.build == build;
  });
}

}  // namespace

std::optional<Manifest> pip_builds(std::string_view package) {
  Manifest manifest;
  manifest.name = package;
  for (const PipBuild& build : kBuilds)
    if (build.package == package) manifest.variants.push_back(variant_of(build));
  if (manifest.variants.empty()) return std::nullopt;
  return manifest;
}

std::vector<std::string> pip_packages() {
  std::vector<std::string> names;
  for (const PipBuild& build : kBuilds)
    if (names.empty() || names.back() != build.package) names.emplace_back(build.package);
  return names;
}

std::string_view pip_version(std::string_view package, std::string_view build) {
  return find(package, build).version;
}

std::string pip_arguments(std::string_view package, std::string_view build) {
  const auto& arguments = find(package, build).arguments;
  return std::string(arguments) + (arguments == kTorch ? std::string(build) : "");
}

}  // namespace gpuready::pack
