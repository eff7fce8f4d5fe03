// Which build of a framework each machine gets. The expected answers are PyTorch's and JAX's own
// tables, and NVIDIA's least driver of each CUDA (12: 525.60.13, 13: 580.65.06).
#include "pack/store/pip_index.h"

#include <gtest/gtest.h>

#include "pack/report/select_report.h"
#include "unit/products/pack/gpus.h"

namespace gpuready::pack {
namespace {

std::string build_of(std::string_view package, std::string_view gpus, std::string_view driver) {
  SelectMachine machine;
  machine.gpus = gpus_of(gpus);
  machine.driver.version = parse_version(driver);
  return join(select_variant(*pip_builds(package), machine).variants, "+");
}

TEST(PipIndex, PytorchsBuilds) {
  EXPECT_EQ(build_of("torch", "8.6", "580.65.06"), "cu132");
  EXPECT_EQ(build_of("torch", "8.6", "550.54.14"), "cu126");
  EXPECT_EQ(build_of("torch", "6.1", "550.54.14"), "cu126");
  EXPECT_EQ(build_of("torch", "8.6", "580"), "cu132") << "a branch is any of its drivers";
  EXPECT_EQ(build_of("torch", "8.6", "580.1"), "cu126");
  EXPECT_EQ(build_of("torch", "7.0", "580.65.06"), "cu126") << "CUDA 13 begins at 7.5";
  EXPECT_EQ(build_of("torch", "12.0", "570.26"), "cu128") << "cu126 ends at 9.0";
  EXPECT_EQ(build_of("torch", "10.0", "570.86.10"), "cu128");
  EXPECT_EQ(build_of("torch", "10.0", "580.65.06"), "cu132") << "the newer release";
  EXPECT_EQ(build_of("torch", "12.0", "580.65.06"), "cu132");
  EXPECT_EQ(build_of("torch", "6.1,9.0", "580.65.06"), "cu126") << "it serves both";
  EXPECT_EQ(build_of("torch", "8.6", "470.42.01"), "cpu");
  EXPECT_EQ(build_of("torch", "gfx942", ""), "rocm7.2");
  EXPECT_EQ(build_of("torch", "", ""), "cpu");
}

TEST(PipIndex, JaxsBuilds) {
  EXPECT_EQ(build_of("jax", "9.0", "580.65.06"), "cuda13");
  EXPECT_EQ(build_of("jax", "9.0", "535.104.05"), "cuda12");
  EXPECT_EQ(build_of("jax", "7.0", "535.104.05"), "cpu") << "cuDNN 9.11 and newer begin at 7.5";
}

TEST(PipIndex, OnnxRuntimesBuilds) {
  EXPECT_EQ(build_of("onnxruntime", "8.6", "580.65.06"), "cuda13");
  EXPECT_EQ(build_of("onnxruntime", "8.6", "550.54.14"), "cuda12");
  EXPECT_EQ(build_of("onnxruntime", "10.0", "580.65.06"), "cuda12") << "by PTX for 9.0";
  EXPECT_EQ(build_of("onnxruntime", "6.1", "580.65.06"), "cpu");
}

TEST(PipIndex, WhatPipIsGiven) {
  EXPECT_FALSE(pip_builds("numpy"));
  EXPECT_EQ(pip_packages(), (std::vector<std::string>{"torch", "jax", "onnxruntime"}));
  EXPECT_EQ(pip_arguments("torch", "cu130"),
            "torch --index-url https://download.pytorch.org/whl/cu130");
  EXPECT_EQ(pip_arguments("jax", "cuda12"), "jax[cuda12]");
  for (const auto& package : pip_packages()) {
    const auto builds = pip_builds(package);
    for (const auto& variant : builds->variants)
      EXPECT_NE(pip_arguments(package, variant.name), "") << variant.name;
  }
}

std::string notes_for(std::string_view gpus, std::string_view driver) {
  SelectMachine machine;
  machine.gpus = gpus_of(gpus);
  machine.driver.version = parse_version(driver);
  const SelectReport report{"torch", "1", decide(*pip_builds("torch"), machine)};
  auto notes = pip_notes(report);
  const auto& reason = report.decision.selection.reason;
  if (!notes.empty() && notes.front() == reason) notes.front() = "(reason)";
  return join(notes, "\n");
}

TEST(PipIndex, WhatABuildLeavesOutIsNoted) {
  EXPECT_EQ(notes_for("8.6", "580.65.06"), "") << "it serves all";
  EXPECT_EQ(notes_for("6.1,9.0", "580.65.06"), "");
  EXPECT_EQ(notes_for("", ""), "(reason)") << "the CPU's build";
  EXPECT_EQ(notes_for("3.5", "580.65.06"), "(reason)") << "the CPU's build serves no GPU";
  EXPECT_EQ(notes_for("3.5,9.0,3.5", "580.65.06"), "(reason)\nno build serves 3.5")
      << "each GPU's name once";
  EXPECT_EQ(notes_for("6.1,12.0,6.1", "570.26"),
            "(reason)\n"
            "cu126 serves 6.1\n"
            "cu128 serves 12.0: in an environment of its own, pip install torch --index-url "
            "https://download.pytorch.org/whl/cu128")
      << "two GPUs need the first";
  EXPECT_EQ(notes_for("3.5,6.1,6.1,12.0", "570.26"),
            "(reason)\n"
            "cu126 serves 6.1\n"
            "cu128 serves 12.0: in an environment of its own, pip install torch --index-url "
            "https://download.pytorch.org/whl/cu128\n"
            "no build serves 3.5");
}

}  // namespace
}  // namespace gpuready::pack
