#include "vm/report/drivers_report.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

using vm::Capability;
using vm::DriverFileKind;

vm::BundleEntry entry(const std::string& folder) {
  vm::BundleEntry out;
  out.folder = folder;
  out.bundle.driver_version = "580.65.06";
  return out;
}

// A bundle with everything.
vm::BundleEntry full() {
  auto out = entry("bundles/580");
  out.current = true;
  out.bundle.machine = "x86_64";
  out.bundle.kernel_releases = {"6.1.0-40-amd64", "6.12.1"};
  out.bundle.open_modules = true;
  out.bundle.warnings = {"no firmware for Hopper"};
  const vm::ModuleInfo open{.name = "nvidia", .kernel_release = "6.12.1", .is_signed = true};
  out.bundle.files = {
      {.path = "lib/libcuda.so.580.65.06",
       .kind = DriverFileKind::library,
       .size_bytes = 2u << 20,
       .capabilities = {Capability::compute, Capability::video},
       .soname = "libcuda.so.1"},
      {.path = "modules/6.12.1/nvidia.ko",
       .kind = DriverFileKind::module,
       .size_bytes = 1u << 20,
       .module = open},
      {.path = "modules/6.1.0-40-amd64/nvidia.ko",
       .kind = DriverFileKind::module,
       .size_bytes = 1u << 20,
       .module = vm::ModuleInfo{.name = "nvidia", .kernel_release = "6.1.0-40-amd64"}}};
  return out;
}

TEST(DriversReport, OfOneBundleShowsItsFiles) {
  EXPECT_EQ(render_terminal(DriversReport{.bundles = {full()}, .problems = {}}, {.columns = 120}),
            "File                  Kind     Bytes  Serves          Name\n"
            "libcuda.so.580.65.06  library  2 MiB  compute, video  libcuda.so.1\n"
            "nvidia.ko             module   1 MiB  all             for 6.12.1, signed\n"
            "nvidia.ko             module   1 MiB  all             for 6.1.0-40-amd64\n"
            "\n"
            "bundles/580: driver 580.65.06 for x86_64, 3 files, 4 MiB; modules for 6.1.0-40-amd64, "
            "6.12.1 (open); current\n"
            "note: no firmware for Hopper\n");
}

TEST(DriversReport, OfSeveralBundlesSumsEachUp) {
  EXPECT_EQ(
      render_terminal(DriversReport{.bundles = {full(), entry("bundles/new")}, .problems = {}},
                      {.columns = 120}),
      "bundles/580: driver 580.65.06 for x86_64, 3 files, 4 MiB; modules for 6.1.0-40-amd64, "
      "6.12.1 (open); current\n"
      "\n"
      "bundles/new: driver 580.65.06 for ?, 0 files, 0 B; modules for no kernel\n");
}

TEST(DriversReport, ProblemsStandFirstAndAlone) {
  DriversReport report{.bundles = {entry("bundles/1"), entry("bundles/2")},
                       .problems = {"a hash differs"}};
  EXPECT_EQ(render_terminal(report, {.quiet = true}), "wrong: a hash differs\n");
  EXPECT_EQ(render_terminal(report, {.columns = 120}),
            "wrong: a hash differs\n"
            "\n"
            "bundles/1: driver 580.65.06 for ?, 0 files, 0 B; modules for no kernel\n"
            "\n"
            "bundles/2: driver 580.65.06 for ?, 0 files, 0 B; modules for no kernel\n");
  report.bundles.clear();
  EXPECT_EQ(render_terminal(report, {}), "wrong: a hash differs\n");
  report.problems.clear();
  EXPECT_EQ(render_terminal(report, {}), "No driver bundle was found.\n");
  EXPECT_EQ(render_terminal(report, {.quiet = true}), "");
}

CompatReport compat() {
  CompatReport report;
  report.cuda.driver_version = "580.65.06";
  report.cuda.explanation = "All of CUDA 12.9 runs.";
  return report;
}

TEST(CompatReport, SaysOfEachLibraryOfTheImageWhomItServes) {
  auto report = compat();
  EXPECT_EQ(render_terminal(report, {}), "All of CUDA 12.9 runs.\n");
  report.rootfs = "root";
  EXPECT_EQ(render_terminal(report, {}),
            "All of CUDA 12.9 runs.\nroot brings no driver libraries of its own.\n");
  report.image_libraries = {
      {.path = "/lib/libcuda.so.580.65.06", .version = "580.65.06"},
      {.path = "/lib/libcuda.so.550.54.15", .version = "550.54.15"},
      {.path = "/lib/libcuda.so.1", .version = ""},
      {.path = "/compat/libcuda.so.575.1", .version = "575.1", .compat = true}};
  EXPECT_EQ(render_terminal(report, {.columns = 200}),
            "All of CUDA 12.9 runs.\n"
            "The image has /lib/libcuda.so.580.65.06 of driver 580.65.06.\n"
            "The image has /lib/libcuda.so.550.54.15 of driver 550.54.15; the loader may take it "
            "instead of 580.65.06.\n"
            "The image has /lib/libcuda.so.1, whose name does not tell its driver; the loader may "
            "take it instead of 580.65.06.\n"
            "The image has /compat/libcuda.so.575.1 of driver 575.1, of CUDA's compatibility "
            "package: it serves programs that look there first.\n");
}

// NVIDIA, "CUDA Compatibility": error 804 on GPUs that forward compatibility does not serve.
TEST(CompatReport, WarnsOfACompatibilityPackageOnlyWhereItStopsPrograms) {
  const auto warns = [](bool compatible, bool brings_one, bool of_a_gpu = true) {
    auto report = compat();
    report.image_libraries = {{.path = "/compat/libcuda.so", .version = "", .compat = brings_one}};
    if (of_a_gpu)
      report.gpu = vm::GpuSupport{.gpu = "capability 8.6 (Ampere)",
                                  .architecture = {},
                                  .served = true,
                                  .forward_compatible = compatible,
                                  .explanation = "It serves it."};
    const auto text = render_terminal(report, {.columns = 300});
    EXPECT_EQ(text.contains("\nIt serves it.\n"), of_a_gpu);
    return text.ends_with(
        "\nForward compatibility is for data-center GPUs: on capability 8.6 (Ampere) programs that "
        "load the image's compatibility package stop with CUDA error 804. Take it out of the "
        "image, or out of the loader's way.\n");
  };
  EXPECT_TRUE(warns(false, true));
  EXPECT_FALSE(warns(true, true));
  EXPECT_FALSE(warns(false, false));
  EXPECT_FALSE(warns(false, true, false));
}

}  // namespace
}  // namespace gpuready
