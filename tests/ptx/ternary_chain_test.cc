// Ternary products in one graph, each of what the one before it made: from capability 9.0 on their
// launches overlap, and none may read or write too early.
#include <gtest/gtest.h>

#include "ptx_gpu.h"
#include "ternary_gpu.h"

namespace gpuready::ternary {
namespace {

class PtxTernaryChain : public testing::TestWithParam<const char*> {};

TEST_P(PtxTernaryChain, EveryProductIsTheCpus) {
  const auto outcome =
      on_ptx_gpu(std::string("sms=2,memory=256MiB,cc=") + GetParam(), [](Device& device) {
        Bench bench{device, must(GpuEngine::create(device)), must(device.create_stream())};
        CpuEngine cpu = must(CpuEngine::create());
        ChainCheck all;
        for (const std::int64_t rows : {1, 3, 9, 40, 130}) {
          const ChainCheck one = check_chain(bench, cpu, 390, rows);
          all.products += one.products;
          all.wrong += one.wrong;
        }
        return fmt::format("{} products, {} wrong", all.products, all.wrong);
      });
  EXPECT_EQ(outcome, "60 products, 0 wrong");
}

INSTANTIATE_TEST_SUITE_P(Every, PtxTernaryChain,
                         testing::Values("6.1", "8.0", "9.0", "9.0,slice=1", "10.0"));

}  // namespace
}  // namespace gpuready::ternary
