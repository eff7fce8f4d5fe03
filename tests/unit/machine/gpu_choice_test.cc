#include "machine/gpu_choice.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready {
namespace {

Machine four_gpus() {
  Machine machine;
  const auto add = [&](const char* name, const char* address, const char* uuid,
                       std::optional<int> ordinal) -> Gpu& {
    Gpu& gpu = machine.gpus.emplace_back();
    gpu.index = static_cast<int>(machine.gpus.size()) - 1;
    gpu.name = name;
    gpu.pci = parse_pci_address(address);
    gpu.uuid = uuid;
    gpu.cuda_ordinal = ordinal;
    return gpu;
  };
  add("NVIDIA H100 80GB HBM3", "0000:17:00.0", "GPU-8932f937-d72c", 1).compute_capability = "9.0";
  add("NVIDIA H100 80GB HBM3", "0000:65:00.0", "GPU-8932aaaa-d72c", 0).compute_capability = "9.0";
  add("NVIDIA A100-SXM4-40GB", "0001:17:00.0", "GPU-11111111-d72c", 2).compute_capability = "8.0";
  add("AMD Instinct MI300X", "0000:c1:00.0", "a1b2c3d4e5f60718", {}).gfx_target = "gfx942";
  return machine;
}

// Indices, or the text of the refusal.
std::string named(const Machine& machine, std::string_view word) {
  const auto found = gpus_named(machine, "--device", word);
  if (!found) return found.error().message;
  std::vector<std::string> indices;
  for (const Gpu* gpu : *found) indices.push_back(std::to_string(gpu->index));
  return join(indices, ",");
}

TEST(GpuChoice, EveryFormOfAName) {
  const Machine machine = four_gpus();
  struct Case {
    const char *word, *want;
  };
  for (const auto& [word, want] : std::initializer_list<Case>{{"0", "0"},
                                                              {"3", "3"},
                                                              {"cuda:0", "1"},
                                                              {"cuda:1", "0"},
                                                              {"17:00.0", "0"},
                                                              {"0001:17:00.0", "2"},
                                                              {"GPU-8932f", "0"},
                                                              {"gpu-8932F937-d72c", "0"},
                                                              {"cuda:GPU-8932a", "1"},
                                                              {"a1b2c", "3"},
                                                              {"9.0", "0,1"},
                                                              {"sm_80", "2"},
                                                              {"gfx942", "3"},
                                                              {"H100", "0,1"},
                                                              {"nvidia h100", "0,1"},
                                                              {"A100", "2"},
                                                              {"A100-SXM4", "2"},
                                                              {"mi300x", "3"}})
    EXPECT_EQ(named(machine, word), want) << word;
}

TEST(GpuChoice, ARefusalListsWhatIsHere) {
  const Machine machine = four_gpus();
  for (const char* word : {"4", "-1", "cuda:3", "vulkan:0", "18:00.0", "GPU-9", "GPU", "9.1",
                           "sm_8", "A10", "H200", ""}) {
    const auto text = named(machine, word);
    EXPECT_TRUE(text.starts_with(
        "--device " + std::string(word) +
        ": no such GPU here: 0 (NVIDIA H100 80GB HBM3, 9.0, 0000:17:00.0, GPU-8932f937-d72c); 1 ("))
        << text;
    EXPECT_TRUE(contains(text, "3 (AMD Instinct MI300X, gfx942, 0000:c1:00.0,")) << text;
  }
  EXPECT_EQ(named(Machine{}, "0"), "--device 0: no such GPU here: this machine has no GPU");
  EXPECT_TRUE(
      named(machine, "GPU-8932")
          .starts_with(
              "--device GPU-8932: several GPUs have a UUID that begins so: 0 (NVIDIA H100"));
}

TEST(GpuChoice, OneGpuIsMeantWhereOnlyOneCanBe) {
  const Machine machine = four_gpus();
  EXPECT_EQ((*gpu_named(machine, "--gpu", "A100"))->index, 2);
  const auto several = gpu_named(machine, "--gpu", "H100");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(several.error().message.starts_with("--gpu H100: name one of these GPUs: 0 (NVIDIA"));
  EXPECT_FALSE(contains(several.error().message, "A100"));
}

TEST(GpuChoice, ModelsThatAreNotHereHaveACapability) {
  struct Case {
    const char *word, *want;
  };
  for (const auto& [word, want] : std::initializer_list<Case>{{"H100", "9.0"},
                                                              {"A100", "8.0"},
                                                              {"A10", "8.6"},
                                                              {"L40", "8.9"},
                                                              {"V100", "7.0"},
                                                              {"T4", "7.5"},
                                                              {"RTX 4090", "8.9"},
                                                              {"RTX 3090", "8.6"}})
    EXPECT_EQ(capability_of_model("--gpu", word).value_or(std::nullopt), want) << word;
  const auto several = capability_of_model("--gpu", "RTX 6000");
  ASSERT_FALSE(several);
  EXPECT_TRUE(contains(several.error().message,
                       "GPUs of several capabilities are called so; name one of these: 7.5 ("))
      << several.error().message;
  for (const char* word : {"", "the fast one", "MI300X"})
    EXPECT_EQ(*capability_of_model("--gpu", word), std::nullopt) << word;
}

}  // namespace
}  // namespace gpuready
