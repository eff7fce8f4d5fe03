#include <gtest/gtest.h>

#include "base/text.h"
#include "report/report.h"
#include "report/terminal/terminal_text.h"
#include "report/text_layout.h"
#include "samples.h"

namespace gpuready {
namespace {

std::string render(const Report& report, TerminalStyle style = {}) {
  return render_terminal(report, style);
}

TEST(Terminal, NoLineIsWiderThanTheTerminal) {
  for (const auto& [name, report] : samples::all())
    for (const int columns : {60, 80, 120})
      for (const bool unicode : {false, true}) {
        const std::string text = render(report, {.columns = columns, .unicode = unicode});
        for (const auto line : lines(text)) {
          // A command that cannot be broken stays whole, so that it can be copied.
          if (name == "hostile" && line.starts_with("      ")) continue;
          EXPECT_LE(display_width(line), static_cast<std::size_t>(columns)) << name << ": " << line;
        }
      }
}

TEST(Terminal, NoEscapeSequenceWithoutColour) {
  for (const auto& [name, report] : samples::all())
    EXPECT_EQ(render(report).find('\x1b'), std::string::npos) << name;
}

TEST(Terminal, ColourEndsOnEveryLineAndChangesNothingElse) {
  for (const auto& [name, report] : samples::all()) {
    const std::string coloured = render(report, {.colour = true});
    std::string plain;
    for (std::size_t at = 0; at < coloured.size();) {
      if (coloured[at] != '\x1b') {
        plain += coloured[at++];
        continue;
      }
      at = coloured.find('m', at) + 1;
    }
    // Blanks before a colour's end stay there.
    std::string trimmed;
    for (const auto line : lines(plain)) {
      std::string text(line);
      while (text.ends_with(' ')) text.pop_back();
      trimmed += text + "\n";
    }
    EXPECT_EQ(trimmed, render(report)) << name;
  }
}

TEST(Terminal, NothingButAsciiWithoutUnicode) {
  for (const auto& [name, report] : samples::all())
    for (const std::string text = render(report); const char c : text)
      ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << name;
}

TEST(Terminal, SaysFirstThatItIsFaked) {
  const std::string text = render(samples::faked());
  EXPECT_TRUE(contains(lines(text)[0], "FAKED (cuda)"));
}

TEST(Terminal, WithoutAGpuSaysSoFirstAndWhy) {
  const std::string text = render(samples::no_gpu());
  EXPECT_TRUE(text.starts_with("No GPU in this machine: ")) << text;
  EXPECT_TRUE(contains(text, "(firecracker)"));
  EXPECT_TRUE(contains(text, "software  llvmpipe"));
}

TEST(Terminal, ShowsCoverageAndTheRatioToTheCopyRate) {
  const std::string text = render(samples::healthy());
  EXPECT_TRUE(contains(text, "139.3 of 139.8 GiB")) << text;
  EXPECT_TRUE(contains(text, "99.6%")) << text;
  EXPECT_TRUE(contains(text, "4.28 TB/s 99%")) << text;
}

TEST(Terminal, FailedTestNamesAddressesAndBits) {
  const std::string text = render(samples::eight());
  EXPECT_TRUE(contains(text, "9 bad words"));
  EXPECT_TRUE(contains(text, "at 0x0120000040"));
  EXPECT_TRUE(contains(text, "bits     0x0000000000000080 in pass complement")) << text;
}

TEST(Terminal, FindingQuotesItsEvidenceAndGivesTheCommandOnALineOfItsOwn) {
  const std::string text = render(samples::eight());
  EXPECT_TRUE(contains(text, "| nvmlDeviceGetRemappedRows(3)"));
  EXPECT_TRUE(
      contains(text, "\n      nvidia-smi --gpu-reset -i 0000:4a:00.0\n    Action: reset gpu\n"));
  EXPECT_TRUE(contains(text, "explains: Xid 94"));
}

TEST(Terminal, QuietTellsTheConclusionAndProblemsOnly) {
  const std::string well = render(samples::healthy(), {.quiet = true});
  EXPECT_EQ(well, "[ok] 2 of 2 GPUs are ready for work.\n");
  const std::string ill = render(samples::eight(), {.quiet = true});
  EXPECT_TRUE(contains(ill, "GPU 3"));
  EXPECT_TRUE(contains(ill, "nvidia-smi --gpu-reset"));
  EXPECT_FALSE(contains(ill, "GPU 1:")) << ill;
  EXPECT_TRUE(contains(ill, "Cure: ")) << ill;
}

TEST(Terminal, NoFindingsSaysWhatWasLookedAt) {
  Report report = samples::healthy();
  report.command = "doctor";
  EXPECT_TRUE(
      contains(render(report), "No findings: looked at the PCI bus, the NVIDIA driver, NVML"));
}

TEST(Terminal, DetectDrawsTheMatrixWithOnlyTheLegendThatOccurs) {
  const std::string text = render(samples::detect());
  EXPECT_TRUE(contains(text, "NV18"));
  EXPECT_TRUE(contains(text, "  SYS   the link between NUMA nodes"));
  EXPECT_FALSE(contains(text, "PXB"));
}

TEST(Terminal, DetectLeavesOutWhatNobodyReported) {
  Report report = samples::empty();
  report.command = "detect";
  report.machine.gpus.emplace_back().name = "Some GPU";
  const std::string text = render(report);
  EXPECT_FALSE(contains(text, "Temperature")) << text;
  EXPECT_FALSE(contains(text, "0 B")) << text;
}

TEST(Terminal, NamesInTablesAreWrappedAndNotCut) {
  TerminalStyle style;
  style.columns = 30;
  TerminalText text(style);
  text.table(
      2, {{{"stack", Align::left, true}, {"p50", Align::right}, {"cold", Align::right, false, 1}},
          {{{"a stack with a long name"}, {"1.000 us"}, {"2.000 us"}},
           {{"anunbrokennameof26letters_"}, {"2 us"}, {"3 us"}}}});
  EXPECT_EQ(text.take(),
            "  stack                    p50\n"
            "  a stack with a      1.000 us\n"
            "  long name\n"
            "  anunbrokennameof26      2 us\n"
            "  letters_\n");
}

}  // namespace
}  // namespace gpuready
