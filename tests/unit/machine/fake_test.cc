#include "machine/fake.h"

#include "machine/inspect.h"
#include "scripted.h"

namespace gpuready {
namespace {
using Names = std::vector<std::string>;

TEST(Fake, ListsSplitAtAnySeparator) {
  for (const char* spec : {"rocm,cuda", "cuda;rocm", "cuda | rocm", " CUDA  ROCm ", "cuda,,rocm;"})
    EXPECT_EQ(parse_fakes(spec), (Names{"cuda", "rocm"})) << spec;
}

TEST(Fake, WordsWithAMeaning) {
  EXPECT_EQ(parse_fakes("gpu"), (Names{"cuda", "metal", "rocm", "vulkan", "wgpu", "opengl"}));
  EXPECT_EQ(parse_fakes("WebGPU"), Names{"wgpu"});
  EXPECT_EQ(parse_fakes("none"), Names{"none"});
  EXPECT_EQ(parse_fakes(""), Names{"none"});
}

TEST(Fake, AnUnknownNameIsAnErrorThatListsTheKnown) {
  const auto wrong = parse_fakes("cuda,tpu");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::bad_input);
  for (const char* part : {"'tpu'", "cuda", "wgpu", "none"})
    EXPECT_NE(wrong.error().message.find(part), std::string::npos) << part;
  EXPECT_FALSE(parse_fakes("none,cuda"));
}

TEST(Fake, TheFlagComesBeforeTheVariables) {
  const auto both = scripted(R"("environment":{"GPUREADY_FAKE":"metal","BITNET_GPU_FAKE":"rocm"})");
  EXPECT_EQ(choose_fakes(*both, "cuda"), Names{"cuda"});
  EXPECT_EQ(choose_fakes(*both, std::nullopt), Names{"metal"});
  const auto one = scripted(R"("environment":{"BITNET_GPU_FAKE":""})");
  EXPECT_EQ(choose_fakes(*one, std::nullopt), Names{"none"});
  EXPECT_EQ(choose_fakes(*scripted(R"("files":{})"), std::nullopt), Names{});
}

TEST(Fake, StrictModeForbidsIt) {
  const auto strict =
      scripted(R"("environment":{"BITNET_STRICT_NO_FAKE_GPU":"1","GPUREADY_FAKE":"cuda"})");
  EXPECT_FALSE(choose_fakes(*strict, std::nullopt));
  const auto off = scripted(R"("environment":{"GPUREADY_STRICT":"0","GPUREADY_FAKE":"cuda"})");
  EXPECT_EQ(choose_fakes(*off, std::nullopt), Names{"cuda"});
}

TEST(NamedLibraries, AreKnownToTheMachineUnlessNothingIsAsked) {
  const auto host = scripted(
      R"("environment":{"GPUREADY_LIBCUDA":"/x/libcuda.so","GPUREADY_LIBNVML":"",
                        "GPUREADY_HIP_LIBRARY":"/x/libamdhip64.so","GPUREADY_HELPER":"/x/helper"})");
  std::map<std::string, std::string> named = {{"GPUREADY_LIBCUDA", "/x/libcuda.so"},
                                              {"GPUREADY_HIP_LIBRARY", "/x/libamdhip64.so"}};
  EXPECT_EQ(inspect(*host, {}).named_libraries, named) << "whoever uses the library has a helper";
  named["GPUREADY_HELPER"] = "/x/helper";
  EXPECT_EQ(inspect(*host, {.is_gpuready = true}).named_libraries, named);
  EXPECT_TRUE(inspect(*host, {.libraries = false}).named_libraries.empty());
  EXPECT_TRUE(inspect(*host, {.fakes = {"cuda"}}).named_libraries.empty());
  EXPECT_TRUE(inspect(*scripted(R"("files":{})"), {}).named_libraries.empty());
}

TEST(NamedLibraries, AreForbiddenInStrictMode) {
  for (const char* variable : {"GPUREADY_LIBCUDA", "GPUREADY_LIBNVML", "GPUREADY_LIBNCCL",
                               "GPUREADY_HIP_LIBRARY", "GPUREADY_VULKAN_LIBRARY"}) {
    const auto host = scripted(std::string(R"("environment":{"GPUREADY_STRICT":"1",")") + variable +
                               R"(":"/x"})");
    const auto refused = choose_fakes(*host, std::nullopt);
    ASSERT_FALSE(refused) << variable;
    EXPECT_NE(refused.error().message.find(variable + std::string("=/x")), std::string::npos);
  }
  const auto helper =
      scripted(R"("environment":{"GPUREADY_STRICT":"1","GPUREADY_HELPER":"/x/helper"})");
  EXPECT_TRUE(choose_fakes(*helper, std::nullopt)) << "whoever uses the library has one";
  EXPECT_FALSE(choose_fakes(*helper, std::nullopt, true));
}

TEST(Fake, ReplacesWhatIsThereAndSaysSo) {
  const auto host = scripted(R"("files":{"/sys/bus/pci/devices/0000:17:00.0/class":"0x030200",
    "/sys/bus/pci/devices/0000:17:00.0/vendor":"0x10de"})");
  InspectOptions options;
  EXPECT_EQ(inspect(*host, options).gpus.size(), 1u);
  options.fakes = {"cuda", "rocm"};
  const auto machine = inspect(*host, options);
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_TRUE(machine.pci.empty());
  for (const auto& gpu : machine.gpus) {
    EXPECT_TRUE(gpu.faked);
    EXPECT_EQ(gpu.memory.total_bytes, std::nullopt);
  }
  options.fakes = {"none"};
  EXPECT_TRUE(inspect(*host, options).gpus.empty());
}

}  // namespace
}  // namespace gpuready
