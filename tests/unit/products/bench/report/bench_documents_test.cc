// Documents of runs; tests/schema validates them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/record/fields_run.h"
#include "bench/record/result_files.h"
#include "bench/report/run_report.h"
#include "unit/value/fill.h"

namespace gpuready {
namespace {

TEST(BenchDocument, OfARunIsReadBack) {
  auto run = value::filled<bench::RunRecord>();
  run.stacks[0].repeats[0].throttled = {};
  Envelope envelope;
  envelope.command = "bench run";
  const std::string text = dump(to_json(run, envelope));
  std::filesystem::create_directories(std::string(GPUREADY_BINARY_DIR) + "/test-documents");
  std::ofstream(std::string(GPUREADY_BINARY_DIR) + "/test-documents/bench-run.filled.json") << text;
  const auto read = bench::read_run(text, "filled");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(bench::to_json(*read), bench::to_json(run));
}

}  // namespace
}  // namespace gpuready
