// For which GPUs and which driver `pack explain` answers.
#include "pack/report/explain_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/products/pack/gpus.h"

namespace gpuready {
namespace {

TEST(ExplainReport, AnswersOnceForEachKindOfGpu) {
  pack::SelectMachine machine;
  machine.gpus = pack::gpus_of("8.6,9.0,8.6,gfx942,9.0");
  machine.gpus[0].name = "NVIDIA A10";
  machine.gpus[2].name = "NVIDIA A40";
  const auto kinds = kinds_of(machine);
  ASSERT_TRUE(kinds);
  std::string names;
  for (const auto& kind : *kinds) names += fmt::format("{}: {}\n", kind.gpu.name(), kind.name);
  EXPECT_EQ(names,
            "8.6: NVIDIA A10 (8.6)\n"
            "9.0: 9.0\n"
            "gfx942: gfx942\n");
}

TEST(ExplainReport, WithoutAGpuThereIsNoAnswer) {
  const auto none = kinds_of({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::no_device);
  EXPECT_EQ(none.error().message,
            "found no GPU of a known architecture that programs can use: name one with --gpu");
}

TEST(ExplainReport, WhatIsNamedGoesBeforeWhatTheMachineSays) {
  const auto text = [](const std::optional<Version>& version) {
    if (!version) return std::string("-");
    std::string parts;
    for (const auto part : version->parts) parts += fmt::format("{}.", part);
    return parts;
  };
  const auto named = [&](const char* driver, const char* cuda) {
    const pack::Driver machine{.version = parse_version("580.65.06"),
                               .cuda = parse_version("13.0")};
    const auto version = [](const char* word) {
      return word == nullptr ? std::optional<Version>() : parse_version(word);
    };
    const auto result = driver_named(machine, version(driver), version(cuda));
    return text(result.version) + " " + text(result.cuda);
  };
  EXPECT_EQ(named(nullptr, nullptr), "580.65.6. 13.0.");
  EXPECT_EQ(named("550", nullptr), "550. -") << "its CUDA follows from its version";
  EXPECT_EQ(named(nullptr, "12.4"), "580.65.6. 12.4.");
  EXPECT_EQ(named("550", "12.4"), "550. 12.4.");
  EXPECT_EQ(named("550", "12"), "550. 12.0.") << "as CUDA's versions are written";
  EXPECT_EQ(named(nullptr, "12.4.1"), "580.65.6. 12.4.1.");
}

}  // namespace
}  // namespace gpuready
