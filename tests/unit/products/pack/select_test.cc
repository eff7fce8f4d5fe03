// Which variant each machine gets. The expected answers are NVIDIA's rules: machine code runs on
// its major version from its minor one on, PTX on every later GPU under a driver that knows its
// ISA.
#include "pack/store/select.h"

#include <gtest/gtest.h>

#include "pack/release/recipe.h"
#include "unit/products/pack/gpus.h"

namespace gpuready::pack {
namespace {

Variant variant(const std::string& name, std::vector<std::string> code,
                std::uint64_t bytes = 1000) {
  Variant made;
  made.name = name;
  if (!code.empty()) {
    made.architectures = {"80"};
    made.code = {{"lib/x.so", {{std::move(code)}}, {}}};
  }
  made.files = {{"lib/x.so", std::nullopt, bytes, std::string(64, 'a'), false, 0, 1}};
  return made;
}

Manifest release() {
  Manifest manifest;
  manifest.name = "libs";
  manifest.version = "1";
  manifest.variants = {
      variant("legacy", {"sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72"}),
      variant("modern", {"sm_75", "sm_80", "sm_86", "sm_87", "sm_88"}),
      variant("latest", {"sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121",
                         "compute_121@9.0"}),
      variant("cpu", {})};
  manifest.models = {{"1.1b-gpu", std::uint64_t{6000} << 20},
                     {"0.6b-gpu", std::uint64_t{3500} << 20},
                     {"cpu-only", 0}};
  return manifest;
}

SelectMachine machine(std::string_view gpus, std::optional<std::string> driver = {},
                      std::uint64_t free_mb = 8000) {
  SelectMachine made;
  made.gpus = gpus_of(gpus);
  for (auto& gpu : made.gpus) gpu.free_bytes = free_mb << 20;
  if (driver) made.driver.version = parse_version(*driver);
  return made;
}
std::string chosen(const Selection& selection) { return join(selection.variants, ","); }
const ConsideredVariant& considered(const Selection& selection, std::string_view name) {
  for (const auto& each : selection.considered)
    if (each.name == name) return each;
  ADD_FAILURE() << name;
  return selection.considered.front();
}

TEST(Select, EveryCapabilityGetsTheVariantWithItsCode) {
  // 7.5 runs code for 7.2 and 8.9 code for 8.6, too; what is made for it is better.
  const std::pair<const char*, const char*> cases[] = {
      {"5.0", "legacy"},  {"5.2", "legacy"},  {"6.1", "legacy"},  {"7.0", "legacy"},
      {"7.2", "legacy"},  {"7.5", "modern"},  {"8.0", "modern"},  {"8.6", "modern"},
      {"8.7", "modern"},  {"8.9", "latest"},  {"9.0", "latest"},  {"10.0", "latest"},
      {"10.3", "latest"}, {"11.0", "latest"}, {"12.0", "latest"}, {"12.1", "latest"}};
  for (const auto& [gpu, wanted] : cases) {
    const auto selection = select_variant(release(), machine(gpu));
    EXPECT_EQ(chosen(selection), wanted) << gpu;
    EXPECT_FALSE(selection.for_cpu);
  }
}

TEST(Select, OneVariantThatServesAllElseTheBestSet) {
  auto manifest = release();
  const auto mixed = select_variant(manifest, machine("6.1,8.6,9.0"));
  EXPECT_EQ(mixed.variants.size(), 3u);
  EXPECT_TRUE(mixed.unserved.empty());
  const auto two = select_variant(manifest, machine("8.0,8.6,9.0"));
  EXPECT_EQ(chosen(two), "modern,latest");  // the one that serves most comes first
  manifest.variants.push_back(variant("universal", {"sm_61", "sm_80", "sm_90"}, 5000));
  EXPECT_EQ(chosen(select_variant(manifest, machine("6.1,8.6,9.0"))), "universal");
  // The smaller of two that serve all alike.
  EXPECT_EQ(chosen(select_variant(manifest, machine("8.6"))), "modern");
}

TEST(Select, EachVariantIsChosenOrSaysWhyNot) {
  auto manifest = release();
  manifest.variants.push_back(variant("universal", {"sm_61", "sm_80", "sm_90"}, 5000));
  manifest.variants.push_back(variant("compiled", {"compute_50@6.0"}, 10));
  manifest.variants.push_back(variant("again", {"sm_86"}, 2000));
  manifest.variants.push_back(variant("equal", {"sm_86"}, 1000));
  const auto why_not = [&](const SelectMachine& machine, std::string_view name) {
    return considered(select_variant(manifest, machine), name).why_not;
  };
  EXPECT_EQ(why_not(machine("8.6"), "modern"), "");
  EXPECT_EQ(why_not(machine("8.6"), "universal"), "modern has code for newer GPUs");
  EXPECT_EQ(why_not(machine("8.6"), "compiled"), "modern compiles less at the first start");
  EXPECT_EQ(why_not(machine("8.6"), "again"), "modern is smaller");
  EXPECT_EQ(why_not(machine("8.6"), "equal"), "modern comes first");
  EXPECT_EQ(why_not(machine("8.6"), "cpu"), "modern serves 8.6.");
  EXPECT_EQ(why_not(machine("8.0,8.6,9.0"), "latest"), "universal serves more GPUs");
  EXPECT_EQ(why_not(machine(""), "latest"), "No GPU is here, so the CPU's is chosen.");
  for (const auto* gpus : {"", "3.5", "6.1", "8.6", "8.9,9.0", "6.1,8.6,12.0", "gfx942", "13.0"})
    for (const auto* driver : {"450.80.02", "535.104.05", "590.44.01"})
      for (const auto& each : select_variant(manifest, machine(gpus, driver)).considered) {
        SCOPED_TRACE(each.name + " on " + gpus + " with " + driver);
        EXPECT_TRUE(each.chosen || !each.problems.empty() || !each.why_not.empty());
        EXPECT_TRUE(!each.chosen || each.why_not.empty());
      }
}

TEST(Select, CudnnHasAFloorOfItsOwn) {
  Manifest manifest = release();
  manifest.variants[0].files.push_back(
      {"lib/libcudnn.so.9.15.0", std::nullopt, 1, std::string(64, 'b'), false, 1, 1});
  const auto selection = select_variant(manifest, machine("6.1"));
  EXPECT_TRUE(selection.for_cpu);
  EXPECT_EQ(considered(selection, "legacy").problems.at(0),
            "6.1: lib/x.so: cuDNN 9.15.0 runs on GPUs of 7.5 and newer");
  manifest.variants[0].floors.cudnn = "9.10";  // as its maker says
  EXPECT_EQ(chosen(select_variant(manifest, machine("6.1"))), "legacy");
}

TEST(Select, ASetIsOneVariantOfAllFiles) {
  auto manifest = release();
  manifest.variants[1].archive = {{"modern.tar.zst", 700, {}}};
  manifest.variants[2].archive = {{"latest.tar.zst.001", 500, {}}, {"latest.tar.zst.002", 9, {}}};
  const auto set = manifest.find("modern+latest");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->name, "modern+latest");
  ASSERT_EQ(set->files.size(), 2u);
  EXPECT_EQ(set->files[0].path, "lib/x.so");
  EXPECT_EQ(set->files[1].path, "variants/latest/lib/x.so");
  EXPECT_EQ(set->files[1].offset_bytes, 700u);  // behind all of the first archive
  EXPECT_EQ(set->archive_bytes(), 1209u);
  EXPECT_EQ(set->code[1].path, "variants/latest/lib/x.so");
  EXPECT_EQ(folder_of_member(set->name, "latest"), "variants/latest");
  EXPECT_EQ(folder_of_member(set->name, "modern"), "");
  EXPECT_FALSE(manifest.find("modern+none"));
  EXPECT_FALSE(manifest.find(""));
  // A link there would lead the others' files elsewhere.
  manifest.variants[1].files.push_back({"variants", "lib", 0, std::nullopt, false, 0, 0});
  EXPECT_FALSE(manifest.find("modern+latest"));
  EXPECT_TRUE(manifest.find("modern"));
}

TEST(Select, MachineCodeBeforePtx) {
  Manifest manifest = release();
  manifest.variants = {variant("ptx", {"compute_75@7.0"}, 10), variant("code", {"sm_86"}, 1000)};
  const auto selection = select_variant(manifest, machine("8.6", "580.65.06"));
  EXPECT_EQ(chosen(selection), "code");
  EXPECT_EQ(considered(selection, "ptx").by_jit.size(), 1u);
}

TEST(Select, OldDriverIsNamedWithItsCure) {
  Manifest manifest = release();
  manifest.variants = {variant("new", {"compute_80@9.1"}), variant("cpu", {})};
  const auto selection = select_variant(manifest, machine("9.0", "580.65.06"));
  EXPECT_EQ(chosen(selection), "cpu");
  EXPECT_TRUE(selection.for_cpu);
  ASSERT_EQ(considered(selection, "new").problems.size(), 1u);
  EXPECT_NE(considered(selection, "new").problems[0].find("590.44.01"), std::string::npos)
      << considered(selection, "new").problems[0];
  EXPECT_EQ(chosen(select_variant(manifest, machine("9.0", "590.44.01"))), "new");
}

TEST(Select, CompressedCodeNeedsADriverThatUnpacksIt) {
  Manifest manifest = release();
  manifest.variants = {variant("small", {"sm_80 zstd"})};
  EXPECT_EQ(chosen(select_variant(manifest, machine("8.0", "535.104.05"))), "");
  EXPECT_EQ(chosen(select_variant(manifest, machine("8.0", "550.54.14"))), "small");
}

TEST(Select, EveryFileMustLoad) {
  Manifest manifest = release();
  manifest.variants = {variant("half", {"sm_80"})};
  manifest.variants[0].code.push_back({"lib/y.so", {{{"sm_90"}}}, {}});
  manifest.variants[0].files.push_back(
      {"lib/y.so", std::nullopt, 1, std::string(64, 'b'), false, 1, 1});
  const auto selection = select_variant(manifest, machine("8.0"));
  EXPECT_EQ(chosen(selection), "");
  EXPECT_NE(considered(selection, "half").problems.at(0).find("lib/y.so"), std::string::npos);
}

// As explain says: a library built with CUDA 13 does not start on an older driver, whatever it
// holds.
TEST(Select, TheCudaThatAFileWasBuiltWithSetsTheDriver) {
  Manifest manifest = release();
  manifest.variants = {variant("cu13", {"sm_80"}), variant("cu12", {"sm_80"})};
  manifest.variants[0].code[0].cuda = "13.0";
  manifest.variants[1].code[0].cuda = "12.8";
  const auto selection = select_variant(manifest, machine("8.0", "570.26"));
  EXPECT_EQ(chosen(selection), "cu12");
  EXPECT_EQ(considered(selection, "cu13").problems.at(0),
            "8.0: lib/x.so: it needs CUDA 13: driver 580.65.06 or newer, or NVIDIA's cuda-compat "
            "package of that CUDA");
  EXPECT_EQ(chosen(select_variant(manifest, machine("8.0", "580.65.06"))), "cu13");
}

// cuDNN's libcudnn_graph holds one kernel that does nothing, as PTX for 5.0.
TEST(Select, AProbeInPtxDecidesNothing) {
  Manifest manifest = release();
  manifest.variants = {variant("modern", {"sm_80", "compute_80@8.7"}),
                       variant("latest", {"sm_120", "compute_120@8.7"})};
  for (auto& each : manifest.variants) each.code[0].modules[0].count = 600;
  manifest.variants[1].code.push_back({"lib/graph.so", {{{"compute_50@7.0"}}}, {}});
  const auto selection = select_variant(manifest, machine("12.0"));
  EXPECT_EQ(chosen(selection), "latest");
  EXPECT_TRUE(considered(selection, "latest").by_jit.empty());
  EXPECT_EQ(considered(selection, "modern").by_jit.size(), 1u);
  EXPECT_EQ(considered(selection, "latest").nearness, 119);
}

TEST(Select, FilesWithTheSameProblemShareAMessage) {
  Manifest manifest = release();
  manifest.variants = {variant("old", {"sm_70"})};
  manifest.variants[0].code.push_back({"lib/y.so", {{{"sm_70"}}}, {}});
  const auto selection = select_variant(manifest, machine("8.0"));
  EXPECT_EQ(
      considered(selection, "old").problems,
      std::vector<std::string>{"8.0: lib/x.so, lib/y.so: sm_70 is machine code for 7.0 to 7.9"});
}

TEST(Select, FloorsOfTheSystem) {
  Manifest manifest = release();
  manifest.variants = {variant("new", {"sm_80"}), variant("cpu", {})};
  manifest.variants[0].floors.glibc = "2.39";
  manifest.variants[0].floors.cpu = "x86-64-v3";
  manifest.variants[0].floors.driver = "550.1";
  auto here = machine("8.0", "560.1");
  EXPECT_EQ(chosen(select_variant(manifest, here)), "new");  // what is not known forbids nothing
  here.glibc = parse_version("2.36");
  EXPECT_EQ(chosen(select_variant(manifest, here)), "cpu");
  here.glibc = parse_version("2.39");
  here.cpu = "x86-64-v2";
  EXPECT_EQ(chosen(select_variant(manifest, here)), "cpu");
  here.cpu = "x86-64-v4";
  EXPECT_EQ(chosen(select_variant(manifest, here)), "new");
  here.driver.version = parse_version("535.104.05");
  EXPECT_EQ(considered(select_variant(manifest, here), "new").problems.at(0),
            "needs driver 550.1, and 535.104.05 is here");
  manifest.variants[1].floors.driver = "550.1";  // the CPU's variant needs none
  EXPECT_EQ(chosen(select_variant(manifest, here)), "cpu");
}

TEST(Select, ModelByFreeMemory) {
  const auto model = [](std::string_view gpus, std::uint64_t free_mb) {
    return select_variant(release(), machine(gpus, {}, free_mb)).model.value_or("none");
  };
  EXPECT_EQ(model("8.6", 6000), "1.1b-gpu");
  EXPECT_EQ(model("8.6", 5999), "0.6b-gpu");
  EXPECT_EQ(model("8.6", 3500), "0.6b-gpu");
  EXPECT_EQ(model("8.6", 3499), "cpu-only");
  EXPECT_EQ(model("3.5", 90'000), "cpu-only");  // its memory is of no use
  EXPECT_EQ(model("", 0), "cpu-only");
  // Where nobody knows how much is free, the answer says so.
  auto unknown = machine("8.6", {}, 0);
  unknown.gpus[0].free_bytes.reset();
  EXPECT_EQ(select_variant(release(), unknown).model, "cpu-only");
  EXPECT_TRUE(select_variant(release(), unknown).model_note);
  EXPECT_FALSE(select_variant(release(), machine("8.6", {}, 0)).model_note);
  EXPECT_FALSE(select_variant(release(), machine("", {}, 0)).model_note);
  auto without = release();
  without.models.clear();
  EXPECT_FALSE(select_variant(without, unknown).model_note);
}

TEST(Select, NothingForNobody) {
  Manifest manifest = release();
  manifest.variants.pop_back();  // the CPU's
  const auto selection = select_variant(manifest, machine(""));
  EXPECT_TRUE(selection.variants.empty());
  EXPECT_NE(selection.reason.find("no variant for the CPU"), std::string::npos);
  SelectMachine broken;
  broken.unknown_gpus = 1;
  EXPECT_NE(select_variant(manifest, broken).reason.find("gpuready doctor"), std::string::npos);
}

// What a version was installed for: other devices or another driver are another machine.
TEST(Select, AMachinesMarkIsItsDriverAndItsGpus) {
  Machine machine;
  EXPECT_EQ(machine_mark(machine), "driver none, GPUs");
  machine.nvidia.module_version = "560.35.03";
  const auto add = [&](std::uint16_t vendor, std::uint16_t device, bool is_gpu) {
    auto& added = machine.pci.emplace_back();
    added.vendor_id = vendor, added.device_id = device, added.is_gpu = is_gpu;
  };
  add(0x10de, 0x2335, true);
  add(0x15b3, 0x1021, false);
  add(0x1002, 0x74a1, true);
  EXPECT_EQ(machine_mark(machine), "driver 560.35.03, GPUs 10de:2335 1002:74a1");
}

}  // namespace
}  // namespace gpuready::pack
