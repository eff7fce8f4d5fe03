#include "pack/rules/explain.h"

#include "pack/rules/releases.h"

#include <gtest/gtest.h>

#include "unit/products/pack/code/fixtures.h"

namespace gpuready::pack {
namespace {

using namespace fixture;

FileAnswer answer(const Data& file, std::string_view gpu, std::string_view driver = "") {
  return explain(code_of(inspect_bytes("file", file)), *parse_target_gpu(gpu),
                 {.version = parse_version(driver)});
}
Data modules(const std::vector<Data>& containers) {
  Data file;
  for (const Data& one : containers) append(file, one);
  return file;
}

TEST(Explain, CountsModulesByHowTheyLoad) {
  const Data file = modules({fat_binary({cubin_entry(80), ptx_entry(80, {7, 0})}),
                             fat_binary({cubin_entry(80)}), fat_binary({cubin_entry(90, 'a')})});
  auto on = answer(file, "8.6");
  EXPECT_EQ(on.runs, Runs::part);
  EXPECT_EQ(on.modules, 3u);
  EXPECT_EQ(on.by_cubin, 2u);
  EXPECT_EQ(on.by_jit, 0u);
  on = answer(file, "9.0");
  EXPECT_EQ(on.by_cubin, 1u);
  EXPECT_EQ(on.by_jit, 1u);
  on = answer(file, "7.5");
  EXPECT_EQ(on.runs, Runs::none);
  EXPECT_EQ(on.change.build, "sm_75");
  EXPECT_EQ(on.change.text, "a build for sm_75 with CUDA 10.0 or newer");
}

TEST(Explain, NamesTheSmallestDriverThatHelps) {
  // The real case that was measured: machine code for 86, 89 and 120a, PTX 9.1 for the rest.
  const Data file = fat_binary(
      {cubin_entry(86), cubin_entry(120, 'a'), ptx_entry(75, {9, 1}), ptx_entry(90, {9, 1})});
  for (const char* gpu : {"7.5", "8.0", "9.0"}) {
    const auto on = answer(file, gpu, "580.159.04");
    EXPECT_EQ(on.runs, Runs::none) << gpu;
    ASSERT_EQ(on.reasons.size(), 1u);
    EXPECT_EQ(on.reasons[0].obstacle, Obstacle::ptx_isa);
    EXPECT_EQ(on.change.driver, "590.44.01");
    EXPECT_EQ(on.change.text, "driver 590.44.01 or newer");
    EXPECT_EQ(answer(file, gpu, "590.44.01").runs, Runs::all);
  }
  EXPECT_EQ(answer(file, "8.6", "580.159.04").runs, Runs::all);
}

TEST(Explain, NoDriverHelpsWhereThereIsNoCode) {
  const auto on = answer(fat_binary({cubin_entry(90)}), "8.9", "535.104.05");
  EXPECT_EQ(on.runs, Runs::none);
  EXPECT_EQ(on.change.driver, "");
  EXPECT_EQ(on.change.build, "sm_89");
}

TEST(Explain, AGpuThatTheDriverDoesNotKnowRunsNothing) {
  const auto on = answer(fat_binary({cubin_entry(120)}), "12.0", "550.54.14");
  EXPECT_EQ(on.runs, Runs::none);
  EXPECT_NE(on.driver, "");
  EXPECT_EQ(on.change.driver, "570.26");
  EXPECT_EQ(on.change.build, "");
}

TEST(Explain, StubsCountForNothing) {
  const Data stub = fat_binary({cubin_entry(70, 0, 'z', false), cubin_entry(80, 0, 'z', false)});
  EXPECT_EQ(answer(stub, "7.0").runs, Runs::no_code);
  const auto on = answer(modules({stub, fat_binary({cubin_entry(80)})}), "8.0");
  EXPECT_EQ(on.runs, Runs::all);
  EXPECT_EQ(on.modules, 1u);
  EXPECT_EQ(answer(modules({stub, fat_binary({cubin_entry(80)})}), "7.0").runs, Runs::none);
}

TEST(Explain, BarePiecesAreOneModuleThatTheLibraryChoosesFrom) {
  const Data file = modules({zstd(cubin({.architecture = 80})), zstd(cubin({.architecture = 90}))});
  EXPECT_EQ(answer(file, "8.6", "535.104.05").runs, Runs::all);
  EXPECT_EQ(answer(file, "9.0").by_cubin, 1u);
  EXPECT_EQ(answer(file, "7.5").runs, Runs::none);
}

TEST(Explain, GpusOfOtherVendorsRunNothing) {
  EXPECT_EQ(answer(fat_binary({cubin_entry(80)}), "gfx942").runs, Runs::none);
  const Data amd = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", raw("code")}});
  const auto on = answer(amd, "gfx90a");
  EXPECT_EQ(on.runs, Runs::none);
  EXPECT_EQ(on.reasons[0].because, "gfx90a:xnack+ needs XNACK on (HSA_XNACK=1)");
  EXPECT_EQ(answer(amd, "gfx90a:xnack+").runs, Runs::all);
}

TEST(Explain, LibrariesOfACudaMajorVersionSetTheDriver) {
  FileReport file = inspect_bytes("file", fat_binary({cubin_entry(80)}));
  file.elf = ElfFacts{};
  file.elf->needed = {"libcudart.so.13", "libc.so.6"};
  EXPECT_EQ(code_of(file).cuda, parse_version("13"));
  const auto on =
      explain(code_of(file), *parse_target_gpu("8.0"), {.version = parse_version("575.51.03")});
  EXPECT_EQ(on.runs, Runs::none);
  EXPECT_EQ(
      on.driver,
      "it needs CUDA 13: driver 580.65.06 or newer, or NVIDIA's cuda-compat package of that CUDA");
  EXPECT_EQ(on.change.driver, "580.65.06");
}

// A library with the CUDA runtime inside names no libcudart. CUDA 12.9 writes machine code of ABI 7
// for 7.5 to 9.0 and of ABI 8 for newer GPUs, CUDA 13 of ABI 8 for all; PTX has its toolkit's ISA.
TEST(Explain, TheCompilersCudaSetsTheDriver) {
  const auto compiled = [](std::uint32_t architecture, int abi) {
    return entry({.architecture = architecture,
                  .payload = cubin({.architecture = static_cast<int>(architecture)}),
                  .isa = {1, abi}});
  };
  const auto cuda = [](const Data& file) {
    const auto version = code_of(inspect_bytes("x", file)).cuda;
    return version ? version_text(*version) : "";
  };
  EXPECT_EQ(cuda(fat_binary({compiled(80, 8)})), "13.0");
  EXPECT_EQ(cuda(fat_binary({compiled(80, 7), compiled(100, 8)})), "");
  EXPECT_EQ(cuda(fat_binary({compiled(80, 7), ptx_entry(100, {8, 8})})), "12.9");
  EXPECT_EQ(cuda(fat_binary({ptx_entry(52, {7, 8})})), "11.8");
  EXPECT_EQ(cuda(zstd(cubin({.architecture = 80}))), "");
  EXPECT_EQ(answer(fat_binary({compiled(80, 8)}), "8.6", "570.26").runs, Runs::none);
  EXPECT_EQ(answer(fat_binary({compiled(80, 8)}), "8.6", "580.65.06").runs, Runs::all);
  EXPECT_EQ(answer(fat_binary({compiled(80, 7)}), "8.6", "535.104.05").runs, Runs::all);
}

// Stubs of any size: of names and zeros, 8,368 bytes of cuDNN 9.27 are 1,125 packed.
TEST(Explain, ALargeStubCountsForNothing) {
  Data large = cubin({.architecture = 80, .kernel = false});
  large.resize(64 << 10);
  const Data stub = fat_binary({entry({.architecture = 80, .payload = large, .packed = 'z'})});
  EXPECT_EQ(answer(stub, "8.0").runs, Runs::no_code);
}

TEST(Explain, CudaCompatIsAnAnswerOnDataCentreGpus) {
  FileReport file = inspect_bytes("libx.so", fat_binary({cubin_entry(90), cubin_entry(86)}));
  file.elf = ElfFacts{};
  file.elf->needed = {"libcudart.so.13"};
  const Driver old{.version = parse_version("535.104.05")};
  EXPECT_EQ(explain(code_of(file), *parse_target_gpu("9.0"), old).driver,
            "it needs CUDA 13: driver 580.65.06 or newer, or NVIDIA's cuda-compat package of that "
            "CUDA");
  EXPECT_EQ(explain(code_of(file), *parse_target_gpu("8.6"), old).driver,
            "it needs CUDA 13: driver 580.65.06 or newer");
  const Driver compat{.version = old.version, .cuda = parse_version("13.0")};
  EXPECT_EQ(explain(code_of(file), *parse_target_gpu("9.0"), compat).runs, Runs::all);
}

// Not known where some GPUs of a capability are for data centres and some are not.
TEST(Explain, CapabilitiesSayWhetherCudaCompatStarts) {
  const auto starts = [](const char* gpu) {
    const auto known = starts_with_cuda_compat(*parse_target_gpu(gpu)->cuda);
    return known ? (*known ? "yes" : "no") : "";
  };
  for (const char* gpu : {"6.0", "7.0", "8.0", "9.0", "10.0", "10.3"})
    EXPECT_STREQ(starts(gpu), "yes") << gpu;
  EXPECT_STREQ(starts("12.1"), "no");
  for (const char* gpu : {"5.0", "5.2", "6.1", "7.5", "8.6", "8.9", "12.0"})
    EXPECT_STREQ(starts(gpu), "") << gpu;
}

// Of releases whose driver is not known here, nobody can install one.
TEST(Explain, NamesNoDriverThatIsNotKnown) {
  const auto newer = answer(fat_binary({ptx_entry(70, {9, 3})}), "8.6", "580.65.06");
  EXPECT_EQ(newer.change.driver, "");
  EXPECT_EQ(newer.change.text, "a build for sm_86 with CUDA 11.1 or newer");
  // The newest branch that still drives the GPU is an older one.
  const auto left = answer(fat_binary({cubin_entry(60)}), "6.1", "590.44.01");
  EXPECT_EQ(left.runs, Runs::none);
  EXPECT_EQ(left.change.driver, "580");
  EXPECT_EQ(left.change.text, "a driver of branch 580");
  for (const auto& release : cuda_releases())
    for (const char* gpu : {"5.0", "7.0", "8.6", "12.1"}) {
      const auto on = answer(fat_binary({ptx_entry(50, {9, 5})}), gpu, release.driver);
      EXPECT_EQ(on.change.driver.find("CUDA"), std::string::npos) << gpu << " " << release.driver;
    }
}

TEST(Explain, TellsTheReasonOfTheNearestCode) {
  const Data file = fat_binary({cubin_entry(75), cubin_entry(90), ptx_entry(121, {9, 0})});
  const auto on = answer(file, "6.1", "580.65.06");
  ASSERT_EQ(on.reasons.size(), 1u);
  EXPECT_EQ(on.reasons[0].because, "sm_75 is machine code for 7.5 to 7.9");
  EXPECT_EQ(answer(file, "12.0", "580.65.06").reasons[0].because,
            "compute_121 is for 12.1 and newer");
}

TEST(Explain, TellsTheThreeMostFrequentReasons) {
  std::vector<Data> containers;
  for (const auto& [architecture, count] : {std::pair{75, 1}, {90, 2}, {100, 4}, {120, 3}})
    for (int i = 0; i < count; ++i) containers.push_back(fat_binary({cubin_entry(architecture)}));
  const auto reasons = [&] {
    std::string text;
    for (const auto& reason : answer(modules(containers), "8.6").reasons)
      text += fmt::format("{} x{}\n", reason.because.substr(0, reason.because.find(' ')),
                          reason.modules);
    return text;
  };
  EXPECT_EQ(reasons(), "sm_100 x4\nsm_120 x3\nsm_90 x2\n");
  containers.erase(containers.begin());  // of three none is left out
  EXPECT_EQ(reasons(), "sm_100 x4\nsm_120 x3\nsm_90 x2\n");
  containers.erase(containers.begin(), containers.begin() + 2);
  EXPECT_EQ(reasons(), "sm_100 x4\nsm_120 x3\n");
}

TEST(Explain, NothingLoadsBecauseOfTheDriverElseOfTheMostFrequentReason) {
  FileAnswer answer;
  EXPECT_EQ(answer.why_none(), "it holds no code that is known");
  answer.reasons = {{Obstacle::architecture, "of most modules", 2}, {Obstacle::zstd, "of one", 1}};
  EXPECT_EQ(answer.why_none(), "of most modules");
  answer.driver = "of the driver";
  EXPECT_EQ(answer.why_none(), "of the driver");
  answer.reasons.clear();
  EXPECT_EQ(answer.why_none(), "of the driver");
}

TEST(Explain, CudnnIsNotBuiltAnew) {
  const auto code = fat_binary({cubin_entry(75), ptx_entry(121, {9, 0})});
  const auto change = [&](const char* path, const char* gpu) {
    return explain(code_of(inspect_bytes(path, code)), *parse_target_gpu(gpu), {}).change.text;
  };
  EXPECT_EQ(change("libcudnn_ops.so.9", "6.1"), "cuDNN 9.10 or older");
  EXPECT_EQ(change("libother.so.9", "6.1"), "a build for sm_61 with CUDA 8.0 to 12.9");
  EXPECT_EQ(change("libcudnn_ops.so.9", "7.5"), "");
}

TEST(Explain, CudnnHasAFloorOfItsOwn) {
  const auto file =
      inspect_bytes("lib/libcudnn_ops.so.9.15.0", fat_binary({cubin_entry(60), cubin_entry(75)}));
  const auto on = explain(code_of(file), *parse_target_gpu("6.0"), {});
  EXPECT_EQ(on.runs, Runs::none);
  EXPECT_EQ(on.driver, "cuDNN 9.15.0 runs on GPUs of 7.5 and newer");
  EXPECT_EQ(on.change.text, "cuDNN 9.10 or older");
  EXPECT_EQ(explain(code_of(file), *parse_target_gpu("7.5"), {}).runs, Runs::all);
}

// Parts of cuDNN 9 are named libcudnn_ops.so.9; what comes with them says which 9 it is.
TEST(Explain, NamesOfThePackageTellCudnnsVersion) {
  const auto code = fat_binary({cubin_entry(60), cubin_entry(75)});
  const auto on_6_0 = [&](std::vector<std::string> paths, std::vector<std::string> names) {
    Inspection found;
    for (const auto& path : paths) found.files.push_back(inspect_bytes(path, code));
    found.names = std::move(names);
    std::string runs;
    for (const auto& file : code_of(found))
      runs += std::string(name_of(explain(file, *parse_target_gpu("6.0"), {}).runs)) + " ";
    return runs;
  };
  const std::string parts = "nvidia/cudnn/lib/libcudnn_ops.so.9", wheel = "nvidia_cudnn_cu12-";
  EXPECT_EQ(on_6_0({parts}, {wheel + "9.15.1.9.dist-info/METADATA"}), "none ");
  EXPECT_EQ(on_6_0({parts}, {wheel + "9.10.2.21.dist-info/METADATA"}), "all ");
  EXPECT_EQ(on_6_0({parts}, {"x"}), "all ") << "no name tells it";
  EXPECT_EQ(on_6_0({"libmine.so", parts}, {wheel + "9.15.1.9.dist-info/METADATA"}), "all none ");
  EXPECT_EQ(on_6_0({"libmine.so"}, {"libcudnn.so.9.15.1"}), "none ") << "its own code needs it";
  EXPECT_EQ(on_6_0({"a/libcudnn_ops.so.9", "b/libcudnn_ops.so.9"},
                   {"a/libcudnn.so.9.15.1", "b/libcudnn.so.9.1.0"}),
            "none all ");
}

}  // namespace
}  // namespace gpuready::pack
