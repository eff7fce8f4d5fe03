#include "pack/code/target.h"

#include <gtest/gtest.h>

namespace gpuready::pack {
namespace {

TEST(CudaTarget, IsReadInEveryUsualForm) {
  for (const char* text : {"sm_90a", "compute_90a", "90a", "9.0a"}) {
    const auto target = parse_cuda_target(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(*target, (CudaTarget{9, 0, 'a'}));
  }
  EXPECT_EQ(parse_cuda_target("10.3f"), (CudaTarget{10, 3, 'f'}));
  EXPECT_EQ(parse_cuda_target("121"), (CudaTarget{12, 1, 0}));
  EXPECT_EQ(parse_cuda_target("5.0"), (CudaTarget{5, 0, 0}));
  for (const char* text : {"", "a", "9", "sm_", "9.", ".9", "1.2.3", "90b", "9.00", "1234", "-90",
                           "90 ", "gfx90a", "9.0aa"})
    EXPECT_FALSE(parse_cuda_target(text)) << text;
}

TEST(CudaTarget, NamesItselfAsNvidiaDoes) {
  EXPECT_EQ((CudaTarget{9, 0, 'a'}).sm(), "sm_90a");
  EXPECT_EQ((CudaTarget{12, 1, 0}).sm(), "sm_121");
  EXPECT_EQ((CudaTarget{10, 3, 'f'}).capability(), "10.3");
}

TEST(GfxTarget, KeepsWhatIsNamedAndNoMore) {
  const auto full = parse_gfx_target("gfx90a:sramecc+:xnack-");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->processor, "gfx90a");
  EXPECT_EQ(full->sramecc, true);
  EXPECT_EQ(full->xnack, false);
  EXPECT_EQ(full->name(), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(parse_gfx_target("gfx9-4-generic:xnack+")->name(), "gfx9-4-generic:xnack+");
  EXPECT_FALSE(parse_gfx_target("gfx1030")->xnack);
  for (const char* text : {"", "gfx", "sm_90", "gfx90a:xnack", "gfx90a:speed+", "GFX90A"})
    EXPECT_FALSE(parse_gfx_target(text)) << text;
}

}  // namespace
}  // namespace gpuready::pack
