// Ternary matrix products in every way in which they can be laid over a GPU: each tile, whole and
// split, by each kernel, from every type of input to every type of output.
#include <gtest/gtest.h>

#include "ptx_gpu.h"
#include "ternary_gemm_checker.h"

namespace gpuready::ternary {
namespace {

class PtxTernaryPlans : public testing::TestWithParam<const char*> {};

TEST_P(PtxTernaryPlans, EachGivesTheCpusBits) {
  const auto outcome =
      on_ptx_gpu(std::string("sms=3,memory=256MiB,cc=") + GetParam(), [](Device& device) {
        Checker checker{device, must(CpuEngine::create())};
        for (const Case& c :
             {Case{{1, 17, 5}}, Case{{33, 272, 129}}, Case{{97, 31, 384}}, Case{{130, 257, 513}},
              Case{{200, 40, 1000}}, Case{{18, 20, 4096}, Fill::greatest},
              Case{{18, 20, 4096}, Fill::least}, Case{{33, 40, 7168}}})
          checker.run(c, plans_of(device, c.p, true));
        return fmt::format("{}, {} wrong", checker.compared > 100 ? "many" : "few", checker.wrong);
      });
  EXPECT_EQ(outcome, "many, 0 wrong");
}

INSTANTIATE_TEST_SUITE_P(Every, PtxTernaryPlans, testing::Values("8.0", "9.0", "10.0"));

}  // namespace
}  // namespace gpuready::ternary
