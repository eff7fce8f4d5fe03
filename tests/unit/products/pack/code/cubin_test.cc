#include "pack/code/cubin.h"

#include <gtest/gtest.h>

#include "unit/products/pack/code/fixtures.h"

namespace gpuready::pack {
namespace {

// Of CUDA 13, with these sections before its kernel.
std::string target_with(std::vector<fixture::ElfPart> parts, std::uint32_t architecture = 90) {
  parts.push_back({".text.kernel", fixture::Data(64, 0x5a)});
  const auto code = read_cubin(fixture::elf(
      {.os_abi = 0x41, .abi_version = 8, .flags = 0x06000004 | architecture << 8}, parts));
  return code ? code->target() : "none";
}

// Attributes of a format, a name and two bytes; with format 4 these are the length of what follows.
TEST(Cubin, Attribute9OfTheCompatSectionSaysForOneArchitecture) {
  const auto with = [](fixture::Data attributes) {
    return target_with({{".nv.compat", std::move(attributes)}});
  };
  EXPECT_EQ(with({}), "sm_90");
  EXPECT_EQ(with({2, 9, 1, 0}), "sm_90a");
  EXPECT_EQ(with({2, 9, 0, 0}), "sm_90");
  EXPECT_EQ(with({2, 8, 1, 0, 3, 9, 1, 0}), "sm_90");
  EXPECT_EQ(with({2, 8, 1, 0, 2, 9, 1, 0}), "sm_90a");
  EXPECT_EQ(with({4, 11, 4, 0, 2, 9, 0, 0, 2, 9, 1, 0}), "sm_90a");
  EXPECT_EQ(with({4, 11, 4, 0, 2, 9, 1, 0, 2, 9, 0, 0}), "sm_90");
  EXPECT_EQ(with({2, 8, 4, 0, 2, 9, 1, 0}), "sm_90a") << "only format 4 has a length";
  EXPECT_EQ(with({4, 11, 255, 255, 2, 9, 1, 0}), "sm_90");
  EXPECT_EQ(with({2, 9, 1}), "sm_90");
}

TEST(Cubin, OtherSectionsAndOlderArchitecturesSayNothingOfIt) {
  const fixture::Data yes = {2, 9, 1, 0};
  EXPECT_EQ(target_with({{".nv.other", yes}}), "sm_90");
  EXPECT_EQ(target_with({{".nv.other", yes}, {".nv.compat", {}}}), "sm_90");
  EXPECT_EQ(target_with({{".nv.compat", yes}, {".nv.other", {}}}), "sm_90a");
  EXPECT_EQ(target_with({{".nv.compat", yes}}, 80), "sm_80");
}

}  // namespace
}  // namespace gpuready::pack
