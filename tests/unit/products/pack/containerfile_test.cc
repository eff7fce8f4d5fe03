// A CUDA release builds the variants that its compiler knows, with the environment of `pack build`.
#include "pack/release/containerfile.h"

#include <gtest/gtest.h>

namespace gpuready::pack {
namespace {

Recipe recipe() {
  const auto parsed = parse_recipe(R"(
name = "my-libs"
version = "1.2"
folder = "build/{variant}"
build = ["./build.sh", "it's one word"]
[variants.legacy]
architectures = ["50", "70"]
[variants.latest]
architectures = ["90", "120+PTX"]
[variants.cpu]
)",
                                   "pack.toml", "/home/me");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return *parsed;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(Containerfile, HoldsTheVariantsThatTheCompilerKnows) {
  const auto both = containerfile(recipe(), "/home/me", *parse_version("12.9"));
  ASSERT_TRUE(both);
  EXPECT_TRUE(has(*both, "FROM ${IMAGE} AS build")) << *both;
  EXPECT_TRUE(has(*both, "docker.io/nvidia/cuda:12.9.0-devel"));
  for (const char* part :
       {"PACK_VARIANT='legacy'", "PACK_VARIANT='latest'", "PACK_FOLDER='/source/build/latest'",
        "CUDAARCHS='90-real;120'", "TORCH_CUDA_ARCH_LIST='9.0;12.0+PTX'",
        "'./build.sh' 'it'\\''s one word'",
        "COPY --from=build [\"/source/build/cpu\", \"/build/cpu\"]"})
    EXPECT_TRUE(has(*both, part)) << part << "\n" << *both;

  const auto thirteen = containerfile(recipe(), "/home/me", *parse_version("13.0"));
  ASSERT_TRUE(thirteen);
  EXPECT_TRUE(has(*thirteen, "# Not legacy: CUDA 12.9 is the last that compiles it.")) << *thirteen;
  EXPECT_FALSE(has(*thirteen, "PACK_VARIANT='legacy'"));
  const auto old = containerfile(recipe(), "/home/me", *parse_version("12.4"));
  ASSERT_TRUE(old);
  EXPECT_TRUE(has(*old, "# Not latest: CUDA 12.8 or newer compiles it.")) << *old;
}

TEST(Containerfile, WantsSomethingToBuild) {
  auto ready = recipe();
  for (auto& variant : ready.variants) variant.command.clear();
  EXPECT_FALSE(containerfile(ready, "/home/me", *parse_version("12.9")));
  EXPECT_FALSE(containerfile(recipe(), "/elsewhere", *parse_version("12.9")));
  const auto unknown = containerfile(recipe(), "/home/me", *parse_version("99"));
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(has(unknown.error().message, "no CUDA release 99.0 is known: 9.0 to "))
      << unknown.error().message;
}

}  // namespace
}  // namespace gpuready::pack
