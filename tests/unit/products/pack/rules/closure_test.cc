#include "pack/rules/closure.h"

#include <gtest/gtest.h>

namespace gpuready::pack {
namespace {

struct Folder {
  explicit Folder(std::vector<std::string> names = {"LICENSE"}) {
    inspection.names = std::move(names);
  }
  Inspection inspection = {};
  Folder& library(const std::string& path, std::vector<std::string> needed = {},
                  std::vector<std::string> run_path = {"$ORIGIN"}) {
    FileReport report;
    report.path = path;
    report.elf = ElfFacts{};
    report.elf->needed = std::move(needed);
    report.elf->run_path = std::move(run_path);
    inspection.files.push_back(std::move(report));
    inspection.names.push_back(path);
    return *this;
  }
  Folder& link(const std::string& path, const std::string& target, bool dangling = false) {
    inspection.names.push_back(path);
    inspection.links.push_back({path, target, dangling});
    return *this;
  }
};

// "missing libfoo.so: ..." shortened to fault and file, one a line.
std::string faults(const Folder& folder, const std::vector<std::string>& system = {}) {
  std::string text;
  for (const auto& problem : check_closure(folder.inspection, system))
    text += std::string(to_string(problem.fault)) + " " + problem.file + "\n";
  return text;
}

TEST(Closure, IsWholeWhereAllIsThereOrTheSystems) {
  Folder folder;
  folder.library("libmine.so", {"libcublas.so.12", "libc.so.6", "libstdc++.so.6", "libcuda.so.1"})
      .library("libcublas.so.12", {"libcublasLt.so.12", "libdl.so.2"})
      .library("libcublasLt.so.12", {"ld-linux-x86-64.so.2"})
      .link("libcublas.so", "libcublas.so.12");
  EXPECT_EQ(faults(folder), "");
}

TEST(Closure, NamesWhatIsNeededAndNotThere) {
  Folder folder;
  folder.library("libmine.so", {"libcudart.so.12", "libgomp.so.1"});
  EXPECT_EQ(faults(folder), "missing libmine.so\nmissing libmine.so\n");
  EXPECT_EQ(faults(folder, {"libgomp.so.1"}), "missing libmine.so\n");
  EXPECT_EQ(check_closure(folder.inspection, {})[0].text,
            "it needs libcudart.so.12, which is not in the folder: add it, or declare it the "
            "system's");
}

TEST(Closure, KnowsWhatIsOpenedByName) {
  // As two releases of the seed were: without the provider that does the work.
  Folder onnx;
  onnx.library("libonnxruntime.so.1.22.0").library("libonnxruntime_providers_shared.so");
  EXPECT_EQ(faults(onnx), "missing_by_name libonnxruntime.so.1.22.0\n");
  onnx.link("libonnxruntime.so", "libonnxruntime.so.1.22.0");  // says nothing twice
  EXPECT_EQ(faults(onnx), "missing_by_name libonnxruntime.so.1.22.0\n");
  onnx.library("libonnxruntime_providers_cuda.so");
  EXPECT_EQ(faults(onnx), "");

  Folder cudnn;
  cudnn.library("libcudnn.so.9");
  for (const char* part : {"graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled"})
    cudnn.library(std::string("libcudnn_") + part + ".so.9");
  EXPECT_EQ(faults(cudnn), "missing_by_name libcudnn.so.9\n");
  cudnn.library("libcudnn_engines_runtime_compiled.so.8");  // another major version is no help
  EXPECT_EQ(faults(cudnn), "missing_by_name libcudnn.so.9\n");
  cudnn.library("libcudnn_engines_runtime_compiled.so.9.15.0");
  EXPECT_EQ(faults(cudnn), "");
}

TEST(Closure, WantsTheLicenceOfWhatIsNvidias) {
  EXPECT_EQ(faults(Folder(std::vector<std::string>()).library("libmine.so")), "");
  EXPECT_EQ(faults(Folder({"README"}).library("libcudart.so.12").library("libcublas.so.12")),
            "licence libcudart.so.12\n");  // one for all
  for (const char* text : {"doc/CUDA_EULA.txt", "nvidia/License.txt", "COPYING.nccl"})
    EXPECT_EQ(faults(Folder({text}).library("libcudart.so.12")), "") << text;
  // The folder is not its name.
  EXPECT_EQ(faults(Folder({"licenses/readme"}).library("libnccl.so.2")), "licence libnccl.so.2\n");
}

TEST(Closure, RefusesTheDriversLibraries) {
  Folder folder;
  folder.library("libcuda.so.1").library("libnvidia-ptxjitcompiler.so.580.65.06");
  EXPECT_EQ(faults(folder),
            "driver_library libcuda.so.1\n"
            "driver_library libnvidia-ptxjitcompiler.so.580.65.06\n");
  for (const char* name : {"libGLX_nvidia.so.0", "nvidia-uvm.ko.zst", "libnvidia_x.so"})
    EXPECT_EQ(ownership_of(name), Ownership::driver) << name;
  EXPECT_EQ(ownership_of("libcudart.so.12"), Ownership::redistributable);
  EXPECT_EQ(ownership_of("libnppc.so.12"), Ownership::redistributable);
  EXPECT_EQ(ownership_of("libcurl.so.4"), Ownership::other);
}

TEST(Closure, WantsRunPathsAndLinksThatStayInTheFolder) {
  Folder folder;
  folder.library("a/libinside.so", {"libc.so.6"}, {"$ORIGIN/../b", "${ORIGIN}"})
      .library("a/libabove.so", {"libc.so.6"}, {"$ORIGIN/../../usr"})
      .library("a/libnvidias.so", {"libinside.so"}, {"$ORIGIN", "$ORIGIN/../../.."})
      .library("libnotfoundbefore.so", {"libinside.so"}, {"$ORIGIN", "$ORIGIN/../.."})
      .library("libabsolute.so", {"libc.so.6"}, {"/usr/local/cuda/lib64"})
      .library("librelative.so", {"libc.so.6"}, {"lib"})
      .library("libnone.so", {"libabsolute.so"}, {})
      .link("a/ok.so", "../libnone.so")
      .link("a/gone.so", "gone.so.1", true)
      .link("a/out.so", "../../libc.so.6")
      .link("abs.so", "/lib/libc.so.6");
  EXPECT_EQ(faults(folder),
            "dangling_link a/gone.so\nlink_outside a/out.so\nlink_outside abs.so\n"
            "run_path a/libabove.so\nrun_path libnotfoundbefore.so\nrun_path "
            "libabsolute.so\nrun_path librelative.so\n"
            "run_path libnone.so\n");
}

}  // namespace
}  // namespace gpuready::pack
